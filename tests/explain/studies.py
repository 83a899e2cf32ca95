"""Studies whose truth is known: configurations drawn at random, values computed."""

from bosquet import Choice, Float, History, Int, Space, Trial


def tree_space():
    return Space(
        {
            "lr": Float(1e-4, 1e-1, log=True),
            "model": Choice(
                {
                    "svm": {"C": Float(0, 1), "kernel": Choice(["linear", "rbf"])},
                    "forest": {"depth": Int(1, 20)},
                }
            ),
        }
    )


def tree_value(config):
    """Only C of the svm, and the choice of the model, matter."""
    if config["model"] == "forest":
        return 2.0
    return 1.0 + 4.0 * (config["C"] - 0.3) ** 2


def studied(space, value, n=30, direction="minimize", seed=0, failed=()):
    """A history of random trials."""
    trials = []
    for number, config in enumerate(space.sample(seed, n)):
        if number in failed:
            trials.append(Trial(number, config).failed("out of memory"))
        else:
            trials.append(Trial(number, config, "complete", value(config)))
    return History(space, trials, direction)
