"""How far to move: the closed form of each rule, for one example.

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

TINY = float(np.finfo(np.float64).tiny)  # squared norms below this belong to an absent example
SURE = sqrt(TINY)  # a variance below this is none: its inverse squared would overflow


class Slack(NamedTuple):
    """The price of violating a constraint: the step is ``clip(loss / (q + ridge), lo, cap)``."""

    lo: float
    cap: float
    ridge: float

    @property
    def hard(self) -> bool:
        """No violation can be bought, at any price."""
        return self.cap == inf and self.ridge == 0.0


def slack(loss: str, C: float) -> Slack:
    """Price a loss in three numbers: PA (hard), PA-I (C xi), PA-II (C xi^2), PALS (equality)."""
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


def step_size(loss: float, q: float, price: Slack) -> float:
    """Step tau for one constraint of raw loss ``l`` whose direction has squared norm ``q``.

    min 1/2 ||w - c||^2 + penalty(xi)  s.t.  y <w, x> >= 1 - xi  gives  w = c + tau y x with
    tau = [l]+ / q (PA),  min(C, [l]+ / q) (PA-I),  [l]+ / (q + 1/2C) (PA-II); paper 003, eqs 3-6.
    """
    if q < TINY:  # nothing to move along
        return 0.0
    return float(np.clip(loss / (q + price.ridge), price.lo, price.cap))


def support_classes(losses: Array, n: float, price: Slack) -> Array:
    """Step away from all wrong classes v at once, sharing one slack (SPA, SPA-I, SPA-II).

    min 1/2 sum_u ||w_u - c_u||^2 + penalty(xi)  s.t.  s_y - s_v >= 1 - xi for every v != y, with
    losses l_v = 1 - s_y + s_v and n = ||x||^2: w_v -= tau_v x, w_y += (sum tau) x; paper 004, §3.
    """
    if n < TINY or losses.max(initial=0.0) <= 0:
        return np.zeros_like(losses)
    order = np.argsort(-losses, kind="stable")
    ranked, rank = losses[order], np.arange(1, len(losses) + 1)
    excess = np.cumsum(ranked) - rank * ranked  # sum_{j<k} (l_j - l_k)
    k = int(np.sum(excess < np.minimum(ranked * n / (n + price.ridge), price.cap * n)))
    Q = ranked[:k].sum()
    total = min(price.cap, Q / ((k + 1) * n + k * price.ridge))
    tau = np.zeros_like(losses)
    tau[order[:k]] = np.maximum(total / k + (ranked[:k] - Q / k) / n, 0.0)
    return tau


def perceptron(M: float, weight: float = 1.0) -> tuple[float, float]:
    """Rosenblatt: w += y x on a mistake. A tie is a mistake, so that w = 0 learns."""
    return (weight if M <= 0 else 0.0), 0.0


def arow(M: float, V: float, r: float) -> tuple[float, float]:
    """Minimise KL(N || N_t) + (1/2r) (l^2 + x' Sigma x), only when l = [1 - M]+ > 0."""
    loss = max(0.0, 1 - M)
    return (loss / (V + r), 1 / r) if loss > 0 else (0.0, 0.0)


def cw_variance(M: float, V: float, phi: float) -> tuple[float, float]:
    """Minimise KL(N || N_t)  s.t.  M' >= phi V' (Dredze 2008; paper 001, eqs 5-6, clipped at 0)."""
    if phi * V <= M or V < SURE:
        return 0.0, 0.0
    B = 1 + 2 * phi * M
    D = sqrt((1 - 2 * phi * M) ** 2 + 8 * phi**2 * V)
    # two forms of the same root: each is free of cancellation for its sign of B
    alpha = 2 * (phi * V - M) / (V * (B + D)) if B > 0 else (D - B) / (4 * phi * V)
    return alpha, 2 * alpha * phi


def _stdev_growth(alpha: float, V: float, phi: float) -> tuple[float, float]:
    """Return alpha and kappa = alpha phi / sqrt(u), sqrt(u) being the deviation after the step."""
    root_u = (-alpha * V * phi + sqrt((alpha * V * phi) ** 2 + 4 * V)) / 2
    return alpha, alpha * phi / root_u


def cw_stdev(M: float, V: float, phi: float) -> tuple[float, float]:
    """Minimise KL(N || N_t)  s.t.  M' >= phi sqrt(V') (Crammer 2008; paper 001, eq. 4)."""
    return scw_i(M, V, phi, inf)


def scw_i(M: float, V: float, phi: float, C: float) -> tuple[float, float]:
    """Minimise KL(N || N_t) + C l  with  l = [phi sqrt(V') - M']+ (Wang 2012): CW-stdev, capped."""
    if phi * sqrt(V) <= M or V < SURE:
        return 0.0, 0.0
    psi, zeta = 1 + phi**2 / 2, 1 + phi**2
    alpha = (-M * psi + sqrt(M**2 * phi**4 / 4 + V * phi**2 * zeta)) / (V * zeta)
    return _stdev_growth(min(C, max(0.0, alpha)), V, phi)


def scw_ii(M: float, V: float, phi: float, C: float) -> tuple[float, float]:
    """Minimise KL(N || N_t) + C l^2  with  l = [phi sqrt(V') - M']+ (Wang 2012)."""
    if phi * sqrt(V) <= M or V < SURE:
        return 0.0, 0.0
    n = V + 1 / (2 * C)
    root = phi * sqrt(phi**2 * M**2 * V**2 + 4 * n * V * (n + V * phi**2))
    alpha = (-(2 * M * n + phi**2 * M * V) + root) / (2 * (n**2 + n * V * phi**2))
    return _stdev_growth(max(0.0, alpha), V, phi)
