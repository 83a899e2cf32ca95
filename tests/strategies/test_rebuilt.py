"""Whole asks of published versions, rebuilt from the papers' text: dense, slow, on numpy alone.

What is taken from the package are the hyper-parameters that a fit left behind, which are checked to
be a maximum of the likelihood, and the configuration that was asked.
"""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

import bosquet as bq
from bosquet.data import History, Trial
from bosquet.strategies import HTBO, Task

# The tree of Figure 2 of 2020 and of Figure 1 (bottom) of 2017: nodes are numbered as the space
# has them, each with its variable.
PROBLEM = bq.benchmarks.small_balanced(shared=True)
VARIABLE = {1: "r8", 2: "x4", 3: "x5", 4: "r9", 5: "x6", 6: "x7"}
LEAVES = {"x4": (1, 2), "x5": (1, 3), "x6": (4, 5), "x7": (4, 6)}  # vertices with variables
GRID = np.linspace(0.0, 1.0, 2001)
FLOOR = 1e-10  # on the diagonal, as in the package


def units(config):
    """By node, the variable in [0, 1]."""
    return {
        node: config[name] if name.startswith("r") else (config[name] + 1.0) / 2.0
        for node, name in VARIABLE.items()
        if name in config
    }


def asked(strategy, n, seed):
    """The trials before an ask as units and standardised values, and the trial asked."""
    opt = bq.Optimizer(PROBLEM.space, strategy, seed=seed)
    for _ in range(n):
        trial = opt.ask()
        opt.tell(trial, PROBLEM(trial.config))
    y = np.array([trial.value for trial in opt.history.trials])
    rows = [units(trial.config) for trial in opt.history.trials]
    return rows, (y - y.mean()) / y.std(), opt.ask()


def se(a, b, v, length):
    return v * np.exp(-0.5 * (a - b) ** 2 / length**2)


def matern(a, b, v, length):
    r = np.sqrt(5.0) * np.abs(a - b) / length
    return v * (1.0 + r + r**2 / 3.0) * np.exp(-r)


def is_a_maximum(loss, theta, bounds):
    """No further step downhill gains anything."""
    moved = minimize(loss, theta, method="L-BFGS-B", bounds=bounds, options={"maxiter": 20})
    assert loss(theta) <= moved.fun + 2e-3


def log_ei(best, mean, variance):
    """log E [best - f]_+; far below the mean by the first term of its expansion."""
    sd = np.sqrt(variance)
    u = (best - mean) / sd
    near = np.maximum(u, -6.0)
    direct = np.log(norm.pdf(near) + near * norm.cdf(near))
    tail = norm.logpdf(u) - 2.0 * np.log(np.maximum(np.abs(u), 1.0))
    return np.log(sd) + np.where(u > -6.0, direct, tail)


def log_density(y, C):
    _, log_det = np.linalg.slogdet(C)
    return -0.5 * (y @ np.linalg.solve(C, y) + log_det + len(y) * np.log(2 * np.pi))


# -- Add-Tree --------------------------------------------------------------------------------


def definition_4(rows, others, v, length, constant=0.0):
    """k_T: a term for each vertex that both have."""
    K = np.full((len(rows), len(others)), constant)
    for i, a in enumerate(rows):
        for j, b in enumerate(others):
            for node in a.keys() & b.keys():
                K[i, j] += se(a[node], b[node], v[node], length[node])
    return K


@pytest.mark.parametrize("seed", [0, 3])
def test_algorithm_2_of_add_tree(seed):
    rows, z, trial = asked("add-tree.paper", 12, seed)
    stored = trial.memory["fits"]["add-tree"]["theta"]

    def by_node(theta, kind):
        return {node: np.exp(theta[f"{kind} own {node}"]) for node in VARIABLE}

    def covariance(theta):
        K = definition_4(rows, rows, by_node(theta, "variance"), by_node(theta, "length"))
        return K + (np.exp(theta["noise"]) + FLOOR) * np.eye(len(rows))

    def loss(values):  # line 12: maximum likelihood
        return -log_density(z, covariance(dict(zip(stored, values, strict=True))))

    ends = {"variance": (1e-3, 1e3), "length": (0.02, 20.0), "noise": (1e-9, 1.0)}
    bounds = [np.log(ends[name.split()[0]]) for name in stored]
    is_a_maximum(loss, np.array(list(stored.values())), bounds)

    C, beta = covariance(stored), 0.2 * 1 * np.log(2 * 13)
    v, length = by_node(stored, "variance"), by_node(stored, "length")
    best, at = {}, {}
    for node in VARIABLE:  # lines 3 to 5, for a function to be minimised
        k = np.zeros((len(GRID), len(rows)))
        for j, row in enumerate(rows):
            if node in row:
                k[:, j] = se(GRID, row[node], v[node], length[node])
        mean = k @ np.linalg.solve(C, z)
        variance = v[node] - np.einsum("ij,ji->i", k, np.linalg.solve(C, k.T))
        bound = -mean + np.sqrt(beta * np.maximum(variance, 0.0))
        best[node], at[node] = bound.max(), GRID[np.argmax(bound)]
    sums = {leaf: sum(best[node] for node in path) for leaf, path in LEAVES.items()}
    chosen = max(sums, key=lambda leaf: sums[leaf])  # lines 6 to 8
    assert chosen in trial.config
    assert trial.info["acquisition"] == pytest.approx(sums[chosen], abs=1e-4)
    for node, value in units(trial.config).items():  # line 9
        assert value == pytest.approx(at[node], abs=2e-3)


def test_the_released_example_of_add_tree():
    rows, z, trial = asked("add-tree.released", 9, 3)
    stored = trial.memory["fits"]["add-tree"]["theta"]
    assert set(stored) == {f"length own {node}" for node in VARIABLE}  # no variance, no noise
    ones = dict.fromkeys(VARIABLE, 1.0)

    def covariance(values):
        length = {node: np.exp(value) for node, value in zip(VARIABLE, values, strict=True)}
        return definition_4(rows, rows, ones, length, 1.0) + 2e-10 * np.eye(len(rows))

    theta = np.array([stored[f"length own {node}"] for node in VARIABLE])
    is_a_maximum(lambda t: -log_density(z, covariance(t)), theta, [(-3.5, 2.0)] * 6)
    C = covariance(theta)
    length = {node: np.exp(stored[f"length own {node}"]) for node in VARIABLE}
    fine = np.linspace(0.0, 1.0, 101)
    best = {}
    for leaf, (shared, own) in LEAVES.items():
        some = [{shared: a, own: b} for a in fine for b in fine]
        k = definition_4(some, rows, ones, length, 1.0)
        variance = 3.0 - np.einsum("ij,ji->i", k, np.linalg.solve(C, k.T))
        best[leaf] = (5.0 * np.sqrt(np.maximum(variance, 0.0)) - k @ np.linalg.solve(C, z)).max()
    chosen = max(best, key=lambda leaf: best[leaf])
    assert chosen in trial.config
    assert best[chosen] - 1e-6 <= trial.info["acquisition"] <= best[chosen] + 0.05


# -- tree-structured dependencies ------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 3])
def test_two_steps_of_tree_ei(seed):
    """Eq. (1) with z = (1, r8, r9), Eq. (6) at the corners, then Eq. (5) in that leaf."""
    rows, z, trial = asked("tree-ei.paper", 13, seed)
    stored = trial.memory["fits"]["tree-ei"]["theta"]
    leaves = list(LEAVES)
    own = {leaf: LEAVES[leaf][1] for leaf in leaves}
    leaf = [next(name for name in leaves if own[name] in row) for row in rows]
    x = np.array([row[own[name]] for row, name in zip(rows, leaf, strict=True)])
    Z = np.array([[1.0, row.get(1, 0.0), row.get(4, 0.0)] for row in rows])
    H = np.array([[float(name == other) for other in leaves] for name in leaf])
    index = {d.name: d.index for d in PROBLEM.space.dimensions}
    names = {f: f"leaf 0.{LEAVES[f][0]}.{LEAVES[f][1]}" for f in leaves}

    def parts(theta):
        sigma = np.exp([theta["constant 0"], theta[f"slope {index['r8']}"]])
        sigma_c = np.diag([*sigma, np.exp(theta[f"slope {index['r9']}"])])
        kernel = {
            f: (np.exp(theta[names[f]]), np.exp(theta[f"length {index[f]} difference"]))
            for f in leaves
        }
        C = Z @ sigma_c @ Z.T + (np.exp(theta["noise"]) + FLOOR) * np.eye(len(rows))
        for i, one in enumerate(leaf):
            for j, other in enumerate(leaf):
                if one == other:
                    C[i, j] += matern(x[i], x[j], *kernel[one])
        CH = np.linalg.solve(C, H)
        b = np.linalg.solve(H.T @ CH, CH.T @ z)  # where the likelihood is highest
        return sigma_c, kernel, C, dict(zip(leaves, b, strict=True)), z - H @ b

    def loss(values):
        _, _, C, _, residual = parts(dict(zip(stored, values, strict=True)))
        return -log_density(residual, C)

    ends = {"length": (0.02, 20.0), "noise": (1e-9, 1.0)}
    bounds = [np.log(ends.get(name.split()[0], (1e-3, 1e3))) for name in stored]
    is_a_maximum(loss, np.array(list(stored.values())), bounds)

    sigma_c, kernel, C, b, residual = parts(stored)
    alpha = np.linalg.solve(C, residual)
    left = sigma_c - sigma_c @ Z.T @ np.linalg.solve(C, Z @ sigma_c)

    path_ei = {}
    for f in leaves:
        for r in (0.0, 1.0):
            weights = np.array([1.0, r, 0.0] if LEAVES[f][0] == 1 else [1.0, 0.0, r])
            mean = b[f] + weights @ sigma_c @ Z.T @ alpha
            path_ei[f, r] = log_ei(z.min(), mean, weights @ left @ weights)
    (chosen, corner) = max(path_ei, key=lambda key: path_ei[key])
    assert chosen in trial.config
    assert trial.config["r8" if LEAVES[chosen][0] == 1 else "r9"] == corner
    weights = np.array([1.0, corner, 0.0] if LEAVES[chosen][0] == 1 else [1.0, 0.0, corner])
    k = np.tile(weights @ sigma_c @ Z.T, (len(GRID), 1))
    for j, name in enumerate(leaf):
        if name == chosen:
            k[:, j] += matern(GRID, x[j], *kernel[chosen])
    mean = b[chosen] + k @ alpha
    prior = weights @ sigma_c @ weights + kernel[chosen][0]
    variance = prior - np.einsum("ij,ji->i", k, np.linalg.solve(C, k.T))
    values = log_ei(z.min(), mean, np.maximum(variance, 1e-12))
    assert trial.info["acquisition"] >= values.max() - 1e-3
    at = units(trial.config)[own[chosen]]
    assert values[round(2000 * at)] >= values.max() - 0.05


# -- overlapping groups ----------------------------------------------------------------------


def test_an_ask_of_overlapping_groups():
    """Algorithm 1, line 4, by looking at all of the 31 x 31 x 31 points of the grid."""
    space = bq.Space({f"x{i}": bq.Float(0, 1) for i in range(3)})
    opt = bq.Optimizer(space, "additive.paper", seed=0)
    for _ in range(14):
        trial = opt.ask()
        x = list(trial.config.values())
        opt.tell(trial, x[0] * x[1] + (x[2] - 0.3) ** 2)
    y = np.array([trial.value for trial in opt.history.trials])
    z = (y - y.mean()) / y.std()
    X = np.array([list(trial.config.values()) for trial in opt.history.trials])
    trial = opt.ask()
    setting = trial.memory["fits"]["additive"]["setting"]
    groups = [[int(name[1]) for name in group] for group in trial.info["graph"]["groups"]]
    total = sum(map(len, groups))

    def kernel(A, B, group):  # section 5: sigma = d_i / sum d_j, (L)^-1 = diag(l)^2
        r2 = sum((A[:, i, None] - B[None, :, i]) ** 2 / setting["lengths"][i] ** 2 for i in group)
        return len(group) / total * np.exp(-0.5 * r2)

    delta = sum(kernel(X, X, group) for group in groups)
    delta = delta + (setting["noise"] + FLOOR) * np.eye(len(X))
    beta = 0.5 * np.log(2 * 5)  # Table 1; the fifth iteration after ten points
    levels = np.linspace(0.0, 1.0, 31)
    G = np.stack(np.meshgrid(*[levels] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    phi = np.zeros(len(G))
    for group in groups:  # Eqs. (4) to (6)
        k = kernel(G, X, group)
        variance = len(group) / total - np.einsum("ij,ji->i", k, np.linalg.solve(delta, k.T))
        phi += -k @ np.linalg.solve(delta, z) + np.sqrt(beta * np.maximum(variance, 0.0))
    taken = (np.abs(G[:, None] - X[None]).max(axis=2) < 1e-9).any(axis=1)
    best = G[np.argmax(np.where(taken, -np.inf, phi))]
    np.testing.assert_allclose(list(trial.config.values()), best, atol=1e-9)
    assert trial.info["acquisition"] == pytest.approx(phi[~taken].max(), abs=1e-6)


# -- HTBO ------------------------------------------------------------------------------------


def grown(x, z, rows, lower=0.0, upper=1.0):
    """Section 3.1: (ends, paths of row numbers) of the leaves below a cell of a 1-D tree."""

    def u(some):
        return np.mean((z[some] - z[some].mean()) ** 2)

    best = None
    for tau in x[rows]:
        left, right = rows[x[rows] <= tau], rows[x[rows] >= tau]  # the point is in both
        if min(len(left), len(right)) >= 5 and max(len(left), len(right)) < len(rows):
            gain = u(rows) - (len(left) * u(left) + len(right) * u(right)) / len(rows)  # Eq. (1)
            if gain > 0 and (best is None or gain > best[0] + 1e-12):
                best = gain, tau, left, right
    if best is None:
        return [((lower, upper), [rows])]
    _, tau, left, right = best
    below = [*grown(x, z, left, lower, tau), *grown(x, z, right, tau, upper)]
    return [(ends, [rows, *path]) for ends, path in below]


def test_the_leaves_of_htbo():
    """The tree, Eq. (2) with a mean (section 3.3), and predictions from all trials in each leaf."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.random(24))
    y = np.where(x < 0.5, 0.2 * x, np.sin(40 * x) + 3)
    z = (y - y.mean()) / y.std()
    space = bq.Space({"x": bq.Float(0, 1)})
    trials = [Trial(i, {"x": v}, "complete", w) for i, (v, w) in enumerate(zip(x, y, strict=True))]
    task = Task(space, History(space, trials))
    fitted = HTBO.paper().fit(task, task.history.dataset(), rng)
    leaves = grown(x, z, np.arange(24))
    assert len(leaves) == len(fitted.posterior.leaves) > 2

    def density(theta, rows):
        v, length, noise = np.exp(theta[:3])
        C = matern(x[rows][:, None], x[rows], v, length) + (noise + FLOOR) * np.eye(len(rows))
        return log_density(z[rows] - theta[3], C)

    def loss(theta, path):
        leaf, deep = path[-1], len(path) - 1
        weights = [len(leaf) / len(cell) / (1 + deep - i) for i, cell in enumerate(path)]
        # Spearmint's: log-normal variance, horseshoe noise; a density of numbers becomes one of
        # logarithms by a factor of the number. Length-scales are uniform.
        prior = -0.5 * (theta[0] / 2) ** 2 + theta[:3].sum()
        prior += np.log(np.log1p((0.1 / np.exp(theta[2])) ** 2))
        return -(np.dot(weights, [density(theta, cell) for cell in path]) + prior)

    bounds = [np.log((1e-4, 1e4)), np.log((1e-3, 2.0)), np.log((1e-9, 1.0)), (z.min(), z.max())]
    starts = [np.array([0.0, length, noise, 0.0]) for length in (-3, -1) for noise in (-9, -3)]
    for (lower, upper), path in leaves:
        found = [minimize(loss, s, (path,), "L-BFGS-B", bounds=bounds) for s in starts]
        best = min(found, key=lambda one: one.fun).x
        v, length, noise = np.exp(best[:3])
        mean = best[3]
        at = np.linspace(lower, upper, 9)[1:-1]
        C = matern(x[:, None], x, v, length) + (noise + FLOOR) * np.eye(24)
        k = matern(at[:, None], x, v, length)
        expected = mean + k @ np.linalg.solve(C, z - mean)
        variance = v - np.einsum("ij,ji->i", k, np.linalg.solve(C, k.T))
        means, variances = fitted.posterior.on_path((0,)).moments(at[:, None])
        np.testing.assert_allclose(means, expected, atol=0.02)
        np.testing.assert_allclose(variances, variance, rtol=0.1, atol=1e-3)
