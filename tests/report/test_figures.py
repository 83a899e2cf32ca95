import json

import bosquet as bq
from bosquet.data import History
from bosquet.explain import model_of
from bosquet.report.figures import drawn


def test_sections_of_a_study(plain):
    history = plain.history
    found = {section["id"]: section for section in drawn(history, model_of(history))}
    assert list(found)[:2] == ["convergence", "tree"]
    assert {"importance", "effects", "trust"} <= set(found)
    assert [view["name"] for view in found["convergence"]["views"]] == ["by trial", "by time"]
    assert [view["name"] for view in found["effects"]["views"]] == ["m=a", "m=b"]
    for section in found.values():
        for view in section["views"]:
            assert view["finding"]
            assert "title" not in view["figure"]["layout"]
            assert json.loads(json.dumps(view["figure"], allow_nan=False))


def test_titles_are_texts(nasty):
    said = [
        view["finding"] + view["note"]
        for section in drawn(nasty.history, nasty.history)
        for view in section["views"]
    ]
    assert any("</script>" in text for text in said)
    assert not any("&lt;" in text for text in said)


def test_what_there_is_nothing_of_is_left_out(plain):
    assert list(drawn(History(plain.history.space), History(plain.history.space))) == []
    few = History(plain.history.space, plain.history.trials[:2])
    assert "importance" not in [section["id"] for section in drawn(few, few)]


def test_a_single_trial_is_not_drawn_side_by_side(plain):
    one, two = (History(plain.history.space, plain.history.trials[:n]) for n in (1, 20))
    assert "parallel" not in [section["id"] for section in drawn(one, one)]
    assert "parallel" in [section["id"] for section in drawn(two, two)]


def test_a_space_without_branches_has_no_tree():
    opt = bq.Optimizer(bq.Space({"x": bq.Float(0, 1)}), "random", seed=0)
    opt.tell(opt.ask(), 1.0)
    found = [section["id"] for section in drawn(opt.history, opt.history)]
    assert "convergence" in found
    assert "tree" not in found
