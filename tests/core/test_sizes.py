"""Models too large for memory are rejected before allocation, and nothing changes.

The sizes are far beyond any machine; the tests allocate nothing of that size.
"""

import os
import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import scipy.sparse as sp
from linear_support import make_learner, same_state

import aggro
from aggro import _core
from aggro.cli import main
from aggro.kernel_learner import KernelChoice, KernelLearner
from aggro.learner import rows_of
from aggro.settings import Settings

# sizes in bytes that overflow to zero or to a small number
WIDTHS = (2**40, 2**58, 2**60, 576460752303423491, 2**61 + 3, 2**62, 2**63 - 1)
KINDS = (
    {},
    {"average": True},
    {"metric": "diagonal"},
    {"metric": "full"},
    {"class_mean": 0.1},
    {"scale": "online"},
    {"scale": "standard"},
    {"queue": 5},
    {"average": "reservoir"},
    {"multiclass": "ovr"},
)


def wide(width, rows=3):
    """Return rows of one entry each, one of them in the last column."""
    indices = np.array([k * (width - 1) // (rows - 1) for k in range(rows)])
    return sp.csr_array((np.ones(rows), indices, np.arange(rows + 1)), shape=(rows, width))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_too_many_features_raise_memory_error(kind, dtype):
    for width in WIDTHS:
        for outputs in (2, 3, 1000):
            with pytest.raises(MemoryError, match=r"features needs [\d.e+]+ GiB of memory, but"):
                make_learner(Settings(task="multiclass", **kind), width, outputs, dtype)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_failed_growth_leaves_the_model_usable(kind):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 5)), rng.integers(0, 3, 40)
    settings = Settings(task="multiclass", **kind)
    learner, unchanged = (make_learner(settings, 5, 3) for _ in range(2))
    for each in (learner, unchanged):
        each.learn(rows_of(X), labels=y)
    for width in WIDTHS:
        with pytest.raises(MemoryError, match="GiB"):
            learner.model.grow(width)
        assert same_state(learner, unchanged) and learner.features == 5
    X = np.hstack([X, X])
    for each in (learner, unchanged):
        each.model.grow(10)
        each.learn(rows_of(X), labels=y)
    assert same_state(learner, unchanged)


@pytest.mark.parametrize("width", WIDTHS)
def test_estimators_report_the_memory_a_wide_matrix_needs(width):
    X, y = wide(width), [0, 1, 2]
    models = (
        aggro.PassiveAggressiveClassifier(),
        aggro.PassiveAggressiveRegressor(),
        aggro.PassiveAggressiveClassifier(C="auto"),
        aggro.AROWClassifier(),
        aggro.KernelPassiveAggressiveClassifier(gamma=0.1),
    )
    for model in models:
        for learn in (model.fit, model.partial_fit):
            with pytest.raises(MemoryError, match=r"GiB of memory, but this machine has"):
                learn(X, y)
            assert not hasattr(model, "_learner")
    fitted = aggro.PassiveAggressiveClassifier().fit(np.eye(3), y)
    with pytest.raises(ValueError, match="features"):
        fitted.predict(X)


@pytest.mark.parametrize("features", WIDTHS)
def test_kernel_of_too_many_features_raises_memory_error(features):
    choice = KernelChoice("rbf", 0.1, 3, 0.0, None, "simple")
    for sparse in (False, True):
        with pytest.raises(MemoryError, match=r"a kernel on \d+ features needs .* GiB"):
            KernelLearner(Settings(task="multiclass"), choice, 0.1, features, 3, sparse)


@pytest.mark.parametrize("setting", [{"queue": 2**60}, {"queue": 2**62 + 1}, {"queue": 2**36}])
def test_too_long_queue_is_rejected(setting):
    with pytest.raises(MemoryError, match="GiB"):
        make_learner(Settings(task="multiclass", **setting), 10, 3)


def test_too_large_reservoir_is_rejected():
    for size in (2**40, 2**60, 2**62 + 1):
        settings = Settings(task="multiclass", average="reservoir", reservoir_size=size)
        with pytest.raises(MemoryError, match="GiB"):
            make_learner(settings, 10, 3)


def test_too_large_max_features_is_rejected():
    with pytest.raises(MemoryError, match=r"a full metric on .* GiB.*diagonal"):
        aggro.StreamClassifier("PA-I", max_features=2**31 - 1, overflow="hash", metric="full")


def test_too_large_minibatch_is_rejected_before_learning():
    rows = 300_000
    X, y = np.ones((rows, 1)), np.arange(rows) % 2
    settings = Settings(task="binary", batch_size=rows, class_mean=0.1)
    learner = make_learner(settings, 1, 1)
    before = learner.state()
    with pytest.raises(MemoryError, match=r"a mini-batch of 300000 rows needs .* GiB"):
        learner.learn(rows_of(X), labels=y)
    after = learner.state()
    assert all(before[name].tobytes() == after[name].tobytes() for name in before)
    choice = KernelChoice("rbf", 0.1, 3, 0.0, None, "simple")
    kernel = KernelLearner(Settings(task="binary", batch_size=rows), choice, 0.1, 1, 2)
    with pytest.raises(MemoryError, match=r"a mini-batch of 300000 rows"):
        kernel.learn_rows(X, {"labels": y})
    assert kernel.examples == 0


def test_command_line_error_names_the_example(tmp_path, capsys):
    """The file is valid but has too many features for the requested model."""
    data = tmp_path / "wide.svm"
    data.write_text("1 1:1\n2 3:1\n3 9999999:1 5:2\n1 2:1\n")
    assert main(["train", str(data), "-o", str(tmp_path / "m"), "--metric", "full"]) == 1
    message = capsys.readouterr().err
    assert re.search(r"wide.svm, example 3: feature 9999998: .* [\d.]+ GiB .*diagonal", message), (
        message
    )
    assert not (tmp_path / "m").exists()


SHORT_OF_MEMORY = """
    import resource
    import numpy as np
    from linear_support import make_learner
    from aggro.learner import rows_of
    from aggro.settings import Settings

    LIMITS = resource.getrlimit(resource.RLIMIT_AS)

    def leave(free):
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + free, LIMITS[1]))

    def leave_all():
        resource.setrlimit(resource.RLIMIT_AS, LIMITS)
"""
NEXT_TO_NONE = """
    X, y = np.ones((40, 4000)), np.arange(40) % 500
    settings = Settings(task="multiclass", multiclass="ovr")
    learner = make_learner(settings, 4000, 500)
    learner.learn(rows_of(X), labels=y)
    before = learner.coef().copy()
    leave(1 << 20)
    errors = []
    for attempt in (learner.state, lambda: learner.model.grow(40_000)):
        try:
            kept = attempt()
        except MemoryError as error:
            errors.append(str(error))
    for _ in range(3):  # without memory for threads, too
        learner.scores(rows_of(X[:2]), threads=64)
    leave_all()
    assert len(errors) == 2 and all("not enough memory" in text for text in errors), errors
    assert np.array_equal(before, learner.coef()) and learner.features == 4000
    learner.learn(rows_of(X), labels=y, threads=4)
"""
GROWING = """
    X, y = np.random.default_rng(0).normal(size=(40, 30)), np.arange(40) % 2
    settings = Settings(task="binary", average=True, class_mean=0.1, **{setting})
    learner = make_learner(settings, 30, 1)
    free = 0
    while learner.features == 30:
        learner.learn(rows_of(X), labels=y)
        before = learner.state()
        leave(free)
        try:
            learner.model.grow(1_000_000)
        except MemoryError:
            leave_all()
            after = learner.state()
            assert all(np.array_equal(before[name], after[name]) for name in before), free
        free += 1 << 20
    assert learner.features == 1_000_000 and free > 20 << 20, free
"""


def limited(test):
    """Skip a test where no memory limit can be set."""
    for condition, reason in (
        (not sys.platform.startswith("linux"), "sets a limit as Linux has it"),
        (_core.level in ("sanitized", "tsan"), "the sanitizer needs much memory"),
    ):
        test = pytest.mark.skipif(condition, reason=reason)(test)
    return test


def run_short_of_memory(program):
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SHORT_OF_MEMORY) + textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": ":".join(sys.path), "OMP_NUM_THREADS": "1"},
    )
    assert ended.returncode == 0, ended.stderr[-2000:]


@limited
def test_running_out_of_memory_leaves_the_model_unchanged():
    """With almost no memory left, calls raise MemoryError and learning continues later."""
    run_short_of_memory(NEXT_TO_NONE)


@limited
@pytest.mark.parametrize(
    "setting",
    [{}, {"scale": "online"}, {"scale": "standard"}, {"metric": "diagonal", "scale": "standard"}],
)
def test_growth_that_runs_out_of_memory_changes_nothing(setting):
    """The limit is raised in steps, so that each allocation of the growth fails once."""
    run_short_of_memory(GROWING.replace("{setting}", repr(setting)))


def test_more_features_than_32_bit_indices_are_rejected():
    """Machines with too little memory raise MemoryError instead."""
    with pytest.raises((ValueError, MemoryError), match=r"2147483648 features (are|need)"):
        make_learner(Settings(task="binary"), 2**31, 1, np.float32)
