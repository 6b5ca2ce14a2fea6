"""The entries of one transaction: what is known of their ids is read at once, and so it is written.

Each statement lets go of the interpreter's lock, and a busy event loop gives it back only after a
while. So a group makes a few statements of many rows, not a few statements for each row.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Any

from aggro.serve.entries import Entry, Lesson, Prediction, Truth

MOST = 64  # rows of a statement; smaller powers of two for the rest, so that few are prepared
KNOWN = "SELECT id, seq, label, weight, digest, refused FROM examples WHERE id IN "
KEPT = "SELECT id, at, features, served FROM pending WHERE id IN "


class Group:
    """What is known of the ids of some entries, and the rows that they add."""

    def __init__(self, db: sqlite3.Connection, entries: list[Entry]) -> None:
        self.db = db
        truths = {each.id for each in entries if type(each) is Truth}
        lessons = {each.id for each in entries if type(each) is Lesson and not each.new}
        self.known: dict[str, tuple[Any, ...]] = self._read(KNOWN, truths | lessons)
        self.kept: dict[str, tuple[Any, ...]] = self._read(KEPT, truths)
        self._examples: list[tuple[Any, ...]] = []
        self._pending: dict[str, tuple[Any, ...]] = {}
        self._dropped: set[str] = set()

    def learned(self, row: tuple[Any, ...]) -> None:
        """Add an example; its id is known from now on."""
        seq, id, label, weight, digest, _, _ = row
        self._examples.append(row)
        self.known[id] = (seq, label, weight, digest, None)

    def keep(self, number: int, entry: Prediction) -> None:
        """Add a prediction; it takes the place of an older one under its id."""
        if not entry.new:
            self.drop(entry.id)
        self.kept[entry.id] = (entry.at, entry.features, entry.served)
        self._pending[entry.id] = (number, entry.id, *self.kept[entry.id])

    def drop(self, id: str) -> None:
        """Forget the prediction of an id, if there is one."""
        self.kept.pop(id, None)
        self._pending.pop(id, None)
        self._dropped.add(id)

    def flush(self) -> int:
        """Write what was added; return how many more predictions are kept than before."""
        gone = 0
        for part in parts(list(self._dropped)):
            sql = f"DELETE FROM pending WHERE id IN {marks_of(1, len(part))}"
            gone += self.db.execute(sql, part).rowcount
        more = len(self._pending)
        self._insert("pending (number, id, at, features, served)", self._pending.values())
        table = "examples (seq, id, label, weight, digest, features, served)"
        self._insert(table, self._examples)
        self._pending, self._examples, self._dropped = {}, [], set()
        return more - gone

    def _insert(self, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
        for part in parts(list(rows)):
            sql = f"INSERT INTO {table} VALUES {marks_of(len(part), len(part[0]))}"
            self.db.execute(sql, list(chain.from_iterable(part)))

    def _read(self, sql: str, ids: Iterable[str]) -> dict[str, tuple[Any, ...]]:
        found: dict[str, tuple[Any, ...]] = {}
        for part in parts(list(ids)):
            for id, *rest in self.db.execute(sql + marks_of(1, len(part)), part):
                found[id] = tuple(rest)
        return found


def parts(rows: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Yield rows in parts whose lengths are powers of two."""
    start, size = 0, MOST
    while start < len(rows):
        while start + size > len(rows):
            size //= 2
        yield rows[start : start + size]
        start += size


@cache
def marks_of(rows: int, columns: int) -> str:
    """Return the question marks of some rows of values."""
    return ", ".join(["(" + ", ".join("?" * columns) + ")"] * rows)
