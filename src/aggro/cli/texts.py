"""A model of texts as the command line trains and applies it; what ``LinearModel`` is for rows."""

from __future__ import annotations

import dataclasses
from argparse import Namespace
from typing import Any

import numpy as np

from aggro.cli.reading import Reading
from aggro.cli.variant import given
from aggro.files.labels import looks_continuous
from aggro.files.raw import RawRows
from aggro.files.sources import expand, format_of
from aggro.labels import chosen
from aggro.learn.classes import Classes
from aggro.learn.learner import Array, Progress
from aggro.models.errors import ModelFileError
from aggro.models.record import TEXTS, Record, read_record, write_record
from aggro.models.store import model_of, record_of
from aggro.text.classifier import TextClassifier
from aggro.text.files import table_of_rows
from aggro.text.regressor import TextRegressor

LEARNING = (
    *("C", "metric", "average", "multiclass", "forgetting", "epsilon", "mergeable", "memory"),
)
READS = ("csv", "tsv", "parquet", "arrow", "jsonl")  # which have columns


def wants_words(args: Namespace) -> bool:
    """Tell whether texts are to be learned as texts, rather than as counts of words.

    A variant that is named learns counts, as its paper says.
    """
    if not args.text or args.text_defaults == "counts" or args.algorithm is not None:
        options = [name for name in ("ngrams", "chars", "idf", "stop_words") if getattr(args, name)]
        if options:
            raise ValueError(
                f"--{options[0].replace('_', '-')} is for texts that are learned as texts: give "
                "--text COLUMN, and neither --algorithm nor --text-defaults counts."
            )
        return False
    return all((args.format or format_of(path)) in READS for path in expand(args.data))


def parameters(args: Namespace) -> dict[str, Any]:
    """Return what the command line says about texts and learning."""
    params = given(args)
    strange = sorted(params.keys() - set(LEARNING))
    if strange:
        option = strange[0].replace("fit_intercept", "no_intercept").replace("_", "-")
        raise ValueError(
            f"--{option} is no setting of models of texts; add --text-defaults counts, or an "
            "--algorithm, to learn counts of words with it."
        )
    if args.ngrams and args.chars:
        raise ValueError("--ngrams is for words and --chars for characters; give one of them.")
    if args.ngrams:
        params["ngram_range"] = args.ngrams
    if args.chars:
        params |= {"analyzer": "char_wb", "ngram_range": args.chars}
    if args.idf:
        params["idf"] = {"yes": True, "no": False, "auto": "auto"}[args.idf]
    if args.stop_words:
        params["stop_words"] = _stop_words(args.stop_words)
    if args.hash_bits is not None:
        params["n_features"] = 2**args.hash_bits
    return {**params, "random_state": args.seed or 0}


def _stop_words(given: str) -> Any:
    if given == "english":
        return given
    from pathlib import Path

    return sorted(set(Path(given).read_text(encoding="utf-8").split()))


class TextModel:
    """An estimator of texts, and the figures that commands print of it."""

    raw = True  # texts are read as they are

    def __init__(self, estimator: Any, origin: dict[str, Any] | None = None) -> None:
        self.estimator, self.origin = estimator, origin or {}
        self.dtype = np.dtype(np.float64)  # of numbers beside the texts
        self.settled: dict[str, Any] = dict(self.origin.get("settled", {}))
        self.step = 1
        self._again = False

    @classmethod
    def create(cls, args: Namespace, X: RawRows, y: Array) -> TextModel:
        """Return a model that has learned nothing yet, of the kind that suits the first labels."""
        regression = args.task == "regression" or (args.task == "auto" and looks_continuous(y))
        params = parameters(args)
        if regression:
            params.pop("multiclass", None)
        elif "epsilon" in params:
            raise ValueError("--epsilon is for regression; these labels are classes.")
        columns = {
            **dict.fromkeys(X.texts, "text"),
            **dict.fromkeys(X.categories, "category"),
            **dict.fromkeys(X.names, "number"),
        }
        params["columns"] = None if list(columns.values()) == ["text"] else columns
        estimator = (TextRegressor if regression else TextClassifier)(**params)
        estimator._new_learner(2)  # wrong parameters are told before anything is learned
        return cls(estimator)

    # -- what commands ask ------------------------------------------------------------------

    @property
    def regression(self) -> bool:
        """Whether the model predicts numbers."""
        return isinstance(self.estimator, TextRegressor)

    @property
    def title(self) -> str:
        """The name of the model."""
        return type(self.estimator).__name__

    @property
    def record(self) -> Record:
        """The model as plain data, but for what it has learned."""
        return Record(self.title, record_of(self.estimator).params)

    @property
    def classes(self) -> Array:
        """The classes met so far."""
        return np.asarray(getattr(self.estimator, "classes_", np.empty(0)))

    @property
    def learner(self) -> Any:
        """What has learned; None before the first example."""
        return self.estimator.__dict__.get("_learner")

    @property
    def features(self) -> int:
        """Columns that hashed words share."""
        return int(self.estimator.n_features)

    @property
    def progress(self) -> Progress:
        """Mistakes so far, updates and loss of what leads."""
        learner = self.learner
        if learner is None:
            return Progress()
        leader = learner.leader.race.progress
        return Progress(int(learner.mistakes), leader.updates, leader.loss)

    @property
    def suffered(self) -> float:
        """Mistakes, or the sum of absolute errors, of what predicted, each before it learned."""
        if self.learner is None:
            return 0.0
        return float(self.learner.distance if self.regression else self.learner.mistakes)

    @property
    def price(self) -> Any:
        """The C it learns with."""
        return self.estimator.C

    @property
    def races(self) -> bool:
        """Whether there is still something to choose."""
        return bool(self.learner is not None and self.learner.lanes())

    @property
    def choice(self) -> dict[str, Any]:
        """What leads."""
        return dict(self.estimator.choice_)

    # -- learning ---------------------------------------------------------------------------

    def meet(self, X: RawRows, y: Array, counted: Array) -> dict[str, Any]:
        """Return the answers as the estimator takes them."""
        return {"y": y}

    def learn(
        self, X: RawRows, lesson: dict[str, Any], weights: Array | None, order: Array
    ) -> None:
        """Learn some rows."""
        table, y = table_of_rows(X, order), lesson["y"][order]
        some = None if weights is None else weights[order]
        if self._again:
            self._learn_again(table, y, some)
        else:
            self.estimator.partial_fit(table, y, sample_weight=some)

    def _learn_again(self, table: Any, y: Array, weights: Array | None) -> None:
        """Learn documents that were counted in the first pass."""
        if self.regression:
            lesson = {"values": np.ascontiguousarray(y, np.float64).reshape(-1, 1)}
        else:
            lesson = {"labels": Classes(self.classes).encode(y)}
        self.learner.learn(table, {**lesson, "weights": weights}, again=True)

    def freeze(self, frozen: bool = True) -> None:
        """The same rows come again: the race is over, and documents are not counted twice."""
        if frozen and self.races:
            self.settle()
        self._again = frozen

    def settle(self) -> dict[str, Any]:
        """End a race: keep the leader alone; return what it stands for."""
        chosen = self.choice
        self.estimator.settle()
        self.settled = {**self.settled, **chosen}
        return chosen

    # -- predicting -------------------------------------------------------------------------

    def scores(self, X: RawRows) -> Array:
        """Return one row per example and one column per output."""
        scores: Array = self.learner.scores(table_of_rows(X))
        return scores

    def chosen(self, scores: Array) -> Array:
        """Return the index of the class that the scores speak for."""
        return chosen(scores, len(self.classes))

    def probabilities(self, scores: Array) -> Array:
        """Return the probability of each class, fitted to margins given before learning."""
        found: Array = self.learner.probabilities(scores)
        return found

    # -- files ------------------------------------------------------------------------------

    def save(self, path: str, reading: Reading, passes: int) -> None:
        """Write the model, as the estimator that it is."""
        origin = {"variant": self.title, "settled": self.settled, **reading.origin()}
        record = record_of(self.estimator)
        write_record(
            Record(record.name, record.params, {**record.attributes, "_origin": origin}), path
        )

    @classmethod
    def load(cls, path: str) -> tuple[TextModel, Reading]:
        """Read a model, and how its data are read."""
        record = read_record(path)
        if "_learner" not in record.attributes:
            raise ModelFileError(f"{path}: the model has learned nothing yet.")
        origin = record.attributes.pop("_origin", {})
        return cls(model_of(record), origin), Reading.from_origin(origin, 0)


def resume_texts(args: Namespace) -> tuple[TextModel, Reading]:
    """Return the saved model of texts, and how its data are read; nothing of it can change."""
    model, kept = TextModel.load(args.resume)
    named = ("ngrams", "chars", "idf", "stop_words", "text_defaults", "algorithm", "hash_bits")
    asked = [name for name in named if getattr(args, name)] + sorted(given(args))
    asked += ["text"] if args.text and tuple(args.text) != tuple(kept.text) else []
    asked += ["label"] if args.label and args.label != kept.label else []
    asked += ["categorical"] if tuple(args.categorical or ()) != tuple(kept.categorical) else []
    if asked:
        option = asked[0].replace("fit_intercept", "no_intercept").replace("_", "-")
        raise ValueError(
            f"--{option} is part of the model of {args.resume} and cannot change with --resume; "
            "leave it out, or train a new model."
        )
    task = "regression" if model.regression else "classification"
    if args.task not in ("auto", task):
        raise ValueError(f"{args.resume} is for {task}; leave --task out, or train a new model.")
    return model, dataclasses.replace(
        kept,
        format=args.format or kept.format,
        weight=args.weight or kept.weight,
        missing_zero=args.missing_zero or kept.missing_zero,
    )


def is_text_model(path: str) -> bool:
    """Tell whether a file holds a model of texts."""
    return read_record(path).name in TEXTS


def load_model(path: str) -> tuple[Any, Reading]:
    """Read a model of any kind, and how its data are read."""
    from aggro.cli.model import LinearModel

    return TextModel.load(path) if is_text_model(path) else LinearModel.load(path)
