"""Report: a table of detected faults, and a page of survivors with reasons."""

from collections import Counter
from pathlib import Path

import tomllib

REASONS = Path(__file__).parent / "reasons.toml"
SURVIVORS = Path(__file__).parent / "survivors.md"


def reasons():
    return tomllib.loads(REASONS.read_text())


def table(results):
    """Return a table of the detected faults of each module, as lines."""
    total, detected = Counter(), Counter()
    for mutant, verdict in results:
        total[mutant.file] += 1
        detected[mutant.file] += verdict.detected
    width = max(map(len, total), default=0)
    lines = [f"{file:<{width}}  {detected[file]:>3} of {total[file]:>3}" for file in sorted(total)]
    return [*lines, f"{'all':<{width}}  {detected.total():>3} of {total.total():>3}"]


def survivors(results, of):
    """Return the page of survivors among the tried faults of a sample."""
    known, left = reasons(), [mutant for mutant, verdict in results if not verdict.detected]
    count = len(results)
    detected, harmless = count - len(left), sum(mutant.id in known for mutant in left)
    share, of_others = (100 * detected / max(n, 1) for n in (count, count - harmless))
    lines = [
        "# Faults that no test detects",
        "",
        f"The sample has {of} faults. {count} were tried, {detected} detected ({share:.1f} %), "
        f"{len(left)} survived. {harmless} of these do not change results; of the others "
        f"{of_others:.1f} % were detected.",
        "`make mutants` writes this page; the reasons are in `reasons.toml`.",
    ]
    for mutant in sorted(left, key=lambda each: (each.file, each.start)):
        where = f"{mutant.file}, {mutant.place}" if mutant.place else mutant.file
        lines += [
            "",
            f"## {mutant.id}: {where}",
            "",
            f"    - {mutant.before}",
            f"    + {mutant.after}",
            "",
            known.get(mutant.id, "**No reason given: a test is missing.**"),
        ]
    return "\n".join(lines) + "\n"


def unexplained(results):
    """Return the survivors without a reason."""
    known = reasons()
    return [m for m, verdict in results if not verdict.detected and m.id not in known]
