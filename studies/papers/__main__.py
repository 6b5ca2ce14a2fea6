"""Reproduce the papers.

``python -m studies.papers [NAME ...] [--quick] [--jobs N] [--report-only]``

Finished cells are stored in ``build/papers``, so an interrupted run continues. A complete run of
all papers writes ``studies/papers/REPORT.md``, ``studies/papers/results.json`` and
``docs/which-algorithm.md``. A run of some papers, a ``--quick`` run or an incomplete one writes
into ``build/papers``.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

from studies.papers import report, runner
from studies.papers.progress import Progress
from studies.papers.store import BUILD, ROOT, Store

NAMES = ("class_means", "mahalanobis", "blog", "minibatches", "support_classes", "errata")


def main(arguments: list[str] | None = None) -> int:
    """Run the missing cells and write the report; return 1 if a cell failed or is missing."""
    args = _arguments(arguments)
    experiments = [(module, Store(module)) for module in map(_load, args.names or _present())]
    missing = runner.missing_data(name for module, _ in experiments for name in module.DATA)
    for text in missing.values():
        print(f"Missing: {text}")
    if missing:
        print(f"Cells that need {', '.join(missing)} are skipped.\n")
    outcome = runner.Run()
    if not args.report_only:
        tasks = runner.unfinished(experiments, args.quick, missing)
        try:
            with Progress(len(tasks)) as progress:
                outcome = runner.run(tasks, args.jobs, progress)
        except KeyboardInterrupt:
            print("\nStopped. Finished cells are stored; the same command continues from here.")
            return 130
    done, every = report.finished(experiments, args.quick)
    if not done:
        print("No cell is finished, so there is nothing to report. Run without --report-only.")
        return 1
    folder, advice = _target(args, complete=done == every)
    path = report.write(experiments, args.quick, folder, advice)
    _print_summary(outcome, experiments, args.quick, path)
    if done < every:
        print(f"Not complete ({done} of {every} cells), so {ROOT / 'papers'} was left as it is.")
    return 1 if outcome.failures or done < every else 0


def _arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m studies.papers", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--quick", action="store_true", help="make fewer runs, as a check")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="number of processes")
    parser.add_argument(
        "--report-only", action="store_true", help="write the report from finished cells only"
    )
    args = parser.parse_args(arguments)
    for name in args.names:
        if name not in NAMES:
            parser.error(f"there is no paper {name!r}; choose from {', '.join(NAMES)}")
    return args


def _present() -> list[str]:
    return [name for name in NAMES if importlib.util.find_spec(f"studies.papers.{name}")]


def _load(name: str) -> ModuleType:
    return importlib.import_module(f"studies.papers.{name}")


def _target(args: argparse.Namespace, complete: bool) -> tuple[Path, Path | None]:
    """Return where the report and the page of advice go.

    Only a complete run of all papers replaces the committed ones.
    """
    if complete and not args.quick and not args.names:
        return ROOT / "studies" / "papers", ROOT / "docs" / "which-algorithm.md"
    parts = [*(["quick"] if args.quick else []), *args.names, *([] if complete else ["partial"])]
    return BUILD / "+".join(parts), None


def _print_summary(
    outcome: runner.Run, experiments: list[tuple[ModuleType, Store]], quick: bool, path: Path
) -> None:
    for failure in outcome.failures:
        print(f"\nFAILED {failure.task}\n{failure.trace}", file=sys.stderr)
    total = 0.0
    for module, store in experiments:
        seconds = [store.seconds(cell) or 0.0 for cell in module.cells(quick)]
        total += sum(seconds)
        print(f"{store.name}: {len(seconds)} cells, {sum(seconds) / 60:.1f} CPU minutes")
    print(f"{outcome.finished} cells run now in {outcome.seconds / 60:.1f} CPU minutes;", end=" ")
    print(f"all that the report rests on took {total / 60:.1f}. {len(outcome.failures)} failed.")
    print(f"Written: {path}")


if __name__ == "__main__":
    sys.exit(main())
