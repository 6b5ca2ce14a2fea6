"""Parts of the NumPy learner: bounds, signs, constants."""

from math import inf, sqrt

import numpy as np
import pytest
from closeness import assert_close
from numpy.testing import assert_allclose, assert_array_equal

from aggro.reference import (
    Centre,
    ClassMeans,
    Metric,
    ReferenceLearner,
    Task,
    arow,
    batch_dual,
    batch_support_classes,
    kernel_matrix,
    perceptron,
    slack,
    step_size,
    support_classes,
)
from aggro.reference.geometry import Moments, Scaler
from aggro.reference.kernel import absorbers
from aggro.reference.predictor import Uniform
from aggro.reference.rules import TINY, scw_i
from aggro.reference.task import batches, without_rounding

# -- steps -----------------------------------------------------------------------------------


def test_slacks_are_three_numbers():
    assert slack("hard", 0.25) == (0, inf, 0) and slack("hinge", 0.25) == (0, 0.25, 0)
    assert slack("squared_hinge", 0.25) == (0, inf, 2)
    assert slack("least_squares", 0.25) == (-inf, inf, 2)
    assert slack("epsilon_insensitive", 0.25) == slack("hinge", 0.25)
    assert slack("squared_epsilon_insensitive", 0.25) == slack("squared_hinge", 0.25)
    assert [slack(loss, inf).hard for loss in ("hard", "hinge", "squared_hinge")] == [True] * 3
    assert not slack("hinge", 1.0).hard and not slack("squared_hinge", 1.0).hard
    with pytest.raises(ValueError, match="unknown loss 'log'"):
        slack("log", 1.0)


def test_zero_row_moves_nothing():
    penalty = slack("hard", 1.0)
    assert step_size(1.0, TINY / 2, penalty) == 0 and step_size(1.0, TINY, penalty) == 1 / TINY
    assert not support_classes(np.ones(3), TINY / 2, penalty).any()
    assert support_classes(np.ones(3), 1.0, penalty).all()
    for rule in (lambda V: scw_i(-1.0, V, 1.0, 1.0),):
        assert rule(TINY / 2) == (0, 0)


def test_step_sizes_follow_the_formulas():
    assert step_size(2.0, 4.0, slack("hard", 1.0)) == 0.5
    assert step_size(2.0, 4.0, slack("hinge", 0.25)) == 0.25
    assert step_size(2.0, 4.0, slack("squared_hinge", 0.5)) == 0.4
    assert step_size(-2.0, 4.0, slack("hinge", 1.0)) == 0
    assert step_size(-2.0, 4.0, slack("least_squares", inf)) == -0.5


def test_support_classes_share_a_slack():
    losses = np.array([1.0, 3.0, -1.0])
    tau = support_classes(losses, 1.0, slack("hard", 1.0))
    assert_close(tau, [0.0, 1.5, 0.0])  # 3 / 2, after which the first has no loss
    assert_close(support_classes(np.array([3.0, 3.0]), 1.0, slack("hard", 1.0)), [1.0, 1.0])
    assert_close(support_classes(np.array([3.0, 3.0]), 1.0, slack("hinge", 0.5)), [0.25, 0.25])
    assert not support_classes(np.array([0.0, -1.0]), 1.0, slack("hard", 1.0)).any()


def test_a_tie_is_a_mistake_of_the_perceptron():
    assert perceptron(0.0, 3.0) == (3.0, 0.0) and perceptron(1e-300) == (0.0, 0.0)
    assert perceptron(-1.0) == (1.0, 0.0)


def test_arow_step_follows_the_formula():
    assert arow(0.5, 2.0, 0.5) == (0.5 / 2.5, 2.0)
    assert arow(1.0, 2.0, 0.5) == (0.0, 0.0)


# -- batches ---------------------------------------------------------------------------------


def test_rows_of_weight_zero_are_not_in_batches():
    weights = np.array([0, 1, 0, 2, 1, 0, 1.0])
    assert [some.tolist() for some in batches(weights, 2)] == [[1, 3], [4, 6]]
    assert [some.tolist() for some in batches(weights, 3)] == [[1, 3, 4], [6]]
    assert list(batches(np.zeros(3), 2)) == []


def test_contradictory_examples_are_learned_one_by_one():
    """The same row with both signs: the dual is unbounded, and rows are learned one by one."""
    A = np.array([[2.0, -2.0], [-2.0, 2.0]])
    assert batch_dual(A, np.ones(2), np.full(2, inf), np.zeros(2)) is None
    gram, hard = np.ones((2, 2)), [slack("hard", 1.0)] * 2
    T = Task("binary", "hard").coefficients(np.zeros((2, 1)), np.array([1.0, -1.0]), gram, hard)
    assert_close(T, [[1.0], [-2.0]])
    scores = np.zeros((2, 2))
    T = batch_support_classes(scores, np.array([0, 1]), gram, hard)
    assert_close(T, [[0.5, -0.5], [-1.0, 1.0]])


def test_contradictory_examples_use_the_best_wrong_class_after_earlier_steps():
    """Steps of an infeasible batch change the best wrong class of later examples."""
    rng = np.random.default_rng(0)
    X, y, hard = rng.normal(size=(12, 2)), rng.integers(0, 4, 12), [slack("hard", 1.0)] * 12
    task, gram = Task("top", "least_squares"), X @ X.T
    T = task.coefficients(np.zeros((12, 4)), y, gram, hard)
    W, rivals = np.zeros((4, 2)), []
    for x, label, t in zip(X, y, T, strict=True):
        alone = task.coefficients((W @ x)[None], label[None], np.array([[x @ x]]), hard[:1])
        assert_close(t, alone[0])
        W += np.outer(t, x)
        rivals.append(np.argmin(t))
    at_first = [0 if label else 1 for label in y]  # the first of equal scores
    assert rivals != at_first


def test_batch_dual_respects_box_and_epsilon():
    A, loss = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([3.0, 0.5])
    free = batch_dual(A, loss, np.full(2, inf), np.zeros(2), lower=-inf)
    assert_close(A @ free, loss)
    boxed = batch_dual(A, loss, np.full(2, 1.0), np.zeros(2))
    assert_close(boxed, [1.0, 0.0])
    tube = batch_dual(A, loss, np.full(2, inf), np.zeros(2), 0.25, -inf)
    assert_allclose(A @ tube - loss, -0.25 * np.sign(tube), atol=1e-12)
    soft = batch_dual(A, loss, np.full(2, inf), np.full(2, 0.5), lower=-inf)
    assert_close((A + np.eye(2) / 2) @ soft, loss)


# -- geometry --------------------------------------------------------------------------------


def test_precision_grows_with_updates():
    x = np.array([2.0, 0.0])
    full, diagonal, plain = (Metric(kind, 2) for kind in ("full", "diagonal", "euclidean"))
    for metric in (full, diagonal, plain):
        metric.grow(x, 0.5)
    assert_array_equal(full.precision, [[3, 0], [0, 1]])
    assert_array_equal(diagonal.precision, [3, 1])
    assert_array_equal(plain.precision, [1, 1])
    for metric in (full, diagonal):
        assert_close(metric.times_sigma(np.array([[3.0, 5.0]])), [[1, 5]])
    diagonal.grow(np.array([1.0, 1.0]), 1.0, forgetting=0.25)
    assert_close(diagonal.precision, [1 + 0.75 * 2 + 1, 2])
    diagonal.grow(np.array([0.0, 1.0]), 1.0, forgetting=0.5)
    assert_close(diagonal.precision, [3.5, 1.5 + 1])  # only features of the update forget


def test_class_means_are_weighted():
    means = ClassMeans(3, 3)
    rows = np.array([[1.0, 2.0, 1.0], [3.0, 4.0, 1.0], [5.0, 0.0, 1.0]])
    means.update(rows, np.array([0, 0, 1]), np.array([1.0, 3.0, 1.0]))
    found = means.classifier(constant=1.0)
    assert_close(found[0], [2.5, 3.5, -(2.5**2 + 3.5**2) / 2])
    assert_close(found[1], [5, 0, -12.5])
    assert_array_equal(found[2], 0)  # class without examples
    assert_close(means.classifier(constant=None)[0], [2.5, 3.5, 1])
    means.frozen = True
    means.update(rows, np.array([2, 2, 2]), np.ones(3))
    assert means.weights.tolist() == [4, 1, 0]


def test_class_means_decay():
    means = ClassMeans(2, 1)
    for value in (1.0, 5.0):
        means.update(np.array([[value]]), np.array([0]), np.ones(1), forgetting=0.25)
    assert_close(means.weights, [1.75, 0])
    assert_close(means.classifier(None)[0], (0.75 * 1 + 5) / 1.75)


def test_centre_averages_queue_and_class_means():
    w = [np.array([[float(k)]]) for k in (1, 2, 6, 8)]
    centre, pull = Centre(0.5, 3), np.array([[9.0]])
    expected = [(1 + 4.5) / 1.5, (1.5 + 4.5) / 1.5, (3 + 4.5) / 1.5, (16 / 3 + 4.5) / 1.5]
    assert_close([centre.move(each, pull)[0, 0] for each in w], expected)
    assert Centre(0.0, 1).move(w[2], pull)[0, 0] == 6


# -- scales ----------------------------------------------------------------------------------


def test_moments_equal_numpy():
    moments = Moments(2)
    assert moments.mean.tolist() == moments.deviation.tolist() == [0, 0]
    for row in ([1.0, 5.0], [3.0, 5.0]):
        moments.update(np.array(row))
    assert moments.mean.tolist() == [2, 5] and moments.deviation.tolist() == [1, 0]


def test_scalers_follow_their_definition():
    rows = np.array([[2.0, 0.0, 1.0], [4.0, 0.0, 1.0]])
    online, standard, none = (Scaler(kind, 3) for kind in ("online", "standard", "none"))
    assert online.factor.tolist() == standard.factor.tolist() == [0, 0, 0]
    assert none.factor.tolist() == [1, 1, 1]
    for row in rows[:1]:
        assert online.learn(row).tolist() == [1, 0, 1]
        assert standard.learn(row).tolist() == [0, 0, 0]
        assert none.learn(row).tolist() == [2, 0, 1]
    assert_close(online.learn(rows[1]), [4 / sqrt(10), 0, 1])
    assert_close(standard.learn(rows[1]), [1, 0, 0])
    assert_close(online.factor, [1 / sqrt(10), 0, 1])
    assert online.centre.tolist() == [0, 0, 0] and standard.centre.tolist() == [3, 0, 1]
    assert none.moments.rows == []


def test_zeros_do_not_count_online():
    scaler = Scaler("online", 1)
    for value in (3.0, 0.0, 0.0, 4.0):
        scaler.learn(np.array([value]))
    assert_close(scaler.factor, 1 / sqrt(12.5))


# -- tasks -----------------------------------------------------------------------------------


def test_losses_and_mistakes_follow_the_task():
    scores = np.array([[0.0], [0.5], [-2.0], [2.0]])
    y = np.array([1.0, -1.0, -1.0, 1.0])
    binary = Task("binary", "hinge")
    assert binary.losses(scores, y).tolist() == [1, 1.5, 0, 0]
    assert binary.mistakes(scores, y).tolist() == [True, True, False, False]
    assert Task("binary", "least_squares").losses(scores, y).tolist() == [1, 1.5, 1, 1]
    tube = Task("regression", "epsilon_insensitive", 0.5)
    assert tube.losses(scores, y).tolist() == [0.5, 1, 0.5, 0.5]
    assert not tube.mistakes(scores, y).any() and tube.tube == 0.5
    assert Task("regression", "least_squares", 0.5).tube == 0 and binary.tube == 0
    several = np.array([[1.0, 0.2, 0.9], [0.0, 0.0, 0.0]])
    top = Task("top", "hinge")
    assert_close(top.losses(several, np.array([0.0, 2.0])), [0.9, 1.0])
    assert top.mistakes(several, np.array([0.0, 2.0])).tolist() == [False, True]
    content = Task("predicted", "hinge")
    assert content.needs_step(several, np.array([0.0, 2.0])).tolist() == [False, True]
    assert top.needs_step(several, np.array([0.0, 2.0])).tolist() == [True, True]


def test_invalid_tasks_are_rejected():
    with pytest.raises(ValueError, match="is not one of"):
        Task("ranking", "hinge")
    with pytest.raises(ValueError, match="unknown loss"):
        Task("binary", "log")
    with pytest.raises(ValueError, match="least squares need one constraint"):
        Task("support", "least_squares")


# -- the learner -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [{"task": "ranking"}, {"metric": "round"}, {"rule": "adam"}, {"C": 0.0}, {"r": 0.0},
     {"task": "multiclass", "n_outputs": 1}, {"task": "regression", "class_mean": 0.1},
     {"task": "regression", "rule": "perceptron"}, {"rule": "arow"},
     {"rule": "perceptron", "metric": "full"}, {"rule": "perceptron", "queue": 2},
     {"rule": "perceptron", "batch_size": 2}, {"rule": "perceptron", "class_mean": 0.1},
     {"task": "multiclass", "n_outputs": 3, "rule": "perceptron"}, {"scale": "robust"}],
    ids=str,
)  # fmt: skip
def test_invalid_settings_are_rejected(wrong):
    with pytest.raises(ValueError):
        ReferenceLearner(**{"task": "binary", "n_features": 2, **wrong})


def test_confidence_rules_reject_batches():
    learner = ReferenceLearner("binary", 2, rule="perceptron")
    with pytest.raises(ValueError, match="one example at a time"):
        learner.learn_batch(np.eye(2), [1, -1])
    learner.learn([1.0, 0.0], 1)
    learner.learn([0.0, 1.0], -1, weight=0.0)  # weight zero
    assert learner.W.tolist() == [[1, 0]] and learner.b.tolist() == [1]
    assert (learner.n_updates, learner.n_mistakes) == (1, 1)


def test_weight_multiplies_C():
    for rule, axes, expected in (
        ("perceptron", {}, 3.0),
        ("arow", {"metric": "diagonal", "r": 6.0}, 1 / (1 + 2.0)),
        ("scw-i", {"metric": "diagonal", "C": 1e-3}, 3e-3),
    ):
        learner = ReferenceLearner("binary", 1, rule=rule, fit_intercept=False, **axes)
        learner.learn([1.0], 1, weight=3.0)
        assert_close(learner.W, expected)


def test_the_average_counts_every_round():
    learner = ReferenceLearner("binary", 1, loss="hard", fit_intercept=False, average=True)
    assert learner.W.tolist() == [[0]]
    learner.learn_stream([[1.0], [1.0], [-0.5]], [1, 1, 1])
    assert_close(learner.W, (1 + 1 - 2) / 3)


# -- kernels ---------------------------------------------------------------------------------


def test_kernels_follow_their_definition():
    X, Z = np.array([[1.0, 2.0]]), np.array([[3.0, -1.0], [1.0, 2.0]])
    assert_close(kernel_matrix(X, Z, "linear"), [[1, 5]])
    assert_close(kernel_matrix(X, Z, "poly", 0.5, 2, 1.0), [[1.5**2, 3.5**2]])
    assert_close(kernel_matrix(X, Z, "rbf", 0.1), [[np.exp(-1.3), 1]])
    assert_close(kernel_matrix(X, Z, "sigmoid", 0.1, 3, 0.2), np.tanh([[0.3, 0.7]]))
    with pytest.raises(ValueError, match="unknown kernel"):
        kernel_matrix(X, Z, "tree")


def test_strategies_choose_the_receiving_vectors():
    X = np.array([[0.0], [0.1], [5.0], [5.2]])
    K = kernel_matrix(X, X, "rbf")
    assert absorbers(K, 0, 1, "simple") == [3]
    assert absorbers(K, 0, 1, "nearest") == [1, 3]
    assert absorbers(K, 2, 1, "nearest") == [1, 3]
    assert absorbers(K, 1, 1, "projection") == [0, 2, 3]
    assert absorbers(K, 0, 2, "simple") == [2, 3]
    with pytest.raises(ValueError, match="unknown maintenance"):
        absorbers(K, 0, 1, "random")


def test_losses_below_rounding_error_are_zero():
    unit = np.finfo(np.float64).eps
    for size in (1.0, 300.0):
        assert (
            without_rounding(63 * unit * size, size, 0.0)
            == 0
            != without_rounding(66 * unit * size, size, 0.0)
        )
    assert without_rounding(1e-9, 1.0, 1e-9) == 0 != without_rounding(1.1e-9, 1.0, 1e-9)


def test_uniform_numbers_are_those_of_splitmix64():
    """The first numbers of the author's code for the seed 1234567."""
    published = (6457827717110365317, 3203168211198807973, 9817491932198370423)
    uniform = Uniform(1234567)
    assert [uniform.draw() for _ in published] == [((n >> 11) + 1) / 2**53 for n in published]
    assert min(draws := [uniform.draw() for _ in range(1000)]) > 0 and max(draws) <= 1
