"""Step sizes: the closed form of each rule, for one example.

Passive-Aggressive rules minimise ``1/2 ||w - c||^2 + penalty(xi)`` subject to margins of at least
``1 - xi``; the penalty is described by three numbers (:class:`Slack`). Confidence rules keep a
Gaussian over w and map the margin ``M = y <mu, x>`` and the variance ``V = x' Sigma x`` to
``(alpha, kappa)``: the mean moves by ``alpha y Sigma x``, the precision grows by ``kappa x x'``.
"""

from math import inf, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Labels = NDArray[np.int64]

TINY = float(np.finfo(np.float64).tiny)  # smaller squared norms count as zero
SURE = 2.0**-510  # smaller variances count as zero: their inverse square would overflow


class Slack(NamedTuple):
    """The penalty of a violated constraint: the step is ``clip(loss / (q + ridge), lo, cap)``.

    Examples
    --------
    >>> from aggro.reference import Slack, step_size
    >>> step_size(2.0, 1.0, Slack(lo=0.0, cap=0.5, ridge=0.0))
    0.5
    """

    lo: float
    cap: float
    ridge: float

    @property
    def hard(self) -> bool:
        """Whether no violation is allowed."""
        return self.cap == inf and self.ridge == 0.0


def slack(loss: str, C: float) -> Slack:
    """Return the three numbers of a loss: PA (hard), PA-I (C xi), PA-II (C xi^2), PALS (equality).

    Examples
    --------
    >>> from aggro.reference import slack
    >>> slack("squared_hinge", C=0.5)
    Slack(lo=0.0, cap=inf, ridge=1.0)
    """
    match loss:
        case "hard":
            return Slack(0.0, inf, 0.0)
        case "hinge" | "epsilon_insensitive":
            return Slack(0.0, C, 0.0)
        case "squared_hinge" | "squared_epsilon_insensitive":
            return Slack(0.0, inf, 1 / (2 * C))
        case "least_squares":
            return Slack(-inf, inf, 1 / (2 * C))
    raise ValueError(f"unknown loss {loss!r}")


def step_size(loss: float, q: float, penalty: Slack) -> float:
    """Return the step tau for one constraint of raw loss l and squared norm q.

    min 1/2 ||w - c||^2 + penalty(xi)  s.t.  y <w, x> >= 1 - xi  gives  w = c + tau y x with
    tau = [l]+ / q (PA),  min(C, [l]+ / q) (PA-I),  [l]+ / (q + 1/2C) (PA-II); paper 003, eqs 3-6.

    Examples
    --------
    >>> from aggro.reference import slack, step_size
    >>> [step_size(1.0, 4.0, slack(loss, 0.1)) for loss in ("hard", "hinge")]
    [0.25, 0.1]
    """
    if q < TINY:  # a zero row cannot move
        return 0.0
    return float(np.clip(loss / (q + penalty.ridge), penalty.lo, penalty.cap))


def support_classes(losses: Array, n: float, penalty: Slack) -> Array:
    """Return the steps for all wrong classes v, which share one slack (SPA, SPA-I, SPA-II).

    min 1/2 sum_u ||w_u - c_u||^2 + penalty(xi)  s.t.  s_y - s_v >= 1 - xi for every v != y, with
    losses l_v = 1 - s_y + s_v and n = ||x||^2: w_v -= tau_v x, w_y += (sum tau) x; paper 004, §3.

    Examples
    --------
    >>> import numpy as np
    >>> from aggro.reference import slack, support_classes
    >>> support_classes(np.array([2.2, 1.6, -0.5]), 1.0, slack("hard", 1.0)).round(3).tolist()
    [0.933, 0.333, 0.0]
    """
    if n < TINY or losses.max(initial=0.0) <= 0:
        return np.zeros_like(losses)
    order = np.argsort(-losses, kind="stable")
    ranked, rank = losses[order], np.arange(1, len(losses) + 1)
    excess = np.cumsum(ranked) - rank * ranked  # sum_{j<k} (l_j - l_k)
    k = int(np.sum(excess < np.minimum(ranked * n / (n + penalty.ridge), penalty.cap * n)))
    Q = ranked[:k].sum()
    total = min(penalty.cap, Q / ((k + 1) * n + k * penalty.ridge))
    tau = np.zeros_like(losses)
    tau[order[:k]] = np.maximum(total / k + (ranked[:k] - Q / k) / n, 0.0)
    return tau


def perceptron(M: float, weight: float = 1.0) -> tuple[float, float]:
    """Rosenblatt: w += y x on a mistake. Ties are mistakes, so that w = 0 is updated.

    Examples
    --------
    >>> from aggro.reference import perceptron
    >>> perceptron(M=-0.5), perceptron(M=0.1)
    ((1.0, 0.0), (0.0, 0.0))
    """
    return (weight if M <= 0 else 0.0), 0.0


def arow(M: float, V: float, r: float) -> tuple[float, float]:
    """Minimise KL(N || N_t) + (1/2r) (l^2 + x' Sigma x), only when l = [1 - M]+ > 0.

    Examples
    --------
    >>> from aggro.reference import arow
    >>> arow(M=0.0, V=1.0, r=1.0)
    (0.5, 1.0)
    """
    loss = max(0.0, 1 - M)
    return (loss / (V + r), 1 / r) if loss > 0 else (0.0, 0.0)


def cw_variance(M: float, V: float, phi: float) -> tuple[float, float]:
    """Minimise KL(N || N_t)  s.t.  M' >= phi V' (Dredze 2008; paper 001, eqs 5-6, clipped at 0).

    Examples
    --------
    >>> from aggro.reference import cw_variance
    >>> [round(number, 3) for number in cw_variance(M=0.0, V=1.0, phi=1.0)]
    [0.5, 1.0]
    """
    if phi * V <= M or V < SURE:
        return 0.0, 0.0
    B = 1 + 2 * phi * M
    D = sqrt((1 - 2 * phi * M) ** 2 + 8 * phi**2 * V)
    # two forms of the same root, each free of cancellation for one sign
    alpha = 2 * (phi * V - M) / (V * (B + D)) if B > 0 else (D - B) / (4 * phi * V)
    return alpha, 2 * alpha * phi


def _stdev_growth(alpha: float, V: float, phi: float) -> tuple[float, float]:
    """Return alpha and kappa = alpha phi / sqrt(u), where sqrt(u) is the deviation after the step.

    sqrt(u) = (sqrt(a^2 + 4V) - a) / 2 with a = alpha V phi, rewritten to avoid cancellation.
    """
    a = alpha * V * phi
    return alpha, alpha * phi * (a + sqrt(a * a + 4 * V)) / (2 * V)


def cw_stdev(M: float, V: float, phi: float) -> tuple[float, float]:
    """Minimise KL(N || N_t)  s.t.  M' >= phi sqrt(V') (Crammer 2008; paper 001, eq. 4).

    Examples
    --------
    >>> from aggro.reference import cw_stdev
    >>> [round(number, 3) for number in cw_stdev(M=0.0, V=1.0, phi=1.0)]
    [0.707, 1.0]
    """
    return scw_i(M, V, phi, inf)


def scw_i(M: float, V: float, phi: float, C: float) -> tuple[float, float]:
    """Minimise KL(N || N_t) + C l  with  l = [phi sqrt(V') - M']+ (Wang 2012): CW-stdev, capped.

    Examples
    --------
    >>> from aggro.reference import scw_i
    >>> [round(number, 3) for number in scw_i(M=0.0, V=1.0, phi=1.0, C=0.5)]
    [0.5, 0.64]
    """
    if phi * sqrt(V) <= M or V < SURE:
        return 0.0, 0.0
    psi, zeta = 1 + phi**2 / 2, 1 + phi**2
    root = sqrt(M**2 * phi**4 / 4 + V * phi**2 * zeta)
    # two forms of the same root, each free of cancellation for one sign
    alpha = (phi**2 * V - M**2) / (V * (M * psi + root)) if M > 0 else (root - M * psi) / (V * zeta)
    return _stdev_growth(min(C, max(0.0, alpha)), V, phi)


def scw_ii(M: float, V: float, phi: float, C: float) -> tuple[float, float]:
    """Minimise KL(N || N_t) + C l^2  with  l = [phi sqrt(V') - M']+ (Wang 2012).

    Examples
    --------
    >>> from aggro.reference import scw_ii
    >>> [round(number, 3) for number in scw_ii(M=0.0, V=1.0, phi=1.0, C=1.0)]
    [0.516, 0.667]
    """
    if phi * sqrt(V) <= M or V < SURE:
        return 0.0, 0.0
    n = V + 1 / (2 * C)
    root = phi * sqrt(phi**2 * M**2 * V**2 + 4 * n * V * (n + V * phi**2))
    middle = M * (2 * n + phi**2 * V)
    if M > 0:  # two forms of the same root, as above
        alpha = 2 * (phi**2 * V - M**2) / (middle + root)
    else:
        alpha = (root - middle) / (2 * n * (n + V * phi**2))
    return _stdev_growth(max(0.0, alpha), V, phi)
