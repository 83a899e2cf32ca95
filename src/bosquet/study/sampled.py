"""Looking at a study that an Optuna sampler ran: `BosquetSampler`, or any other.

Such a study has no header. Its space is given by the user, or was stored by the sampler to which it
was given, or is inferred from what the trials asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.study import StudyDirection
from optuna.study._frozen import FrozenStudy
from optuna.trial import FrozenTrial, TrialState

from bosquet.data import Direction, History, Trial
from bosquet.errors import SpaceError, StorageError
from bosquet.space import Space
from bosquet.space.inference import infer_space
from bosquet.study.header import Header
from bosquet.study.reading import StoredStudy
from bosquet.study.views import Given, Inferred, View, asked, proposal_of
from bosquet.text import counted_text

SPACE = "bosquet:space"
"""The system attribute of a study with the space that the sampler was given or inferred."""
SAMPLER = "bosquet:sampler"
"""The system attribute of a study that says which it was, with the strategy and the seed."""

_LISTED = 5  # trials that a note lists


def read_sampled(
    where: str, study: FrozenStudy, trials: Sequence[FrozenTrial], space: Space | None = None
) -> StoredStudy:
    """A study with its trials, in bosquet's terms; ``space`` where the user knows it."""
    if len(study.directions) != 1:
        raise StorageError(
            f"{where}: it has {len(study.directions)} objectives; bosquet reads studies with one"
        )
    maximize = study.direction == StudyDirection.MAXIMIZE
    direction: Direction = "maximize" if maximize else "minimize"
    attributes = study.system_attrs
    begun = [trial for trial in trials if trial.state != TrialState.WAITING]
    about = attributes.get(SAMPLER)
    about = about if isinstance(about, Mapping) else {}
    view, origin = _view(where, attributes, about, begun, space)
    found = {
        trial.number: one for trial in begun if (one := _trial(trial, view, where)) is not None
    }
    return StoredStudy(
        where=where,
        history=History(
            view.space, [one for one in found.values() if one.state != "pending"], direction
        ),
        running=tuple(one for one in found.values() if one.state == "pending"),
        asked=(),
        left=(),
        seed=about.get("seed"),
        strategy=about.get("strategy"),
        objective=None,
        notes=(origin, *_shortcomings(begun, found, view)),
    )


def _view(
    where: str,
    attributes: Mapping[str, Any],
    about: Mapping[str, Any],
    trials: Sequence[FrozenTrial],
    space: Space | None,
) -> tuple[View, str]:
    """How to read the trials, and where the space comes from."""
    if space is not None:
        return Given(space), "The space is the one given now."
    if about.get("given") and isinstance(attributes.get(SPACE), Mapping):
        return Given(_stored_space(attributes[SPACE], where)), (
            "The space is the one that its sampler was given."
        )
    constants = _constants(trials)
    try:
        inferred = infer_space([asked(trial, constants) for trial in trials])
    except SpaceError as error:
        raise StorageError(
            f"{where}: no space explains its trials: {error}. Give the space (--space)"
        ) from None
    if inferred is None:
        raise StorageError(f"{where}: no trial has asked for a parameter yet")
    return Inferred(inferred, trials, constants), (
        f"The space is inferred from {counted_text(len(trials), 'trial')}; --space gives another."
    )


def _stored_space(data: Mapping[str, Any], where: str) -> Space:
    try:
        return Header(dict(data), "minimize", 0, "").stored_space(where, without_functions=True)
    except StorageError:
        raise StorageError(
            f"{where}: its system attribute {SPACE!r} is damaged. Give the space (--space)"
        ) from None


def _trial(trial: FrozenTrial, view: View, where: str) -> Trial | None:
    """What bosquet makes of a trial; a pruned one has no value of its own."""
    try:
        read = view.trial_of(trial)
        info = dict(proposal_of(trial).get("info", {}))
    except (TypeError, ValueError, KeyError) as error:
        raise StorageError(
            f"{where}: trial {trial.number} has attributes that cannot be read: {error}"
        ) from None
    if read is None:
        return None
    if trial.state == TrialState.PRUNED:
        step = "" if trial.last_step is None else f" at step {trial.last_step}"
        read = read.failed(f"pruned{step}")
    return replace(read, info=info)


def _shortcomings(
    trials: Sequence[FrozenTrial], found: Mapping[int, Trial], view: View
) -> Iterator[str]:
    """What the trials as bosquet reads them do not show, or show though it is not there."""
    out = [str(trial.number) for trial in trials if trial.params and trial.number not in found]
    if out:
        dots = ", ..." if len(out) > _LISTED else ""
        yield (
            f"{len(out)} trials are not configurations of the space and are left out: "
            f"{', '.join(out[:_LISTED])}{dots}."
        )
    made_up = dict.fromkeys(
        name
        for trial in trials
        if trial.state == TrialState.COMPLETE and trial.number in found
        for name in found[trial.number].config
        if name not in trial.params
    )
    if made_up and isinstance(view, Inferred):
        yield (
            f"Where a trial did not ask for {', '.join(made_up)} a middle value is shown: no "
            "choice explains when it exists."
        )


def _constants(trials: Sequence[FrozenTrial]) -> dict[str, BaseDistribution]:
    """For every name its distribution, of several one that has more than one value."""
    found: dict[str, BaseDistribution] = {}
    for trial in trials:
        for name, distribution in trial.distributions.items():
            if name not in found or found[name].single():
                found[name] = distribution
    return found
