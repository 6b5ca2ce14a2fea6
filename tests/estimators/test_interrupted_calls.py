"""Interrupted calls: all rows are learned, recorded and counted, or none."""

import copy
import itertools

import numpy as np
import pytest
from interrupt_support import (
    CLASSES,
    FEATURES,
    FOREVER,
    ROWS,
    Stop,
    X,
    Y,
    alarm,
    known_by,
    stop,
    stopping_at_line,
)

import aggro
from aggro.kernel_learner import KernelChoice, KernelLearner
from aggro.settings import Settings
from qa.stress.model_state import differences, model_state


def test_a_kernel_function_learns_all_rows_or_none():
    """A handler may predict in the meantime."""

    def kernel(A, B):
        return np.exp(-0.1 * ((A[:, None] - B[None]) ** 2).sum(axis=2))

    choice = KernelChoice(kernel, 0.1, 3, 0.0, 30, "nearest")
    learner = KernelLearner(Settings(task="multiclass"), choice, 0.1, FEATURES, CLASSES)
    batch = {"labels": Y, "weights": None}
    learner.learn_rows(X, batch, np.arange(30))
    before, scores, seen = learner.model.state(), learner.score_rows(X), []

    def handler(*_):
        seen.append(learner.score_rows(X[:5]))
        if len(seen) == 5:
            raise Stop

    with pytest.raises(Stop), alarm(handler, 0.02, 0.02):
        learner.learn_rows(X, batch, FOREVER)
    after = learner.model.state()
    assert all(before[name].tobytes() == after[name].tobytes() for name in before)
    np.testing.assert_array_equal(learner.score_rows(X), scores)
    assert learner.next_id == ROWS and np.isfinite(seen).all()


CALLS = {
    "recorded": lambda: aggro.PassiveAggressiveClassifier(probability=True),
    "recorded, of a kernel": lambda: aggro.KernelPassiveAggressiveClassifier(probability=True),
    "classes are weighed": lambda: aggro.PassiveAggressiveClassifier(class_weight="balanced"),
    "a selection": lambda: aggro.PassiveAggressiveClassifier(C="auto", probability=True),
    "a stream": lambda: aggro.StreamClassifier("PA-I", probability=True),
}


@pytest.mark.parametrize("name", CALLS)
def test_interrupted_call_is_complete_or_rolled_back(name):
    """The learned, recorded and counted rows are the same."""
    begun, lines = CALLS[name](), 0
    learn, rows = "partial_fit", X[:80, :3]
    if name == "a stream":
        learn, rows = "learn_many", pytest.importorskip("pandas").DataFrame(rows)
    getattr(begun, learn)(rows[:60], Y[:60] % 2)
    finished = copy.deepcopy(begun)
    call = (rows[60:], Y[60:80] % 2)
    getattr(finished, learn)(*call)
    may_be = [model_state(begun), model_state(finished)]
    for line in itertools.count(0, 41 if name == "a stream" else 3):
        model = copy.deepcopy(begun)
        try:
            with stopping_at_line(line, ("aggro", "contextlib")):
                getattr(model, learn)(*call)
        except Stop:
            lines += 1
        else:
            break
        found = model_state(model)
        assert [] in [differences(found, each) for each in may_be], line
    assert lines > 10


WORDS = np.array([f"a{i % 7} b{i % 5} c{i % 3}" for i in range(60)])
FITS = {
    "linear": (lambda: aggro.PassiveAggressiveClassifier(max_iter=2, tol=None), X[:60, :3]),
    "sparsified": (lambda: aggro.PassiveAggressiveClassifier(max_iter=2, tol=None), X[:60, :3]),
    "kernel": (lambda: aggro.KernelPassiveAggressiveClassifier(max_iter=2, tol=None), X[:60, :3]),
    "text": (lambda: aggro.TextClassifier(n_features=64, C=1.0, max_iter=2, tol=None), WORDS),
}


@pytest.mark.parametrize("name", FITS)
def test_interrupted_fit_leaves_the_former_model(name):
    """Wherever an interrupt comes, also once the new model is stored."""
    make, rows = FITS[name]
    begun, lines = make(), 0
    begun.fit(rows[:40], Y[:40] % 2)
    if name == "sparsified":
        begun.sparsify()
    former = model_state(begun), type(getattr(begun, "coef_", None))
    files = ("estimators/classifier.py", "estimators/linear.py", "estimators/kernel.py")
    for line in itertools.count():
        model = copy.deepcopy(begun)
        try:
            with stopping_at_line(line, (*files, "text/classifier.py", "text/base.py")):
                model.fit(rows, Y[:60] % 2)
        except Stop:
            lines += 1
        else:
            break
        assert (model_state(model), type(getattr(model, "coef_", None))) == former, line
    assert lines > 10


def test_interrupt_undoes_all_rows_of_a_table():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(FEATURES)])
    stream, again = aggro.StreamClassifier("PA-I"), aggro.StreamClassifier("PA-I")
    for each in (stream, again):
        each.learn_many(frame[:50], Y[:50])
    with pytest.raises(Stop), alarm(stop, 0.02, 0.5):  # exceptions in finalisers are lost
        while True:
            stream.learn_many(frame, Y)
    tables, rest = divmod(stream.examples - 50, ROWS)
    assert rest == 0
    for _ in range(tables):
        again.learn_many(frame, Y)
    assert known_by(stream) == known_by(again)
