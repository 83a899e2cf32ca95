"""What a report says, as data that a page renders: JSON and nothing else."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

from bosquet.data import History, Trial, now, time_text
from bosquet.data.branches import branches
from bosquet.data.rows import columns
from bosquet.errors import ModelError, StorageError
from bosquet.explain import Model, model_of
from bosquet.optimizer import Optimizer
from bosquet.report.advice import advice, at_bounds
from bosquet.report.figures import drawn
from bosquet.report.show import best_command, best_json, best_python
from bosquet.report.tables import failures_by_cause, tree_with_counts
from bosquet.space import Choice
from bosquet.space.tree import option_label
from bosquet.study.reading import StoredStudy
from bosquet.study.result import Result
from bosquet.text import duration_text, value_format

_LONG = 300  # characters of an entry of a trial's info that a table shows
_NUMBERS = 12  # trials listed beside a cause of failures


@dataclass(frozen=True)
class Source:
    """What a report is about."""

    title: str
    history: History
    pending: tuple[Trial, ...] = ()
    """Trials that have begun and not ended."""
    facts: tuple[str, ...] = ()
    """What else there is to know, a few words each."""
    command: str | None = None
    """The command line of the best trial, where the objective is a command."""

    @classmethod
    def of_study(cls, study: StoredStudy) -> Source:
        history = study.history
        facts = [f"strategy {study.strategy}" if study.strategy else "run by an Optuna sampler"]
        if study.seed is not None:
            facts.append(f"seed {study.seed}")
        command = None
        if history.best is not None and (study.objective or {}).get("kind") == "command":
            try:
                command = best_command(study, history.best)
            except StorageError as error:  # it can be shown without
                facts.append(str(error))
        pending = (*study.running, *study.asked, *study.left)
        return cls(study.where, history, pending, (*facts, *study.notes), command)

    @classmethod
    def of_result(cls, result: Result) -> Source:
        took = f"the run took {duration_text(result.seconds)}"
        return cls(
            "bosquet report", result.history, (), (took, f"seed {result.seed}", result.stopped)
        )

    @classmethod
    def of_optimizer(cls, optimizer: Optimizer) -> Source:
        facts = (f"strategy {optimizer.strategy.name}", f"seed {optimizer.seed}")
        return cls("bosquet report", optimizer.history, optimizer.pending, facts)


def summary(source: Source) -> dict[str, Any]:
    """Everything but the pictures and what needs a model: quick to make."""
    history = source.history
    return {
        "title": source.title,
        "made": time_text(now()),
        "direction": history.direction,
        "facts": list(source.facts),
        "counts": _counts(source),
        "best": _best(source),
        "branches": _branches(history),
        "failures": _failures(history),
        "space": tree_with_counts(history),
        "trials": _trials(source),
    }


def pictures(source: Source) -> dict[str, Any]:
    """The advice and the figures: these fit a model, which may take seconds."""
    history = source.history
    model, reason = _model(history)
    return {
        "advice": advice(history, model, reason),
        "sections": list(drawn(history, history if model is None else model)),
    }


def _model(history: History) -> tuple[Model | None, str]:
    try:
        return model_of(history), ""
    except ModelError as error:
        return None, str(error)


def _counts(source: Source) -> dict[str, int]:
    history = source.history
    return {
        "complete": len(history.complete),
        "failed": len(history.failed),
        "pending": len(source.pending),
    }


def _best(source: Source) -> dict[str, Any] | None:
    history = source.history
    best = history.best
    if best is None or best.value is None:
        return None
    text = value_format(trial.value for trial in history.complete if trial.value is not None)
    bounds = set(at_bounds(history, best))
    copies = {"Python": best_python(best), "JSON": best_json(best)}
    if source.command is not None:
        copies["command line"] = source.command
    return {
        "number": best.number,
        "value": best.value,
        "shown": max(text(best.value), f"{best.value:.4g}", key=len),
        "branch": history.space.path_label(best.config),
        "config": [
            {"name": name, "value": _cell_text(value), "at_bound": name in bounds}
            for name, value in best.config.items()
        ],
        "copies": copies,
    }


def _branches(history: History) -> list[dict[str, Any]]:
    found = branches(history)
    text = value_format(b.best.value for b in found if b.best and b.best.value is not None)
    return [
        {
            "branch": branch.label or "all",
            "trials": branch.trials,
            "failed": branch.failed,
            "best": text(branch.best.value)
            if branch.best and branch.best.value is not None
            else "",
            "time": "" if branch.seconds is None else duration_text(branch.seconds),
        }
        for branch in found
    ]


def _failures(history: History) -> list[dict[str, Any]]:
    """By cause, the most frequent first, with the branches that it met."""
    found = []
    for trials in failures_by_cause(history):
        where = Counter(history.space.path_label(trial.config) or "all" for trial in trials)
        found.append(
            {
                "count": len(trials),
                "reason": str(trials[-1].reason),
                "branches": [{"branch": label, "count": n} for label, n in where.most_common()],
                "trials": [trial.number for trial in trials[-_NUMBERS:]],
            }
        )
    return found


def _trials(source: Source) -> dict[str, Any]:
    """The table: columns of parameters, and one row a trial, as short as JSON can be."""
    space = source.history.space
    names = columns(space)
    labels: dict[str, int] = {}
    rows = []
    for trial in (*source.history.trials, *source.pending):
        label = space.path_label(trial.config) or "all"
        values = space.qualify(trial.config)
        rows.append(
            [
                trial.number,
                trial.state,
                trial.value,
                labels.setdefault(label, len(labels)),
                time_text(trial.started),
                None if trial.duration is None else round(trial.duration, 6),
                trial.reason,
                _info(trial),
                [_cell(values.get(name)) if name in values else None for name in names],
            ]
        )
    kinds = [not isinstance(d.parameter, Choice) for d in space.dimensions]
    return {
        "branches": list(labels),
        "parameters": [
            {"name": column, "number": number}
            for column, number in zip(names.values(), kinds, strict=True)
        ],
        "rows": rows,
    }


def _cell(value: Any) -> Any:
    """A value for the table: numbers to ten digits, options as texts; null is inactive."""
    if isinstance(value, float):
        return float(f"{value:.10g}")
    return value if isinstance(value, int) and not isinstance(value, bool) else option_label(value)


def _cell_text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _info(trial: Trial) -> dict[str, str]:
    """Why the trial was proposed: entries of its info as texts, of long ones the beginning."""
    return {name: _entry(value) for name, value in trial.info.items() if name != "path"}


def _entry(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if isinstance(value, float):
        text = f"{value:.6g}"
    return text if len(text) <= _LONG else f"{text[:_LONG]}..."
