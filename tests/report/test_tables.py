import io

from rich.console import Console

import bosquet as bq
from bosquet.data import History, Trial
from bosquet.report.tables import failures_table


def printed(table, width=100):
    out = io.StringIO()
    Console(file=out, width=width).print(table)
    return out.getvalue()


def test_failures_of_one_cause_are_one_row():
    space = bq.Space({"solver": bq.Choice(["newton", "lbfgs"]), "x": bq.Float(0, 1)})
    reasons = [
        "no solver newton at <Model object at 0x7f10> (fit.py:3 in fit)",
        "no solver lbfgs at <Model object at 0x7faa> (fit.py:3 in fit)",
        "no solver lbfgs at <Model object at 0x7faa> (fit.py:9 in fit)",
    ]
    trials = [
        Trial(i, {"solver": "newton", "x": 0.5}).failed(reason) for i, reason in enumerate(reasons)
    ]
    rows = [row.split("│") for row in printed(failures_table(History(space, trials))).splitlines()]
    counts = [(row[1].strip(), row[3].strip()) for row in rows if len(row) > 3]
    assert counts == [("2", "0, 1"), ("1", "2")]
