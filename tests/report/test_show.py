import io

import pytest
from rich.console import Console

import bosquet as bq
from bosquet.data import History, Trial
from bosquet.report.show import print_found


@pytest.fixture
def history():
    space = bq.Space({"a_long_name": bq.Float(0, 1), "another_long_name": bq.Choice(["longer"])})
    config = {"a_long_name": 0.25, "another_long_name": "longer"}
    return History(space, [Trial(0, config).completed(bq.Evaluation(0.125))])


def test_the_best_is_wrapped_between_words_at_a_terminal_only(history):
    lines = {}
    for terminal in (True, False):
        out = io.StringIO()
        print_found(Console(file=out, width=40, force_terminal=terminal, no_color=True), history)
        lines[terminal] = out.getvalue().splitlines()
    assert [line.strip() for line in lines[False]] == [
        "Best: 0.125 in trial 0: a_long_name=0.25, another_long_name=longer"
    ]
    assert [line.strip() for line in lines[True]][1:] == [
        "a_long_name=0.25,",
        "another_long_name=longer",
    ]
