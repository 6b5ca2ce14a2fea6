"""A fitted estimator together with what commands need beyond its public interface."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from itertools import islice
from typing import Any

import numpy as np

from aggro.cli.reading import Reading
from aggro.estimators import counters
from aggro.io.hashing import MOST_NAMES
from aggro.labels import chosen
from aggro.learner import Array
from aggro.persistence import ModelFileError, load, save
from aggro.persistence.record import TEXTS
from aggro.selection.common import progressive_loss
from aggro.selection.grids import PIECE
from aggro.selection.selection import ModelSelection
from aggro.settings import Settings
from aggro.variants import LINEAR


class Model:
    """An estimator, the name that it is shown by, and the state of its passes.

    Parameters
    ----------
    estimator : estimator
        A linear estimator, or one of texts.
    dtype : dtype
        Type of the numbers to learn.
    title : str, optional
        The name of the variant. By default, that of the class.
    """

    def __init__(self, estimator: Any, dtype: Any = np.float64, title: str | None = None) -> None:
        self.estimator, self.dtype = estimator, np.dtype(dtype)
        origin = estimator.__dict__.get("_origin", {})
        self.title = str(title or origin.get("variant", self.name))
        self.settled: dict[str, Any] = dict(origin.get("settled", {}))  # chosen in earlier calls
        self.again = False  # whether the rows were learned in an earlier pass

    @property
    def name(self) -> str:
        """Name of the estimator."""
        return type(self.estimator).__name__

    @property
    def raw(self) -> bool:
        """Whether texts are read as they are."""
        return self.name in TEXTS

    @property
    def regression(self) -> bool:
        """Whether the model predicts numbers."""
        kind: str = self.estimator._estimator_kind
        return kind == "regressor"

    @property
    def learner(self) -> Any:
        """The learner of the estimator; None before the first example."""
        return self.estimator.__dict__.get("_learner")

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
        """The classes met so far."""
        return np.asarray(getattr(self.estimator, "classes_", np.empty(0)))

    @property
    def features(self) -> int:
        """Number of features met so far; for texts, of columns that hashed words share."""
        estimator = self.estimator
        return int(estimator.n_features if self.raw else estimator.n_features_in_)

    @property
    def ignored(self) -> Array:
        """Columns that count as zero because they only rise or only fall."""
        return counters.found(self.estimator.__dict__.get("_counters"))

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
        """Examples that moved the model."""
        return 0 if self.learner is None else int(self.estimator.n_updates_)

    # -- learning ---------------------------------------------------------------------------

    @property
    def step(self) -> int:
        """Number of examples that a batch must be cut at a multiple of."""
        if isinstance(self.learner, ModelSelection):
            return PIECE
        return 1 if self.raw else self.settings.batch_size

    def begin_batch(self, X: Any, y: Array, weights: Array | None) -> Any:
        """Return a batch for ``learn``; the model gets its features and classes."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # ``ignored`` columns are reported at the end
            return self.estimator._begin_batch(X, y, weights)

    def keep_counters(self) -> None:
        """Learn columns that only rise or only fall, as the reader has decided on columns."""
        if not (self.raw or self.regression):
            self.estimator._counters = counters.none()

    def learn(self, batch: Any, weights: Array | None, order: Array) -> None:
        """Learn some rows of a batch."""
        self.estimator._learn_batch(batch, weights, order, again=self.again)

    def freeze(self, frozen: bool = True) -> None:
        """Prepare for rows that were learned in an earlier pass, or for new ones."""
        self.again = frozen
        if self.learner is None:
            return
        if not self.raw:
            self.learner.freeze_means(frozen)
        elif frozen and self.selects:
            self.keep_best()

    @property
    def selects(self) -> bool:
        """Whether settings are still being chosen."""
        return bool(getattr(self.learner, "lanes", list)())

    def keep_best(self) -> dict[str, Any]:
        """Keep the best candidate alone; return its settings."""
        best = dict(self.estimator.best_params_)
        self.estimator.keep_best()
        self.settled = {**self.settled, **best}
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
        """Names behind hashed columns, such as "city=Oslo"."""
        return list(self.estimator.__dict__.get("_names", ()))

    def keep_names(self, new: Iterable[str]) -> None:
        """Add names behind hashed columns, as many as a model keeps."""
        known = dict.fromkeys((*self.names, *new))
        if known:
            self.estimator._names = list(islice(known, MOST_NAMES))

    def save(self, path: str, reading: Reading, passes: int) -> None:
        """Write the estimator, and how its data are read."""
        origin = {"variant": self.title, "settled": self.settled, **reading.origin()}
        self.estimator._origin = origin
        if not self.raw:
            self.estimator.n_iter_ = passes
        save(self.estimator, path)


def load_model(path: str) -> tuple[Model, Reading]:
    """Read a model, and how its data are read."""
    estimator = load(path)
    model = Model(estimator)
    if not model.raw and model.name not in LINEAR:
        raise ModelFileError(f"{path}: a {model.name} like this is for Python only.")
    if model.learner is None:
        raise ModelFileError(f"{path}: the model has learned nothing yet.")
    if model.settings.task == "multilabel" or not estimator.__dict__.get("_flat", True):
        raise ModelFileError(f"{path}: a model of several targets is for Python only.")
    if not model.raw:
        model.dtype = model.learner.dtype
        estimator.densify()  # what is learned next changes all weights
    origin = estimator.__dict__.get("_origin", {})
    return model, Reading.from_origin(origin)
