"""Threads are started only if worthwhile; if none can be started, one thread does all work."""

import os
import subprocess
import sys
import textwrap

import pytest

from aggro import _core

resource = pytest.importorskip("resource", reason="limits are those of Unix")
pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks as Linux answers"),
    pytest.mark.skipif(_core.level in ("sanitized", "tsan"), reason="the sanitizer has threads"),
]

WORK = """
    import numpy as np
    from linear_support import make_learner
    from aggro.text import HashingVectorizer
    from aggro.learner import rows_of
    from aggro.settings import Settings

    texts = [f"some words and number {k}" for k in range(1000)]
    X, y = np.random.default_rng(0).normal(size=(4000, 50)), np.arange(4000) % 128

    def read(threads):
        return HashingVectorizer(n_jobs=threads).transform(texts).data

    def read_few(threads):
        return HashingVectorizer(n_jobs=threads).transform(texts[:3]).data

    def count(threads):
        return HashingVectorizer(n_jobs=threads, idf=True).fit_transform(texts).data

    def learner(threads):
        made = make_learner(Settings(task="multiclass", multiclass="ovr"), 50, 128)
        made.learn(rows_of(X), labels=y, threads=threads)
        return made

    def learn(threads):
        return learner(threads).coef()

    known = learner(1)

    def score(threads):
        return known.scores(rows_of(X), threads=threads)
"""
KINDS = ["read", "count", "learn", "score"]


def run(program, **limits):
    """Run a program in a subprocess with resource limits; return its output.

    STACK limits the stack of a thread, AS the address space.
    """

    def limit():
        for name, most in limits.items():
            kind = getattr(resource, f"RLIMIT_{name}")
            resource.setrlimit(kind, (most, resource.getrlimit(kind)[1]))

    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(WORK) + textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limit,
        env={**os.environ, "PYTHONPATH": ":".join(sys.path), "OMP_NUM_THREADS": "1"},
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    return ended.stdout


METER = """
    def size(name):
        (line,) = [line for line in open("/proc/self/status") if line.startswith(name)]
        return int(line.split()[1]) * 1024

    def growth(work, threads):
        filled = np.empty(size("VmPeak") - size("VmSize"), np.uint8)
        before = size("VmPeak")
        work(threads)
        return size("VmPeak") - before

"""


def started(*calls):
    """Print for each call whether it starts a thread, judged by the size of the process."""
    stack = 1 << 30
    program = METER + "".join(f"    print(growth({work}, {threads}))\n" for work, threads in calls)
    return [int(grown) > stack / 2 for grown in run(program, STACK=stack).split()]


@pytest.mark.parametrize("kind", KINDS)
def test_one_job_starts_no_thread(kind):
    assert started((kind, 1), (kind, 4)) == [False, True]


def test_few_texts_start_no_threads():
    """For one text per call, starting a thread would cost more than the work."""
    assert started(("read_few", 1), ("read_few", 4), ("read", 4)) == [False, False, True]


@pytest.mark.parametrize("kind", KINDS)
def test_work_is_done_if_no_thread_can_be_started(kind):
    """Containers may limit the number of threads."""
    program = f"""
    import threading
    try:
        threading.Thread(target=print).start()
    except RuntimeError:  # none can be had
        assert np.array_equal({kind}(4), {kind}(1))
        print("done")
    """
    assert run(program, STACK=1 << 38, AS=1 << 37) == "done\n"
