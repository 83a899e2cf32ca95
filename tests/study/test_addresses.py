"""Passwords in storages: in no message, no command and no part of either."""

import json
import os
import re
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

import bosquet as bq
from bosquet.cli import main
from bosquet.study import load_history
from bosquet.study.addresses import command_line, name_of, parse_address, without_passwords

pytest.importorskip("optuna")
SPACE = bq.Space({"x": bq.Float(0, 1)})
TUNE = ["tune", "--space", "space.json", "--command", "echo {x}", "--strategy", "random"]
SECRET = re.compile("hunter|hun.*ter2")

READ = {
    "postgresql://me:hunter2@host/db": ("postgresql://me@host/db", "password"),
    "postgresql://me:hun%40ter2@host:5432/db": ("postgresql://me@host:5432/db", "password"),
    "postgresql://me:hunter2/?x@host/db": ("postgresql://me@host/db", "password"),
    "postgresql://me@corp:hunter2@host/db": ("postgresql://me%40corp@host/db", "password"),
    "postgresql://host/db?password=hunter2": ("postgresql://host/db", "password"),
    "postgresql://host/db?user=me&password=hunter2": ("postgresql://host/db?user=me", "password"),
    "postgresql://host/db?sslmode=require&sslpassword=hunter2": (
        "postgresql://host/db?sslmode=require",
        "sslpassword",
    ),
    "postgresql://me:hunter2@host/db?password=hunter2&PASSWORD=hunter2": (
        "postgresql://me@host/db",
        "password, PASSWORD",
    ),
    "postgresql://host/db?options=-c%20x%3Dhunter2": ("postgresql://host/db", "options"),
    "postgresql://host/db?host=me:hunter2@other": ("postgresql://host/db", "host"),
    "postgresql://host/db?hunter2": ("postgresql://host/db", ""),
    "mysql+pymysql://me@host/db?passwd=hunter2&charset=utf8": (
        "mysql+pymysql://me@host/db?charset=utf8",
        "passwd",
    ),
    "mssql+pyodbc://?odbc_connect=PWD%3Dhunter2": ("mssql+pyodbc://", "odbc_connect"),
    "postgresql://host/db": ("postgresql://host/db", ""),
    "sqlite:///runs.db": ("sqlite:///runs.db", ""),
    "sqlite:////data/me@home.db": ("sqlite:////data/me@home.db", ""),
    "runs.db": ("runs.db", ""),
}
MALFORMED = [
    "postgresql://me:hunter2@hunter2@host/db",
    "postgresql://me:x@hunter2/y@host/db",
    "postgresql:///me:hunter2@host/db",
    "postgresql://m/e:hunter2@host/db",
    "postgresql://me@host:hunter2/db",
    "postgresql://me:hunter2",
    "postgresql://me:hunter2/db",
    "postgresql:/me:hunter2@host/db",
    "postgresql:me:hunter2@host/db",
    "postgresql:/host/db?password=hunter2",
    "postgresql//me:hunter2@host/db",
    "postgresql//host/db?password=hunter2",
    "postgre sql://me:hunter2@host/db",
    "://me:hunter2@host/db",
    "me:hunter2@host",
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space = {"schema": 1, "parameters": {"x": {"type": "int", "low": 1, "high": 9}}}
    Path("space.json").write_text(json.dumps(space))
    return tmp_path


@pytest.mark.parametrize("url", READ)
def test_what_is_shown_of_a_url(url):
    shown, left_out = READ[url]
    assert name_of(url) == shown
    address = parse_address(url)
    assert ", ".join(address.left_out) == left_out
    if left_out:
        assert not SECRET.search(address.scrub(f"could not connect to {url}"))
        assert not SECRET.search(without_passwords(f"could not connect to {url}"))


@pytest.mark.parametrize("url", MALFORMED)
def test_what_is_shown_of_a_malformed_url(url, folder):
    assert name_of(url) in ("postgresql://...", "postgresql:...", "me:...", "storage")
    for use in (load_history, lambda url: bq.minimize(len, SPACE, n_trials=1, storage=url)):
        with pytest.raises(bq.StorageError, match="database") as caught:
            use(url)
        assert not SECRET.search("".join(traceback.format_exception(caught.value)))
    assert not [path for path in folder.iterdir() if path.name != "space.json"]


def test_what_was_wrong_with_a_malformed_url():
    with pytest.raises(bq.StorageError) as caught:
        parse_address("postgresql://me:p@ss@host/db")
    assert str(caught.value) == (
        "postgresql://...: cannot be read as a database URL, which is "
        "scheme://user:password@host:port/database; in a user, a password or the name of a "
        "database write '@' as %40, ':' as %3A, '/' as %2F"
    )


@pytest.mark.parametrize("url", [*READ, *MALFORMED])
def test_passwords_stay_out_of_what_a_command_prints(url, folder, capsys):
    """The servers are not there, and most of the drivers are not."""
    url = re.sub(r"host(:5432)?/", "localhost:1/", url)
    for command in (
        ["show", url],
        ["best", url],
        ["export", url, "-o", "x.csv"],
        [*TUNE, "--trials", "1", f"--storage={url}"],
        [*TUNE, "--trials", "1", "--storage", url],
    ):
        main(command)
        shown = capsys.readouterr()
        assert not SECRET.search(shown.out + shown.err), command


@pytest.mark.parametrize("url", [url for url, (_, left_out) in READ.items() if left_out])
@pytest.mark.parametrize(
    "before", [["show", "x.db"], ["tune", "--space", "x.json"], ["demo"], ["tune", "--trials"]]
)
def test_passwords_in_the_wrong_place(url, before, folder, capsys):
    with pytest.raises(SystemExit):
        main([*before, url])
    shown = capsys.readouterr()
    assert not SECRET.search(shown.out + shown.err)


def test_a_server_that_is_not_there():
    pytest.importorskip("psycopg")
    url = "postgresql+psycopg://me:hunter2@localhost:1/db?sslpassword=hunter3"
    with pytest.raises(
        bq.StorageError, match=r"psycopg://me@localhost:1/db: connection f"
    ) as caught:
        load_history(url)
    assert not SECRET.search("".join(traceback.format_exception(caught.value)))


def test_a_driver_that_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "MySQLdb", None)
    with pytest.raises(ImportError, match="mysql://me@host/db: its driver is not installed"):
        load_history("mysql://me:hunter2@host/db")


def test_urls_of_other_types():
    with pytest.raises(TypeError, match="storage=b'postgresql://me@host/db") as caught:
        load_history(b"postgresql://me:hunter2@host/db")
    assert not SECRET.search(str(caught.value))


def test_what_a_driver_says_is_scrubbed():
    """libpq repeats the values of options that it does not understand."""
    pytest.importorskip("psycopg")
    url = "postgresql+psycopg://me@localhost:1/db?gssencmode=hunter2"
    with pytest.raises(bq.StorageError, match=r"\*\*\*") as caught:
        load_history(url)
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))


def test_a_study_under_a_url_with_passwords(postgres_url, folder, capsys):
    """The commands that are shown for another run have none, and say how to give it."""
    url = f"{postgres_url.replace('postgres:@', 'postgres:hunter2@')}&sslpassword=hunter3"
    assert "hunter2" in url
    assert main([*TUNE, "--trials", "2", "--storage", url]) == 0
    assert main([*TUNE, "--trials", "3", f"--storage={url}", "--jobs", "1"]) == 0
    assert main(["show", url]) == 0
    shown = capsys.readouterr()
    assert not SECRET.search(shown.out + shown.err)
    again = re.findall(r"See again: (.*)\n(.*)\n", shown.out)
    assert len(again) == 2
    for line, note in again:
        assert "show 'postgresql+psycopg://postgres@/study_" in line
        assert note == (
            "  (left out of the URL: password, sslpassword. Put it back, or give PostgreSQL the "
            "password in PGPASSWORD or ~/.pgpass)"
        )


def test_an_interrupted_run_under_a_url_with_a_password(folder, monkeypatch, capsys):

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("bosquet.study.tune.minimize", interrupt)
    assert main([*TUNE, "--trials", "3", "--storage", "postgresql://me:hunter2@host/db"]) == 130
    said = capsys.readouterr().err
    assert "hunter2" not in said
    assert "--trials 3 --storage postgresql://me@host/db\n  (left out of the URL: password." in said


def test_commands_to_give_again():
    secret = parse_address("postgresql://me:hunter2@host/db")
    words = ["tune", "--storage", "postgresql://you:hunter2@host/db", f"--storage={secret.given}"]
    assert command_line(words, secret).startswith(
        "tune --storage postgresql://you@host/db --storage=postgresql://me@host/db\n  (left out"
    )
    dash = parse_address("-x.db")
    assert command_line(["show", "-x.db"], dash) == "show ./-x.db"
    assert command_line(["tune", "--storage=-x.db"], dash) == "tune --storage=./-x.db"
    plain = parse_address("my runs.db")
    assert command_line(["show", "my runs.db", "-o", "x"], plain) == "show 'my runs.db' -o x"


def test_urls_without_passwords_are_left_as_they_are():
    text = "see https://example.org/a?b=c, (postgresql://host/db), 'sqlite:///x.db'"
    assert without_passwords("postgresql://me@host/db, study 'x': https://e.org/x@y) a:b@c") == (
        "postgresql://me@host/db, study 'x': https://... a:b@c"
    )
    assert without_passwords(text.replace("?b=c", "")) == text.replace("?b=c", "")


def test_without_sqlalchemy_nothing_after_the_scheme_is_shown():
    code = (
        "import sys\n"
        "sys.modules['sqlalchemy'] = sys.modules['sqlalchemy.engine'] = None\n"
        "from bosquet.study.addresses import name_of, parse_address\n"
        "print(name_of('postgresql://me:hunter2@host/db'), name_of('runs.db'))\n"
        "parse_address('postgresql://me:hunter2@host/db')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ
    )
    assert done.stdout == "postgresql://... runs.db\n"
    assert "hunter2@" not in done.stderr.replace("parse_address('postgresql", "")
    assert "ImportError: storage needs Optuna: pip install 'bosquet[study]'" in done.stderr
