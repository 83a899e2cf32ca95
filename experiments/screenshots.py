"""The screenshots of the README and the guides: report-laptop, report-phone and plots-tree.png.

    python experiments/screenshots.py [--seed 0]

Runs the study of `bosquet demo`, and one of four branches for the tree. Needs Chromium.
"""

from __future__ import annotations

import argparse
import math
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import bosquet as bq

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # for the browser of the tests
from tests.chromium import Browser, Page  # noqa: E402

IMAGES = ROOT / "docs" / "images"


def tree_study(seed: int) -> bq.Result:
    """Four branches, in one of which trials fail at times."""
    space = bq.Space(
        {
            "model": bq.Choice(
                {
                    "svm": {
                        "C": bq.Float(1e-3, 1e3, log=True),
                        "kernel": bq.Choice(
                            {"rbf": {"gamma": bq.Float(1e-4, 1, log=True)}, "linear": {}}
                        ),
                    },
                    "forest": {"depth": bq.Int(1, 20)},
                    "boosting": {"rate": bq.Float(1e-3, 1, log=True)},
                }
            )
        }
    )

    def objective(config: dict[str, Any]) -> float:
        if config["model"] == "forest":
            return 0.13 + abs(float(config["depth"]) - 14) / 60
        if config["model"] == "boosting":
            return 0.16 + abs(float(config["rate"]) - 0.1) / 2
        strength = float(config["C"])
        if config["kernel"] == "linear":
            return 0.3 + 0.02 * math.sqrt(math.sqrt(strength))
        if strength > 300:
            raise MemoryError("no room for so many support vectors")
        return 0.08 + 3 * abs(float(config["gamma"]) - 0.02) + 0.1 / (1 + strength)

    return bq.minimize(
        objective, space, n_trials=40, seed=seed, progress=False, on_failure="continue"
    )


def taken(page: Page, file: Path) -> None:
    """A screenshot, when all is drawn."""
    page.run("new Promise(done => setTimeout(done, 1500))")
    page.screenshot(file)
    print(file.name, file.stat().st_size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    seed = parser.parse_args().seed
    problem = bq.benchmarks.sklearn_pipeline("breast_cancer")
    result = bq.minimize(problem.objective, problem.space, n_trials=40, seed=seed, progress=False)
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("this needs Chromium")
    browser = Browser(chromium)
    with tempfile.TemporaryDirectory() as folder:
        report = result.report(Path(folder) / "report.html")
        tree = Path(folder) / "tree.html"
        figure = bq.plots.tree(tree_study(seed))
        figure.update_layout(paper_bgcolor="white")
        figure.write_html(tree, config={"displayModeBar": False})
        for name, width, height, dark in (
            ("report-laptop", 1280, 1500, False),
            ("report-phone", 390, 1240, True),
        ):
            with browser.page(width, height) as page:
                page.dark(dark)
                page.open(report)
                page.wait_for("document.querySelector('.figure .main-svg')")
                taken(page, IMAGES / f"{name}.png")
        with browser.page(900, 360) as page:
            page.open(tree)
            page.wait_for("document.querySelector('.main-svg')")
            taken(page, IMAGES / "plots-tree.png")
    browser.close()


if __name__ == "__main__":
    main()
