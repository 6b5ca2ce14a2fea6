"""Late classes: equal to the reference after adding rows of zeros."""

import copy
import itertools

import numpy as np
import pytest
from linear_support import make_problem, reference_of, train_reference

from aggro import PassiveAggressiveClassifier
from aggro.reference.group import OutputGroup

OLD, ALL = [1, 3, 4], 5
GRID = [
    row
    for row in itertools.product(
        ("support", "top", "predicted", "ovr"),
        ("euclidean", "diagonal", "adagrad", "newton", "full"),
        (0.0, 0.2),
        (1, 3),
        (False, True),
    )
    if not (row[0] == "ovr" and row[3] > 1)  # outputs fill separate queues
]


def spread(rows, position, count):
    """Return old rows at their new positions, zeros elsewhere."""
    out = np.zeros((count, rows.shape[1]))
    out[position] = rows
    return out


def with_classes(reference, settings, X, position, count):
    """Return the reference with more classes."""
    larger = reference_of(settings, reference.n_features, count)
    larger.sized, larger.constant = reference.sized, reference.constant  # set by the first row
    if reference.coupled:
        old, new = reference.groups[0], larger.groups[0]
        new.W, new.metric = spread(old.W, position, count), old.metric
        if old.average:
            new.average = copy.copy(old.average)
            new.average.total = spread(old.average.total, position, count)
        new.means.sums = spread(old.means.sums, position, count)
        new.means.weights = spread(old.means.weights[:, None], position, count)[:, 0]
        for past in old.centre.queue:
            new.centre.queue.append(spread(past, position, count))
        return larger
    for place in range(count):
        if place in position:
            larger.groups[place] = reference.groups[position.index(place)]
            larger.groups[place].settings = larger
            continue
        group = larger.groups[place] = OutputGroup(larger)  # all examples were negative so far
        other = reference.groups[0]
        group.means.update(reference._rows(X), np.zeros(len(X), dtype=int), np.ones(len(X)))
        if other.average:
            group.average = copy.copy(other.average)
            group.average.total = np.zeros_like(other.average.total)
        for past in other.centre.queue:
            group.centre.queue.append(0 * past)
    return larger


@pytest.mark.parametrize(("multiclass", "metric", "class_mean", "queue", "average"), GRID)
def test_new_classes_equal_the_reference(multiclass, metric, class_mean, queue, average):
    rng = np.random.default_rng(3)
    X, y = make_problem("multiclass", ALL, rng, 90, 5)
    early = np.isin(y, OLD) & (np.arange(90) < 50)
    late = ~early
    model = PassiveAggressiveClassifier(
        C=0.5, multiclass=multiclass, metric=metric, class_mean=class_mean, queue=queue,
        average=average,
    )  # fmt: skip
    model.partial_fit(X[early], y[early])
    reference = reference_of(model._learner.settings, 5, 3)
    first = np.searchsorted(OLD, y[early])
    mistakes = train_reference(reference, X[early], first, np.ones(len(first)))
    counted = reference.n_updates, reference.cumulative_loss
    np.testing.assert_allclose(model.coef_, reference.W, atol=1e-9)

    model.partial_fit(X[late], y[late])
    larger = with_classes(reference, model._learner.settings, X[early], OLD, ALL)
    before = (0, 0.0) if reference.coupled else counted
    more = train_reference(larger, X[late], y[late], np.ones(late.sum()))
    assert model.classes_.tolist() == list(range(ALL))
    np.testing.assert_allclose(model.coef_, larger.W, atol=1e-9)
    np.testing.assert_allclose(model.intercept_, larger.b, atol=1e-9)
    assert model.n_updates_ == counted[0] + larger.n_updates - before[0]
    total = counted[1] + larger.cumulative_loss - before[1]
    assert model.cumulative_loss_ == pytest.approx(total, rel=1e-9)
    assert model.n_mistakes_ == mistakes + more
    assert model.t_ == 91
