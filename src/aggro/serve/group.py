"""The entries of one transaction: what is known of their ids is read at once, and so it is written.

Each statement lets go of the interpreter's lock several times, and a busy event loop gives it back
only after a while. So a group makes a few statements of many rows, not a few for each row. A group
of new lessons is one statement, which is a transaction by itself.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Any

from aggro.serve.entries import Entry, Lesson, Prediction, Question, Row, Truth

ROWS_AT_ONCE = 64  # in a statement
KNOWN = "SELECT id, seq, label, weight, digest, refused FROM examples WHERE id IN "
KEPT = "SELECT id, at, features, served FROM pending WHERE id IN "
EXAMPLES = "examples (id, seq, label, weight, digest, refused, features, served, checksum)"
PENDING = "pending (number, id, at, features, served)"

Values = Sequence[Any]
Statement = tuple[str, Values]


class Group:
    """What is known of the ids of some entries, and the rows that they add."""

    def __init__(self, db: sqlite3.Connection, entries: list[Entry]) -> None:
        self.db = db
        taught, asked = set(), set()  # ids that others may have used before
        for each in entries:
            if isinstance(each, (Lesson, Prediction)) and each.new:
                continue
            if isinstance(each, (Lesson, Truth)):
                taught.add(each.id)
            elif isinstance(each, (Prediction, Question)):
                asked.add(each.id)
        self.known: dict[str, tuple[Any, ...]] = self._read(KNOWN, taught)
        self.kept: dict[str, tuple[Any, ...]] = self._read(KEPT, taught | asked)
        self._examples: dict[str, tuple[Any, ...]] = {}
        self._pending: dict[str, tuple[Any, ...]] = {}
        self._dropped: list[str] = []
        self._others: list[Statement] = []

    def learned(self, row: Row, digest: bytes) -> None:
        """Add an example; its id is known from now on."""
        known = (row.seq, row.label, row.weight, digest, None)
        self.known[row.id] = known
        self._examples[row.id] = (row.id, *known, row.features, row.served, row.checksum)

    def keep(self, number: int, entry: Prediction) -> None:
        """Add a prediction; it takes the place of an older one under its id."""
        self.drop(entry.id)
        self.kept[entry.id] = (entry.at, entry.features, entry.served)
        self._pending[entry.id] = (number, entry.id, *self.kept[entry.id])

    def drop(self, id: str) -> None:
        """Forget the prediction of an id, if there is one."""
        if self.kept.pop(id, None) is not None and self._pending.pop(id, None) is None:
            self._dropped.append(id)

    def then(self, sql: str, values: Values) -> None:
        """Add another statement, to be run when all rows are there."""
        self._others.append((sql, values))

    def features_of(self, id: str) -> tuple[bytes, bytes | None] | None:
        """Return the features and what was served of a prediction, or of an example added here."""
        if id in self.kept:
            _, features, served = self.kept[id]
        elif id in self._examples:
            *_, features, served, _ = self._examples[id]
        else:
            return None
        return features, served

    @property
    def more(self) -> int:
        """How many more predictions are kept than before."""
        return len(self._pending) - len(self._dropped)

    def statements(self) -> Iterator[Statement]:
        """Yield what writes all this."""
        for part in parts(self._dropped):
            yield f"DELETE FROM pending WHERE id IN {marks_of(1, len(part))}", part
        for table, rows in ((PENDING, self._pending), (EXAMPLES, self._examples)):
            for part in parts(list(rows.values())):
                marks = marks_of(len(part), len(part[0]))
                yield f"INSERT INTO {table} VALUES {marks}", list(chain.from_iterable(part))
        yield from self._others

    def _read(self, sql: str, ids: Iterable[str]) -> dict[str, tuple[Any, ...]]:
        found: dict[str, tuple[Any, ...]] = {}
        for part in parts(list(ids)):
            for id, *rest in self.db.execute(sql + marks_of(1, len(part)), part):
                found[id] = tuple(rest)
        return found


def parts(rows: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Yield rows in parts of the size of a statement."""
    for start in range(0, len(rows), ROWS_AT_ONCE):
        yield rows[start : start + ROWS_AT_ONCE]


@cache
def marks_of(rows: int, columns: int) -> str:
    """Return the question marks of some rows of values."""
    return ", ".join(["(" + ", ".join("?" * columns) + ")"] * rows)
