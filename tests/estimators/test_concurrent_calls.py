"""Concurrent calls: threads that share an estimator, and interrupted calls."""

import copy
import threading

import numpy as np
import pytest
from estimator_support import knowledge

from aggro import PassiveAggressiveClassifier, StreamClassifier
from aggro.calibration.calibrator import Calibrator
from aggro.estimators.kernel import KernelPassiveAggressiveClassifier
from aggro.reference import rules
from aggro.stream.probability import StreamRecord

rng = np.random.default_rng(0)
X = rng.standard_normal((240, 6))
Y = (X @ rng.standard_normal((6, 4))).argmax(axis=1)
MODELS = {
    "linear": lambda: PassiveAggressiveClassifier(probability=True, C=0.1),
    "selection": lambda: PassiveAggressiveClassifier(probability=True, C="auto", average="auto"),
    "batches": lambda: PassiveAggressiveClassifier(probability=True, batch_size=4),
    "kernel": lambda: KernelPassiveAggressiveClassifier(probability=True, gamma=0.5),
    "plain": lambda: PassiveAggressiveClassifier(C=0.1),
}
RECORDING = [name for name in MODELS if name != "plain"]


def in_threads(*works):
    """Run each function in a separate thread."""
    errors, start = [], threading.Barrier(len(works))

    def run(work):
        start.wait()
        try:
            work()
        except BaseException as error:  # raised by the waiting thread
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@pytest.mark.parametrize("name", MODELS)
def test_no_row_is_lost_between_threads(name):
    """Threads start the model, add classes and record margins concurrently."""
    model = MODELS[name]()
    parts = [np.flatnonzero(label == Y) for label in range(4)]

    def learn(part):
        for rows in np.array_split(part, 5):
            model.partial_fit(X[rows], Y[rows])

    in_threads(*(lambda part=part: learn(part) for part in parts))
    assert model.t_ - 1 == len(Y)
    assert model.classes_.tolist() == [0, 1, 2, 3]
    if model.probability:
        assert model._fitted.record.calibrator.seen == len(Y)
        assert model._fitted.record.calibrator.counts.sum() == len(Y)


def test_failed_call_keeps_the_updates_of_other_threads():
    model = MODELS["linear"]().partial_fit(X[:40], Y[:40])
    bad = X[40:80].copy()
    bad[30, 2] = np.nan

    def rejected():
        for _ in range(10):
            with pytest.raises(ValueError, match="row 30"):
                model.partial_fit(bad, Y[40:80])

    in_threads(rejected, lambda: [model.partial_fit(X[i : i + 9], Y[i : i + 9]) for i in range(90)])
    assert model.t_ - 1 == 40 + 90 * 9


@pytest.mark.parametrize("name", RECORDING)
def test_interrupt_before_recording_undoes_the_call(name, monkeypatch):
    """Ctrl-C after all rows are learned, before they are recorded."""
    model = MODELS[name]().partial_fit(X[:80], Y[:80])
    before, plain = knowledge(model), copy.deepcopy(model)

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Calibrator, "update", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(X[80:], Y[80:])
    assert knowledge(model) == before
    model.partial_fit(X[80:], Y[80:])
    plain.partial_fit(X[80:], Y[80:])
    assert np.array_equal(model.predict_proba(X), plain.predict_proba(X))


@pytest.mark.parametrize("name", MODELS)
def test_nested_learning_raises(name):
    model = MODELS[name]().partial_fit(X, Y)
    with model._lock.take(), pytest.raises(RuntimeError, match="The model is learning"):
        model.partial_fit(X, Y)
    model.partial_fit(X, Y)
    assert copy.deepcopy(model)._lock is not model._lock


@pytest.mark.parametrize("moment", ["with_example", "flush"])
@pytest.mark.parametrize("C", [0.1, "auto"])
def test_stream_records_an_interrupted_example_once(moment, C, monkeypatch):
    """Ctrl-C after an example was learned: it is recorded once, when needed."""
    rows = [{f"f{j}": float(v) for j, v in enumerate(row)} for row in X]
    one, two = (StreamClassifier("PA-I", C=C, probability=True) for _ in range(2))
    original = getattr(StreamRecord, moment)

    def interrupted(self, *args):
        original(self, *args)
        raise KeyboardInterrupt

    for i, row in enumerate(rows):
        two.learn_one(row, int(Y[i]))
        with monkeypatch.context() as patch:
            if i % 3 == 0:
                patch.setattr(StreamRecord, moment, interrupted)
            try:
                one.learn_one(row, int(Y[i]))
            except KeyboardInterrupt:
                assert i % 3 == 0
    assert one.examples == two.examples == len(rows)
    assert one.predict_proba_one(rows[0]) == two.predict_proba_one(rows[0])
    assert one._record.recent == two._record.recent


@pytest.mark.parametrize("axes", [{}, {"class_mean": 0.1}, {"average": True, "metric": "diagonal"}])
def test_last_row_of_a_batch_may_come_in_a_separate_call(axes):
    one, two = (PassiveAggressiveClassifier(batch_size=4, random_state=0, **axes) for _ in range(2))
    one.partial_fit(X[:57], Y[:57], classes=np.arange(4))
    two.partial_fit(X[:56], Y[:56], classes=np.arange(4)).partial_fit(X[56:57], Y[56:57])
    assert knowledge(one) == knowledge(two)


@pytest.mark.parametrize("rule", [rules.scw_i, rules.scw_ii])
def test_reference_may_deviate_after_a_large_step(rule):
    """The precision grows by kappa = alpha phi / sqrt(u), where u must not cancel to zero."""
    phi, V = 1.0, 1e9
    alpha, kappa = rule(-1e9, V, phi, np.inf)
    assert np.isfinite(kappa) and alpha > 0
    u = V / (1 + kappa * V)  # the variance after the step
    assert np.isclose(kappa * np.sqrt(u), alpha * phi, rtol=1e-6)
