"""What the linear estimators share: passes over the rows, weights to look at and to set."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from aggro.calibration.recorder import Recorder
from aggro.checks import check_number, threads_of
from aggro.estimators import counters
from aggro.estimators.base import OnlineEstimator, all_or_nothing, read_only
from aggro.estimators.judges import Qualities
from aggro.learner import Array, Learner, rows_of
from aggro.selection.common import AnyLearner, candidate_scores, grow_features, make_learner
from aggro.selection.report import SelectionReport
from aggro.selection.selection import ModelSelection
from aggro.settings import Settings
from aggro.sklearn_api import check_fitted, draw_seed


class LinearEstimator(OnlineEstimator):
    """An estimator around a ``Learner``, or a race of them."""

    _learner: AnyLearner
    _EARLY_STOPPING: tuple[str, ...] = ()  # words that it can be, besides True and False

    # -- learning ---------------------------------------------------------------------------

    @all_or_nothing
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
        self._fit(X, y, sample_weight, coef_init, intercept_init)
        self.__dict__.pop("_sparse_coef", None)
        return self

    def _check_schedule(self) -> None:
        super()._check_schedule()
        words = self._EARLY_STOPPING
        if isinstance(self.early_stopping, str) and self.early_stopping not in words:
            raise ValueError(
                f"early_stopping={self.early_stopping!r} is not valid; give "
                f"{', '.join(map(repr, (True, False, *words)))}."
            )
        check_number("validation_fraction", self.validation_fraction, above=0)
        if self.validation_fraction >= 1:
            raise ValueError(
                f"validation_fraction={self.validation_fraction!r} is not valid; give a number "
                "between 0 and 1."
            )

    def _continues(self) -> bool:
        return bool(self.warm_start) and hasattr(self, "_learner")

    def _continued(self, settings: Settings) -> AnyLearner:
        """Return a copy to go on with: a fit that fails half-way leaves the learner as it was."""
        learner = copy.deepcopy(self._learner)
        learner.configure(self._settings_to_go_on(settings.task))
        return learner

    def _qualities_on(
        self, X: Any, held_out: Array, quality: Callable[[Array], float]
    ) -> Qualities:
        """Return the quality of the scores of held-out rows, for the candidates of a learner."""
        rows = rows_of(X[held_out])

        def qualities(learner: AnyLearner) -> dict[int, float]:
            try:
                scores = candidate_scores(learner, rows)
            except ValueError as error:  # the caller counts all rows
                place = re.compile(r"^row (\d+)")
                words = place.sub(lambda found: f"row {held_out[int(found[1])]}", str(error))
                raise ValueError(words) from None
            return {candidate: quality(each) for candidate, each in scores.items()}

        return qualities

    def _scores(self, X: Any) -> Array:
        if not hasattr(self, "_learner"):
            check_fitted(self)
        return self._scores_of(self._read(X, reset=False))

    def _scores_of(self, X: Any) -> Array:
        """Return the scores of validated rows; sparse ones may have fewer columns."""
        rows = rows_of(counters.without(self.__dict__.get("_counters"), self._widened(X)))
        return self._learner.scores(rows, threads=threads_of(self.n_jobs))

    def _make_learner(self, settings: Settings, outputs: int, dtype: Any) -> AnyLearner:
        """Return a learner of ``n_features_in_`` features, seeded by ``random_state``."""
        seed = draw_seed(self.random_state)
        return make_learner(settings, self.n_features_in_, outputs, dtype, seed)

    def _grown_for(self, X: Any) -> Any:
        """Return X with the columns of the model, which gets those that are new to it."""
        if not hasattr(self, "_learner"):
            self.n_features_in_ = X.shape[1]
        elif X.shape[1] > self.n_features_in_:
            grow_features(self._learner, X.shape[1])
            self.n_features_in_ = X.shape[1]
            self.__dict__.pop("feature_names_in_", None)
        return self._widened(X)

    def _widened(self, X: Any) -> Any:
        """Return X with the columns of the model, if it has fewer: of sparse rows, in place."""
        if X.shape[1] < self.n_features_in_ and hasattr(X, "indptr"):
            X.resize((X.shape[0], self.n_features_in_))
        return X

    def _start(self, learner: AnyLearner, coef_init: Any, intercept_init: Any) -> None:
        """Begin from given weights instead of zero."""
        if coef_init is None and intercept_init is None:
            return
        shape = (learner.outputs, learner.features)
        coef, intercept = np.zeros(shape), np.zeros(shape[0])
        if coef_init is not None:
            coef = _fitting("coef_init", coef_init, shape)
        if intercept_init is not None:
            intercept = _fitting("intercept_init", intercept_init, shape[:1])
        learner.set_coef(coef, intercept)

    # -- fitted attributes ------------------------------------------------------------------

    @property
    def coef_(self) -> Any:
        """Weights, one row per output; sparse after ``sparsify``.

        The array cannot be written to. Assign to ``coef_`` to change the weights: averages, queue
        and reservoir then begin anew from what was given.
        """
        return self._fitted("coef_", lambda: getattr(self, "_sparse_coef", self._coef()))

    @coef_.setter
    def coef_(self, value: Any) -> None:
        dense = value.toarray() if hasattr(value, "toarray") else value
        learner = self._fitted("coef_", lambda: self._learner)
        shape = (learner.outputs, learner.features)
        learner.set_coef(_fitting("coef_", dense, shape), None)
        self.__dict__.pop("_sparse_coef", None)

    def _coef(self) -> Array:
        coef: Array = self._learner.coef()
        ignored = counters.found(self.__dict__.get("_counters"))
        if len(ignored):
            coef = coef.copy()
            coef[:, ignored] = 0.0
        shown: Array = read_only(coef)
        return shown

    @property
    def intercept_(self) -> Array:
        """Intercept of each output. Like ``coef_``, assign to it to change it."""
        result: Array = self._fitted("intercept_", lambda: read_only(self._learner.intercept()))
        return result

    @intercept_.setter
    def intercept_(self, value: npt.ArrayLike) -> None:
        learner = self._fitted("intercept_", lambda: self._learner)
        learner.set_coef(None, _fitting("intercept_", value, (learner.outputs,)))

    @property
    def C_(self) -> float:
        """The C in use: the chosen one when ``C="auto"``."""
        if "C" not in {*self._kind().axes, *self._kind().fixed}:
            raise AttributeError(f"{type(self).__name__} has no C.")
        learner = self._fitted("C_", lambda: self._learner)
        return float(learner.settings.C if isinstance(learner, Learner) else learner.C)

    @property
    def best_params_(self) -> dict[str, Any]:
        """The best settings so far of those that are left "auto"; empty if there are none."""
        learner = self._fitted("best_params_", lambda: self._learner)
        return dict(learner.choice) if isinstance(learner, ModelSelection) else {}

    @property
    def candidates_(self) -> list[dict[str, Any]]:
        """What ``C="auto"`` raced: each lane's C, averaging, mistakes and recent record."""
        candidates = self._fitted("candidates_", lambda: getattr(self._learner, "candidates", None))
        if candidates is None:
            raise AttributeError(
                "candidates_ exists only while something is left 'auto': C, metric or scale."
            )
        return list(candidates())

    def selection_report(self, path: str | Path | None = None) -> SelectionReport:
        """Return what was raced and by how much the leader is ahead: a table, once printed.

        With a path, a picture of it is drawn there. Learners that fell far behind, or that were not
        chosen after the first pass of ``fit``, are told with the error they had when they left.
        """
        race = self._fitted("selection_report()", lambda: self._learner)
        if not isinstance(race, ModelSelection):
            raise AttributeError(
                "There is no choice to explain: nothing is 'auto' among C, metric and scale, or "
                "keep_best() has ended the race."
            )
        from aggro.plot.selection import with_picture

        return with_picture(race.report(), path)

    def plot_candidates(self, path: str | Path | None = None) -> Any:
        """Draw the recent error of each lane against C, the leader marked; return the figure.

        Learners that fell far behind have left the race and are not shown.
        """
        from aggro.plot.selection import draw_candidates

        return draw_candidates(self.candidates_, self._learner.settings.task == "regression", path)

    @all_or_nothing
    def keep_best(self) -> LinearEstimator:
        """End the race: keep the leader alone, as if there had been no other; return the estimator.

        Its weights stay the same, to the last bit; a copy or a file of it takes a small part of
        the room, and learning goes on at a small part of the price. Parameters that were "auto"
        become those of the leader; C may be set from then on. Without a race nothing happens. Where
        all lanes still answer jointly, the leader's answers are others than these.
        """
        check_fitted(self)
        if isinstance(self._learner, ModelSelection):
            chosen, winner = self._learner.choice, self._learner.best_learner()
            current = self._known_params == self._prices()
            own = self.get_params(deep=False)
            left = {name: value for name, value in chosen.items() if own.get(name) == "auto"}
            if hasattr(self, "_calibrator"):
                record = Recorder(self._calibrator).of_winner(self._learner)
                left["_calibrator"] = record.calibrator
            self.__dict__.update(left, _learner=winner)
            self._known_params = self._prices() if current else None
        return self

    def sparsify(self) -> LinearEstimator:
        """Show ``coef_`` as a sparse matrix. Learning more needs ``densify`` first."""
        check_fitted(self)
        from scipy.sparse import csr_matrix

        self._sparse_coef = read_only(csr_matrix(self._coef()))
        return self

    def densify(self) -> LinearEstimator:
        """Show ``coef_`` as an array again."""
        check_fitted(self)
        self.__dict__.pop("_sparse_coef", None)
        return self

    def _check_stream(self) -> None:
        """Raise unless the model is in a state to learn more of a stream."""
        if hasattr(self, "_sparse_coef"):
            raise ValueError("The model was sparsified; call densify() before learning more.")
        if self.early_stopping and self.early_stopping != "auto":
            raise ValueError(
                "early_stopping=True holds rows out in the passes of fit; it should be False with "
                "partial_fit."
            )


def _fitting(name: str, value: Any, shape: tuple[int, ...]) -> Array:
    """Return a value as finite numbers of this shape.

    One number is the intercept of all outputs; one output needs no row of its own.
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
