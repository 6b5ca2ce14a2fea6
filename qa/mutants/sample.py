"""Draw a reproducible sample of faults."""

import hashlib

from qa.mutants.cpp_sites import cpp_mutants
from qa.mutants.mutant import ROOT
from qa.mutants.python_sites import python_mutants

SPARE = 2  # faults in C++ built for each one wanted, since some do not compile


def modules(kind):
    """Return the source files, Python or C++."""
    if kind == "python":
        return sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("src/aggro/**/*.py"))
    files = [*ROOT.glob("core/*/*.?pp")]
    return sorted(str(path.relative_to(ROOT)) for path in files)


def sampled(kind, total, seed):
    """Return the faults to try: at least one per module, more for longer modules.

    Faults are ranked by the hash of their id, so that other changes of a module keep the choice.
    """
    find = python_mutants if kind == "python" else cpp_mutants
    found = {file: find(file) for file in modules(kind)}
    found = {file: mutants for file, mutants in found.items() if mutants}
    everything = sum(map(len, found.values()))
    chosen = []
    for mutants in found.values():
        share = max(1, round((total - len(found)) * len(mutants) / everything) + 1)
        chosen += _spread(mutants, share * (1 if kind == "python" else SPARE), seed)
    return chosen


def _spread(mutants, count, seed):
    """Return the first faults by rank, at most one per line and none inside another."""
    ranked = sorted(mutants, key=lambda each: hashlib.sha1(f"{seed}{each.id}".encode()).digest())
    taken = []
    for each in ranked:
        if len(taken) == count:
            break
        apart = all(each.end <= other.start or each.start >= other.end for other in taken)
        if apart and each.before not in {other.before for other in taken}:
            taken.append(each)
    return taken
