"""Repeated rows, merged: k evaluations of one configuration cost a model no more than one.

Glossary (N given rows, n of them distinct)
    v_i      the variance of target i: known, or the learned noise s^2; `NOISE_FLOOR` is part of it
    w_i      1 / v_i
    mean     of the repeats of one row, weighted by w_i; its variance is 1 / sum w_i, so s^2 / k for
             k repeats of unknown noise
    scatter  of the repeats around their mean: it says nothing about f, but much about s^2

The density of the given targets is that of the means times that of the scatter,

    log N(y; f, v) = log N(mean; f, 1 / sum w) - (log_det + square + (k - 1) log 2 pi) / 2,
    log_det = sum_i log v_i + log sum_i w_i,    square = sum_i w_i (y_i - mean)^2,

so likelihoods, fits and posteriors are exactly those of all rows. Repeats of known and of learned
variance stay apart: the weights between them would change with s^2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bosquet.arrays import Array, Bools, Index

NOISE_FLOOR = 1e-10  # of standardised targets; keeps K positive definite when rows nearly repeat
_LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True)
class Merged:
    """Distinct rows with their mean targets, and what became of the given ones."""

    first: Index
    """(n,) which given row each row is; of repeats the first one."""
    of_given: Index
    """(N,) the row that each given one became."""
    y: Array
    """(n,) means."""
    fixed: Array
    """(n,) the part of their variances that is known."""
    share: Array
    """(n,) how much of the learned noise there is beside it: 1 / k, or 0 where noise is known."""
    given: Array
    """(N,) the targets as they were given."""
    given_fixed: Array
    given_learned: Bools
    """(N,) the variance of each given target: this, and the learned noise where it is True."""

    @property
    def repeated(self) -> bool:
        return len(self.first) < len(self.of_given)

    def variance(self, noise: float) -> Array:
        """Of the means, for a learned noise variance: (n,)."""
        return np.asarray(self.fixed + noise * self.share)

    def scatter(self, noise: float, weights: Array | None = None) -> tuple[float, float]:
        """``log_det`` and ``square``, summed over all rows, for a learned noise variance."""
        v = self.given_fixed + noise * self.given_learned
        of_means = None if weights is None else weights[self.first]
        log_det = _sum(np.log(v), weights) - _sum(np.log(self.variance(noise)), of_means)
        return log_det, _sum((self.given - self.y[self.of_given]) ** 2 / v, weights)

    def log_scatter(self, log_noise: float, weights: Array | None = None) -> tuple[float, float]:
        """The log density of the scatter, and its derivative by the log of the learned noise.

        ``weights`` (N,) count the rows; repeats have the same.
        """
        if not self.repeated:
            return 0.0, 0.0
        noise = float(np.exp(log_noise))
        log_det, square = self.scatter(noise, weights)
        v = (self.given_fixed + noise)[self.given_learned]
        away = (self.given - self.y[self.of_given])[self.given_learned]
        learned = self.share > 0.0
        lost: float = len(self.of_given) - len(self.first)
        given = of_means = None
        if weights is not None:
            lost = float(weights.sum() - weights[self.first].sum())
            given, of_means = weights[self.given_learned], weights[self.first][learned]
        # log_det changes by (k - 1) / s^2 for k repeats: log s^2 of each, less one per mean.
        means = _sum(self.share[learned] / self.variance(noise)[learned], of_means)
        slope = _sum(1.0 / v, given) - means - _sum(away**2 / v**2, given)
        return -0.5 * (log_det + square + lost * _LOG_2PI), -0.5 * noise * slope

    def leave_one_out(self, noise: float, alpha: Array, precision: Array) -> tuple[Array, Array]:
        """K^-1 y and the diagonal of K^-1 for the given rows, from those of the merged ones."""
        w = 1.0 / (self.given_fixed + noise * self.given_learned)
        weight = w * self.variance(noise)[self.of_given]  # of a target in its mean
        away = self.given - self.y[self.of_given]
        return (
            w * away + weight * alpha[self.of_given],
            w * (1.0 - weight) + weight**2 * precision[self.of_given],
        )


def _sum(values: Array, weights: Array | None) -> float:
    return float(values.sum() if weights is None else weights @ values)


def merge(rows: Array, y: Array, noise: Array) -> Merged:
    """Merges equal rows; ``noise`` are the variances of y, NaN where they are to be learned."""
    learned = np.isnan(noise)
    fixed = np.where(learned, 0.0, noise) + NOISE_FLOOR
    position: dict[bytes, int] = {}
    keys = (row.tobytes() for row in np.column_stack([rows, learned]))
    of_given = np.array([position.setdefault(key, len(position)) for key in keys], dtype=np.int64)
    n = len(position)
    if n == len(y):
        return Merged(of_given, of_given, y, fixed, learned.astype(float), y, fixed, learned)
    first = np.unique(of_given, return_index=True)[1]
    w = np.where(learned, 1.0, 1.0 / fixed)  # equal weights where the noise is the same s^2
    total = np.bincount(of_given, w, n)
    mean = np.bincount(of_given, w * y, n) / total
    share = np.where(learned[first], 1.0 / total, 0.0)
    merged = np.where(learned[first], NOISE_FLOOR, 1.0) / total
    return Merged(first, of_given, mean, merged, share, y, fixed, learned)
