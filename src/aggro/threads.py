"""How many threads ``n_jobs`` means."""

from __future__ import annotations

import os


def threads_of(n_jobs: int | None) -> int:
    """Return a number of threads: None is one, -1 all cores, -2 all but one.

    >>> threads_of(None), threads_of(3), threads_of(-1) >= 1
    (1, 3, True)
    """
    if n_jobs is None:
        return 1
    if not hasattr(n_jobs, "__index__") or isinstance(n_jobs, bool) or n_jobs == 0:
        raise ValueError(
            f"n_jobs={n_jobs!r} is not valid; give a number of threads, -1 for all cores, or None."
        )
    return int(n_jobs) if n_jobs > 0 else max(1, _cores() + 1 + int(n_jobs))


def _cores() -> int:
    """Return the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
