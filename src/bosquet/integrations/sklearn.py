"""BosquetSearchCV: scikit-learn's search with cross-validation, by bosquet's strategies.

Candidates are proposed as evaluations come in, instead of all at once. A score is the mean over
folds; how far a candidate's folds scatter, beyond what all candidates find hard or easy in them, is
the noise that the model is told of.
"""

from __future__ import annotations

import math
import numbers
import re
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import joblib
import numpy as np
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import check_cv
from sklearn.model_selection._search import BaseSearchCV
from sklearn.model_selection._split import _yields_constant_splits
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from bosquet.arrays import Array
from bosquet.data import Evaluation, History, Trial
from bosquet.data.trial import now
from bosquet.errors import NOTHING_LEFT, NothingFound, SpaceExhausted
from bosquet.integrations.declared import Declared
from bosquet.optimizer import Optimizer
from bosquet.space import Space
from bosquet.strategies import Strategy
from bosquet.strategies.base import Task
from bosquet.strategies.fresh import fresh_configs
from bosquet.study.result import Result


class BosquetSearchCV(BaseSearchCV):  # type: ignore[misc]
    """A search over the parameters of an estimator, as `RandomizedSearchCV` but learning.

    After `fit` there are also ``space_``, the `Space` searched, ``history_``, its trials, and
    ``result_``, a `Result` with ``report()`` and ``model()``. Ctrl-C leaves them behind as well.
    What is not said below is as in `RandomizedSearchCV`.

    Args:
        estimator: what to tune, a pipeline for instance.
        space: a `bosquet.Space`; or a dict from parameter names (``step__param``) to a `Float`,
            `Int` or `Choice`, to a list of values of any kind (estimators included; ascending
            numbers are taken as ordered), to a dict from such values to what else is to be searched
            with them in the same form, or to a distribution of scipy.stats, of which the range
            counts; or a list of such dicts, of which each candidate follows one.
        n_iter: how many candidates to try.
        strategy: the name of a strategy, or a `Strategy`.
        scoring: the metric or metrics, the higher the better.
        n_jobs: how many candidates are fitted at once.
        refit: whether the best candidate is fitted to all data; with several metrics, the name of
            the one that is searched for.
        cv: the folds.
        verbose: how much is printed.
        pre_dispatch: how many fits are handed out at once.
        random_state: the same number gives the same search.
        error_score: the score of a candidate that cannot be fitted, in ``cv_results_``; the search
            takes it as failed.
        return_train_score: whether ``cv_results_`` has the scores on the training data.
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012 - as scikit-learn has it
        **BaseSearchCV._parameter_constraints,
        "space": [Space, dict, list],
        "n_iter": [Interval(numbers.Integral, 1, None, closed="left")],
        "strategy": [str, Strategy],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any,
        space: Any,
        *,
        n_iter: int = 30,
        strategy: str | Strategy = "auto",
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: Any = "2*n_jobs",
        random_state: Any = None,
        error_score: Any = np.nan,
        return_train_score: bool = False,
    ) -> None:
        self.space = space
        self.n_iter = n_iter
        self.strategy = strategy
        self.random_state = random_state
        super().__init__(
            estimator=estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )

    _checked_cv_orig: Any  # set by scikit-learn
    verbose: int

    def _check_input_parameters(self, X: Any, y: Any, split_params: dict[str, Any]) -> None:
        """Keeps splits that would differ from call to call as they are this time."""
        cv = self._checked_cv_orig
        if not _yields_constant_splits(cv):
            self._checked_cv_orig = check_cv(list(cv.split(X, y, **split_params)))

    def _run_search(
        self, evaluate_candidates: Callable[..., dict[str, Any]], *, callback_ctx: Any
    ) -> None:
        declared = Declared(self.space)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self._failed: dict[int, dict[str, Any]] = {}  # candidate -> its parameters
        self._reasons: dict[int, str] = {}  # candidate -> why it has no score
        began, stopped = time.monotonic(), f"all {self.n_iter} candidates tried"
        trials: list[Trial] = []
        folds = np.zeros((0, self.n_splits_))
        # As many candidates at a time as keep the workers busy.
        at_once = math.ceil(joblib.effective_n_jobs(self.n_jobs) / self.n_splits_)
        search = _begun(self, callback_ctx, "search", None)
        most = int(min(self.n_iter, declared.space.size))
        self._say(
            f"Fitting {self.n_splits_} folds for each of {most} candidates, "
            f"totalling {most * self.n_splits_} fits"
        )
        while len(trials) < self.n_iter:
            history = self._keep(declared.space, trials, folds, seed, began)
            try:
                asked = self._ask(history, seed, min(at_once, self.n_iter - len(trials)))
            except SpaceExhausted:
                stopped = (
                    f"The space has only {len(trials)} candidates, fewer than n_iter={self.n_iter}."
                )
                warnings.warn(stopped, UserWarning, stacklevel=2)
                break
            except NothingFound as nothing:
                if not trials:
                    raise
                stopped = str(nothing)
                warnings.warn(stopped, UserWarning, stacklevel=2)
                break
            candidates = [declared.params_of(trial.config) for trial in asked]
            batch = _begun(self, search, "batch", len(asked) * self.n_splits_)
            evaluate = partial(evaluate_candidates, candidates, callback_ctx=batch)
            folds = np.vstack([folds, self._scores(evaluate, candidates, len(trials))])
            batch.call_on_fit_task_end(estimator=self)
            ended = now()
            trials += [replace(trial, ended=ended) for trial in asked]
            self._tell_progress(folds.mean(axis=1), len(asked), most)
        if len(self._failed) == len(trials):
            raise ValueError(self._all_failed)
        search.call_on_fit_task_end(estimator=self)
        self._keep(declared.space, trials, folds, seed, began, stopped)
        self._warn_of_failures()

    def _keep(
        self,
        space: Space,
        trials: Sequence[Trial],
        folds: Array,
        seed: int,
        began: float,
        stopped: str = "interrupted",
    ) -> History:
        """Sets what there is after `fit`; at every step, so that Ctrl-C leaves it behind."""
        self.space_ = space
        self.history_ = history_of_folds(space, trials, folds, self._reasons)
        self.result_ = Result(self.history_, seed, stopped, time.monotonic() - began)
        return self.history_

    def _ask(self, history: History, seed: int, n: int) -> list[Trial]:
        """New candidates: the same folds would only give the same scores again."""
        optimizer = Optimizer(
            history.space, self.strategy, seed=seed, direction="maximize", history=history
        )
        taken = {trial.key for trial in history.trials}
        rng = np.random.default_rng([seed, len(history)])
        fresh = Task(history.space, History(history.space))
        asked: list[Trial] = []
        for trial in optimizer.ask(n):
            if trial.key in taken:
                try:
                    (config,) = fresh_configs(fresh, 1, rng, taken)
                except NOTHING_LEFT:
                    if asked:
                        break
                    raise
                trial = replace(trial, config=config)
            taken.add(trial.key)
            asked.append(trial)
        return asked

    # -- verbosity ---------------------------------------------------------------------------

    def _say(self, line: str, above: int = 0) -> None:
        if self.verbose > above:
            print(line)  # noqa: T201 - scikit-learn's searches tell by print, too

    def _tell_progress(self, means: Array, new: int, most: int) -> None:
        """A line for each of the newest candidates, at the verbosity that has a line a fit."""
        best = np.nan if np.isnan(means).all() else np.nanmax(means)
        for number in range(len(means) - new, len(means)):
            self._say(
                f"[candidate {number + 1}/{most}] score={means[number]:.3f}, best={best:.3f}", 1
            )

    @contextmanager
    def _without_announcements(self) -> Iterator[None]:
        """scikit-learn announces the fits of every call, of which a search here has many.

        The verbosity of the fits themselves it has noted before.
        """
        verbose, self.verbose = self.verbose, 0
        try:
            yield
        finally:
            self.verbose = verbose

    # -- candidates of which no fold could be fitted -----------------------------------------

    def _scores(
        self,
        evaluate: Callable[[], dict[str, Any]],
        candidates: Sequence[dict[str, Any]],
        first: int,
    ) -> Array:
        """The scores of candidates, by fold; NaN for one that could not be fitted.

        scikit-learn gives up when all fits of a call fail. In a search that goes step by step
        that may be a single candidate: it is told as a failure, and the search goes on.
        """
        try:
            with self._without_announcements():
                results = evaluate()
        except ValueError as error:
            if self.error_score == "raise" or " fits failed" not in str(error):
                raise
            reason = _reason_in(str(error))
            if reason not in self._reasons.values():
                warnings.warn(str(error), FitFailedWarning, stacklevel=2)
            self._all_failed = str(error)
            self._failed |= {first + i: params for i, params in enumerate(candidates)}
            self._reasons |= {first + i: reason for i in range(len(candidates))}
            return np.full((len(candidates), self.n_splits_), np.nan)
        metric = self.refit if isinstance(self.refit, str) else "score"
        if f"mean_test_{metric}" not in results:
            raise ValueError(
                f"refit={self.refit!r} must be the name of the metric to search for "
                "when there are several"
            )
        scores = [results[f"split{k}_test_{metric}"] for k in range(self.n_splits_)]
        return np.column_stack(scores)[-len(candidates) :]

    def _format_results(
        self,
        candidate_params: Sequence[dict[str, Any]],
        n_splits: int,
        out: Sequence[dict[str, Any]],
        more_results: Any = None,
    ) -> dict[str, Any]:
        """The results with the failed candidates at their places, scored by ``error_score``."""
        params, rows = list(candidate_params), list(out)
        for position, failed in sorted(self._failed.items()):
            params.insert(position, failed)
            where = position * n_splits
            rows[where:where] = [_failed_like(out[0], self.error_score)] * n_splits
        for i in range(len(params)):
            errors = [row["fit_error"] for row in rows[i * n_splits : (i + 1) * n_splits]]
            found = {_error_of(error): None for error in errors if error is not None}
            if found and i not in self._reasons:
                self._reasons[i] = "; ".join(found)
        with (
            warnings.catch_warnings()
        ):  # scikit-learn warns once a search, here it would once a step
            warnings.filterwarnings("ignore", ".* scores are non-finite", UserWarning)
            results: dict[str, Any] = super()._format_results(params, n_splits, rows, more_results)
        return results

    def _warn_of_failures(self) -> None:
        failed = self.history_.failed
        if failed:
            warnings.warn(
                f"{len(failed)} of {len(self.history_)} candidates have no score, because a fold "
                "could not be fitted or scored (result_.history.failed has them all). "
                f"The last one: {failed[-1].reason}",
                UserWarning,
                stacklevel=2,
            )


def _error_of(traceback: str) -> str:
    """``ValueError: too high``: the first line below the last frame, without the error's module."""
    frames, lines = 0, traceback.strip().splitlines()
    for number, line in enumerate(lines):
        frames = number if line.startswith("  File ") else frames
    below = [line for line in lines[frames:] if line and not line.startswith(" ")]
    return re.sub(r"^(\w+\.)+(?=\w+(:|$))", "", (below or lines)[0])


def _reason_in(message: str) -> str:
    """The errors, without their tracebacks, in what scikit-learn says when all fits have failed."""
    told = re.split(r"-{80}\n\d+ fits? failed with the following error:\n", message)[1:]
    return "; ".join(dict.fromkeys(_error_of(one) for one in told)) or _error_of(message)


def _begun(search: BosquetSearchCV, above: Any, name: str, most: int | None) -> Any:
    """A task of scikit-learn's callbacks, below another one."""
    ordered = most is None  # batches come one after the other, the fits of one do not
    below = above.subcontext(task_name=name, max_subtasks=most, sequential_subtasks=ordered)
    return below.call_on_fit_task_begin(estimator=search)


def _failed_like(row: Mapping[str, Any], error_score: float) -> dict[str, Any]:
    """A result of scikit-learn's for a fit that failed, after the pattern of another."""

    def scores(found: Any) -> Any:
        return dict.fromkeys(found, error_score) if isinstance(found, dict) else error_score

    times = dict.fromkeys(("fit_time", "score_time"), math.nan)
    parts = {name: scores(row[name]) for name in ("test_scores", "train_scores") if name in row}
    return {**row, "fit_error": None, **times, **parts}


def history_of_folds(
    space: Space, asked: Sequence[Trial], folds: Array, reasons: Mapping[int, str] | None = None
) -> History:
    """The trials with the mean over folds, and the variance that this mean has.

    A score is taken as candidate + fold + noise: that some folds are harder than others says
    nothing about a candidate. So the variance is that of what the two do not explain. A few folds
    tell little about one candidate's own, which therefore counts half; the mean of all the rest.
    ``reasons`` say of candidates, by position, why they have no score.
    """
    means = folds.mean(axis=1)
    valid = np.isfinite(means)
    n, k = np.count_nonzero(valid), folds.shape[1]
    variances: list[float | None] = [None] * len(folds)
    if n > 1 and k > 1:
        rest = folds - means[:, None]
        rest -= rest[valid].mean(axis=0)
        own = (rest**2).sum(axis=1) / (k - 1) / k * n / (n - 1)
        variances = ((own + own[valid].mean()) / 2).tolist()
    trials = [
        trial.completed(Evaluation(mean, variance))
        if good
        else trial.failed((reasons or {}).get(i, "the score is not a number"))
        for i, (trial, mean, variance, good) in enumerate(
            zip(asked, means, variances, valid, strict=True)
        )
    ]
    return History(space, trials, "maximize")
