"""The learning step for kernel models: f = sum_j beta_j k(x_j, .), with a budget."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from .rules import Array, slack
from .task import EPSILON, Task, batches

ROUNDING = 1e-9  # of the costs of a removal


def kernel_matrix(
    X: Array, Z: Array, kernel: str, gamma: float = 1.0, degree: int = 3, coef0: float = 1.0
) -> Array:
    """Return k(x, z) for all rows x of X and z of Z.

    Examples
    --------
    >>> import numpy as np
    >>> from aggro.reference import kernel_matrix
    >>> kernel_matrix(np.array([[0.0], [1.0]]), np.array([[1.0]]), "rbf").round(3).tolist()
    [[0.368], [1.0]]
    """
    inner = X @ Z.T
    match kernel:
        case "linear":
            return np.asarray(inner)
        case "poly":
            return np.asarray((gamma * inner + coef0) ** degree)
        case "sigmoid":
            return np.asarray(np.tanh(gamma * inner + coef0))
        case "rbf":
            differences = X[:, None, :] - Z[None, :, :]
            return np.asarray(np.exp(-gamma * np.sum(differences**2, axis=2)))
    raise ValueError(f"unknown kernel {kernel!r}")


def remove_one(K: Array, beta: Array, fresh: int, maintenance: str) -> tuple[int, Array]:
    """Remove the support vector r with the least cost; return r and the other coefficients.

    Project r on the span of V: min ||beta_r phi_r - sum_V beta_i phi_i||^2 is beta_r K_VV^-1 k_Vr,
    at cost 1/2 ||beta_r||^2 (k_rr - k_rV K_VV^-1 k_Vr) (Wang & Vucetic 2010). V contains the last
    ``fresh`` rows, which stay (``simple``), also the nearest neighbour of r (``nearest``), or all
    (``projection``). If costs are equal up to rounding, the first of these rows is removed.
    ``oldest`` drops the first row.

    Examples
    --------
    >>> import numpy as np
    >>> from aggro.reference import remove_one
    >>> K, beta = np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([[1.0], [2.0]])
    >>> r, kept = remove_one(K, beta, fresh=1, maintenance="simple")
    >>> r, kept.tolist()
    (0, [[2.5]])
    """
    if maintenance == "oldest":
        return 0, beta[1:]
    plans = []
    for r in range(len(K) - fresh):
        V = absorbers(K, r, fresh, maintenance)
        share = np.linalg.lstsq(K[np.ix_(V, V)], K[V, r], rcond=None)[0]
        plans.append((np.sum(beta[r] ** 2) * (K[r, r] - K[r, V] @ share) / 2, r, V, share))
    least = min(cost for cost, *_ in plans)
    _, r, V, share = next(plan for plan in plans if plan[0] <= least + ROUNDING * abs(least))
    kept = beta.copy()
    kept[V] += np.outer(share, beta[r])
    return r, np.delete(kept, r, axis=0)


def absorbers(K: Array, r: int, fresh: int, maintenance: str) -> list[int]:
    """Return V, the rows that receive the weight of row r."""
    old = [j for j in range(len(K) - fresh) if j != r]
    new = list(range(len(K) - fresh, len(K)))
    match maintenance:
        case "simple":
            return new
        case "nearest":
            return sorted(old, key=lambda j: float(K[j, j] - 2 * K[r, j]))[:1] + new
        case "projection":
            return old + new
    raise ValueError(f"unknown maintenance {maintenance!r}")


@dataclass
class ReferenceKernelLearner:
    """Kernel PA, one example or one batch at a time; the intercept is the kernel k + 1.

    Examples
    --------
    >>> from aggro.reference import ReferenceKernelLearner
    >>> model = ReferenceKernelLearner("binary", n_features=1, gamma=2.0)
    >>> model.learn_stream([[-1.0], [0.0], [1.0]], [1, -1, 1])
    >>> (model.scores([[0.0], [1.1]]) > 0).ravel().tolist()
    [False, True]
    """

    task: str
    n_features: int
    n_outputs: int = 1
    kernel: str = "rbf"
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 1.0
    loss: str = "hinge"
    C: float = 1.0
    epsilon: float = 0.1
    multiclass: str = "support"
    fit_intercept: bool = True
    batch_size: int = 1
    budget: int | None = None
    maintenance: str = "simple"
    n_mistakes: int = field(default=0, init=False)
    n_updates: int = field(default=0, init=False)
    cumulative_loss: float = field(default=0.0, init=False)
    frozen: bool = field(default=False, init=False)  # the following rows are known

    def __post_init__(self) -> None:
        kind = self.multiclass if self.task == "multiclass" else self.task
        self.outputs = Task(kind, self.loss, self.epsilon)
        self.support = np.zeros((0, self.n_features))
        self.beta = np.zeros((0, self.n_outputs))

    @property
    def b(self) -> Array:
        """The intercepts, 0 without ``fit_intercept``."""
        return np.asarray(self.beta.sum(axis=0) * self.fit_intercept)

    def scores(self, X: ArrayLike) -> Array:
        """Return one row of scores per row of X."""
        rows = np.asarray(X, dtype=np.float64)
        return np.asarray(self._kernel(rows, self.support) @ self.beta)

    def learn(self, x: ArrayLike, y: float, weight: float = 1.0) -> None:
        """Learn one example."""
        self.learn_batch(np.atleast_2d(x), [y], [weight])

    def learn_batch(self, X: ArrayLike, y: ArrayLike, weights: ArrayLike | None = None) -> None:
        """Learn all rows in one step; rows with a step become support vectors."""
        rows, labels = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
        omega = np.ones(len(rows)) if weights is None else np.asarray(weights, dtype=np.float64)
        rows, labels, omega = rows[omega > 0], labels[omega > 0], omega[omega > 0]
        if self.budget is not None and len(rows) > self.budget:
            raise ValueError("a budget must hold at least one batch")
        scores = self.scores(rows)
        if not self.frozen:
            self.n_mistakes += int(self.outputs.mistakes(scores, labels).sum())
        rounding = self._rounding(rows)
        self.cumulative_loss += float(self.outputs.losses(scores, labels, rounding).sum())
        if not np.any(self.outputs.needs_step(scores, labels, rounding)):
            return
        penalties = [slack(self.loss, self.C * o) for o in omega]
        T = self.outputs.coefficients(scores, labels, self._kernel(rows, rows), penalties, rounding)
        new = np.any(T != 0, axis=1)
        self.n_updates += int(new.sum())
        self.support = np.vstack([self.support, rows[new]])
        self.beta = np.vstack([self.beta, T[new]])
        while self.budget is not None and len(self.beta) > self.budget:
            K = self._kernel(self.support, self.support)
            r, self.beta = remove_one(K, self.beta, int(new.sum()), self.maintenance)
            self.support = np.delete(self.support, r, axis=0)

    def learn_stream(self, X: ArrayLike, y: ArrayLike, weights: ArrayLike | None = None) -> None:
        """Learn the rows in order, ``batch_size`` at a time."""
        rows, labels = np.asarray(X), np.asarray(y)
        omega = np.ones(len(rows)) if weights is None else np.asarray(weights, dtype=np.float64)
        for some in batches(omega, self.batch_size):
            self.learn_batch(rows[some], labels[some], omega[some])

    def _rounding(self, rows: Array) -> Array:
        """Return a bound of the rounding error of each score, which a kernel magnifies."""
        own, other = (
            np.array([self._kernel(x[None], x[None])[0, 0] for x in X])
            for X in (rows, self.support)
        )
        size = np.maximum(
            np.sqrt(np.abs(np.outer(own, other))), np.abs(self._kernel(rows, self.support))
        )
        unit = 8 * EPSILON * (64 + np.sqrt(len(self.support)))
        return np.asarray(unit * size @ np.abs(self.beta))

    def _kernel(self, X: Array, Z: Array) -> Array:
        values = kernel_matrix(X, Z, self.kernel, self.gamma, self.degree, self.coef0)
        return values + 1.0 if self.fit_intercept else values
