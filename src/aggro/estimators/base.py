"""Base of all estimators of arrays: reading input, settings, counters."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from dataclasses import replace
from operator import attrgetter
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from aggro.checks import threads_of
from aggro.estimators.judges import ByLoss
from aggro.estimators.passes import Passes, Teach
from aggro.estimators.validation import FLOATS, is_sparse, read_columns
from aggro.learner import Array
from aggro.selection.common import AnyLearner
from aggro.settings import Settings, Task, check_settings, same_values
from aggro.sklearn_api import Estimator
from aggro.training_batch import TrainingBatch
from aggro.transaction import OwnedLock
from aggro.variants import ESTIMATORS, EstimatorSettings

Method = TypeVar("Method", bound=Callable[..., Any])


_ALL: WeakKeyDictionary[object, OwnedLock] = WeakKeyDictionary()
_MAKING = threading.RLock()


def lock_of(owner: object) -> OwnedLock:
    """Return the lock of an object, which is no part of it: a copy has its own."""
    with _MAKING:
        return _ALL.setdefault(owner, OwnedLock())


class NoExample(Exception):
    """Raised where a first call brings no class: the estimator is left as it was."""


def all_or_nothing(method: Method) -> Method:
    """Leave the estimator, the settings of its learner included, as it was when the method raises.

    What the learner has learned is its own to undo. Where an interrupt comes after it has learned,
    the call was made, and all that belongs to it stays. Threads take turns: a call that grows,
    learns and records must not meet another one.
    """

    @functools.wraps(method)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        with lock_of(self).take():
            before = dict(self.__dict__)
            learner = before.get("_learner")
            settings, examples = (learner.settings, learner.examples) if learner else (None, 0)
            try:
                return method(self, *args, **kwargs)
            except BaseException as error:  # Ctrl-C too
                if learner is not None and self._learner is learner and learner.examples > examples:
                    raise
                for name in self.__dict__.keys() - before.keys():
                    del self.__dict__[name]
                self.__dict__.update(before)
                if learner is not None:
                    learner.configure(settings)
                if isinstance(error, NoExample):
                    return self
                raise

    return guarded  # type: ignore[return-value]  # wraps keeps the signature


def read_only(array: Any) -> Any:
    """Return a view of an array, or a sparse matrix, that cannot be written to."""
    if hasattr(array, "indptr"):
        parts = (array.data, array.indices, array.indptr)
        return type(array)(tuple(map(read_only, parts)), shape=array.shape)
    view = array.view()
    view.flags.writeable = False
    return view


class OnlineEstimator(Estimator):
    """An estimator around a learner: linear or kernel."""

    _learner: AnyLearner
    _known_params: tuple[Any, ...] | None

    # -- input ------------------------------------------------------------------------------

    def _read(self, X: Any, *, reset: bool) -> Any:
        """Return X as the core reads it: C-ordered or CSR, copied only if it must be."""
        if reset or hasattr(self, "feature_names_in_") or not self._is_ready(X):
            X = read_columns(self, X, reset=reset)  # the core checks values while it learns
        return X

    def _is_ready(self, X: Any) -> bool:
        """Return whether X needs no validation."""
        dense = type(X) is np.ndarray and X.flags.c_contiguous
        return bool(
            (dense or (is_sparse(X) and getattr(X, "format", "csr") == "csr"))
            and len(X.shape) == 2
            and X.dtype in FLOATS
            and X.shape[1] == self.n_features_in_
            and X.shape[0] > 0
        )

    def _scores(self, X: Any) -> Array:
        """Return the scores of the learner, one column per output."""
        raise NotImplementedError

    # -- settings ---------------------------------------------------------------------------

    @classmethod
    @functools.cache
    def _kind(cls) -> EstimatorSettings:
        """Return the estimator's row of the table; a class of a user's own has its parent's."""
        return next(
            ESTIMATORS[each.__name__] for each in cls.__mro__ if each.__name__ in ESTIMATORS
        )

    def _settings(self, task: Task) -> Settings:
        """Return the point on every axis: the parameters that name one, and what is fixed."""
        kind = self._kind()
        given = {name: getattr(self, name) for name in kind.names}
        plain = {k: v.item() if isinstance(v, np.generic) else v for k, v in given.items()}
        return Settings(task=task, **kind.keywords(plain))

    def _checked_settings(self, task: Task) -> Settings:
        settings = self._settings(task)
        check_settings(settings, self._kind().losses)
        return settings

    def _settings_to_go_on(self, task: Task) -> Settings:
        """Return the settings of a model that learns more: what keep_best() has chosen stays so."""
        settings, known = self._checked_settings(task), self._learner.settings
        settled = {name for name in self._kind().fixed if getattr(known, name) != "auto"}
        return replace(settings, **{name: getattr(known, name) for name in settled})

    def _check_schedule(self) -> None:
        Passes.of(self).check()

    def _prices(self) -> tuple[Any, ...]:
        """Return all parameters, to notice a change between two calls of partial_fit."""
        return tuple(self._read_parameters()(self))

    @classmethod
    @functools.cache
    def _read_parameters(cls) -> Callable[[Any], tuple[Any, ...]]:
        return attrgetter(*cls._parameter_names())

    def _reconfigure(self, task: Task) -> None:
        """Let changed parameters take effect, from here on."""
        prices = self._prices()
        if same_values(prices, self._known_params):
            return
        self._learner.configure(self._settings_to_go_on(task))
        self._known_params = prices

    # -- passes -----------------------------------------------------------------------------

    def _run_epochs(
        self,
        learner: Any,
        X: Any,
        lesson: dict[str, Any],
        judge: ByLoss | None = None,
        once: Teach | None = None,
    ) -> int:
        """Learn pass after pass until nothing improves; return the number of passes.

        ``once`` learns in place of the learner where one pass is all.
        """
        weights = lesson["weights"]
        if weights is not None and not weights.any():
            raise ValueError("The weights of all rows are zero; give at least one positive weight.")
        rows = self._lesson(X, lesson)
        teach = once or functools.partial(rows.train, learner)
        return Passes.of(self).run(learner, rows.count, teach, judge)

    def _lesson(self, X: Any, parts: dict[str, Any]) -> TrainingBatch:
        """Return rows and what they teach."""
        return TrainingBatch(X, parts, threads_of(getattr(self, "n_jobs", None)))

    # -- what the linear and the kernel estimators do in their own ways ----------------------

    def _continues(self) -> bool:
        """Tell whether ``fit`` goes on with the model as it is."""
        return False

    def _continued(self, settings: Settings) -> Any:
        """Return the learner to go on with."""
        raise NotImplementedError

    def _look_at(self, X: Any, weights: Array | None) -> None:
        """Take from the first rows what the learner needs to know of them."""

    def _start(self, learner: Any, coef_init: Any, intercept_init: Any) -> None:
        """Begin from given weights instead of zero."""

    def _judge(
        self, learner: Any, X: Any, y: Array, lesson: dict[str, Any], weights: Array | None
    ) -> ByLoss:
        """Return what tells when the passes end."""
        return Passes.of(self).by_loss()

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
        """Wrong predictions, each made before its example was learned.

        Each example counts once, whatever its weight. Later passes of ``fit`` over the same rows
        are not counted.
        """
        return int(self._fitted("n_mistakes_", lambda: self._learner.progress.mistakes))

    @property
    def n_updates_(self) -> int:
        """Examples that moved the model, in all passes (summed over independent outputs)."""
        return int(self._fitted("n_updates_", lambda: self._learner.progress.updates))

    @property
    def cumulative_loss_(self) -> float:
        """Sum of the losses of the last weights, each before its example was learned.

        Every pass of ``fit`` adds its own.
        """
        return float(self._fitted("cumulative_loss_", lambda: self._learner.progress.loss))

    def _fitted(self, name: str, value: Callable[[], Any]) -> Any:
        if not hasattr(self, "_learner"):
            raise AttributeError(f"{type(self).__name__} has no {name} before fit or partial_fit.")
        return value()
