"""Kill the server, cut its power, and see whether anything was lost or learned twice.

``python tests/serve/crash.py --kills 1000`` kills a server under load at random moments, and
after each restart compares: every acknowledged lesson is in the journal once, the model is, bit
for bit, the one that a plain learner makes of the same examples in the same order, and each
snapshot that has its name is whole. ``--power`` cuts the power instead: what was not synced may be
lost, all of it or a part.
"""

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from crash_load import Book, Caller

import aggro
from aggro.serve.start import first_model

HERE = Path(__file__).parent
BLOCK = 512  # bytes that a disk writes whole
STEPS = 400  # of a client at most, so that a server that will not die ends too
MODELS = (
    ("PA-I", {"C": "auto"}),
    ("PAR-I", {}),
    ("SPA-I", {"probability": True, "average": True}),
    ("AROW", {"max_features": 12}),
    ("BPAI", {"C": 0.5}),  # some examples wait for their mini-batch
)
KEEPING = {"snapshot_examples": 40, "predictions": 500}


class Lost(Exception):
    """A promise that was broken."""


class Zygote:
    """Starts servers quickly; with a shim, under it."""

    def __init__(self, shim=None, root="", shadow=""):
        env = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        if shim:
            env |= {"LD_PRELOAD": str(shim), "POWER_ROOT": str(root), "POWER_SHADOW": str(shadow)}
        command = [sys.executable, str(HERE / "zygote.py")]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(command, env=env, **pipes)

    def start(self, **asked):
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        told = json.loads(self.process.stdout.readline())
        if "error" in told:
            raise Lost(f"the server does not start: {told['error']}")
        return told["pid"], told["port"]

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(timeout=10)


def kill(pid):
    """Kill -9, and wait until the process is gone."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
        for _ in range(2000):
            os.kill(pid, 0)
            time.sleep(0.002)
        raise Lost("the server cannot be killed")


def bytes_of(model, folder):
    """Return all that a model knows, with a map to probabilities that is made here.

    The last bits of that map depend on how many threads BLAS has, and the server has one.
    """
    if getattr(model, "probability", False):
        model._record.calibrator.parameters = None
        model.predict_proba_one({})
    path = Path(folder) / "model.aggro"
    aggro.save(model, path)
    return path.read_bytes()


class Trial:
    """One folder, killed again and again."""

    def __init__(self, zygote, folder, model, params, seed, fault=None):
        self.zygote, self.folder, self.seed = zygote, Path(folder), seed
        self.random = random.Random(seed)
        self.asked = {"model": model, "params": params, "data": str(folder), "keeping": KEEPING}
        self.asked["fault"] = fault
        self.plain = first_model(model, params)[0]
        self.regression = model.startswith("PAR")
        self.book, self.order, self.round = Book(), {}, 0
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
            raise Lost(f"{len(missing)} acknowledged lessons are gone, the first: {missing[0]}")
        if self.book.wrong:
            raise Lost(f"wrong answers: {self.book.wrong[:3]}")
        caller = Caller(self.port, self.book, 0, self.regression)
        try:
            served = caller.get("/model/file")[1]
        finally:
            caller.connection.close()
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / "served.aggro"
            path.write_bytes(served)
            if bytes_of(aggro.load(path), place) != bytes_of(self.plain, place):
                raise Lost("the model is not the one that a plain learner makes")

    def follow_journal(self):
        """Teach the plain learner what the journal says was learned since the last check."""
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
            features, *truth = self.book.sent[id]
            if [json.loads(label), weight] != truth:
                raise Lost(f"example {id} has another truth")
            self.order[id] = seq
            with contextlib.suppress(ValueError):  # refused, as the server refused it
                self.plain.learn_one(features, *truth)

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
        """The last word: once more all is there."""
        pid = self.start()
        try:
            self.check()
        finally:
            kill(pid)


# -- cutting the power ------------------------------------------------------------------------


def compile_shim(folder):
    """Compile the shim that notes what is synced."""
    shim = Path(folder) / "power_loss.so"
    command = [
        "g++",
        "-shared",
        "-fPIC",
        "-O1",
        "-std=c++17",
        "-o",
        str(shim),
        str(HERE / "power_loss.cpp"),
    ]
    subprocess.run(command, check=True)
    return shim


class PowerTrial(Trial):
    """The same, with the power cut: what was not synced is lost, or a part of it."""

    def __init__(self, *args, shadow, **kwargs):
        super().__init__(*args, **kwargs)
        self.shadow = Path(shadow)

    def start(self):
        self.note_all()
        return super().start()

    def note_all(self):
        """What is in the folder now was there when the power came back: it is all safe."""
        for old in self.shadow.iterdir():
            old.unlink()
        self.folder.mkdir(parents=True, exist_ok=True)
        lines = []
        for path in self.folder.iterdir():
            inode = path.stat().st_ino
            shutil.copyfile(path, self.shadow / f"file-{inode}")
            (self.shadow / f"held-{inode}").hardlink_to(path)
            lines.append(f"{inode} {path.name}\n")
        self.safe_names().write_text("".join(lines))

    def safe_names(self):
        return self.shadow / f"folder-{self.folder.stat().st_ino}"

    def kill_once(self):
        super().kill_once()
        self.cut()
        self.check_snapshots()

    def cut(self):
        """Put the folder into a state that a power cut may leave."""
        lines = self.safe_names().read_text().splitlines()
        safe = {name: inode for inode, name in (line.split(" ", 1) for line in lines)}
        live = {path.name: str(path.stat().st_ino) for path in self.folder.iterdir()}
        mixed = self.random.random() < 0.5
        names = {
            name: self.random.choice([safe, live]).get(name) if mixed else safe.get(name)
            for name in safe.keys() | live.keys()
        }
        contents = {
            name: self.content(inode, live, mixed)
            for name, inode in names.items()
            if inode is not None and not name.endswith("-shm")
        }
        for path in self.folder.iterdir():
            path.unlink()
        for name, content in contents.items():
            (self.folder / name).write_bytes(content)

    def content(self, inode, live, mixed):
        """Return what the disk has of a file: what was synced, with blocks of later writes."""
        noted = self.shadow / f"file-{inode}"
        safe = noted.read_bytes() if noted.exists() else b""
        names = [name for name, number in live.items() if number == inode]
        if not mixed or not names:
            return safe
        later = (self.folder / names[0]).read_bytes()
        length = self.random.choice([len(safe), len(later)])
        blocks = []
        for start in range(0, length, BLOCK):
            source = self.random.choice([safe, later])
            blocks.append(source[start : start + BLOCK].ljust(BLOCK, b"\0"))
        return b"".join(blocks)[:length]


# -- the command --------------------------------------------------------------------------------


def run_kills(kills, seed, folder, fault=None, say=lambda text: None):
    """Kill servers of several models this many times; raise Lost if a promise is broken."""
    zygote = Zygote()
    try:
        trials = [
            Trial(zygote, Path(folder) / f"kill-{k}", *model, f"{seed}-{k}", fault)
            for k, model in enumerate(MODELS)
        ]
        return _run(trials, kills, say)
    finally:
        zygote.close()


def run_power(cuts, seed, folder, fault=None, say=lambda text: None):
    """Cut the power this many times; raise Lost if a promise is broken."""
    folder = Path(folder)
    shim, shadow = compile_shim(folder), folder / "shadow"
    shadow.mkdir()
    zygote = Zygote(shim, folder / "data", shadow)
    try:
        trials = [
            PowerTrial(
                zygote, folder / "data" / f"power-{k}", *model, f"{seed}-{k}", fault, shadow=shadow
            )
            for k, model in enumerate(MODELS)
        ]
        return _run(trials, cuts, say)
    finally:
        zygote.close()


def _run(trials, times, say):
    for count in range(times):
        trials[count % len(trials)].kill_once()
        if (count + 1) % 50 == 0:
            say(f"{count + 1} times, {sum(len(t.order) for t in trials):,} examples")
    for trial in trials:
        trial.finish()
    return {
        "times": times,
        "examples": sum(len(trial.order) for trial in trials),
        "acknowledged": sum(len(trial.book.acknowledged) for trial in trials),
        "refused": sum(s == 422 for trial in trials for s in trial.book.acknowledged.values()),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--power", type=int, default=200)
    parser.add_argument("--seed", default="0")
    args = parser.parse_args()
    for what, run, times in (("kill -9", run_kills, args.kills), ("power", run_power, args.power)):
        with tempfile.TemporaryDirectory() as folder:
            start = time.monotonic()
            result = run(times, args.seed, folder, say=lambda text: print(text, flush=True))
            print(
                f"{what}: nothing lost, nothing twice: {result}, {time.monotonic() - start:.0f} s"
            )


if __name__ == "__main__":
    main()
