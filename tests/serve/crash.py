"""Kill the server, cut its power, and see whether anything was lost or learned twice.

``python tests/serve/crash.py --kills 1000`` kills a server under load at random moments, and
after each restart compares: every acknowledged update is in the journal once, the model is, bit
for bit, the one that a plain learner makes of the same examples in the same order, and each
snapshot that has its name is whole. ``--power`` cuts the power instead: what was not synced may be
lost, all of it or a part. ``--steps`` kills between every two lines of the code that writes a
snapshot, one after the other. ``--backups`` restores backups made at random moments under load.
"""

import argparse
import tempfile
import time
from pathlib import Path

from crash_power import PowerTrial, compile_shim
from crash_restore import BackupTrial
from crash_steps import StepTrial
from crash_trial import Trial
from forked_server import Lost, Zygote

MODELS = (
    ("StreamClassifier", {}),
    ("StreamRegressor", {}),
    ("PA-I", {"C": "auto"}),
    ("PAR-I", {}),
    ("SPA-I", {"probability": True, "average": True}),
    ("AROW", {"max_features": 12}),
    ("BPAI", {"C": 0.5}),  # some examples wait for their mini-batch
)


def run_kills(kills, seed, folder, fault=None, say=lambda text: None):
    """Kill servers of several models this many times; raise Lost if a guarantee does not hold."""
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
    """Cut the power this many times; raise Lost if a guarantee does not hold."""
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


def run_steps(step, seed, folder, fault=None, say=lambda text: None):
    """Kill at every ``step``-th line of the code that writes a snapshot, until one gets through."""
    zygote = Zygote()
    count, examples = 0, 0
    try:
        for line in range(1, 10_000, step):
            place = Path(folder) / f"line-{line}"
            trial = StepTrial(zygote, place, "PAR-I", {}, f"{seed}-{line}", fault)
            died = trial.kill_at(line)
            examples += len(trial.order)
            if not died:
                return {"times": count, "examples": examples}
            count += 1
            if count % 50 == 0:
                say(f"{count} times, {examples:,} examples")
        raise Lost("a snapshot has no end")
    finally:
        zygote.close()


def run_backups(backups, seed, folder, fault=None, say=lambda text: None):
    """Restore this many backups; raise Lost if one lacks an update acknowledged before it."""
    zygote = Zygote()
    try:
        trials = [
            BackupTrial(zygote, Path(folder) / f"backup-{k}", *model, f"{seed}-{k}", fault)
            for k, model in enumerate(MODELS)
        ]
        return _run(trials, backups, say)
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
        "rejected": sum(s == 422 for trial in trials for s in trial.book.acknowledged.values()),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--power", type=int, default=200)
    parser.add_argument("--backups", type=int, default=50)
    parser.add_argument(
        "--steps", type=int, default=1, help="kill at every N-th line; 0: none", metavar="N"
    )
    parser.add_argument("--seed", default="0")
    args = parser.parse_args()
    runs = (
        ("kill -9", run_kills, args.kills),
        ("power", run_power, args.power),
        ("backups", run_backups, args.backups),
        ("kill at each line", run_steps, args.steps),
    )
    for what, run, times in runs:
        if not times:
            continue
        with tempfile.TemporaryDirectory() as folder:
            start = time.monotonic()
            result = run(times, args.seed, folder, say=lambda text: print(text, flush=True))
            print(
                f"{what}: nothing lost, nothing twice: {result}, {time.monotonic() - start:.0f} s"
            )


if __name__ == "__main__":
    main()
