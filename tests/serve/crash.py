"""Kill the server, cut its power, and see whether anything was lost or learned twice.

``python tests/serve/crash.py --kills 1000`` kills a server under load at random moments, and
after each restart compares: every acknowledged lesson is in the journal once, the model is, bit
for bit, the one that a plain learner makes of the same examples in the same order, and each
snapshot that has its name is whole. ``--power`` cuts the power instead: what was not synced may be
lost, all of it or a part.
"""

import argparse
import tempfile
import time
from pathlib import Path

from crash_power import PowerTrial, compile_shim
from crash_trial import Trial
from forked_server import Zygote

MODELS = (
    ("PA-I", {"C": "auto"}),
    ("PAR-I", {}),
    ("SPA-I", {"probability": True, "average": True}),
    ("AROW", {"max_features": 12}),
    ("BPAI", {"C": 0.5}),  # some examples wait for their mini-batch
)


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
