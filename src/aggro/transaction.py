"""Transactions: one writer at a time, and rollback of a failing call.

A mutable object offers a *checkpoint*: a function without arguments that restores what the
following steps change. A ``Transaction`` calls the checkpoints of all objects that a block changes
if the block raises. Checkpoints copy as much as the call may change, never an entire model, so that
the cost of a call depends on its rows.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

Checkpoint = Callable[[], None]  # restores an object; may be called more than once


class Transaction:
    """Undo a block if it raises.

    It is a class and not a generator: an interrupt could leave a generator unfinished, which would
    undo the block when it is freed.

    Parameters
    ----------
    *checkpoints : functions without arguments
        They restore the objects that the block changes, in reverse order.
    interrupts : bool, default=True
        Whether other exceptions than ``Exception``, such as ``KeyboardInterrupt``, undo the block
        as well. With False, an interrupt keeps what was learned before it.

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

    def add(self, *checkpoints: Checkpoint) -> None:
        """Add checkpoints of other objects, which the block changes from here on."""
        self._checkpoints = (*self._checkpoints, *checkpoints)

    def __enter__(self) -> Transaction:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        if kind is None or not (self._interrupts or issubclass(kind, Exception)):
            return
        for restore in reversed(self._checkpoints):
            restore()


def checkpoint_of(owner: Any) -> Checkpoint:
    """Return a function that restores the attributes of an object; their values are not copied."""
    before = dict(vars(owner))

    def restore() -> None:
        for name in vars(owner).keys() - before.keys():
            del vars(owner)[name]
        vars(owner).update(before)

    return restore


class OwnedLock:
    """A lock that raises if its owner takes it again, as in a signal handler.

    ``with lock.take(): ...`` uses a built-in lock, so that no signal can come between taking the
    lock and the block that it guards.
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
