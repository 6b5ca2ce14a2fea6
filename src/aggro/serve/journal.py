"""The journal: every update in SQLite, in the order of learning, each id once.

The table ``pending`` contains predictions without a label, and ``examples`` the updates by sequence
number. The features of an update are removed when two snapshots contain it; its id stays for a
while. Each example has a checksum of itself and of all previous ones, which starts with a random
number: two journals with the same checksum contain the same updates up to there.

One thread writes, and a call of ``write`` is one transaction: with ``synchronous=FULL`` its commit
is on disk when it returns. It reads, then decides, then writes; the folder is locked, so there is
no other writer.
"""

from __future__ import annotations

import contextlib
import secrets
import sqlite3
import struct
import time
import zlib
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from aggro.atomic import sync_folder
from aggro.serve.adapters import as_label
from aggro.serve.config import Retention
from aggro.serve.folder import (
    JOURNAL,
    RESTORE,
    Acknowledged,
    DataFolderError,
    check_journal_file,
    lost_journal,
    snapshot_numbers,
)
from aggro.serve.writer import (
    DelayedLabel,
    Duplicate,
    Entry,
    Example,
    Found,
    Group,
    Lookup,
    Outcome,
    Prediction,
    Rejected,
    Rejection,
    Row,
    SnapshotWritten,
    Statement,
)

SYNCHRONOUS = "FULL"
CHECKPOINT = 500  # pages of the write-ahead log at which they move to the database
ROWS_AT_ONCE = 2000  # that one transaction cleans up, to keep it short
STATEMENTS = 400  # that stay prepared: some types, each for every number of rows up to 64
pack_sorted = msgspec.msgpack.Encoder(order="sorted").encode
SEVERAL_WAYS = frozenset((0.0, 1.0))  # numbers that may also be written as -0, false and true
FACT = "INSERT OR REPLACE INTO facts VALUES (?, ?)"
SCHEMA = """
CREATE TABLE pending (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, at REAL NOT NULL,
    features BLOB NOT NULL, served BLOB NOT NULL);
CREATE TABLE examples (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, label BLOB NOT NULL, weight REAL NOT NULL,
    digest BLOB NOT NULL, features BLOB, served BLOB, rejected TEXT, checksum INTEGER NOT NULL);
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO facts VALUES ('checksum', '{}');
"""
TABLES = {"pending", "examples", "facts"}


class Journal:
    """The journal of one model in a folder."""

    def __init__(self, folder: Path, retention: Retention) -> None:
        self.retention, self.folder, self.path = retention, folder, folder / JOURNAL
        check_journal_file(folder)
        self.path.touch()
        with contextlib.ExitStack() as undo:
            # SQLite removes the write-ahead log with its last connection, but not with this one.
            self._reader = undo.enter_context(contextlib.closing(connect(self.path, "ro")))
            self.db = undo.enter_context(contextlib.closing(connect(self.path, "rw")))
            with readable(self.path):
                self._open()
            self._acknowledged = undo.enter_context(contextlib.closing(Acknowledged(folder)))
            self._check_acknowledged()
            undo.pop_all()
        self._handlers: dict[type, Any] = {
            Prediction: self._store,
            DelayedLabel: self._add_label,
            Example: self._add_example,
            Lookup: self._find,
            Rejection: self._reject,
            SnapshotWritten: self._save,
        }

    def _open(self) -> None:
        """Read where the journal ends; create its tables if it is new."""
        if self._reader.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
            raise sqlite3.DatabaseError("its pages do not fit together")
        sql = "SELECT name FROM sqlite_master WHERE type = 'table'"
        tables = {name for (name,) in self.db.execute(sql)}
        if tables not in (set(), TABLES):
            raise sqlite3.DatabaseError("it has other tables than a journal")
        new = not tables
        if new and snapshot_numbers(self.folder):
            raise lost_journal(self.folder, f"{self.path} holds nothing")
        self._pragma(f"synchronous={SYNCHRONOUS}")
        self._pragma("journal_mode=WAL")
        self._pragma(f"wal_autocheckpoint={CHECKPOINT}")
        self._pragma(f"journal_size_limit={8 << 20}")
        if new:
            self.db.executescript(f"BEGIN; {SCHEMA.format(secrets.randbits(32))} COMMIT;")
        sync_folder(self.folder)
        self.last = int(self._one("SELECT coalesce(max(seq), 0) FROM examples"))
        self.pending = int(self._one("SELECT count(*) FROM pending"))
        self._number = int(self._one("SELECT coalesce(max(number), 0) FROM pending"))
        self._stripped = int(self.fact("stripped") or 0)  # up to here features were removed
        self._held = int(self.fact("held") or 0)  # up to here all kept snapshots contain them
        self._oldest = 0.0  # no stored prediction is older
        last = self.checksum_at(self.last)
        if last is None:
            raise sqlite3.DatabaseError("it has no checksum to begin with")
        self.checksum = last

    def _check_acknowledged(self) -> None:
        """Raise if the journal lacks acknowledged updates."""
        seq, checksum = self._acknowledged.read() or (0, self.checksum_at(0))
        drop = f"delete {self._acknowledged.path}"
        if seq > self.last:
            raise DataFolderError(
                f"{self.path} ends after update {self.last:,}, but {seq:,} updates were "
                "acknowledged: the write-ahead log (journal.sqlite-wal) was deleted, emptied or "
                f"damaged, or an older journal was put in its place. {RESTORE}. To start without "
                f"the lost updates, {drop}."
            )
        if self.checksum_at(seq) not in (None, checksum):
            raise DataFolderError(
                f"{self.path} is not the journal of this folder: update {seq:,} is not the one "
                f"that was acknowledged here. {RESTORE}, into an empty folder. If the journal and "
                f"the snapshots of this folder were replaced together, {drop}."
            )

    def accept(self) -> None:
        """Start writing, after the folder was checked. Until then, closing changes no file."""
        self._reader.close()
        self._acknowledged.write(self.last, self.checksum)

    # -- writing --------------------------------------------------------------------------------

    def write(self, entries: list[Entry]) -> list[Outcome]:
        """Write entries in one transaction; they are on disk when this returns."""
        before = self._place()
        try:
            group = Group(self.db, entries)
            outcomes = [self._handlers[type(entry)](entry, group) for entry in entries]
            expiry = self._expiry(self.pending + group.more)
            counts = self._run([*group.statements(), *self._tidy(), *expiry])
            self.pending += group.more - sum(counts[len(counts) - len(expiry) :])
        except BaseException:
            vars(self).update(before)
            raise
        if self.last != before["last"]:
            self._acknowledged.write(self.last, self.checksum)
        return outcomes

    def _place(self) -> dict[str, Any]:
        """Return the state that a transaction changes and a failed one restores."""
        names = ("last", "checksum", "pending", "_number", "_stripped", "_held", "_oldest")
        return {name: getattr(self, name) for name in names}

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

    def _store(self, entry: Prediction, group: Group) -> None:
        """Store a prediction; a label is combined with the latest one of its id."""
        self._number += 1
        group.keep(self._number, entry)

    def _add_label(self, entry: DelayedLabel, group: Group) -> Outcome:
        known = group.known.get(entry.id)
        if known is not None:
            return _again(known, entry)
        found, now = group.stored.get(entry.id), time.time()
        if found is None or found[0] < now - self.retention.seconds:
            return Rejected(entry.id, 404)
        at, features, served = found
        group.drop(entry.id)
        row = self._append(entry, features, served, group)
        row.delay = max(0.0, now - at)
        return row

    def _add_example(self, entry: Example, group: Group) -> Outcome:
        if not entry.new:
            known = group.known.get(entry.id)
            if known is not None:
                same = known[3] == digest_of(entry.features, entry.x)
                return _again(known, entry) if same else Rejected(entry.id, 409)
            group.drop(entry.id)
        row = self._append(entry, entry.features, None, group)
        row.x = entry.x
        return row

    def _append(
        self, entry: DelayedLabel | Example, features: bytes, served: bytes | None, group: Group
    ) -> Row:
        rest = (entry.id, entry.label, entry.weight, features, served)
        self.checksum = chained(self.checksum, *rest)
        self.last += 1
        row = Row(self.last, *rest, self.checksum)
        group.learned(row, digest_of(features, entry.x if isinstance(entry, Example) else None))
        return row

    def _find(self, entry: Lookup, group: Group) -> Outcome:
        found = group.features_of(entry.id)
        if found is None:
            sql = "SELECT features, served FROM examples WHERE id = ? AND features IS NOT NULL"
            found = self.db.execute(sql, (entry.id,)).fetchone()
        return Rejected(entry.id, 404) if found is None else Found(*found)

    def _reject(self, entry: Rejection, group: Group) -> None:
        sql = "UPDATE examples SET rejected = ? WHERE seq = ?"
        group.then(sql, (entry.reason, entry.seq))

    def _save(self, entry: SnapshotWritten, group: Group) -> None:
        self._held = entry.seq
        group.then(FACT, ("held", str(entry.seq)))
        for each in entry.rejected:
            self._reject(each, group)

    # -- bounds ---------------------------------------------------------------------------------

    def _tidy(self) -> Iterator[Statement]:
        """Remove some rows that are no longer needed."""
        if self._stripped < self._held:
            until = min(self._held, self._stripped + ROWS_AT_ONCE)
            sql = "UPDATE examples SET features = NULL, served = NULL WHERE seq > ? AND seq <= ?"
            yield sql, (self._stripped, until)
            yield FACT, ("stripped", str(until))
            self._stripped = until
        forget = min(self.last - self.retention.ids, self._stripped - 1)  # a snapshot needs one
        if forget > 0:
            sql = "SELECT seq FROM examples WHERE seq <= ? LIMIT ?"
            yield f"DELETE FROM examples WHERE seq IN ({sql})", (forget, ROWS_AT_ONCE)

    def _expiry(self, pending: int) -> list[Statement]:
        """Remove the oldest stored predictions if there are too many or they are too old."""
        drop, first = "DELETE FROM pending WHERE number IN", "FROM pending ORDER BY number LIMIT"
        statements: list[Statement] = []
        excess, now = pending - self.retention.predictions, time.time()
        if excess > 0:
            statements.append((f"{drop} (SELECT number {first} ?)", (min(excess, ROWS_AT_ONCE),)))
        old = now - self.retention.seconds
        if self._oldest < old:
            found = self.db.execute(f"SELECT at {first} 1").fetchone()
            self._oldest = now if found is None else found[0]
        if self._oldest < old:
            some = f"SELECT number FROM (SELECT number, at {first} ?) WHERE at < ?"
            statements.append((f"{drop} ({some})", (ROWS_AT_ONCE, old)))
        return statements

    # -- reading --------------------------------------------------------------------------------

    def rows_after(self, seq: int) -> Iterator[Row]:
        """Yield the examples after a snapshot of this number, in order.

        Raises
        ------
        DataFolderError
            If one is missing, or is not the one that was written.
        """
        names = "seq, id, label, weight, features, served, checksum, rejected"
        rows = self.db.execute(f"SELECT {names} FROM examples WHERE seq > ? ORDER BY seq", (seq,))
        checksum = self.checksum_at(seq)
        with readable(self.path):
            for number, found in enumerate(rows, seq + 1):
                row = Row(*found)
                if checksum is None or row.features is None or row.seq != number:
                    raise sqlite3.DatabaseError(f"update {number:,} or its features are missing")
                with contextlib.suppress(TypeError, AttributeError, struct.error):
                    checksum = chained(checksum, *found[1:6])
                if checksum != row.checksum:
                    raise sqlite3.DatabaseError(f"update {number:,} is not what was written")
                yield row

    def checksum_at(self, seq: int) -> int | None:
        """Return the checksum of all examples up to this one; None if it was removed."""
        if seq == 0:
            start = self.fact("checksum")
            return None if start is None else int(start)
        sql = "SELECT checksum FROM examples WHERE seq = ?"
        found = self.db.execute(sql, (seq,)).fetchone()
        return None if found is None else int(found[0])

    @property
    def stripped(self) -> int:
        """The last sequence number whose features were removed: replay cannot start before it."""
        return self._stripped

    def fact(self, name: str) -> str | None:
        """Return a stored text."""
        found = self.db.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return None if found is None else str(found[0])

    def set_fact(self, name: str, value: str) -> None:
        """Store a text."""
        self.db.execute(FACT, (name, value))

    def close(self) -> None:
        """Close the files."""
        self.db.close()
        self._reader.close()
        self._acknowledged.close()

    def _pragma(self, text: str) -> None:
        self.db.execute(f"PRAGMA {text}").fetchall()

    def _one(self, sql: str) -> Any:
        return self.db.execute(sql).fetchone()[0]


def _again(known: tuple[Any, ...], entry: DelayedLabel | Example) -> Outcome:
    seq, label, weight, _, rejected = known
    if weight != entry.weight or not _is_same_label(label, entry.label):
        return Rejected(entry.id, 409)
    return Duplicate(entry.id, seq, rejected)


def _is_same_label(one: bytes, other: bytes) -> bool:
    """Return whether two labels in JSON are the same: 1, 1.0 and true are, "1" is not."""
    both = [as_label(msgspec.json.decode(each)) for each in (one, other)]
    return one == other or bool(both[0] == both[1])


def digest_of(features: bytes, x: Any = None) -> bytes:
    """Return a short digest of the features, independent of how their JSON was written.

    The order of names does not count, nor whether a number is written as 1, 1.0, true or -0.
    """
    x = msgspec.msgpack.decode(features) if x is None else x
    if isinstance(x, dict) and not SEVERAL_WAYS.isdisjoint(x.values()):
        x = {name: v if isinstance(v, str) else v + 0.0 for name, v in x.items()}
    elif isinstance(x, list) and not SEVERAL_WAYS.isdisjoint(x):
        x = [v + 0.0 for v in x]
    return sha256(pack_sorted(x)).digest()[:16]


def chained(
    before: int, id: str, label: bytes, weight: float, features: bytes, served: bytes | None
) -> int:
    """Return the checksum of an example and of all previous ones."""
    parts = (id.encode(), label, struct.pack("<d", weight), features, served or b"")
    return zlib.crc32(b"\0".join(parts), before)


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """Open an existing journal, for one thread at a time: ``ro`` to read, ``rw`` to write."""
    with readable(path):
        return sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={mode}",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=STATEMENTS,
        )


@contextlib.contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into one that names the journal and says what to do."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise DataFolderError(f"{path}: the journal cannot be opened: {error}.") from error
    except sqlite3.DatabaseError as error:
        raise DataFolderError(f"{path}: the journal is damaged: {error}. {RESTORE}.") from error
