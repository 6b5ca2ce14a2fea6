"""Selecting some of several models that learn together, and restarting them."""

import numpy as np
import pytest
from closeness import assert_close
from linear_support import SHAPES, make_problem, train

from aggro.learner import Learner
from aggro.selection.learners import restarted, select
from aggro.settings import Settings

MORE_SHAPES = [
    {"scale": "standard"},
    {"class_mean": 0.1, "average": True},
    {"class_mean": 0.1, "average": "reservoir", "reservoir_size": 2},
    {"batch_size": 4},
]


@pytest.mark.parametrize("task", ["binary", "support", "ovr"])
@pytest.mark.parametrize("axes", [*SHAPES, *MORE_SHAPES], ids=str)
def test_selected_model_equals_a_model_learned_alone(axes, task):
    kind = "binary" if task == "binary" else "multiclass"
    multiclass = "support" if task == "binary" else task
    X, y = make_problem(kind, 3, np.random.default_rng(3), 80, 4)
    settings = [Settings(task=kind, multiclass=multiclass, C=C, **axes) for C in (0.01, 0.1, 1.0)]
    count = 2 if task == "binary" else 3
    side = train(Learner(settings, 4, count), X[:50], y[:50])
    side.model.set_memory(0.5)
    for one in (1, 2):
        alone = train(Learner(settings[one], 4, count), X[:50], y[:50])
        taken = select(side, [one], [settings[one]])
        assert taken.model.memory == 0.5
        if axes.get("average") != "reservoir":  # models share one random sequence
            compare(taken, alone)
        kinds = taken.model.layout()
        for name, array in taken.state().items():
            if kinds[name] in ("model", "group"):
                size = len(array)
                assert array.tobytes() == side.state()[name][one * size :][:size].tobytes(), name
        if axes.get("average") == "reservoir":
            continue
        train(side, X[50:], y[50:])
        train(taken, X[50:], y[50:])
        np.testing.assert_allclose(taken.coef(), side.coef(one), rtol=1e-7, atol=1e-10)
        side = train(Learner(settings, 4, count), X[:50], y[:50])
        side.model.set_memory(0.5)


@pytest.mark.parametrize("models", range(2, 17))
@pytest.mark.parametrize("task", ["binary", "multiclass"])
@pytest.mark.parametrize("average", [True, "reservoir"])
def test_selection_keeps_padded_rows_of_any_width(average, task, models):
    """With padding, a table without class sums may be as wide as one with them."""
    X, y = make_problem(task, 3, np.random.default_rng(4), 40, 5)
    C_values = np.geomspace(0.01, 1, models)
    axes = {"class_mean": 0.1, "average": average, "reservoir_size": 2}
    settings = [Settings(task=task, C=C, **axes) for C in C_values]
    side = train(Learner(settings, 5, 2 if task == "binary" else 3), X, y)
    for few in ([0], [models - 1], [0, models - 1], list(range(models))):
        taken = select(side, few, [settings[one] for one in few])
        for place, one in enumerate(few):
            np.testing.assert_array_equal(taken.coef(place), side.coef(one))
            np.testing.assert_array_equal(taken.intercept(place), side.intercept(one))


def compare(taken, alone):
    np.testing.assert_allclose(taken.coef(), alone.coef(), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(taken.intercept(), alone.intercept(), rtol=1e-8, atol=1e-12)
    states = taken.state(), alone.state()
    for name in ("updates", "last_update", "counters", "class_total", "scale_rows"):
        if name in states[1]:
            assert_close(states[0][name], states[1][name], rtol=1e-12)
    assert taken.progress.loss == pytest.approx(alone.progress.loss, rel=1e-8)


@pytest.mark.parametrize("task", ["binary", "support"])
@pytest.mark.parametrize("axes", [*SHAPES, *MORE_SHAPES], ids=str)
def test_restarted_model_learns_as_if_its_weights_had_stayed_zero(axes, task):
    """A restart resets the weights but keeps sums, scales and counters."""
    kind = "binary" if task == "binary" else "multiclass"
    X, y = make_problem(kind, 3, np.random.default_rng(3), 60, 4)
    settings = [Settings(task=kind, C=C, **axes) for C in (0.1, 1.0)]
    learner = train(Learner(settings, 4, 2 if kind == "binary" else 3), X[:30], y[:30])
    fresh = restarted(learner, settings)
    assert not fresh.coef(0).any() and not fresh.coef(1).any()
    assert fresh.examples == 30
    # Steps with a tiny C leave the weights at zero but are counted.
    tiny = [Settings(task=kind, C=1e-290, **axes) for _ in settings]
    idle = train(Learner(tiny, 4, 2 if kind == "binary" else 3), X[:30], y[:30])
    idle.configure(settings)
    if axes.get("class_mean", 0) or axes.get("queue", 1) > 1 or axes.get("average") == "reservoir":
        return  # these change the model for any C
    if axes.get("metric"):
        return  # the metric changes at every step
    for one in (fresh, idle):
        train(one, X[30:], y[30:])
    np.testing.assert_allclose(fresh.coef(1), idle.coef(1), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(fresh.intercept(1), idle.intercept(1), rtol=1e-8, atol=1e-12)
