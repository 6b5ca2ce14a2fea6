"""Adding classes to a learner or a model selection in the middle of a stream."""

import numpy as np
import pytest
from closeness import assert_close
from linear_support import SHAPES, make_problem, train

from aggro.classes import output_map
from aggro.learner import Learner, rows_of
from aggro.selection.selection import ModelSelection
from aggro.settings import Settings


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("axes", [*SHAPES, {"scale": "online"}], ids=str)
def test_counts_continue(axes, classes):
    task = "binary" if classes == 2 else "multiclass"
    X, y = make_problem(task, 3, np.random.default_rng(1), 50, 4)
    settings = [Settings(task=task, C=C, **axes) for C in (0.1, 1.0)]
    old = train(Learner(settings, 4, classes, seed=7), X, y)
    old.model.set_memory(0.75)
    before = {name: array.copy() for name, array in old.state().items()}
    wider = [Settings(task="multiclass", C=C, **axes) for C in (0.1, 1.0)]
    new = old.add_classes(wider, np.arange(classes), classes + 1)
    after = new.state()
    assert new.model.memory == 0.75
    for name in ("counters", "record", "unit", "model_mistakes", "recent_mistakes", "recent_loss"):
        assert after[name].tobytes() == before[name].tobytes(), name
    tallies = ("mistakes", "updates", "last_update", "loss")
    for name in before:
        if name in tallies or name.startswith(("scale_", "ring_fill", "ring_next", "pool_fill")):
            assert np.array_equal(after[name], before[name]), name
    if "pool_key" in before:
        assert np.array_equal(after["pool_key"], before["pool_key"])
    now = old.state()  # unchanged, since the call may still fail
    assert all(now[name].tobytes() == array.tobytes() for name, array in before.items())


@pytest.mark.parametrize("axes", [*SHAPES, {"scale": "online"}], ids=str)
def test_margins_stay_and_the_new_class_has_none(axes):
    X, y = make_problem("multiclass", 3, np.random.default_rng(1), 50, 4)
    old = train(Learner(Settings(task="multiclass", **axes), 4, 3), X, y)
    said = old.scores(rows_of(X))
    new = old.add_classes(old.settings, np.array([0, 1, 3]), 4)
    scores = new.scores(rows_of(X))
    np.testing.assert_allclose(scores[:, [0, 1, 3]], said, rtol=1e-9, atol=1e-12)
    if not axes.get("class_mean"):
        assert not scores[:, 2].any()


def test_selection_keeps_its_state():
    X, y = make_problem("binary", 1, np.random.default_rng(1), 200, 4)
    settings = Settings(task="binary", C="auto", metric="auto", average="auto")
    selection = ModelSelection(settings, 4, 2, seed=5)
    selection.learn(rows_of(X), labels=y)
    selection.freeze_means()
    wider = Settings(task="multiclass", C="auto", metric="auto", average="auto")
    new = selection.add_classes(wider, np.arange(2), 3)
    for name in ("fixed", "left", "leading", "counted", "drift", "seed", "features"):
        assert getattr(new, name) is getattr(selection, name) or getattr(new, name) == getattr(
            selection, name
        )
    assert new.mistakes == selection.mistakes and new.classes == 3 and new.best == selection.best
    assert new.candidates() == selection.candidates()


@pytest.mark.parametrize(
    "axes", [{"queue": 3}, {"average": "reservoir", "reservoir_size": 4}], ids=str
)
@pytest.mark.parametrize("classes", [2, 3])
def test_groups_keep_their_state(axes, classes):
    """One-vs-rest: each class has a separate queue and reservoir, empty for new ones."""
    task = "binary" if classes == 2 else "multiclass"
    X, y = make_problem(task, 3, np.random.default_rng(1), 30, 4)
    settings = [Settings(task=task, multiclass="ovr", C=C, **axes) for C in (0.01, 1.0)]
    old = train(Learner(settings, 4, classes), X, y)
    wider = [Settings(task="multiclass", multiclass="ovr", C=C, **axes) for C in (0.01, 1.0)]
    position = np.delete(np.arange(classes + 1), 1)
    new = old.add_classes(wider, position, classes + 1)
    before, after = old.state(), new.state()
    for name in ("last_update", "ring_fill", "ring_next", "pool_fill", "pool_key"):
        if name not in before:
            continue
        was = before[name].reshape(2, 1 if classes == 2 else 3, -1)
        now = after[name].reshape(2, classes + 1, -1)
        assert np.array_equal(now[:, position], np.broadcast_to(was, now[:, position].shape)), name
        if name != "last_update":
            assert not now[:, 1].any(), name


@pytest.mark.parametrize("multiclass", ["support", "ovr"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_class_sums_are_those_of_a_learner_that_knew_all_classes(dtype, multiclass):
    X, y = make_problem("binary", 1, np.random.default_rng(2), 40, 4)
    axes = {"class_mean": 0.2, "multiclass": multiclass}
    wide = Settings(task="multiclass", **axes)
    old = train(Learner(Settings(task="binary", **axes), 4, 2, dtype), X.astype(dtype), y)
    grew = old.add_classes(wide, np.array([0, 2]), 3).state()
    knew = train(Learner(wide, 4, 3, dtype), X.astype(dtype), 2 * y).state()
    names = ["class_weight_seen", "class_sum_norm"]
    names += ["class_sum_cross", "class_total"] if multiclass == "ovr" else []  # used only there
    for name in names:
        assert_close(grew[name], knew[name], rtol=1e-5)


@pytest.mark.parametrize("place", [0, 1, 3])
def test_single_class_is_scored_against_all_others(place):
    """Its margins to the others stay; weights of support classes sum to zero."""
    support, ovr = Settings(task="multiclass"), Settings(task="multiclass", multiclass="ovr")
    change = output_map(support, support, np.array([place]), 4)[:, 0]
    assert change.sum() == pytest.approx(0)
    np.testing.assert_array_equal(change[place] - np.delete(change, place), 1.0)
    change = output_map(ovr, ovr, np.array([place]), 4)[:, 0]
    np.testing.assert_array_equal(change, np.where(np.arange(4) == place, 1.0, -1.0))


@pytest.mark.parametrize("axes", [*SHAPES, {"scale": "online"}, {"metric": "full"}], ids=str)
def test_growing_to_fewer_features_changes_nothing(axes):
    X, y = make_problem("binary", 2, np.random.default_rng(1), 50, 4)
    learner = train(Learner(Settings(task="binary", **axes), 4, 1), X, y)
    before = learner.state()
    for features in (0, 1, 4):
        learner.model.grow(features)
        after = learner.state()
        assert learner.features == 4
        assert all(after[name].tobytes() == before[name].tobytes() for name in before)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_growth_keeps_a_table_of_one_number(dtype):
    learner = Learner(Settings(task="binary"), 1, 2, dtype)
    learner.learn(rows_of(np.full((1, 1), 2.0, dtype)), labels=np.ones(1, np.int64))
    weight = learner.coef()[0, 0]
    learner.model.grow(5)
    assert weight > 0 and learner.coef().tolist() == [[weight, 0, 0, 0, 0]]
