"""Samples: uniform by option or by path, at random or by a Sobol sequence."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from bosquet import Choice, Float, Space
from tests.space.errors import raises

Config = dict[str, Any]
x = Float(0, 1)


def frequencies(configs: list[Config], name: str) -> list[int]:
    return list(Counter(config[name] for config in configs if name in config).values())


def is_uniform(counts: list[int], n: int) -> bool:
    return len(counts) == n and bool(chisquare(counts).pvalue > 1e-3)


def test_sampling_by_option(example: Space) -> None:
    configs = example.sample(0, 6000)
    assert is_uniform(frequencies(configs, "model"), 3)
    assert is_uniform(frequencies(configs, "scale"), 2)
    assert is_uniform(frequencies(configs, "kernel"), 2)
    assert is_uniform(frequencies(configs, "depth"), 20)


def test_sampling_by_path(example: Space) -> None:
    configs = example.sample(0, 6000, by="path")
    paths = Counter(example.path(config) for config in configs)
    assert is_uniform(list(paths.values()), 4)
    assert not is_uniform(frequencies(configs, "model"), 3)
    assert is_uniform(frequencies(configs, "scale"), 2)
    assert is_uniform(frequencies(configs, "depth"), 20)


def test_sampling_by_path_with_shared_and_nested_choices() -> None:
    inner = Choice({1: {"u": x}, 2: {"v": x}, 3: {}})
    space = Space(
        {
            "m": Choice(
                {
                    "a": {},
                    "b": {"n": Choice({0: {}, 1: {"w": x}})},
                    "c": {},
                    ("b", "c"): {"k": inner},
                }
            ),
            "o": Choice({"yes": {"y": x}, "no": {}}),
        }
    )
    assert space.n_paths == (1 + 2 * 3 + 3) * 2
    configs = space.sample(3, 8000, by="path")
    assert is_uniform(list(Counter(map(space.path, configs)).values()), 20)
    configs = space.sample(3, 8000, by="option")
    assert is_uniform(frequencies(configs, "m"), 3)
    assert is_uniform(frequencies(configs, "k"), 3)


def test_numbers_are_sampled_uniformly_on_their_scale() -> None:
    space = Space({"f": Float(2, 4), "g": Float(1e-4, 1, log=True), "s": Float(0, 1, step=0.25)})
    configs = space.sample(1, 5000)
    for name, scale in (("f", lambda v: (v - 2) / 2), ("g", lambda v: np.log10(v) / 4 + 1)):
        units = [scale(config[name]) for config in configs]
        assert is_uniform(np.histogram(units, bins=10, range=(0, 1))[0].tolist(), 10)
    assert is_uniform(frequencies(configs, "s"), 5)


def test_sample_one_or_several(example: Space) -> None:
    assert isinstance(example.sample(0), dict)
    assert example.sample(0, 1) == [example.sample(0)]
    assert example.sample(0, 0) == []
    assert example.sample(np.random.default_rng(7), 3) == example.sample(7, 3)
    rng = np.random.default_rng(7)
    assert example.sample(rng) != example.sample(rng)
    assert len({example.key(c) for c in example.sample(None, 5)}) == 5


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"by": "paths"}, "by='paths' must be one of option, path; did you mean 'path'?"),
        ({"method": "grid"}, "method='grid' must be one of random, sobol"),
        ({"by": None}, "by=None must be one of option, path"),
    ],
)
def test_bad_sampling_arguments(example: Space, arguments: Any, text: str) -> None:
    with raises(ValueError, text):
        example.sample(0, 1, **arguments)


def test_sobol_spreads_better_than_chance() -> None:
    space = Space({"f": Float(0, 1), "g": Float(0, 1), "m": Choice(["a", "b", "c", "d"])})
    configs = space.sample(0, 64, method="sobol")
    assert Counter(config["m"] for config in configs) == dict.fromkeys("abcd", 16)
    cells = Counter((int(c["f"] * 8), int(c["g"] * 8)) for c in configs)
    assert len(cells) == 64  # one point in each of 64 cells
    assert configs == space.sample(0, 64, method="sobol")
    assert configs != space.sample(1, 64, method="sobol")


def test_sobol_by_path(example: Space) -> None:
    configs = example.sample(0, 256, by="path", method="sobol")
    counts = Counter(example.path(config) for config in configs)
    assert len(counts) == 4
    assert max(counts.values()) - min(counts.values()) <= 8
