"""What benchmark runs show: quartiles, worst seeds, times, average ranks; as tables and a plot."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bosquet.arrays import Array
from bosquet.benchmarks.harness import Run

FLOOR = 1e-12  # distances below it are rounding
_LAST_ASKS = 10  # an ask late in the run has the most data to think about


@dataclass(frozen=True)
class Row:
    """One method on one problem after some evaluations; scores are better when lower."""

    problem: str
    method: str
    n_seeds: int
    after: int
    q25: float
    median: float
    q75: float
    worst: float
    ask_ms: float
    score: str
    """'log10 distance' to the minimum where it is known, else 'best value'."""

    @property
    def digits(self) -> int:
        return 2 if self.score == "log10 distance" else 4


def best_so_far(run: Run) -> Array:
    """The score after each evaluation; an exhausted space keeps its last one."""
    best = np.minimum.accumulate(run.values)
    best = np.pad(best, (0, run.job.n_trials - len(best)), mode="edge")
    if run.minimum is None:
        return best
    return np.log10(np.maximum(best - run.minimum, FLOOR))


def by_problem(runs: Iterable[Run]) -> dict[str, dict[str, list[Run]]]:
    """Runs by problem, then by method, both in the order of first appearance."""
    grouped: dict[str, dict[str, list[Run]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        suffix = f"+noise{run.job.noise:g}" if run.job.noise else ""
        suffix += f"+{run.job.workers}workers" if run.job.workers > 1 else ""
        grouped[run.job.problem + suffix][run.job.method].append(run)
    return grouped


def rows(runs: Iterable[Run], after: Sequence[int]) -> list[Row]:
    table = []
    for problem, methods in by_problem(runs).items():
        for method, same in methods.items():
            curves = [best_so_far(run) for run in same]
            ask_ms = 1e3 * float(np.median([np.mean(r.ask_seconds[-_LAST_ASKS:]) for r in same]))
            for budget in after:
                scores = [curve[budget - 1] for curve in curves if len(curve) >= budget]
                if not scores:
                    continue
                q25, median, q75 = np.quantile(scores, [0.25, 0.5, 0.75])
                table.append(
                    Row(
                        problem,
                        method,
                        len(scores),
                        budget,
                        float(q25),
                        float(median),
                        float(q75),
                        float(max(scores)),
                        ask_ms,
                        "best value" if same[0].minimum is None else "log10 distance",
                    )
                )
    return table


def average_ranks(runs: Iterable[Run], after: int) -> dict[str, float]:
    """Each method's rank of its median after some evaluations, averaged over the problems.

    Only problems that every method has run count; equal medians share their rank.
    """
    from scipy.stats import rankdata

    table = rows(runs, [after])
    methods = list(dict.fromkeys(row.method for row in table))
    medians: dict[str, dict[str, float]] = defaultdict(dict)
    for row in table:
        medians[row.problem][row.method] = row.median
    complete = [m for m in medians.values() if len(m) == len(methods)]
    if not complete:
        return {}
    ranks = [rankdata([m[method] for method in methods]) for m in complete]
    return dict(zip(methods, np.mean(ranks, axis=0).tolist(), strict=True))


def rank_curves(runs: Iterable[Run]) -> dict[str, Array]:
    """Each method's rank after every evaluation, (problems, evaluations).

    Ranks are taken among runs of one problem and seed, equal scores sharing theirs, and averaged
    over the seeds; only a problem and seed that every method has run counts.
    """
    from scipy.stats import rankdata

    runs = list(runs)
    methods = list(dict.fromkeys(run.job.method for run in runs))
    blocks: dict[tuple[str, int], dict[str, Array]] = defaultdict(dict)
    for run in runs:
        blocks[run.job.problem, run.job.seed][run.job.method] = best_so_far(run)
    ranks: dict[str, list[Array]] = defaultdict(list)
    for (problem, _), curves in blocks.items():
        if len(curves) == len(methods):
            ranks[problem].append(rankdata([curves[m] for m in methods], axis=0))
    if not ranks:
        return {}
    table = np.stack([np.mean(same, axis=0) for same in ranks.values()], axis=1)
    return dict(zip(methods, table, strict=True))


def markdown(runs: Sequence[Run], after: Sequence[int]) -> str:
    """One table a problem, one line a method; and what the numbers stand on."""
    grouped: dict[str, dict[str, dict[int, Row]]] = defaultdict(lambda: defaultdict(dict))
    for row in rows(runs, after):
        grouped[row.problem][row.method][row.after] = row
    sections = []
    for problem, by_method in grouped.items():
        header = ["method", "seeds", *(f"after {b}" for b in after), "CPU ms per ask"]
        lines = [_line(header), "|---" * len(header) + "|"]
        for method, cells in by_method.items():
            any_row = next(iter(cells.values()))
            texts = (_cell(cells[b]) if b in cells else "" for b in after)
            lines.append(_line([method, str(any_row.n_seeds), *texts, f"{any_row.ask_ms:.1f}"]))
        caption = f"### {problem}\n\n{any_row.score}: median (quartiles) worst seed\n\n"
        sections.append(caption + "\n".join(lines))
    return "\n\n".join([*sections, _provenance(runs)]) + "\n"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(row: Row) -> str:
    scores = (row.q25, row.median, row.q75, row.worst)
    low, mid, high, worst = (f"{v:.{row.digits}f}" for v in scores)
    return f"{mid} ({low}, {high}) {worst}"


def _provenance(runs: Sequence[Run]) -> str:
    seeds = sorted({run.job.seed for run in runs})
    return (
        f"{len(runs)} runs; seeds {seeds[0]} to {seeds[-1]}; one thread each; CPU ms per ask: mean "
        f"over the last {_LAST_ASKS} asks of a run, median over seeds. "
        f"Versions: {versions_text(runs)}."
    )


def versions_text(runs: Iterable[Run]) -> str:
    """The versions that the runs were made with."""
    found: dict[str, set[str]] = defaultdict(set)
    for run in runs:
        for name, version in run.versions.items():
            found[name].add(version)
    return ", ".join(f"{name} {'/'.join(sorted(v))}" for name, v in sorted(found.items()))


def plot(runs: Sequence[Run], path: Path) -> None:
    """Medians with quartile bands against evaluations, one panel a problem."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'bosquet[bench]'") from error

    grouped = by_problem(runs)
    methods = list(dict.fromkeys(run.job.method for run in runs))
    colours = {method: f"C{i}" for i, method in enumerate(methods)}
    columns = min(4, len(grouped))
    lines = math.ceil(len(grouped) / columns)
    figure = Figure(figsize=(4.2 * columns, 3.2 * lines + 0.6), layout="constrained")
    axes = np.atleast_1d(figure.subplots(lines, columns)).ravel()
    for axis, (problem, by_method) in zip(axes, grouped.items(), strict=False):
        for method, same in by_method.items():
            shortest = min(run.job.n_trials for run in same)
            curves = np.array([best_so_far(run)[:shortest] for run in same])
            q25, median, q75 = np.quantile(curves, [0.25, 0.5, 0.75], axis=0)
            evaluations = np.arange(1, shortest + 1)
            axis.plot(evaluations, median, color=colours[method], label=method)
            axis.fill_between(evaluations, q25, q75, color=colours[method], alpha=0.12, lw=0)
        known = next(iter(by_method.values()))[0].minimum is not None
        axis.set(
            title=problem,
            xlabel="evaluations",
            ylabel="log10 distance" if known else "best value",
        )
        axis.grid(alpha=0.25)
    for axis in axes[len(grouped) :]:
        axis.remove()
    handles = {method: axis.plot([], [], color=c)[0] for method, c in colours.items()}
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=min(6, len(methods))
    )
    figure.savefig(path, dpi=130)
