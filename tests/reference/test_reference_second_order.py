"""Confidence rules satisfy their optimality conditions; the metric grows as in the papers."""

from math import inf, log, sqrt

import numpy as np
import pytest
from closeness import assert_close
from hypothesis import given, settings
from hypothesis import strategies as st

from aggro.reference import ReferenceLearner, arow, cw_stdev, cw_variance, scw_i, scw_ii

margin = st.floats(-10, 10)
variance = st.floats(1e-3, 100)
phi_ = st.floats(1e-2, 3)
positive = st.floats(1e-2, 10)
quick = settings(max_examples=100, deadline=None, derandomize=True)


def after(M, V, alpha, kappa):
    return M + alpha * V, V / (1 + kappa * V)


def kl(M, V, mean_step, kappa):
    """Return the KL divergence of the new Gaussian from the old, for a step along Sigma x."""
    return (1 / (1 + kappa * V) - 1 + log(1 + kappa * V) + mean_step**2 * V) / 2


@quick
@given(margin, variance, phi_)
def test_cw_variance_is_tight_and_stationary(M, V, phi):
    alpha, kappa = cw_variance(M, V, phi)
    M2, V2 = after(M, V, alpha, kappa)
    assert alpha >= 0
    if phi * V > M:
        assert pytest.approx(phi * V2, rel=1e-8, abs=1e-9 * (1 + abs(M))) == M2
        assert kappa == 2 * alpha * phi  # stationarity: Sigma'^-1 = Sigma^-1 + 2 alpha phi x x'
    else:
        assert alpha == kappa == 0


@quick
@given(margin, variance, phi_)
def test_cw_stdev_is_tight_and_stationary(M, V, phi):
    alpha, kappa = cw_stdev(M, V, phi)
    M2, V2 = after(M, V, alpha, kappa)
    if phi * sqrt(V) - M > 1e-9:
        assert pytest.approx(phi * sqrt(V2), rel=1e-8, abs=1e-9 * (1 + abs(M))) == M2
        assert kappa * sqrt(V2) == pytest.approx(alpha * phi, rel=1e-8, abs=1e-12)
    elif phi * sqrt(V) <= M:
        assert alpha == kappa == 0


@quick
@given(margin, variance, phi_, positive)
def test_scw_satisfies_its_optimality_conditions(M, V, phi, C):
    for rule in (scw_i, scw_ii):
        alpha, kappa = rule(M, V, phi, C)
        M2, V2 = after(M, V, alpha, kappa)
        loss = max(0.0, phi * sqrt(V2) - M2)
        near = {"rel": 1e-7, "abs": 1e-8 * (1 + abs(M))}
        if alpha > 0:
            assert kappa * sqrt(V2) == pytest.approx(alpha * phi, **near)
        if rule is scw_i:
            assert 0 <= alpha <= C
            assert alpha == C or loss == pytest.approx(0.0, **near)
        else:
            assert loss == pytest.approx(alpha / (2 * C), **near)


@quick
@given(margin, variance, phi_)
def test_soft_rules_equal_the_hard_one_at_infinite_C(M, V, phi):
    assert scw_i(M, V, phi, inf) == cw_stdev(M, V, phi)
    assert scw_ii(M, V, phi, 1e13)[0] == pytest.approx(cw_stdev(M, V, phi)[0], rel=1e-6, abs=1e-9)


def objective(rule, M, V, phi, C, r, alpha, kappa):
    M2, V2 = after(M, V, alpha, kappa)
    slack = {"cw": phi * V2 - M2, "arow": 1 - M2}.get(rule, phi * sqrt(V2) - M2)
    loss, near = max(0.0, slack), kl(M, V, alpha, kappa)
    if rule == "arow":
        return near + (loss**2 + V2) / (2 * r)
    if rule.startswith("cw"):
        return near if slack <= 1e-12 else inf
    return near + C * (loss if rule == "scw-i" else loss**2)


def test_no_other_step_does_better():
    """Random (alpha, kappa) near the closed form never lower the objective."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        M, V = rng.normal(), 10 ** rng.uniform(-1, 1)
        phi, C, r = rng.uniform(0.1, 2), 10 ** rng.uniform(-1, 1), 10 ** rng.uniform(-1, 1)
        moves = {
            "cw": cw_variance(M, V, phi),
            "cw-stdev": cw_stdev(M, V, phi),
            "scw-i": scw_i(M, V, phi, C),
            "scw-ii": scw_ii(M, V, phi, C),
            "arow": arow(M, V, r),
        }
        for rule, (alpha, kappa) in moves.items():
            if alpha == 0:
                continue
            best = objective(rule, M, V, phi, C, r, alpha * (1 + 1e-13), kappa * (1 + 1e-13))
            for scale in 1 + rng.normal(size=(6, 2)) * 10 ** rng.uniform(-4, 0, (6, 1)):
                a, k = alpha * scale[0], max(0.0, kappa * scale[1])
                assert objective(rule, M, V, phi, C, r, a, k) >= best - 1e-10 * (1 + abs(best))


@pytest.mark.parametrize("rule", ["pa", "arow", "cw", "cw-stdev", "scw-i", "scw-ii"])
@pytest.mark.parametrize("metric", ["diagonal", "full"])
def test_precision_grows_by_kappa_on_updates_only(rule, metric):
    rng = np.random.default_rng(1)
    learner = ReferenceLearner("binary", 3, metric=metric, rule=rule, C=0.5, r=0.7, phi=0.8)
    total = np.eye(4)
    kappas = {"pa": 1.0, "arow": 1 / 0.7}
    for _ in range(30):
        x, y, updates = rng.normal(size=3), rng.choice([-1.0, 1.0]), learner.n_updates
        before = learner.groups[0].metric.precision
        learner.learn(x, y)
        growth = learner.groups[0].metric.precision - before
        row = np.append(x, 1.0)
        assert (learner.n_updates > updates) == bool(np.any(growth))
        if learner.n_updates > updates:
            outer = np.outer(row, row) if metric == "full" else row * row
            kappa = kappas.get(rule, growth.ravel()[0] / outer.ravel()[0])
            np.testing.assert_allclose(growth, kappa * outer, atol=1e-9)
            total = total + kappa * np.outer(row, row)
    final = learner.groups[0].metric.precision
    assert_close(final, total if metric == "full" else np.diag(total), rtol=1e-9)


@pytest.mark.parametrize("metric", ["diagonal", "full"])
def test_pam_ii_with_half_C_is_arow_with_unit_r(metric):
    rng = np.random.default_rng(2)
    pam = ReferenceLearner("binary", 4, loss="squared_hinge", C=0.5, metric=metric)
    reference = ReferenceLearner("binary", 4, rule="arow", r=1.0, metric=metric)
    for x, y in zip(rng.normal(size=(60, 4)), rng.choice([-1.0, 1.0], 60), strict=True):
        pam.learn(x, y)
        reference.learn(x, y)
    assert_close(pam.W, reference.W, rtol=1e-10)
    assert pam.n_updates == reference.n_updates


def test_diagonal_is_full_on_one_hot_rows_and_first_step_is_euclidean():
    rng = np.random.default_rng(3)
    learners = [
        ReferenceLearner("multiclass", 5, 3, C=0.3, metric=metric, fit_intercept=False)
        for metric in ("diagonal", "full", "euclidean")
    ]
    for t, index in enumerate(rng.integers(0, 5, 40)):
        y = rng.integers(0, 3)
        for learner in learners:
            learner.learn(np.eye(5)[index] * (1 + t % 3), y)
        if t == 0:
            np.testing.assert_array_equal(learners[0].W, learners[2].W)
    assert_close(learners[0].W, learners[1].W, rtol=1e-10)


def test_weight_divides_r_and_multiplies_c():
    x, w = np.array([1.0, 2.0]), 3.0
    for rule, scaled in [
        ("arow", {"r": 1 / w}),
        ("scw-i", {"C": w * 0.1}),
        ("scw-ii", {"C": w * 0.1}),
    ]:
        heavy = ReferenceLearner("binary", 2, rule=rule, metric="full", C=0.1)
        plain = ReferenceLearner("binary", 2, rule=rule, metric="full", **{"C": 0.1, **scaled})
        heavy.learn(x, 1.0, weight=w)
        plain.learn(x, 1.0)
        assert_close(heavy.W, plain.W, rtol=1e-14)
