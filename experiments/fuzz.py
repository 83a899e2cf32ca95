"""Random spaces, odd values, every strategy. Prints a table and writes docs/results/fuzz.md.

    python experiments/fuzz.py [--spaces 1000] [--seed 0] [--only KIND]

Three kinds of runs: any space at all; finite spaces, asked until nothing is left; spaces whose
constraints leave a small part around one configuration. In each, trials fail, come back, carry
noise, and have values that are tiny, huge, constant or wildly different; they are asked for one by
one and in batches. Warnings count as crashes. Whatever goes wrong is printed with the number of
its run, which ``--run`` repeats alone.
"""

from __future__ import annotations

import argparse
import math
import platform
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import scipy

import bosquet as bq
from bosquet.data import key_of

ROOT = Path(__file__).parent.parent
SECONDS = 60  # of CPU for one run, after which it counts as hanging
STRATEGIES = (
    *("random", "sobol", "add-tree", "tree-ei", "additive", "arc", "flat-gp", "turbo", "htbo"),
    *(
        "auto",
        "boing",
        "boing+",
        "add-tree.paper",
        "additive.paper",
        "tree-ei.paper",
        "turbo.paper",
    ),
)
NAMES = (
    *("x", "y", "z", "lr", "depth", "model", "kernel", "a=b/c", "m=1/x", "two words", '"q"'),
    *("new\nline", "a|b", "1", "None", "π", "\u2028", "\x85", "tab\t", "\x1b[31m", "\x00", "value"),
)
OPTIONS: tuple[Any, ...] = (
    *(
        "a",
        "b",
        "c",
        "",
        " ",
        "1",
        "-1.5",
        "True",
        "None",
        "a|b",
        "x=y",
        '"',
        "é",
        "日本",
        "\u2029",
    ),
    *(None, True, False, 0, 1, 2, -3, 10**20, 0.5, -2.5, 1e-7, 1e300, 5e-324, -0.0),
)

Config = dict[str, Any]


# -- random spaces ---------------------------------------------------------------------------


class Maker:
    """Draws spaces; ``finite`` ones have few values everywhere."""

    def __init__(self, rng: np.random.Generator, *, finite: bool, defaults: bool) -> None:
        self._rng, self._finite, self._defaults = rng, finite, defaults

    def pick(self, *things: Any) -> Any:
        return things[int(self._rng.integers(len(things)))]

    def space(self) -> bq.Space:
        while True:
            try:
                return bq.Space(self._parameters(depth=3, taken=set(), least=1))
            except bq.SpaceError as error:  # a name twice, in branches side by side
                if "is used twice" not in str(error):
                    raise

    def _parameters(self, depth: int, taken: set[str], least: int) -> dict[str, Any]:
        declared: dict[str, Any] = {}
        for _ in range(int(self._rng.integers(least, 4))):
            name = self.pick(*[name for name in NAMES if name not in taken])
            taken.add(name)
            branches = depth and self._rng.random() < 0.45
            declared[name] = self._choice(depth, taken) if branches else self._leaf()
        return declared

    def _options(self) -> list[Any]:
        drawn = [OPTIONS[i] for i in self._rng.permutation(len(OPTIONS))]
        distinct = [o for i, o in enumerate(drawn) if o not in drawn[:i]]
        return distinct[: int(self._rng.integers(1, 4))]

    def _choice(self, depth: int, taken: set[str]) -> bq.Choice:
        options = self._options()
        ordered = bool(self._rng.random() < 0.3)
        branches: dict[Any, Any] = {
            option: self._parameters(depth - 1, set(taken), 0) for option in options
        }
        if len(options) > 1 and self._rng.random() < 0.3:
            branches[tuple(options[:2])] = self._parameters(depth - 1, set(taken), 0)
        return bq.Choice(branches, ordered=ordered)

    def _leaf(self) -> Any:
        low = int(self._rng.integers(-5, 6))
        few = (
            lambda: bq.Choice(self._options(), ordered=bool(self._rng.random() < 0.3)),
            lambda: bq.Int(low, low + self.pick(1, 2, 3)),
            lambda: bq.Float(low, low + 0.5, step=0.25),
            lambda: bq.Int(1, self.pick(2, 4), log=True),
        )
        many = (
            lambda: bq.Float(low, low + self.pick(1e-6, 0.5, 7.0, 1e9)),
            lambda: bq.Float(0.0, 1.0, default=self.pick(0.0, 0.3) if self._defaults else None),
            lambda: bq.Float(self.pick(1e-300, 1e-8, 0.5), self.pick(1.0, 1e8, 1e300), log=True),
            lambda: bq.Int(low, low + self.pick(50, 10**6)),
            lambda: bq.Int(1, self.pick(100, 2**45), log=True),
        )
        return self.pick(*few)() if self._finite else self.pick(*few, *many)()


def near(space: bq.Space, centre: Config, width: float) -> tuple[Callable[[Config], bool], float]:
    """Allows the choices of a configuration, and numbers about as large; and how many that are."""
    choices, bounds, count = {}, {}, 1.0
    for d in space.dimensions:
        if not space.is_active(d.qualified_name, centre):
            continue
        if isinstance(d.parameter, bq.Choice):
            choices[d.name] = centre[d.name]
        else:
            unit = d.parameter.to_unit([centre[d.name]])[0]
            ends = np.clip([unit - width, unit + width], 0.0, 1.0)
            bounds[d.name] = low, high = d.parameter.from_unit(ends)
            step = 0.0 if d.parameter.n_values == math.inf else d.parameter.step or 1
            count *= math.inf if step == 0.0 else round((high - low) / step) + 1

    def allowed(config: Config) -> bool:
        same = all(config.get(name, NAMES) == choice for name, choice in choices.items())
        inside = (low <= config[name] <= high for name, (low, high) in bounds.items())
        return same and all(inside)

    return allowed, count


# -- runs ------------------------------------------------------------------------------------


@dataclass
class Outcome:
    """What one run has shown."""

    counts: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def wrong(self, what: str, text: str) -> None:
        self.counts[what] += 1
        self.problems.append(f"{what}: {text}")


def values(maker: Maker) -> Callable[[Config], float]:
    """A function of a configuration, on a scale that may be odd."""
    scale = maker.pick(1.0, 1.0, 1.0, 1e-320, 1e-300, 1e150, 1e300, 0.0, "mixed", "halves")

    def value(config: Config) -> float:
        texts = [repr(entry) for entry in config.items()]
        total = math.fsum(sum(map(ord, text)) % 101 / 101 for text in texts)
        if scale == "mixed":
            return float(10.0 ** (60 * math.sin(7 * total)))
        return (1.7e308 if total % 1 < 0.5 else -1.7e308) if scale == "halves" else scale * total

    return value


def tell(opt: bq.Optimizer, trial: bq.Trial, value: float, maker: Maker, *, quiet: bool) -> None:
    kind = maker.pick(*["plain"] * 6, "failed", "nan", *([] if quiet else ["noise", "again"]))
    if kind == "failed":
        opt.tell_failure(trial, maker.pick("out of memory", "\u2028\x85\n", "\ud800", ""))
    elif kind == "nan":
        opt.tell(trial, maker.pick(math.nan, math.inf, -math.inf))
    elif kind == "noise":
        opt.tell(trial, value, noise_variance=maker.pick(0.0, 1e-4, 1e-300, 1e300))
    else:
        opt.tell(trial, value)
    if kind == "again" and trial.key not in {pending.key for pending in opt.pending}:
        for _ in range(maker.pick(1, 5, 60)):
            opt.tell(trial.config, value * maker.pick(1.0, 1.0, 0.9))


def run_trials(
    opt: bq.Optimizer, maker: Maker, n: int, out: Outcome, *, quiet: bool
) -> Exception | None:
    """Asks and tells; returns what ended it early."""
    value = values(maker)
    while len(opt.history) < n:
        try:
            trials = opt.ask(maker.pick(1, 1, 1, 2, 4))
        except (bq.SpaceExhausted, bq.SpaceError) as nothing:
            return nothing
        for trial in trials:
            out.counts["trials"] += 1
            tell(opt, trial, value(trial.config), maker, quiet=quiet)
    return None


def check_files(opt: bq.Optimizer, out: Outcome) -> None:
    """The history, and the space, to JSON and back."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "history.jsonl"
        opt.history.to_jsonl(path)
        back = bq.History.from_jsonl(path, opt.space)
    if back != opt.history or repr(back.trials) != repr(opt.history.trials):
        pairs = zip(opt.history.trials, back.trials, strict=True)
        differing = next(((a, b) for a, b in pairs if repr(a) != repr(b)), "the space")
        out.wrong("JSON differences", f"{differing}"[:500])


def any_space(maker: Maker, strategy: str, seed: int, out: Outcome) -> None:
    space = maker.space()
    opt = bq.Optimizer(space, strategy, seed=seed, direction=maker.pick("minimize", "maximize"))
    ended = run_trials(opt, maker, int(maker.pick(14, 20, 26)), out, quiet=maker.pick(True, False))
    if isinstance(ended, bq.SpaceError):
        out.wrong("crashes", f"no constraints, and yet {ended}")
    elif ended is not None:
        left = missing(space, opt)
        if left != 0:
            out.wrong('wrong "exhausted"', f"{left} of {space.size} are left")
    check_files(opt, out)


def missing(space: bq.Space, opt: bq.Optimizer) -> float:
    """How many allowed configurations have not been proposed."""
    if not space.size <= 10_000:
        return math.inf
    seen = {trial.key for trial in (*opt.history.trials, *opt.pending)}
    return len({key_of(config) for config in space.configs()} - seen)


def to_the_last(maker: Maker, strategy: str, seed: int, out: Outcome) -> None:
    """Finite spaces, a part of them forbidden, until nothing is left."""
    space = maker.space()
    while not 2 <= space.size <= 60:
        space = maker.space()
    share = maker.pick(0.0, 0.3, 0.8)

    def allowed(config: Config) -> bool:
        return bool(sum(map(ord, repr(config))) % 97 / 97 >= share)

    space = bq.Space(dict(space.parameters), [] if share == 0.0 else [allowed])
    total = sum(1 for _ in space.configs())
    opt = bq.Optimizer(space, strategy, seed=seed)
    ended = run_trials(opt, maker, 1_000, out, quiet=True)
    left = missing(space, opt)
    if left:
        out.wrong('wrong "exhausted"', f"{left} of {total} are left: {ended}")
    if len(opt.history) != total:
        out.wrong("crashes", f"{len(opt.history)} trials of {total} configurations")
    if not isinstance(ended, bq.SpaceExhausted if total else bq.SpaceError):
        out.wrong("crashes", f"{total} configurations, ended by {ended!r}")
    check_files(opt, out)


def hard_constraints(maker: Maker, strategy: str, seed: int, out: Outcome) -> None:
    """Large spaces of which a small part is allowed, a planted configuration inside it."""
    space = maker.space()
    while space.size <= 100_000:
        space = maker.space()
    planted = space.sample(seed)
    width = maker.pick(0.3, 0.1, 1e-2, 1e-4)
    allowed, count = near(space, planted, width)
    space = bq.Space(dict(space.parameters), [allowed])
    known = bool(maker.pick(True, False))
    opt = bq.Optimizer(space, strategy, seed=seed, initial=[planted] if known else ())
    ended = run_trials(opt, maker, 14, out, quiet=True)
    if isinstance(ended, bq.SpaceExhausted):
        if len(opt.history) < count:
            out.wrong('wrong "exhausted"', f"{count} are allowed, known {known}: {ended}")
    elif ended is not None:
        out.counts["nothing found"] += 1
        if known and count == math.inf:
            out.wrong("crashes", f"next to a known one, width {width}: {ended}")
    check_files(opt, out)


KINDS: dict[str, Callable[[Maker, str, int, Outcome], None]] = {
    "any space": any_space,
    "to the last one": to_the_last,
    "hard constraints": hard_constraints,
}


@contextmanager
def no_longer_than(seconds: int) -> Iterator[None]:
    """So many seconds of CPU, as the machine may be busy with others; ten times that in all."""

    def late(_: int, frame: FrameType | None) -> None:
        raise TimeoutError("".join(traceback.format_stack(frame)[-3:]))

    signals = signal.SIGALRM, signal.SIGPROF
    before = [signal.signal(one, late) for one in signals]
    signal.alarm(10 * seconds)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        for one, handler in zip(signals, before, strict=True):
            signal.signal(one, handler)


def run(kind: str, number: int, seed: int) -> Outcome:
    """One run, which its kind, number and seed name."""
    out = Outcome(Counter(spaces=1))
    rng = np.random.default_rng([seed, list(KINDS).index(kind), number])
    maker = Maker(rng, finite=kind == "to the last one", defaults=kind == "any space")
    strategy = STRATEGIES[number % len(STRATEGIES)]
    try:
        with warnings.catch_warnings(), no_longer_than(SECONDS):
            warnings.simplefilter("error")
            KINDS[kind](maker, strategy, number, out)
    except TimeoutError as late:
        out.wrong("hangs", f"{strategy}: {late}")
    except Exception as error:  # noqa: BLE001 - whatever it is, it counts
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}:{last.lineno}"
        out.wrong("crashes", f"{strategy}: {type(error).__name__} in {where}: {error}"[:500])
    return out


# -- the page --------------------------------------------------------------------------------

COLUMNS = (
    *("spaces", "trials", "crashes", "hangs", 'wrong "exhausted"', "JSON differences"),
    "nothing found",
)


def table(totals: dict[str, Counter[str]]) -> str:
    lines = ["| runs | " + " | ".join(COLUMNS) + " |", "|---" * (len(COLUMNS) + 1) + "|"]
    for kind, counts in totals.items():
        lines.append(f"| {kind} | " + " | ".join(str(counts[c]) for c in COLUMNS) + " |")
    return "\n".join(lines)


def page(totals: dict[str, Counter[str]], seed: int) -> str:
    return f"""# Random spaces and odd values

Written by `experiments/fuzz.py` (Python {platform.python_version()}, NumPy {np.__version__},
SciPy {scipy.__version__}, bosquet {bq.__version__}; seed {seed}). Nested spaces with odd names and
options are drawn at random and searched by {len(STRATEGIES)} strategies in turn, one trial at a
time and in batches. Some trials fail, some come back up to 60 times, some state a noise variance;
values are ordinary, tiny (1e-320), huge (1.7e308), constant, or spread over 120 orders of size.

{table(totals)}

- A run *crashes* when anything is raised or warned of that should not be, or when a result is not
  what it must be, and *hangs* when it takes more than {SECONDS} s of CPU.
- *Any space*: up to 26 trials without constraints.
- *To the last one*: finite spaces of 2 to 60 configurations, up to 80 % of them forbidden by a
  function, asked until nothing is left. Each allowed configuration must have been proposed exactly
  once. "Exhausted" is *wrong* when one is left.
- *Hard constraints*: infinite spaces, and finite ones too large to be enumerated, in which a
  function allows the choices of one configuration, and numbers within 30 %, 10 %, 1 % or 0.01 % of
  their ranges. Half of the runs know that configuration: with a continuous parameter in it they
  must go on from there. Elsewhere the allowed part may be too small to be found by chance, or be
  finite and used up without anyone being able to know: then *nothing found* is the honest answer,
  and "exhausted" would be wrong.
- After every run the history is written to JSON lines and read again; any *difference* counts,
  down to the sign of a zero.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--spaces", type=int, default=1_000, help="of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=list(KINDS))
    parser.add_argument("--run", type=int, help="this run alone, without a page")
    options = parser.parse_args()
    totals: dict[str, Counter[str]] = {}
    began = time.monotonic()
    for kind in [options.only] if options.only else KINDS:
        totals[kind] = Counter()
        for number in range(options.spaces) if options.run is None else [options.run]:
            outcome = run(kind, number, options.seed)
            totals[kind] += outcome.counts
            for problem in outcome.problems:
                print(f"{kind}, run {number}: {problem}", file=sys.stderr, flush=True)
    print(table(totals))
    print(f"{time.monotonic() - began:.0f} s")
    if options.only is None and options.run is None:
        (ROOT / "docs" / "results" / "fuzz.md").write_text(
            page(totals, options.seed), encoding="utf-8"
        )


if __name__ == "__main__":
    main()
