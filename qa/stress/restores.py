"""Cases of the server's data folder: crashes, backups at random moments, restores.

A server learns updates that are acknowledged one by one. After each start its model is compared
with a control that has learned the same updates in the same order, bit for bit.
"""

import contextlib
import shutil
import sqlite3
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[2] / "tests" / "serve"))

from serve_support import running

from aggro.persistence.record import bytes_of
from aggro.persistence.store import record_of
from aggro.serve.config import Plan
from aggro.serve.folder import DataFolderError
from aggro.serve.server import first_model
from aggro.serve.snapshots import backup
from qa.stress.runs import Difference

MODELS = (
    ("PA-I", {"C": "auto"}),
    ("PAR-I", {}),
    ("SPA-I", {"probability": True, "average": True}),
    ("AROW", {"max_features": 12}),
    ("BPAI", {"C": 0.5}),  # some examples wait for their mini-batch
    ("TextClassifier", {"n_features": 1024}),
)
KEEPING = {"snapshot_examples": 40, "predictions": 500}
HUGE = 1.7e308  # the sum of two of these overflows: the update is rejected


@dataclass
class Restore:
    """A model in a data folder, and a plan of actions."""

    seed: int
    model: str
    params: dict
    plan: list

    def __str__(self):
        lines = [f"seed {self.seed}", f"aggro serve {self.model} {self.params}", "plan:"]
        return "\n".join([*lines, *(f"  {action} {count}" for action, count in self.plan)])

    def simpler_plan(self, i):
        """Return the plan without an action."""
        return self.plan[:i] + self.plan[i + 1 :]

    def check(self):
        with tempfile.TemporaryDirectory() as folder:
            Folders(self, Path(folder)).run()


class Folders:
    """The data folders of a case: the active one, and backups of it."""

    def __init__(self, case, place):
        self.case, self.place, self.rng = case, place, np.random.default_rng(case.seed)
        self.made, self.sent = 0, 0
        self.folder = self._new("data")
        self.acknowledged = []  # updates of the folder in use
        # (folder, updates up to its journal, updates up to its snapshot if it was copied by hand)
        self.backups = []
        self.manual = None  # a manual copy, file by file

    def run(self):
        plan, model, params = list(self.case.plan), self.case.model, self.case.params
        while True:
            with running(self.folder, model, params=params, retention=KEEPING) as server:
                self._compare(server, self._control())
                action = self._work(server, plan)
                crashed = self._copied("crashed") if action == "crash" else None
            if action is None:
                return
            if action == "crash":
                self.folder = crashed
            elif action == "restore" and self.backups:
                self._restore(model, params)

    def _work(self, server, plan):
        """Perform the actions of the plan up to the next start of the server."""
        while plan:
            action, count = plan.pop(0)
            if action in ("crash", "restore", "restart"):
                return action
            getattr(self, f"_{action}")(server, count)
        return None

    # -- while a server runs --------------------------------------------------------------------

    def _learn(self, server, count):
        for _ in range(count):
            self.sent += 1
            update = {"id": f"u{self.sent}", **self._example()}
            if self.rng.random() < 0.3:
                self._predict_first(server, update)
            else:
                self._acknowledge(server.post("/learn", update), update)
            if self.rng.random() < 0.1:  # the same update again
                answer = server.post("/learn", update)
                again = answer.json()
                if answer.status_code != 422 and not again.get("duplicate"):
                    raise Difference(f"an update that was sent twice: {again}")

    def _predict_first(self, server, update):
        """Ask for a prediction, and send its label later."""
        x = {name: update[name] for name in ("id", "features", "text") if name in update}
        server.post("/predict", x)
        label = {name: update[name] for name in ("id", "label", "weight")}
        self._acknowledge(server.post("/label", label), update)

    def _acknowledge(self, answer, update):
        if answer.status_code not in (200, 422):
            raise Difference(f"{update} was answered {answer.status_code}: {answer.text}")
        self.acknowledged.append(update)

    def _snapshot(self, server, count):
        server.post("/model/snapshot", {})

    def _backup(self, server, count):
        target = self._new("backup")
        backup(self.folder, target)
        self.backups.append((target, list(self.acknowledged), None))

    def _copy_journal(self, server, count):
        """Copy the journal like ``sqlite3 .backup``; snapshots may be copied later."""
        target = self._new("manual")
        target.mkdir()
        source = sqlite3.connect(f"file:{self.folder / 'journal.sqlite'}?mode=ro", uri=True)
        copy = sqlite3.connect(target / "journal.sqlite")
        with contextlib.closing(source), contextlib.closing(copy):
            source.backup(copy)
        self.manual = (target, list(self.acknowledged))

    def _copy_snapshot(self, server, count):
        """Copy the newest snapshot to the copy of the journal."""
        if self.manual is None:
            return
        target, before = self.manual
        newest = max(self.folder.glob("model-*.aggro"), key=lambda path: path.name)
        shutil.copy(newest, target)
        self.backups.append((target, before, list(self.acknowledged)))
        self.manual = None

    def _example(self):
        rng = self.rng
        weight = float(rng.choice([1.0, 1.0, 0.5]))
        if self.case.model == "TextClassifier":
            words = [f"w{rng.integers(40)}" for _ in range(5)]
            return {"text": " ".join(words), "label": "ab"[rng.integers(2)], "weight": weight}
        x = {f"f{rng.integers(30)}": float(rng.normal()) for _ in range(5)}
        total = sum(x.values())
        if self.case.model != "PAR-I":
            return {"features": x, "label": "abc"[(total > 0) + (total > 2)], "weight": weight}
        if rng.random() < 0.05:
            x, total = {"f0": HUGE, "f1": HUGE}, 0.0
        return {"features": x, "label": total, "weight": weight}

    # -- between two servers --------------------------------------------------------------------

    def _restore(self, model, params):
        """Start from a backup: it is rejected, or contains all updates acknowledged before it."""
        backup, updates, by_hand = self.backups[self.rng.integers(len(self.backups))]
        newest, self.folder = self.folder, self._copied("restored", backup)
        try:
            with running(self.folder, model, params=params, retention=KEEPING) as server:
                held = server.http.get("/model").json()["version"]
        except DataFolderError:
            if by_hand is None or len(by_hand) == len(updates):
                raise
            self.folder = newest
            return
        if held < len(updates):
            raise Difference(f"a backup of {len(updates)} updates holds {held}")
        self.acknowledged = list(updates if held == len(updates) else by_hand[:held])

    def _compare(self, server, control):
        model = server.http.get("/model/file").content
        facts = server.http.get("/model").json()
        if facts["version"] != len(self.acknowledged):
            count = len(self.acknowledged)
            raise Difference(f"{count} updates were acknowledged, version {facts['version']}")
        if model != bytes_of(record_of(control)):
            raise Difference("the model differs from one that learned the acknowledged updates")

    def _control(self):
        model = first_model(Plan(self.case.model, Path(), params=self.case.params))[0]
        for update in self.acknowledged:
            x = update["text"] if "text" in update else update["features"]
            with contextlib.suppress(ValueError):  # rejected, as the server rejected it
                model.learn_one(x, update["label"], update["weight"])
        return model

    def _new(self, name):
        self.made += 1
        return self.place / f"{name}-{self.made}"

    def _copied(self, name, source=None):
        """Copy the current state of a folder."""
        target = self._new(name)
        shutil.copytree(source or self.folder, target)
        return target


ACTIONS = ("learn", "snapshot", "backup", "copy_journal", "copy_snapshot", "crash", "restart")
SHARES = (0.38, 0.12, 0.1, 0.12, 0.12, 0.12, 0.04)


def compose(seed, rng):
    """Return a case of a data folder."""
    model, params = MODELS[rng.integers(len(MODELS))]
    plan = [("learn", int(rng.integers(1, 30)))]
    for action in rng.choice(ACTIONS, size=rng.integers(3, 12), p=SHARES):
        plan.append((str(action), int(rng.integers(1, 60)) if action == "learn" else ""))
    plan += [("restore", ""), ("learn", int(rng.integers(1, 20))), ("crash", "")]
    return Restore(seed, model, params, plan)
