"""Group commit: the entries of one transaction are read and written by few statements.

SQLite releases the GIL several times in each statement, and a busy event loop returns it only after
a while. A group therefore uses a few statements of many rows. A group of new updates is a single
statement, which is a transaction by itself.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Any

from aggro.serve.records import DelayedLabel, Entry, Example, Lookup, Prediction, Row

ROWS_AT_ONCE = 64  # of a statement
KNOWN = "SELECT id, seq, label, weight, digest, rejected FROM examples WHERE id IN "
KEPT = "SELECT id, at, features, served FROM pending WHERE id IN "
EXAMPLES = "examples (id, seq, label, weight, digest, rejected, features, served, checksum)"
PENDING = "pending (number, id, at, features, served)"

Values = Sequence[Any]
Statement = tuple[str, Values]


class Group:
    """What the journal contains for the ids of some entries, and the rows to add."""

    def __init__(self, db: sqlite3.Connection, entries: list[Entry]) -> None:
        self.db = db
        learned_ids, asked = set(), set()  # ids that may have been used before
        for each in entries:
            if isinstance(each, (Example, Prediction)) and each.new:
                continue
            if isinstance(each, (Example, DelayedLabel)):
                learned_ids.add(each.id)
            elif isinstance(each, (Prediction, Lookup)):
                asked.add(each.id)
        self.known: dict[str, tuple[Any, ...]] = self._read(KNOWN, learned_ids)
        self.stored: dict[str, tuple[Any, ...]] = self._read(KEPT, learned_ids | asked)
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
        """Add a prediction; it replaces an older one with the same id."""
        self.drop(entry.id)
        self.stored[entry.id] = (entry.at, entry.features, entry.served)
        self._pending[entry.id] = (number, entry.id, *self.stored[entry.id])

    def drop(self, id: str) -> None:
        """Remove the prediction of an id, if there is one."""
        if self.stored.pop(id, None) is not None and self._pending.pop(id, None) is None:
            self._dropped.append(id)

    def then(self, sql: str, values: Values) -> None:
        """Add a statement to run after all rows are written."""
        self._others.append((sql, values))

    def features_of(self, id: str) -> tuple[bytes, bytes | None] | None:
        """Return the features and the answer of a prediction, or of an example of this group."""
        if id in self.stored:
            _, features, served = self.stored[id]
        elif id in self._examples:
            *_, features, served, _ = self._examples[id]
        else:
            return None
        return features, served

    @property
    def more(self) -> int:
        """Change of the number of stored predictions."""
        return len(self._pending) - len(self._dropped)

    def statements(self) -> Iterator[Statement]:
        """Yield the statements."""
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
    """Divide rows among statements."""
    for start in range(0, len(rows), ROWS_AT_ONCE):
        yield rows[start : start + ROWS_AT_ONCE]


@cache
def marks_of(rows: int, columns: int) -> str:
    """Return the placeholders for rows of values."""
    return ", ".join(["(" + ", ".join("?" * columns) + ")"] * rows)
