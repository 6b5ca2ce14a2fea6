"""Base of the array estimators: settings, fitted state and common attributes."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import numpy as np

from aggro.calibration.recorder import Recorder
from aggro.checks import threads_of
from aggro.classes import Classes
from aggro.estimators.counters import Counters
from aggro.estimators.passes import Passes
from aggro.learner import Array
from aggro.settings import Settings, Task, check_settings, same_values
from aggro.sklearn_api import Estimator
from aggro.training_batch import TrainingBatch
from aggro.transaction import Checkpoint, OwnedLock
from aggro.variants import ESTIMATORS, EstimatorSettings


@dataclass(frozen=True)
class Fitted:
    """The state of a fitted estimator, replaced as one object when a call succeeds.

    Parameters
    ----------
    learner : Learner, ModelSelection or KernelLearner
        The model, which learns in place and rolls back if a call fails.
    parameters : tuple or None
        The parameters that the learner was configured with; None if it must be configured again.
    feature_names : array, optional
        Names of the columns of a data frame.
    n_iter : int
        Number of passes of the last call.
    classes, counts : Classes and array, of classifiers
        The classes, and how many examples of each have been weighted.
    record : Recorder, optional
        Margins recorded for probabilities.
    counters : Counters, optional
        Monotonic columns.
    """

    learner: Any
    parameters: tuple[Any, ...] | None
    feature_names: Array | None = None
    n_iter: int = 1
    classes: Classes | None = None
    counts: Array | None = None
    record: Recorder | None = None
    counters: Counters | None = None

    def changed(self, **values: Any) -> Fitted:
        """Return the state with other values; itself if they are the same objects."""
        for name, value in values.items():
            if getattr(self, name) is not value:
                return replace(self, **values)
        return self


class OnlineEstimator(Estimator):
    """An estimator of arrays around a learner.

    ``LinearModel`` and ``KernelModel`` add the methods that depend on the kind of the learner
    (``_read``, ``_new_learner``, ``_scores``, ``_check_stream``), ``Classifier`` and ``Regressor``
    those that depend on the kind of the target.
    """

    __slots__ = ("_mapped_columns", "_own_lock")  # not part of the state: a copy has its own
    _own_lock: OwnedLock
    _mapped_columns: int  # the first columns, which alone may be mapped; by default all
    _fitted: Fitted

    # -- one call at a time, all or nothing --------------------------------------------------

    @property
    def _lock(self) -> OwnedLock:
        """The lock of the calls that learn."""
        lock: OwnedLock | None = getattr(self, "_own_lock", None)
        if lock is None:
            with _MAKING_LOCK:
                lock = self._own_lock = getattr(self, "_own_lock", None) or OwnedLock()
        return lock

    def _checkpoint(self) -> Checkpoint:
        """Return a function that undoes a call.

        The learner has its own rollback. If an interrupt leaves it with more examples, the call
        counts, and the corresponding state stays.
        """
        before: Fitted | None = self.__dict__.get("_fitted")
        if before is None:
            return functools.partial(self.__dict__.pop, "_fitted", None)
        learner = before.learner
        return functools.partial(self._restore, before, learner.settings, learner.examples)

    def _restore(self, before: Fitted, settings: Settings, examples: int) -> None:
        learner = before.learner
        if self._fitted.learner is not learner or learner.examples == examples:
            learner.configure(settings)
            self._fitted = before

    def __getstate__(self) -> dict[str, Any]:
        return dict(vars(self))

    # -- settings ---------------------------------------------------------------------------

    @classmethod
    @functools.cache
    def _kind(cls) -> EstimatorSettings:
        """Return the estimator's row of the table; subclasses use that of their parent."""
        return next(
            ESTIMATORS[each.__name__] for each in cls.__mro__ if each.__name__ in ESTIMATORS
        )

    def _settings(self, task: Task) -> Settings:
        """Return the settings: the parameters that are settings, and those that are fixed."""
        kind = self._kind()
        given = {name: getattr(self, name) for name in kind.names}
        plain = {k: v.item() if isinstance(v, np.generic) else v for k, v in given.items()}
        return Settings(task=task, **kind.keywords(plain))

    def _checked_settings(self, task: Task) -> Settings:
        settings = self._settings(task)
        check_settings(settings, self._kind().losses)
        return settings

    def _settings_for(self, learner: Any, task: Task) -> Settings:
        """Return the settings for more examples; those chosen by ``keep_best`` stay."""
        settings, known = self._checked_settings(task), learner.settings
        chosen = {name for name in self._kind().fixed if getattr(known, name) != "auto"}
        return replace(settings, **{name: getattr(known, name) for name in chosen})

    def _parameters(self) -> tuple[Any, ...]:
        """Return the values of all parameters."""
        return tuple(self._read_parameters()(self))

    @classmethod
    @functools.cache
    def _read_parameters(cls) -> Callable[[Any], tuple[Any, ...]]:
        return attrgetter(*cls._parameter_names())

    def _configured(self, fitted: Fitted) -> Fitted:
        """Return the state after changed parameters have taken effect."""
        parameters = self._parameters()
        if same_values(parameters, fitted.parameters):
            return fitted
        learner = fitted.learner
        learner.configure(self._settings_for(learner, learner.settings.task))
        return replace(fitted, parameters=parameters)

    def _checked_passes(self) -> Passes:
        """Return the validated parameters of the passes of ``fit``."""
        return Passes.of(self)

    def _batch(self, X: Any, targets: dict[str, Any]) -> TrainingBatch:
        return TrainingBatch(X, targets, threads_of(getattr(self, "n_jobs", None)))

    # -- fitted attributes ------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return "_fitted" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _state(self, name: str) -> Fitted:
        """Return the fitted state, or raise ``AttributeError`` for a missing attribute."""
        fitted: Fitted | None = self.__dict__.get("_fitted")
        if fitted is None:
            raise AttributeError(f"{type(self).__name__} has no {name} before fit or partial_fit.")
        return fitted

    @property
    def _learner(self) -> Any:
        return self._state("_learner").learner

    @_learner.setter
    def _learner(self, learner: Any) -> None:
        self._fitted = replace(self._fitted, learner=learner)

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        return int(self._state("n_features_in_").learner.features)

    @property
    def feature_names_in_(self) -> Array:
        """Names of the features, if the estimator was fitted with a data frame."""
        names = self._state("feature_names_in_").feature_names
        if names is None:
            raise AttributeError("The estimator was fitted without feature names.")
        return names

    @property
    def n_iter_(self) -> int:
        """Number of passes of the last call of ``fit``; 1 after ``partial_fit``."""
        return self._state("n_iter_").n_iter

    @property
    def t_(self) -> int:
        """Number of examples seen, plus one."""
        return int(self._state("t_").learner.examples + 1)

    @property
    def n_mistakes_(self) -> int:
        """Number of wrong predictions, each before its example was learned.

        Each example counts once, whatever its weight. Later passes of ``fit`` over the same rows
        are not counted.
        """
        return int(self._state("n_mistakes_").learner.progress.mistakes)

    @property
    def n_updates_(self) -> int:
        """Examples that changed the model, in all passes (summed over independent outputs)."""
        return int(self._state("n_updates_").learner.progress.updates)

    @property
    def cumulative_loss_(self) -> float:
        """Sum of the losses of the last weights, each before its example was learned.

        Every pass of ``fit`` adds its own.
        """
        return float(self._state("cumulative_loss_").learner.progress.loss)


_MAKING_LOCK = threading.RLock()


def read_only(array: Any) -> Any:
    """Return a view of an array, or a sparse matrix, that cannot be written to."""
    if hasattr(array, "indptr"):
        parts = (array.data, array.indices, array.indptr)
        return type(array)(tuple(map(read_only, parts)), shape=array.shape)
    view = array.view()
    view.flags.writeable = False
    return view
