"""``bosquet bench``: the harness at a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from bosquet.benchmarks import GROUPS, PROBLEMS, Factory, summary
from bosquet.benchmarks.files import FileMethod, FileProblem, FromFile
from bosquet.benchmarks.harness import Job, Run, Strategies, is_current, read_runs, run_all
from bosquet.benchmarks.peers import PEERS, require
from bosquet.strategies import STRATEGIES
from bosquet.study.files import is_place
from bosquet.study.progress import say
from bosquet.text import printable

_Source = TypeVar("_Source", bound=FromFile)


def print_names() -> None:
    console = Console()
    console.print("[bold]strategies[/] " + ", ".join(STRATEGIES))
    console.print("[bold]peers[/]      " + ", ".join(PEERS))
    for group, problems in GROUPS.items():
        console.print(f"[bold]{group:<10}[/] " + ", ".join(problems))


def run_bench(
    *,
    methods: Sequence[str],
    problems: Sequence[str],
    seeds: int,
    n_trials: int,
    noise: float,
    workers: int,
    out: Path,
    markdown_file: Path | None,
    plot_file: Path | None,
) -> int:
    """Makes the runs that are missing, then shows all that were asked for.

    Methods and problems are registered names, or ``FILE.py:NAME``.
    """
    console = Console()
    method_names, strategies = _resolve(dict.fromkeys(methods), FileMethod)
    problem_names, own_problems = _resolve(_expand(problems), FileProblem)
    known = PROBLEMS | own_problems
    jobs = [
        Job(method, problem, seed, n_trials, noise)
        for seed in range(seeds)
        for problem in problem_names
        for method in method_names
    ]
    for job in jobs[: len(jobs) // seeds]:
        job.check(known, strategies)
    for source in (*strategies.values(), *own_problems.values()):
        source.check()
    failures = make_runs(jobs, out, workers, known, strategies)
    order = {job: i for i, job in enumerate(jobs)}
    runs = [
        run for run in read_runs(out) if run.job in order and is_current(run, known, strategies)
    ]
    runs.sort(key=lambda run: order[run.job])
    if runs:
        _show(console, runs, n_trials)
        if markdown_file is not None:
            markdown_file.write_text(summary.markdown(runs, _budgets(n_trials)), encoding="utf-8")
        if plot_file is not None:
            summary.plot(runs, plot_file)
    for job, error in failures:
        what = f"{job.method} on {job.problem}, seed {job.seed}"
        text = escape(printable(f"{what}: {type(error).__name__}: {error}", lines=True))
        console.print(f"[red]failed[/] {text}", highlight=False, soft_wrap=True)
    return 1 if failures else 0


def make_runs(
    jobs: Sequence[Job],
    out: Path,
    workers: int,
    problems: Mapping[str, Factory] = PROBLEMS,
    strategies: Strategies | None = None,
) -> list[tuple[Job, BaseException]]:
    """Makes the runs that are missing behind a progress bar, or a line each without a terminal."""
    wanted = set(jobs)
    on_file = [run for run in read_runs(out) if run.job in wanted]
    done = {run.job for run in on_file if is_current(run, problems, strategies)}
    missing = [job for job in jobs if job not in done]
    outdated = {run.job for run in on_file} - done
    if outdated:
        names = sorted({n for job in outdated for n in (job.method, job.problem) if is_place(n)})
        say(
            f"{len(outdated)} runs in {out} are of another version of {' or '.join(names)}: "
            "made again"
        )
    for method in dict.fromkeys(job.method for job in missing):
        require(method)
    if not missing:
        say(f"all {len(jobs)} runs are in {out} already")
        return []
    failures = []
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    ) as bar:
        task = bar.add_task(f"{len(jobs) - len(missing)} runs on file,", total=len(missing))

        def ended(run: Run) -> None:
            bar.update(task, advance=1, description=f"{run.job.method} on {run.job.problem}")
            if not bar.console.is_terminal:
                bar.console.print(bar.get_renderable())

        for job, error in run_all(missing, out, workers, ended, problems, strategies):
            bar.update(task, advance=1)
            failures.append((job, error))
    return failures


def _resolve(names: Iterable[str], kind: type[_Source]) -> tuple[list[str], dict[str, _Source]]:
    """The names as a results file has them, and what is behind those that mean a file."""
    found: dict[str, _Source] = {}
    resolved = []
    for name in names:
        if is_place(name):
            source = kind(name)
            known = found.setdefault(source.name, source)
            if known.digest != source.digest:
                raise ValueError(
                    f"{known.place} and {name} would both be called {source.name} in the results; "
                    "rename one of the files"
                )
            name = source.name
        resolved.append(name)
    return list(dict.fromkeys(resolved)), found


def _expand(names: Sequence[str]) -> list[str]:
    """Groups replaced by their problems."""
    expanded: list[str] = []
    for name in names:
        expanded += GROUPS.get(name, PROBLEMS if name == "all" else [name])
    return list(dict.fromkeys(expanded))


def _budgets(n_trials: int) -> list[int]:
    """A third, two thirds and all of the trials."""
    return sorted({max(1, n_trials * k // 3) for k in (1, 2, 3)})


def _show(console: Console, runs: Sequence[Run], n_trials: int) -> None:
    found = summary.rows(runs, _budgets(n_trials))
    for problem in dict.fromkeys(row.problem for row in found):
        mine = [row for row in found if row.problem == problem]
        table = Table(title=f"{problem}: {mine[0].score}", title_justify="left")
        for heading in ("method", "seeds", "after", "q25", "median", "q75", "worst", "ask ms"):
            table.add_column(heading, justify="left" if heading == "method" else "right")
        for row in mine:
            first = row.after == min(r.after for r in mine if r.method == row.method)
            scores = [f"{v:.{row.digits}f}" for v in (row.q25, row.median, row.q75, row.worst)]
            table.add_row(
                row.method if first else "",
                str(row.n_seeds) if first else "",
                str(row.after),
                *scores,
                f"{row.ask_ms:.1f}" if first else "",
            )
        console.print(table)
    console.print("Lower is better. Quartiles and the worst are over seeds.", highlight=False)
    ranks = summary.average_ranks(runs, n_trials)
    if len(ranks) > 1:
        listed = ", ".join(f"{m} {r:.2f}" for m, r in sorted(ranks.items(), key=lambda kv: kv[1]))
        console.print(f"average rank of the median after {n_trials}: {listed}", highlight=False)
