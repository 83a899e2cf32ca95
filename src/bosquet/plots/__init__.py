"""Plots of a study, with plotly (the extra ``plots``), which loads when one is made.

Each takes a `Result`, a `History`, a `Study`, an `Optimizer`, a `Model`, or the name of a storage,
and returns a plotly figure. Figures are readable on light and dark pages.
"""

from bosquet.plots.parallel import parallel
from bosquet.plots.parameters import effects, importance, interaction
from bosquet.plots.progress import acquisition, convergence
from bosquet.plots.structure import graph, partition
from bosquet.plots.tree import tree
from bosquet.plots.trust import calibration, predictions

__all__ = [
    "acquisition",
    "calibration",
    "convergence",
    "effects",
    "graph",
    "importance",
    "interaction",
    "parallel",
    "partition",
    "predictions",
    "tree",
]
