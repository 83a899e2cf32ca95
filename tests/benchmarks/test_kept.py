import pytest

from bosquet.benchmarks.harness import Job, Run
from bosquet.benchmarks.kept import keep, read_kept


def made(seed: int, value: float) -> Run:
    job = Job("auto", "branin", seed, 2)
    return Run(job, 0.5, [value, 1 / 3], [0.0123456], 1.23456, {"numpy": "2"}, [1e-6])


def test_runs_add_up_and_a_run_made_again_takes_its_place(tmp_path):
    path = tmp_path / "results" / "branin.jsonl.xz"
    assert read_kept(path) == []
    keep([made(1, 2.0), made(0, 2.0)], path, "abc")
    keep([made(1, 3.0)], path, "def")
    runs = read_kept(path)
    assert [run.job.seed for run in runs] == [0, 1]
    assert [run.values[0] for run in runs] == [2.0, 3.0]
    assert [run.versions["commit"] for run in runs] == ["abc", "def"]


def test_what_is_kept_is_rounded(tmp_path):
    path = tmp_path / "kept.jsonl.xz"
    keep([made(0, 123456.7890123456)], path, "abc")
    (run,) = read_kept(path)
    assert run.values == [123456.789012, 0.333333333333]
    assert (run.ask_seconds, run.seconds) == ([0.0123], 1.2)


@pytest.mark.parametrize("content", [b"something else", b""])
def test_another_file_is_refused(tmp_path, content):
    path = tmp_path / "kept.jsonl.xz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"kept\.jsonl\.xz does not hold kept benchmark runs"):
        read_kept(path)
