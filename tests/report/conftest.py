"""Studies to be reported: one with all that can go wrong in its texts, one that is plain."""

import pytest

import bosquet as bq
from bosquet.study import Result

NASTY = (
    "</script><script>document.title='owned'</script><img src=x onerror=alert(1)>\"'&`$x 🌲\u2028"
)


@pytest.fixture(scope="session")
def nasty():
    """All texts of which are markup, quotes, emoji and ends of lines."""
    branches = {NASTY: {f"x{NASTY}": bq.Float(0, 1)}, "b": {"y": bq.Int(1, 50)}}
    space = bq.Space({f"m{NASTY}": bq.Choice(branches), "none": bq.Choice([None, True, "None"])})

    def objective(config):
        value = config.get(f"x{NASTY}", 0.4)
        if value > 0.8:
            raise ValueError(f"{NASTY} at {value}")
        return (value - 0.3) ** 2

    return bq.minimize(objective, space, n_trials=16, strategy="sobol", seed=0, progress=False)


def value(config):
    x = config.get("x", 0.5)
    return (x - 0.3) ** 2 + (0.5 if config["m"] == "b" else 0.1) + 0.01 * config["k"]


@pytest.fixture(scope="session")
def plain() -> Result:
    """Two branches, of which ``m=a`` is better by far; no failures."""
    branches = {"a": {"x": bq.Float(0, 1)}, "b": {"n": bq.Int(1, 99)}}
    space = bq.Space({"m": bq.Choice(branches), "k": bq.Int(0, 40)})
    return bq.minimize(value, space, n_trials=20, strategy="add-tree", seed=0, progress=False)
