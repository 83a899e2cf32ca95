"""Whether the model is to be trusted, in words too."""

import numpy as np

import bosquet as bq
from bosquet import plots

SPACE = bq.Space({"x": bq.Float(0, 1), "y": bq.Float(0, 1)})


def made_of(value, n=25):
    trials = [bq.Trial(i, c, "complete", value(c)) for i, c in enumerate(SPACE.sample(0, n))]
    return bq.History(SPACE, trials)


def test_a_smooth_function_is_predicted_well():
    made = plots.predictions(made_of(lambda c: (c["x"] - 0.3) ** 2 + c["y"]))
    assert made.layout.title.text == "The model predicts well"
    points = [trace for trace in made.data if trace.mode == "markers"]
    assert sum(len(trace.x) for trace in points) == 25


def test_nothing_but_noise_is_hardly_predicted():
    rng = np.random.default_rng(0)
    history = made_of(lambda _: float(rng.standard_normal()))
    assert plots.predictions(history).layout.title.text == "The model predicts poorly"
    assert "as wide as they should be" in plots.calibration(history).layout.title.text


def test_calibration_rises_from_none_to_all(history):
    line = plots.calibration(history).data[-1]
    assert list(line.y) == sorted(line.y)
    assert line.y[-1] == 1.0
    assert "90 % intervals hold" in plots.calibration(history).layout.title.subtitle.text


def test_wide_intervals_do_not_hide_the_points():
    made = plots.predictions(made_of(lambda c: np.exp(12 * c["x"] * c["y"]), n=10))
    low, high = made.layout.yaxis.range
    points = [trace for trace in made.data if trace.mode == "markers"]
    shown = [y for trace in points for y in (*trace.x, *trace.y)]
    assert low <= min(shown) < max(shown) <= high
    assert high - low <= 3 * (max(shown) - min(shown)) * (1 + 1e-9)
    ends = [y + up for t in points for y, up in zip(t.y, t.error_y.array, strict=True)]
    assert max(ends) > high
    calm = plots.predictions(made_of(lambda c: (c["x"] - 0.3) ** 2 + c["y"]))
    assert calm.layout.yaxis.range is None
