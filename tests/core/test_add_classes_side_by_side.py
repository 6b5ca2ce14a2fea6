"""Adding classes to several models equals adding them to each model alone."""

import dataclasses
import itertools

import numpy as np
import pytest
from closeness import assert_close

from aggro.classes import Classes
from aggro.learner import Learner, rows_of
from aggro.selection.learners import select
from aggro.settings import Settings

C_VALUES = (0.01, 0.3, 10.0)
AXES = [
    {},
    {"metric": "diagonal"},
    {"metric": "full"},
    {"class_mean": 0.2, "average": True},
    {"queue": 4},
    {"queue": 3, "class_mean": 0.1, "average": True},
    {"average": "reservoir", "reservoir_size": 3},
    {"scale": "online", "average": 5},
    {"class_mean": 0.1, "forgetting": 0.02},
]
GROWTHS = [
    *(((0,), 2, (0,)), ((0,), 2, (1,)), ((0,), 4, (2,))),
    *(((0, 1), 3, (0, 2)), ((0, 1, 2), 5, (0, 1, 4))),
]


def problem(labels, rows=40, seed=0):
    random = np.random.default_rng(seed)
    return random.normal(size=(rows, 4)), random.choice(labels, size=rows).astype(np.int64)


def candidates(settings, classes):
    task = "binary" if classes <= 2 else "multiclass"
    return [dataclasses.replace(settings, task=task, C=C) for C in C_VALUES]


@pytest.mark.parametrize("multiclass", ["support", "top", "ovr"])
@pytest.mark.parametrize("axes", AXES, ids=str)
@pytest.mark.parametrize(("labels", "classes", "position"), GROWTHS, ids=str)
def test_adding_classes_to_several_models_equals_each(axes, multiclass, labels, classes, position):
    settings = Settings(task="binary", loss="hinge", multiclass=multiclass, **axes)
    X, y = problem(labels)
    before, after = candidates(settings, len(labels)), candidates(settings, classes)
    learner = Learner(before, 4, len(labels))
    learner.model.set_memory(0.9)
    learner.learn(rows_of(X), labels=y)
    grown = learner.add_classes(after, np.array(position), classes)
    assert grown.model.memory == 0.9
    assert grown.examples == 40
    late, new = problem(range(classes), seed=1)
    for which, (old, setting) in enumerate(zip(before, after, strict=True)):
        alone = select(learner, [which], [old]).add_classes(setting, np.array(position), classes)
        mine = select(grown, [which], [setting])
        assert_alike(mine, alone)
        for each in (mine, alone):
            each.learn(rows_of(late), labels=new)
        assert_alike(mine, alone)


def assert_alike(one, other):
    here, there = one.state(), other.state()
    for name in here:
        if name == "record":  # the selection decides whose mistakes count
            here[name], there[name] = here[name][::2], there[name][::2]
        assert_close(here[name], there[name], rtol=1e-12)


@pytest.mark.parametrize(("labels", "classes", "position"), GROWTHS, ids=str)
def test_counters_are_kept(labels, classes, position):
    X, y = problem(labels)
    settings = Settings(task="binary")
    learner = Learner(candidates(settings, len(labels)), 4, len(labels))
    learner.learn(rows_of(X), labels=y)
    grown = learner.add_classes(candidates(settings, classes), np.array(position), classes)
    before, after = learner.state(), grown.state()
    for which in range(len(C_VALUES)):
        then, now = learner.progress_of(which), grown.progress_of(which)
        assert (now.updates, now.loss) == (then.updates, then.loss)
        tie = len(labels) == 1 and position[0] == 0  # a correct tie
        assert now.mistakes == then.mistakes - tie
    np.testing.assert_array_equal(after["last_update"], before["last_update"])
    assert (before["last_update"] > 0).all()
    np.testing.assert_array_equal(after["recent_loss"], before["recent_loss"])
    np.testing.assert_array_equal(after["counters"], before["counters"])


@pytest.mark.parametrize("multiclass", ["support", "ovr"])
@pytest.mark.parametrize(("labels", "classes", "position"), GROWTHS, ids=str)
def test_margins_between_known_classes_stay(multiclass, labels, classes, position):
    X, y = problem(labels)
    settings = Settings(task="binary", multiclass=multiclass, C=0.3)
    learner = Learner(candidates(settings, len(labels))[1], 4, len(labels))
    learner.learn(rows_of(X), labels=y)
    grown = learner.add_classes(candidates(settings, classes)[1], np.array(position), classes)
    then, now = learner.scores(rows_of(X)), grown.scores(rows_of(X))
    if len(labels) < 3 or classes < 3:
        if classes == 2:
            np.testing.assert_array_equal(now, then if position[0] == 1 else -then)
        elif len(labels) == 2:
            double = 2.0 if multiclass == "ovr" else 1.0
            difference = now[:, [position[1]]] - now[:, [position[0]]]
            assert_close(difference, double * then)
        return
    for one, other in itertools.combinations(range(len(labels)), 2):
        assert_close(now[:, position[one]] - now[:, position[other]], then[:, one] - then[:, other])
    fresh = np.setdiff1d(np.arange(classes), position)
    assert (now[:, fresh] == 0).all()


def test_all_classes_in_order():
    known = Classes(np.array(["b", "d"]))
    everybody = known.admit(np.array(["c", "b", "a"]))
    assert everybody.labels.tolist() == ["a", "b", "c", "d"]
    assert known.among(everybody).tolist() == [1, 3]
    assert known.moved(np.array([2.0, 7.0]), everybody).tolist() == [0.0, 2.0, 0.0, 7.0]
