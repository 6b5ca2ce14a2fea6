"""Representations: how the rows of the input become the rows that candidates learn.

A model selection has one or several representations, each used by some of its candidates. All of
them are made in one reading of the input. The state of a representation (running statistics, known
words) depends on the rows that were learned and never on how they were divided into calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from aggro import _core
from aggro.learner import Array
from aggro.transaction import Checkpoint

NEVER = 2**62  # more rows than there are


class Representations(Protocol):
    """The representations of a model selection, numbered from zero.

    The input of ``encode`` is whatever the caller of ``ModelSelection.learn`` passes: rows of the
    core, or a table of texts.
    """

    @property
    def descriptions(self) -> Sequence[dict[str, Any]]:
        """What distinguishes each representation, for reports: ``{"idf": True}``."""

    def encode(
        self,
        rows: Any,
        order: Array | None,
        needed: Sequence[int],
        widths: Sequence[int],
        *,
        learn: bool,
        threads: int = 1,
    ) -> list[_core.Rows]:
        """Return the rows at these positions as each needed representation sees them.

        Parameters
        ----------
        rows : input
            Input of which some rows are encoded.
        order : array or None
            Positions of the rows, in the order in which they are learned. None stands for all.
        needed : sequence of int
            Numbers of the representations that are used.
        widths : sequence of int
            Least number of columns of the rows of each of them: what its candidates have.
        learn : bool
            Whether the state of all representations advances by these rows, each before it is
            encoded. True exactly once for every row of positive weight.
        threads : int
            Number of threads; the result does not depend on it.
        """

    def reference(
        self, number: int, reference_row: _core.Rows | None, width: int
    ) -> _core.Rows | None:
        """Return the reference row of a representation before the rows of this transaction.

        ``reference_row`` is the reference row of the input, if the caller has one.
        """

    def block_size(self) -> int:
        """Return how many rows to encode at once: until the reference rows change."""

    def checkpoint(self) -> Checkpoint | None:
        """Return what restores the state after any number of blocks.

        With None, blocks of a call that were learned stay learned if a later one fails.
        """

    def begin(self) -> None:
        """Begin a transaction: what ``encode`` learns from here on can be undone."""

    def commit(self) -> None:
        """Keep what was learned since ``begin``, in one step that no interrupt can divide."""

    def prune(self, examples: int) -> None:
        """Free memory after a commit; ``examples`` is the number of all examples."""

    def rollback(self) -> None:
        """Undo what was learned since ``begin``."""

    def only(self, number: int) -> Representations:
        """Return a copy with this representation alone, which continues as this one would."""


@dataclass(frozen=True)
class Identity:
    """The one representation of arrays: rows as they are."""

    @property
    def descriptions(self) -> Sequence[dict[str, Any]]:
        """One representation, which needs no description."""
        return ({},)

    def encode(
        self,
        rows: Any,
        order: Array | None,
        needed: Sequence[int],
        widths: Sequence[int],
        *,
        learn: bool,
        threads: int = 1,
    ) -> list[_core.Rows]:
        """Return all rows: the core itself reads them in order."""
        return [rows]

    def reference(
        self, number: int, reference_row: _core.Rows | None, width: int
    ) -> _core.Rows | None:
        """Return the reference row of the input."""
        return reference_row

    def block_size(self) -> int:
        """Return a number that is larger than any call."""
        return NEVER

    def checkpoint(self) -> Checkpoint | None:
        """Return None: there is no state."""
        return None

    def begin(self) -> None:
        """Do nothing: there is no state."""

    def commit(self) -> None:
        """Do nothing: there is no state."""

    def prune(self, examples: int) -> None:
        """Do nothing: there is no state."""

    def rollback(self) -> None:
        """Do nothing: there is no state."""

    def only(self, number: int) -> Identity:
        """Return the identity."""
        return self
