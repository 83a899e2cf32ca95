"""Commands to try bosquet with: `demo`, `bench`."""

from __future__ import annotations

import argparse
import os
import shlex
from pathlib import Path
from typing import Any

from bosquet.benchmarks import GROUPS
from bosquet.benchmarks.real import DATASETS
from bosquet.benchmarks.suite import DATA_VARIABLE
from bosquet.cli.arguments import add_command, positive, program, seed
from bosquet.strategies import STRATEGIES

_BENCH_EXAMPLES = """\
examples:
  bosquet bench --problems small-shared --methods random,sobol
  bosquet bench --problems trees,shifted --methods random,optuna-tpe,smac \\
      --seeds 10 --jobs 2
  bosquet bench --problems real --methods sobol --trials 30 --out real.jsonl
  bosquet bench --problems mine.py:problem,shifted --methods mine.py:Local,auto

Runs already in --out are not made again, so an interrupted bench goes on where
it stopped; those of a file of yours that has been edited since are.

Peers need: pip install 'bosquet[peers]'
The plot needs: pip install 'bosquet[bench]'
"""


def add_trying(commands: Any) -> None:
    _add_demo(commands)
    _add_bench(commands)


def _add_demo(commands: Any) -> None:
    demo = add_command(
        commands,
        "demo",
        help="tune a real conditional pipeline, with a progress bar",
        description="Tunes a conditional scikit-learn pipeline (scaling, feature reduction, five\n"
        "estimators), prints the best configuration of each branch beside what random\n"
        "search finds in as many trials, and writes a report.",
    )
    demo.add_argument(
        "--dataset",
        choices=DATASETS,
        default="breast_cancer",
        help="default: %(default)s",
    )
    _add_run_options(demo, trials=40)
    demo.add_argument(
        "--strategy",
        choices=STRATEGIES,
        default="auto",
        metavar="NAME",
        help=f"{', '.join(STRATEGIES)} (default: %(default)s)",
    )
    demo.add_argument("--seed", type=seed, default=0, help="default: %(default)s")
    demo.add_argument(
        "--report",
        type=Path,
        default=Path("bosquet-demo.html"),
        metavar="FILE",
        help="where its report goes (default: %(default)s)",
    )
    demo.set_defaults(run=_demo)


def _add_bench(commands: Any) -> None:
    bench = add_command(
        commands,
        "bench",
        help="compare strategies and peers on problems over seeds",
        description="Runs every method on every problem for every seed, and prints quartiles, the\n"
        "worst seed and the CPU time per ask.",
        epilog=_BENCH_EXAMPLES,
    )
    bench.add_argument(
        "--methods",
        default="add-tree,sobol",
        help="names, or FILE.py:NAME of a strategy (an instance, a class or a function that "
        "returns one), by comma (default: %(default)s)",
    )
    bench.add_argument(
        "--problems",
        default="shifted",
        help=f"names, groups ({', '.join(GROUPS)}, all), or FILE.py:NAME of a Problem or a "
        "function of the seed that returns one, by comma (default: %(default)s)",
    )
    bench.add_argument("--seeds", type=positive, default=5, help="default: %(default)s")
    _add_run_options(bench, trials=60)
    bench.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help="the data of the real suite (default: BOSQUET_DATA, else ../shared/data)",
    )
    bench.add_argument("--noise", type=float, default=0.0, help="standard deviation added")
    bench.add_argument("--jobs", type=positive, default=1, help="processes (default: 1)")
    bench.add_argument(
        "--out", type=Path, default=Path("results/bench.jsonl"), help="default: %(default)s"
    )
    bench.add_argument("--markdown", type=Path, help="also write the tables here")
    bench.add_argument("--plot", type=Path, help="also write a plot here (.png, .svg, .pdf)")
    bench.add_argument("--list", action="store_true", help="list methods and problems, and end")
    bench.set_defaults(run=_bench)


def _add_run_options(parser: argparse.ArgumentParser, trials: int) -> None:
    parser.add_argument(
        "--trials", type=positive, default=trials, help="evaluations (default: %(default)s)"
    )


def _demo(options: argparse.Namespace) -> int:
    from bosquet.demo import run_demo

    typed = shlex.join(program())
    result = run_demo(
        options.dataset, options.trials, options.strategy, options.seed, typed, options.report
    )
    return 0 if result.stopped != "interrupted" else 130


def _bench(options: argparse.Namespace) -> int:
    from bosquet.benchmarks import bench

    if options.list:
        bench.print_names()
        return 0
    if options.data is not None:
        os.environ[DATA_VARIABLE] = str(options.data.absolute())  # worker processes read it too
    return bench.run_bench(
        methods=options.methods.split(","),
        problems=options.problems.split(","),
        seeds=options.seeds,
        n_trials=options.trials,
        noise=options.noise,
        workers=options.jobs,
        out=options.out,
        markdown_file=options.markdown,
        plot_file=options.plot,
    )
