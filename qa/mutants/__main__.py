"""Inject faults into the code one by one and check that a test fails."""

import argparse
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict

from qa.mutants import cpp_build, report
from qa.mutants.sample import sampled
from qa.mutants.trial import FOLDER, Trials, Verdict

RESULTS = FOLDER / "results.json"
ENOUGH = 0.92  # share of the faults that the tests must detect


def main():
    """Parse the options and run."""
    parser = argparse.ArgumentParser(prog="python -m qa.mutants", description=__doc__)
    parser.add_argument(
        "--python", type=int, default=140, help="approximate number of faults in Python"
    )
    parser.add_argument("--cpp", type=int, default=70, help="approximate number of faults in C++")
    parser.add_argument("--seed", default="7", help="seed of the sample of faults")
    parser.add_argument("--jobs", type=int, default=2, help="number of parallel test runs")
    parser.add_argument(
        "--only", default="", help="try only faults whose file or id contains this text"
    )
    parser.add_argument("--most", type=int, help="stop after this many faults of each kind")
    parser.add_argument("--resume", action="store_true", help="reuse the verdicts of the last run")
    parser.add_argument("--report", action="store_true", help="only report the verdicts so far")
    parser.add_argument("--list", action="store_true", help="list the faults and exit")
    options = parser.parse_args()

    python = [(each, 0) for each in sampled("python", options.python, options.seed)]
    cpp = sampled("cpp", options.cpp, options.seed)
    if options.list:
        for each in [*(mutant for mutant, _ in python), *cpp]:
            print(f"{each.id} {each.file}\n  - {each.before}\n  + {each.after}")
        return 0
    if options.report:
        faults = [*(mutant for mutant, _ in python), *cpp_build.wanted(cpp).values()]
        return judge(_tried(faults), whole=True, of=len(faults))
    chosen = _only(python, options)
    if options.cpp:
        print("compiling the core with all faults", flush=True)
        built = cpp_build.build(cpp)
        chosen += _only([(each, number) for number, each in built.items()], options)
    # ordered by id, so that an interrupted run covers all modules
    results = run(sorted(chosen, key=lambda pair: pair[0].id), options)
    return judge(results, not (options.only or options.most or not options.cpp), len(results))


def _only(chosen, options):
    kept = [pair for pair in chosen if options.only in pair[0].file + " " + pair[0].id]
    return kept[:: max(1, len(kept) // options.most)][: options.most] if options.most else kept


def _tried(mutants):
    """Return the faults with a verdict, and the verdicts."""
    known = json.loads(RESULTS.read_text())
    return [(each, Verdict(**known[each.id])) for each in mutants if each.id in known]


def run(chosen, options):
    """Try all faults and store each verdict in a file at once."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    known = json.loads(RESULTS.read_text()) if options.resume and RESULTS.exists() else {}
    trials = Trials(options.jobs, any(number for _, number in chosen))
    started, results = time.monotonic(), []

    def trial(pair):
        mutant, number = pair
        if mutant.id not in known:
            known[mutant.id] = asdict(trials.judge(mutant, number))
            RESULTS.write_text(json.dumps(dict(known), indent=1))
            found = known[mutant.id]
            word = "detected " if found["detected"] else "SURVIVED"
            print(f"{word} {mutant.id} {mutant.file} {found['seconds']:.0f} s", flush=True)
            print(f"  - {mutant.before}\n  + {mutant.after}\n  {found['failing_test']}", flush=True)
        return mutant, Verdict(**known[mutant.id])

    with ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(trial, chosen))
    print(f"{len(results)} faults in {(time.monotonic() - started) / 60:.1f} minutes")
    return results


def judge(results, whole, of):
    """Print the table and write the survivors; return 1 if too few faults were detected.

    The results cover ``of`` faults of the sample.
    """
    print("\n".join(report.table(results)))
    if not whole:
        return 0
    report.SURVIVORS.write_text(report.survivors(results, of))
    missing = report.unexplained(results)
    share = sum(verdict.detected for _, verdict in results) / len(results)
    print(f"{share:.1%} detected; {len(missing)} survivors without a reason in reasons.toml")
    return 0 if share >= ENOUGH and not missing else 1


if __name__ == "__main__":
    sys.exit(main())
