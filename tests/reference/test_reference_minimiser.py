"""Every rule minimises its problem, for all combinations of the axes."""

from itertools import product

import numpy as np
import pytest
from reference_problems import Round, class_mean_pull, group_targets, labels_for

from aggro.reference import ReferenceLearner

CLASSIFY = ["hard", "hinge", "squared_hinge", "least_squares"]
REGRESS = ["hard", "epsilon_insensitive", "squared_epsilon_insensitive", "least_squares"]
TASKS = [
    ("binary", "support", 1, CLASSIFY),
    ("regression", "support", 2, REGRESS),
    ("multiclass", "support", 4, CLASSIFY[:3]),
    ("multiclass", "top", 4, CLASSIFY),
    ("multiclass", "predicted", 4, CLASSIFY),
    ("multiclass", "ovr", 3, CLASSIFY),
    ("multilabel", "support", 2, CLASSIFY),
]
CENTRES = [
    (0.0, 1, "loss"),
    (0.3, 1, "loss"),
    (0.3, 1, "always"),
    (0.0, 3, "loss"),
    (0.7, 3, "always"),
]
CASES = [(*task[:3], loss) for task in TASKS for loss in task[3]]


def watch(learner, rng, rounds=6, dimension=5):
    """Learn random batches; after each, compare the weights with the problem of that round."""
    moved = 0
    queues = [[] for _ in learner.groups]
    histories = [[] for _ in learner.groups]
    for _ in range(rounds):
        X = rng.normal(size=(learner.batch_size, dimension))
        y = labels_for(learner.task, rng, len(X), learner.n_outputs)
        omega = rng.choice([0.5, 1.0, 2.0], len(X))
        rows = np.column_stack([X, np.ones(len(X))]) if learner.fit_intercept else X
        before = [(group.W, group.metric.precision) for group in learner.groups]
        learner.learn_batch(X, y, omega)
        targets = group_targets(learner.task, learner.coupled, y, learner.n_outputs)
        state = zip(learner.groups, before, targets, queues, histories, strict=True)
        for group, (W, precision), target, queue, history in state:
            history.extend(zip(rows, target, omega, strict=True))
            pull = np.zeros_like(W)
            if learner.class_mean:
                pull = class_mean_pull(history, group.task.kind, *W.shape, learner.fit_intercept)
            settings = group.task.kind, learner.loss, learner.C, learner.epsilon
            rest = precision, rows, target, omega
            here = Round(*settings, W, W, 0.0, *rest)  # no pull: violations at w_t
            if learner.trigger == "loss" and not np.any(here.violations(W) > 0):
                assert group.W is W
                assert group.metric.precision is precision
                continue
            queue.append(W)
            recent = np.mean(queue[-learner.queue :], axis=0)
            Round(*settings, recent, pull, learner.class_mean, *rest).assert_minimised_by(
                group.W, rng
            )
            moved += 1
    return moved


@pytest.mark.parametrize(("task", "multiclass", "n_outputs", "loss"), CASES)
def test_each_combination_takes_the_minimiser(task, multiclass, n_outputs, loss):
    rng = np.random.default_rng(0)
    axes = product(["euclidean", "diagonal", "full"], CENTRES, [1, 3])
    for number, (metric, (gamma, queue, trigger), batch_size) in enumerate(axes):
        if task == "regression" and gamma > 0:
            continue
        learner = ReferenceLearner(
            task,
            n_features=5,
            n_outputs=n_outputs,
            loss=loss,
            C=float(10 ** rng.uniform(-1.5, 0.5)),
            multiclass=multiclass,
            fit_intercept=number % 2 == 0,
            metric=metric,
            class_mean=gamma,
            trigger=trigger,
            queue=queue,
            batch_size=batch_size,
        )
        assert watch(learner, rng) > 0


def test_the_criterion_rejects_a_wrong_step():
    rng = np.random.default_rng(1)
    x, W = rng.normal(size=(1, 3)), np.zeros((1, 3))
    one = np.ones(1)
    problem = Round("binary", "hinge", 10.0, 0.0, W, W, 0.0, np.ones(3), x, one, one)
    problem.assert_minimised_by(x / np.sum(x**2), rng)
    with pytest.raises(AssertionError):
        problem.assert_minimised_by(0.8 * x / np.sum(x**2), rng)
