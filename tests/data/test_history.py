import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bosquet as bq
from bosquet.data import Dataset, History, Trial
from tests.space.strategies import build as build_space
from tests.space.strategies import declarations, relaxed
from tests.support import present


def test_history_sorts_by_number_and_knows_the_best(space, trials):
    history = History(space, trials)
    assert [trial.number for trial in history.trials] == [0, 1, 2]
    assert present(history.best).number == 2
    assert present(History(space, trials, "maximize").best).number == 0
    assert list(history.best_by_path()) == ["m=b", "m=a"]
    assert len(history.failed) == 1
    with pytest.raises(ValueError, match="not unique"):
        history.with_trial(trials[0])
    with pytest.raises(ValueError, match="direction='up'"):
        History(space, direction="up")  # type: ignore[arg-type]


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


@settings(relaxed, max_examples=60)
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


def test_units_grow_with_the_history(space, trials):
    history = History(space)
    for trial in trials:
        assert len(history.units) == len(history)
        assert list(history) == list(history.trials)
        history = history.with_trial(trial)
    np.testing.assert_array_equal(history.units, History(space, trials).units)


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


def test_a_dataset_checks_itself():
    column = np.zeros(2)
    with pytest.raises(ValueError, match="X, y, noise and active disagree in shape"):
        Dataset(np.zeros((3, 1)), column, column, np.ones((3, 1), dtype=bool))


def test_json_lines_keep_times_and_older_files_have_none(space, tmp_path):
    opt = bq.Optimizer(space, "random", seed=0)
    opt.tell(opt.ask(), 1.0)
    file = tmp_path / "h.jsonl"
    opt.history.to_jsonl(file)
    (trial,) = History.from_jsonl(file).trials
    assert (trial.started, trial.ended) == (opt.history.trials[0].started, trial.ended)
    assert present(trial.duration) >= 0.0

    header, line = map(json.loads, file.read_text().splitlines())
    older = {name: line[name] for name in line if name not in ("started", "ended")}
    file.write_text(json.dumps(header) + "\n" + json.dumps(older) + "\n")
    (trial,) = History.from_jsonl(file).trials
    assert (trial.started, trial.ended, trial.duration) == (None, None, None)
