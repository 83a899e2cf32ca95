"""Strategies to compare with: other covariances, the same priors, search and exploration."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from bosquet.models import baselines
from bosquet.models.covariance import Covariance
from bosquet.space import Space
from bosquet.strategies.fitting import Setting
from bosquet.strategies.gp_strategy import CovarianceStrategy

_BENDS = (0.25, 0.5, 1.0)


class Independent(CovarianceStrategy):
    """A GP per path: what is learned on one says nothing about another."""

    name: ClassVar[str] = "independent"

    def covariance(self, space: Space, setting: Setting) -> Covariance:
        return baselines.independent(space, setting.kernel)


class Marginal(CovarianceStrategy):
    """The kernel of Eq. 4 of the 2017 paper, for spaces whose paths share no variables."""

    name: ClassVar[str] = "marginal"

    def covariance(self, space: Space, setting: Setting) -> Covariance:
        return baselines.marginal(space, setting.kernel)


class FlatGP(CovarianceStrategy):
    """One GP over all parameters, defaults where they are inactive."""

    name: ClassVar[str] = "flat-gp"

    def covariance(self, space: Space, setting: Setting) -> Covariance:
        return baselines.flat(space, setting.kernel)


@dataclass(frozen=True)
class ArcSetting(Setting):
    """How far arcs bend, beside what every GP strategy chooses by evidence."""

    bend: float = 0.5


class Arc(CovarianceStrategy):
    """One GP with the Arc kernel; how far the arcs bend is chosen by evidence."""

    name: ClassVar[str] = "arc"
    setting_class: ClassVar[type[Setting]] = ArcSetting

    def covariance(self, space: Space, setting: Setting) -> Covariance:
        assert isinstance(setting, ArcSetting)
        return baselines.ArcCovariance(space, setting.kernel, setting.bend)

    def rivals(self, setting: Setting) -> list[Setting]:
        assert isinstance(setting, ArcSetting)
        near = [b for b in _BENDS if b in (2 * setting.bend, setting.bend / 2)]
        return super().rivals(setting) + [replace(setting, bend=bend) for bend in near]
