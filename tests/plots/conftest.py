"""A small study of everything that is plotted: branches, failures, options full of markup."""

import pytest

from bosquet import Choice, Float, History, Int, Space, Trial

EVIL = "<b>&'\"\u202e</b>"


def value(config):
    base = config["lr"] * 10 + (0.3 if config["scale"] == EVIL else 0.0)
    if config["model"] == "svm":
        return 1.0 + base + (config["C"] / 500 - 1) ** 2 * (2.0 if config["kernel"] == "rbf" else 1)
    return 2.0 + base + config["depth"] / 40


@pytest.fixture(scope="session")
def history():
    space = Space(
        {
            "lr": Float(1e-4, 1e-1, log=True),
            "scale": Choice(["none", EVIL]),
            "model": Choice(
                {
                    "svm": {
                        "C": Float(1, 1000),
                        "kernel": Choice({"linear": {}, "rbf": {"gamma": Float(0.1, 1)}}),
                    },
                    "forest": {"depth": Int(1, 20)},
                }
            ),
        }
    )
    trials = []
    for number, config in enumerate(space.sample(0, 24)):
        path = space.path_label(config)
        info = {"path": path, "acquisition": -1.0 * number}
        info["paths"] = {path: -1.0 * number, "model=forest": -2.0 * number}
        trial = Trial(number, config, info=info if number >= 8 else {"path": path})
        if number in (5, 9):
            trials.append(trial.failed(EVIL))
        else:
            trials.append(Trial(number, config, "complete", value(config), info=trial.info))
    return History(space, trials)


@pytest.fixture(scope="session")
def text_of():
    """All that a figure says, as JSON."""
    return lambda made: made.to_json()
