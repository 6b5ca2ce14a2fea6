"""Linear models: reading rows, weights, model selection, and the first half of ``fit``."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from aggro.checks import threads_of
from aggro.classes import Classes
from aggro.estimators import counters
from aggro.estimators.base import Fitted, OnlineEstimator, read_only
from aggro.estimators.contributions import as_rows, contributions
from aggro.estimators.held_out import check_early_stopping
from aggro.estimators.passes import Passes
from aggro.estimators.validation import FLOATS, is_sparse, read_columns
from aggro.explanation import Explanation, explanations
from aggro.learner import Array, Learner, rows_of
from aggro.selection.common import (
    AnyLearner,
    best_alone,
    check_coef,
    grow_features,
    make_learner,
)
from aggro.selection.report import SelectionReport
from aggro.selection.selection import ModelSelection
from aggro.settings import Settings, error_name
from aggro.sklearn_api import check_fitted, draw_seed
from aggro.training_batch import TrainingBatch
from aggro.transaction import Transaction, checkpoint_of


class LinearModel(OnlineEstimator):
    """Mixin of estimators around a ``Learner`` or a ``ModelSelection``."""

    # -- learning ---------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        coef_init: Any = None,
        intercept_init: Any = None,
        sample_weight: Any = None,
    ) -> Any:
        """Learn from X and y in up to ``max_iter`` passes; return the estimator.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Rows to learn from, read in place if C-ordered float32 or float64.
        y : array of shape (n_samples,) or (n_samples, n_outputs)
            Classes, or an indicator matrix for several labels at once; for regression, targets.
        coef_init, intercept_init : arrays, optional
            Weights to start from.
        sample_weight : array of shape (n_samples,), optional
            How many times each example counts: multiplies C.
        """
        start = None
        if coef_init is not None or intercept_init is not None:
            start = functools.partial(
                _start_from, coef_init=coef_init, intercept_init=intercept_init
            )
        with self._lock.take(), Transaction(checkpoint_of(self)):
            self._fit(X, y, sample_weight, start)
            vars(self).pop("_sparse_coef", None)
            return self

    def _checked_passes(self) -> Passes:
        passes = Passes.of(self)
        check_early_stopping(self)
        return passes

    def _continued(self) -> Fitted | None:
        """Return the state that ``fit`` continues, or None."""
        return vars(self).get("_fitted") if self.warm_start else None

    def _copied_learner(self, settings: Settings) -> AnyLearner:
        """Return a copy to train, so that a failing ``fit`` leaves the learner unchanged."""
        learner: AnyLearner = copy.deepcopy(self._learner)
        learner.configure(self._settings_for(learner, settings.task))
        return learner

    def _new_learner(
        self, settings: Settings, outputs: int, X: Any, weights: Array | None, passes: int = 1
    ) -> AnyLearner:
        """Return a learner for the features of X, seeded by ``random_state``."""
        seed, rows = draw_seed(self.random_state), 0
        if passes > 1:
            rows = X.shape[0] if weights is None else int(np.count_nonzero(weights))
        shape = (settings, X.shape[1], outputs, X.dtype, seed)
        return make_learner(*shape, rows, getattr(self, "_mapped_columns", None))

    def _check_stream(self) -> None:
        """Raise unless ``partial_fit`` is possible."""
        if "_sparse_coef" in self.__dict__:
            raise ValueError("The model was sparsified; call densify() before learning more.")
        if self.early_stopping and self.early_stopping != "auto":
            raise ValueError(
                "early_stopping=True holds rows out in the passes of fit; it should be False with "
                "partial_fit."
            )

    # -- input ------------------------------------------------------------------------------

    def _read(self, X: Any, known: Fitted | None) -> tuple[Any, Array | None]:
        """Return X in the format of the core, and its feature names.

        X is C-ordered or CSR, copied only if necessary; the core checks values while it learns.
        """
        if known is None:
            return read_columns(type(self).__name__, X)
        width, names = known.learner.features, known.feature_names
        if names is not None or not _is_ready(X, width):
            X, names = read_columns(type(self).__name__, X, width, names)
        return X, names

    def _scores(self, X: Any) -> Array:
        fitted: Fitted | None = self.__dict__.get("_fitted")
        if fitted is None:
            check_fitted(self)
        return self._scores_of(self._read(X, fitted)[0])

    def _scores_of(self, X: Any) -> Array:
        """Return the scores of validated rows; sparse ones may have fewer columns."""
        learner, found = self._fitted.learner, self._fitted.counters
        X = _widened(X, learner.features)
        rows = rows_of(X if found is None else counters.without(found, X))
        scores: Array = learner.scores(rows, threads=threads_of(self.n_jobs))
        return scores

    def _begin_batch(
        self, X: Any, y: Array, weights: Array | None, *, ignore_counters: bool = True
    ) -> TrainingBatch:
        """Return a batch of a file for ``_learn_batch``; the model grows as the batch needs.

        Unlike those of ``partial_fit``, its rows may have more features than the model, and labels
        need not be whole numbers.
        """
        fitted: Fitted | None = vars(self).get("_fitted")
        if fitted is not None:
            if X.shape[1] > fitted.learner.features:
                grow_features(fitted.learner, X.shape[1])
                self._fitted = fitted.changed(feature_names=None)
            X = _widened(X, fitted.learner.features)
        options: dict[str, Any] = {}
        if self._estimator_kind == "classifier":
            options = {"read": _as_labels, "ignore_counters": ignore_counters}
        batch: TrainingBatch = self._prepare(X, y, weights, **options)
        return batch

    def _adopt(
        self,
        learner: AnyLearner,
        classes: Array | None,
        n_iter: int = 1,
        feature_names: Array | None = None,
    ) -> Any:
        """Set the fitted state around a learner; return the estimator."""
        fitted = Fitted(learner, self._parameters(), feature_names, n_iter)
        if self._estimator_kind == "classifier":
            assert classes is not None
            known = Classes(classes, given=True)
            fitted = fitted.changed(classes=known, counts=np.zeros(len(known)))
        self._fitted = fitted
        return self

    # -- weights ----------------------------------------------------------------------------

    @property
    def coef_(self) -> Any:
        """Weights, one row per output; sparse after ``sparsify``.

        The array is read-only. Assign to ``coef_`` to change the weights: averages, queue and
        reservoir then restart from the given weights.
        """
        self._state("coef_")
        return vars(self).get("_sparse_coef", self._coef())

    @coef_.setter
    def coef_(self, value: Any) -> None:
        dense = value.toarray() if hasattr(value, "toarray") else value
        learner = self._state("coef_").learner
        learner.set_coef(_fitting("coef_", dense, (learner.outputs, learner.features)), None)
        vars(self).pop("_sparse_coef", None)

    def _coef(self) -> Array:
        check_coef(self._learner, "coef_")
        coef: Array = self._learner.coef()
        ignored = counters.found(self._fitted.counters)
        if len(ignored):
            coef = coef.copy()
            coef[:, ignored] = 0.0
        shown: Array = read_only(coef)
        regressor = self._estimator_kind == "regressor"
        return shown.ravel() if regressor and len(coef) == 1 else shown

    @property
    def intercept_(self) -> Array:
        """Intercept of each output. Like ``coef_``, assign to it to change it."""
        learner = self._state("intercept_").learner
        check_coef(learner, "intercept_")
        result: Array = read_only(learner.intercept())
        return result

    @intercept_.setter
    def intercept_(self, value: npt.ArrayLike) -> None:
        learner = self._state("intercept_").learner
        learner.set_coef(None, _fitting("intercept_", value, (learner.outputs,)))

    def explain(self, x: Any) -> dict[Any, Explanation]:
        """Return the contribution of each column of a row to the score of each class.

        In a linear model a contribution is value times weight. If the best candidate has non-linear
        features, it is the difference between the score and its mean if the column has the values
        of other rows, which the model remembers. A regressor has one explanation, with the key
        None, or one for each target, with its number.

        Parameters
        ----------
        x : array of shape (n_features,), or a row of a data frame or of a CSR matrix
            The row to explain.
        """
        check_fitted(self)
        names = self._fitted.feature_names
        X, _ = self._read(as_rows(x), self._fitted)
        return self._explanations(
            X, lambda column: f"x{column}" if names is None else names[column]
        )

    def _explanations(self, X: Any, name: Callable[[int], str]) -> dict[Any, Explanation]:
        """Return the explanations of a validated row, whose columns have these names."""
        names, parts, rest = contributions(self, _widened(X, self._learner.features), name)
        targets = [None] if len(parts) == 1 else list(range(len(parts)))
        heads: list[Any] = self.classes_.tolist() if hasattr(self, "classes_") else targets
        return explanations(heads, names, parts, rest)

    def sparsify(self) -> Any:
        """Show ``coef_`` as a sparse matrix; return the estimator.

        Learning more needs ``densify`` first.
        """
        check_fitted(self)
        from scipy.sparse import csr_matrix

        self._sparse_coef = read_only(csr_matrix(self._coef()))
        return self

    def densify(self) -> Any:
        """Show ``coef_`` as an array again; return the estimator."""
        check_fitted(self)
        vars(self).pop("_sparse_coef", None)
        return self

    # -- model selection --------------------------------------------------------------------

    @property
    def C_(self) -> float:
        """The C in use: the selected one when ``C="auto"``."""
        if "C" not in {*self._kind().axes, *self._kind().fixed}:
            raise AttributeError(f"{type(self).__name__} has no C.")
        learner = self._state("C_").learner
        return float(learner.settings.C if isinstance(learner, Learner) else learner.C)

    @property
    def best_params_(self) -> dict[str, Any]:
        """The best settings so far of parameters set to "auto"; empty if there are none."""
        learner = self._state("best_params_").learner
        return dict(learner.choice) if isinstance(learner, ModelSelection) else {}

    @property
    def candidates_(self) -> list[dict[str, Any]]:
        """The candidates of the model selection: C, averaging, mistakes and recent error."""
        learner = self._state("candidates_").learner
        if not isinstance(learner, ModelSelection):
            raise AttributeError(
                "candidates_ exists only while something is left 'auto': C, metric or scale."
            )
        return list(learner.candidates())

    def selection_report(self, path: str | Path | None = None) -> SelectionReport:
        """Return the comparison of all candidates, which prints as a table.

        Dropped candidates are shown with the error they had then.

        Parameters
        ----------
        path : path, optional
            Where to save a figure of it.
        """
        learner = self._state("selection_report()").learner
        if not (isinstance(learner, ModelSelection) and learner.selects):
            raise AttributeError(
                "There is no model selection to report: nothing is 'auto' among C, metric and "
                "scale, or keep_best() has ended the selection."
            )
        from aggro.plot import with_picture

        return with_picture(learner.report(), path)

    def plot_candidates(self, path: str | Path | None = None) -> Any:
        """Draw the recent error of each candidate against C; return the figure.

        Dropped candidates are not shown.

        Parameters
        ----------
        path : path, optional
            Where to save the figure.
        """
        from aggro.plot import draw_candidates

        return draw_candidates(self.candidates_, error_name(self._learner.settings), path)

    def keep_best(self) -> Any:
        """End the model selection with the best candidate; return the estimator.

        Its weights do not change. Copies and files of the model become small, and learning becomes
        fast. Parameters set to "auto" become those of the best candidate; C may be changed from
        then on. Without a selection nothing happens. While candidates still form an ensemble, the
        predictions of the best one differ from those of the ensemble.
        """
        with self._lock.take():
            check_fitted(self)
            fitted, selection = self._fitted, self._learner
            if not isinstance(selection, ModelSelection):
                return self
            own = self.get_params(deep=False)
            chosen = {name: v for name, v in selection.choice.items() if own.get(name) == "auto"}
            current = fitted.parameters == self._parameters()
            names = self._parameter_names()
            values = tuple(chosen.get(name, own[name]) for name in names) if current else None
            record = fitted.record and fitted.record.of_winner(selection)
            best = fitted.changed(learner=best_alone(selection), parameters=values, record=record)
            vars(self).update(chosen, _fitted=best)
        return self


def _is_ready(X: Any, width: int) -> bool:
    """Return whether X needs no validation."""
    dense = type(X) is np.ndarray and X.flags.c_contiguous
    return bool(
        (dense or (is_sparse(X) and getattr(X, "format", "csr") == "csr"))
        and len(X.shape) == 2
        and X.dtype in FLOATS
        and X.shape[1] == width
        and X.shape[0] > 0
    )


def _widened(X: Any, features: int) -> Any:
    """Return X widened to this number of columns; sparse rows are changed in place."""
    if X.shape[1] < features and hasattr(X, "indptr"):
        X.resize((X.shape[0], features))
    return X


def _as_labels(y: Array, count: int) -> tuple[Array, bool]:
    """Return the labels of a file, which are validated, and False: no indicator matrix."""
    return y, False


def _start_from(learner: AnyLearner, coef_init: Any, intercept_init: Any) -> None:
    """Set the first weights of a learner; missing ones are zero."""
    shape = (learner.outputs, learner.features)
    coef, intercept = np.zeros(shape), np.zeros(shape[0])
    if coef_init is not None:
        coef = _fitting("coef_init", coef_init, shape)
    if intercept_init is not None:
        intercept = _fitting("intercept_init", intercept_init, shape[:1])
    learner.set_coef(coef, intercept)


def _fitting(name: str, value: Any, shape: tuple[int, ...]) -> Array:
    """Return a value as finite numbers of this shape.

    A single number applies to all outputs; a single output may have a flat array.
    """
    array = np.asarray(value, dtype=np.float64)
    if array.ndim == 0 and len(shape) == 1:
        array = np.full(shape, float(array))
    if array.shape != shape and array.shape != shape[1:] * (shape[0] == 1):
        raise ValueError(
            f"{name} has shape {array.shape}, expected {shape}: one "
            f"{'row of weights' if len(shape) == 2 else 'number'} for each output."
        )
    if not np.isfinite(array).all():
        raise ValueError(f"{name} contains NaN or infinity; give finite numbers.")
    return array.reshape(shape)
