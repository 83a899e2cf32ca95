"""Templates: values stay inside their words, and inactive parameters leave no trace."""

import json
import shlex

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import bosquet as bq
from bosquet.study.template import Template
from tests.space.strategies import build, declarations, relaxed

SPACE = bq.Space(
    {
        "a": bq.Float(-1, 1),
        "m": bq.Choice(
            {
                "plain": {},
                "deep": {"n": bq.Int(1, 9), "k": bq.Choice({"x": {}, "y": {"q": bq.Int(1, 9)}})},
            }
        ),
    }
)
PLAIN = {"a": -0.5, "m": "plain"}
DEEP = {"a": 1e-5, "m": "deep", "n": 3, "k": "y", "q": 7}
REST = "{a} {?n:{n}} {?q:{q}}"


def filled(template, config, trial=0):
    return Template(template, SPACE).words(config, trial)


@pytest.mark.parametrize(
    ("template", "plain", "deep"),
    [
        ("p {a} {?n:-n {n}} {?q:{q}}", ["p", "-0.5"], ["p", "1e-05", "-n", "3", "7"]),
        (
            "p --a={a} --n={?n:{n}}{?q:,{q}}",
            ["p", "--a=-0.5", "--n="],
            ["p", "--a=1e-05", "--n=3,7"],
        ),
        ("p {?n: -n {n} {?q:-q {q}}} {a}", ["p", "-0.5"], ["p", "-n", "3", "-q", "7", "1e-05"]),
        ("p {?n:{?q:{n}{q}}} {a}", ["p", "-0.5"], ["p", "37", "1e-05"]),
        (
            "p {a} '' {?n: \"\" 'b c{n}'}{?q:{q}}",
            ["p", "-0.5", ""],
            ["p", "1e-05", "", "", "b c37"],
        ),
        ("p {trial}.{a} {?n:{n}/{trial}} {?q:{q}}", ["p", "4.-0.5"], ["p", "4.1e-05", "3/4", "7"]),
        (
            """p '{{"a": {a}}}' {?n:'{{"n": {n}, "l": {{}}}}'} {?q:{q}}""",
            ["p", '{"a": -0.5}'],
            ["p", '{"a": 1e-05}', '{"n": 3, "l": {}}', "7"],
        ),
        (
            "p {a} {?m=deep:-n {n} {?k=y:-q {q}}}",
            ["p", "-0.5"],
            ["p", "1e-05", "-n", "3", "-q", "7"],
        ),
        (
            "p {a} {?m=plain:--plain} {?n:{n}} {?q:{q}}",
            ["p", "-0.5", "--plain"],
            ["p", "1e-05", "3", "7"],
        ),
        ("{m}/{m} {a} {?q:{k}{n}{q}}", ["plain/plain", "-0.5"], ["deep/deep", "1e-05", "y37"]),
    ],
)
def test_words(template, plain, deep):
    assert filled(template, PLAIN, 4) == plain
    assert filled(template, DEEP, 4) == deep


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("", "it is empty"),
        ("p '{a}", "cannot be split into words: No closing quotation"),
        ("p {b} " + REST, r"\{b\} is not a parameter; the space has a, m, n, k, q"),
        ("p {?b:x} " + REST, r"\{b\} is not a parameter"),
        ("p {?trial:x} " + REST, r"\{trial\} is not a parameter"),
        ("p {n} " + REST, r"\{n\} may be inactive: it exists only where m='deep'. Write it as"),
        ("p {?n:{q}} " + REST, "it exists only where m='deep' and k='y'"),
        ("p {?a:{n}} " + REST, r"\{n\} may be inactive"),
        ("p {a} {?n:{n}}", r"there is no \{q\} in it"),
        ("p {a} {?n:{n}} {?q:-q}", r"there is no \{q\} in it"),
        ("p {?m=plan:x} " + REST, "'m' is never 'plan'; .* takes one of plain, deep; did you mean"),
        ("p {?a=1:x} " + REST, r"a value of 'a', which is no choice; \{\?a:\.\.\.\} asks whether"),
        ("p {a} {?m=plain:{n}} {?q:{q}}", r"\{n\} may be inactive"),
        ("p {a", "'{' in 'p {a' is neither.*; a brace itself is written twice"),
        ("p {} " + REST, "'{' in 'p {} {a} {"),
        ("p } " + REST, "'}' in 'p } {a}"),
        ("p {a} {?q:{q}} {?n:{n}", r"the part \{\?n:\.\.\. is not closed"),
        ("p \0 " + REST, "control characters"),
    ],
)
def test_bad_templates_are_told(template, message):
    with pytest.raises(ValueError, match=message):
        Template(template, SPACE)


def test_flags():
    space = bq.Space({"fast": bq.Choice([False, True]), "x": bq.Int(1, 3)})
    template = Template("p {x} {?fast=true:--fast}", space)
    assert template.words({"fast": True, "x": 1}, 0) == ["p", "1", "--fast"]
    assert template.words({"fast": False, "x": 1}, 0) == ["p", "1"]
    with pytest.raises(ValueError, match=r"no \{fast\} in it.* a flag is written \{\?fast=VALUE:"):
        Template("p {x} {?fast:--fast}", space)  # which is always there, whatever the value
    odd = bq.Space({"a=b": bq.Choice({"c": {"y": bq.Int(1, 2)}, "d": {}}), "a": bq.Choice(["b"])})
    words = Template("p {a} {?a=b:{?y:{y}}}", odd).words({"a=b": "d", "a": "b"}, 0)
    assert words == ["p", "b"]  # a parameter that is called so comes first


def test_a_parameter_called_trial_is_refused():
    with pytest.raises(ValueError, match="a parameter cannot be called 'trial'"):
        Template("p {trial}", bq.Space({"trial": bq.Int(1, 3)}))


def test_a_name_that_every_branch_has_needs_no_condition():
    space = bq.Space(
        {"m": bq.Choice({"a": {"x": bq.Int(1, 3)}, "b": {"x": bq.Float(0, 1), "y": bq.Int(1, 2)}})}
    )
    assert Template("p {m} {x} {?y:{y}}", space).words({"m": "a", "x": 2}, 0) == ["p", "a", "2"]


@pytest.mark.parametrize("value", ["; rm -rf x", "$(x)", "a b", "", "{a}", "{?n:", "'\"\\", "-é\n"])
def test_a_value_stays_one_word(value):
    space = bq.Space({"c": bq.Choice([value, "other"])})
    assert Template("p {c} x{c}", space).words({"c": value}, 0) == ["p", value, "x" + value]


def test_values_that_are_not_text_are_as_in_json():
    space = bq.Space({"c": bq.Choice([True, None, 3, 0.1])})
    template = Template("{c}", space)
    found = [template.words({"c": c}, 0) for c in (True, None, 3, 0.1)]
    assert found == [["true"], ["null"], ["3"], ["0.1"]]


@relaxed
@given(declarations(), st.integers(0, 2**32))
def test_any_space_and_any_name(declaration, seed):
    """Every active parameter is one word, every other one is none."""
    space = build(declaration)
    names = list(space.tree.by_name)
    template = Template(
        "p " + " ".join(shlex.quote(f"{{?{name}:={{{name}}}}}") for name in names), space
    )
    config = space.sample(seed)
    texts = [v if isinstance(v, str) else json.dumps(v) for v in map(config.get, names)]
    expected = ["=" + text for name, text in zip(names, texts, strict=True) if name in config]
    assert template.words(config, 0) == ["p", *expected]


@relaxed
@given(declarations(), st.data())
def test_what_may_be_inactive_by_enumeration(declaration, data):
    space = build(declaration)
    tree = space.tree
    assume(space.n_paths <= 300)
    names = list(tree.by_name)
    name, around = (data.draw(st.sampled_from(names)) for _ in range(2))
    paths = [set(path) for path in tree.paths()]

    def where(parameter):
        return [any(d.node in path for d in tree.by_name[parameter]) for path in paths]

    implied = all(a for a, b in zip(where(name), where(around), strict=True) if b)
    others = " ".join(shlex.quote(f"{{?{n}:{{{n}}}}}") for n in names)
    text = shlex.quote(f"{{?{around}:{{{name}}}}}") + " " + others
    if implied:
        Template(text, space)
    else:
        with pytest.raises(ValueError, match="may be inactive"):
            Template(text, space)
