import pickle
import warnings
from typing import Any

import joblib
import numpy as np
import pytest
import sklearn
from joblib.externals.loky import get_reusable_executor
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    RandomizedSearchCV,
    ShuffleSplit,
    cross_val_score,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import bosquet as bq
from bosquet.integrations.sklearn import BosquetSearchCV, history_of_folds
from tests.support import present


@pytest.fixture(scope="module")
def data():
    X, y = load_iris(return_X_y=True)
    return X[::3], y[::3]


def pipeline():
    return Pipeline([("scale", StandardScaler()), ("model", SVC())])


def steps():
    """Whole steps are swapped; each brings parameters of its own."""
    return {
        "scale": [StandardScaler(), MinMaxScaler(), "passthrough"],
        "model": {
            SVC(): {
                "model__C": bq.Float(1e-2, 1e2, log=True),
                "model__gamma": stats.loguniform(1e-3, 1),
            },
            KNeighborsClassifier(): {"model__n_neighbors": bq.Int(1, 15)},
        },
    }


class Picky(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Cannot be fitted where ``x`` is high; counts nothing, scores by ``x``."""

    def __init__(self, x=0.0, highest=0.5):
        self.x = x
        self.highest = highest

    def fit(self, X, y):
        if self.x > self.highest:
            raise ValueError(f"x={self.x} is too high")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)

    def score(self, X, y):
        return self.x


X_ONLY = {"x": bq.Float(0, 1)}


CHECKED: dict[str, Any] = {
    "n_iter": 2,
    "cv": 2,
    "error_score": "raise",
}  # as scikit-learn checks its own searches


@pytest.mark.filterwarnings("default")
@parametrize_with_checks(
    [
        BosquetSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, strategy="random", **CHECKED),
        BosquetSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, strategy="sobol", **CHECKED),
    ],
    expected_failed_checks=lambda search: (
        {"check_supervised_y_2d": "no search of scikit-learn hands on that Ridge takes several y"}
        if isinstance(search.estimator, Ridge)
        else {}
    ),
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


# -- what a user of RandomizedSearchCV relies on ---------------------------------------------


def test_results_have_the_columns_of_scikit_learn(data):
    settings: dict[str, Any] = {"n_iter": 4, "cv": 3, "random_state": 0, "return_train_score": True}
    space = {"C": stats.loguniform(1e-2, 1e2), "kernel": ["linear", "rbf"]}
    theirs = RandomizedSearchCV(SVC(), space, **settings).fit(*data)
    ours = BosquetSearchCV(SVC(), space, strategy="sobol", **settings).fit(*data)
    assert ours.cv_results_.keys() == theirs.cv_results_.keys()
    for name, column in theirs.cv_results_.items():
        assert len(ours.cv_results_[name]) == 4
        assert type(ours.cv_results_[name]) is type(column)
    assert vars(ours).keys() - vars(theirs).keys() >= {"space_", "history_", "result_"}
    assert vars(theirs).keys() - vars(ours).keys() == {"param_distributions"}


def test_scores_are_those_of_cross_validation(data):
    search = BosquetSearchCV(pipeline(), steps(), n_iter=5, cv=3, strategy="sobol", random_state=0)
    search.fit(*data)
    results = search.cv_results_
    for params, mean in zip(results["params"], results["mean_test_score"], strict=True):
        model = pipeline().set_params(**clone(params, safe=False))
        assert cross_val_score(model, *data, cv=3).mean() == pytest.approx(mean)
    assert search.best_score_ == results["mean_test_score"].max()
    assert search.best_params_ == results["params"][search.best_index_]
    assert search.best_estimator_.get_params()["model"] is not search.best_params_["model"]
    assert search.score(*data) == search.best_estimator_.score(*data)
    assert [t.value for t in search.history_.trials] == pytest.approx(results["mean_test_score"])


def test_whole_steps_are_swapped_and_bring_their_parameters(data):
    search = BosquetSearchCV(pipeline(), steps(), n_iter=9, cv=2, strategy="sobol", random_state=0)
    search.fit(*data)
    for params in search.cv_results_["params"]:
        neighbours = isinstance(params["model"], KNeighborsClassifier)
        expected = {"model__n_neighbors"} if neighbours else {"model__C", "model__gamma"}
        assert set(params) == {"scale", "model"} | expected
    assert {type(p["model"]) for p in search.cv_results_["params"]} == {SVC, KNeighborsClassifier}
    assert search.space_.n_paths == 2
    assert search.cv_results_["param_model__C"].mask.any()


def test_the_result_is_that_of_a_study(data, tmp_path):
    search = BosquetSearchCV(pipeline(), steps(), n_iter=12, cv=2, random_state=0).fit(*data)
    result = search.result_
    assert isinstance(result, bq.Result)
    assert result.history is search.history_
    assert result.best_value == pytest.approx(search.best_score_)
    assert result.stopped == "all 12 candidates tried"
    durations = [present(trial.duration) for trial in result.trials]
    assert 0 < max(durations) <= sum(durations) <= result.seconds
    branches = {one.branch for one in result.model().best_predicted()}
    assert branches == {"model=SVC()", "model=KNeighborsClassifier()"}
    page = result.report(tmp_path / "search.html").read_text(encoding="utf-8")
    assert "all 12 candidates tried" in page
    again = pickle.loads(pickle.dumps(search)).result_
    assert again.trials == result.trials


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_verbosity_is_that_of_scikit_learn(data, capfd, monkeypatch, n_jobs):
    """One announcement for the whole search; lines of fits come as RandomizedSearchCV has them."""
    # Processes that joblib keeps from an earlier test would write where that test listened; new
    # ones keep what they write for themselves until they end, unless they are told not to.
    get_reusable_executor().shutdown(wait=True)
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    settings = {"n_iter": 4, "cv": 3, "random_state": 0, "n_jobs": n_jobs}
    space = {"C": stats.loguniform(1e-2, 1e2)}
    for verbose in (0, 1, 2, 3):
        theirs = RandomizedSearchCV(SVC(), space, verbose=verbose, **settings).fit(*data)
        expected = capfd.readouterr().out
        ours = BosquetSearchCV(SVC(), space, strategy="sobol", verbose=verbose, **settings)
        ours.fit(*data)
        said = capfd.readouterr().out
        of_candidates = [line for line in said.splitlines() if line.startswith("[candidate")]
        assert said.splitlines()[:1] == expected.splitlines()[:1]
        # Two processes may write into one line: what they said is counted, not lines.
        of_fits = [text.count("[CV") for text in (said, expected)]
        assert of_fits == ([12, 12] if verbose > 1 else [0, 0])
        best = f"best={ours.best_score_:.3f}"
        assert [line.split("]")[0] for line in of_candidates] == (
            [f"[candidate {k}/4" for k in (1, 2, 3, 4)] if verbose > 1 else []
        )
        assert not of_candidates or of_candidates[-1].endswith(best)
        assert ours.verbose == theirs.verbose


def test_verbosity_when_candidates_fail_or_run_out(data, capfd):
    search = BosquetSearchCV(Picky(), {"x": [0.9, 0.1]}, n_iter=9, cv=2, verbose=2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(*data)
    said = [line for line in capfd.readouterr().out.splitlines() if not line.startswith("[CV")]
    assert said[0] == "Fitting 2 folds for each of 2 candidates, totalling 4 fits"
    assert sorted(line.split("score=")[1].split(",")[0] for line in said[1:]) == ["0.100", "nan"]
    assert search.verbose == 2


def test_it_learns(data):
    search = BosquetSearchCV(Picky(), X_ONLY, n_iter=14, cv=2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(*data)
    assert 0.45 < search.best_params_["x"] <= 0.5
    assert search.best_score_ == search.best_params_["x"]


def test_clone_pickle_and_parameters(data):
    search = BosquetSearchCV(pipeline(), steps(), n_iter=2, cv=2, strategy="sobol", random_state=0)
    copied = clone(search).set_params(estimator__scale=MinMaxScaler(), n_iter=3)
    assert copied.get_params()["n_iter"] == 3
    assert search.n_iter == 2
    search.fit(*data)
    again = pickle.loads(pickle.dumps(search))
    assert np.array_equal(again.predict(data[0]), search.predict(data[0]))
    nested = GridSearchCV(search, {"n_iter": [1, 2]}, cv=2).fit(*data)
    assert nested.best_params_["n_iter"] in (1, 2)


def test_several_metrics(data):
    settings = {"n_iter": 3, "cv": 2, "strategy": "sobol", "random_state": 0}
    scoring = ["accuracy", "f1_macro"]
    search = BosquetSearchCV(SVC(), {"C": [0.1, 1, 10]}, scoring=scoring, refit="f1_macro")
    search.set_params(**settings).fit(*data)
    assert [t.value for t in search.history_.trials] == pytest.approx(
        search.cv_results_["mean_test_f1_macro"]
    )
    with pytest.raises(ValueError, match="refit=False must be the name of the metric"):
        search.set_params(refit=False).fit(*data)


def test_without_refit(data):
    search = BosquetSearchCV(SVC(), {"C": [0.1, 1]}, n_iter=2, cv=2, refit=False).fit(*data)
    assert not hasattr(search, "best_estimator_")
    assert search.best_params_["C"] in (0.1, 1)


def test_metadata_is_routed(data):
    X, y = data
    groups = np.arange(len(y)) % 4
    with sklearn.config_context(enable_metadata_routing=True):
        model = LogisticRegression(max_iter=500).set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=False)
        search = BosquetSearchCV(model, {"C": [0.1, 1]}, n_iter=2, cv=GroupKFold(4))
        search.fit(X, y, sample_weight=np.ones(len(y)), groups=groups)
    assert search.n_splits_ == 4


def test_seeds(data):
    def params(seed):
        settings = {"n_iter": 5, "cv": 2, "strategy": "sobol", "random_state": seed}
        return (
            BosquetSearchCV(SVC(), {"C": bq.Float(0, 1)}, **settings)
            .fit(*data)
            .cv_results_["params"]
        )

    assert params(0) == params(0) != params(1)


def test_splits_that_change_are_kept_for_all_candidates(data):
    cv = ShuffleSplit(3, test_size=0.3)
    search = BosquetSearchCV(SVC(), {"tol": [1e-3, 1e-4, 1e-5]}, n_iter=3, cv=cv).fit(*data)
    assert np.ptp(search.cv_results_["split0_test_score"]) == 0


# -- failures --------------------------------------------------------------------------------


@pytest.mark.parametrize("error_score", [np.nan, -1.0])
def test_candidates_that_cannot_be_fitted_are_failures(data, error_score):
    search = BosquetSearchCV(
        Picky(), X_ONLY, n_iter=8, cv=2, strategy="sobol", random_state=1, error_score=error_score
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        with pytest.warns(FitFailedWarning, match="is too high"):
            search.fit(*data)
    x = np.array([params["x"] for params in search.cv_results_["params"]])
    scores = search.cv_results_["mean_test_score"]
    assert 0 < np.sum(x > 0.5) < 8
    np.testing.assert_array_equal(scores, np.where(x > 0.5, error_score, x))
    states = [trial.state for trial in search.history_.trials]
    assert states == ["failed" if high else "complete" for high in x > 0.5]
    assert search.cv_results_["rank_test_score"][np.argmax(x * (x <= 0.5))] == 1
    for trial in search.history_.failed:
        assert trial.reason == f"ValueError: x={trial.config['x']} is too high"


class PickyInParts(Picky):
    """Where ``x`` is high, it cannot be fitted to 30 rows."""

    def fit(self, X, y):
        if self.x > self.highest and len(X) == 30:
            raise RuntimeError("30 rows are too many\nfor this one")
        return super().fit(X, y) if self.x <= self.highest else self


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_the_reason_is_that_of_the_fold_that_failed(data, n_jobs):
    splits = [(np.arange(20), np.arange(20, 50)), (np.arange(30), np.arange(30, 50))]
    search = BosquetSearchCV(
        PickyInParts(), {"x": [0.1, 0.9, 0.2]}, n_iter=3, cv=splits, n_jobs=n_jobs, random_state=0
    )
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        search.fit(*data)
    (failed,) = search.history_.failed
    assert (failed.config, failed.reason) == ({"x": 0.9}, "RuntimeError: 30 rows are too many")
    told = [str(one.message) for one in warned if one.category is UserWarning]
    assert [text for text in told if "score" in text] == [
        "1 of 3 candidates have no score, because a fold could not be fitted or scored "
        "(result_.history.failed has them all). The last one: RuntimeError: 30 rows are too many"
    ]


def test_the_reason_where_scores_are_no_numbers(data):
    search = BosquetSearchCV(
        Picky(), {"x": [0.1, 0.2]}, n_iter=2, cv=2, scoring=lambda model, X, y: np.nan
    )
    with pytest.warns(UserWarning, match="2 of 2 candidates have no score"):
        search.fit(*data)
    assert {trial.reason for trial in search.history_.failed} == {"the score is not a number"}


class Interrupted(Picky):
    def fit(self, X, y):
        if self.x > self.highest:
            raise KeyboardInterrupt
        return super().fit(X, y)


def test_what_was_found_before_ctrl_c_is_there(data):
    search = BosquetSearchCV(
        Interrupted(highest=0.8), X_ONLY, n_iter=40, cv=2, strategy="sobol", random_state=1
    )
    with pytest.raises(KeyboardInterrupt):
        search.fit(*data)
    result = search.result_
    assert result.stopped == "interrupted"
    assert 0 < len(result.trials) < 40
    assert result.best_value <= 0.8


def test_failures_of_several_metrics(data):
    scoring = {"a": lambda model, X, y: model.x, "b": lambda model, X, y: 0.0}
    search = BosquetSearchCV(
        Picky(), X_ONLY, n_iter=6, cv=2, strategy="sobol", random_state=1, scoring=scoring
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.set_params(refit="a", return_train_score=True).fit(*data)
    failed = np.isnan(search.cv_results_["mean_test_b"])
    np.testing.assert_array_equal(failed, np.isnan(search.cv_results_["mean_train_a"]))
    assert failed.any()


def test_when_nothing_can_be_fitted(data):
    search = BosquetSearchCV(Picky(highest=-1), X_ONLY, n_iter=3, cv=2, strategy="sobol")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match="All the 2 fits failed"):
            search.fit(*data)
    with pytest.raises(ValueError, match="is too high"):
        search.set_params(error_score="raise").fit(*data)


# -- noise -----------------------------------------------------------------------------------


def test_noise_is_what_candidates_and_folds_do_not_explain():
    rng = np.random.default_rng(0)
    space = bq.Space(X_ONLY)
    trials = [bq.Trial(i, {"x": i / 400}) for i in range(400)]
    effect = rng.normal(size=(400, 1)) + 5 * rng.normal(size=5)
    quiet = history_of_folds(space, trials, effect)
    assert max(present(t.noise_variance) for t in quiet.trials) < 1e-25
    noisy = history_of_folds(space, trials, effect + 0.3 * rng.normal(size=(400, 5)))
    assert np.mean([t.noise_variance for t in noisy.trials]) == pytest.approx(0.3**2 / 5, rel=0.1)
    assert history_of_folds(space, trials[:1], effect[:1]).trials[0].noise_variance is None


def test_a_failed_candidate_has_no_part_in_the_noise():
    space = bq.Space(X_ONLY)
    trials = [bq.Trial(i, {"x": i / 4}) for i in range(3)]
    folds = np.array([[1.0, 2.0], [np.nan, 1.0], [2.0, 3.5]])
    first, failed, last = history_of_folds(space, trials, folds).trials
    assert failed.state == "failed"
    assert (first.value, last.value) == (1.5, 2.75)
    assert first.noise_variance == pytest.approx(0.25**2 / 2)  # residuals +-0.125, n / (n - 1) = 2


def test_a_space_in_which_nothing_more_is_found(data):
    never = bq.Constraint(lambda c: False, on=["C"])
    space = bq.Space({"kernel": bq.Choice({"linear": {}, "rbf": {"C": bq.Float(1, 2)}})}, [never])
    search = BosquetSearchCV(SVC(), space, n_iter=5, strategy="random", cv=2)
    with pytest.warns(UserWarning, match="no further configuration that satisfies"):
        search.fit(*data)
    assert list(search.cv_results_["params"]) == [{"kernel": "linear"}]
    nowhere = bq.Space({"C": bq.Float(1, 2)}, [never])
    with pytest.raises(bq.SpaceError, match="no further configuration that satisfies"):
        BosquetSearchCV(SVC(), nowhere, n_iter=5, cv=2).fit(*data)


def test_no_candidate_comes_twice(data):
    space = {"C": [0.1, 1, 10], "kernel": ["linear", "rbf"]}
    search = BosquetSearchCV(SVC(), space, n_iter=20, cv=KFold(3, shuffle=True, random_state=0))
    with pytest.warns(UserWarning, match="only 6 candidates, fewer than n_iter=20"):
        search.fit(*data)
    assert len({tuple(params.items()) for params in search.cv_results_["params"]}) == 6
    assert search.history_.noisy
    assert search.result_.stopped == "The space has only 6 candidates, fewer than n_iter=20."


# -- workers ---------------------------------------------------------------------------------


def test_workers(data):
    settings: dict[str, Any] = {"n_iter": 6, "cv": 2, "strategy": "sobol", "random_state": 0}
    space = {"C": bq.Float(0.1, 1)}
    alone = BosquetSearchCV(SVC(), space, **settings).fit(*data)
    with joblib.parallel_config(backend="threading", n_jobs=4):
        four = BosquetSearchCV(SVC(), space, **settings).fit(*data)
    assert four.cv_results_["params"] == alone.cv_results_["params"]
    two = BosquetSearchCV(SVC(), space, n_jobs=2, **settings).fit(*data)
    np.testing.assert_array_equal(
        two.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"]
    )


def test_a_dask_cluster(data):
    distributed = pytest.importorskip("distributed")
    search = BosquetSearchCV(SVC(), {"C": bq.Float(0.1, 1)}, n_iter=4, cv=2, strategy="sobol")
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        search.fit(*data)
    assert len(search.history_.complete) == 4


# -- declarations ----------------------------------------------------------------------------


def test_a_space_is_taken_as_it_is(data):
    space = bq.Space({"C": bq.Float(0.1, 1, default=0.7)})
    search = BosquetSearchCV(SVC(), space, n_iter=2, cv=2, strategy="random").fit(*data)
    assert search.space_ is space
    assert search.cv_results_["params"][0] == {"C": 0.7}


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"x": 3}, "'x' must be a Float, Int or Choice, a list"),
        ({"x": "abc"}, "'x' must be a Float, Int or Choice, a list"),
        ({"x": []}, "at least one option"),
        ({"x": {1: {}, (1, 2): {}}}, "2 of .1, 2. has no entry itself"),
        ([["x"]], "must be a dict from names to values"),
        ({"x": [SVC]}, r"'x': SVC is a class; give an instance, SVC\(\)"),
        ({"x": {SVC: {}, Ridge(): {}}}, r"'x': SVC is a class; give an instance, SVC\(\)"),
        ({}, "at least one parameter"),
    ],
)
def test_bad_declarations(data, declared, message):
    with pytest.raises(bq.SpaceError, match=message):
        BosquetSearchCV(SVC(), declared, cv=2).fit(*data)


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"space": 3}, "'space'"), ({"n_iter": 0}, "'n_iter'"), ({"strategy": "tpe"}, "'tpe'")],
)
def test_bad_arguments(data, settings, message):
    with pytest.raises(ValueError, match=message):
        BosquetSearchCV(**{"estimator": SVC(), "space": {"C": [1, 2]}} | settings).fit(*data)
