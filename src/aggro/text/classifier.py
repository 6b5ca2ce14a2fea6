"""Classification of texts."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np

from aggro.calibration.calibrator import Calibrator
from aggro.calibration.probability_map import uncalibrated
from aggro.checks import check_flag, threads_of
from aggro.classes import Classes, LabelSets, continued_labels, decode
from aggro.estimators.classifier import check_probability, check_recorded
from aggro.estimators.held_out import classifier_rule
from aggro.estimators.passes import Passes
from aggro.labels import are_sets, label_sets, plain_labels, shown
from aggro.learner import Array
from aggro.settings import Settings, class_task
from aggro.sklearn_api import available_if, store_parameters
from aggro.text.base import TextBatch, TextEstimator, check_count_of, with_weight
from aggro.text.explain import Explained
from aggro.text.learner import TextLearner
from aggro.text.options import WORDS
from aggro.text.table import Table
from aggro.training_batch import read_weights
from aggro.transaction import Transaction, checkpoint_of
from aggro.variants import ESTIMATORS


class TextClassifier(Explained, TextEstimator):
    """Classifier of texts that selects its settings while it learns.

    It selects between term frequencies and running inverse document frequencies, words and words
    with their pairs, and the parameter C, the metric and the averaging of the Passive-Aggressive
    rule. Each text is predicted before it is learned, and the candidate with the fewest recent
    mistakes predicts; texts of two classes are predicted by an ensemble of all candidates of its
    representation.

    Parameters
    ----------
    ngram_range : (int, int) or "auto", default="auto"
        Shortest and longest n-gram; "auto" selects (1, 1) or (1, 2), and (3, 5) of characters.
    idf : bool or "auto", default="auto"
        Weight words by their inverse document frequency so far; "auto" selects.
    C, metric, average
        As in ``PassiveAggressiveClassifier``; "auto", the default, selects them.
    multiclass : {"support", "top", "predicted", "ovr"}, default="support"
        As in ``PassiveAggressiveClassifier``.
    analyzer, lowercase, stop_words, token_pattern, strip_accents, n_features, sublinear_tf, \
binary, min_df, max_df
        As in ``aggro.text.HashingVectorizer``.
    columns : mapping, optional
        Kind of each column of a frame, or key of dicts: "text", "category", "number", "date", or
        "cycle" for a date without its years. Missing values count as nothing. By default X is a
        sequence of texts.
    features : {"linear", "fourier", "bins", "both"}, default="linear"
        Features of the numeric columns. "linear": numbers over their root mean square. The others
        are non-linear (see ``FeatureMap``) and have separate features for missing numbers.
    max_iter, tol, early_stopping, validation_fraction, n_iter_no_change, shuffle, verbose
        As in ``AutoClassifier``. ``fit`` selects in its first pass and keeps the best candidate.
    forgetting : float, default=0.0
        For streams with drift: the weight of past texts that a new one replaces, in document
        frequencies, in a diagonal metric and in the records of candidates.
    keep_names : bool or int, default=True
        Remember words for ``top_words``: the given number of the most frequent ones, by default a
        quarter of a million.
    probability
        As in ``PassiveAggressiveClassifier``.
    memory : int, float or str, default=None
        Memory limit of model selection in bytes, or a size such as "512MiB"; by default one GiB, or
        a quarter of the machine's memory if that is less. As words and classes are added, the worst
        candidates are removed.
    mergeable : bool, default=False
        Count the updates of each weight, for ``aggro.merge``. The model is the same.
    n_jobs : int, default=None
        Threads: None is one, -1 all cores. The result is the same for any number.
    random_state
        As in ``PassiveAggressiveClassifier``.

    Examples
    --------
    >>> from aggro import TextClassifier
    >>> clf = TextClassifier()
    >>> for _ in range(3):
    ...     clf.learn_one("free money now", "spam")
    ...     clf.learn_one("lunch at noon?", "ham")
    >>> clf.predict_one("money for free")
    'spam'
    """

    _kind = ESTIMATORS["PassiveAggressiveClassifier"]
    _river_base = "Classifier"
    classes_: Array
    _classes_given: bool
    multiclass: str
    probability: bool

    def __init__(
        self,
        *,
        ngram_range: Any = "auto",
        idf: bool | str = "auto",
        C: Any = "auto",
        metric: str = "auto",
        average: bool | int | str = "auto",
        multiclass: str = "support",
        analyzer: str = "word",
        lowercase: bool = True,
        stop_words: Any = None,
        token_pattern: str = WORDS,
        strip_accents: str | None = None,
        n_features: int = 2**20,
        sublinear_tf: bool = False,
        binary: bool = False,
        min_df: float = 0,
        max_df: float = 1.0,
        columns: Any = None,
        features: str = "linear",
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        early_stopping: bool | str = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        shuffle: bool = True,
        verbose: int = 0,
        forgetting: float = 0.0,
        keep_names: bool | int = True,
        probability: bool = False,
        memory: int | float | str | None = None,
        mergeable: bool = False,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        store_parameters(self, locals())

    _estimator_kind = "classifier"

    # -- learning ---------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> TextClassifier:
        """Learn from texts and their classes, from scratch; return the estimator.

        Parameters
        ----------
        X : list, array or column of texts; a frame or dicts where ``columns`` is given
            Texts.
        y : array of shape (n_texts,), or list of sets
            Their classes, or the set of labels of each text, which may be empty.
        sample_weight : array of shape (n_texts,), optional
            How many times each text counts: multiplies C.
        """
        table = self._table(X)
        labels = self._read_labels(y, len(table))
        weights = read_weights(sample_weight, len(table), "text")
        table, targets = with_weight(table, {"labels": labels}, weights)
        labels = targets.pop("labels")
        several = are_sets(labels)
        if several:
            known: Classes = LabelSets.of(labels)
            targets |= known.targets(labels)
        else:
            known, targets["labels"] = Classes.numbered(labels)
        if len(known) < 2 and known.task != "multilabel":
            raise ValueError(
                f"fit needs two classes or more, got {shown(known.labels) or 'none'}; a stream may "
                "begin with one: use partial_fit."
            )
        with Transaction(checkpoint_of(self)):
            learner, passes = self._new_learner(known.outputs, several), Passes.of(self)
            batch = TextBatch(table, targets, threads_of(self.n_jobs))
            given, names = (targets["values"], None) if several else (labels, known.labels)
            selection = learner.selection
            rule = classifier_rule(self, passes, selection, batch, given, names, batch.weights)
            self._run_passes(learner, batch, passes, rule)
            return self._become(learner, known)

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> TextClassifier:
        """Learn texts once, in the given order; return the estimator.

        Classes may appear at any time.

        Parameters
        ----------
        X : list, array or column of texts; a frame or dicts where ``columns`` is given
            Texts.
        y : array of shape (n_texts,), or list of sets
            Their classes, or the set of labels of each text, which may be empty.
        classes : array, optional
            All classes or labels that may ever appear.
        sample_weight : array of shape (n_texts,), optional
            How many times each text counts: multiplies C.
        """
        table = self._table(X)
        labels = self._read_labels(y, len(table))
        weights = read_weights(sample_weight, len(table), "text")
        table, targets = with_weight(table, {"labels": labels}, weights)
        if not len(table) and classes is None:
            return self
        labels = targets.pop("labels")
        known = self._known(labels, classes)
        targets |= known.targets(labels)  # raises before anything is learned
        parts = self._parts(labels) if isinstance(known, LabelSets) and not known.given else []
        if len(parts) > 1:
            weights = targets["weights"]
            for rows in parts:
                some = None if weights is None else weights[rows]
                self.partial_fit(table.take(rows), labels[rows], sample_weight=some)
            return self
        learner = self._learner_of(known)
        undo, before = checkpoint_of(self), learner.examples
        self._become(learner, known)
        try:
            self._learn(learner, table, targets)
        except BaseException:
            if learner.examples == before:  # blocks that were learned stay
                undo()
            raise
        return self

    def _parts(self, labels: Array) -> list[slice]:
        """Divide sets of labels before each one with a label that is new.

        A candidate is compared by the losses of all outputs: a label must not count before it
        appears, or the best candidate would depend on how texts are divided into calls.
        """
        known, cuts = set(self.classes_.tolist() if self.__sklearn_is_fitted__() else ()), [0]
        for row, several in enumerate(labels):
            if row > 0 and not several <= known:
                cuts.append(row)
            known |= several
        return [slice(*pair) for pair in itertools.pairwise([*cuts, len(labels)])]

    def learn_one(self, x: Any, y: Any, w: float = 1.0) -> None:
        """Learn a text x, or a dict where ``columns`` is given; w multiplies C.

        y is its class, or a set of labels.
        """
        self.partial_fit([x], [y], sample_weight=None if w == 1 else [w])

    def _prepared(self, table: Table, y: Any, weights: Any) -> tuple[Table, dict[str, Any]]:
        """Return rows and targets as the learner takes them; their classes are known."""
        labels = self._read_labels(y, len(table))
        self._check_kind(labels)
        targets: dict[str, Any] = dict(self._classes.targets(labels))
        return with_weight(table, targets, read_weights(weights, len(table), "text"))

    def _learn(self, learner: TextLearner, table: Table, targets: dict[str, Any]) -> None:
        learner.learn(table, targets, threads_of(self.n_jobs))

    @property
    def _classes(self) -> Classes:
        """The classes known so far."""
        kind = LabelSets if self._several else Classes
        return kind(self.classes_, self._classes_given)

    @property
    def _several(self) -> bool:
        """Whether texts have sets of labels."""
        return self.__sklearn_is_fitted__() and self._learner.settings.task == "multilabel"

    def _check_kind(self, labels: Array) -> None:
        """Raise if some of these and the earlier labels are sets and others are not."""
        if len(labels) and self.__sklearn_is_fitted__() and are_sets(labels) != self._several:
            kinds = ("one class", "a set of labels")
            raise ValueError(
                f"y has {kinds[not self._several]} for each text, such as {labels.tolist()[0]!r}, "
                f"and earlier texts have {kinds[self._several]}; give the same in all calls."
            )

    def _known(self, labels: Array, classes: Any) -> Classes:
        """Return the classes of the model with those of some labels, or as they were given."""
        self._check_kind(labels)
        several = self._several if self.__sklearn_is_fitted__() else are_sets(labels)
        kind = LabelSets if several else Classes
        given = None if classes is None else kind.named(classes)
        if "_learner" not in self.__dict__:
            return kind.of(labels) if given is None else given
        known = self._classes
        if given is not None and given.labels.tolist() != known.labels.tolist():
            raise ValueError(
                f"classes={shown(given.labels)} are not those of the model, {shown(known.labels)}; "
                "leave classes out, or start again with fit."
            )
        return known.admit(labels)

    def _learner_of(self, known: Classes) -> TextLearner:
        """Return the learner with all classes, or a new one."""
        if "_learner" not in self.__dict__:
            return self._new_learner(known.outputs, known.task == "multilabel")
        if len(known) == len(self.classes_):
            return self._learner
        if self._several:
            outputs = continued_labels(self.classes_.tolist(), known.labels.tolist())
            return self._learner.relabelled(outputs)
        settings = replace(self._learner.settings, task=known.task)
        return self._learner.add_classes(settings, self._classes.among(known), len(known))

    def _become(self, learner: TextLearner, known: Classes) -> TextClassifier:
        self.__dict__.update(_learner=learner, classes_=known.labels, _classes_given=known.given)
        return self

    @staticmethod
    def _read_labels(y: Any, count: int) -> Array:
        if y is None:
            raise ValueError("y is None; give one class for each text.")
        sets = label_sets(y)
        if sets is not None:
            check_count_of(sets, count)
            return sets
        labels = plain_labels(y)
        if labels.ndim != 1:
            raise ValueError(f"y has shape {labels.shape}; give one class for each text.")
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            row = int(np.argmin(np.isfinite(labels)))
            raise ValueError(f"y of row {row} is {labels[row]}, which is not a class.")
        check_count_of(labels, count)
        return labels

    def _settings(self, outputs: int, several: bool) -> Settings:
        return Settings(
            task="multilabel" if several else class_task(outputs),
            C=self.C,
            metric=self.metric,
            average=self.average,
            multiclass=self.multiclass,
            forgetting=self.forgetting,
            mergeable=self.mergeable,
            memory=self.memory,
            # Rows have unit length: a constant 1 would take half of each step.
            intercept_scaling="auto",
        )

    def _new_learner(
        self, outputs: int, several: bool = False, calibrator: Calibrator | None = None
    ) -> TextLearner:
        check_flag("probability", self.probability)
        if self.probability:
            calibrator = Calibrator.empty(outputs, several)
        return super()._new_learner(outputs, several, calibrator)

    # -- predicting -------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Array:
        """Return the scores: one for each text and two classes, else one for each class."""
        scores = self._scores_of(X)
        return scores.ravel() if scores.shape[1] == 1 else scores[:, : len(self.classes_)]

    def predict(self, X: Any) -> Array:
        """Return the class of each text, or an array of sets of labels."""
        scores = self._scores_of(X)  # raises before anything is learned
        known = self._classes
        return (
            known.decode(scores) if isinstance(known, LabelSets) else decode(known.labels, scores)
        )

    @available_if(check_probability)
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class for each text; those of labels are independent.

        They are fitted to the margins of texts before these were learned.
        """
        check_recorded(self._fitted().calibrator)
        return self._probabilities_of(self._scores_of(X))

    def _probabilities_of(self, scores: Array) -> Array:
        """Return the probability of each class; a softmax if no margins were recorded."""
        learner = self._fitted()
        if learner.calibrator is None:
            return uncalibrated(scores, len(self.classes_), self._several)
        return learner.probabilities(scores)[:, : len(self.classes_)]

    def predict_one(self, x: Any) -> Any:
        """Return the class of one text; None before any class is known."""
        return self.predict([x]).tolist()[0] if self.__sklearn_is_fitted__() else None

    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        """Return the probability of each class for one text; ``{}`` before any class is known.

        Without ``probability=True`` these are a softmax of the scores, which is not calibrated.
        """
        if not self.__sklearn_is_fitted__():
            return {}
        found = self._probabilities_of(self._scores_of([x]))[0].tolist()
        return dict(zip(self.classes_.tolist(), found, strict=True))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy: the share of texts whose class, or set of labels, is right."""
        table = self._table(X)
        right = self.predict(X) == self._read_labels(y, len(table))
        return float(np.average(right, weights=read_weights(sample_weight, len(table), "text")))

    @property
    def n_mistakes_(self) -> int:
        """Number of wrong predictions, each made before its text was learned.

        Each text counts once, whatever its weight. Later passes of ``fit`` are not counted.
        """
        return int(self._fitted().selection.mistakes)
