"""What the scikit-learn estimators share: reading input, passes over it, fitted attributes."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from aggro.auto import AnyLearner
from aggro.learner import Array, rows_of
from aggro.rules import Settings, Task, check_count, check_number, check_settings

FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
Method = TypeVar("Method", bound=Callable[..., Any])


def all_or_nothing(method: Method) -> Method:
    """Leave the estimator exactly as it was when the method raises."""

    @functools.wraps(method)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(self.__dict__)
        try:
            return method(self, *args, **kwargs)
        except BaseException:  # Ctrl-C too
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    return guarded  # type: ignore[return-value]  # wraps keeps the signature


def keep_parameters(estimator: Any, arguments: dict[str, Any]) -> None:
    """Store the arguments of a constructor as they were given."""
    for name, value in arguments.items():
        if name not in ("self", "__class__"):
            setattr(estimator, name, value)


class LinearEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """A scikit-learn estimator around a ``Learner``."""

    _losses: tuple[str, ...]
    _learner: AnyLearner
    _known_prices: tuple[Any, ...]

    # -- input ------------------------------------------------------------------------------

    def _read(self, X: Any, *, reset: bool) -> Any:
        """Return X as the core reads it: C-ordered or CSR, copied only if it must be."""
        known = not reset and type(X) is np.ndarray and not hasattr(self, "feature_names_in_")
        if not (
            known
            and X.ndim == 2
            and X.dtype in FLOATS
            and X.flags.c_contiguous
            and X.shape[1] == self.n_features_in_
            and X.shape[0] > 0
        ):
            X = validate_data(
                self,
                X,
                reset=reset,
                accept_sparse="csr",
                dtype=list(FLOATS),
                order="C",
                accept_large_sparse=True,
                ensure_all_finite=False,  # the core looks while it learns
            )
        return X

    @staticmethod
    def _weights(sample_weight: Any, count: int) -> Array | None:
        if sample_weight is None:
            return None
        weights = np.asarray(sample_weight, dtype=np.float64)
        if weights.ndim == 0:
            weights = np.full(count, float(weights))
        if weights.shape != (count,):
            raise ValueError(
                f"sample_weight has shape {weights.shape}, expected ({count},): one for each row."
            )
        if not np.isfinite(weights).all():
            raise ValueError("sample_weight contains NaN or infinity; give finite weights.")
        if (weights < 0).any():
            raise ValueError(
                f"sample_weight contains a negative weight ({weights.min()}); weights multiply C "
                "and must be zero or more."
            )
        return weights

    # -- settings ---------------------------------------------------------------------------

    def _settings(self, task: Task, **fixed: Any) -> Settings:
        """Return the point on every axis: the parameters that name one, and what is fixed."""
        names = Settings.__dataclass_fields__.keys() & set(self._parameter_names())
        return Settings(task=task, **{name: getattr(self, name) for name in names}, **fixed)

    def _checked_settings(self, task: Task) -> Settings:
        settings = self._settings(task)
        check_settings(settings, self._losses)
        return settings

    def _check_schedule(self) -> None:
        check_count("max_iter", self.max_iter)
        if self.tol is not None:
            check_number("tol", self.tol, above=-np.inf)
        check_count("n_iter_no_change", self.n_iter_no_change)
        if not 0 < self.validation_fraction < 1:
            raise ValueError(
                f"validation_fraction={self.validation_fraction!r} is not valid; give a number "
                "between 0 and 1."
            )

    def _prices(self) -> tuple[Any, ...]:
        """Return all parameters, to notice a change between two calls of partial_fit."""
        return tuple(getattr(self, name) for name in self._parameter_names())

    @classmethod
    @functools.cache
    def _parameter_names(cls) -> tuple[str, ...]:
        return tuple(cls._get_param_names())

    def _reconfigure(self, task: Task) -> None:
        """Let changed parameters take effect, from here on."""
        prices = self._prices()
        if prices == self._known_prices:
            return
        self._learner.configure(self._checked_settings(task))
        self._known_prices = prices

    # -- passes -----------------------------------------------------------------------------

    def _run_epochs(
        self,
        learner: AnyLearner,
        X: Any,
        lesson: dict[str, Any],
        held_out: Array | None = None,
        validate: Callable[[AnyLearner], float] | None = None,
    ) -> int:
        """Learn pass after pass until nothing improves; return the number of passes."""
        weights = lesson["weights"]
        if weights is not None and not weights.any():
            raise ValueError("The weights of all rows are zero; give at least one positive weight.")
        rows = rows_of(X)
        random = check_random_state(self.random_state)
        train = np.arange(X.shape[0], dtype=np.int64)
        if held_out is not None:
            train = np.setdiff1d(train, held_out)
        best, idle = -np.inf, 0
        needed = 0.0 if self.tol is None else self.tol * (1 if validate else len(train))
        for epoch in range(1, self.max_iter + 1):
            before = learner.progress.loss
            in_place = not self.shuffle and held_out is None
            order = None if in_place else random.permutation(train) if self.shuffle else train
            learner.learn(rows, order=order, undo=self.warm_start, **lesson)
            learner.freeze_means()
            loss = learner.progress.loss - before
            self._report(epoch, learner, loss / len(train))
            quality = validate(learner) if validate else -loss
            idle = idle + 1 if quality < best + needed else 0
            best = max(best, quality)
            if self.tol is not None and idle >= self.n_iter_no_change:
                return epoch
        if self.tol is not None:
            warnings.warn(
                f"Maximum number of passes ({self.max_iter}) reached before convergence; raise "
                "max_iter, or set tol=None to make a fixed number of passes.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return epoch

    def _report(self, epoch: int, learner: AnyLearner, loss: float) -> None:
        if not self.verbose:
            return
        norm = float(np.linalg.norm(learner.coef()))
        print(f"-- Epoch {epoch}: norm {norm:.6g}, examples {learner.examples}, loss {loss:.6g}")

    def _start(self, learner: AnyLearner, coef_init: Any, intercept_init: Any) -> None:
        """Begin from given weights instead of zero."""
        shape = (learner.outputs, learner.features)
        coef, intercept = np.zeros(shape), np.zeros(shape[0])
        if coef_init is not None:
            coef = np.asarray(coef_init, dtype=np.float64)
            if coef.size != shape[0] * shape[1] or coef.shape not in (shape, (shape[1],)):
                raise ValueError(
                    f"coef_init of shape {coef.shape} does not match dataset: expected {shape}."
                )
        if intercept_init is not None:
            intercept = np.asarray(intercept_init, dtype=np.float64).ravel()
            if intercept.shape != (shape[0],):
                raise ValueError(
                    f"intercept_init has {intercept.size} values and does not match dataset: "
                    f"expected {shape[0]}."
                )
        if coef_init is not None or intercept_init is not None:
            learner.set_coef(coef.reshape(shape), intercept)

    # -- scores -----------------------------------------------------------------------------

    def _scores(self, X: Any) -> Array:
        check_is_fitted(self)
        return self._learner.scores(rows_of(self._read(X, reset=False)))

    # -- fitted attributes ------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_learner")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def coef_(self) -> Any:
        """Weights, one row per output; sparse after ``sparsify``."""
        return self._fitted("coef_", lambda: getattr(self, "_sparse_coef", self._coef()))

    @coef_.setter
    def coef_(self, value: Any) -> None:
        dense = value.toarray() if hasattr(value, "toarray") else np.asarray(value)
        shape = (self._learner.outputs, self._learner.features)
        self._learner.set_coef(dense.reshape(shape), self._learner.intercept())
        self.__dict__.pop("_sparse_coef", None)

    def _coef(self) -> Array:
        return self._learner.coef()

    @property
    def intercept_(self) -> Array:
        """Intercept of each output."""
        result: Array = self._fitted("intercept_", lambda: self._learner.intercept())
        return result

    @intercept_.setter
    def intercept_(self, value: npt.ArrayLike) -> None:
        intercept = np.broadcast_to(np.asarray(value, np.float64), (self._learner.outputs,))
        self._learner.set_coef(self._learner.coef(), intercept)

    @property
    def t_(self) -> int:
        """Number of examples seen, plus one."""
        return int(self._fitted("t_", lambda: self._learner.examples + 1))

    @property
    def n_mistakes_(self) -> int:
        """Wrong predictions, each made before its example was learned."""
        return int(self._fitted("n_mistakes_", lambda: self._learner.progress.mistakes))

    @property
    def n_updates_(self) -> int:
        """Examples that moved the model (for independent outputs: summed over outputs)."""
        return int(self._fitted("n_updates_", lambda: self._learner.progress.updates))

    @property
    def cumulative_loss_(self) -> float:
        """Sum of the losses, each suffered before its example was learned."""
        return float(self._fitted("cumulative_loss_", lambda: self._learner.progress.loss))

    @property
    def C_(self) -> float:
        """The C in use: the chosen one when ``C="auto"``."""
        return float(self._fitted("C_", lambda: getattr(self._learner, "C", self.C)))

    @property
    def lanes_(self) -> list[dict[str, Any]]:
        """What ``C="auto"`` raced: each lane's C, averaging, mistakes and recent record."""
        lanes = self._fitted("lanes_", lambda: getattr(self._learner, "lanes", None))
        if lanes is None:
            raise AttributeError("lanes_ exists only with C='auto' or average='auto'.")
        return list(lanes())

    def _fitted(self, name: str, value: Callable[[], Any]) -> Any:
        if not hasattr(self, "_learner"):
            raise AttributeError(f"{type(self).__name__} has no {name} before fit or partial_fit.")
        return value()

    def sparsify(self) -> LinearEstimator:
        """Show ``coef_`` as a sparse matrix. Learning more needs ``densify`` first."""
        check_is_fitted(self)
        from scipy.sparse import csr_matrix

        self._sparse_coef = csr_matrix(self._coef())
        return self

    def densify(self) -> LinearEstimator:
        """Show ``coef_`` as an array again."""
        check_is_fitted(self)
        self.__dict__.pop("_sparse_coef", None)
        return self

    def _require_dense(self) -> None:
        if hasattr(self, "_sparse_coef"):
            raise ValueError("The model was sparsified; call densify() before learning more.")
