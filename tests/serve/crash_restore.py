"""Backups that are made under load at random moments, and restored."""

import threading
import time

from crash_load import Book
from crash_trial import Trial
from forked_server import kill

from aggro.serve.config import Plan
from aggro.serve.server import first_model
from aggro.serve.snapshots import backup


class BackupTrial(Trial):
    """A server that is backed up while it learns; each backup is restored and killed."""

    def kill_once(self):
        pid = self.start()
        try:
            self.check()
            self.retry()
            self.back_up_under_load(pid)
        finally:
            kill(pid)

    def back_up_under_load(self, pid):
        seconds = self.random.uniform(0.1, 0.4)
        loaded = threading.Thread(target=self.load, args=(pid, seconds))
        loaded.start()
        time.sleep(self.random.uniform(0.0, seconds))
        before, target = dict(self.book.acknowledged), f"{self.folder}-saved-{self.round}"
        try:
            backup(self.folder, type(self.folder)(target))
        finally:
            loaded.join()
        self.restored(target, before)

    def restored(self, target, before):
        """Start from the backup, learn more, die, and compare once more."""
        other = Trial(self.zygote, target, self.asked["model"], self.asked["params"], target)
        other.plain = first_model(Plan(self.asked["model"], target, params=self.asked["params"]))[0]
        other.book = Book(dict(self.book.sent), before, first=1_000_000)
        other.kill_once()
        other.finish()
