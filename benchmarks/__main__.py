"""Run the benchmarks: ``python -m benchmarks [--quick] [--only NAME] [--history]``."""

from __future__ import annotations

import argparse
import importlib

from benchmarks import history, peers, report
from benchmarks.work import Effort, measure

KINDS = (
    *("linear", "calls", "classes", "threads", "full_metric", "kernels", "predict", "streams"),
    *("text_files", "words"),
)


def main():
    """Run the benchmarks, print, save and draw the results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="less data, fewer runs: a minute")
    parser.add_argument(
        "--only", metavar="NAME", default="", help="a kind, or part of a row's name"
    )
    parser.add_argument("--json", metavar="FILE", help="save the results")
    parser.add_argument("--plot", metavar="FILE", help="draw the results")
    parser.add_argument("--docs", metavar="FILE", help="put the table into a page, between marks")
    parser.add_argument(
        "--history",
        action="store_true",
        help="compare with the newest entry of benchmarks/history, and write that of this version",
    )
    parser.add_argument(
        "--scaling", action="store_true", help="measure how time grows with the data"
    )
    options = parser.parse_args()
    if options.scaling:
        from benchmarks import scaling

        return scaling.main(options)
    rows = run(options.only, Effort(options.quick))
    for name in sorted(peers.missing):
        print(f"{name} is not installed: its rows are left out")
    missed = sum(bool(row["problems"]) for row in rows)
    print(f"{len(rows) - missed} of {len(rows)} rows meet their targets")
    if options.json:
        report.save(rows, options.json)
    if options.plot:
        report.plot(rows, options.plot)
    if options.docs:
        report.write_docs(rows, options.docs, complete=not options.only)
    if options.history:
        history.update(rows)
    return None


def run(only, effort):
    """Measure all rows, or the requested ones."""
    rows = []
    report.print_head()
    for kind in KINDS:
        if only in KINDS and only != kind:
            continue
        for work in works_of(kind, effort):
            if only not in KINDS and only not in work.name:
                continue
            rows.append(measure(work, effort))
            report.print_row(rows[-1])
    return rows


def works_of(kind, effort):
    """Yield the work of one kind; skip what cannot run here, with a note."""
    try:
        yield from importlib.import_module(f"benchmarks.{kind}").works(effort)
    except (ImportError, AttributeError) as error:
        print(f"{kind}: left out ({error})")


if __name__ == "__main__":
    main()
