"""Where a storage is, as its user gave it: a file name or a database URL; and how it is shown.

Passwords must not be printed. Of a URL only what is known to be harmless is shown, and nothing
after the scheme where it cannot be parsed, since then nobody knows where in it the password is.
"""

from __future__ import annotations

import os
import re
import shlex
import urllib.parse
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bosquet.errors import StorageError
from bosquet.text import printable

_SCHEME = re.compile(r"[A-Za-z][\w+.-]+(?=:)")  # longer than the C: of a Windows path
_URL_WITHOUT_SLASH = re.compile(rf"{_SCHEME.pattern}:/")
_PASSWORD = re.compile(":.*@", re.S)
_USER_AND_PASSWORD = re.compile(r"[\w+]+://(?:[^:/]*(?::[^@]*)?@)?")  # as SQLAlchemy reads them
_IN_TEXT = re.compile(r"[A-Za-z][\w+.-]*://\S+")

# Of the query of a URL; others may be passwords, whatever a driver calls them.
_SHOWN_OPTIONS = {
    *("host", "hostaddr", "port", "user", "dbname", "charset", "sslmode", "connect_timeout"),
    *("timeout", "mode", "cache", "immutable", "uri"),  # of SQLite
}
_SHORT = 3  # characters: what is shorter is no secret, and part of many words


@dataclass(frozen=True)
class Address:
    """A storage given by its name."""

    given: str
    shown: str
    """The name without passwords."""
    file: Path | None
    """The SQLite file, if it is one."""
    url: Any = None
    """The SQLAlchemy URL; None for the name of a file."""
    left_out: tuple[str, ...] = ()
    """What ``shown`` lacks, by name, such as "password"."""
    secrets: tuple[str, ...] = ()
    """The values of what ``shown`` lacks."""

    @property
    def argument(self) -> str:
        """The name as an argument of a command, which must not look like an option."""
        return f"./{self.shown}" if self.shown.startswith("-") else self.shown

    @property
    def how_to_complete(self) -> str:
        """What to add to a command that has ``argument``; empty if nothing was left out."""
        if not self.left_out:
            return ""
        names = ", ".join(map(printable, self.left_out))
        return (
            f"\n  (left out of the URL: {names}. Put it back, or give PostgreSQL the password "
            "in PGPASSWORD or ~/.pgpass)"
        )

    def scrub(self, text: str) -> str:
        """The text of a driver's error, without the secrets it may repeat."""
        forms = {form for secret in self.secrets for form in (secret, urllib.parse.quote(secret))}
        for form in sorted(forms, key=len, reverse=True):
            text = text.replace(form, "***")
        return text


def parse_address(storage: str | os.PathLike[str]) -> Address:
    """The address of a storage; raises a `StorageError` that shows no secret if it cannot be."""
    name = os.fsdecode(storage)
    if "://" in name:
        return _parse_url(name)
    _check_file_name(name)
    return Address(name, name, Path(name))


def name_of(storage: Any) -> str:
    """How messages call a storage: without a password."""
    if not isinstance(storage, (str, os.PathLike)):
        return type(storage).__name__
    try:
        return printable(parse_address(storage).shown)
    except (StorageError, ImportError):  # whoever opens it says what is wrong
        return _hidden(os.fsdecode(storage))


def without_passwords(text: str) -> str:
    """The text; database URLs in it lose their passwords."""

    def shown(found: re.Match[str]) -> str:
        try:
            address = parse_address(found[0])
        except (StorageError, ImportError):
            return _hidden(found[0]) if "@" in found[0] else found[0]
        return address.shown if address.left_out else found[0]

    return _IN_TEXT.sub(shown, text)


def command_line(words: Sequence[str], address: Address) -> str:
    """A command that was given, for its user to give again; its address without passwords."""
    return shlex.join(_word_again(word, address) for word in words) + address.how_to_complete


def _word_again(word: str, address: Address) -> str:
    if word == address.given or word.endswith(f"={address.given}"):
        return word.removesuffix(address.given) + address.argument
    return word if re.search(r"\s", word) else without_passwords(word)


def _hidden(name: str) -> str:
    scheme = _SCHEME.match(name)
    if scheme is None:
        return "storage"
    return f"{scheme[0]}{'://' if '://' in name else ':'}..."


def _check_file_name(name: str) -> None:
    if _URL_WITHOUT_SLASH.match(name) or _PASSWORD.search(os.path.splitdrive(name)[1]):
        raise StorageError(
            f"{_hidden(name)}: neither a database URL, which has '://' after its scheme, nor the "
            "name of a file, which must not have ':/' after its first word or ':' before an '@'"
        )
    shown = printable(name.partition("?")[0])
    if "?" in name:
        raise StorageError(f"{shown}?...: the name of a database file must not contain '?'")
    if not name or "\0" in name:
        raise StorageError(f"storage='{shown}' must be the name of a file or a database URL")


def _parse_url(name: str) -> Address:
    url = _sqlalchemy_url(name)
    hidden = [("password", url.password)] if url.password else []
    shown_options = {}
    for key, value in url.query.items():
        values = [value] if isinstance(value, str) else list(value)
        if key in _SHOWN_OPTIONS and not any("@" in text for text in values):
            shown_options[key] = value
        else:
            hidden += [(key, text) for text in values]
    shown = name
    if url.password is not None or "?" in name:
        shown = (
            type(url)
            .create(
                url.drivername, url.username, None, url.host, url.port, url.database, shown_options
            )
            .render_as_string()
        )
    return Address(
        name,
        shown,
        _sqlite_file(url),
        url,
        tuple(dict.fromkeys(key for key, _ in hidden)),
        tuple(text for _, text in hidden if len(text) >= _SHORT),
    )


def _sqlalchemy_url(name: str) -> Any:
    """The parsed URL, if it was surely parsed as it was meant."""
    try:
        import sqlalchemy.engine
        import sqlalchemy.exc
    except ImportError as error:
        raise ImportError("storage needs Optuna: pip install 'bosquet[study]'") from error

    with suppress(ValueError, sqlalchemy.exc.ArgumentError):
        url = sqlalchemy.engine.make_url(name)
        user = _USER_AND_PASSWORD.match(name)
        assert user is not None
        place = name[user.end() :].partition("?")[0]
        # An '@' here is the end of a password that has one in it, which SQLAlchemy cut in two.
        if "@" not in place or url.get_backend_name() == "sqlite":
            return url
    raise StorageError(
        f"{_hidden(name)}: cannot be read as a database URL, which is "
        "scheme://user:password@host:port/database; in a user, a password or the name of a "
        "database write '@' as %40, ':' as %3A, '/' as %2F"
    )


def _sqlite_file(url: Any) -> Path | None:
    """The file of a SQLite URL; None for servers, databases in memory and other drivers."""
    if url.get_backend_name() != "sqlite" or not url.get_driver_name().startswith("pysqlite"):
        return None
    name = url.database or ":memory:"
    if str(url.query.get("uri", "")).lower() in ("true", "1", "yes", "on", "t", "y"):
        if "vfs" in url.query or url.query.get("mode") == "memory":
            return None
        name = urllib.parse.unquote(urllib.parse.urlsplit(name).path)
    return None if name in ("", ":memory:") else Path(name)
