"""The map from margins to probabilities, and the margins it is fitted to."""

import numpy as np
import pytest
from closeness import assert_close
from probability_support import updated
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp

from aggro.calibration.calibrator import LATE, RING, Calibrator, capacity, fitted_up_to
from aggro.calibration.probability_map import RIDGES, apply, fit, softmax
from aggro.reference_row import (
    EVERY,
    FEATURES,
    FEWEST,
    RECENT,
    ReferenceRow,
    is_sample,
    kept,
    next_change,
)
from aggro.settings import Settings


def margins(rows=400, classes=2, seed=0, slope=1.5):
    """Return scores, centres, labels that follow the scores, and weights."""
    random = np.random.default_rng(seed)
    s = random.normal(size=(rows, classes))
    c = 0.3 * random.normal(size=(rows, classes))
    chance = softmax(slope * (s - c) + np.linspace(0, 1, classes))
    y = (chance.cumsum(axis=1) < random.random((rows, 1))).sum(axis=1)
    if classes == 2:
        s, c = s[:, [1]] - s[:, [0]], c[:, [1]] - c[:, [0]]
    return s, c, np.minimum(y, classes - 1), random.choice([0.5, 1.0, 2.0], size=rows)


def best_map(s, c, y, w, shares, strength):
    """Return the minimum of the objective and the slopes, by another solver."""
    k = len(shares)
    if s.shape[1] == 1:
        s, c = (np.hstack([0 * part, part]) for part in (s, c))
    z, v = s - c, c - c.mean(axis=0)
    usual = 2.0 * np.median(np.abs(z).max(axis=1))
    z = usual * np.arcsinh(z / usual)
    unit = np.sqrt((z**2).mean())
    z, v = z / unit, v / unit
    counts = np.array([w[y == j].sum() for j in range(k)])
    right = (counts + 1) / (counts + 2)
    targets = np.where(
        np.eye(k, dtype=bool)[y], right[y][:, None], (1 - right[y])[:, None] / (k - 1)
    )

    def objective(x):
        a, b, e = x[:k], x[k : 2 * k], x[-1]
        m = a * z + np.log(shares) + b + e * v
        loss = (w[:, None] * targets * (logsumexp(m, axis=1, keepdims=True) - m)).sum()
        return loss + strength / 2 * (x**2).sum() + 5.0 * ((a - a.mean()) ** 2).sum()

    bounds = [(0, None)] * k + [(None, None)] * (k + 1)
    found = minimize(objective, np.zeros(2 * k + 1), bounds=bounds, options={"ftol": 1e-13})
    return objective, found, unit


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("slope", [1.5, 0.0, -1.0])
def test_map_minimises_its_objective(classes, slope):
    s, c, y, w = margins(classes=classes, slope=slope)
    shares = np.arange(1, classes + 1) / np.arange(1, classes + 1).sum()
    parameters = fit(s, c, y, w, shares)
    maps = [best_map(s, c, y, w, shares, strength) for strength in RIDGES]
    unit = maps[0][2]
    a, b = parameters[:classes] * unit, parameters[classes : 2 * classes]
    ours = np.concatenate([a, b, [parameters[-2] * unit]])
    excess = [objective(ours) - found.fun for objective, found, _ in maps]
    best = int(np.argmin(excess))  # the strength of the ridge that was chosen
    assert excess[best] <= 1e-4
    np.testing.assert_allclose(ours, maps[best][1].x, atol=2e-2)
    assert RIDGES[best] <= 10 if slope > 0 else RIDGES[best] >= 1
    assert (a >= 0).all()
    if slope < 0:
        assert (a[1:] == 0).all()


@pytest.mark.parametrize("rows", [20, 60, 200])
def test_few_margins_without_information_are_as_good_as_the_shares(rows):
    """On average, thin evidence does not make probabilities worse than the share of each class."""
    losses = []
    for seed in range(100):
        s, c, y, w = margins(rows, seed=seed, slope=0.0)
        s2, c2, y2, _ = margins(2000, seed=1000 + seed, slope=0.0)
        shares = (np.bincount(y, w, minlength=2) + 1) / (w.sum() + 2)
        P = np.array([apply(fit(s, c, y, w, shares), s2, each, shares) for each in c2[:3]])
        losses.append(np.log(shares)[y2].mean() - np.log(P)[:, np.arange(2000), y2].mean())
    assert np.mean(losses) < 0.2 / rows + 0.003


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("slope", [1.0, -2.0])
def test_probability_is_monotonic_in_the_margin(classes, slope):
    s, c, y, w = margins(classes=classes, slope=slope)
    shares = np.full(classes, 1 / classes)
    parameters = fit(s, c, y, w, shares)
    for k in range(s.shape[1]):
        line = np.zeros((50, s.shape[1]))
        line[:, k] = np.linspace(-1e3, 1e3, 50)
        P = apply(parameters, line, c[0], shares)[:, k if classes > 2 else 1]
        assert (np.diff(P) >= 0).all()


def test_map_equals_the_formula():
    """Slope 2, offset 1 for the second class, centres clipped to [-1, 1], e = 0.5."""
    parameters = np.array([0, 2.0, 0, 1.0, 0, -1.0, 0, 1.0, 0, 0.25, 0.5, 3.0])
    shares = np.array([0.2, 0.8])
    for score, centre, inside in ((0.7, 0.3, 0.3), (-4.0, 5.0, 1.0), (9.0, -7.0, -1.0)):
        z = 3.0 * np.arcsinh((score - inside) / 3.0)
        logit = 2.0 * z + 0.5 * (inside - 0.25) + 1.0 + np.log(4.0)
        P = apply(parameters, np.array([[score]]), np.array([centre]), shares)
        assert_close(P, [[1 / (1 + np.exp(logit)), 1 / (1 + np.exp(-logit))]])


def test_softmax_equals_the_formula():
    scores = np.array([[1.0, -2.0, 0.5], [1e4, 0.0, -1e4]])
    assert_close(softmax(scores), np.exp(log_softmax(scores, axis=1)))
    assert_close(softmax(scores[:, :1])[:, 1], 1 / (1 + np.exp(-scores[:, 0])))
    assert softmax(np.array([[0.0]])).tolist() == [[0.5, 0.5]]


# -- selected margins ----------------------------------------------------------------------------


def random_labels(rows, seed=0, classes=2):
    return np.random.default_rng(seed).integers(classes, size=rows)


def test_record_is_bounded_and_keeps_recent_margins():
    one = Calibrator.empty(600, seen=10)
    for i in range(4):
        block = np.full((900, 600), float(i))
        one = updated(one, np.full(900, i), np.full(900, i + 1.0), block, -block)
    most = capacity(600) + LATE
    assert (
        len(one.scores) == len(one.centres) == len(one.labels) == len(one.weights) == most == 2259
    )
    assert one.scores[:, 0].tolist() == [1.0] * (most - 1800) + [2.0] * 900 + [3.0] * 900
    np.testing.assert_array_equal(one.centres, -one.scores)
    np.testing.assert_array_equal(one.labels, one.scores[:, 0])
    np.testing.assert_array_equal(one.weights, one.scores[:, 0] + 1)
    assert (one.seen, one.recorded) == (3610, 3600)
    assert one.counts[0, :4].tolist() == [900] * 4
    assert one.masses[0, :4].tolist() == [900.0, 1800.0, 2700.0, 3600.0]
    assert (one.changes.tolist(), one.latest.tolist()) == ([3], [3])


def test_examples_without_margins_are_counted():
    s = np.zeros((2, 1))
    one = updated(Calibrator.empty(2), np.array([0, 1, 1, 0]), np.arange(1.0, 5.0), s + 7, s)
    assert one.scores.ravel().tolist() == [7.0, 7.0]
    assert one.labels.tolist() == [1, 0]
    assert one.weights.tolist() == [3.0, 4.0]
    assert one.counts.tolist() == [[2, 2]]
    assert one.masses.tolist() == [[5.0, 5.0]]
    assert one.changes.tolist() == [2]
    assert (one.seen, one.recorded) == (4, 2)
    more = updated(one, np.array([0]), np.ones(1), s[:1], s[:1])
    assert more.changes.tolist() == [2]
    assert updated(one, np.array([1]), np.ones(1), s[:1], s[:1]).changes.tolist() == [3]


def test_each_label_has_a_separate_map():
    Y = np.array([[0, 1], [1, 1], [0, 1], [0, 0]])
    s = np.zeros((4, 2))
    one = updated(Calibrator.empty(2, multilabel=True), Y, np.array([1.0, 2, 3, 4]), s, s)
    assert one.counts.tolist() == [[3, 1], [1, 3]]
    assert one.masses.tolist() == [[8.0, 2.0], [4.0, 6.0]]
    assert one.changes.tolist() == [2, 1]
    assert one.latest.tolist() == [0, 0]


def test_early_and_old_margins_are_excluded(monkeypatch):
    used = []

    def noted(*parts):
        used.append((parts[0], parts[2]))
        return fit(*parts)

    monkeypatch.setattr("aggro.calibration.calibrator.fit", noted)
    for count in (10, 400, 4096, RING + 3 * LATE):
        s = np.arange(float(count))[:, None]
        one = updated(Calibrator.empty(2), random_labels(count), np.ones(count), s, 0 * s)
        one.probabilities(s[:1], np.zeros(1))
        end = fitted_up_to(count)
        first = max(end // 4, end - RING)
        np.testing.assert_array_equal(used[-1][0][:, 0], np.arange(first, end))
        np.testing.assert_array_equal(used[-1][1], random_labels(count)[first:end])
    late = Calibrator.empty(2, seen=10**6)  # recording began late: all margins are used
    s = np.arange(64.0)[:, None]
    updated(late, random_labels(64), np.ones(64), s, s).probabilities(s[:1], np.zeros(1))
    assert len(used[-1][0]) == 64


def test_time_of_fitting_depends_on_counts_only():
    s = np.random.default_rng(1).normal(size=(3000, 1))
    y, w = random_labels(3000), np.random.default_rng(2).choice([0.3, 1.7], size=3000)
    asked = silent = Calibrator.empty(2)
    for first in range(0, 3000, 50):
        rows = slice(first, first + 50)
        parts = (y[rows], w[rows], s[rows], 0.1 * s[rows])
        asked, silent = updated(asked, *parts), updated(silent, *parts)
        asked.probabilities(s[:1], np.zeros(1))
    both = [each.probabilities(s, np.zeros(1)) for each in (asked, silent)]
    assert_close(*both, rtol=1e-9)
    assert asked.fitted_at == silent.fitted_at == fitted_up_to(3000) == 2944


def test_long_runs_of_one_class_reduce_the_evidence():
    s = np.random.default_rng(0).normal(size=(1000, 1))
    mixed = (s[:, 0] > 0).astype(int)
    weighty = []
    for y in (mixed, np.sort(mixed), np.arange(1000) // 100 % 2):
        one = updated(Calibrator.empty(2), y, np.ones(1000), s, 0 * s)
        weighty.append(one._evidence(0, y[-1:], 0)[0])
    assert weighty[0] == pytest.approx(1.0, abs=0.1)
    assert weighty[1] == 0.0
    assert weighty[2] == pytest.approx((9 - 1) / (999 / 2 - 1))
    sorted_ones = updated(Calibrator.empty(2), np.sort(mixed), np.ones(1000), s, 0 * s)
    share = (mixed.sum() + 1) / 1002
    assert_close(sorted_ones.probabilities(s, np.zeros(1))[:, 1], share)


def test_probabilities_without_margins_are_class_frequencies():
    empty = Calibrator.empty(3)
    assert_close(empty.probabilities(np.array([[5.0, 0, -5]]), np.zeros(3)), 1 / 3)
    none = np.empty((0, 3))
    some = updated(empty, np.array([0, 0, 1]), np.array([1.0, 2.0, 3.0]), none, none)
    found = some.probabilities(np.array([[5.0, 0, -5]]), np.zeros(3))
    assert_close(found, [[4 / 9, 4 / 9, 1 / 9]])
    assert Calibrator.empty(1).probabilities(np.zeros((2, 1)), np.zeros(1)).tolist() == [[1], [1]]


def test_huge_scores_are_bounded():
    s = np.linspace(-1, 1, 50)[:, None]
    one = updated(Calibrator.empty(2), random_labels(50), np.ones(50), 1e38 * s, -1e38 * s)
    assert np.abs(one.scores).max() == np.abs(one.centres).max() == np.float32(1e30)
    assert np.isfinite(one.probabilities(1e300 * s, np.full(1, 1e300))).all()


@pytest.mark.parametrize("multiclass", ["support", "ovr"])
def test_margins_follow_new_classes(multiclass):
    binary, several = Settings(task="binary"), Settings(task="multiclass", multiclass=multiclass)
    s = np.array([[1.0], [-2.0]])
    one = updated(Calibrator.empty(1), np.array([0, 0]), np.array([1.0, 2.0]), s, 3 * s)
    two = one.grown(binary, binary, np.array([0]), 2)
    assert two.scores.tolist() == (-s).tolist()
    assert two.centres.tolist() == (-3 * s).tolist()
    assert two.counts.tolist() == [[2, 0]]
    same = one.grown(binary, binary, np.array([1]), 2)
    assert same.scores.tolist() == s.tolist()
    assert (same.counts.tolist(), same.masses.tolist()) == ([[0, 2]], [[0.0, 3.0]])
    assert (same.labels.tolist(), same.latest.tolist()) == ([1, 1], [1])
    position = np.array([0, 2])
    three = same.grown(binary, several, position, 3)
    half = 1.0 if multiclass == "ovr" else 0.5
    assert_close(three.scores, s * [[-half, 0, half]])
    assert three.labels.tolist() == [2, 2]
    assert three.counts.tolist() == [[0, 0, 2]]
    assert (three.changes.tolist(), three.latest.tolist()) == ([0], [2])
    assert three.parameters is None


# -- the reference row ----------------------------------------------------------------------------


def test_samples_of_the_reference_row_follow_the_schedule():
    taken = [number for number in range(400) if is_sample(number)]
    assert taken == [*range(RECENT), *range(RECENT, 400, EVERY)]
    points, met = [], 0
    while met < 5000:
        met += next_change(met, 1)
        points.append(met)
    assert points == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3072, 4096, 5120]


def test_samples_with_many_features_are_fewer():
    wide = [range(100 * i, 100 * i + 100) for i in range(RECENT)]
    assert kept(wide) == FEWEST
    assert kept([range(3)] * 5) == 5
    narrow = [range(50 * i, 50 * i + 50) for i in range(RECENT)]
    assert kept(narrow) == FEATURES // 50


@pytest.mark.parametrize("width", [6, 5000])
def test_the_mean_is_that_of_the_last_samples(width):
    random = np.random.default_rng(0)
    X = random.normal(size=(1100, width)) * (random.random((1100, width)) < 20 / width)
    reference, start = ReferenceRow.of(np.zeros(width)), 0
    while start < 1024:
        end = start + next_change(start, 1)
        reference = reference.after(X, np.arange(start, end), 1)
        start = end
    numbers = [number for number in range(1024) if is_sample(number)]
    count = kept(np.flatnonzero(X[number]) for number in numbers[: -RECENT - 1 : -1])
    assert count == RECENT if width == 6 else FEWEST < count < RECENT
    mean = np.zeros(width)
    mean[reference.features] = reference.mean
    np.testing.assert_allclose(mean, X[numbers[-count:]].mean(axis=0), atol=1e-12)
    later = reference.after(X, np.arange(1024, 1100), 1)
    np.testing.assert_array_equal(later.mean, reference.mean)  # until the next 1024
    assert later.met == 1100
    at_once = ReferenceRow.of(np.zeros(width)).after(X, np.arange(1100), 1)
    np.testing.assert_equal(vars(at_once), vars(later))  # for any chunks


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("late", [1, 2, 17])
def test_latest_margins_are_fitted_later(late, classes):
    """The map without the last margins equals the one fitted before them."""
    s, c, y, w = margins(300 + late, classes)
    before = updated(Calibrator.empty(classes), y[:-late], w[:-late], s[:-late], c[:-late])
    after = updated(before, y[-late:], w[-late:], s[-late:], c[-late:])
    assert_close(after._fit(late), before._fit(0), rtol=1e-9)
    evidence, shares = before._evidence(0, y[:1], 0)
    again, same = after._evidence(0, y[-late - 1 :], late)
    assert again == evidence
    assert_close(same, shares)
