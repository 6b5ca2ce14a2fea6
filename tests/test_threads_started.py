"""How many threads are started: none for one job, and no work is lost where none can be had."""

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
    from aggro.learn.learner import rows_of
    from aggro.rules import Settings

    texts = [f"some words and number {k}" for k in range(1000)]
    X, y = np.random.default_rng(0).normal(size=(4000, 50)), np.arange(4000) % 128

    def read(threads):
        return HashingVectorizer(n_jobs=threads).transform(texts).data

    def count(threads):
        return HashingVectorizer(n_jobs=threads, idf="online").fit_transform(texts).data

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


def run(program, stack, room=resource.RLIM_INFINITY):
    """Run a program behind the work in a process of its own; return what it printed.

    Its threads have a stack of so many bytes, and all together so much room.
    """

    def limit():
        for kind, most in ((resource.RLIMIT_STACK, stack), (resource.RLIMIT_AS, room)):
            resource.setrlimit(kind, (most, resource.RLIM_INFINITY))

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


@pytest.mark.parametrize("kind", KINDS)
def test_one_job_starts_no_thread(kind):
    """A thread takes a stack, of which the largest size of the process tells."""
    program = f"""
    def size(name):
        (line,) = [line for line in open("/proc/self/status") if line.startswith(name)]
        return int(line.split()[1]) * 1024

    def growth(threads):
        filled = np.empty(size("VmPeak") - size("VmSize"), np.uint8)
        before = size("VmPeak")
        {kind}(threads)
        return size("VmPeak") - before

    {kind}(1)
    print(growth(1), growth(4))
    """
    alone, several = map(int, run(program, stack=1 << 30).split())
    assert alone < 1 << 29 < several


@pytest.mark.parametrize("kind", KINDS)
def test_without_any_thread_to_be_had_all_is_done(kind):
    """As in a container that may have no more of them."""
    program = f"""
    import threading
    try:
        threading.Thread(target=print).start()
    except RuntimeError:  # none can be had
        assert np.array_equal({kind}(4), {kind}(1))
        print("done")
    """
    assert run(program, stack=1 << 38, room=1 << 37) == "done\n"
