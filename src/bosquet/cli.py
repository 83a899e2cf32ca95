"""The command line: argument parsing only."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from bosquet import __version__
from bosquet.benchmarks import GROUPS
from bosquet.benchmarks.real import DATASETS
from bosquet.errors import EvaluationError
from bosquet.strategies import STRATEGIES
from bosquet.text import printable

if TYPE_CHECKING:
    from bosquet.study.reading import StoredStudy

_BENCH_EXAMPLES = """\
examples:
  bosquet bench --problems small-shared --methods random,sobol
  bosquet bench --problems trees,shifted --methods random,optuna-tpe,smac --seeds 10 --jobs 2
  bosquet bench --problems real --methods sobol --trials 30 --out results/real.jsonl
  bosquet bench --problems mine.py:problem,shifted --methods mine.py:Local,auto

Runs already in --out are not made again, so an interrupted bench goes on where it stopped; those of
a file that has been edited since are.
Peers need: pip install 'bosquet[peers]'. The plot needs: pip install 'bosquet[bench]'.
"""

_TUNE_EXAMPLES = """\
examples:
  bosquet tune train.py:objective --space train.py:space --trials 60
  bosquet tune train.py:objective --space space.json --timeout 2h --jobs 4 --trial-timeout 10m
  bosquet tune --space space.json --trials 100 --direction maximize \\
      --command "solver --alpha {alpha} {?restarts:--restarts {restarts}}"
  bosquet tune --space space.json --trials 100 --jobs 4 \\
      --command "sim --x {x} --out out/{trial}.json" --read json:out/{trial}.json:metrics.loss

templates (--command), which are split into words first and run without a shell:
  {name}         the value of a parameter
  {?name:...}    only where that parameter is active; may hold several words
  {trial}        the number of the trial
  {{ and }}      braces

The same command again goes on with the stored study, until it has --trials trials in all.

exit codes:
  0    done            1    no trial has brought a value, or --on-failure raise and one failed
  2    bad input       130  interrupted (Ctrl-C); the message says how to go on
"""

_SHOW_EXAMPLES = """\
examples:
  bosquet show runs.db
  bosquet show runs.db --study second
  bosquet show postgresql://host/database

exit codes: 0 shown; 2 no such file or study. Nothing is changed, also while the study runs.
"""

_BEST_EXAMPLES = """\
examples:
  bosquet best runs.db
  bosquet best runs.db --as json > best.json
  bosquet best runs.db --as command > run-best.sh

exit codes: 0 shown; 1 no trial has brought a value; 2 no such file or study, or it has no command.
"""

_EXPORT_EXAMPLES = """\
examples:
  bosquet export runs.db -o trials.csv
  bosquet export runs.db -o trials.json
  bosquet export runs.db -o - | column -s, -t

One row a trial that has ended: number, state, value, noise_variance, reason, then the parameters
by their qualified names (model=svm/C). Inactive ones are empty in CSV and left out in JSON.
In CSV a text that begins with = + - @ or ' has a ' in front, lest a spreadsheet compute it.

exit codes: 0 written; 2 no such file or study.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    options.arguments = sys.argv[1:] if arguments is None else list(arguments)
    try:
        code = int(options.run(options))
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of a pipe has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ValueError, ImportError, OSError) as error:
        _complain(str(error))
        return 2


def _complain(text: str) -> None:
    print(f"bosquet: {_fit_to_show(text)}", file=sys.stderr)


def _fit_to_show(text: str) -> str:
    from bosquet.study.addresses import without_passwords

    return printable(without_passwords(text), lines=True)


class _Parser(argparse.ArgumentParser):
    """A parser whose errors repeat arguments only in a form fit to be shown."""

    def error(self, message: str) -> NoReturn:
        super().error(_fit_to_show(message))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="bosquet",
        description="Bayesian optimization that uses the structure of a search space.",
        epilog="'bosquet COMMAND --help' has examples and exit codes.",
    )
    parser.add_argument("--version", action="version", version=f"bosquet {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_tune(commands)
    _add_show(commands)
    _add_best(commands)
    _add_export(commands)
    _add_demo(commands)
    _add_bench(commands)
    return parser


def _add_command(commands: Any, name: str, **texts: str) -> argparse.ArgumentParser:
    return commands.add_parser(  # type: ignore[no-any-return]
        name, formatter_class=argparse.RawDescriptionHelpFormatter, **texts
    )


def _add_tune(commands: Any) -> None:
    tune = _add_command(
        commands,
        "tune",
        help="tune a Python function, or any program",
        description="Searches a space for the configuration with the best value. Every trial is "
        "stored at once:\na kill costs at most what was running.",
        epilog=_TUNE_EXAMPLES,
    )
    tune.add_argument(
        "objective",
        nargs="?",
        metavar="FILE.py:NAME",
        help="a function that takes a configuration (a dict) and returns a number",
    )
    tune.add_argument("--command", metavar="TEMPLATE", help="a program to run instead")
    tune.add_argument(
        "--read",
        metavar="WHERE",
        help="the value of --command: 'stdout' (its last line that is not empty; the default), "
        "'json:FILE' or 'json:FILE:key.below' (a file it writes; {trial} in FILE is the number)",
    )
    tune.add_argument("--space", required=True, metavar="FILE.json|FILE.py:NAME")
    tune.add_argument("--trials", type=_positive, metavar="N", help="trials of the study in all")
    tune.add_argument(
        "--timeout", type=_duration, metavar="TIME", help="start no trial after: 90s, 30m, 2h, 1d"
    )
    tune.add_argument(
        "--trial-timeout", type=_duration, metavar="TIME", help="end a trial that takes longer"
    )
    tune.add_argument(
        "--jobs", type=_positive, default=1, metavar="K", help="trials at once (default: 1)"
    )
    tune.add_argument(
        "--storage",
        default="runs.db",
        metavar="FILE|URL",
        help="SQLite file or database URL (default: %(default)s)",
    )
    tune.add_argument("--study", metavar="NAME", help="to tell studies of one storage apart")
    tune.add_argument(
        "--direction",
        choices=("minimize", "maximize"),
        default="minimize",
        help="default: minimize",
    )
    tune.add_argument(
        "--strategy",
        default="auto",
        metavar="NAME",
        help=f"{', '.join(STRATEGIES)}, or FILE.py:NAME (default: auto)",
    )
    tune.add_argument("--seed", type=_seed, metavar="N", help="default: drawn, and stored")
    tune.add_argument(
        "--force",
        action="store_true",
        help="go on with a stored study though its objective or command has changed",
    )
    tune.add_argument(
        "--on-failure",
        choices=("stop", "continue", "raise"),
        default="stop",
        help="stop when five trials have failed alike and none has brought a value (the default), "
        "continue whatever fails, or raise: end at the first failure",
    )
    tune.set_defaults(run=_tune, error=tune.error)


def _add_show(commands: Any) -> None:
    show = _add_command(
        commands,
        "show",
        help="show a stored study: best, branches, failures",
        description="Shows the best configuration, the best of each branch, failures by reason "
        "and running trials.",
        epilog=_SHOW_EXAMPLES,
    )
    _add_study(show)
    show.set_defaults(run=_show)


def _add_best(commands: Any) -> None:
    best = _add_command(
        commands,
        "best",
        help="print the best configuration of a stored study",
        description="Prints the best configuration of a stored study.",
        epilog=_BEST_EXAMPLES,
    )
    _add_study(best)
    best.add_argument(
        "--as",
        dest="form",
        choices=("text", "json", "python", "command"),
        default="text",
        help="text (the default), JSON, a Python dict, or the command line of a study of --command",
    )
    best.add_argument(
        "--json", dest="form", action="store_const", const="json", help="the same as --as json"
    )
    best.set_defaults(run=_best)


def _add_export(commands: Any) -> None:
    export = _add_command(
        commands,
        "export",
        help="write the trials of a stored study as CSV or JSON",
        description="Writes the trials of a stored study as CSV or JSON.",
        epilog=_EXPORT_EXAMPLES,
    )
    _add_study(export)
    export.add_argument(
        "-o",
        "--out",
        type=_table_file,
        required=True,
        metavar="FILE",
        help="FILE.csv, FILE.json, or - for CSV on stdout",
    )
    export.set_defaults(run=_export)


def _add_study(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("storage", metavar="FILE|URL", help="what tune had as --storage")
    parser.add_argument("--study", metavar="NAME", help="needed if there are several")
    parser.add_argument(
        "--space",
        metavar="FILE.json|FILE.py:NAME",
        help="the space of a study that an Optuna sampler ran (default: inferred from its trials)",
    )


def _add_demo(commands: Any) -> None:
    demo = _add_command(
        commands,
        "demo",
        help="tune a real conditional pipeline, with a progress bar",
        description="Tunes a conditional scikit-learn pipeline (scaling, feature reduction, five "
        "estimators)\nand prints the best configuration of each branch.",
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
    demo.set_defaults(run=_demo)


def _add_bench(commands: Any) -> None:
    bench = _add_command(
        commands,
        "bench",
        help="compare strategies and peers on problems over seeds",
        description="Runs every method on every problem for every seed, and prints quartiles, the "
        "worst seed\n and the CPU time per ask.",
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
    bench.set_defaults(run=_bench)


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


def _duration(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd]?)", text)
    if not match or not float(match[1]):
        raise argparse.ArgumentTypeError(
            f"{text!r} must be a time such as 90 (seconds), 90s, 30m, 2h or 1d"
        )
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}[match[2]]


def _table_file(text: str) -> Path | None:
    if text == "-":
        return None
    if Path(text).suffix not in (".csv", ".json"):
        raise argparse.ArgumentTypeError(f"{text!r} must end in .csv or .json, or be -")
    return Path(text)


def _tune(options: argparse.Namespace) -> int:
    if (options.objective is None) == (options.command is None):
        options.error("give FILE.py:NAME or --command, one of them")
    if options.read is not None and options.command is None:
        options.error("--read needs --command; a function returns its value")
    if options.trials is None and options.timeout is None:
        options.error("give --trials, --timeout or both: the search must end")
    from bosquet.report.show import print_interrupted, print_result
    from bosquet.study.addresses import command_line, parse_address
    from bosquet.study.tune import tune

    address = parse_address(options.storage)
    again = command_line([*_program(), *options.arguments], address)
    try:
        result = tune(
            options.objective,
            options.command,
            options.read or "stdout",
            options.space,
            n_trials=options.trials,
            timeout=options.timeout,
            trial_timeout=options.trial_timeout,
            n_jobs=options.jobs,
            storage=options.storage,
            study_name=options.study,
            direction=options.direction,
            strategy=options.strategy,
            seed=options.seed,
            allow_changed=options.force,
            on_failure=options.on_failure,
        )
    except KeyboardInterrupt:  # before the first trial
        print_interrupted(again)
        return 130
    except EvaluationError as error:
        print(f"bosquet: {printable(str(error), lines=True)}", file=sys.stderr)
        return 1
    study = options.study or ""
    name = [f"--study={study}"] if study.startswith("-") else ["--study", study] if study else []
    show = command_line([*_program(), "show", options.storage, *name], address)
    print_result(result, again, show)
    if result.stopped == "interrupted":
        return 130
    return 0 if result.history.best is not None else 1


def _program() -> list[str]:
    """What to type for this program."""
    if sys.argv[0].endswith(".py"):
        return ["python", "-m", "bosquet.cli"]
    return ["bosquet"] if shutil.which("bosquet") == sys.argv[0] else [sys.argv[0]]


def _read(options: argparse.Namespace, *, tell: bool = True) -> StoredStudy:
    """The study that is looked at; on stderr, what to know about how it was read."""
    from bosquet.study import read_study
    from bosquet.study.files import load_space
    from bosquet.study.progress import say

    space = None if options.space is None else load_space(options.space)
    study = read_study(options.storage, options.study, space)
    for note in study.notes if tell else ():
        say(note)
    return study


def _show(options: argparse.Namespace) -> int:
    from bosquet.report.show import print_study

    print_study(_read(options, tell=False))
    return 0


def _best(options: argparse.Namespace) -> int:
    from bosquet.report.show import best_command, best_json, best_python, best_text

    study = _read(options)
    best = study.history.best
    if best is None:
        _complain(f"{study.where}: no trial has brought a value")
        return 1
    if options.form == "text":
        found = best_text(study, best)
    elif options.form == "json":
        found = best_json(best)
    elif options.form == "python":
        found = best_python(best)
    else:
        found = best_command(study, best)
    print(printable(found, lines=True))
    return 0


def _export(options: argparse.Namespace) -> int:
    from bosquet.report.export import to_csv, to_json

    history = _read(options).history
    if options.out is None:
        written = to_csv(history)
        print(printable(written, lines=True) if sys.stdout.isatty() else written, end="")
    else:
        written = to_json(history) if options.out.suffix == ".json" else to_csv(history)
        options.out.write_text(written, encoding="utf-8")
        print(f"{len(history)} trials written to {printable(str(options.out))}", file=sys.stderr)
    return 0


def _demo(options: argparse.Namespace) -> int:
    from bosquet.demo import run_demo

    program = shlex.join(_program())
    result = run_demo(options.dataset, options.trials, options.strategy, options.seed, program)
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
