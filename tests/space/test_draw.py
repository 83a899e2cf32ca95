from __future__ import annotations

from typing import Any

import pytest

from bosquet import Choice, ConfigError, Constraint, Float, Forbid, Int, Space


def test_the_example(example_parameters: dict[str, Any]) -> None:
    space = Space(
        example_parameters,
        [
            Forbid({"scale": "none", "model": "svm"}),
            Constraint(lambda c: c["lr"] < 0.05, on=["lr"]),
        ],
    )
    assert str(space) == (
        """
Space with 4 paths
├── scale  one of 'none', 'standard'
├── lr     a float from 0.0001 to 0.1 (log, default 0.01)
└── model
    ├── svm
    │   ├── C       a float from 0.001 to 1000 (log)
    │   └── kernel
    │       ├── linear
    │       └── rbf
    │           └── gamma  a float from 0.0001 to 10 (log)
    ├── forest
    │   └── depth  an integer from 1 to 20
    ├── boosting
    │   └── eta  a float from 0.01 to 1
    └── forest | boosting
        └── trees  an integer from 10 to 500 (log)
such that not (scale='none' and model='svm'); <lambda>(lr)
""".strip()
    )
    assert repr(space) == "<Space of 9 parameters, 4 paths>"
    assert repr(Space({"x": Float(0, 1)})) == "<Space of 1 parameter, 1 path>"


def test_notes_of_a_branching_choice_are_shown() -> None:
    space = Space(
        {"m": Choice({1: {"x": Float(0, 1, step=0.1)}, "1": {}}, ordered=True, default="1")}
    )
    assert str(space) == (
        """
Space with 2 paths
└── m  (ordered, default '1')
    ├── 1
    │   └── x  a float from 0 to 1 (step 0.1)
    └── "1"
""".strip()
    )


def test_one_path() -> None:
    assert str(Space({"n": Int(0, 3, default=0)})) == (
        "Space with 1 path\n└── n  an integer from 0 to 3 (default 0)"
    )


def test_html_is_escaped() -> None:
    space = Space({"<b>": Choice(["<script>", "&"])})
    text = space._repr_html_()
    assert text.startswith("<pre")
    assert "<script>" not in text
    assert "&lt;b&gt;  one of &#x27;&lt;script&gt;&#x27;, &#x27;&amp;&#x27;" in text


def test_very_many_options_do_not_fill_the_screen() -> None:
    names = [f"option {i}" for i in range(500)]
    space = Space({"c": Choice(names)}, constraints=[Forbid({"c": names[:300]})])
    assert max(map(len, str(space).splitlines())) < 300
    assert "'option 0', 'option 1'" in str(space)
    assert "more)" in str(space)
    with pytest.raises(ConfigError) as error:
        space.validate({"c": "x"})
    assert len(str(error.value)) < 300
    branches: dict[Any, Any] = {name: {} for name in names}
    shared = Space({"m": Choice(branches | {tuple(names[:400]): {"x": Int(0, 1)}})})
    assert max(map(len, str(shared).splitlines())) < 300
    with pytest.raises(ConfigError) as error:
        shared.validate({"m": "option 1"})
    assert "it is active when m in ('option 0', 'option 1'," in str(error.value)
    assert len(str(error.value)) < 300


def test_letters_of_any_language_are_shown_as_they_are() -> None:
    space = Space({"größe ∞": Choice({"日本 語": {"é è": Int(0, 1)}, "b": {}})})
    assert '"日本 語"' in str(space)
    assert space.path_label({"größe ∞": "日本 語"}) == '"größe ∞"="日本 語"'
    assert list(space) == ['"größe ∞"', '"größe ∞"="日本 語"/"é è"']
