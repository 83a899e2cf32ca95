"""Resuming with another objective is noticed; resuming with the same one never is."""

import ast
import functools
import importlib.util
import textwrap
import time
import types
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import bosquet as bq
from bosquet.study import Command, read_study
from bosquet.study.fingerprint import changes, fingerprint_of
from tests.support import present

pytest.importorskip("optuna")

SPACE = bq.Space({"x": bq.Float(0, 1)})


def loaded(tmp_path, source, name="objective"):
    """A name of a module with this source, loaded anew."""
    file = tmp_path / f"module_{len(list(tmp_path.iterdir()))}.py"
    file.write_text(textwrap.dedent(source))
    spec = present(importlib.util.spec_from_file_location(file.stem, file))
    module = importlib.util.module_from_spec(spec)
    present(spec.loader).exec_module(module)
    return getattr(module, name)


PLAIN = """
def objective(config):
    return config["x"] ** 2
"""
SAME = [
    '''
# A comment.
def objective(config):
    """A docstring."""
    return (config["x"]
            ** 2)  # another
''',
    """
import math


def objective(config):
    return config['x']**2
""",
]


@pytest.mark.parametrize("source", SAME)
def test_layout_comments_and_docstrings_do_not_count(tmp_path, source):
    one, two = loaded(tmp_path, PLAIN), loaded(tmp_path, source)
    assert fingerprint_of(one) == fingerprint_of(two)
    assert fingerprint_of(one)["hash"]


@pytest.mark.parametrize(
    "source",
    [
        PLAIN.replace("2", "3"),
        PLAIN.replace("def objective", "@(lambda function: function)\ndef objective"),
        PLAIN + "\n    # never reached\n    return 1\n",
    ],
)
def test_edited_code_counts(tmp_path, source):
    one, two = loaded(tmp_path, PLAIN), loaded(tmp_path, source)
    assert list(changes(fingerprint_of(one), fingerprint_of(two))) == [
        "the source of the function objective has been edited"
    ]


def test_lambdas_methods_partials_and_objects(tmp_path):
    source = """
    import functools

    class Model:
        def __init__(self, power): self.power = power
        def __call__(self, config): return config["x"] ** self.power
        def method(self, config): return config["x"]

    first = lambda config: config["x"]; second = 1
    def plain(config, power): return config["x"] ** power
    partial = functools.partial(plain, power=2)
    object_, method = Model(2), Model(2).method
    """
    names = ("first", "partial", "object_", "method", "plain")
    prints = {name: fingerprint_of(loaded(tmp_path, source, name)) for name in names}
    assert prints["partial"] == prints["plain"]
    assert prints["object_"]["name"] == "Model"
    assert prints["method"]["name"] == "Model.method"
    assert len({entry["hash"] for entry in prints.values()}) == 4
    edited = source.replace("second = 1", "second = 2")  # beside the lambda, on its line
    assert fingerprint_of(loaded(tmp_path, edited, "first")) == prints["first"]


def test_without_a_source_the_name_counts():
    typed: dict[str, Any] = {}
    exec("def objective(config): return 0.0", typed)
    assert fingerprint_of(typed["objective"]) == {
        "kind": "function",
        "name": "objective",
        "hash": None,
    }
    assert fingerprint_of(len)["hash"] is None
    assert fingerprint_of(functools.partial(len))["name"] == "len"


def test_commands_are_told_apart_by_template_and_place():
    one, two = (Command(f"echo {{x}} {word}", SPACE) for word in ("a", "b"))
    assert list(changes(one.fingerprint, Command("echo {x} a", SPACE).fingerprint)) == []
    assert list(changes(one.fingerprint, two.fingerprint)) == [
        "the command was 'echo {x} a' and is 'echo {x} b' now"
    ]
    wrapped = Command("echo  {x}\n    'a' ", SPACE)  # the same words
    assert list(changes(one.fingerprint, wrapped.fingerprint)) == []
    assert list(changes(one.fingerprint, Command("echo '{x} ' a", SPACE).fingerprint))
    other = Command("echo {x} a", SPACE, "json:out.json")
    assert list(changes(one.fingerprint, other.fingerprint)) == [
        "where its value is read was 'stdout' and is 'json:out.json' now"
    ]
    assert list(changes(one.fingerprint, fingerprint_of(len))) == [
        "the objective was the command 'echo {x} a' and is the function len now"
    ]


def test_an_edited_objective_is_refused_until_it_is_allowed(tmp_path, capsys):
    one, two = loaded(tmp_path, PLAIN), loaded(tmp_path, PLAIN.replace("2", "3"))
    options = {"storage": tmp_path / "r.db", "strategy": "random"}
    bq.minimize(one, SPACE, n_trials=2, **options)
    with pytest.raises(ValueError, match=r"objective has been edited.*allow_changed"):
        bq.minimize(two, SPACE, n_trials=4, **options)
    assert len(read_study(tmp_path / "r.db").history) == 2
    capsys.readouterr()
    bq.minimize(two, SPACE, n_trials=4, allow_changed=True, **options)
    assert "goes on after 2 trials; the source of the function objective has been edited" in (
        capsys.readouterr().err
    )
    assert len(bq.minimize(two, SPACE, n_trials=5, **options).trials) == 5  # it is stored now


def test_a_mended_objective_goes_on_while_nothing_has_brought_a_value(tmp_path, capsys):
    broken = loaded(tmp_path, "def objective(config):\n    return config['y']\n")
    options = {"storage": tmp_path / "r.db", "strategy": "random"}
    assert len(bq.minimize(broken, SPACE, n_trials=2, **options).history.failed) == 2
    mended = loaded(tmp_path, PLAIN)
    capsys.readouterr()
    assert len(bq.minimize(mended, SPACE, n_trials=4, **options).history.complete) == 2
    assert "; its failures stay in it; another study name starts afresh" in capsys.readouterr().err


def test_a_study_that_has_all_its_trials_says_so(tmp_path, capsys):
    objective = loaded(tmp_path, PLAIN)
    options = {"storage": tmp_path / "r.db", "strategy": "random"}
    bq.minimize(objective, SPACE, n_trials=3, **options)
    assert len(bq.minimize(objective, SPACE, n_trials=2, **options).trials) == 3
    said = capsys.readouterr().err
    assert "study 'bosquet': has 3 trials already; 2 are wanted in all" in said
    assert "goes on" not in said


def test_studies_of_before_take_the_objective_they_are_resumed_with(tmp_path):
    import optuna

    storage = optuna.storages.InMemoryStorage()
    objective = loaded(tmp_path, PLAIN)
    bq.minimize(objective, SPACE, n_trials=2, storage=storage)
    header = storage.get_study_user_attrs(0)["bosquet"]
    del header["objective"]
    storage.set_study_user_attr(0, "bosquet", header)
    assert read_study(storage).objective is None
    bq.minimize(objective, SPACE, n_trials=3, storage=storage)
    assert read_study(storage).objective == fingerprint_of(objective)


def test_the_strategy_of_the_last_run_is_kept(tmp_path, capsys):
    options = {"storage": tmp_path / "r.db"}
    bq.minimize(lambda c: c["x"], SPACE, n_trials=2, strategy="random", **options)
    bq.minimize(lambda c: c["x"], SPACE, n_trials=3, strategy="sobol", **options)
    assert "with the strategy 'sobol' (before: 'random')" in capsys.readouterr().err
    assert read_study(tmp_path / "r.db").strategy == "sobol"


def test_threads_do_not_parse_at_the_same_time(monkeypatch):
    inside, most = [], []

    def watched(source):
        inside.append(1)
        time.sleep(0.01)  # lets another thread in, if one may come
        most.append(len(inside))
        inside.pop()
        return ast.parse(source)

    watching = types.SimpleNamespace(**vars(ast) | {"parse": watched})
    monkeypatch.setattr("bosquet.study.fingerprint.ast", watching)
    with ThreadPoolExecutor(4) as threads:
        prints = list(threads.map(fingerprint_of, [loaded] * 8))
    assert most == [1] * 8
    assert prints[0]["hash"] is not None
    assert prints == [prints[0]] * 8
