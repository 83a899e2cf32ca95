"""The tree of the space: every branch once, with its trials."""

import bosquet as bq
from bosquet import plots
from bosquet.explain import BranchBest
from bosquet.plots.tree import Branch, short_label, title_of


def test_every_branch_is_a_row_with_its_trials(history, text_of):
    made = plots.tree(history)
    counted = [note.text for note in made.layout.annotations]
    assert len(counted) == 3
    assert sum(int(text.split(" ")[0]) for text in counted) == len(history)
    assert sum("failed" in text for text in counted) >= 1
    by_name = {trace.name: trace for trace in made.data}
    assert history.best.value in list(by_name["best trial"].x)
    assert len(by_name["best by the model (90 % interval)"].x) == 3
    assert "is best so far" in made.layout.title.text


def test_before_there_is_a_model_the_tree_says_why(history):
    few = bq.History(history.space, history.trials[:3])
    made = plots.tree(few)
    assert "a model needs at least 4 complete trials" in made.layout.title.subtitle.text
    assert all("new best" not in note.text for note in made.layout.annotations)
    empty = plots.tree(bq.History(history.space))
    assert empty.layout.title.text == "No branch has a value yet"
    assert [note.text for note in empty.layout.annotations] == ["0 trials"] * 3


def test_a_space_without_branches_is_one_row():
    space = bq.Space({"x": bq.Float(0, 1)})
    trials = [bq.Trial(i, c, "complete", c["x"] ** 2) for i, c in enumerate(space.sample(0, 6))]
    made = plots.tree(bq.History(space, trials))
    assert "The best of 6 trials has" in made.layout.title.text
    assert Branch("").parts == ("all",)


def test_the_title_says_why_the_branch_with_a_smaller_chance_is_named():
    def branch(label, chance, gain):
        best = BranchBest(label, {}, 0.0, 0.1, -0.1, 0.1, chance, gain, {}, 0.5)
        return Branch(label, best=bq.Trial(0, {}, "complete", 1.0), predicted=best)

    named = "m=a is best so far; more trials are worth most in m=b "
    told = title_of([branch("m=a", 0.06, 0.1), branch("m=b", 0.03, 0.2)])
    assert told == named + "(largest gain on average, chance of a new best: 3 %)"
    alike = title_of([branch("m=a", 0.06, 0.1), branch("m=b", 0.058, 0.2)])
    assert alike == named + "(chance of a new best: 6 %)"


def test_long_labels_keep_what_tells_siblings_apart():
    assert short_label("model=svm") == "model=svm"
    assert short_label("the_family_of_algorithms=number_7") == "number_7"
    assert short_label(f"m={'x' * 40}7") == f"\u2026{'x' * 24}7"


def test_of_branches_with_equal_values_the_first_one_found_is_best():
    space = bq.Space({"m": bq.Choice({"a": {"x": bq.Float(0, 1)}, "b": {"y": bq.Float(0, 1)}})})
    configs = [{"m": "b", "y": 0.5}, {"m": "a", "x": 0.5}]
    trials = [bq.Trial(i, config, "complete", 1.0) for i, config in enumerate(configs)]
    made = plots.tree(bq.History(space, trials))
    assert made.layout.title.text == "m=b is best so far"
