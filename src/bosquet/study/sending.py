"""Objectives on their way to another process: by name where that works, else by value."""

from __future__ import annotations

import pickle
import pickletools

from bosquet.study.evaluate import Objective
from bosquet.study.processes import preparation

_CURE = """n_jobs and trial_timeout evaluate in other processes, which import the objective. Either
  - {}
  - evaluate in threads, without trial_timeout: executor=ThreadPoolExecutor(4), n_jobs=4"""
CURE = _CURE.format(
    """put it at the top level of a module: from my_objective import objective
  - install cloudpickle, which sends functions of a notebook, lambdas and closures by value:
    pip install 'bosquet[notebook]'"""
)
_CURE_INSIDE = _CURE.format("make that inside the objective, or at the top level of a module")


def packed(objective: Objective) -> bytes:
    """The objective as bytes that a new process can unpickle; TypeError with the cure if not."""
    try:
        named = pickle.dumps(objective)
    except Exception as error:  # noqa: BLE001 - pickling calls methods of the objective
        why_not = f"{type(error).__name__}: {error}"
    else:
        if not _belongs_to_main(named) or _main_can_be_imported():
            return named
        why_not = "it is defined in a notebook or at a prompt, not in a file"
    return _by_value(objective, why_not)


def _by_value(objective: Objective, why_not_named: str) -> bytes:
    try:
        import cloudpickle
    except ImportError:
        raise TypeError(
            f"objective={objective!r} cannot be sent to a worker process ({why_not_named}). {CURE}"
        ) from None
    try:
        return bytes(cloudpickle.dumps(objective))
    except Exception as error:  # noqa: BLE001 - of what the function uses
        raise TypeError(
            f"objective={objective!r} cannot be sent to a worker process, as something it uses "
            f"cannot ({type(error).__name__}: {error}). {_CURE_INSIDE}"
        ) from None


def _belongs_to_main(pickled: bytes) -> bool:
    """Whether something in it is to be looked up in ``__main__``."""
    return any(text == "__main__" for _, text, _ in pickletools.genops(pickled))


def _main_can_be_imported() -> bool:
    """Whether a new process can make a ``__main__`` like that of this process."""
    data = preparation()
    module = data.get("init_main_from_name")
    if module is not None:  # python -m module; of a package, __main__ is not imported again
        return module != "__main__" and not module.endswith(".__main__")
    return "init_main_from_path" in data
