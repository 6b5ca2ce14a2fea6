"""n_mistakes_ counts the wrong predictions made before each example is learned."""

import numpy as np
import pytest
from linear_support import CASES, make_learner, make_problem, stored, train

import aggro
from aggro.learner import Learner, rows_of
from aggro.settings import Settings

AVERAGES = [False, True, 25, "reservoir"]
AXES = [
    {},
    {"batch_size": 4},
    {"metric": "diagonal"},
    {"metric": "full"},
    {"class_mean": 0.2},
    {"queue": 3},
    {"scale": "online"},
]


def wrong(learner, scores, y):
    """Return for each row whether its prediction is wrong."""
    if learner.settings.task == "binary":
        return (scores[:, 0] > 0) != (y == 1)
    if learner.settings.task == "multiclass":
        return scores.argmax(axis=1) != y
    return np.any((scores > 0) != (y > 0), axis=1)


@pytest.mark.parametrize("axes", AXES, ids=str)
@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("case", ["binary", "support", "ovr", "multilabel"])
def test_mistakes_equal_a_manual_test_then_train_loop(case, average, axes):
    task, outputs, multiclass = CASES[case]
    settings = Settings(task=task, multiclass=multiclass, average=average, **axes)
    X, y = make_problem(task, outputs, np.random.default_rng(5), 120, 6, noise=1.5)
    size = settings.batch_size
    by_hand = make_learner(settings, 6, outputs)
    mistakes = 0
    for k in range(0, len(y), size):
        rows = X[k : k + size]
        if settings.scale == "online":  # the scales include the row that is predicted
            seen = X[: k + 1]
            rms = np.sqrt((seen**2).sum(axis=0) / np.maximum((seen != 0).sum(axis=0), 1))
            weights = by_hand.model.state()
            known = np.sqrt(weights["scale_square"] / np.maximum(weights["scale_seen"], 1))
            ratio = np.divide(known, rms, out=np.zeros(6), where=rms > 0)
            rows = rows * ratio
        mistakes += wrong(by_hand, by_hand.scores(rows_of(rows)), y[k : k + size]).sum()
        train(by_hand, X[k : k + size], y[k : k + size])
    assert by_hand.progress.mistakes == mistakes
    for storage in ("dense", "csr32"):
        whole = train(make_learner(settings, 6, outputs), stored(X, storage), y)
        assert whole.progress.mistakes == mistakes


@pytest.mark.parametrize("axes", AXES, ids=str)
@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("case", ["binary", "support", "ovr"])
def test_mistakes_of_a_candidate_equal_those_of_the_model_alone(case, average, axes):
    task, outputs, multiclass = CASES[case]
    classes = 2 if case == "binary" else outputs
    X, y = make_problem(task, outputs, np.random.default_rng(6), 200, 6, noise=1.5)
    common = {"task": task, "multiclass": multiclass, "average": average, **axes}
    grid = (0.01, 0.1, 1.0)
    together = Learner([Settings(C=C, **common) for C in grid], 6, classes)
    train(together, X, y)
    for place, C in enumerate(grid):
        alone = train(Learner(Settings(C=C, **common), 6, classes), X, y)
        if average == "reservoir":
            continue  # all candidates share one random number generator
        assert together.progress_of(place).mistakes == alone.progress.mistakes
        assert together.progress_of(place).loss == pytest.approx(alone.progress.loss, rel=1e-9)


@pytest.mark.parametrize("average", [False, True, 25])
def test_mistakes_do_not_depend_on_threads(average):
    X, y = make_problem("multilabel", 64, np.random.default_rng(2), 400, 40, noise=1.5)
    settings = Settings(task="multilabel", average=average)
    one, two = (Learner(settings, 40, 64) for _ in range(2))
    one.learn(rows_of(X), values=y, threads=1)
    two.learn(rows_of(X), values=y, threads=2)
    assert one.progress == two.progress


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("axes", [{}, {"class_mean": 0.2}, {"metric": "full"}], ids=str)
def test_streams_count_the_mistakes_of_predict_one(average, axes):
    X, y = make_problem("binary", 1, np.random.default_rng(8), 150, 4, noise=1.5)
    stream = aggro.StreamClassifier("SPA-I", average=average, **axes)
    rows = [{str(j): v for j, v in enumerate(x)} for x in X]
    both = 1 + max(np.argmax(y), np.argmin(y))  # from here on both classes are known
    for row, label in zip(rows[:both], y[:both], strict=True):
        stream.learn_one(row, label)
    mistakes = stream.n_mistakes_
    for row, label in zip(rows[both:], y[both:], strict=True):
        mistakes += stream.predict_one(row) != label
        stream.learn_one(row, label)
    assert stream.n_mistakes_ == mistakes


@pytest.mark.parametrize("params", [{}, {"batch_size": 3}, {"multiclass": "ovr"}], ids=str)
@pytest.mark.parametrize("classes", [2, 3])
def test_kernel_learners_count_the_mistakes_of_predict(params, classes):
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((90, 3)), rng.integers(0, classes, 90)
    size = params.get("batch_size", 1)
    make = aggro.KernelPassiveAggressiveClassifier
    whole = make(average=True, gamma=0.5, **params).partial_fit(X, y)
    last = make(gamma=0.5, **params).partial_fit(X, y)
    steps = make(average=True, gamma=0.5, **params)
    mistakes = 0
    for k in range(0, 90, size):
        if k > 0:
            mistakes += np.count_nonzero(steps.predict(X[k : k + size]) != y[k : k + size])
        steps.partial_fit(X[k : k + size], y[k : k + size], classes=range(classes))
        if k == 0:
            mistakes = steps.n_mistakes_
    assert whole.n_mistakes_ == steps.n_mistakes_ == mistakes
    assert whole.n_mistakes_ != last.n_mistakes_
    assert whole.cumulative_loss_ == pytest.approx(last.cumulative_loss_)


def test_a_sweep_reports_the_mistakes_of_each_model():
    X, y = make_problem("binary", 1, np.random.default_rng(9), 300, 6, noise=2.0)
    swept = aggro.sweep(X, y, C=[0.01, 1.0], average=[False, True])
    for row in swept.rows:
        model = aggro.PassiveAggressiveClassifier(**row.params).partial_fit(X, y)
        assert row.error == pytest.approx(model.n_mistakes_ / len(y))


@pytest.mark.parametrize("multiclass", ["support", "top", "predicted", "ovr"])
@pytest.mark.parametrize("classes", [2, 3])
def test_mistakes_are_those_of_predict_for_every_multiclass_constraint(multiclass, classes):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 4))
    y = rng.integers(classes, size=60)
    model = aggro.PassiveAggressiveClassifier(multiclass=multiclass)
    found = 0
    for i in range(60):
        said = model.predict(X[i : i + 1])[0] if i else 0
        found += said != y[i]
        model.partial_fit(X[i : i + 1], y[i : i + 1], classes=np.arange(classes))
    assert model.n_mistakes_ == found


@pytest.mark.parametrize("batch_size", [1, 4])
@pytest.mark.parametrize("case", ["binary", "ovr", "multilabel", "regression", "regressions"])
def test_each_output_counts_its_own_mistakes(case, batch_size):
    """Regression outputs have none."""
    task, outputs, multiclass = CASES[case]
    settings = Settings(task=task, multiclass=multiclass, batch_size=batch_size)
    X, y = make_problem(task, outputs, np.random.default_rng(5), 120, 6, noise=1.5)
    learner, mistakes = make_learner(settings, 6, outputs), 0
    for start in range(0, len(X), batch_size):
        part = slice(start, start + batch_size)
        positive = learner.scores(rows_of(X[part])) > 0
        if task != "regression":
            given = y[part].reshape(len(positive), -1)
            truth = given == np.arange(outputs) if task == "multiclass" else given > 0
            mistakes = mistakes + (positive != truth).sum(axis=0)
        train(learner, X[part], y[part])
    counted = learner.state()["mistakes"]
    assert np.array_equal(counted, np.broadcast_to(mistakes, counted.shape))
    assert (counted > 0).all() == (task != "regression")
