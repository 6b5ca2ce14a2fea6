"""All or nothing: one writer at a time, and what undoes a call that fails.

An object that can be changed by several steps offers a *checkpoint*: a function without arguments
that puts back what these steps change. A ``Transaction`` runs the checkpoints of all objects that
a block changes if the block raises. Checkpoints keep as much as the call may change, never a copy
of a whole model, so that a call costs what its rows cost.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

Checkpoint = Callable[[], None]  # restores what it was made of; may be called more than once


class Transaction:
    """Undo a block if it raises.

    It is a class and not a generator: an interrupt could leave a generator unfinished, which would
    undo the block when it is freed.

    Parameters
    ----------
    *checkpoints : functions without arguments
        What restores each of the objects that the block changes. They run in reverse order.
    interrupts : bool, default=True
        Whether the block is also undone by what is no ``Exception``, such as ``KeyboardInterrupt``.
        With False, an interrupt keeps what was learned before it.

    Examples
    --------
    >>> class Account:
    ...     balance = 1
    >>> mine = Account()
    >>> try:
    ...     with Transaction(checkpoint_of(mine)):
    ...         mine.balance = 2
    ...         raise ValueError
    ... except ValueError:
    ...     print(mine.balance)
    1
    """

    __slots__ = ("_checkpoints", "_interrupts")

    def __init__(self, *checkpoints: Checkpoint, interrupts: bool = True) -> None:
        self._checkpoints, self._interrupts = checkpoints, interrupts

    def add(self, checkpoint: Checkpoint) -> None:
        """Undo one more object, which the block changes from here on."""
        self._checkpoints = (*self._checkpoints, checkpoint)

    def __enter__(self) -> Transaction:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        if kind is None or not (self._interrupts or issubclass(kind, Exception)):
            return
        for restore in reversed(self._checkpoints):
            restore()


def checkpoint_of(owner: Any) -> Checkpoint:
    """Return what restores the attributes of an object; the objects they name are not copied."""
    before = dict(vars(owner))

    def restore() -> None:
        for name in vars(owner).keys() - before.keys():
            del vars(owner)[name]
        vars(owner).update(before)

    return restore


class OwnedLock:
    """A lock that its owner cannot take twice: a signal handler must not learn during learning.

    ``with lock.take(): ...`` enters and leaves a lock of the interpreter itself, so that no signal
    can come between taking the lock and the block that it guards.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def take(self) -> AbstractContextManager[Any]:
        """Return the lock; raise if the current thread holds it."""
        if self._lock._is_owned():  # type: ignore[attr-defined]  # as threading.Condition asks
            raise RuntimeError(
                "The model is learning: a signal handler may predict with it, not change it."
            )
        return self._lock

    def __repr__(self) -> str:
        return "OwnedLock()"
