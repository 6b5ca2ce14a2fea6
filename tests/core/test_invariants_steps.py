"""Properties of a single step that hold for every variant."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from linear_strategies import close, variants
from linear_support import CASES, train

from aggro.learner import rows_of

LABELLED = tuple(name for name in CASES if not name.startswith("regression"))
WHERE_WEIGHTS_LIVE = ("weights", "bias", "bias_variance", "full_0", "full_1", "full_2", "ring")


def row_without_loss(learner, rng):
    """Return a row and target that the learner predicts with a sufficient margin, or None."""
    x = rng.standard_normal((1, learner.features))
    for _ in range(30):
        scores = learner.scores(rows_of(x))[0]
        task = learner.settings.task
        if task == "regression":
            return x, scores[None]
        if task == "binary" and abs(scores[0]) > 1.5:
            return x, np.array([int(scores[0] > 0)])
        independent = task == "multilabel" or learner.settings.multiclass == "ovr"
        best = int(scores.argmax())
        others = np.delete(scores, best)
        if task == "multilabel" and np.abs(scores).min() > 1.5:
            return x, np.where(scores > 0, 1.0, -1.0)[None]
        if task == "multiclass":
            met = scores[best] > 1.5 and others.max() < -1.5 if independent else False
            if met or (not independent and scores[best] - others.max() > 1.5):
                return x, np.array([best])
        x = x * 1.5
    return None


@given(variants(losses=range(3), class_mean=0.0, average=False, batch_size=1))
def test_passive_changes_nothing(v):
    """Weights, intercepts, metric and queue stay bitwise equal."""
    learner = v.trained(trigger="loss")
    found = row_without_loss(learner, v.rng)
    assume(found is not None)
    before, updates = learner.state(), learner.progress.updates
    train(learner, *found)
    after = learner.state()
    for name in before.keys() & set(WHERE_WEIGHTS_LIVE):
        assert before[name].tobytes() == after[name].tobytes(), name
    assert learner.progress.updates == updates
    assert learner.examples == v.X.shape[0] + 1


def margins(settings, scores, y):
    """Return the margins, which must be at least 1 (regression: 1 + epsilon - |error|)."""
    if settings.task == "regression":
        return 1 + settings.epsilon - np.abs(y - scores)
    if settings.task == "binary":
        return (2 * y[0] - 1) * scores
    if settings.task == "multilabel":
        return y[0] * scores
    if settings.multiclass == "ovr":
        return np.where(np.arange(len(scores)) == y[0], 1, -1) * scores
    return scores[y[0]] - np.delete(scores, y[0])


@given(variants(losses=[2], class_mean=0.0, queue=1, batch_size=1, average=False))
def test_hard_step_meets_the_margin_exactly(v):
    """The margin includes the intercept; with several classes, that of each support class."""
    learner, s = v.trained(), v.settings
    x, y = v.rng.standard_normal((1, v.X.shape[1])), v.y[:1]
    before = margins(s, learner.scores(rows_of(x))[0].astype(float), y)
    start = np.array(learner.coef())
    train(learner, x, y)
    after = margins(s, learner.scores(rows_of(x))[0], y)
    scale = 1e-12 * (1 + np.abs(learner.coef()).max() * np.abs(x).sum())
    if s.task == "multiclass" and s.multiclass != "ovr":
        stepped = np.any(np.array(learner.coef()) != start, axis=1)
        stepped = np.delete(stepped, y[0])
        np.testing.assert_allclose(after[stepped], 1, atol=scale)
        if s.multiclass == "support":
            assert np.all(after >= 1 - scale)
    else:
        np.testing.assert_allclose(after, np.where(before < 1, 1, before), atol=scale)


@given(variants(losses=[0], class_mean=0.0, metric="euclidean", queue=1, batch_size=1,
                average=False), st.floats(0.1, 4))  # fmt: skip
def test_hinge_step_is_at_most_C(v, weight):
    """|tau| <= C times the weight, for each output and summed over the wrong classes."""
    learner = v.learner()
    for x, y in zip(v.X, v.y, strict=True):
        before = np.array(learner.coef())
        train(learner, x[None], np.array([y]), [weight])
        tau = np.linalg.norm(learner.coef() - before, axis=1) / max(np.linalg.norm(x), 1e-300)
        assert np.all(tau <= v.settings.C * weight * (1 + 1e-9))


@given(variants(cases=["support", "top", "predicted"], class_mean=0.0, average=False))
def test_sum_over_classes_is_invariant(v):
    learner = v.learner()
    W, b = v.rng.standard_normal((v.outputs, v.X.shape[1])), v.rng.standard_normal(v.outputs)
    learner.set_coef(W, b * v.settings.fit_intercept)
    total = learner.coef().sum(axis=0), learner.intercept().sum()
    train(learner, v.X, v.y)
    size = 1e-11 * (1 + np.abs(learner.coef()).max() + np.abs(learner.intercept()).max())
    np.testing.assert_allclose(learner.coef().sum(axis=0), total[0], rtol=0, atol=size)
    np.testing.assert_allclose(learner.intercept().sum(), total[1], rtol=0, atol=size)


@given(variants(class_mean=0.0), st.sampled_from([0.25, 2.0, 3.0]))
def test_weight_multiplies_C(v, k):
    """Weight k is equivalent to C times k."""
    weighted = v.trained(weights=np.full(len(v.X), k))
    close(weighted, v.trained(C=v.settings.C * k))


@given(variants(cases=LABELLED, average=False), st.sampled_from([0.5, 2.0]))
def test_common_weight_multiplies_C_with_class_means(v, k):
    """A weight common to all rows does not change the means."""
    close(v.trained(weights=np.full(len(v.X), k)), v.trained(C=v.settings.C * k))


@given(variants())
def test_weight_zero_equals_an_absent_row(v):
    """The states are bitwise equal, counters included."""
    weights = v.rng.integers(0, 3, len(v.X)) * 0.7
    present = weights > 0
    a, b = v.trained(weights=weights), v.trained(v.X[present], v.y[present], weights[present])
    one, two = a.state(), b.state()
    for name in one:
        assert one[name].tobytes() == two[name].tobytes(), name
    assert a.progress == b.progress


PLAIN = {"class_mean": 0.0, "metric": "euclidean", "queue": 1, "batch_size": 1, "average": False}
MARGINS = ("binary", "ovr", "multilabel", "regression")


@given(variants(cases=MARGINS, losses=[0], **PLAIN), st.integers(1, 4))
def test_repeated_rows_equal_a_weight(v, k):
    """With PA-I, k repetitions in a row equal one example of weight k."""
    copies = v.trained(np.repeat(v.X, k, axis=0), np.repeat(v.y, k, axis=0))
    close(v.trained(weights=np.full(len(v.X), k)), copies)
