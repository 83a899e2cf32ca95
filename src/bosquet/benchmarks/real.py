"""Real pipelines on the data that scikit-learn ships: nothing is downloaded."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from bosquet.benchmarks.problem import Problem
from bosquet.space import Choice, Config, Float, Int, Space
from bosquet.space.parameter import Parameter
from bosquet.text import must_be_one_of

DATASETS = ("breast_cancer", "digits", "wine", "diabetes")
_FOLDS = 5


def sklearn_pipeline(dataset: str = "breast_cancer") -> Problem:
    """Scaling, feature reduction and one of five estimators, each with its own parameters.

    The value is the mean over five folds: the share of wrong predictions, or for ``diabetes`` (a
    regression) the root of the mean squared error divided by the targets' standard deviation.

    Args:
        dataset: ``"breast_cancer"``, ``"wine"``, ``"digits"`` or ``"diabetes"``, which scikit-learn
            brings.
    """
    if dataset not in DATASETS:
        raise ValueError(must_be_one_of("dataset", dataset, DATASETS))
    try:
        from sklearn import datasets
    except ImportError as error:
        raise ImportError(
            "the pipeline problems need scikit-learn: pip install 'bosquet[demo]'"
        ) from error
    X, y = getattr(datasets, f"load_{dataset}")(return_X_y=True)
    if dataset == "digits":
        X, y = X[:600], y[:600]  # a third of it, so that one evaluation stays around a second
    regression = dataset == "diabetes"

    def function(config: Config) -> float:
        return _cross_validated_loss(build_pipeline(config, regression), X, y, regression)

    return Problem(f"pipeline-{dataset}", pipeline_space(regression), function, None)


def pipeline_space(regression: bool = False) -> Space:
    linear: dict[str, Parameter] = {"strength": Float(1e-4, 1e4, log=True)}
    return Space(
        {
            "scale": Choice(["none", "standard", "quantile"]),
            "reduce": Choice(
                {
                    "none": {},
                    "pca": {"variance": Float(0.5, 0.99)},
                    "select": {"share": Float(0.1, 1.0)},
                }
            ),
            "model": Choice(
                {
                    "ridge" if regression else "logistic": linear,
                    "svm": {
                        "C": Float(1e-2, 1e3, log=True),
                        "kernel": Choice(
                            {
                                "linear": {},
                                "rbf": {"gamma": Float(1e-4, 1.0, log=True)},
                            }
                        ),
                    },
                    "neighbors": {
                        "k": Int(1, 50, log=True),
                        "weights": Choice(["uniform", "distance"]),
                    },
                    "forest": {"max_features": Float(0.05, 1.0)},
                    "boosting": {"learning_rate": Float(0.01, 1.0, log=True)},
                    ("forest", "boosting"): {
                        "trees": Int(10, 100, log=True),
                        "min_leaf": Int(1, 20, log=True),
                    },
                }
            ),
        }
    )


def build_pipeline(config: Config, regression: bool = False) -> Any:
    """The scikit-learn pipeline that a configuration of `pipeline_space` describes."""
    from sklearn.decomposition import PCA
    from sklearn.feature_selection import SelectPercentile, f_classif, f_regression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import QuantileTransformer, StandardScaler

    scalers: dict[str, Any] = {
        "none": lambda: "passthrough",
        "standard": StandardScaler,
        "quantile": lambda: QuantileTransformer(n_quantiles=100, random_state=0),
    }
    reducers: dict[str, Any] = {
        "none": lambda: "passthrough",
        "pca": lambda: PCA(config["variance"], svd_solver="full"),
        "select": lambda: SelectPercentile(
            f_regression if regression else f_classif, percentile=100 * config["share"]
        ),
    }
    return make_pipeline(
        scalers[config["scale"]](), reducers[config["reduce"]](), _estimator(config, regression)
    )


def _estimator(config: Config, regression: bool) -> Any:
    from sklearn import ensemble, linear_model, neighbors, svm

    kind = "Regressor" if regression else "Classifier"
    match config["model"]:
        case "ridge":
            return linear_model.Ridge(alpha=1 / config["strength"])
        case "logistic":
            return linear_model.LogisticRegression(C=config["strength"], max_iter=300)
        case "svm":
            machine = svm.SVR if regression else svm.SVC
            shape = {name: config[name] for name in ("kernel", "gamma") if name in config}
            # Unscaled data can keep the solver busy for minutes; the cap makes such settings bad.
            return machine(C=config["C"], max_iter=20_000, **shape)
        case "neighbors":
            nearest = getattr(neighbors, f"KNeighbors{kind}")
            return nearest(n_neighbors=config["k"], weights=config["weights"])
        case "forest":
            return getattr(ensemble, f"RandomForest{kind}")(
                n_estimators=config["trees"],
                min_samples_leaf=config["min_leaf"],
                max_features=config["max_features"],
                random_state=0,
            )
        case "boosting":
            return getattr(ensemble, f"GradientBoosting{kind}")(
                n_estimators=config["trees"],
                min_samples_leaf=config["min_leaf"],
                learning_rate=config["learning_rate"],
                max_features="sqrt",
                random_state=0,
            )
    raise ValueError(f"unknown model {config['model']!r}")


def _cross_validated_loss(pipeline: Any, X: Any, y: Any, regression: bool) -> float:
    from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict

    folds = KFold if regression else StratifiedKFold
    with warnings.catch_warnings():
        # A solver that stops early or a constant feature is a property of the setting.
        warnings.simplefilter("ignore")
        predicted = cross_val_predict(
            pipeline, X, y, cv=folds(_FOLDS, shuffle=True, random_state=0)
        )
    if regression:
        return float(np.sqrt(np.mean((predicted - y) ** 2)) / np.std(y))
    return float(np.mean(predicted != y))
