"""A linear model as the command line trains and applies it: a record around a ``Learner``.

It does what the estimators do in ``partial_fit``, so that ``aggro.load`` can hand the file over to
them; but it needs no scikit-learn, whose import alone takes longer than most of the work here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from itertools import islice
from typing import Any

import numpy as np

from aggro.cli.reading import Reading
from aggro.cli.variant import settings_for
from aggro.files.names import MOST_NAMES
from aggro.labels import chosen, shown
from aggro.learn.alike import AnyLearner, grow_features, suffered
from aggro.learn.classes import Classes
from aggro.learn.grids import PIECE
from aggro.learn.learner import Array, Learner, Progress, rows_of
from aggro.learn.lessons import Lesson
from aggro.learn.makers import grown, make_learner
from aggro.learn.probability_map import softmax
from aggro.learn.race import AutoLearner
from aggro.learn.recorder import Recorder
from aggro.models.errors import ModelFileError
from aggro.models.record import DAMAGED, REGRESSORS, Record, read_record, write_record
from aggro.models.store import check_fitted
from aggro.settings import LOSSES, Settings, Task, check_settings, class_task
from aggro.variants import LINEAR, Variant

PRICES = ("C", "epsilon", "r", "eta")  # what may change when learning goes on


class LinearModel:
    """A variant, its parameters, and what was learned so far."""

    raw = False  # rows are read as numbers

    def __init__(self, record: Record, settings: Settings, dtype: Any, title: str) -> None:
        self.record, self.settings, self.title = record, settings, title
        self.dtype = np.dtype(dtype)
        self.known = Classes(np.empty(0))
        self.learner: AnyLearner | None = None
        self.settled: dict[str, Any] = {}  # what a race chose before it ended
        self.again = False  # whether rows come again

    @classmethod
    def create(cls, variant: Variant, params: dict[str, Any], dtype: Any, seed: int) -> LinearModel:
        """Return a model that has learned nothing yet."""
        settings = settings_for(variant, params)  # wrong ones are told before anything is read
        kept = {**variant.params, **params, "random_state": seed}
        return cls(Record(variant.estimator, kept), settings, dtype, variant.name)

    @property
    def regression(self) -> bool:
        """Whether the model predicts numbers."""
        return self.record.name in REGRESSORS

    @property
    def classes(self) -> Array:
        """The classes met so far."""
        return self.known.labels

    # -- learning ---------------------------------------------------------------------------

    def meet(self, X: Any, y: Array, counted: Array) -> dict[str, Any]:
        """Make room for new features and classes; return the targets as the core reads them.

        Only the rows that are ``counted`` bring classes; the others will not be learned.
        """
        if self.regression:
            values = np.ascontiguousarray(y, dtype=np.float64).reshape(-1, 1)
            if not np.isfinite(values).all():
                raise ValueError("A target is NaN or infinite; every target must be finite.")
            if self.learner is None:
                self.learner = self._first(X.shape[1], 1)
            lesson = {"values": values}
        else:
            self._admit(X.shape[1], y[counted])
            present = np.zeros(len(y), bool)
            present[counted] = True
            lesson = {"labels": self.known.encode(y, present)}
        grow_features(self._learner, X.shape[1])
        return lesson

    @property
    def step(self) -> int:
        """How many rows belong together: where a batch may be cut without changing the model."""
        return PIECE if isinstance(self.learner, AutoLearner) else self.settings.batch_size

    def learn(self, X: Any, lesson: dict[str, Any], weights: Array | None, order: Array) -> None:
        """Learn some rows; record their margins where the model does so, unless they come again."""
        recorder = self._recorder()
        if recorder is None or self.again:
            self._learner.learn(self._rows(X), weights=weights, order=order, **lesson)
            return
        whole = Lesson(self._fitting(X), {**lesson, "weights": weights})
        with whole.undone_if_cut(self._learner):
            self._keep(recorder.after(self._learner, whole, weights, order))

    def _first(self, features: int, outputs: int) -> AnyLearner:
        # The seed that the estimators would draw, so that both learn the same.
        random = np.random.RandomState(self.record.params["random_state"])
        seed = random.randint(np.iinfo(np.int32).max)
        return make_learner(self._settings_for(outputs), features, outputs, self.dtype, seed)

    def _settings_for(self, classes: int) -> Any:
        """Return the settings for so many classes, or those of each lane."""
        task: Task = "regression" if self.regression else class_task(classes)
        settings = dataclasses.replace(self.settings, task=task)
        check_settings(settings, LOSSES)
        return settings

    def _admit(self, features: int, y: Array) -> None:
        """Let classes that were never seen enter."""
        if self.learner is None:
            self.known = Classes.of(y)
            self.learner = self._first(features, len(self.known))
            return
        strange = self.known.strange(y)
        if len(strange) == 0:
            return
        if self.known.given:
            raise ValueError(
                f"The label {strange.tolist()[0]!r} is not one of the classes that the model was "
                f"made for: {shown(self.classes)}."
            )
        everybody = self.known.admit(strange)
        settings, position = self._settings_for(len(everybody)), self.known.among(everybody)
        old, recorder = self.learner.settings, self._recorder()
        self.learner = grown(self.learner, settings, position, len(everybody))
        self.known = everybody
        if recorder:
            self._keep(recorder.grown(old, settings, position, len(everybody)))

    # -- predicting -------------------------------------------------------------------------

    def scores(self, X: Any) -> Array:
        """Return one row per example and one column per output."""
        return self._learner.scores(self._rows(X))

    def probabilities(self, scores: Array) -> Array:
        """Return the probability of each class; a mere softmax if no margins were recorded."""
        if len(self.classes) == 1:
            return np.ones((len(scores), 1))
        recorder = self._recorder()
        return recorder.probabilities(self._learner, scores) if recorder else softmax(scores)

    def chosen(self, scores: Array) -> Array:
        """Return the index of the class that the scores speak for."""
        return chosen(scores, len(self.classes))

    def _rows(self, X: Any) -> Any:
        return rows_of(self._fitting(X))

    def _fitting(self, X: Any) -> Any:
        """Return rows with as many columns as the model knows."""
        if X.shape[1] > self.features:
            raise ValueError(
                f"The data have {X.shape[1]:,} columns, but the model knows {self.features:,}."
            )
        if hasattr(X, "indptr"):  # a block has the columns seen up to it; this copies nothing
            X.resize((X.shape[0], self.features))
        return X

    def _recorder(self) -> Recorder | None:
        """Return what was recorded of margins, where the estimator was made to record them."""
        fitted = self.record.attributes
        if "_calibrator" not in fitted:
            return None
        return Recorder(fitted["_calibrator"], fitted["_typical"])

    def _keep(self, recorder: Recorder) -> None:
        self.record.attributes.update(_calibrator=recorder.calibrator, _typical=recorder.typical)

    @property
    def _learner(self) -> AnyLearner:
        if self.learner is None:
            raise ValueError("There were no examples to learn from.")
        return self.learner

    @property
    def progress(self) -> Progress:
        """Mistakes, updates and loss so far."""
        return Progress() if self.learner is None else self.learner.progress

    @property
    def suffered(self) -> float:
        """Mistakes, or the sum of absolute errors, of what predicted, each before it learned."""
        if self.learner is None or not self.regression:
            return float(self.progress.mistakes)
        return suffered(self.learner)[1]

    @property
    def features(self) -> int:
        """Number of features met so far."""
        return self._learner.features

    # -- races --------------------------------------------------------------------------------

    @property
    def price(self) -> Any:
        """The C it learns with."""
        return self.settings.C

    @property
    def races(self) -> bool:
        """Whether there is still something to choose."""
        return isinstance(self.learner, AutoLearner)

    @property
    def choice(self) -> dict[str, Any]:
        """What leads the race."""
        return self.learner.choice if isinstance(self.learner, AutoLearner) else {}

    def freeze(self, frozen: bool = True) -> None:
        """Tell the learner that the same rows may come again, or that new ones come."""
        self.again = frozen
        if self.learner is not None:
            self.learner.freeze_means(frozen)

    def settle(self) -> dict[str, Any]:
        """End a race: keep the leader alone; return the settings that it stands for."""
        race = self.learner
        if not isinstance(race, AutoLearner):
            return {}
        chosen, recorder = race.choice, self._recorder()
        if recorder:
            self._keep(recorder.of_winner(race))
        self.learner, self.settings = race.winner(), dataclasses.replace(self.settings, **chosen)
        self.record.params.update(chosen)
        self.settled = {**self.settled, **chosen}
        return chosen

    # -- files ------------------------------------------------------------------------------

    @property
    def names(self) -> list[str]:
        """Names behind hashed columns, such as "city=Oslo"."""
        return list(self.record.attributes.get("_names", ()))

    def keep_names(self, new: Iterable[str]) -> None:
        """Add names behind hashed columns, as many as a model keeps."""
        known = dict.fromkeys((*self.names, *new))
        if known:
            self.record.attributes["_names"] = list(islice(known, MOST_NAMES))

    def save(self, path: str, reading: Reading, passes: int) -> None:
        """Write the model, as the estimator that it is."""
        learner = self._learner
        attributes = {
            **self.record.attributes,
            "_learner": learner,
            "n_features_in_": learner.features,
            "n_iter_": passes,
            "_known_prices": True,
            "_origin": {"variant": self.title, "settled": self.settled, **reading.origin()},
        }
        if self.regression:
            attributes["_flat"] = True
        else:
            new = {"_multilabel": False, "_classes_given": False}
            counts = np.zeros(len(self.classes))
            attributes = {**new, **attributes, "classes_": self.classes, "_counts": counts}
        write_record(Record(self.record.name, self.record.params, attributes), path)

    @classmethod
    def load(cls, path: str) -> tuple[LinearModel, Reading]:
        """Read a model, and how its data are read."""
        record = read_record(path)
        learner = record.attributes.get("_learner")
        if record.name not in LINEAR or not isinstance(learner, (Learner, AutoLearner)):
            raise ModelFileError(f"{path}: a {record.name} like this is for Python only.")
        try:
            check_fitted(record)
        except DAMAGED as error:
            raise ModelFileError(f"{path}: cannot be read: {error}") from error
        if learner.settings.task == "multilabel" or not record.attributes.get("_flat", True):
            raise ModelFileError(f"{path}: a model of several targets is for Python only.")
        origin = record.attributes.get("_origin", {})
        title = str(origin.get("variant", record.name))
        model = cls(record, learner.settings, learner.dtype, title)
        model.learner, model.settled = learner, dict(origin.get("settled", {}))
        classes = record.attributes.get("classes_", model.classes)
        model.known = Classes(classes, bool(record.attributes.get("_classes_given")))
        return model, Reading.from_origin(origin, learner.features)

    def go_on_with(self, params: dict[str, Any]) -> None:
        """Change prices for what comes."""
        params = {n: value for n, value in params.items() if not self._has(n, value)}
        fixed = sorted(params.keys() - set(PRICES))
        if fixed:
            option = fixed[0].replace("fit_", "no_").replace("_", "-")
            raise ValueError(f"--{option} is part of the model and cannot change with --resume.")
        if self.record.params.get("class_weight") is not None:
            raise ValueError("A model with class_weight is continued in Python, by partial_fit.")
        strange = sorted(params.keys() - set(LINEAR[self.record.name].axes))
        if strange:
            raise ValueError(f"{self.title} has no --{strange[0].replace('_', '-')}.")
        if "C" in params and "auto" in (params["C"], self.settings.C):
            raise ValueError(
                f"{self.title} learns with --C {self.settings.C}, which cannot change to "
                f"{params['C']} with --resume; leave --C out, or train a new model."
            )
        settings = dataclasses.replace(self.settings, **params)
        check_settings(settings, LOSSES)
        self._learner.configure(settings)
        self.settings = settings
        self.record.params.update(params)

    def _has(self, name: str, value: Any) -> bool:
        """Tell whether a setting is that of the model, or the race that chose it."""
        return getattr(self.settings, name) == value or (value == "auto" and name in self.settled)
