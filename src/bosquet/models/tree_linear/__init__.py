"""The tree-structured semi-parametric model (Jenatton et al., 2017, section 2).

    y = g_p(x) + z_p' c + noise,    g_p ~ GP(b_p, K_p),    c ~ N(0, Sigma_c)               Eq. (1)

A GP of its own at every leaf p, and random weights c at the inner nodes that tie leaves together.

==================  =========================================================================
in the paper        here
==================  =========================================================================
leaf, path p        a path of the space: the indices of its active nodes
inner node v        a node that is active on more than one path
r_v, c_v            `Weight`: per inner node a constant, and one per variable of its own; with
                    ``features="raw"`` the variables alone, as in the paper, where there are any
x                   variables of nodes on one path only; g_p sees these alone (``leaf="own"``),
                    since the paper has shared variables enter "in a linear fashion" only; with
                    ``leaf="path"`` g_p sees all variables of the path
b_p                 scalars by maximum likelihood (``offsets="scalar"``); or b_p ~ N(0, s_b),
                    integrated out, that is, K_p + s_b (``offsets="normal"``, see below)
M_p, L_p            covariance of the n_p rows of leaf p with noise, and its Cholesky factor
Z_p                 (n_p, V_p) rows z'; only the columns of the path. Scaled: Z_p Sigma_c^1/2
Lambda_c, f_c       for scaled weights: I + sum_p Z_p' M_p^-1 Z_p, and sum_p Z_p' M_p^-1 y_p
==================  =========================================================================

Everything costs O(V^3 + sum_p n_p^3): the n x n matrix of Eq. (4) is never formed.

Scalar offsets have a closed form given all else, so that L-BFGS-B never sees them. With one point
in every leaf they explain all data and nothing is shared. The default model shrinks them instead:
normal around a common value with a variance that is fitted. That value is 0, since targets are
standardised and the root, which is on every path, has a weight of its own.
"""

from bosquet.models.tree_linear.gp import TreeGP, TreePosterior
from bosquet.models.tree_linear.structure import (
    LeafSees,
    Offsets,
    PathLeaf,
    TreeLinear,
    paths_through,
)

__all__ = [
    "LeafSees",
    "Offsets",
    "PathLeaf",
    "TreeGP",
    "TreeLinear",
    "TreePosterior",
    "paths_through",
]
