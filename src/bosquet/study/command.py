"""Programs that are not Python as objectives."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import signal
import subprocess
import tempfile
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from bosquet.space import Space
from bosquet.study.evaluate import NoValue
from bosquet.study.fingerprint import Fingerprint
from bosquet.study.template import TRIAL, Template

_TAIL_BYTES = 65_536  # of an output that are looked at
_TAIL_LINES = 3  # of stderr that a reason shows, shortened to
_TAIL_LENGTH = 300
# A number after a text and, it may be, a colon or an equals sign. One that goes on in another way
# ("1,234", "1.5D+03") would be read wrongly.
_NUMBER = re.compile(
    r"\s*[:=]?\s*([+-]?(?:\d+\.?\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?|nan|inf(?:inity)?))(?![\w.]|,\d)",
    re.IGNORECASE,
)
# "loss2 0.5" after the text "loss": 2 is the end of another name.
_OTHER_NAME = re.compile(r"\d+(?:\s*[:=]\s*|\s+)[+-]?\.?\d")
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")  # colours and the like


class Command:
    """An objective that runs a program and reads the value from what it leaves.

    The program is run without a shell, with nothing on stdin. `minimize` runs a command in worker
    processes only, which end with the study and take along what they have started.

    Args:
        template: the command, with places for the parameters: ``{alpha}`` is a value,
            ``{?alpha:--alpha {alpha}}`` is there only where ``alpha`` is active,
            ``{?fast=true:--fast}`` only where ``fast`` is true, ``{trial}`` is the number of the
            trial.
        space: the space whose parameters the template names; it is checked against it.
        read: where the value is: ``"stdout"`` (the last line that is not empty, a number and
            nothing else), ``"stdout:TEXT"`` (the number after the last TEXT that is printed),
            ``"json:FILE"`` or ``"json:FILE:key"``, the number in a JSON file that the program
            writes anew each time, at a key with dots for what is nested. ``{trial}`` in FILE is the
            trial's number.
    """

    def __init__(self, template: str, space: Space, read: str = "stdout") -> None:
        self._template = Template(template, space)
        self._read = read
        self._place = _place(read)
        scratch = tempfile.mkdtemp(prefix="bosquet-")
        weakref.finalize(self, shutil.rmtree, scratch, ignore_errors=True)
        self._scratch = Path(scratch)  # where outputs go, so that a killed program leaves them

    def __repr__(self) -> str:
        return f"Command({self._template.text!r})"

    @property
    def fingerprint(self) -> Fingerprint:
        return {"kind": "command", "template": self._template.text, "read": self._read}

    @property
    def shares_its_file(self) -> bool:
        """Whether all trials write the same file, so that only one may run at a time."""
        return isinstance(self._place, _JsonPlace) and f"{{{TRIAL}}}" not in self._place.file

    def check_program(self) -> None:
        """Raises if the program is not there, as far as that can be known here and now."""
        program = self._template.program
        if program is not None and shutil.which(program) is None:
            raise ValueError(f"command: there is no program {program!r} that could be run")

    def words(self, config: Mapping[str, Any], trial: int = 0) -> list[str]:
        """The program and its arguments for a configuration."""
        return self._template.words(config, trial)

    def __call__(self, config: Mapping[str, Any], trial: int = 0) -> float:
        return self.run_trial(config, trial)

    def run_trial(self, config: Mapping[str, Any], trial: int) -> float:
        words = self.words(config, trial)
        stdout, stderr = self._outputs(trial)
        self._scratch.mkdir(exist_ok=True)  # it may be another machine
        self._place.expect(trial)
        try:
            with stdout.open("wb") as out, stderr.open("wb") as err:
                code = _run(words, out, err)
            if code:
                raise NoValue(_ending(code))
            value = self._place.read(trial, stdout)
            if not math.isfinite(value):
                raise NoValue(f"no value: the program gave {value}")
            return value
        except NoValue as failed:
            raise NoValue(f"{failed}{self.last_words(trial)}") from None
        finally:
            stdout.unlink(missing_ok=True)
            stderr.unlink(missing_ok=True)

    def last_words(self, trial: int) -> str:
        """The end of what the program of a trial wrote to stderr, or else to stdout."""
        stdout, stderr = self._outputs(trial)
        for name, file in (("stderr", stderr), ("stdout", stdout)):
            if said := _tail(file):
                return f"; {name}: {said}"
        return "; it wrote nothing"

    def _outputs(self, trial: int) -> tuple[Path, Path]:
        return self._scratch / f"{trial}.stdout", self._scratch / f"{trial}.stderr"


def _run(words: list[str], out: Any, err: Any) -> int:
    try:
        return subprocess.call(words, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
    except OSError as error:
        raise NoValue(f"{words[0]!r} cannot be started: {error.strerror}") from None


def _ending(code: int) -> str:
    return f"killed by {signal_name(-code)}" if code < 0 else f"exit code {code}"


def signal_name(number: int) -> str:
    """SIGKILL for 9; real-time signals have numbers only."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


# -- what a program leaves -------------------------------------------------------------------


class _Place(Protocol):
    """Where the value of a trial is."""

    def expect(self, trial: int) -> None:
        """Makes sure that what an earlier trial left is not taken for this one's."""

    def read(self, trial: int, stdout: Path) -> float:
        """The value, or NoValue with the reason."""


@dataclass(frozen=True)
class _LastLine:
    """The last line of stdout, a number alone."""

    def expect(self, trial: int) -> None:
        pass

    def read(self, trial: int, stdout: Path) -> float:  # noqa: ARG002 - other places need it
        lines = _last_lines(stdout)
        if not lines:
            raise NoValue("no value: stdout is empty")
        try:
            return float(lines[-1])
        except ValueError:
            shown = lines[-1][:80]
            raise NoValue(
                f"no value: the last line of stdout must be a number alone, not {shown!r} "
                "(read 'stdout:TEXT' takes the number after a text)"
            ) from None


@dataclass(frozen=True)
class _AfterText:
    """The number that follows a text, where that is printed last."""

    text: str

    def expect(self, trial: int) -> None:
        pass

    def read(self, trial: int, stdout: Path) -> float:  # noqa: ARG002 - other places need it
        last = None
        with stdout.open(encoding="utf-8", errors="replace") as opened:
            for line in opened:
                clean = _printable(line)
                if self.text in clean:
                    last = clean.rpartition(self.text)[2]
        if last is None:
            raise NoValue(f"no value: {self.text!r} is nowhere in stdout")
        number = _NUMBER.match(last)
        if number is None or (self.text[-1].isalnum() and _OTHER_NAME.match(last)):
            shown = last.strip()[:80]
            raise NoValue(
                f"no value: a number must follow the last {self.text!r} in stdout, not {shown!r}"
            )
        return float(number[1])


@dataclass(frozen=True)
class _JsonPlace:
    """Where in which JSON file the value is."""

    file: str
    key: str

    def path(self, trial: int) -> Path:
        return Path(self.file.replace(f"{{{TRIAL}}}", str(trial)))

    def expect(self, trial: int) -> None:
        if self.path(trial).exists():
            os.utime(self.path(trial), (0, 0))

    def read(self, trial: int, stdout: Path) -> float:  # noqa: ARG002 - other places need it
        path = self.path(trial)
        try:
            if path.stat().st_mtime == 0:
                raise NoValue(f"no value: {path} was not written anew")
            data = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise NoValue(f"no value: {path}: {error.strerror}") from None
        except ValueError as error:
            raise NoValue(f"no value: {path} is not JSON: {error}") from None
        for key in self.key.split(".") if self.key else ():
            data = _below(data, key, path)
        if isinstance(data, bool) or not isinstance(data, (int, float)):
            where = f" at {self.key!r}" if self.key else ""
            raise NoValue(f"no value: {path}{where} must have a number, not {str(data)[:80]!r}")
        return float(data)


def _below(data: Any, key: str, path: Path) -> Any:
    if isinstance(data, dict) and key in data:
        return data[key]
    if isinstance(data, list) and key.isdecimal() and int(key) < len(data):
        return data[int(key)]
    there = ", ".join(list(data)[:10]) if isinstance(data, dict) else type(data).__name__
    raise NoValue(f"no value: {path} has no {key!r}, only {there}")


def _place(read: str) -> _Place:
    kind, _, place = read.partition(":")
    if read == "stdout":
        return _LastLine()
    if kind == "stdout" and place.strip():
        return _AfterText(place)
    file, _, key = place.partition(":")
    if kind == "json" and file:
        return _JsonPlace(file, key)
    raise ValueError(
        f"read={read!r} must be 'stdout', 'stdout:TEXT', 'json:FILE' or 'json:FILE:key'"
    )


def _tail(file: Path) -> str:
    """The last lines of an output in one, fit for a terminal."""
    text = " | ".join(_last_lines(file)[-_TAIL_LINES:])
    return text if len(text) <= _TAIL_LENGTH else "..." + text[-_TAIL_LENGTH:]


def _last_lines(file: Path) -> list[str]:
    """The last lines that are not empty, without control characters."""
    try:
        with file.open("rb") as opened:
            opened.seek(max(0, file.stat().st_size - _TAIL_BYTES))
            text = opened.read().decode("utf-8", "replace")
    except FileNotFoundError:  # it never began
        return []
    lines = (_printable(line).strip() for line in text.splitlines())
    return [line for line in lines if line]


def _printable(line: str) -> str:
    return "".join(c if c.isprintable() else " " for c in _ESCAPES.sub("", line))
