"""What all scikit-learn estimators share: reading input, settings, counters."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import validate_data

from aggro.auto import AnyLearner
from aggro.learner import Array
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


class OnlineEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """A scikit-learn estimator around a learner: linear or kernel."""

    _losses: tuple[str, ...]
    _learner: AnyLearner
    _known_prices: tuple[Any, ...]

    # -- input ------------------------------------------------------------------------------

    def _read(self, X: Any, *, reset: bool) -> Any:
        """Return X as the core reads it: C-ordered or CSR, copied only if it must be."""
        if reset or hasattr(self, "feature_names_in_") or not self._is_ready(X):
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

    def _is_ready(self, X: Any) -> bool:
        """True if nothing would be found or changed by a longer look."""
        dense = type(X) is np.ndarray and X.flags.c_contiguous
        return bool(
            (dense or (issparse(X) and X.format == "csr"))
            and X.ndim == 2
            and X.dtype in FLOATS
            and X.shape[1] == self.n_features_in_
            and X.shape[0] > 0
        )

    def _scores(self, X: Any) -> Array:
        """Return the scores of the learner, one column per output."""
        raise NotImplementedError

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
        return tuple(self._read_parameters()(self))

    @classmethod
    @functools.cache
    def _parameter_names(cls) -> tuple[str, ...]:
        return tuple(cls._get_param_names())

    @classmethod
    @functools.cache
    def _read_parameters(cls) -> Callable[[Any], tuple[Any, ...]]:
        return attrgetter(*cls._parameter_names())

    def _reconfigure(self, task: Task) -> None:
        """Let changed parameters take effect, from here on."""
        prices = self._prices()
        if prices == self._known_prices:
            return
        self._learner.configure(self._checked_settings(task))
        self._known_prices = prices

    def _report(self, epoch: int, learner: AnyLearner, loss: float) -> None:
        if not self.verbose:
            return
        norm = float(np.linalg.norm(learner.coef()))
        print(f"-- Epoch {epoch}: norm {norm:.6g}, examples {learner.examples}, loss {loss:.6g}")

    def _warn_of_end(self) -> None:
        warnings.warn(
            f"Maximum number of passes ({self.max_iter}) reached before convergence; raise "
            "max_iter, or set tol=None to make a fixed number of passes.",
            ConvergenceWarning,
            stacklevel=5,
        )

    # -- what the linear and the kernel estimators do in their own ways ----------------------

    def _judge(self, learner: Any, X: Any) -> Array:
        """Return the scores of rows by a learner."""
        raise NotImplementedError

    def _teach(
        self,
        learner: Any,
        X: Any,
        lesson: dict[str, Any],
        order: Array | None,
        again: bool = False,
        undo: bool = False,
    ) -> None:
        """Let a learner learn rows in an order; ``again``: it knows X from the last call."""
        raise NotImplementedError

    def _end_pass(self, learner: Any) -> None:
        """Tell a learner that the same rows may come again."""

    def _twin(self, learner: Any) -> Any:
        """Return a new learner like this one."""
        raise NotImplementedError

    def _meet_typical(self, X: Any) -> None:
        """Let the typical row, if the scores have a use for one, follow the rows."""

    # -- fitted attributes ------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_learner")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def t_(self) -> int:
        """Number of examples seen, plus one."""
        return int(self._fitted("t_", lambda: self._learner.examples + 1))

    @property
    def n_mistakes_(self) -> int:
        """Wrong predictions of what predicts, each made before its example was learned."""
        return int(self._fitted("n_mistakes_", lambda: self._learner.progress.mistakes))

    @property
    def n_updates_(self) -> int:
        """Examples that moved the model (for independent outputs: summed over outputs)."""
        return int(self._fitted("n_updates_", lambda: self._learner.progress.updates))

    @property
    def cumulative_loss_(self) -> float:
        """Sum of the losses that the last weights suffered, each before its example was learned."""
        return float(self._fitted("cumulative_loss_", lambda: self._learner.progress.loss))

    def _fitted(self, name: str, value: Callable[[], Any]) -> Any:
        if not hasattr(self, "_learner"):
            raise AttributeError(f"{type(self).__name__} has no {name} before fit or partial_fit.")
        return value()
