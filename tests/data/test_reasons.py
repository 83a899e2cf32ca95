import time

import pytest

import bosquet as bq
from bosquet.data import alike

LONG = "the matrix of step {} is singular and nothing can be done about it, sorry; "


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("bad 0.5 of -3", "bad 1E-12 of 1,000"),
        ("loss is nan", "loss is -inf"),
        ("<Net object at 0x7f3a2b> broke", "<Net object at 0x55aa00ffee> broke"),
        ("x=0.5, C=3 is too much", "x=0.5, gamma=.1, C=4 is too much"),
        ("failed for {'m': 'svm', 'C': 1}", "failed for {'m': 'forest', 'depth': 3}"),
        ("shape (3, 4) of [0.1 0.2]", "shape (3, 4, 5) of [1e-3 nan 7]"),
        ("No such file: '/tmp/tmpab3/x'", "No such file: '/tmp/tmpzzzz/y'"),
        ("cannot open /tmp/tmpq8w_e2rt/m.bin", "cannot open /var/tmpzyxwvuts/m.bin"),
        ("cannot open /scratch/job-17/m_3.bin", "cannot open /home/m_12.bin"),
        ("run 9f86d081884c7d65 lost", "run 2c26b46b68ffc68f lost"),
        ("run 123e4567-e89b-12d3-a456-426614174000 lost",
         "run 00000000-0000-0000-0000-0000000a0000 lost"),
        ("/tmp/file1a2b3c took 5GB", "/tmp/fileff00aa1 took 12GB"),
        ("KeyError: 'C' (train.py:12 in f)", "KeyError: 'depth' (train.py:12 in f)"),
        ("NameError: name 'np' is not defined (train.py:12 in f)",
         "NameError: name 'np' is not defined (train.py:31 in f)"),
        ('File "/a/train.py", line 3, in f | KeyError: \'C\'',
         'File "/b/c/train.py", line 17, in f | KeyError: \'D\''),
        ("returned list [0.1, 0.22... instead", "returned list [0.11111, 3... instead"),
        ("exit code 1; stderr: ..." + (LONG.format(1) * 5)[-300:],
         "exit code 1; stderr: ..." + (LONG.format(1234567) * 5)[-300:]),
        ("E: " + LONG.format(1) * 50, "E: " + LONG.format(1234567) * 50),
        ("unknown mode a", "unknown mode b"),
        ("switch is True", "switch is false"),
    ],
)  # fmt: skip
def test_reasons_of_one_cause_are_alike(one, other):
    space = bq.Space({"m": bq.Choice(["a", "b"]), "s": bq.Choice([True, False])})
    assert alike(one, space) == alike(other, space)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("KeyError: 'C' (train.py:12 in f)", "KeyError: 'C' (train.py:12 in g)"),
        ('File "/a/train.py", line 3, in f', 'File "/a/model.py", line 3, in f'),
        ("too deep (train.py:12 in f)", "too deep (model.py:12 in f)"),
        ("exit code 1; it wrote nothing", "exit code 137; it wrote nothing"),
        ("[Errno 2] /data/x", "[Errno 13] /data/x"),
        ("out of memory", "out of time"),
        ("can't find 3 and don't care", "can't find 3 and don't worry"),
        ("unknown mode a", "unknown mode c"),
        ("cannot open /data/a.bin", "cannot open /data/b.bin"),
    ],
)
def test_reasons_of_different_causes_are_not(one, other):
    assert alike(one) != alike(other)


@pytest.mark.parametrize("unit", ["a", "0", "f-", "/", "[(", "'", "1e", "x=1,", ". .. ..."])
def test_odd_reasons_take_no_time(unit):
    started = time.process_time()  # whatever else the machine does
    alike(unit * 100_000, bq.Space({"m": bq.Choice([unit, "b"])}))
    assert time.process_time() - started < 0.5
