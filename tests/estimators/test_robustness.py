"""Threads on one model, Ctrl-C, memory use, and lazy imports."""

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from linear_support import make_problem, stored

from aggro import PassiveAggressiveClassifier, PassiveAggressiveRegressor


@pytest.mark.parametrize(
    "axes",
    [{}, {"metric": "full", "class_mean": 0.1}, {"metric": "diagonal", "average": True, "queue": 2},
     {"multiclass": "ovr", "batch_size": 4}],
    ids=str,
)  # fmt: skip
def test_threads_on_one_model_lose_no_updates(axes):
    """Updates are serialised, and readers see consistent models."""
    X, y = make_problem("multiclass", 4, np.random.default_rng(0), 400, 20)
    model = PassiveAggressiveClassifier(C=0.1, **axes).partial_fit(X, y)
    done = threading.Event()

    def write(seed):
        rows = np.random.default_rng(seed).permutation(400)
        for _ in range(5):
            model.partial_fit(X[rows], y[rows])

    def read():
        while not done.is_set():
            scores = model.decision_function(X)
            assert scores.shape == (400, 4)
            assert np.isfinite(scores).all()

    with ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read) for _ in range(2)]
        writers = [pool.submit(write, seed) for seed in (1, 2)]
        for writer in writers:
            writer.result()
        done.set()
        for reader in readers:
            reader.result()
    assert model.t_ == 400 * 11 + 1
    assert np.isfinite(model.coef_).all()
    assert model.score(X, y) > 0.6
    scores = X @ np.array(model.coef_).T + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-9)


def test_failing_thread_does_not_affect_the_others():
    """Rolling back a failed call keeps the updates of other threads."""
    X, y = make_problem("binary", 1, np.random.default_rng(1), 200, 10)
    model = PassiveAggressiveRegressor(C=0.1).partial_fit(X, y)
    bad = X.copy()
    bad[150, 3] = np.nan

    def good():
        for _ in range(20):
            model.partial_fit(X, y)

    def wrong():
        for _ in range(20):
            with pytest.raises(ValueError, match="row 150"):
                model.partial_fit(bad, y)

    with ThreadPoolExecutor(2) as pool:
        for task in [pool.submit(good), pool.submit(wrong)]:
            task.result()
    assert model.t_ == 200 * 21 + 1
    assert np.isfinite(model.coef_).all()


def interrupted(call):
    """Run a call that would take minutes and send SIGINT meanwhile."""
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    try:
        with pytest.raises(KeyboardInterrupt):
            timer.start()
            call()
    finally:
        timer.cancel()
        timer.join()


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("storage", ["dense", "csr32"])
def test_interrupted_fit_restores_the_model(storage):
    """KeyboardInterrupt is raised promptly, and the model is as before ``fit``."""
    X, y = make_problem("multiclass", 5, np.random.default_rng(2), 5000, 100)
    rows = stored(X, storage)
    model = PassiveAggressiveClassifier(metric="diagonal", max_iter=10**6, tol=None)
    interrupted(lambda: model.fit(rows, y))
    assert not hasattr(model, "coef_")
    model.partial_fit(rows[:500], y[:500])
    weights, classes = np.array(model.coef_), model.classes_
    interrupted(lambda: model.fit(rows, y % 3))
    assert np.array_equal(model.coef_, weights)
    assert np.array_equal(model.classes_, classes)
    model.partial_fit(rows, y)
    assert model.t_ == 5501
    assert model.score(rows, y) > 0.5


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_interrupt_inside_one_pass_stops_after_an_example():
    """The core checks for signals and stops between two examples."""
    X, y = make_problem("binary", 1, np.random.default_rng(3), 2000, 400)
    rows = np.tile(X, (2, 1))
    model = PassiveAggressiveClassifier(metric="full").partial_fit(X[:10], y[:10], classes=[0, 1])
    labels = np.tile(y, 2)
    interrupted(lambda: [model.partial_fit(rows, labels) for _ in range(1000)])
    assert model.t_ > 11
    assert np.isfinite(model.coef_).all()
    model.partial_fit(X[:10], y[:10])


MEMORY = """
import resource, sys
import numpy as np, scipy.sparse as sp
from aggro import PassiveAggressiveClassifier, PassiveAggressiveRegressor
X = np.random.default_rng(0).standard_normal((100_000, 250))
if sys.argv[1] == "csr":
    X = sp.csr_matrix((X.ravel(), np.tile(np.arange(250, dtype=np.int32), len(X)),
                       np.arange(0, X.size + 1, 250, dtype=np.int32)), shape=X.shape)
y = np.random.default_rng(1).integers(0, 3, X.shape[0])
size = X.nbytes if sys.argv[1] == "dense" else X.data.nbytes + X.indices.nbytes
small = X[:1000]
model = PassiveAggressiveClassifier(max_iter=1, tol=None, shuffle=sys.argv[2] == "1")
model.fit(small, y[:1000]).predict(small)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
model.fit(X, y)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print((after - before) * 1024 / size)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss counts kilobytes on Linux only")
@pytest.mark.parametrize("storage", ["dense", "csr"])
@pytest.mark.parametrize("shuffle", ["0", "1"])
def test_fit_does_not_copy_its_rows(storage, shuffle):
    """For 200 MB of rows, ``fit`` allocates less than a twentieth of that."""
    out = subprocess.run(
        [sys.executable, "-c", MEMORY, storage, shuffle], check=True, capture_output=True, text=True
    )
    assert float(out.stdout) < 0.05


@pytest.mark.parametrize(
    "statement", ["import aggro", "import aggro.learner", "import aggro.settings"]
)
def test_heavy_packages_are_imported_lazily(statement):
    """scikit-learn and scipy are imported on first use."""
    names = "('sklearn', 'scipy', 'pandas')"
    code = f"{statement}; import sys; print([m for m in {names} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert out.stdout.strip() == "[]"


def test_unknown_names_raise_attribute_error():
    import aggro

    with pytest.raises(AttributeError, match="nothing_of_this_name"):
        _ = aggro.nothing_of_this_name
    assert set(aggro.__all__) <= set(dir(aggro))
