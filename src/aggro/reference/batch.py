"""Several examples in one step: the small duals of a mini-batch (paper 003).

The constraints of a hard batch may be infeasible, so that its dual has no maximum: its examples are
then learned one by one. For support classes this equals the first sweep from zero.
"""

import numpy as np

from .rules import TINY, Array, Labels, Mask, Slack, support_classes

MAX_SWEEPS = 5000
MAX_HARD_SWEEPS = 200
MAX_ITERATIONS = 1000
AT_REST = 1e-9  # of the steps; smaller changes are rounding errors
ACCURACY = 1e-12  # relative to the terms that cancel in the gradient


def batch_dual(
    A: Array,
    losses: Array,
    upper: Array,
    ridge: Array,
    epsilon: float = 0.0,
    lower: Array | float = 0.0,
) -> Array | None:
    """Solve for the steps t of a batch: maximise ``l't - eps |t|_1 - 1/2 t'(A + ridge)t``.

    Bounds are lower <= t <= upper. With raw losses l and A_jk = y_j y_k <x_j, x_k>: BPA-I is 0 <= t
    <= C; BPA-II is t >= 0 with ridge 1/2C; BPALS has no bounds (a linear solve); regression has
    ``|t| <= C`` and an epsilon. Return None if the maximum is infinite: the batch is infeasible.

    Examples
    --------
    >>> import numpy as np
    >>> from aggro.reference import batch_dual
    >>> A, losses = np.array([[2.0, 1.0], [1.0, 2.0]]), np.ones(2)
    >>> batch_dual(A, losses, upper=np.full(2, np.inf), ridge=np.zeros(2)).round(3).tolist()
    [0.333, 0.333]
    """
    Q = A + np.diag(ridge)
    lower = np.broadcast_to(np.asarray(lower, dtype=np.float64), losses.shape)
    if epsilon == 0:
        return _box_maximiser(Q, losses, lower, upper)
    # t = p - m with p, m >= 0 turns |t| into p + m; interleaved, to keep the examples' order
    halves = _box_maximiser(
        np.kron(Q, np.array([[1.0, -1.0], [-1.0, 1.0]])),
        np.kron(losses, np.array([1.0, -1.0])) - epsilon,
        np.zeros(2 * len(losses)),
        np.column_stack([upper, -lower]).ravel(),
    )
    return None if halves is None else halves[0::2] - halves[1::2]


def _box_maximiser(Q: Array, linear: Array, lower: Array, upper: Array) -> Array | None:
    """Maximise linear't - 1/2 t'Qt over a box with an active-set method, started by a sweep.

    Return None if the maximum is infinite.
    """
    t = _sweep(Q, linear, lower, upper)
    free = (lower < t) & (t < upper)
    for _ in range(MAX_ITERATIONS):
        gradient, size = linear - Q @ t, np.abs(linear) + np.abs(Q) @ np.abs(t)
        inward = ((gradient > 0) & (t < upper)) | ((gradient < 0) & (t > lower))
        violation = np.where(inward, np.abs(gradient) / np.maximum(size, TINY), 0.0)
        if np.all(violation <= ACCURACY):
            return t
        if np.all(violation[free] <= ACCURACY):  # release the worst of the others
            free[np.argmax(violation)] = True
        direction, longest = _ascent(Q, gradient, free, ACCURACY * size)
        bound = np.where(direction > 0, upper, lower)
        allowed = np.full_like(t, np.inf)
        np.divide(bound - t, direction, out=allowed, where=direction != 0)
        length = allowed.min(initial=longest)
        if length == np.inf:
            return None
        hit = allowed <= length
        t, free = np.where(hit, bound, t + length * direction), free & ~hit
    raise ArithmeticError("the dual of the batch did not converge")


def _sweep(Q: Array, linear: Array, lower: Array, upper: Array) -> Array:
    """Take one exact step per coordinate from 0, at the current values of the others."""
    t = np.zeros_like(linear)
    for k in range(len(t)):
        t[k] = np.clip((linear[k] - Q[k] @ t) / Q[k, k], lower[k], upper[k])
    return t


def _ascent(Q: Array, gradient: Array, free: Mask, noise: Array) -> tuple[Array, float]:
    """Return an ascent direction of the free coordinates and the longest useful step."""
    scale = np.sqrt(np.diag(Q)[free])  # normalise the diagonal to reveal the null space
    inner, slope = Q[np.ix_(free, free)] / np.outer(scale, scale), gradient[free] / scale
    newton = np.linalg.lstsq(inner, slope, rcond=1e-13)[0]
    straight = slope - inner @ newton  # in the null space of Q: no curvature, infinite step
    rounding = noise[free] / scale + ACCURACY * np.abs(inner) @ np.abs(newton)
    straight[np.abs(straight) <= rounding] = 0.0
    bent = np.abs(inner @ straight) > AT_REST * (np.abs(inner) @ np.abs(straight))  # up to rounding
    endless = bool(np.any(straight)) and not bool(np.any(bent))
    direction = np.zeros_like(gradient)
    direction[free] = (straight if endless else newton) / scale
    return direction, np.inf if endless else 1.0


def batch_support_classes(
    scores: Array, labels: Labels, gram: Array, penalties: list[Slack]
) -> Array:
    """Return the coefficients T of a multiclass batch, W = centre + T'X.

    min 1/2 sum_u ||w_u - c_u||^2 + sum_k penalty(xi_k)  s.t.  s_ky - s_kv >= 1 - xi_k, by exact
    block steps: the support classes of each example at its current losses, until convergence. The
    steps of a hard batch may not converge; it is then solved by the active-set method, since its
    only bound is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from aggro.reference import batch_support_classes, slack
    >>> scores, gram = np.zeros((2, 3)), np.eye(2)
    >>> T = batch_support_classes(scores, np.array([0, 2]), gram, [slack("hard", 1.0)] * 2)
    >>> T.round(3).tolist()
    [[0.667, -0.333, -0.333], [-0.333, -0.333, 0.667]]
    """
    hard = all(penalty.hard for penalty in penalties)
    T = first_sweep = _class_sweep(np.zeros_like(scores), scores, labels, gram, penalties)
    for _ in range(MAX_HARD_SWEEPS if hard else MAX_SWEEPS):
        before, T = T, _class_sweep(T, scores, labels, gram, penalties)
        moved, size = np.abs(T - before).max(), np.abs(T).max()
        if moved <= 1e-14 * size:
            return T
    if not hard:
        if moved > AT_REST * size:
            raise ArithmeticError("the sweeps over the batch did not come to rest")
        return T
    found = _hard_support_classes(scores, labels, gram)
    return first_sweep if found is None else found


def _class_sweep(
    T: Array, scores: Array, labels: Labels, gram: Array, penalties: list[Slack]
) -> Array:
    """Take the exact step of each example in turn, at the current steps of the others."""
    T = T.copy()
    for k, y in enumerate(labels):
        s = scores[k] + gram[k] @ T - gram[k, k] * T[k]  # without the contribution of the block
        wrong = np.arange(len(s)) != y
        tau = support_classes(1 - s[y] + s[wrong], gram[k, k], penalties[k])
        T[k, wrong], T[k, y] = -tau, tau.sum()
    return T


def _hard_support_classes(scores: Array, labels: Labels, gram: Array) -> Array | None:
    """Solve for one step per example and wrong class, along e_y - e_v; None if infeasible."""
    classes = scores.shape[1]
    moves = np.diag(gram)[:, None] >= TINY  # rows of length zero cannot move
    example, wrong = np.nonzero(moves & (np.arange(classes) != labels[:, None]))
    way = np.eye(classes)[labels[example]] - np.eye(classes)[wrong]
    Q = gram[np.ix_(example, example)] * (way @ way.T)
    losses = 1 - np.sum(way * scores[example], axis=1)
    tau = _box_maximiser(Q, losses, np.zeros_like(losses), np.full_like(losses, np.inf))
    if tau is None:
        return None
    T = np.zeros_like(scores)
    np.add.at(T, example, tau[:, None] * way)
    return T
