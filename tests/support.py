"""What tests of every room use."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from bosquet import History

T = TypeVar("T")


def present(value: T | None) -> T:
    """The value, which is there."""
    assert value is not None
    return value


def constant(value: object) -> Callable[[Mapping[str, object]], object]:
    """An objective that always returns the same."""
    return lambda _: value


def told_before(error: BaseException) -> History:
    """The history that `minimize` hands over with an error that ends it."""
    history = vars(error)["history"]
    assert isinstance(history, History)
    return history


@contextmanager
def optuna_study(url: str, name: str = "bosquet") -> Iterator[Any]:
    """A stored study, as Optuna itself loads it."""
    import optuna

    storage = optuna.storages.RDBStorage(url)
    yield optuna.load_study(study_name=name, storage=storage)
    storage.engine.dispose()
