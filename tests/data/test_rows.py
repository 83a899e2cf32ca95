"""Trials as rows: the same in data frames, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bosquet as bq
from bosquet.data import History, Trial
from bosquet.data.rows import FIXED, columns
from bosquet.report.export import to_csv, to_json
from tests.space.strategies import relaxed, spaces

MOMENT = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)


def history_of(space: bq.Space, configs: list[dict[str, Any]]) -> History:
    return History(space, [Trial(i, c, "complete", float(i)) for i, c in enumerate(configs)])


@pytest.fixture
def gaps() -> History:
    """Integers that are not active in every trial."""
    options = {"n": bq.Int(1, 9), "width": bq.Choice([16, 32]), "mixed": bq.Choice([1, 0.5, None])}
    space = bq.Space({"m": bq.Choice({"a": {}, "b": options}), "k": bq.Int(0, 3)})
    b = {"m": "b", "n": 3, "width": 16, "mixed": 1, "k": 0}
    return history_of(space, [b, {"m": "a", "k": 3}, b | {"mixed": None}])


def test_columns_of_numbers_are_of_numbers_where_no_trial_has_one() -> None:
    space = bq.Space({"x": bq.Float(0, 1)})
    frame = History(space, [Trial(0, {"x": 0.5}).failed("no")]).to_dataframe()
    for name in ("value", "noise_variance", "duration"):
        assert str(frame[name].dtype) == "float64"
        assert frame[name].isna().all()


def test_integers_stay_integers_where_a_parameter_is_inactive(gaps: History) -> None:
    frame = gaps.to_dataframe()
    assert [str(frame[name].dtype) for name in ("n", "width", "mixed")] == [
        "Int64",
        "Int64",
        "object",
    ]
    assert frame["n"].tolist() == [3, pd.NA, 3]
    assert [repr(value) for value in frame["mixed"]] == ["1", "nan", "None"]
    assert str(frame["k"].dtype) == "int64"
    assert to_csv(gaps).splitlines() == [
        "number,state,value,noise_variance,reason,started,ended,duration,m,n,width,mixed,k",
        "0,complete,0.0,,,,,,b,3,16,1,0",
        "1,complete,1.0,,,,,,a,,,,3",
        "2,complete,2.0,,,,,,b,3,16,null,0",
    ]
    written = frame.drop(columns="mixed").to_csv(index=False).splitlines()
    assert written == [
        "number,state,value,noise_variance,reason,started,ended,duration,m,n,width,k",
        "0,complete,0.0,,,,,,b,3,16,0",
        "1,complete,1.0,,,,,,a,,,3",
        "2,complete,2.0,,,,,,b,3,16,0",
    ]


def test_integers_too_large_for_a_column_of_integers() -> None:
    space = bq.Space({"m": bq.Choice({"a": {}, "b": {"n": bq.Choice([10**30, 1])}})})
    frame = history_of(space, [{"m": "a"}, {"m": "b", "n": 10**30}]).to_dataframe()
    assert frame["n"][1] == 10**30


def test_every_parameter_has_a_column_of_its_own() -> None:
    x = bq.Float(0, 1)
    space = bq.Space(
        {
            "m": bq.Choice({"a": {"x": x, "y": x}, "b": {"x": x}}),
            "m=a/x": bq.Float(0, 1),  # not x, which would be a slip
            "m=a/y": bq.Float(0, 1),
            "value": x,
            "config.value": x,
        }
    )
    assert columns(space) == {
        "m": "m",
        "m=a/x": "m=a/x",
        "m=a/y": "y",
        "m=b/x": "m=b/x",
        '"m=a/x"': '"m=a/x"',
        '"m=a/y"': '"m=a/y"',
        "value": "config.config.value",
        "config.value": "config.value",
    }


@relaxed
@given(spaces, st.integers(0, 2**32 - 1))
def test_data_frames_csv_and_json_agree(space: bq.Space, seed: int) -> None:
    history = history_of(space, space.sample(seed, 5))
    frame, objects = history.to_dataframe(), json.loads(to_json(history))
    header, *lines = csv.reader(io.StringIO(to_csv(history), newline=""))
    names = [*FIXED, *columns(space).values()]
    assert len(set(names)) == len(names)
    assert list(frame.columns) == names
    assert [name.removeprefix("'") for name in header] == [n.removeprefix("'") for n in names]
    for i, (line, row) in enumerate(zip(lines, objects, strict=True)):
        assert [name for name in names if name in row] == list(row)
        for name, cell in zip(names, line, strict=True):
            value = row.get(name)
            if value is None:
                assert cell == ("null" if name in row and name not in FIXED else "")
                assert pd.isna(frame[name][i])
            else:
                assert cell.removeprefix("'") == (
                    value.removeprefix("'") if isinstance(value, str) else json.dumps(value)
                )
                assert frame[name][i] == value
                if isinstance(value, int):
                    assert not isinstance(frame[name][i], float)


def test_parameters_named_like_columns_do_not_hide_them():
    space = bq.Space({"value": bq.Float(0, 1), "state": bq.Choice(["on", "off"])})
    trial = Trial(0, {"value": 0.5, "state": "on"}).completed(bq.Evaluation(7.0))
    frame = History(space, [trial]).to_dataframe()
    assert frame["value"].tolist() == [7.0]
    assert frame["config.value"].tolist() == [0.5]
    assert frame["config.state"].tolist() == ["on"]


def test_dataframe(space, trials):
    frame = History(space, trials).to_dataframe()
    assert list(frame.columns) == [
        *("number", "state", "value", "noise_variance", "reason"),
        *("started", "ended", "duration", "m"),
        *("m=a/x", "m=b/x", "y"),
    ]
    assert frame["m=a/x"].tolist()[0] == 0.25
    assert frame["reason"].tolist()[1] == "killed"
    assert len(frame) == 3


def test_times_in_data_frames_csv_and_json() -> None:
    space = bq.Space({"x": bq.Float(0, 1), "duration": bq.Int(1, 9)})
    config = {"x": 0.5, "duration": 3}
    later = MOMENT + timedelta(seconds=90.25)
    timed = Trial(0, config, "complete", 1.0, started=MOMENT, ended=later)
    history = History(space, [timed, Trial(1, config, "complete", 2.0, ended=later)])
    frame = history.to_dataframe()
    assert frame["started"].tolist() == [pd.Timestamp(MOMENT), pd.NaT]
    assert "UTC" in str(frame["ended"].dtype)
    assert frame["ended"][1] == pd.Timestamp(later)
    assert frame["duration"].tolist()[0] == 90.25
    assert pd.isna(frame["duration"][1])
    assert frame["config.duration"].tolist() == [3, 3]
    first, second = json.loads(to_json(history))
    assert first["started"] == "2026-01-31T09:30:00.000000+00:00"
    assert (first["duration"], second["duration"], second["started"]) == (90.25, None, None)
    assert to_csv(history).splitlines()[1:] == [
        "0,complete,1.0,,,2026-01-31T09:30:00.000000+00:00,2026-01-31T09:31:30.250000+00:00,"
        "90.25,0.5,3",
        "1,complete,2.0,,,,2026-01-31T09:31:30.250000+00:00,,0.5,3",
    ]


def test_the_times_of_no_trial_are_still_times() -> None:
    frame = History(bq.Space({"x": bq.Float(0, 1)})).to_dataframe()
    assert str(frame["started"].dtype) == str(frame["ended"].dtype)
    assert "UTC" in str(frame["ended"].dtype)
