"""A model of the command line: a public estimator, and the state of a training run."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterable
from itertools import islice
from typing import Any

import numpy as np

from aggro.cli.reading import Reading
from aggro.estimators import counters
from aggro.io.strings import MOST_NAMES
from aggro.labels import chosen
from aggro.learner import Array
from aggro.persistence import ModelFileError, load, save
from aggro.persistence.record import TEXTS
from aggro.selection.common import progressive_loss
from aggro.selection.search_space import INTERVAL
from aggro.selection.selection import ModelSelection
from aggro.settings import Settings
from aggro.variants import LINEAR


class Model:
    """An estimator, the name of its variant, and the state of its passes.

    Parameters
    ----------
    estimator : estimator
        A linear estimator or a text estimator.
    dtype : dtype
        Type of the numbers to learn.
    title : str, optional
        Name of the variant; by default that of the class.
    """

    def __init__(self, estimator: Any, dtype: Any = np.float64, title: str | None = None) -> None:
        self.estimator, self.dtype = estimator, np.dtype(dtype)
        origin = estimator.__dict__.get("_origin", {})
        self.title = str(title or origin.get("variant", self.name))
        self.selected: dict[str, Any] = dict(origin.get("selected", {}))  # by earlier runs
        self.again = False  # whether the rows were learned in an earlier pass
        self.ignores_counters = True  # whether columns that only rise or fall count as zero

    @property
    def name(self) -> str:
        """Name of the estimator."""
        return type(self.estimator).__name__

    @property
    def raw(self) -> bool:
        """Whether the estimator reads texts."""
        return self.name in TEXTS

    @property
    def regression(self) -> bool:
        """Whether the model predicts numbers."""
        kind: str = self.estimator._estimator_kind
        return kind == "regressor"

    @property
    def learner(self) -> Any:
        """The learner of the estimator; None before the first example."""
        return getattr(self.estimator, "_learner", None)

    @property
    def settings(self) -> Settings:
        """The settings of a linear learner, or those it will have with several classes."""
        if self.learner is None:
            task = "regression" if self.regression else "multiclass"
            found: Settings = self.estimator._checked_settings(task)
        else:
            found = self.learner.settings
        return found

    @property
    def classes(self) -> Array:
        """The classes seen so far."""
        return np.asarray(getattr(self.estimator, "classes_", np.empty(0)))

    @property
    def features(self) -> int:
        """Number of features seen so far; for texts, the number of hashed columns."""
        estimator = self.estimator
        return int(estimator.n_features if self.raw else estimator.n_features_in_)

    @property
    def ignored(self) -> Array:
        """Columns that count as zero because they only rise or only fall."""
        fitted = self.estimator.__dict__.get("_fitted")
        return counters.found(None if fitted is None else fitted.counters)

    @property
    def loss(self) -> float:
        """Mistakes, or the sum of absolute errors, each before its example was learned."""
        if self.learner is None:
            return 0.0
        return float(
            progressive_loss(self.learner)[1] if self.regression else self.estimator.n_mistakes_
        )

    @property
    def updates(self) -> int:
        """Number of examples that changed the model."""
        return 0 if self.learner is None else int(self.estimator.n_updates_)

    # -- learning ---------------------------------------------------------------------------

    @property
    def step(self) -> int:
        """Number of examples that a batch must be divided at a multiple of."""
        if isinstance(self.learner, ModelSelection):
            return INTERVAL
        return 1 if self.raw else self.settings.batch_size

    def begin_batch(self, X: Any, y: Array, weights: Array | None) -> Any:
        """Return a batch to learn; the model gets its features and classes."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # ``ignored`` columns are reported at the end
            if self.raw:
                return self.estimator._begin_batch(X, y, weights)
            ignore = self.ignores_counters
            return self.estimator._begin_batch(X, y, weights, ignore_counters=ignore)

    def end_pass(self) -> None:
        """Prepare for learning the same rows again."""
        self.again = True
        if self.learner is None:
            return
        if not self.raw:
            self.learner.freeze_means()
        elif self.selects:
            self.keep_best()

    def expect_new_rows(self) -> None:
        """Prepare for learning rows that were not learned before."""
        self.again = False
        if not self.raw:
            self.learner.freeze_means(False)

    @property
    def selects(self) -> bool:
        """Whether settings are still being selected."""
        return self.learner is not None and bool(getattr(self.estimator, "candidates_", ()))

    def keep_best(self) -> dict[str, Any]:
        """Keep only the best candidate; return its settings."""
        best = dict(self.estimator.best_params_)
        self.estimator.keep_best()
        self.selected = {**self.selected, **best}
        return best

    # -- predicting -------------------------------------------------------------------------

    def scores(self, X: Any) -> Array:
        """Return one row per example and one column per output."""
        scores: Array = self.estimator._scores_of(X)
        return scores

    def probabilities(self, scores: Array) -> Array:
        """Return the probability of each class; a softmax if no margins were recorded."""
        found: Array = self.estimator._probabilities_of(scores)
        return found

    def chosen(self, scores: Array) -> Array:
        """Return the index of the predicted class."""
        return chosen(scores, len(self.classes))

    # -- files ------------------------------------------------------------------------------

    @property
    def names(self) -> list[str]:
        """Names of hashed columns, such as "city=Oslo"."""
        return list(self.estimator.__dict__.get("_names", ()))

    def keep_names(self, new: Iterable[str]) -> None:
        """Add names of hashed columns, up to the number that a model stores."""
        known = dict.fromkeys((*self.names, *new))
        if known:
            self.estimator._names = list(islice(known, MOST_NAMES))

    def save(self, path: str, reading: Reading, passes: int) -> None:
        """Write the estimator, and how its data are read."""
        own = {"variant": self.title, "selected": self.selected}
        self.estimator._origin = {**own, **dataclasses.asdict(reading)}
        if not self.raw:
            self.estimator._fitted = self.estimator._fitted.changed(n_iter=passes)
        save(self.estimator, path)


def load_model(path: str) -> tuple[Model, Reading]:
    """Read a model, and how its data are read."""
    estimator = load(path)
    model = Model(estimator)
    if not model.raw and model.name not in LINEAR:
        raise ModelFileError(f"{path}: the command line has no {model.name}; load it in Python.")
    if model.learner is None:
        raise ModelFileError(f"{path}: the model has learned nothing yet.")
    several = model.regression and not model.raw and model.learner.outputs > 1
    if model.settings.task == "multilabel" or several:
        raise ModelFileError(
            f"{path}: the command line has no models of several targets; load it in Python."
        )
    if not model.raw:
        model.dtype = model.learner.dtype
        estimator.densify()  # before more is learned
    return model, Reading.from_origin(estimator.__dict__.get("_origin", {}))


def shown_params(params: dict[str, Any]) -> str:
    """Return selected parameters as text.

    >>> shown_params({"C": 0.1, "metric": "newton"})
    'C=0.1, metric=newton'
    """
    return ", ".join(
        f"{name}={value:g}" if name == "C" else f"{name}={value}" for name, value in params.items()
    )
