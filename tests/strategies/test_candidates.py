import numpy as np

import bosquet as bq
from bosquet.data import key_of
from bosquet.strategies.candidates import Candidates

SPACE = bq.Space(
    {"x": bq.Float(1e-3, 1.0, log=True), "k": bq.Choice({"a": {}, "b": {"n": bq.Int(1, 9)}})}
)
CONFIGS = [
    {"x": 0.1, "k": "a"},
    {"x": 0.3, "k": "b", "n": 2},
    {"x": 0.7, "k": "b", "n": 7},
]


def test_what_is_left_by_path_and_back():
    candidates = Candidates(SPACE, CONFIGS)
    assert len(candidates) == 3
    assert list(candidates) == CONFIGS
    taken = {key_of(CONFIGS[1]), key_of({"x": 0.9, "k": "a"})}  # one of them is no candidate
    assert candidates.free(taken).tolist() == [True, False, True]
    rows = candidates.rows_by_path(taken)
    found = [candidates.of_row(x) for X in rows.values() for x in X]
    assert sorted(found, key=str) == sorted([CONFIGS[0], CONFIGS[2]], key=str)  # to the last digit
    for path, X in rows.items():
        assert {SPACE.path(candidates.of_row(x)) for x in X} == {path}
        np.testing.assert_array_equal(X, SPACE.to_unit([candidates.of_row(x) for x in X]))


def test_membership():
    candidates = Candidates(SPACE, CONFIGS)
    assert dict(CONFIGS[2]) in candidates
    assert {"x": 0.2, "k": "a"} not in candidates


def test_a_candidate_set_is_encoded_once(monkeypatch):
    encoded = []
    to_unit = bq.Space.to_unit

    def counting(self, configs):
        encoded.append(1 if isinstance(configs, dict) else len(configs))
        return to_unit(self, configs)

    monkeypatch.setattr(bq.Space, "to_unit", counting)
    configs = [{"x": 0.001 * i, "k": "a"} for i in range(1, 400)]
    opt = bq.Optimizer(SPACE, candidates=configs, seed=0)
    for _ in range(12):
        trial = opt.ask()
        opt.tell(trial, trial.config["x"])
    assert sum(n >= 300 for n in encoded) == 1
