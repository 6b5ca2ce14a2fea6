"""A folder whose server is killed again and again, compared with a plain learner each time."""

import contextlib
import json
import random
import sqlite3
import threading
import time
from pathlib import Path

from crash_load import Book, Caller
from forked_server import Lost, kill

import aggro
from aggro.persistence.record import bytes_of
from aggro.persistence.store import record_of
from aggro.serve.config import Plan
from aggro.serve.server import first_model

STEPS = 400  # of a client at most, so that a server that will not die ends too
KEEPING = {"snapshot_examples": 40, "predictions": 500}


class Trial:
    """One folder, killed again and again."""

    def __init__(self, zygote, folder, model, params, seed, fault=None):
        self.zygote, self.folder, self.seed = zygote, Path(folder), seed
        self.random = random.Random(seed)
        self.asked = {"model": model, "params": params, "data": str(folder), "retention": KEEPING}
        self.asked["fault"] = fault
        self.plain = first_model(Plan(model, folder, params=params))[0]
        self.regression = model.startswith("PAR") or model == "StreamRegressor"
        self.book, self.order, self.round, self.learned = Book(), {}, 0, 0
        self.port = 0

    def start(self):
        pid, self.port = self.zygote.start(**self.asked)
        return pid

    def load(self, pid, seconds):
        """Let clients work, then kill the server in the midst of it."""
        self.round += 1
        callers = [
            Caller(self.port, self.book, f"{self.seed} {self.round} {k}", self.regression)
            for k in range(3)
        ]
        threads = [threading.Thread(target=caller.run, args=(STEPS,)) for caller in callers]
        for thread in threads:
            thread.start()
        time.sleep(seconds)
        kill(pid)
        for thread in threads:
            thread.join()

    def retry(self):
        """Send again what was never answered, as clients do."""
        caller = Caller(self.port, self.book, f"{self.seed} {self.round} retry", self.regression)
        for id in self.book.unanswered()[-20:]:
            caller.send([id])
        caller.connection.close()

    def check(self):
        """Compare the server, which was just started, with the plain learner."""
        self.follow_journal()
        missing = [id for id in self.book.acknowledged if id not in self.order]
        if missing:
            raise Lost(f"{len(missing)} acknowledged updates are missing, the first: {missing[0]}")
        if self.book.wrong:
            raise Lost(f"wrong answers: {self.book.wrong[:3]}")
        caller = Caller(self.port, self.book, 0, self.regression)
        try:
            served, facts = caller.get("/model/file")[1], json.loads(caller.get("/model")[1])
        finally:
            caller.connection.close()
        if served != bytes_of(record_of(self.plain)):
            raise Lost("the model is not the one that a plain learner makes")
        if facts["examples"] != self.learned:
            raise Lost(f"{facts['examples']} examples are evaluated, not {self.learned}")

    def follow_journal(self):
        """Learn the updates of the journal since the last check with the plain learner."""
        db = sqlite3.connect(f"file:{self.folder / 'journal.sqlite'}?mode=ro", uri=True)
        try:
            known = len(self.order)
            sql = "SELECT seq, id, label, weight FROM examples WHERE seq > ? ORDER BY seq"
            rows = db.execute(sql, (known,)).fetchall()
        finally:
            db.close()
        for place, (seq, id, label, weight) in enumerate(rows):
            if seq != known + place + 1 or id in self.order:
                raise Lost(f"example {seq} ({id}) is in the journal twice, or one is missing")
            features, *true_label = self.book.sent[id]
            if [json.loads(label), weight] != true_label:
                raise Lost(f"example {id} has another label")
            self.order[id] = seq
            with contextlib.suppress(ValueError):  # rejected, as by the server
                self.plain.learn_one(features, *true_label)
                self.learned += 1

    def check_snapshots(self):
        """Every snapshot that has its name is whole."""
        for path in self.folder.glob("model-*.aggro"):
            try:
                aggro.load(path)
            except aggro.ModelFileError as error:
                raise Lost(f"a snapshot is broken: {error}") from error

    def kill_once(self):
        pid = self.start()
        try:
            self.check()
            self.retry()
            if self.random.random() < 0.1:
                kill(pid)
            else:
                self.load(pid, self.random.uniform(0.01, 0.3))
        finally:
            kill(pid)
        self.check_snapshots()

    def finish(self):
        """Compare once more after the last kill."""
        pid = self.start()
        try:
            self.check()
        finally:
            kill(pid)
