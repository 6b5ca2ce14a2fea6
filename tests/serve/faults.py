"""Faults that the crash suite must detect: each breaks one guarantee."""

import time

import msgspec

from aggro import atomic
from aggro.persistence import container
from aggro.serve import journal, learning, monitoring, snapshots, writer


def no_fsync():
    """The journal never syncs."""
    journal.SYNCHRONOUS = "OFF"


def acknowledge_before_commit():
    """Updates are acknowledged before the commit."""

    def commit(self, jobs):
        run, put_off = self.journal._run, []

        def later(statements):
            put_off.extend(statements)
            return [0] * len(statements)

        self.journal._run = later
        outcomes = self.journal.write([entry for job in jobs for entry in job.entries])
        self.journal._run = run
        self.report(jobs, outcomes, None)
        time.sleep(0.005)
        run(put_off)

    writer.Writer._commit = commit


def snapshot_without_rename():
    """A snapshot is written under its name, not beside it."""

    class Slow:
        def __init__(self, path):
            self.file = open(path, "wb", buffering=0)  # noqa: PTH123, SIM115 -- as a fault would

        def __enter__(self):
            return self

        def __exit__(self, *error):
            self.file.close()

        def write(self, data):
            for start in range(0, len(data), 256):
                self.file.write(data[start : start + 256])
                time.sleep(0.0002)

    container.replacing = Slow


def replay_twice():
    """The updates in the snapshot are replayed, too."""
    plain = journal.Journal.rows_after
    journal.Journal.rows_after = lambda self, seq: plain(self, self.stripped)


def snapshot_without_fsync():
    """A snapshot is renamed before it is on disk."""
    atomic.os = type("os", (), {**vars(atomic.os), "fsync": lambda handle: None})


def features_dropped_too_early():
    """The journal removes features that not all kept snapshots contain."""
    plain = journal.Journal._save

    def save(self, entry, group):
        entry.seq = self.last
        plain(self, entry, group)

    journal.Journal._save = save


def rejections_outside_the_snapshot():
    """Rejections are neither in the snapshot nor in the journal."""
    plain = learning.Learning.freeze

    def freeze(self, recorded=0):
        frozen, seq, notes = plain(self, recorded)
        return frozen, seq, msgspec.structs.replace(notes, rejected={})

    def reject(self, seq, reason):
        self.on_rejection = lambda rejection: None
        plain_reject(self, seq, reason)

    plain_reject = learning.Learning._reject
    learning.Learning.freeze, learning.Learning._reject = freeze, reject


def totals_outside_the_snapshot():
    """The totals are in a file of their own, written after the snapshot."""
    plain = snapshots.Snapshots.write, snapshots.Snapshots.newest

    def write(self, frozen, seq, notes):
        held = plain[0](
            self, frozen, seq, msgspec.structs.replace(notes, totals=monitoring.Totals())
        )
        (self.folder / f"totals-{seq}").write_bytes(msgspec.json.encode(notes.totals))
        return held

    def newest(self, journal):
        found = plain[1](self, journal)
        path = self.folder / f"totals-{found.seq if found else 0}"
        if path.exists():
            found.notes.totals = msgspec.json.decode(path.read_bytes(), type=monitoring.Totals)
        return found

    snapshots.Snapshots.write, snapshots.Snapshots.newest = write, newest


FAULTS = {
    fault.__name__: fault
    for fault in (
        no_fsync,
        acknowledge_before_commit,
        snapshot_without_rename,
        replay_twice,
        snapshot_without_fsync,
        features_dropped_too_early,
        rejections_outside_the_snapshot,
        totals_outside_the_snapshot,
    )
}
NEED_POWER_CUT = ("no_fsync", "snapshot_without_fsync")
NEED_STEPS = ("rejections_outside_the_snapshot", "totals_outside_the_snapshot")
