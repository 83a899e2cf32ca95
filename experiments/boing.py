"""BOinG, BOinG+ and TuRBO against a GP on all trials, SMAC3's forest, TPE and random search.

What the paper's supplement shows, on what is at hand: comparisons on Ackley and Levy in ten
dimensions, Lunar Lander and the Adult data; a large conditional problem; the ablations D.1 to D.4;
where incumbents come from and how subregions shrink (Figures 8 and 10); time and memory of one ask
(Figure 9). Robot pushing is left out. Runs are kept in results/boing.jsonl. Writes docs/boing.md.

    python experiments/boing.py --adult adult.npz [--parts compare,time] [--seeds 10]
        [--slow-seeds 5] [--jobs 2] [--scale 1.0]

Lunar Lander needs gymnasium[box2d] and Adult its file; without them they are left out, and the
page says so. ``--scale`` shortens every budget, to try the script.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib.util import find_spec
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import bosquet as bq
from bosquet.benchmarks import PROBLEMS, Factory, Problem, summary
from bosquet.benchmarks.bench import make_runs
from bosquet.benchmarks.harness import Job, read_runs
from bosquet.data import History, Trial
from bosquet.strategies import BOinG, BOinGPlus, Strategy, Turbo

Array = NDArray[np.float64]
ROOT = Path(__file__).parent.parent
METHODS = ("boing", "boing+", "turbo", "flat-gp", "smac", "optuna-tpe", "random")
CONDITIONAL_METHODS = ("boing", "smac", "optuna-tpe", "random")
SLOW = ("flat-gp", "smac")
BUDGETS = {"ackley-10-shifted": 300, "levy-10-shifted": 300, "lunar": 300, "adult": 100}
CONDITIONAL = 1000
OBSERVATIONS = (200, 500, 1000, 2000, 5000)
FULL_UP_TO = 1000  # observations at which the full GP is timed
PARTS = ("compare", "conditional", "ablations", "one-run", "time")
ABLATIONS: dict[str, tuple[str, int, dict[str, Callable[[], Strategy]]]] = {
    "D.1: the model inside": (
        "levy-10-shifted",
        150,
        {
            "LGPGA": BOinG,
            "local GP": partial(BOinG, model="local"),
            "full GP, local search": partial(BOinG, model="full"),
        },
    ),
    "D.2: points inside": (
        "levy-10-shifted",
        150,
        {f"{k} d": partial(BOinG, points_per_dimension=k) for k in (3, 5, 7)},
    ),
    "D.3: costs the forest sees": (
        "ackley-10-shifted",
        150,
        {"plain": BOinG, "logarithms": partial(BOinG, log_cost=True)},
    ),
    "D.4: BOinG+ against its parts": (
        "levy-10-shifted",
        1000,
        {
            "BOinG+": BOinGPlus,
            "BOinG": BOinG,
            "TuRBO": Turbo,
            "TuRBO, restart at 2^-4": partial(Turbo, least_length=2.0**-4),
        },
    ),
    "Targets (ours)": (
        "levy-10-shifted",
        150,
        {"by the trials inside": BOinG, "by all trials": partial(BOinG, local_targets=False)},
    ),
}


# -- problems --------------------------------------------------------------------------------


def adult(path: str, seed: int) -> Problem:
    """Validation error of boosted trees on 4,000 people of the Adult data; 2,000 to validate."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    file = np.load(path)
    order = np.random.default_rng(seed).permutation(len(file["train_y"]))[:6000]
    X = np.hstack([file["train_num"], file["train_cat"]]).astype(float)[order]
    y = file["train_y"][order]

    def error(config: dict[str, Any]) -> float:
        model = HistGradientBoostingClassifier(random_state=0, early_stopping=False, **config)
        return float(1.0 - model.fit(X[:4000], y[:4000]).score(X[4000:], y[4000:]))

    space = bq.Space(
        {
            "learning_rate": bq.Float(1e-3, 1.0, log=True),
            "max_iter": bq.Int(10, 200, log=True),
            "max_leaf_nodes": bq.Int(2, 64, log=True),
            "min_samples_leaf": bq.Int(1, 200, log=True),
            "l2_regularization": bq.Float(1e-8, 100.0, log=True),
            "max_features": bq.Float(0.1, 1.0),
        }
    )
    return Problem("adult", space, error, None)


def lander_action(w: Sequence[float], s: Sequence[float]) -> int:
    """The heuristic of gymnasium's Lunar Lander, its 14 constants replaced by ``w``."""
    angle = np.clip(s[0] * w[0] + s[2] * w[1], -w[3], w[2])
    hover = w[4] * abs(s[0])
    angle_todo = (angle - s[4]) * w[5] - s[5] * w[6]
    hover_todo = (hover - s[1]) * w[7] - s[3] * w[8]
    if s[6] or s[7]:  # a leg is on the ground
        angle_todo, hover_todo = w[9] * angle_todo, -s[3] * w[10]
    if hover_todo > abs(angle_todo) and hover_todo > w[11]:
        return 2
    if angle_todo < -w[12]:
        return 3
    return 1 if angle_todo > w[13] else 0


def lunar(seed: int, episodes: int = 5) -> Problem:
    """Minus the mean reward over the same few terrains, of 14 constants in [0, 2]."""
    import gymnasium

    def loss(config: dict[str, Any]) -> float:
        env = gymnasium.make("LunarLander-v3")
        w = list(config.values())
        total = 0.0
        for episode in range(episodes):
            state, _ = env.reset(seed=1000 * seed + episode)
            ended = False
            while not ended:
                state, reward, fell, late, _ = env.step(lander_action(w, state))
                total += float(reward)
                ended = fell or late
        env.close()
        return -total / episodes

    return Problem("lunar", bq.Space({f"w{i}": bq.Float(0, 2) for i in range(14)}), loss, None)


def branches(seed: int) -> Problem:
    """Six branches of four variables below six shared ones: 31 parameters, minimum 0."""
    rng = np.random.default_rng([2022, seed])
    shared, own = 0.1 + 0.8 * rng.random(6), 0.1 + 0.8 * rng.random((6, 4))
    levels = rng.permutation(6) * 0.2

    def function(config: dict[str, Any]) -> float:
        branch = int(config["branch"])
        s = np.array([config[f"s{i}"] for i in range(6)]) - shared
        x = np.array([config[f"x{branch}{i}"] for i in range(4)]) - own[branch]
        wave = 0.05 * np.sum(1.0 - np.cos(6 * np.pi * x))
        valley = 4.0 * (x[0] - s[0]) ** 2 + np.sum(x**2) + np.sum(s**2)
        return float(levels[branch] + wave + valley)

    space = bq.Space(
        {f"s{i}": bq.Float(0, 1) for i in range(6)}
        | {
            "branch": bq.Choice(
                {str(b): {f"x{b}{i}": bq.Float(0, 1) for i in range(4)} for b in range(6)}
            )
        }
    )
    return Problem("branches", space, function, 0.0)


# -- parts of the page -----------------------------------------------------------------------


def compare(options: argparse.Namespace, budgets: Mapping[str, int], methods: Sequence[str]) -> str:
    problems: dict[str, Factory] = {**PROBLEMS, "branches": branches}
    missing = []
    if find_spec("gymnasium") and find_spec("Box2D"):
        problems["lunar"] = lunar
    elif "lunar" in budgets:
        missing.append("Lunar Lander is missing: gymnasium[box2d] is not installed.")
    if options.adult:
        problems["adult"] = partial(adult, options.adult)
    elif "adult" in budgets:
        missing.append("Adult is missing: no --adult file.")
    jobs = [
        Job(method, problem, seed, scaled(budget, options))
        for seed in range(options.seeds)
        for problem, budget in budgets.items()
        if problem in problems
        for method in methods
        if method not in SLOW or seed < options.slow_seeds
    ]
    out = ROOT / "results" / "boing.jsonl"
    failures = make_runs(jobs, out, options.jobs, problems)
    missing += [f"Failed: {job}: {error}." for job, error in failures]
    wanted = set(jobs)
    runs = [run for run in read_runs(out) if run.job in wanted]
    longest = max(scaled(budget, options) for budget in budgets.values())
    after = sorted({max(1, longest * k // 6) for k in (1, 2, 4, 6)})
    totals = [
        f"| {problem} | {method} | {np.median([sum(run.ask_seconds) for run in same]):.0f} |"
        for problem, by_method in summary.by_problem(runs).items()
        for method, same in by_method.items()
    ]
    spent = "\n".join(["| problem | method | CPU s asking, whole run |", "|---|---|---|", *totals])
    return "\n\n".join([summary.markdown(runs, after), spent, *missing])


def best_values(name: str, budget: int, make: Callable[[], Strategy], seed: int) -> list[float]:
    problem = PROBLEMS[name](seed)
    result = bq.minimize(
        problem, problem.space, n_trials=budget, strategy=make(), seed=seed, progress=False
    )
    values = np.array([trial.value for trial in result.trials], dtype=float)
    best = np.minimum.accumulate(values) - (problem.minimum or 0.0)
    return [float(value) for value in np.log10(np.maximum(best, summary.FLOOR))]


def ablations(options: argparse.Namespace) -> str:
    parts = []
    with ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool:
        for title, (problem, full, variants) in ABLATIONS.items():
            budget = scaled(full, options)
            after = sorted({max(1, budget // 2), budget})
            lines = ["| | " + " | ".join(f"after {b}" for b in after) + " |"]
            lines.append("|---" * (len(after) + 1) + "|")
            for label, make in variants.items():
                one = partial(best_values, problem, budget, make)
                curves = np.array(list(pool.map(one, range(options.slow_seeds))))
                cells = [quartiles(curves[:, b - 1]) for b in after]
                lines.append(f"| {label} | {' | '.join(cells)} |")
            parts.append(f"### {title} ({problem})\n\n" + "\n".join(lines))
    head = f"log10 distance to the minimum, {options.slow_seeds} seeds: median (quartiles) worst."
    return head + "\n\n" + "\n\n".join(parts)


def quartiles(scores: Array) -> str:
    low, middle, high = np.quantile(scores, (0.25, 0.5, 0.75))
    return f"{middle:.2f} ({low:.2f}, {high:.2f}) {scores.max():.2f}"


def one_run(options: argparse.Namespace) -> str:
    """Figures 8 and 10 as one table: subregions, and who found the incumbents, of one run."""
    problem = PROBLEMS["levy-10-shifted"](0)
    n = scaled(1000, options)
    result = bq.minimize(
        problem, problem.space, n_trials=n, strategy="boing+", seed=0, progress=False
    )
    best, found = np.inf, []
    for trial in result.trials:
        assert trial.value is not None
        found.append(trial.info["engine"] if trial.value < best else None)
        best = min(best, trial.value)
    lines = ["| trials | subregion volume | trials inside | asked by | incumbents found by |"]
    lines.append("|---" * 5 + "|")
    edges = np.unique(np.linspace(0, n, min(10, n) + 1).astype(int))
    for low, high in pairwise(edges.tolist()):
        trials = result.trials[low:high]
        cut = [t.info["subregion"] for t in trials if "subregion" in t.info]
        volume = f"{np.median([c['volume'] for c in cut]):.2g}" if cut else ""
        inside = f"{np.median([c['inside'] for c in cut]):.0f}" if cut else ""
        asked = counted([t.info["engine"] for t in trials])
        origin = counted([one for one in found[low:high] if one])
        lines.append(f"| {low} to {high - 1} | {volume} | {inside} | {asked} | {origin} |")
    return f"`boing+` on {problem.name}, seed 0.\n\n" + "\n".join(lines)


def counted(names: Sequence[str]) -> str:
    return ", ".join(f"{name} {names.count(name)}" for name in dict.fromkeys(names))


def time_of_ask(n: int, model: str) -> tuple[float, float]:
    """CPU seconds of one ask with n observations in 14 dimensions, and peak memory in MB."""
    problem = bq.benchmarks.levy(14, shift=0)
    configs = problem.space.sample(0, n)
    trials = [Trial(i, c, "complete", problem(c)) for i, c in enumerate(configs)]
    strategy = BOinG(model=model)  # type: ignore[arg-type]
    opt = bq.Optimizer(problem.space, strategy, seed=0, history=History(problem.space, trials))
    started = time.process_time()
    opt.ask()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return time.process_time() - started, peak


def times(options: argparse.Namespace) -> str:
    lines = ["| observations | LGPGA | memory | full GP, local search | memory |"]
    lines.append("|---" * 5 + "|")
    for full in OBSERVATIONS:
        n = max(100, scaled(full, options))
        cells = []
        for model in ("lgpga", "full") if full <= FULL_UP_TO else ("lgpga",):
            # A process of its own, so that its peak memory is that of this ask.
            with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                seconds, peak = pool.submit(time_of_ask, n, model).result()
            cells += [f"{seconds:.2f} s", f"{peak:.0f} MB"]
        lines.append(f"| {n} | {' | '.join(cells + [''] * (4 - len(cells)))} |")
    head = "CPU time of one ask, cold (one start, 50 iterations), random points in 14 dimensions."
    return head + "\n\n" + "\n".join(lines)


def scaled(budget: int, options: argparse.Namespace) -> int:
    return max(3, int(budget * float(options.scale)))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--adult", help="the file adult.npz")
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--slow-seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "boing.md")
    options = parser.parse_args()
    makers: dict[str, tuple[str, Callable[[], str]]] = {
        "compare": ("Comparison", lambda: compare(options, BUDGETS, METHODS)),
        "conditional": (
            "A large conditional problem",
            lambda: compare(options, {"branches": CONDITIONAL}, CONDITIONAL_METHODS),
        ),
        "ablations": ("Ablations", lambda: ablations(options)),
        "one-run": ("One run (Figures 8 and 10)", lambda: one_run(options)),
        "time": ("Time and memory (Figure 9)", lambda: times(options)),
    }
    chosen = options.parts.split(",")
    for part in chosen:
        if part not in makers:
            parser.error(f"--parts: {part!r} is not one of {', '.join(PARTS)}")
    text = "# BOinG, BOinG+ and TuRBO, measured\n\nWritten by `experiments/boing.py`. Robot pushing"
    text += f" is left out. bosquet {bq.__version__}, NumPy {np.__version__}.\n"
    for part in chosen:
        title, make = makers[part]
        text += f"\n## {title}\n\n{make().rstrip()}\n"
        options.out.write_text(text, encoding="utf-8")  # what is there survives an interruption


if __name__ == "__main__":
    main()
