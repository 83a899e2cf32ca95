import json
import threading
import time

import pytest

from bosquet.data import History
from bosquet.report import live
from bosquet.report.content import Source
from bosquet.report.live import LiveStudy


@pytest.fixture
def study(plain, monkeypatch):
    """A study that grows when told to, and what it takes to draw it."""
    monkeypatch.setattr(live, "FRESH", 0.0)
    monkeypatch.setattr(live, "REST", 0.0)

    class Growing:
        n = 5
        reads = 0

        def read(self):
            self.reads += 1
            return Source("s", History(plain.history.space, plain.trials[: self.n]))

    return Growing()


def drawn(shown, n):
    """Asks until the pictures are those of n trials."""
    give_up = time.monotonic() + 60
    while time.monotonic() < give_up:
        answer = shown.pictures()
        if answer is not None and f"of {n}" in answer.body.decode():
            return answer
        time.sleep(0.01)
    raise AssertionError("no pictures")


def test_versions_change_with_the_study_only(study):
    shown = LiveStudy(study.read)
    first, again = shown.summary(), shown.summary()
    assert first.tag == again.tag
    study.n = 6
    assert shown.summary().tag != first.tag
    assert json.loads(shown.summary().body)["counts"]["complete"] == 6


def test_a_storage_is_not_read_for_everybody_who_looks(study, monkeypatch):
    monkeypatch.setattr(live, "FRESH", 60.0)
    shown = LiveStudy(study.read)
    for _ in range(5):
        shown.summary()
    assert study.reads == 1


def test_pictures_are_made_apart_and_once_for_each_version(study, monkeypatch):
    made, go = [], threading.Event()

    def slow(source):
        go.wait(30)
        made.append(len(source.history))
        return {"advice": f"of {len(source.history)}", "sections": []}

    monkeypatch.setattr(live, "pictures", slow)
    shown = LiveStudy(study.read)
    assert shown.pictures() is None  # at once, though they are not made yet
    go.set()
    first = drawn(shown, 5)
    assert (shown.pictures(), made) == (first, [5])
    study.n = 6
    assert drawn(shown, 6).tag != first.tag
    assert made == [5, 6]


def test_what_goes_wrong_is_said_on_the_page(study, monkeypatch, caplog):
    def broken(source):
        raise ArithmeticError("of 5 no luck")

    monkeypatch.setattr(live, "pictures", broken)
    answer = drawn(LiveStudy(study.read), 5)
    advice = json.loads(answer.body)["advice"]
    assert advice == "The pictures cannot be made: ArithmeticError: of 5 no luck"
    assert "cannot be made" in caplog.text
