"""Databases that are not ours stay as they are; ours are made whole or not at all."""

import contextlib
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
from dataclasses import replace
from unittest.mock import patch

import pytest

import bosquet as bq
from bosquet.study import databases, load_history
from bosquet.study.storages import open_storage
from tests.support import present

optuna = pytest.importorskip("optuna")
SPACE = bq.Space({"x": bq.Float(0, 1)})


def run(storage, n_trials=2):
    return bq.minimize(
        lambda c: c["x"], SPACE, n_trials=n_trials, storage=storage, strategy="random", seed=0
    )


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def execute(file, *statements, kill=False, journal="delete"):
    """Runs SQL in a process of its own, which closes the file or is killed."""
    code = (
        "import os, sqlite3, sys\n"
        "connection = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "for statement in sys.argv[3:]:\n"
        "    connection.execute(statement)\n"
        "if sys.argv[2] == 'True':\n"
        "    os.kill(os.getpid(), 9)\n"
        "connection.close()\n"
    )
    first = f"PRAGMA journal_mode = {journal}"
    done = subprocess.run([sys.executable, "-c", code, file, str(kill), first, *statements])
    assert done.returncode == (-signal.SIGKILL if kill else 0)


FOREIGN = {
    "other tables": ["CREATE TABLE customers (name TEXT)"],
    "a table studies": ["CREATE TABLE studies (id INTEGER, title TEXT)"],
    "Optuna's table studies alone": [
        "CREATE TABLE studies (study_id INTEGER PRIMARY KEY, study_name VARCHAR(512) NOT NULL)",
        "CREATE UNIQUE INDEX ix_studies_study_name ON studies (study_name)",
    ],
    "names of Optuna's tables": [
        f"CREATE TABLE {table} (id INTEGER)"
        for table in ("studies", "trials", "version_info", "alembic_version", "trial_values")
    ],
    "migrations of another program": [
        "CREATE TABLE studies (study_id INTEGER)",
        "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)",
        "INSERT INTO alembic_version VALUES ('4d3e8bb1')",
    ],
    "a view": ["CREATE VIEW studies AS SELECT 1 AS study_id, 'x' AS study_name"],
}


@pytest.mark.parametrize("kind", FOREIGN)
@pytest.mark.parametrize("form", ["name", "URL", "URL with a query", "URL of a URI"])
def test_foreign_databases_stay_as_they_are(tmp_path, kind, form):
    file = tmp_path / "shop.db"
    with contextlib.closing(sqlite3.connect(file)) as connection:
        for statement in FOREIGN[kind]:
            connection.execute(statement)
        connection.commit()
    storage = {
        "name": file,
        "URL": f"sqlite:///{file}",
        "URL with a query": f"sqlite:///{file}?timeout=5",
        "URL of a URI": f"sqlite:///file:{file}?mode=rwc&uri=true",
    }[form]
    before = contents(tmp_path)
    for use in (run, load_history):
        with pytest.raises(bq.StorageError, match=r"shop\.db.* not of an Optuna study: left alone"):
            use(storage)
        assert contents(tmp_path) == before


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
@pytest.mark.parametrize("left", ["closed", "killed", "log without its index"])
@pytest.mark.parametrize("journal", ["wal", "delete", "persist"])
def test_foreign_databases_of_killed_processes_stay_as_they_are(tmp_path, journal, left):
    """Whoever opens these for writing moves a log or a journal into them."""
    file = tmp_path / "shop.db"
    execute(file, "CREATE TABLE studies (title TEXT)", journal=journal)
    many = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 500) "
    fill = f"{many} INSERT INTO studies SELECT hex(zeroblob(1000)) FROM n"
    begin = ["PRAGMA cache_size = 1", "BEGIN"] if journal != "wal" else []
    execute(file, *begin, fill, kill=left != "closed", journal=journal)
    if left == "log without its index":
        file.with_name("shop.db-shm").unlink(missing_ok=True)
    before = contents(tmp_path)
    assert len(before) > 1 or left == "closed"
    with pytest.raises(bq.StorageError, match="not of an Optuna study: left alone"):
        run(file)
    assert contents(tmp_path) == before


def test_a_foreign_database_in_use_stays_as_it_is(tmp_path):
    """Its tables are in the write-ahead log only."""
    file = tmp_path / "shop.db"
    code = (
        "import sqlite3, sys\n"
        "connection = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "connection.execute('PRAGMA journal_mode = wal')\n"
        "connection.execute('CREATE TABLE studies (title TEXT)')\n"
        "print('made', flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, file], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as user:
        assert present(user.stdout).readline() == b"made\n"
        before = contents(tmp_path)
        assert len(before) == 3
        with pytest.raises(bq.StorageError, match="not of an Optuna study"):
            run(file)
        assert contents(tmp_path) == before


def made_by_optuna(file):
    optuna.storages.RDBStorage(f"sqlite:///{file}").engine.dispose()


@pytest.mark.parametrize("journal", ["delete", "wal"])
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            [
                "UPDATE alembic_version SET version_num = 'v3.0.0.d'",
                "UPDATE version_info SET library_version = '3.1.0'",
            ],
            r"made by Optuna 3.1.0 with tables of version v3.0.0.d; Optuna \S+ needs \S+ "
            r"\(optuna storage upgrade\): left alone",
        ),
        (["UPDATE alembic_version SET version_num = 'v99'"], "v99;.*pip install -U optuna"),
        (
            ["DROP TABLE alembic_version", "UPDATE version_info SET library_version = '0.8.0'"],
            "made by Optuna 0.8.0 with tables of version None.*optuna storage upgrade",
        ),
        (["DROP TABLE trial_values"], "has lost tables or columns since"),
        (["ALTER TABLE trials DROP COLUMN number"], "has lost tables or columns since"),
        (["DELETE FROM version_info"], "not of an Optuna study"),
    ],
)
def test_optuna_databases_of_other_versions_stay_as_they_are(tmp_path, journal, changes, message):
    file = tmp_path / "old.db"
    made_by_optuna(file)
    execute(file, *changes, journal=journal)
    before = contents(tmp_path)
    for use in (run, load_history):
        with pytest.raises(bq.StorageError, match=message):
            use(file)
        assert contents(tmp_path) == before


@pytest.mark.parametrize("journal", ["delete", "wal", "persist", "truncate"])
def test_databases_made_by_optuna_are_used(tmp_path, journal):
    file = tmp_path / "runs.db"
    made_by_optuna(file)
    execute(file, "CREATE TABLE notes (text TEXT)", journal=journal)
    with pytest.raises(bq.StorageError, match="study 'bosquet': not there; stored are none"):
        load_history(file)
    with contextlib.closing(sqlite3.connect(file)) as reader:  # keeps a write-ahead log
        reader.execute("SELECT 1 FROM studies").fetchall()
        run(file, 2)
        assert run(file, 4).resumed == 2
    assert len(load_history(file)) == 4


def test_a_new_database_is_what_optuna_makes(tmp_path):
    ours, theirs = tmp_path / "ours.db", tmp_path / "theirs.db"
    made_by_optuna(theirs)
    databases.make_database(ours)
    dumps = []
    for file in (ours, theirs):
        with contextlib.closing(sqlite3.connect(file)) as connection:
            dumps.append(sorted(connection.iterdump()))
    assert dumps[0] == dumps[1]


def killed_while_making(file, after):
    """Makes a database and dies after so many statements."""

    blank = databases.blank_database()

    def statements():
        yield from blank.statements[:after]
        os.kill(os.getpid(), signal.SIGKILL)

    dying = replace(blank, statements=statements())
    with patch.object(databases, "blank_database", lambda: dying):
        open_storage(file)


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")
@pytest.mark.parametrize("exists", [False, True])
@pytest.mark.parametrize("after", [0, 1, 7])
def test_a_kill_while_a_database_is_made_leaves_nothing_behind(tmp_path, after, exists):
    databases.blank_database()
    file = tmp_path / "r.db"
    if exists:
        file.touch()
    process = multiprocessing.get_context("fork").Process(
        target=killed_while_making, args=(file, after)
    )
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    with pytest.raises(bq.StorageError, match="there is no study in it"):
        load_history(file)
    run(file)
    assert len(load_history(file)) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["r.db"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_kill_while_a_new_database_is_written(tmp_path):
    """Pages of the new tables are in the file, and the journal says that there were none."""
    file = tmp_path / "r.db"
    tables = [f"CREATE TABLE t{i} (x)" for i in range(300)]
    execute(file, "PRAGMA cache_size = 1", "BEGIN IMMEDIATE", *tables, kill=True)
    assert file.stat().st_size
    assert file.with_name("r.db-journal").stat().st_size
    run(file)
    assert len(load_history(file)) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["r.db"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_study_killed_while_writing_goes_on(tmp_path):
    file = tmp_path / "r.db"
    run(file)
    many = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 500) "
    fill = f"{many} INSERT INTO trial_user_attributes (key, value_json) SELECT i, i FROM n"
    execute(file, "PRAGMA cache_size = 1", "BEGIN", fill, kill=True)
    assert file.with_name("r.db-journal").stat().st_size
    assert len(load_history(file)) == 2
    assert run(file, 4).resumed == 2


def makes_a_database(file, barrier):
    barrier.wait(60)
    storage, close = open_storage(file)
    storage.create_new_study([optuna.study.StudyDirection.MINIMIZE])
    close()


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_processes_that_make_a_database_at_once(tmp_path):
    file = tmp_path / "r.db"
    fork = multiprocessing.get_context("fork")
    barrier = fork.Barrier(4)
    started = [fork.Process(target=makes_a_database, args=(file, barrier)) for _ in range(4)]
    for process in started:
        process.start()
    for process in started:
        process.join(60)
    assert [process.exitcode for process in started] == [0] * 4
    storage, close = open_storage(file, must_exist=True)
    assert len(storage.get_all_studies()) == 4
    close()


@pytest.mark.parametrize(
    "name",
    [
        *("with space.db", "a#b.db", "100%.db", "%41.db", "a%20b.db", "quote'd.db", 'double".db'),
        *("Größe 木.db", "-dash.db", "--storage", "{x}.db", "{.db", "$HOME.db", "back\\slash.db"),
        *("new\nline.db", "bell\x07.db", "a&b=c.db", ":memory:", "file:x.db", "~", "a;b.db"),
        *("runs:1.db", "me@home.db", "\udcff.db"),
    ],
)
def test_odd_file_names(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    run(name, 1)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert len(load_history(name)) == 1
    assert len(load_history(tmp_path / name)) == 1
    assert run(tmp_path / name, 2).resumed == 1
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("what?.db", r"what\?\.\.\.: the name of a database file must not contain '\?'"),
        ("", "storage='' must be the name of a file or a database URL"),
        ("a\0b", r"storage='a\\u0000b' must be the name of a file"),
        ("x" * 300, "File name too long"),
        ("file:/x.db", r"file:\.\.\.: neither a database URL, which has '://'"),
        ("no/dir.db", "there is no directory"),
        (".", "is a directory"),
        ("mem://x", "NoSuchModule|Can't load plugin"),
    ],
)
def test_names_that_are_refused(tmp_path, monkeypatch, name, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(bq.StorageError, match=message):
        run(name)
    assert not list(tmp_path.iterdir())


# -- PostgreSQL ------------------------------------------------------------------------------


def tables_of(postgres_url):
    import sqlalchemy

    engine = sqlalchemy.create_engine(postgres_url)
    inspector = sqlalchemy.inspect(engine)
    found = {
        table: [column["name"] for column in inspector.get_columns(table)]
        for table in inspector.get_table_names()
    }
    engine.dispose()
    return found


def execute_on(postgres_url, *statements):
    import sqlalchemy

    engine = sqlalchemy.create_engine(postgres_url)
    with engine.begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
    engine.dispose()


@pytest.mark.parametrize("kind", [kind for kind in FOREIGN if kind.startswith(("a t", "na", "mi"))])
def test_foreign_tables_on_a_server_stay_as_they_are(postgres_url, kind):
    execute_on(postgres_url, *FOREIGN[kind])
    before = tables_of(postgres_url)
    for use in (run, load_history):
        with pytest.raises(bq.StorageError, match="not of an Optuna study: left alone"):
            use(postgres_url)
        assert tables_of(postgres_url) == before


def test_a_server_with_other_tables(postgres_url):
    """Reading writes nothing; a study lives beside tables that do not concern it."""
    execute_on(postgres_url, *FOREIGN["other tables"])
    with pytest.raises(bq.StorageError, match="there is no study in it"):
        load_history(postgres_url)
    assert list(tables_of(postgres_url)) == ["customers"]
    run(postgres_url)
    assert len(load_history(postgres_url)) == 2
    execute_on(postgres_url, "UPDATE alembic_version SET version_num = 'v3.0.0.d'")
    with pytest.raises(bq.StorageError, match=r"tables of version v3\.0\.0\.d"):
        run(postgres_url)


def test_a_server_whose_tables_were_left_half_made(postgres_url):
    run(postgres_url)
    execute_on(postgres_url, "DELETE FROM version_info", "DROP TABLE alembic_version")
    with pytest.raises(bq.StorageError, match="there is no study in it"):
        load_history(postgres_url)
    assert run(postgres_url, 4).resumed == 2
