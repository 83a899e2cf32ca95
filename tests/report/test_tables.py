import io

from rich.console import Console

import bosquet as bq
from bosquet.data import History, Trial
from bosquet.report.tables import branches_table, failures_table


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
        ("m=third", "1", "0.07000"),
        ("m=first", "1", "failed"),
        ("m=second", "1", "failed"),
        ("m=fourth", "1", "failed"),
    ]
