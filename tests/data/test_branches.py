from datetime import UTC, datetime, timedelta

import bosquet as bq
from bosquet.data import History, Trial
from bosquet.data.branches import branches

MOMENT = datetime(2026, 1, 31, tzinfo=UTC)


def test_branches_come_by_their_best_with_counts_and_times(space):
    def ended(number, config, seconds, value=None):
        trial = Trial(number, config, started=MOMENT, ended=MOMENT + timedelta(seconds=seconds))
        return trial.failed("no") if value is None else trial.completed(bq.Evaluation(value))

    a, b = {"m": "a", "x": 0.5}, {"m": "b", "x": 1, "y": 0}
    trials = [ended(0, b, 1, 3.0), ended(1, a, 2, 4.0), ended(2, b, 5), ended(3, b, 3, 2.0)]
    first, second = branches(History(space, trials))
    assert (first.label, first.trials, first.failed, first.seconds) == ("m=b", 3, 1, 3.0)
    assert (first.best, second.best) == (trials[3], trials[1])
    first, second = branches(History(space, trials, "maximize"))
    assert (first.label, second.best) == ("m=a", trials[0])
    (only,) = branches(History(space, [Trial(0, a).failed("no")]))
    assert (only.best, only.seconds, only.failed) == (None, None, 1)
    assert branches(History(space)) == []
