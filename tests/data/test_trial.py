import json
import math
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest

import bosquet as bq
from bosquet.data import Trial

MOMENT = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)


def test_evaluation_checks_itself():
    assert bq.Evaluation(np.float32(1.5)).value == 1.5  # type: ignore[arg-type]
    for bad in (None, "3", [1, 2], object()):
        with pytest.raises(TypeError, match="the value must be a number"):
            bq.Evaluation(bad)  # type: ignore[arg-type]
    for bad in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="noise_variance"):
            bq.Evaluation(0.0, noise_variance=bad)


def test_a_value_of_minus_zero_is_zero():
    trial = Trial(0, {"x": 1}).completed(bq.Evaluation(-0.0))
    assert trial.outcome == "complete, 0"


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_not_finite_is_a_failure(value):
    trial = Trial(0, {"x": 1}).completed(bq.Evaluation(value))
    assert (trial.state, trial.value) == ("failed", None)
    assert trial.reason == f"the objective returned {value}"


def test_info_is_as_json_gives_it_back():
    said = {"edges": ((0, 1),), 3: np.float64(0.5), "bad": [math.inf, -math.nan], "a": np.arange(2)}
    trial = Trial(0, {"x": 1}, info=said)  # type: ignore[arg-type]
    assert trial.info == {"edges": [[0, 1]], "3": 0.5, "bad": [None, None], "a": [0, 1]}
    assert json.loads(json.dumps(trial.info, allow_nan=False)) == trial.info
    with pytest.raises(TypeError, match=r"info of trial 7: <object .* cannot be stored as JSON"):
        Trial(7, {"x": 1}, info={"what": [object()]})


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


def test_what_a_trial_cannot_be():
    with pytest.raises(ValueError, match="state='done' must be 'pending', 'complete' or 'failed'"):
        Trial(0, {"x": 1.0}, state="done")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="info of trial 3: "):
        Trial(3, {"x": 1.0}, info={"why": object()})


def test_times_are_kept_in_utc():
    elsewhere = MOMENT.astimezone(timezone(timedelta(hours=5)))
    later: Any = "2026-01-31T09:30:02.5+00:00"
    trial = Trial(0, {"x": 1}, started=elsewhere, ended=later)
    assert trial.started == MOMENT
    assert (trial.started.tzinfo, trial.duration) == (UTC, 2.5)
    local = datetime(2026, 1, 31, 9, 30)
    assert Trial(0, {"x": 1}, started=local).started == local.astimezone()
    assert Trial(**json.loads(json.dumps(trial.to_dict()))).ended == trial.ended


def test_durations_need_both_times_and_are_never_negative():
    assert Trial(0, {"x": 1}).duration is None
    assert Trial(0, {"x": 1}, started=MOMENT).duration is None
    assert Trial(0, {"x": 1}, ended=MOMENT).duration is None
    assert Trial(0, {"x": 1}, started=MOMENT, ended=MOMENT - timedelta(hours=1)).duration == 0.0


def test_when_it_ran_does_not_make_it_another_trial():
    assert Trial(0, {"x": 1}, started=MOMENT) == Trial(0, {"x": 1})


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ({"ended": "yesterday"}, "ended='yesterday' must be a time such as"),
        ({"started": 3}, "started must be a datetime or None, not 3"),
    ],
)
def test_times_that_are_none(times: dict[str, Any], message):
    with pytest.raises((ValueError, TypeError), match=message):
        Trial(0, {"x": 1}, **times)
