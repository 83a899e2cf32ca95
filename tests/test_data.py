import json
import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bosquet as bq
from bosquet.data import Dataset, History, Trial, alike
from tests.space.strategies import build as build_space
from tests.space.strategies import declarations, relaxed


@pytest.fixture
def space():
    return bq.Space(
        {"m": bq.Choice({"a": {"x": bq.Float(0, 1)}, "b": {"x": bq.Int(1, 3), "y": bq.Int(0, 1)}})}
    )


@pytest.fixture
def trials(space):
    return [
        Trial(0, {"m": "a", "x": 0.25}).completed(bq.Evaluation(2.0)),
        Trial(2, {"m": "b", "x": 2, "y": 0}).completed(bq.Evaluation(1.0, noise_variance=0.5)),
        Trial(1, {"m": "b", "x": 1, "y": 1}).failed("killed"),
    ]


def test_evaluation_checks_itself():
    assert bq.Evaluation(np.float32(1.5)).value == 1.5
    for bad in (None, "3", [1, 2], object()):
        with pytest.raises(TypeError, match="the value must be a number"):
            bq.Evaluation(bad)
    for bad in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="noise_variance"):
            bq.Evaluation(0.0, noise_variance=bad)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_not_finite_is_a_failure(value):
    trial = Trial(0, {"x": 1}).completed(bq.Evaluation(value))
    assert (trial.state, trial.value) == ("failed", None)
    assert trial.reason == f"the objective returned {value}"


def test_history_sorts_by_number_and_knows_the_best(space, trials):
    history = History(space, trials)
    assert [trial.number for trial in history.trials] == [0, 1, 2]
    assert history.best.number == 2
    assert History(space, trials, "maximize").best.number == 0
    assert list(history.best_by_path()) == ["m=b", "m=a"]
    assert len(history.failed) == 1
    with pytest.raises(ValueError, match="not unique"):
        history.with_trial(trials[0])
    with pytest.raises(ValueError, match="direction='up'"):
        History(space, direction="up")


def test_the_sign_is_turned_once(space, trials):
    low = History(space, trials).dataset()
    high = History(space, trials, "maximize").dataset()
    np.testing.assert_array_equal(low.y, [2.0, 1.0])
    np.testing.assert_array_equal(high.y, -low.y)


def test_dataset_marks_what_is_inactive(space, trials):
    data = History(space, trials).dataset()
    assert data.X.shape == (2, 4)
    np.testing.assert_array_equal(data.active, [[True, True, False, False], [1, 0, 1, 1]])
    np.testing.assert_array_equal(data.X[~data.active], 0.5)
    np.testing.assert_array_equal(data.noise, [np.nan, 0.5])
    with pytest.raises(ValueError, match="shape"):
        Dataset(data.X, data.y[:1], data.noise, data.active)


def test_noise_is_stated_or_seen(space):
    config = {"m": "a", "x": 0.5}
    quiet = [Trial(i, config).completed(bq.Evaluation(1.0)) for i in range(2)]
    assert not History(space, quiet).noisy
    assert History(space, [quiet[0], Trial(1, config).completed(bq.Evaluation(1.1))]).noisy
    assert History(space, [Trial(0, config).completed(bq.Evaluation(1.0, 0.1))]).noisy
    assert not History(space, [Trial(0, config).completed(bq.Evaluation(1.0, 0.0))]).noisy


def test_json_lines_round_trip(space, trials, tmp_path):
    history = History(space, trials, "maximize")
    path = tmp_path / "history.jsonl"
    history.to_jsonl(path)
    assert History.from_jsonl(path) == history
    assert History.from_jsonl(path, space) == history
    assert len(path.read_text().splitlines()) == 1 + 3
    assert list(tmp_path.iterdir()) == [path]


odd_texts = st.one_of(
    st.text(st.characters(), max_size=5),
    st.sampled_from(["\u2028", "a\x85b", "\x1c", "\r\n", "\ud800", "\x00", "日本 é", "NaN"]),
)
odd_numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(
        [-0.0, 5e-324, 1.7976931348623157e308, 2**53 + 1, 10**30, True, np.float32(0.1)]
    ),
)
infos = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), odd_texts),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(st.one_of(odd_texts, st.integers()), inner, max_size=3),
    ),
    max_leaves=8,
)


@settings(relaxed, max_examples=150)
@given(declarations(), st.sampled_from(["minimize", "maximize"]), st.data())
def test_json_lines_give_back_whatever_was_there(tmp_path_factory, declaration, direction, data):
    """Down to the sign of a zero: names, options, values, reasons and infos may all be odd."""
    space = build_space(declaration)
    trials = []
    for number, config in enumerate(space.sample(0, data.draw(st.integers(0, 4)))):
        trial = Trial(number, config, info={"said": data.draw(infos)})
        if data.draw(st.booleans()):
            noise = data.draw(st.one_of(st.none(), st.floats(0, 1e300)))
            trials.append(trial.completed(bq.Evaluation(data.draw(odd_numbers), noise)))
        else:
            trials.append(trial.failed(data.draw(odd_texts)))
    history = History(space, trials, direction)
    path = tmp_path_factory.mktemp("history") / "history.jsonl"
    history.to_jsonl(path)
    for back in (History.from_jsonl(path), History.from_jsonl(path, space)):
        assert back == history
        assert repr(back.trials) == repr(history.trials)
    assert path.read_text(encoding="utf-8").count("\n") == 1 + len(trials)


def test_json_lines_of_others_may_hold_any_character(tmp_path):
    """What JSON does not escape need not be escaped, and lines may end as on Windows."""
    space = bq.Space({"x": bq.Choice(["\u2028", "\x85"])})
    path = tmp_path / "history.jsonl"
    history = History(space, [Trial(0, {"x": "\x85"}).failed("a\u2029b")])
    history.to_jsonl(path)
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    plain = [json.dumps(json.loads(line), ensure_ascii=False) for line in lines]
    path.write_bytes("\r\n".join([*plain, ""]).encode())
    assert History.from_jsonl(path) == history


def test_info_is_as_json_gives_it_back():
    said = {"edges": ((0, 1),), 3: np.float64(0.5), "bad": [math.inf, -math.nan], "a": np.arange(2)}
    trial = Trial(0, {"x": 1}, info=said)
    assert trial.info == {"edges": [[0, 1]], "3": 0.5, "bad": [None, None], "a": [0, 1]}
    assert json.loads(json.dumps(trial.info, allow_nan=False)) == trial.info
    with pytest.raises(TypeError, match=r"info of trial 7: <object .* cannot be stored as JSON"):
        Trial(7, {"x": 1}, info={"what": [object()]})


def test_json_lines_that_do_not_fit(space, trials, tmp_path):
    path = tmp_path / "history.jsonl"
    History(space, trials).to_jsonl(path)
    lines = path.read_text().splitlines()
    with pytest.raises(ValueError, match="another space"):
        History.from_jsonl(path, bq.Space({"x": bq.Float(0, 1)}))
    path.write_text("\n".join([*lines[:-1], lines[-1][:-5]]))
    with pytest.raises(ValueError, match=r", line 4: not JSON \("):
        History.from_jsonl(path)
    bad = json.loads(lines[1]) | {"config": {"m": "a", "x": 7}}
    path.write_text("\n".join([lines[0], json.dumps(bad)]))
    with pytest.raises(ValueError, match="trial 0 does not belong here: 'x': 7 is not allowed"):
        History.from_jsonl(path)
    path.write_text('{"format": "else"}\n')
    with pytest.raises(ValueError, match="not a bosquet history"):
        History.from_jsonl(path)
    path.write_text(f"{lines[0]}\n[1, 2]\n")
    with pytest.raises(ValueError, match=r"line 2: '\[1, 2\]' is not a JSON object"):
        History.from_jsonl(path)
    path.write_text("")
    with pytest.raises(ValueError, match="is empty"):
        History.from_jsonl(path)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"number": "0"}, "number='0'"),
        ({"state": "COMPLETE"}, "state='COMPLETE'"),
        ({"state": "complete", "value": None}, "the value must be a number"),
        ({"state": "complete", "value": math.nan}, "must be finite"),
        ({"state": "complete", "value": 1.0, "noise_variance": -1}, "noise_variance"),
    ],
)
def test_a_trial_checks_itself(fields, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Trial(**({"number": 0, "config": {"x": 1}} | fields))


def test_parameters_named_like_columns_do_not_hide_them():
    space = bq.Space({"value": bq.Float(0, 1), "state": bq.Choice(["on", "off"])})
    trial = Trial(0, {"value": 0.5, "state": "on"}).completed(bq.Evaluation(7.0))
    frame = History(space, [trial]).to_dataframe()
    assert frame["value"].tolist() == [7.0]
    assert frame["config.value"].tolist() == [0.5]
    assert frame["config.state"].tolist() == ["on"]


def test_units_grow_with_the_history(space, trials):
    history = History(space)
    for trial in trials:
        assert len(history.units) == len(history)
        history = history.with_trial(trial)
    np.testing.assert_array_equal(history.units, History(space, trials).units)


def test_dataframe(space, trials):
    frame = History(space, trials).to_dataframe()
    assert list(frame.columns) == [
        *("number", "state", "value", "noise_variance", "reason", "m"),
        *("m=a/x", "m=b/x", "y"),
    ]
    assert frame["m=a/x"].tolist()[0] == 0.25
    assert frame["reason"].tolist()[1] == "killed"
    assert len(frame) == 3


def test_memory_is_stored_and_not_printed(space, tmp_path):
    memory = {"fits": {"add-tree": {"theta": {"noise": 0.1 + 0.2}}}}
    trial = Trial(0, {"m": "a", "x": 0.5}, info={"why": "because"}, memory=memory)
    assert "because" in repr(trial)
    assert "fits" not in repr(trial)
    history = History(space, [trial.completed(bq.Evaluation(1.0))])
    history.to_jsonl(tmp_path / "history.jsonl")
    read = History.from_jsonl(tmp_path / "history.jsonl")
    assert read == history
    assert read.trials[0].memory == memory


def test_memory_in_the_info_of_older_files_is_found(space, tmp_path):
    """Version 0.1 had one dict for people and for later asks; local fits had no record."""
    file = tmp_path / "history.jsonl"
    info = {"why": "x", "engine": "turbo", "turbo": {"start": 3}, "fits": {"local": [0.5, -1.0]}}
    trial = Trial(0, {"m": "a", "x": 0.5}, info=info)
    History(space, [trial.completed(bq.Evaluation(1.0))]).to_jsonl(file)
    header, entry = map(json.loads, file.read_text().splitlines())
    del entry["memory"]
    file.write_text(f"{json.dumps(header)}\n{json.dumps(entry)}\n")
    (read,) = History.from_jsonl(file).trials
    assert read.info == {"why": "x", "engine": "turbo"}
    assert read.memory["engine"] == "turbo"
    assert read.memory["turbo"] == {"start": 3}
    assert read.memory["fits"]["local"]["theta"] == [0.5, -1.0]


# -- reasons of failures ---------------------------------------------------------------------

LONG = "the matrix of step {} is singular and nothing can be done about it, sorry; "


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("bad 0.5 of -3", "bad 1E-12 of 1,000"),
        ("loss is nan", "loss is -inf"),
        ("<Net object at 0x7f3a2b> broke", "<Net object at 0x55aa00ffee> broke"),
        ("x=0.5, C=3 is too much", "x=0.5, gamma=.1, C=4 is too much"),
        ("failed for {'m': 'svm', 'C': 1}", "failed for {'m': 'forest', 'depth': 3}"),
        ("shape (3, 4) of [0.1 0.2]", "shape (3, 4, 5) of [1e-3 nan 7]"),
        ("No such file: '/tmp/tmpab3/x'", "No such file: '/tmp/tmpzzzz/y'"),
        ("cannot open /tmp/tmpq8w_e2rt/m.bin", "cannot open /var/tmpzyxwvuts/m.bin"),
        ("cannot open /scratch/job-17/m_3.bin", "cannot open /home/m_12.bin"),
        ("run 9f86d081884c7d65 lost", "run 2c26b46b68ffc68f lost"),
        ("run 123e4567-e89b-12d3-a456-426614174000 lost",
         "run 00000000-0000-0000-0000-0000000a0000 lost"),
        ("/tmp/file1a2b3c took 5GB", "/tmp/fileff00aa1 took 12GB"),
        ("KeyError: 'C' (train.py:12 in f)", "KeyError: 'depth' (train.py:12 in f)"),
        ("NameError: name 'np' is not defined (train.py:12 in f)",
         "NameError: name 'np' is not defined (train.py:31 in f)"),
        ('File "/a/train.py", line 3, in f | KeyError: \'C\'',
         'File "/b/c/train.py", line 17, in f | KeyError: \'D\''),
        ("returned list [0.1, 0.22... instead", "returned list [0.11111, 3... instead"),
        ("exit code 1; stderr: ..." + (LONG.format(1) * 5)[-300:],
         "exit code 1; stderr: ..." + (LONG.format(1234567) * 5)[-300:]),
        ("E: " + LONG.format(1) * 50, "E: " + LONG.format(1234567) * 50),
        ("unknown mode a", "unknown mode b"),
        ("switch is True", "switch is false"),
    ],
)  # fmt: skip
def test_reasons_of_one_cause_are_alike(one, other):
    space = bq.Space({"m": bq.Choice(["a", "b"]), "s": bq.Choice([True, False])})
    assert alike(one, space) == alike(other, space)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("KeyError: 'C' (train.py:12 in f)", "KeyError: 'C' (train.py:12 in g)"),
        ('File "/a/train.py", line 3, in f', 'File "/a/model.py", line 3, in f'),
        ("too deep (train.py:12 in f)", "too deep (model.py:12 in f)"),
        ("exit code 1; it wrote nothing", "exit code 137; it wrote nothing"),
        ("[Errno 2] /data/x", "[Errno 13] /data/x"),
        ("out of memory", "out of time"),
        ("can't find 3 and don't care", "can't find 3 and don't worry"),
        ("unknown mode a", "unknown mode c"),
        ("cannot open /data/a.bin", "cannot open /data/b.bin"),
    ],
)
def test_reasons_of_different_causes_are_not(one, other):
    assert alike(one) != alike(other)


@pytest.mark.parametrize("unit", ["a", "0", "f-", "/", "[(", "'", "1e", "x=1,", ". .. ..."])
def test_odd_reasons_take_no_time(unit):
    started = time.perf_counter()
    alike(unit * 100_000, bq.Space({"m": bq.Choice([unit, "b"])}))
    assert time.perf_counter() - started < 0.5


def test_what_a_trial_cannot_be():
    with pytest.raises(ValueError, match="state='done' must be 'pending', 'complete' or 'failed'"):
        Trial(0, {"x": 1.0}, state="done")
    with pytest.raises(TypeError, match="info of trial 3: "):
        Trial(3, {"x": 1.0}, info={"why": object()})


def test_a_dataset_checks_itself():
    column = np.zeros(2)
    with pytest.raises(ValueError, match="X, y, noise and active disagree in shape"):
        Dataset(np.zeros((3, 1)), column, column, np.ones((3, 1), dtype=bool))
