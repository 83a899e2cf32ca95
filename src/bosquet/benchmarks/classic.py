"""Well-known functions on plain boxes, to be minimised.

``shift`` moves the optimum of those that have it in the middle of the box, as a function of a
seed.
"""

from __future__ import annotations

import numpy as np

from bosquet.arrays import Array
from bosquet.benchmarks.problem import Problem
from bosquet.space import Config, Float, Space


def branin() -> Problem:
    """Two dimensions, three global minima."""

    def function(config: Config) -> float:
        x, y = config["x1"], config["x2"]
        valley = y - 5.1 / (4 * np.pi**2) * x**2 + 5 / np.pi * x - 6
        return float(valley**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x) + 10)

    space = Space({"x1": Float(-5, 10), "x2": Float(0, 15)})
    return Problem("branin", space, function, 0.39788735772973816)


_HARTMANN_A = np.array(
    [
        [10, 3, 17, 3.5, 1.7, 8],
        [0.05, 10, 17, 0.1, 8, 14],
        [3, 3.5, 1.7, 10, 17, 8],
        [17, 8, 0.05, 10, 0.1, 14],
    ]
)
_HARTMANN_P = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)
_HARTMANN_ALPHA = np.array([1.0, 1.2, 3.0, 3.2])


def hartmann6() -> Problem:
    """Six dimensions, six local minima."""

    def function(config: Config) -> float:
        exponent = np.sum(_HARTMANN_A * (_vector(config, 6) - _HARTMANN_P) ** 2, axis=1)
        return float(-_HARTMANN_ALPHA @ np.exp(-exponent))

    return Problem("hartmann6", _box(6, 0, 1), function, -3.322368011415515)


def ackley(dimension: int = 10, *, shift: int | None = None) -> Problem:
    """A funnel covered with local minima, on [-32.768, 32.768].

    Args:
        dimension: how many variables.
        shift: the seed that moves the optimum; None leaves it where it is.
    """
    optimum = _optimum(dimension, 20.0, shift)

    def function(config: Config) -> float:
        x = _vector(config, dimension) - optimum
        bowl = -20 * np.exp(-0.2 * np.sqrt(np.mean(x**2)))
        ripples = -np.exp(np.mean(np.cos(2 * np.pi * x)))
        return float(bowl + ripples + 20 + np.e)

    return Problem(_name("ackley", dimension, shift), _box(dimension, -32.768, 32.768), function, 0)


def levy(dimension: int = 10, *, shift: int | None = None) -> Problem:
    """Waves across a slope, on [-10, 10].

    Args:
        dimension: how many variables.
        shift: the seed that moves the optimum; None leaves it where it is.
    """
    optimum = _optimum(dimension, 6.0, shift) if shift is not None else np.ones(dimension)

    def function(config: Config) -> float:
        w = 1 + (_vector(config, dimension) - optimum) / 4
        ends = np.sin(np.pi * w[0]) ** 2
        ends += (w[-1] - 1) ** 2 * (1 + np.sin(2 * np.pi * w[-1]) ** 2)
        middle = (w[:-1] - 1) ** 2 * (1 + 10 * np.sin(np.pi * w[:-1] + 1) ** 2)
        return float(ends + np.sum(middle))

    return Problem(_name("levy", dimension, shift), _box(dimension, -10, 10), function, 0)


def rosenbrock(dimension: int = 10, *, shift: int | None = None) -> Problem:
    """A curved valley, on [-5, 10]: neighbours interact, and values span six decades.

    Args:
        dimension: how many variables.
        shift: the seed that moves the optimum; None leaves it where it is.
    """
    valley = _optimum(dimension, 2.0, shift)

    def function(config: Config) -> float:
        x = _vector(config, dimension) - valley
        return float(np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2))

    return Problem(_name("rosenbrock", dimension, shift), _box(dimension, -5, 10), function, 0)


def gramacy_exp() -> Problem:
    """x1 exp(-x1^2 - x2^2) on [-2, 6]^2 (Gramacy, 2005): flat but for one corner."""

    def function(config: Config) -> float:
        x, y = config["x1"], config["x2"]
        return float(x * np.exp(-(x**2) - y**2))

    return Problem("gramacy-exp", _box(2, -2, 6), function, -float(np.exp(-0.5) / np.sqrt(2.0)))


def yuan_wahba(seed: int = 0) -> Problem:
    """Minus the mean of Yuan & Wahba (2004) on [0, 1], seen through noise of sd exp(sin 2 pi x).

    Args:
        seed: of the noise.
    """
    rng = np.random.default_rng([2004, seed])

    def function(config: Config) -> float:
        x = config["x1"]
        return float(-2.0 * (np.exp(-30.0 * (x - 0.25) ** 2) + np.sin(np.pi * x**2)))

    def observe(config: Config) -> float:
        sd = float(np.exp(np.sin(2.0 * np.pi * config["x1"])))
        return function(config) + sd * rng.standard_normal()

    return Problem("yuan-wahba", _box(1, 0, 1), function, -2.4344008040932597, observe)


def _box(dimension: int, low: float, high: float) -> Space:
    if dimension < 1:
        raise ValueError(f"dimension={dimension!r} must be at least 1")
    return Space({f"x{i + 1}": Float(low, high) for i in range(dimension)})


def _vector(config: Config, dimension: int) -> Array:
    return np.array([config[f"x{i + 1}"] for i in range(dimension)])


def _optimum(dimension: int, radius: float, shift: int | None) -> Array:
    if shift is None:
        return np.zeros(dimension)
    rng = np.random.default_rng([1987, dimension, shift])  # apart from those of the methods
    return rng.uniform(-radius, radius, dimension)


def _name(name: str, dimension: int, shift: int | None) -> str:
    return f"{name}-{dimension}" + ("" if shift is None else "-shifted")
