"""Drift detection: no restarts of stationary streams, restarts after abrupt drift."""

import numpy as np
import pytest

import aggro
from aggro import AutoClassifier, AutoRegressor
from aggro.learner import Learner, rows_of
from aggro.selection.drift import DEVIATIONS, NO_ROWS, PATIENCE, WINDOW, DriftDetector, deviation_of
from aggro.settings import Settings

BLOCK = 1024


def linear(seed, rows, features=8):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features))
    return rng, X, X @ rng.normal(size=features)


def binary(seed, rows):
    rng, X, scores = linear(seed, rows)
    return X, (scores + rng.normal(size=rows) > 0).astype(int)


def multiclass(seed, rows):
    rng, X, scores = linear(seed, rows)
    return X, np.digitize(scores + rng.normal(size=rows), [-1.0, 1.0])


def imbalanced(seed, rows):
    _, X, scores = linear(seed, rows)
    return X, (scores > np.quantile(scores, 0.99)).astype(int)


def normal(seed, rows):
    rng, X, scores = linear(seed, rows)
    return X, scores + rng.normal(size=rows)


def cauchy(seed, rows):
    rng, X, scores = linear(seed, rows)
    return X, scores + 0.1 * rng.standard_cauchy(rows)


def outliers(seed, rows):
    rng, X, scores = linear(seed, rows)
    wrong = rng.random(rows) < 0.001
    return X, np.where(wrong, 1000 * rng.normal(size=rows), scores + 0.1 * rng.normal(size=rows))


CLASSES, NUMBERS = (binary, multiclass, imbalanced), (normal, cauchy, outliers)


def estimator(generator):
    kind = AutoRegressor if generator in NUMBERS else AutoClassifier
    return kind(random_state=0)


@pytest.mark.parametrize("generator", CLASSES + NUMBERS)
@pytest.mark.parametrize("seed", range(2))
def test_partial_fit_after_fit_continues_the_selection(generator, seed):
    X, y = generator(seed, 5500)
    model = estimator(generator).fit(X[:2500], y[:2500])
    for part in np.array_split(np.arange(2500, 5500), 10):
        model.partial_fit(X[part], y[part])
    assert model._learner.drift.start == 0 and not model._learner.drift.drifted


@pytest.mark.parametrize("generator", CLASSES + NUMBERS)
def test_stationary_streams_never_restart(generator):
    X, y = generator(3, 30 * BLOCK)
    assert estimator(generator).partial_fit(X, y)._learner.drift.start == 0


def test_repeated_rows_are_not_evaluated():
    X, y = binary(0, 2500)
    once = estimator(binary).partial_fit(X, y)
    fitted = estimator(binary).set_params(max_iter=3, tol=None).fit(X, y)
    weights = [model._learner._drift_sums()[0] for model in (once, fitted)]
    assert max(weights) <= len(y) < fitted._learner.examples


def blocks(detector, means, rows=BLOCK, weight=1.0, regression=False):
    """Test blocks of given mean losses; return the detector and the blocks that drifted."""
    sums, found = np.array(detector.origin), []
    for number, mean in enumerate(means):
        sums = sums + rows * np.array([weight, weight**2, weight * mean, weight * mean])
        detector = detector.tested(tuple(sums), regression)
        found += [number] if detector.drifted else []
    return detector, found


@pytest.mark.parametrize("error", [0.001, 0.01, 0.1, 0.5])
def test_two_million_stationary_rows_rarely_raise_an_alarm(error):
    rng = np.random.default_rng(0)
    alarms = 0
    for _ in range(20):
        means = rng.binomial(BLOCK, error, 2_000_000 // BLOCK) / BLOCK
        alarms += bool(blocks(DriftDetector(), means)[1])
    assert alarms <= 2


@pytest.mark.parametrize("weight", [1e-3, 1.0, 37.0])
def test_weights_of_any_scale_give_the_same_decisions(weight):
    means = [0.1, 0.11, 0.09, 0.1, 0.16, 0.1]
    assert blocks(DriftDetector(), means, weight=weight)[1] == [4]


def test_a_block_needs_a_significant_increase():
    usual, reference = 0.1, [0.1] * 4
    deviation = deviation_of(usual, WINDOW, BLOCK)
    skew = DEVIATIONS**2 / (6 * BLOCK)
    for deviations, found in ((DEVIATIONS - 0.1, []), (DEVIATIONS + 0.1, [4])):
        means = [*reference, usual + deviations * deviation + skew]
        assert blocks(DriftDetector(), means)[1] == found
    assert blocks(DriftDetector(), [0.1, 0.9], rows=PATIENCE // 2 - 1)[1] == []
    assert blocks(DriftDetector(), [0.1, 0.9], rows=PATIENCE // 2)[1] == [1]


def test_blocks_without_evaluated_rows_change_nothing():
    detector, _ = blocks(DriftDetector(), [0.1] * 5)
    after = detector.tested(detector.origin, regression=False)
    assert after == detector


def test_dispersed_blocks_raise_the_threshold_after_a_restart():
    rng = np.random.default_rng(0)
    noisy = np.clip(0.1 * np.exp(0.3 * rng.normal(size=2000)), 0.0, 1.0)
    detector, restarts = DriftDetector(), 0
    for mean in noisy:
        detector, found = blocks(detector, [mean])
        if found:
            detector, restarts = detector.restarted(BLOCK), restarts + 1
    assert restarts <= 10 and detector.dispersion > 4.0


def transient_after(detector):
    """Restart; the candidate that is kept has its usual loss again."""
    detector = detector.restarted(1000 * BLOCK)
    change = np.array([256.0, 256.0, 25.6, 25.6])
    return detector.verified(tuple(np.array(detector.origin) + change))


def test_increases_like_a_transient_one_must_last_for_two_blocks():
    detector, found = blocks(DriftDetector(), [0.1] * 5 + [0.25])
    assert found == [5]
    detector = transient_after(detector)
    assert detector.tolerance > 1.0
    detector, found = blocks(detector, [0.1] * 8 + [0.22, 0.1, 0.1, 0.22, 0.1])
    assert found == []
    assert blocks(detector, [0.22, 0.22])[1] == [1]
    assert blocks(detector, [0.6])[1] == [0]


def test_a_lasting_increase_leaves_the_threshold_as_it_is():
    detector = blocks(DriftDetector(), [0.1] * 5 + [0.25])[0].restarted(1000 * BLOCK)
    change = np.array([256.0, 256.0, 64.0, 64.0])
    detector = detector.verified(tuple(np.array(detector.origin) + change))
    assert detector.tolerance == 1.0 and detector.alarm == ()


def test_bursts_of_wrong_labels_stop_restarting_the_selection():
    X, y = binary(0, 60_000)
    for start in range(7000, len(y), 7000):
        y[start : start + 400] = np.random.default_rng(start).integers(0, 2, 400)
    model, starts = estimator(binary), set()
    for part in np.split(np.arange(len(y)), range(2048, len(y), 2048)):
        model.partial_fit(X[part], y[part])
        starts.add(model._learner.drift.start)
    assert len(starts - {0}) <= 5  # of 8 bursts
    assert model._learner.drift.tolerance > 1.0


@pytest.mark.parametrize("generator", [binary, normal])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_restarts_after_abrupt_drift_are_chunk_invariant(generator, dtype, tmp_path):
    X, y = generator(1, 8 * BLOCK)
    later = 5 * BLOCK - 500
    y[later:] = 1 - y[later:] if generator is binary else -y[later:]
    X = X.astype(dtype)
    whole = estimator(generator).partial_fit(X, y)
    assert whole._learner.drift.start == 5 * BLOCK
    parts = estimator(generator)
    for part in np.split(np.arange(len(y)), [777, 5 * BLOCK, 5 * BLOCK + 100]):
        parts.partial_fit(X[part], y[part])
        aggro.save(parts, tmp_path / "model")
        parts = aggro.load(tmp_path / "model")
    assert parts._learner.drift == whole._learner.drift


@pytest.mark.parametrize("threads", [1, 2])
def test_the_record_equals_its_reference(threads):
    """Losses e / (e + s); the scale s follows the errors by stochastic approximation."""
    rng, X, scores = linear(0, 300)
    y, weights = scores + rng.standard_cauchy(300), rng.choice([0.0, 0.5, 1.0, 3.0], 300)
    learner = Learner(Settings("regression"), X.shape[1], 1)
    total = squares = loss = square_loss = scale = 0.0
    for i in range(len(y)):
        row = rows_of(X[i : i + 1])
        error, w = abs(y[i] - learner.scores(row)[0, 0]), weights[i]
        values = y[i : i + 1, None].copy()
        learner.learn(row, values=values, weights=weights[i : i + 1].copy(), threads=threads)
        if w == 0:
            continue
        bounded = error / (error + scale) if error > 0 else 0.0
        total, squares, loss = total + w, squares + w * w, loss + w * bounded
        square_loss += w * bounded**2
        if scale == 0.0:
            scale = error
            continue
        mean = squares / total
        rate = min(4 * w / mean / (8 + min(total / mean, 4088)), 0.5)
        scale *= 1 + rate * (2 * bounded - 1)
    found = learner.state()["drift"]
    np.testing.assert_allclose(found, [total, squares, loss, square_loss, scale], rtol=1e-9)


def test_rejected_rows_leave_the_record_as_it_was():
    X, y = normal(0, 500)
    model = estimator(normal).partial_fit(X, y)
    before = model._learner._drift_sums(), model._learner.drift
    bad = X.copy()
    bad[-1] = 1e308
    with pytest.raises(ValueError, match=r"large|overflow"):
        model.partial_fit(bad, y)
    assert (model._learner._drift_sums(), model._learner.drift) == before
    assert before[0] != NO_ROWS


def test_a_steady_trend_is_drift_and_not_dispersion():
    detector = blocks(DriftDetector(), [0.1] * 5 + [0.3])[0].restarted(1000 * BLOCK)
    detector, found = blocks(detector, [0.1] * 4 + list(np.arange(0.1, 0.3, 0.02)))
    assert found and detector.dispersion < 3.0
