import io

from rich.console import Console

import bosquet as bq
from bosquet.data import History, Trial
from bosquet.report.tables import MOST_ROWS, branches_table, failures_table, tree_with_counts


def printed(table, width=100):
    out = io.StringIO()
    Console(file=out, width=width).print(table)
    return out.getvalue()


def test_failures_of_one_cause_are_one_row():
    space = bq.Space({"solver": bq.Choice(["newton", "lbfgs"]), "x": bq.Float(0, 1)})
    reasons = [
        "no solver newton at <Model object at 0x7f10> (fit.py:3 in fit)",
        "no solver lbfgs at <Model object at 0x7faa> (fit.py:3 in fit)",
        "no solver lbfgs at <Model object at 0x7faa> (fit.py:3 in predict)",
    ]
    trials = [
        Trial(i, {"solver": "newton", "x": 0.5}).failed(reason) for i, reason in enumerate(reasons)
    ]
    rows = [row.split("│") for row in printed(failures_table(History(space, trials))).splitlines()]
    counts = [(row[1].strip(), row[3].strip()) for row in rows if len(row) > 3]
    assert counts == [("2", "0, 1"), ("1", "2")]


def test_branches_that_only_failed_come_last_in_the_order_of_their_trials():
    names = ["first", "second", "third", "fourth"]
    space = bq.Space({"m": bq.Choice({name: {"x": bq.Float(0, 1)} for name in names})})
    trials = [Trial(i, {"m": name, "x": 0.5}).failed("no") for i, name in enumerate(names)]
    trials[2] = Trial(2, trials[2].config).completed(bq.Evaluation(0.07))
    rows = [row.split("│") for row in printed(branches_table(History(space, trials))).splitlines()]
    cells = [tuple(cell.strip() for cell in row[1:4]) for row in rows if len(row) > 3]
    assert cells == [
        ("m=third", "1", "0.0700"),
        ("m=first", "1", "failed"),
        ("m=second", "1", "failed"),
        ("m=fourth", "1", "failed"),
    ]


def test_digits_are_those_in_which_values_differ():
    space = bq.Space({"m": bq.Choice({name: {"x": bq.Float(0, 1)} for name in "abc"})})
    values = {"a": 1000.00012, "b": 1000.00031, "c": 1000.00055}
    trials = [
        Trial(i, {"m": name, "x": 0.5}).completed(bq.Evaluation(value))
        for i, (name, value) in enumerate(values.items())
    ]
    shown = printed(branches_table(History(space, trials)))
    assert all(f"{value:.6f}" in shown for value in values.values())


def many_branches():
    options = {f"option{i}": {f"x{i}": bq.Float(0, 1)} for i in range(40)}
    space = bq.Space({"m": bq.Choice(options)} | {f"shared{i}": bq.Float(0, 1) for i in range(60)})
    opt = bq.Optimizer(space, "sobol", seed=0)
    for number in range(60):
        if number % 3:
            opt.tell(opt.ask(), float(number))
        else:
            opt.tell_failure(opt.ask(), f"{'x' * 2000} cause {'abcdefghij'[number % 10] * 9}")
    return opt.history


def test_tables_of_many_branches_fit_on_a_screen():
    history = many_branches()
    lines = printed(branches_table(history, width=100)).splitlines()
    assert len(lines) <= MOST_ROWS + 6
    assert "branches more" in lines[-1]
    assert "takes" in lines[2]
    assert len(printed(failures_table(history), width=400).splitlines()) <= MOST_ROWS * 2 + 6


def test_a_narrow_screen_has_no_room_for_configurations():
    history = many_branches()
    narrow, wide = (
        printed(branches_table(history, width=width), width=width) for width in (46, 80)
    )
    assert "shared0=" not in narrow
    assert "Best value of each branch" in narrow
    assert max(map(len, narrow.splitlines())) <= 46
    assert "shared0=" in wide
    assert "Best configuration of each branch" in wide


def test_the_tree_has_counts_and_bests():
    space = bq.Space(
        {
            "m": bq.Choice(
                {
                    "a": {"kind": bq.Choice({"p": {}, "q": {"x": bq.Float(0, 1)}})},
                    "b": {"kind": bq.Choice({"p": {"y": bq.Float(0, 1)}, "q": {}})},
                    "c": {},
                    ("b", "c"): {"z": bq.Int(1, 9)},
                }
            )
        }
    )
    trials = [
        Trial(0, {"m": "a", "kind": "p"}).completed(bq.Evaluation(0.25)),
        Trial(1, {"m": "a", "kind": "q", "x": 0.5}).completed(bq.Evaluation(0.125)),
        Trial(2, {"m": "b", "kind": "q", "z": 3}).failed("no"),
        Trial(3, {"m": "b", "kind": "p", "y": 0.5, "z": 3}).completed(bq.Evaluation(0.5)),
    ]
    assert tree_with_counts(History(space, trials)).splitlines() == [
        "Space with 5 paths",
        "└── m",
        "    ├── a  [2 trials, best 0.125]",
        "    │   └── kind",
        "    │       ├── p  [1 trial, best 0.250]",
        "    │       └── q  [1 trial, best 0.125]",
        "    │           └── x  a float from 0 to 1",
        "    ├── b  [2 trials, 1 failed, best 0.500]",
        "    │   └── kind",
        "    │       ├── p  [1 trial, best 0.500]",
        "    │       │   └── y  a float from 0 to 1",
        "    │       └── q  [1 trial, 1 failed]",
        "    ├── c  [no trials]",
        "    └── b | c  [2 trials, 1 failed, best 0.500]",
        "        └── z  an integer from 1 to 9",
    ]
