"""Every plot of a study: it is made, says what there is, and no text of the user is markup."""

import pytest

import bosquet as bq
from bosquet import plots
from bosquet.explain import model_of
from tests.plots.conftest import EVIL

OF_ANY = [name for name in plots.__all__ if name not in ("graph", "partition")]


@pytest.mark.parametrize("name", OF_ANY)
def test_no_text_of_the_user_is_markup(name, history, text_of):
    said = text_of(getattr(plots, name)(history))
    assert EVIL not in said
    assert "\\u003cb\\u003e&'" not in said
    assert "\u202e" not in said


@pytest.mark.parametrize("name", OF_ANY)
def test_titles_have_something_to_say(name, history):
    title = getattr(plots, name)(history).layout.title.text
    assert len(title) > 15


@pytest.mark.parametrize(
    "name", ["effects", "importance", "interaction", "predictions", "calibration"]
)
def test_plots_of_a_model_refuse_before_there_is_one(name):
    with pytest.raises(bq.ModelError, match="a model needs at least 4 complete trials"):
        getattr(plots, name)(bq.History(bq.Space({"x": bq.Float(0, 1)})))


@pytest.mark.parametrize("size", [1e300, -1e-300])
def test_values_near_the_ends_of_the_floats_can_be_plotted(size):
    space = bq.Space({"only": bq.Choice(["one"]), "x": bq.Float(0, 1), "y": bq.Int(3, 4)})
    trials = [bq.Trial(i, c, "complete", size * c["x"]) for i, c in enumerate(space.sample(0, 6))]
    history = bq.History(space, trials)
    for name in OF_ANY:
        if name != "acquisition":
            assert getattr(plots, name)(history).layout.title.text
    spread = model_of(history).importance()[0].sd
    assert 0.01 * abs(size) < spread < abs(size)
