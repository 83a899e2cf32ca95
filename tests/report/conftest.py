"""Studies to be reported: with all that can go wrong in texts, plain ones, large ones."""

import numpy as np
import pytest

import bosquet as bq
from bosquet.data import Trial, now
from bosquet.explain import fit
from bosquet.report.content import Source
from bosquet.report.page import write_report
from bosquet.study import Result
from tests.chromium import browser
from tests.study.conftest import postgres, postgres_url, storage

__all__ = ["browser", "postgres", "postgres_url", "storage"]  # fixtures of others

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


def large_history():
    """2,000 trials with 60 parameters."""
    rng = np.random.default_rng(0)
    names = [f"parameter_{i}" for i in range(59)]
    space = bq.Space({name: bq.Float(0, 1) for name in names} | {"m": bq.Choice(["a", "b"])})
    trials = []
    for number, row in enumerate(rng.random((2000, 59))):
        config = dict(zip(names, map(float, row), strict=True)) | {"m": "ab"[number % 2]}
        info = {"why": "highest expected improvement, averaged over beliefs", "acquisition": -1.5}
        trial = Trial(number, config, info=info, started=now(), ended=now())
        failed = number % 50 == 7
        trials.append(
            trial.failed(f"diverged at step {number}")
            if failed
            else trial.completed(bq.Evaluation(float(row[:5].sum())))
        )
    return bq.History(space, trials)


@pytest.fixture(scope="session")
def large_report(tmp_path_factory):
    """With all pictures; the model is fitted to a few trials only, which a page does not show."""
    file = tmp_path_factory.mktemp("large") / "large.html"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fit, "MOST", 40)
        return write_report(Source("large", large_history()), file)
