import pytest

import bosquet as bq

SPACE = bq.Space(
    {
        "smoother": bq.Choice(["a", "b", "c", "d"]),
        "before": bq.Choice([0, 1, 2, 3], ordered=True),
        "after": bq.Choice([0, 1, 2, 3], ordered=True),
        "cores": bq.Choice({"one": {}, "many": {"nodes": bq.Int(2, 4)}}),
    }
)


def seconds(config):
    """Best where little is done, by whoever does it: good settings are next to each other."""
    work = abs(config["before"] - 1) + config["after"] + 0.1 * "abcd".index(config["smoother"])
    return work + 0.3 * config.get("nodes", 1)


@pytest.mark.parametrize("strategy", ["auto", "add-tree", "arc", "tree-ei", "htbo", "additive"])
def test_models_choose_to_the_end_on_finite_spaces(strategy):
    """The best rows are those of trials: what is next to them must be found among the others."""
    if strategy == "additive":  # has no conditions
        space = bq.Space({name: SPACE[name] for name in ("smoother", "before", "after")})
    else:
        space = SPACE
    optimizer = bq.Optimizer(space, strategy=strategy, seed=0)
    for _ in range(40):
        trial = optimizer.ask()
        optimizer.tell(trial, seconds(trial.config))
    chosen = [trial.info["why"] for trial in optimizer.history.trials[12:]]
    assert not [why for why in chosen if why == "space-filling design" or "random" in why]
