"""Choosing and tuning classifiers on small binary data sets, by cross-validation.

Two spaces: `selection_space`, nine kinds of classifier behind two steps of preprocessing, each with
parameters of its own; `boosting_space`, the parameters of boosted trees, all of them always active.
Data sets are cut to a few hundred rows, so that an evaluation takes a tenth of a second.
"""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from bosquet.benchmarks.mlp import binary_sets
from bosquet.benchmarks.problem import Problem
from bosquet.space import Choice, Config, Float, Int, Space
from bosquet.text import must_be_one_of

Loss = Literal["log loss", "error"]
_ROWS = 300
_FOLDS = 4
_CONFIDENCE = 1e-3  # predicted probabilities are kept this far from 0 and 1


def selection_problem(data: Path, dataset: str, loss: Loss) -> Problem:
    """Which classifier, behind which preprocessing, with which parameters."""
    name = f"select-{dataset}-{loss.replace(' ', '')}"
    return _cross_validated(name, data, dataset, selection_space(), selected, loss)


def boosting_problem(data: Path, dataset: str) -> Problem:
    """The log loss of boosted trees."""
    return _cross_validated(
        f"boosting-{dataset}", data, dataset, boosting_space(), boosted, "log loss"
    )


def selection_space() -> Space:
    """Nine classifiers, 34 parameters, conditions up to three deep."""
    strength = Float(1e-4, 1e4, log=True)
    leaf = Int(1, 40, log=True)
    weights = Choice([None, "balanced"])
    return Space(
        {
            "scale": Choice(
                {"none": {}, "standard": {}, "minmax": {}, "quantile": {"quantiles": Int(5, 100)}}
            ),
            "reduce": Choice(
                {
                    "none": {},
                    "pca": {"variance": Float(0.5, 0.999), "whiten": Choice([False, True])},
                    "select": {"share": Float(0.1, 1.0), "test": Choice(["f", "ranks"])},
                }
            ),
            "model": Choice(
                {
                    "logistic": {"C": strength, "penalty": Choice(["l1", "l2"])},
                    "svm": {
                        "cost": strength,
                        "kernel": Choice(
                            {
                                "linear": {},
                                ("rbf", "poly"): {"gamma": Float(1e-5, 10.0, log=True)},
                                "rbf": {},
                                "poly": {"degree": Int(2, 4), "coef0": Float(0.0, 2.0)},
                            }
                        ),
                    },
                    "neighbors": {
                        "k": Int(1, 60, log=True),
                        "weights": Choice(["uniform", "distance"]),
                        "p": Float(1.0, 4.0),
                    },
                    "tree": {
                        "criterion": Choice(["gini", "entropy"]),
                        "depth": Int(1, 12),
                        "pruning": Float(1e-5, 0.1, log=True),
                    },
                    ("forest", "extra"): {
                        "trees": Int(10, 80, log=True),
                        "max_features": Float(0.05, 1.0),
                    },
                    "forest": {"bootstrap": Choice([True, False])},
                    "extra": {},
                    ("tree", "forest", "extra"): {"min_leaf": leaf},
                    ("logistic", "svm", "tree"): {"class_weight": weights},
                    "boosting": {
                        "rounds": Int(10, 100, log=True),
                        "learning_rate": Float(0.01, 1.0, log=True),
                        "depth_of_each": Int(1, 5),
                        "subsample": Float(0.4, 1.0),
                    },
                    "discriminant": {
                        "shape": Choice(
                            {
                                "linear": {"shrinkage": Float(0.0, 1.0)},
                                "quadratic": {"reg_param": Float(0.0, 1.0)},
                            }
                        )
                    },
                    "bayes": {"smoothing": Float(1e-12, 1.0, log=True)},
                }
            ),
        }
    )


def boosting_space() -> Space:
    """Ten variables without conditions."""
    return Space(
        {
            "learning_rate": Float(0.005, 1.0, log=True),
            "max_iter": Int(5, 120, log=True),
            "max_leaf_nodes": Int(2, 63, log=True),
            "max_depth": Int(1, 12),
            "min_samples_leaf": Int(1, 60, log=True),
            "l2_regularization": Float(1e-8, 100.0, log=True),
            "max_features": Float(0.1, 1.0),
            "max_bins": Int(4, 255, log=True),
            "class_weight": Choice([None, "balanced"]),
            "interactions": Choice([True, False]),
        }
    )


# -- the pipelines ---------------------------------------------------------------------------


def selected(config: Config) -> Any:
    """The scikit-learn pipeline of a configuration of `selection_space`."""
    from sklearn import decomposition, feature_selection, preprocessing
    from sklearn.pipeline import make_pipeline

    steps: dict[str, Any] = {
        "none": lambda: "passthrough",
        "standard": preprocessing.StandardScaler,
        "minmax": preprocessing.MinMaxScaler,
        "quantile": lambda: preprocessing.QuantileTransformer(
            n_quantiles=config["quantiles"], random_state=0
        ),
        "pca": lambda: decomposition.PCA(
            config["variance"], whiten=config["whiten"], svd_solver="full"
        ),
        "select": lambda: feature_selection.SelectPercentile(
            feature_selection.f_classif if config["test"] == "f" else _f_of_ranks,
            percentile=100 * config["share"],
        ),
    }
    return make_pipeline(
        steps[config["scale"]](), steps[config["reduce"]](), _classifier(dict(config))
    )


def boosted(config: Config) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    settings = dict(config)
    alone = None if settings.pop("interactions") else "no_interactions"
    return HistGradientBoostingClassifier(
        interaction_cst=alone, early_stopping=False, random_state=0, **settings
    )


def _f_of_ranks(X: Any, y: Any) -> Any:
    """Scores of features by the F test of their ranks."""
    from scipy.stats import rankdata
    from sklearn.feature_selection import f_classif

    return f_classif(rankdata(X, axis=0), y)


def _classifier(config: dict[str, Any]) -> Any:
    from sklearn import (
        calibration,
        discriminant_analysis,
        ensemble,
        linear_model,
        naive_bayes,
        neighbors,
        svm,
        tree,
    )

    def some(*names: str) -> dict[str, Any]:
        return {name: config[name] for name in names if name in config}

    match config["model"]:
        case "logistic":
            return linear_model.LogisticRegression(
                C=config["C"],
                l1_ratio=1.0 if config["penalty"] == "l1" else 0.0,
                class_weight=config["class_weight"],
                solver="liblinear",
                max_iter=200,
            )
        case "svm":
            # Unscaled data can keep the solver busy for minutes; the cap makes such settings bad.
            machine = svm.SVC(
                C=config["cost"],
                max_iter=5_000,
                **some("kernel", "gamma", "degree", "coef0", "class_weight"),
            )
            return calibration.CalibratedClassifierCV(machine, ensemble=False, cv=3)
        case "neighbors":
            return neighbors.KNeighborsClassifier(config["k"], **some("weights", "p"))
        case "tree":
            return tree.DecisionTreeClassifier(
                max_depth=config["depth"],
                min_samples_leaf=config["min_leaf"],
                ccp_alpha=config["pruning"],
                random_state=0,
                **some("criterion", "class_weight"),
            )
        case "forest" | "extra" as kind:
            forests = {
                "forest": ensemble.RandomForestClassifier,
                "extra": ensemble.ExtraTreesClassifier,
            }
            return forests[kind](
                n_estimators=config["trees"],
                min_samples_leaf=config["min_leaf"],
                random_state=0,
                **some("max_features", "bootstrap"),
            )
        case "boosting":
            return ensemble.GradientBoostingClassifier(
                n_estimators=config["rounds"],
                max_depth=config["depth_of_each"],
                random_state=0,
                **some("learning_rate", "subsample"),
            )
        case "discriminant" if config["shape"] == "linear":
            return discriminant_analysis.LinearDiscriminantAnalysis(
                solver="lsqr", **some("shrinkage")
            )
        case "discriminant":
            return discriminant_analysis.QuadraticDiscriminantAnalysis(**some("reg_param"))
        case "bayes":
            return naive_bayes.GaussianNB(var_smoothing=config["smoothing"])
    raise ValueError(f"unknown model {config['model']!r}")


# -- their loss ------------------------------------------------------------------------------


def _cross_validated(
    name: str, data: Path, dataset: str, space: Space, build: Any, loss: Loss
) -> Problem:
    try:
        import sklearn  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "the classifier problems need scikit-learn: pip install 'bosquet[bench]'"
        ) from error
    known = binary_sets(data)
    if dataset not in known:
        raise ValueError(must_be_one_of("dataset", dataset, known))
    with np.load(data / "binary" / f"{dataset}.npz") as file:
        X, y = file["X"].astype(np.float64), file["y"].astype(np.int8)
    rows = np.random.default_rng(0).permutation(len(y))[:_ROWS]
    function = partial(_loss_of, build=build, X=X[rows], y=y[rows], loss=loss)
    return Problem(name, space, function, None)


def _loss_of(config: Config, build: Any, X: Any, y: Any, loss: Loss) -> float:
    """Over all folds; where a fold's features are collinear it is that of guessing."""
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    with warnings.catch_warnings():
        # A solver that stops early or a constant feature is a property of the setting.
        warnings.simplefilter("ignore")
        folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=0)
        try:
            p = cross_val_predict(build(config), X, y, cv=folds, method="predict_proba")[:, 1]
        except np.linalg.LinAlgError:
            p = np.full(len(y), 0.5)
    p = np.clip(np.nan_to_num(p, nan=0.5), _CONFIDENCE, 1 - _CONFIDENCE)
    if loss == "error":
        return float(np.mean((p > 0.5) != y))
    return float(-np.mean(np.log(np.where(y == 1, p, 1 - p))))
