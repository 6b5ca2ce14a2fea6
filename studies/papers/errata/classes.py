"""Support classes as printed in the paper's two tables, and corrected."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf

import numpy as np

from aggro.reference import slack, step_size, support_classes
from studies.papers.errata.streams import Array, Labels, own_error
from studies.papers.experiment import Outcome

C = 0.001  # the paper's value for USPS
LARGE = 0.1
HUGE = 1e100
Steps = Callable[[Array, float], Array]  # losses of the wrong classes, squared length -> steps


def sign(X: Array, y: Labels, printed: bool) -> Outcome:
    """E4.1: Table 1 has 1 - (s_v - s_y) where 1 - (s_y - s_v) belongs."""
    found = _learn(X, y, partial(support_classes, penalty=slack("hard", C)), wrong_way=printed)
    return {**found, "own": own_error(X, y, loss="hard")}


def one_step_kept(X: Array, y: Labels, printed: bool) -> Outcome:
    """E4.2: Table 1 overwrites the true class for each support class; only the last step counts."""
    found = _learn(X, y, partial(support_classes, penalty=slack("hard", C)), last_only=printed)
    return {**found, "own": own_error(X, y, loss="hard")}


def linear_step(X: Array, y: Labels, printed: bool) -> Outcome:
    """E4.3: the step of SPA-I adds C n / |S|, which should be subtracted."""
    return _linear(X, y, _step_plus if printed else _exact("hinge"))


def linear_support(X: Array, y: Labels, printed: bool) -> Outcome:
    """E4.4: the support set of SPA-I; its step is corrected here."""
    return _linear(X, y, _support_printed if printed else _exact("hinge"))


def squared_step(X: Array, y: Labels, printed: bool) -> Outcome:
    """E4.5: the step of SPA-II lacks |S| in a denominator."""
    steps = {C: _exact("squared_hinge", C), LARGE: _exact("squared_hinge", LARGE)}
    if printed:
        steps = {c: partial(_squared_printed, C=c) for c in steps}
    found, large = (_learn(X, y, steps[c], loss="squared", C=c) for c in steps)
    more = {f"large_{what}": large[what] for what in ("error", "excess")}
    return {**found, **more, "own": own_error(X, y, loss="squared_hinge", C=C)}


def half_C(X: Array, y: Labels, printed: bool) -> Outcome:
    """E4.6: PA-I is capped at C/2."""
    found = _learn(X, y, partial(_one, cap=C / 2 if printed else C), loss="linear")
    return {**found, "own": own_error(X, y, loss="hinge", C=C, multiclass="top")}


def predicted(X: Array, y: Labels, printed: bool) -> Outcome:
    """E4.7: the constraint names the predicted class, which may be the true one."""
    found = _learn(X, y, partial(_one, cap=inf), on_mistakes=printed)
    reading = "predicted" if printed else "top"
    return {**found, "own": own_error(X, y, loss="hard", multiclass=reading)}


# -- the loop -----------------------------------------------------------------------------------


def _learn(
    X: Array,
    y: Labels,
    steps: Steps,
    *,
    loss: str = "hard",
    C: float = C,
    wrong_way: bool = False,
    last_only: bool = False,
    on_mistakes: bool = False,
) -> Outcome:
    """Learn the stream; return its error and counts over rounds with a loss."""
    W = np.zeros((int(y.max()) + 1, X.shape[1]))
    wrong = asked = missed = still = grown = 0
    excess = []
    for t, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        scores, n = W @ x, float(x @ x)
        mistake = int(np.argmax(scores)) != label
        wrong += mistake
        raw = np.delete(1 - scores[label] + scores, label)
        losses = np.maximum(2 - raw if wrong_way else raw, 0.0)  # 1 + gap is 2 - (1 - gap)
        if raw.max() <= 0 and not wrong_way:
            continue
        asked += 1
        tau = np.zeros_like(losses) if on_mistakes and not mistake else steps(losses, n)
        kept = np.flatnonzero(tau)
        total = tau[kept[np.argmin(losses[kept])]] if last_only and len(kept) else tau.sum()
        W[label] += total * x
        W[np.delete(np.arange(len(W)), label)] -= np.outer(tau, x)
        still += not len(kept)
        missed += bool((raw - n * (total + tau)).max() > 1e-9)
        if loss != "hard":
            best = _least(steps, loss, C)(losses, n)
            reached, least = (_objective(t, raw, n, loss, C) for t in (tau, best))
            excess.append(reached / least - 1)
        if np.linalg.norm(W) > HUGE:
            grown = t + 1
            break
    seen = grown or len(y)
    return {
        "error": 100 * wrong / seen,
        "norm": float(np.linalg.norm(W)),
        "seen": seen,
        "still": 100 * still / asked,
        "missed": 100 * missed / asked,
        "excess": 100 * float(np.mean(excess)) if excess else 0.0,
    }


def _objective(tau: Array, raw: Array, n: float, loss: str, C: float) -> float:
    """Return the objective: half the squared step plus the cost of the largest remaining loss."""
    left = max(0.0, float((raw - n * (tau.sum() + tau)).max()))
    return 0.5 * n * float(tau @ tau + tau.sum() ** 2) + C * (left if loss == "linear" else left**2)


def _exact(loss: str, C: float = C) -> Steps:
    return partial(support_classes, penalty=slack(loss, C))


def _least(steps: Steps, loss: str, C: float) -> Steps:
    """Return the exact minimiser of the problem that the steps solve."""
    if isinstance(steps, partial) and steps.func is _one:
        return partial(_one, cap=C)
    return _exact("hinge" if loss == "linear" else "squared_hinge", C)


def _linear(X: Array, y: Labels, steps: Steps) -> Outcome:
    found = _learn(X, y, steps, loss="linear")
    return {**found, "own": own_error(X, y, loss="hinge", C=C)}


# -- steps --------------------------------------------------------------------------------------


def _one(losses: Array, n: float, cap: float) -> Array:
    """Return the step for one constraint, that of the best wrong class."""
    tau, rival = np.zeros_like(losses), int(np.argmax(losses))
    tau[rival] = step_size(losses[rival], 2 * n, slack("hinge", cap))
    return tau


def _step_plus(losses: Array, n: float) -> Array:
    """Return the printed step of SPA-I for the correct support set."""
    chosen = support_classes(losses, n, slack("hinge", C)) > 0
    size, Q = int(chosen.sum()), losses[chosen].sum()
    theta = max(Q / size + C / size * n, Q / (size + 1))
    return np.where(chosen, np.maximum(losses - theta, 0.0), 0.0) / n


def _support_printed(losses: Array, n: float) -> Array:
    """Return the correct step of SPA-I for the printed support set."""
    order, size, total = np.argsort(-losses), 0, 0.0
    for k, l_k in enumerate(losses[order], start=1):
        if not total < min((k + 1) * C / n - l_k, k * l_k):
            break
        size, total = k, total + l_k
    tau = np.zeros_like(losses)
    if size:
        theta = max((total - C * n) / size, total / (size + 1))
        tau[order[:size]] = np.maximum(losses[order[:size]] - theta, 0.0) / n
    return tau


def _squared_printed(losses: Array, n: float, C: float) -> Array:
    """Return the printed step of SPA-II for the correct support set."""
    ridge = 1 / (2 * C)
    chosen = support_classes(losses, n, slack("squared_hinge", C)) > 0
    theta = (n + ridge) / ((chosen.sum() + 1) * n + ridge) * losses[chosen].sum()
    return np.where(chosen, np.maximum(losses - theta, 0.0), 0.0) / n
