"""The journal: every lesson in SQLite, in the order in which it is learned, each id once.

Two tables. ``pending`` holds predictions that wait for their truth. ``examples`` holds lessons
by sequence number; their features go once two snapshots hold them, their ids stay for a while.

One thread writes, and a call of ``write`` is one transaction: with ``synchronous=FULL`` its
commit is on the disk when it returns.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from hashlib import blake2b
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
from aggro.serve.limits import Keeping

SYNCHRONOUS = "FULL"
CHECKPOINT = 500  # pages of the write-ahead log before they move to the table
CHUNK = 2000  # rows that one transaction tidies up, so that nobody waits long for it
FILE = "journal.sqlite"
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
        self.db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
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
        before = (self.last, self.pending, self._number, self._stripped)
        self.db.execute("BEGIN IMMEDIATE")
        try:
            outcomes = [self._handlers[type(entry)](entry) for entry in entries]
            self._tidy()
            self.db.execute("COMMIT")
            return outcomes
        except BaseException:
            if self.db.in_transaction:
                self.db.execute("ROLLBACK")
            self.last, self.pending, self._number, self._stripped = before
            raise

    def _keep(self, entry: Prediction) -> None:
        """The latest prediction under an id is the one that its truth will join."""
        self._number += 1
        self.pending += 1 if entry.new else 1 - self._drop(entry.id)
        self.db.execute(
            "INSERT INTO pending VALUES (?, ?, ?, ?, ?)",
            (self._number, entry.id, entry.at, entry.features, entry.served),
        )

    def _drop(self, id: str) -> int:
        return self.db.execute("DELETE FROM pending WHERE id = ?", (id,)).rowcount

    def _join(self, entry: Truth) -> Outcome:
        known = self._known(entry.id)
        if known is not None:
            return self._again(known, entry)
        sql = "SELECT at, features, served FROM pending WHERE id = ?"
        found = self.db.execute(sql, (entry.id,)).fetchone()
        if found is None or found[0] < time.time() - self.keeping.seconds:
            return Unknown(entry.id)
        at, features, served = found
        self.pending -= self._drop(entry.id)
        row = self._append(entry, features, served)
        row.delay = max(0.0, time.time() - at)
        return row

    def _teach(self, entry: Lesson) -> Outcome:
        known = None if entry.new else self._known(entry.id)
        if known is not None:
            same = known[3] == digest_of(entry.features)
            return self._again(known, entry) if same else Conflict(entry.id)
        if not entry.new:
            self.pending -= self._drop(entry.id)
        return self._append(entry, entry.features, None)

    def _known(self, id: str) -> Any:
        sql = "SELECT seq, label, weight, digest, refused FROM examples WHERE id = ?"
        return self.db.execute(sql, (id,)).fetchone()

    def _again(self, known: Any, entry: Truth | Lesson) -> Outcome:
        seq, label, weight, _, refused = known
        if (label, weight) != (entry.label, entry.weight):
            return Conflict(entry.id)
        return Again(entry.id, seq, refused)

    def _append(self, entry: Truth | Lesson, features: bytes, served: bytes | None) -> Row:
        self.last += 1
        self.db.execute(
            "INSERT INTO examples VALUES (?, ?, ?, ?, ?, ?, ?, NULL)",
            (
                *(self.last, entry.id, entry.label, entry.weight),
                *(digest_of(features), features, served),
            ),
        )
        return Row(self.last, entry.id, entry.label, entry.weight, features, served)

    def _find(self, entry: Question) -> Outcome:
        for table in ("pending", "examples"):
            sql = f"SELECT features, served FROM {table} WHERE id = ? AND features IS NOT NULL"
            found = self.db.execute(sql, (entry.id,)).fetchone()
            if found is not None:
                return Found(*found)
        return Unknown(entry.id)

    def _refuse(self, entry: Refusal) -> None:
        sql = "UPDATE examples SET refused = ? WHERE seq = ?"
        self.db.execute(sql, (entry.reason, entry.seq))

    def _save(self, entry: Saved) -> None:
        self.set_fact(f"tallies-{entry.newest}", entry.tallies)
        self.set_fact("held", str(entry.seq))
        for name, _ in self.db.execute(
            "SELECT * FROM facts WHERE name GLOB 'tallies-*'"
        ).fetchall():
            if int(name.partition("-")[2]) < entry.seq:
                self.db.execute("DELETE FROM facts WHERE name = ?", (name,))

    # -- bounds ---------------------------------------------------------------------------------

    def _tidy(self) -> None:
        """Drop a few of the rows that nobody may ask for any more."""
        held = int(self.fact("held") or 0)
        if self._stripped < held:
            until = min(held, self._stripped + CHUNK)
            sql = "UPDATE examples SET features = NULL, served = NULL WHERE seq > ? AND seq <= ?"
            self.db.execute(sql, (self._stripped, until))
            self.set_fact("stripped", str(until))
            self._stripped = until
        forget = min(self.last - self.keeping.ids, self._stripped)
        if forget > 0:
            sql = "SELECT seq FROM examples WHERE seq <= ? LIMIT ?"
            self.db.execute(f"DELETE FROM examples WHERE seq IN ({sql})", (forget, CHUNK))
        oldest, old = self._number - self.keeping.predictions, time.time() - self.keeping.seconds
        first = "SELECT number FROM pending ORDER BY number LIMIT ?"
        sql = f"DELETE FROM pending WHERE number IN ({first}) AND (number <= ? OR at < ?)"
        self.pending -= self.db.execute(sql, (CHUNK, oldest, old)).rowcount

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
        self.db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    def close(self) -> None:
        """Close the file."""
        self.db.close()

    def _pragma(self, text: str) -> None:
        self.db.execute(f"PRAGMA {text}").fetchall()

    def _one(self, sql: str) -> Any:
        return self.db.execute(sql).fetchone()[0]


def digest_of(features: bytes) -> bytes:
    """Return a short digest of an example."""
    return blake2b(features, digest_size=16).digest()


def sync_folder(folder: Path) -> None:
    """Make the names of new files last."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
