"""Base of the text estimators: parameters, passes, saving.

They have the interfaces of scikit-learn and river and import neither.
"""

from __future__ import annotations

import os
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import numpy as np

from aggro.calibration.calibrator import Calibrator
from aggro.checks import check_choice, threads_of
from aggro.estimators.held_out import check_early_stopping
from aggro.estimators.passes import Passes, StopByLoss
from aggro.io.batch import RawRows
from aggro.io.columns import numeric_names
from aggro.learner import Array
from aggro.selection.learners import History
from aggro.selection.report import SelectionReport
from aggro.selection.selection import ModelSelection
from aggro.settings import FEATURES, Settings, check_settings
from aggro.sklearn_api import Estimator, check_fitted, draw_seed
from aggro.stream.river import RiverProtocol
from aggro.text.encoder import IDF, MOST_NAMES, TF, Encoder
from aggro.text.learner import TextLearner
from aggro.text.options import Options
from aggro.text.table import Table, check_columns, table_of, table_of_rows
from aggro.training_batch import TrainingBatch
from aggro.transaction import Checkpoint, checkpoint_of
from aggro.variants import EstimatorSettings

RANGES = {"auto": [(1, 1), (1, 2)]}
WEIGHINGS: dict[Any, list[str]] = {"auto": [TF, IDF], True: [IDF], False: [TF]}
OPTIONS = (
    *("analyzer", "lowercase", "stop_words", "token_pattern", "strip_accents", "n_features"),
    *("sublinear_tf", "binary", "min_df", "max_df", "forgetting"),
)


class TextBatch(TrainingBatch):
    """Texts together with their targets and weights; ``X`` is a table."""

    @property
    def count(self) -> int:
        """Number of texts."""
        return len(self.X)

    @property
    def rows(self) -> Any:
        """The texts, which the representations of a selection encode."""
        return self.X

    known_rows = rows

    def rows_at(self, numbers: Array) -> Table:
        """Return the texts of these numbers, for predictions."""
        table: Table = self.X.take(numbers)
        return table

    def checkpoint(self, learner: ModelSelection) -> Checkpoint:
        """Return a function that restores a selection after passes over texts that it knows."""
        history, models = History(), [each.checkpoint_of_all() for each in learner.learners]
        history.add(checkpoint_of(learner), *models)
        return history.restore


class TextEstimator(Estimator, RiverProtocol):
    """Base of TextClassifier and TextRegressor."""

    _kind: EstimatorSettings
    _learner: TextLearner
    # parameters
    ngram_range: Any
    idf: bool | str
    C: Any
    metric: str
    average: bool | int | str
    analyzer: str
    columns: Any
    features: str
    max_iter: int
    tol: float | None
    n_iter_no_change: int
    early_stopping: bool | str
    validation_fraction: float
    shuffle: bool
    verbose: int
    forgetting: float
    keep_names: bool | int
    memory: Any
    mergeable: bool
    n_jobs: int | None
    random_state: Any

    def _get_params(self) -> dict[str, Any]:
        return self.get_params()

    def __sklearn_is_fitted__(self) -> bool:
        return "_learner" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.string = False, True
        return tags

    # -- making a learner -------------------------------------------------------------------

    def _settings(self, outputs: int, several: bool) -> Settings:
        raise NotImplementedError

    def _checked(self, outputs: int, several: bool) -> Settings:
        settings = self._settings(outputs, several)
        check_settings(settings, self._kind.losses)
        Passes.of(self)  # raises if a parameter is invalid
        check_early_stopping(self)
        check_choice("features", self.features, FEATURES)
        if self.features != "linear" and self.mergeable:
            raise ValueError(
                "Models learned apart have feature maps of their own, which cannot be merged; use "
                "features='linear', or mergeable=False."
            )
        return settings

    def _new_learner(
        self, outputs: int, several: bool = False, calibrator: Calibrator | None = None
    ) -> TextLearner:
        """Return a blank learner; raise if a parameter is invalid.

        ``several``: its outputs are labels, of which a text may have any number.
        """
        settings = self._checked(outputs, several)
        known = isinstance(self.idf, Hashable) and self.idf in WEIGHINGS
        if not known or (isinstance(self.idf, str) and self.idf != "auto"):
            raise ValueError(f"idf={self.idf!r} is not valid; give True, False or 'auto'.")
        kinds = WEIGHINGS[self.idf]
        ranges = RANGES.get(self.ngram_range) if isinstance(self.ngram_range, str) else None
        if isinstance(self.ngram_range, str) and ranges is None:
            raise ValueError(
                f"ngram_range={self.ngram_range!r} is not valid; give a pair such as (1, 2), or "
                "'auto'."
            )
        ranges = ranges or [self.ngram_range]
        if self.ngram_range == "auto" and self.analyzer != "word":
            ranges = [(3, 5)]  # of characters; pairs of letters carry little information
        given = {name: getattr(self, name) for name in OPTIONS}
        options = Options(**given, ngram_range=_pair(ranges[-1]))
        kinds_of = list((self.columns or {"": "text"}).values())
        names = MOST_NAMES if self.keep_names is True else int(self.keep_names)
        encoder = Encoder(
            options,
            [_pair(each) for each in ranges],
            kinds,
            kinds_of.count("text"),
            "category" in kinds_of,
            len(numeric_names(self.columns or {})),
            names,
            calibrator is not None,
            self.features,
            seed := draw_seed(self.random_state),
        )
        return TextLearner(encoder, settings, outputs, seed, calibrator)

    def _table(self, X: Any) -> Table:
        if isinstance(X, Table):
            return X
        if isinstance(X, RawRows):
            return table_of_rows(X)
        check_columns(self.columns)
        return table_of(X, self.columns)

    def _run_passes(
        self, learner: TextLearner, batch: TextBatch, passes: Passes, rule: StopByLoss
    ) -> None:
        """Learn texts pass after pass, and keep the best candidate alone."""
        selection, records = learner.selection, learner.calibrator is not None

        def train(order: Array | None, *, again: bool) -> None:
            record = learner if records and not again else None
            batch.train(selection, order, again=again, record=record)

        passes.run(selection, batch, rule, train)
        held_out = 0 if rule.held_out is None else len(rule.held_out)
        learner.repeated = selection.examples - (batch.count - held_out)
        learner.keep_best()

    # -- batches of files, as in the linear estimators ----------------------------------------

    def _begin_batch(self, X: RawRows, y: Array, weights: Array | None) -> tuple[RawRows, Array]:
        """Return a batch of a file for ``_learn_batch``."""
        return X, y

    def _learn_batch(
        self,
        batch: tuple[RawRows, Array],
        weights: Array | None,
        order: Array,
        *,
        again: bool = False,
    ) -> None:
        """Learn some rows of a batch; ``again``: they were learned in an earlier pass."""
        X, y = (each[order] for each in batch)
        some = None if weights is None else weights[order]
        if again:
            table, targets = self._prepared(self._table(X), y, some)
            self._learner.learn(table, targets, threads_of(self.n_jobs), again=True)
        else:
            self.partial_fit(X, y, sample_weight=some)

    def _scores_of(self, X: Any) -> Array:
        """Return the scores of texts, one column per output."""
        return self._fitted().scores(self._table(X), threads_of(self.n_jobs))

    # -- what was learned -------------------------------------------------------------------

    def keep_best(self) -> Any:
        """Keep the best candidate alone; return the estimator.

        The model then needs a small part of the memory and of the time. ``fit`` does this itself.
        Before, an ensemble predicts texts of two classes, so predictions may change.
        """
        self._fitted().keep_best()
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file (see ``aggro.save``)."""
        from aggro import save

        save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Any:
        """Read a model of this class from a file (see ``aggro.load``)."""
        from aggro import ModelFileError, load

        model = load(path)
        if not isinstance(model, cls):
            raise ModelFileError(f"{os.fspath(path)} holds a {type(model).__name__}.")
        return model

    @property
    def best_params_(self) -> dict[str, Any]:
        """The best candidate: ``ngram_range``, ``idf``, and the other selected settings."""
        return self._fitted().best_params

    @property
    def candidates_(self) -> list[dict[str, Any]]:
        """Representation, settings, mistakes and recent record of each candidate."""
        return self._fitted().selection.candidates()

    def selection_report(self, path: str | Path | None = None) -> SelectionReport:
        """Return the candidates and how far they are behind the best one: a table, if printed.

        Parameters
        ----------
        path : str or path, optional
            File for a picture of the report.
        """
        selection = self._fitted().selection
        if not selection.candidates():
            raise AttributeError(
                "There is no selection to report: nothing is 'auto', or keep_best() has ended it."
            )
        from aggro.plot import with_picture

        return with_picture(selection.report(), path)

    @property
    def _raw_memory_usage(self) -> int:
        return self._learner.bytes if self.__sklearn_is_fitted__() else 0

    @property
    def t_(self) -> int:
        """Number of examples seen, plus one."""
        return self._fitted().examples + 1

    @property
    def n_updates_(self) -> int:
        """Texts that moved the best candidate (summed over independent outputs)."""
        return self._fitted().selection.progress.updates

    def _fitted(self) -> TextLearner:
        check_fitted(self)
        return self._learner


def with_weight(
    table: Table, targets: dict[str, Any], weights: Array | None
) -> tuple[Table, dict[str, Any]]:
    """Return the rows of positive weight."""
    if weights is None:
        return table, {**targets, "weights": None}
    rows = np.flatnonzero(weights > 0)
    if len(rows) < len(weights):
        table, weights = table.take(rows), weights[rows]
        targets = {name: each[rows] for name, each in targets.items()}
    return table, {**targets, "weights": weights}


def check_count_of(y: Array, count: int) -> None:
    """Raise unless there is one target for each text."""
    if len(y) != count:
        raise ValueError(f"X has {count} texts but y has {len(y)} targets; give one for each.")


def _pair(given: Any) -> Any:
    return tuple(given) if isinstance(given, list) else given
