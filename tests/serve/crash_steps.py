"""A server that is killed at one line of the code that writes a snapshot."""

import http.client
import os
import signal
import sys
import threading

from crash_load import Caller
from crash_trial import Trial
from forked_server import Lost, kill

from aggro import atomic
from aggro.persistence import container
from aggro.serve import folder, journal, snapshots

FILES = {module.__file__ for module in (atomic, container, folder, journal, snapshots)}
FIRST, SECOND = 15, 15  # updates before the snapshots


def die_at(which, line):
    """Kill this process at one line, counted over all threads, of one of its snapshots."""
    begun = lines = 0

    def trace_line(frame, event, _):
        nonlocal lines
        if event == "line" and begun == which:
            lines += 1
            if lines == line:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace_line

    def trace(frame, event, _):
        return trace_line if frame.f_code.co_filename in FILES else None

    save = snapshots.SnapshotScheduler._save

    def counted(self):
        nonlocal begun
        begun += 1
        return save(self)

    snapshots.SnapshotScheduler._save = counted
    threading.settrace(trace)
    sys.settrace(trace)


class StepTrial(Trial):
    """A folder whose server is killed once, in the midst of its second snapshot."""

    def kill_at(self, line):
        """Return whether the server died; raise Lost if it does not continue as before."""
        self.asked |= {"die_at": [2, line], "retention": {"snapshot_examples": 10**6}}
        pid = self.start()
        caller = Caller(self.port, self.book, self.seed, self.regression)
        try:
            self.update(caller, FIRST)
            caller.snapshot()
            self.update(caller, SECOND)
            died = self.dies(caller)
        finally:
            kill(pid)
            caller.connection.close()
        del self.asked["die_at"]
        self.check_snapshots()
        self.go_on()
        self.go_on()
        self.finish()
        return died

    def update(self, caller, count):
        for _ in range(count):
            caller.learn()
            caller.predict()
            caller.label()

    def dies(self, caller):
        try:
            caller.snapshot()
        except (OSError, http.client.HTTPException):
            return True
        return False

    def go_on(self):
        """Start again, compare, repeat everything, learn some more, write a snapshot, die."""
        pid = self.start()
        caller = Caller(self.port, self.book, f"{self.seed} {self.round}", self.regression)
        self.round += 1
        try:
            self.check()
            for id in list(self.book.acknowledged):
                caller.send([id])
            if self.book.wrong:
                raise Lost(f"wrong answers: {self.book.wrong[:3]}")
            self.update(caller, 2)
            caller.snapshot()
        finally:
            kill(pid)
            caller.connection.close()
