"""The command line: argument parsing only."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bosquet import __version__
from bosquet.benchmarks.real import DATASETS
from bosquet.strategies import STRATEGIES

_BENCH_EXAMPLES = """\
examples:
  bosquet bench --problems small-shared --methods random,sobol
  bosquet bench --problems trees,shifted --methods random,optuna-tpe,smac --seeds 10 --jobs 2
  bosquet bench --problems real --methods sobol --trials 30 --out results/real.jsonl

Runs already in --out are not made again, so an interrupted bench goes on where it stopped.
Peers need: pip install 'bosquet[peers]'. The plot needs: pip install 'bosquet[bench]'.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        return int(options.command(options))
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except (ValueError, ImportError, OSError) as error:
        print(f"bosquet: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bosquet",
        description="Bayesian optimization that uses the structure of a search space.",
    )
    parser.add_argument("--version", action="version", version=f"bosquet {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_demo(commands)
    _add_bench(commands)
    return parser


def _add_demo(commands: Any) -> None:
    demo = commands.add_parser(
        "demo",
        help="tune a real conditional pipeline, with a progress bar",
        description="Tunes a conditional scikit-learn pipeline (scaling, feature reduction, five "
        "estimators) and prints the best configuration of each branch.",
    )
    demo.add_argument(
        "--dataset",
        choices=DATASETS,
        default="breast_cancer",
        help="default: %(default)s",
    )
    _add_run_options(demo, trials=40)
    demo.add_argument("--strategy", choices=STRATEGIES, default="auto", help="default: %(default)s")
    demo.add_argument("--seed", type=_seed, default=0, help="default: %(default)s")
    demo.set_defaults(command=_demo)


def _add_bench(commands: Any) -> None:
    bench = commands.add_parser(
        "bench",
        help="compare strategies and peers on problems over seeds",
        description="Runs every method on every problem for every seed, and prints quartiles, the "
        "worst seed and the CPU time per ask.",
        epilog=_BENCH_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    bench.add_argument(
        "--methods", default="add-tree,sobol", help="names by comma (default: %(default)s)"
    )
    bench.add_argument(
        "--problems",
        default="shifted",
        help="names or groups (shifted, trees, flat, real, all) by comma (default: %(default)s)",
    )
    bench.add_argument("--seeds", type=_positive, default=5, help="default: %(default)s")
    _add_run_options(bench, trials=60)
    bench.add_argument("--noise", type=float, default=0.0, help="standard deviation added")
    bench.add_argument("--jobs", type=_positive, default=1, help="processes (default: 1)")
    bench.add_argument(
        "--out", type=Path, default=Path("results/bench.jsonl"), help="default: %(default)s"
    )
    bench.add_argument("--markdown", type=Path, help="also write the tables here")
    bench.add_argument("--plot", type=Path, help="also write a plot here (.png, .svg, .pdf)")
    bench.add_argument("--list", action="store_true", help="list methods and problems, and end")
    bench.set_defaults(command=_bench)


def _add_run_options(parser: argparse.ArgumentParser, trials: int) -> None:
    parser.add_argument(
        "--trials", type=_positive, default=trials, help="evaluations (default: %(default)s)"
    )


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} must be a positive integer")
    return int(text)


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} must be a non-negative integer")
    return int(text)


def _demo(options: argparse.Namespace) -> int:
    from bosquet.demo import run_demo

    result = run_demo(options.dataset, options.trials, options.strategy, options.seed)
    return 0 if result.stopped != "interrupted" else 130


def _bench(options: argparse.Namespace) -> int:
    from bosquet.benchmarks import bench

    if options.list:
        bench.print_names()
        return 0
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


if __name__ == "__main__":
    sys.exit(main())
