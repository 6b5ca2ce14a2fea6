"""The journal: every lesson in SQLite, in the order in which it is learned, each id once.

Two tables. ``pending`` holds predictions that wait for their truth. ``examples`` holds lessons
by sequence number; their features go once two snapshots hold them, their ids stay for a while.

One thread writes, and a call of ``write`` is one transaction: with ``synchronous=FULL`` its
commit is on the disk when it returns. It reads first, then decides, then writes; nobody else
writes meanwhile, since the folder is locked.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from aggro.serve.entries import (
    Again,
    Conflict,
    Entry,
    Found,
    Lesson,
    Outcome,
    Prediction,
    Question,
    Refusal,
    Row,
    Saved,
    Truth,
    Unknown,
)
from aggro.serve.group import Group, Statement
from aggro.serve.limits import Keeping

SYNCHRONOUS = "FULL"
CHECKPOINT = 500  # pages of the write-ahead log before they move to the table
ROWS_AT_ONCE = 2000  # that one transaction tidies up, so that nobody waits long for it
STATEMENTS = 400  # that stay prepared: some kinds, each for every number of rows up to 64
FILE = "journal.sqlite"
FACT = "INSERT OR REPLACE INTO facts VALUES (?, ?)"
SCHEMA = """
CREATE TABLE IF NOT EXISTS pending (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, at REAL NOT NULL,
    features BLOB NOT NULL, served BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS examples (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, label BLOB NOT NULL, weight REAL NOT NULL,
    digest BLOB NOT NULL, features BLOB, served BLOB, refused TEXT);
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
"""


class Journal:
    """The journal of one model in a folder."""

    def __init__(self, folder: Path, keeping: Keeping) -> None:
        self.keeping, self.path = keeping, folder / FILE
        self.db = sqlite3.connect(
            self.path, isolation_level=None, check_same_thread=False, cached_statements=STATEMENTS
        )
        self._pragma(f"synchronous={SYNCHRONOUS}")
        self._pragma("journal_mode=WAL")
        self._pragma(f"wal_autocheckpoint={CHECKPOINT}")
        self._pragma(f"journal_size_limit={8 << 20}")
        self.db.executescript(SCHEMA)
        sync_folder(folder)
        self.last = int(self._one("SELECT coalesce(max(seq), 0) FROM examples"))
        self.pending = int(self._one("SELECT count(*) FROM pending"))
        self._number = int(self._one("SELECT coalesce(max(number), 0) FROM pending"))
        self._stripped = int(self.fact("stripped") or 0)  # up to here features are gone
        self._held = int(self.fact("held") or 0)  # up to here all kept snapshots hold them
        self._first = (0, 0.0)  # number and time that no kept prediction is before
        self._handlers: dict[type, Any] = {
            Prediction: self._keep,
            Truth: self._join,
            Lesson: self._teach,
            Question: self._find,
            Refusal: self._refuse,
            Saved: self._save,
        }

    # -- writing --------------------------------------------------------------------------------

    def write(self, entries: list[Entry]) -> list[Outcome]:
        """Write entries in one transaction; they are on the disk when this returns."""
        before = (self.last, self.pending, self._number, self._stripped, self._held)
        try:
            group = Group(self.db, entries)
            outcomes = [self._handlers[type(entry)](entry, group) for entry in entries]
            expiry = self._expiry(before[2])
            counts = self._run([*group.statements(), *self._tidy(), *expiry])
            self.pending += group.more - (counts[-1] if expiry else 0)
            return outcomes
        except BaseException:
            self.last, self.pending, self._number, self._stripped, self._held = before
            raise

    def _run(self, statements: list[Statement]) -> list[int]:
        """Run statements, all or none; return how many rows each has changed."""
        if len(statements) == 1:  # SQLite commits it by itself
            return [self.db.execute(*statements[0]).rowcount]
        self.db.execute("BEGIN IMMEDIATE")
        try:
            counts = [self.db.execute(*statement).rowcount for statement in statements]
            self.db.execute("COMMIT")
            return counts
        except BaseException:
            if self.db.in_transaction:
                self.db.execute("ROLLBACK")
            raise

    def _keep(self, entry: Prediction, group: Group) -> None:
        """The latest prediction under an id is the one that its truth will join."""
        self._number += 1
        group.keep(self._number, entry)

    def _join(self, entry: Truth, group: Group) -> Outcome:
        known = group.known.get(entry.id)
        if known is not None:
            return _again(known, entry)
        found, now = group.kept.get(entry.id), time.time()
        if found is None or found[0] < now - self.keeping.seconds:
            return Unknown(entry.id)
        at, features, served = found
        group.drop(entry.id)
        row = self._append(entry, features, served, group)
        row.delay = max(0.0, now - at)
        return row

    def _teach(self, entry: Lesson, group: Group) -> Outcome:
        if not entry.new:
            known = group.known.get(entry.id)
            if known is not None:
                same = known[3] == digest_of(entry.features)
                return _again(known, entry) if same else Conflict(entry.id)
            group.drop(entry.id)
        row = self._append(entry, entry.features, None, group)
        row.x = entry.x
        return row

    def _append(
        self, entry: Truth | Lesson, features: bytes, served: bytes | None, group: Group
    ) -> Row:
        self.last += 1
        row = Row(self.last, entry.id, entry.label, entry.weight, features, served)
        group.learned(row, digest_of(features))
        return row

    def _find(self, entry: Question, group: Group) -> Outcome:
        found = group.features_of(entry.id)
        if found is None:
            sql = "SELECT features, served FROM examples WHERE id = ? AND features IS NOT NULL"
            found = self.db.execute(sql, (entry.id,)).fetchone()
        return Unknown(entry.id) if found is None else Found(*found)

    def _refuse(self, entry: Refusal, group: Group) -> None:
        sql = "UPDATE examples SET refused = ? WHERE seq = ?"
        group.then(sql, (entry.reason, entry.seq))

    def _save(self, entry: Saved, group: Group) -> None:
        self._held = entry.seq
        group.then(FACT, (f"tallies-{entry.newest}", entry.tallies))
        group.then(FACT, ("held", str(entry.seq)))
        old = "name GLOB 'tallies-*' AND CAST(substr(name, 9) AS INTEGER) < ?"
        group.then(f"DELETE FROM facts WHERE {old}", (entry.seq,))

    # -- bounds ---------------------------------------------------------------------------------

    def _tidy(self) -> Iterator[Statement]:
        """Drop a few of the rows that nobody may ask for any more."""
        if self._stripped < self._held:
            until = min(self._held, self._stripped + ROWS_AT_ONCE)
            sql = "UPDATE examples SET features = NULL, served = NULL WHERE seq > ? AND seq <= ?"
            yield sql, (self._stripped, until)
            yield FACT, ("stripped", str(until))
            self._stripped = until
        forget = min(self.last - self.keeping.ids, self._stripped)
        if forget > 0:
            sql = "SELECT seq FROM examples WHERE seq <= ? LIMIT ?"
            yield f"DELETE FROM examples WHERE seq IN ({sql})", (forget, ROWS_AT_ONCE)

    def _expiry(self, written: int) -> list[Statement]:
        """Drop predictions that are too many or too old; mostly the first one is neither.

        Predictions up to the number ``written`` were there before this group.
        """
        first = "SELECT number, at FROM pending ORDER BY number LIMIT"
        now = time.time()
        most, old = self._number - self.keeping.predictions, now - self.keeping.seconds
        if self._first[0] > most and self._first[1] >= old:
            return []
        self._first = self.db.execute(f"{first} 1").fetchone() or (written + 1, now)
        if self._first[0] > most and self._first[1] >= old:
            return []
        some = f"SELECT number FROM ({first} ?) WHERE number <= ? OR at < ?"
        return [(f"DELETE FROM pending WHERE number IN ({some})", (ROWS_AT_ONCE, most, old))]

    # -- reading --------------------------------------------------------------------------------

    def rows_after(self, seq: int) -> Iterator[Row]:
        """Yield the examples that a snapshot of this number does not hold, in order."""
        sql = "SELECT seq, id, label, weight, features, served FROM examples WHERE seq > ?"
        for row in self.db.execute(sql + " ORDER BY seq", (seq,)):
            yield Row(*row)

    @property
    def stripped(self) -> int:
        """The last sequence number whose features are gone: replay cannot begin before it."""
        return self._stripped

    def fact(self, name: str) -> str | None:
        """Return a text that was set."""
        found = self.db.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return None if found is None else str(found[0])

    def set_fact(self, name: str, value: str) -> None:
        """Keep a text."""
        self.db.execute(FACT, (name, value))

    def close(self) -> None:
        """Close the file."""
        self.db.close()

    def _pragma(self, text: str) -> None:
        self.db.execute(f"PRAGMA {text}").fetchall()

    def _one(self, sql: str) -> Any:
        return self.db.execute(sql).fetchone()[0]


def _again(known: tuple[Any, ...], entry: Truth | Lesson) -> Outcome:
    seq, label, weight, _, refused = known
    if (label, weight) != (entry.label, entry.weight):
        return Conflict(entry.id)
    return Again(entry.id, seq, refused)


def digest_of(features: bytes) -> bytes:
    """Return a short digest of an example."""
    return sha256(features).digest()[:16]


def sync_folder(folder: Path) -> None:
    """Make the names of new files last."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
