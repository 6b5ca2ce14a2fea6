"""The stream learners: dicts in, predictions out, one example at a time.

They follow river's protocol and need neither river nor scikit-learn.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from aggro.calibration.probability_map import softmax_of_one
from aggro.classes import continued_labels, in_order, output_map
from aggro.learner import Learner
from aggro.stream.base import StreamLearner, rows_of_frame, table_like
from aggro.stream.probability import RecordingStream


class StreamClassifier(RecordingStream):
    """Passive-Aggressive classifier of a stream: features and classes may appear at any time.

    Without arguments it selects C, metric, scale, features and averaging while it learns, as
    ``AutoClassifier`` does. With the name of a variant or a value of C it is a single linear model,
    which learns an example much faster. ``keep_best()`` ends a selection and continues with the
    best candidate alone.

    An example is a dict from names to numbers. A name may be any hashable object, and features that
    a dict does not contain are zero. A string value v of feature k stands for the feature
    ``(k, v)`` with value 1. The first class is learned against a second one that has not appeared
    yet; later classes start with zero weights. Before any class is known, ``predict_one`` returns
    None.

    If each example has any number of labels, give ``learn_one`` a set of them, which may be empty.
    ``predict_one`` then returns a set, and each label is learned independently of the others.

    Parameters
    ----------
    algorithm : str or None, default=None
        Name of a linear classifier in ``aggro.catalogue()``. None selects the settings, or is
        "SPA-I", the rule of ``PassiveAggressiveClassifier()``, if ``C`` is a number.
    C : float, "auto" or None, default=None
        Cost of a violated margin. "auto" selects it. None is "auto" without an algorithm, and 1.0
        with one.
    max_features : int or None, default=None
        Maximum number of features to keep. None means no limit.
    overflow : {"drop", "hash"}, default="drop"
        What happens when ``max_features`` is reached. "drop": a new feature replaces the one that
        has not been learned from for the longest time. "hash": names are hashed into
        ``max_features`` buckets from the start. The hash is the same in every process for names
        that are strings, bytes, numbers or tuples of these.
    random_state : int, RandomState or None, default=0
        Seed for random features and for ``average="reservoir"``; None draws one.
    probability : bool, default=False
        Whether the margin of each example is recorded before it is learned, so that
        ``predict_proba_one`` returns calibrated probabilities.
    **params
        Settings that override those of the variant, as in ``PassiveAggressiveClassifier``:
        ``loss``, ``multiclass``, ``metric``, ``scale``, ``class_mean``, ``queue``, ``average``,
        ``batch_size``, ``memory`` and others; ``metric`` and ``scale`` may be "auto". ``features``
        has the values of ``AutoClassifier``, and is "auto" if all settings are selected; names are
        the columns, in the order of their appearance. It is "linear" if names are hashed, or
        ``max_features`` is at most 300. With ``batch_size`` above 1, examples wait until their
        batch is full; ``flush`` learns them at once.

    Examples
    --------
    >>> from aggro import StreamClassifier
    >>> model = StreamClassifier("PA-I")
    >>> model.learn_one({"free": 1.0, "money": 2.0}, "spam")
    >>> model.learn_one({"meeting": 1.0}, "ham")
    >>> model.learn_one({"money": 1.0}, "spam")
    >>> model.predict_one({"money": 1.0})
    'spam'

    References
    ----------
    Crammer, Dekel, Keshet, Shalev-Shwartz, Singer: Online Passive-Aggressive Algorithms,
    JMLR 7 (2006).
    """

    _river_base = "MiniBatchClassifier"

    def __init__(
        self,
        algorithm: str | None = None,
        *,
        C: float | str | None = None,
        max_features: int | None = None,
        overflow: str = "drop",
        random_state: Any = 0,
        probability: bool = False,
        **params: Any,
    ) -> None:
        super().__init__(algorithm, C, max_features, overflow, random_state, params)
        self._begin_record(probability)

    @property
    def classes_(self) -> list[Any]:
        """The classes seen so far: sorted, or in order of appearance where they have no order."""
        return list(self._classes())

    def score_one(self, x: Any) -> Any:
        """Return the margin of each class or label; for two classes that of the second."""
        classes, margins = self._margins(x)
        if len(classes) == 2 and not self._several:
            return margins[0]
        return dict(zip(classes, margins, strict=False))

    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        """Return the probability of each class; without ``probability=True`` by a softmax.

        Classes are equally probable before anything is learned of them.
        """
        if self.probability:
            return self._calibrated(x)
        classes, margins = self._margins(x)
        if self._several:
            return {c: softmax_of_one([m])[1] for c, m in zip(classes, margins, strict=False)}
        shares = softmax_of_one(margins) if len(classes) > 1 else [1.0]
        return dict(zip(classes, shares, strict=False))

    def predict_proba_many(self, X: Any) -> Any:
        """Return a table with one column of probabilities for each class."""
        return table_like(X, [self.predict_proba_one(x) for x in rows_of_frame(X)])

    @property
    def coef_(self) -> dict[Any, dict[Any, float]]:
        """The weights of each class by feature; for two classes those of the second."""
        classes, columns, _ = self._columns()
        return dict(zip(self._owners(classes), columns, strict=False))

    @property
    def intercept_(self) -> dict[Any, float]:
        """The intercept of each class; for two classes that of the second."""
        classes, _, intercepts = self._columns()
        return dict(zip(self._owners(classes), intercepts, strict=False))

    def _owners(self, classes: list[Any]) -> list[Any]:
        """Return the class that each output stands for."""
        return classes[1:] if len(classes) == 2 and not self._several else classes

    def _add_class(self, label: Any) -> None:
        """Add a class that was never seen; the core calls this before it learns the example."""
        check_label(label)
        classes = self.classes_
        if not classes:
            self._add_first_class(label)
            return
        combined = in_order([*classes, label])
        places = {known: place for place, known in enumerate(combined)}
        position = [places[known] for known in classes]
        if self._selection is not None:
            self._grow_selection(combined, position)
            return
        count = len(combined)
        settings = self._settings(len(classes)), self._settings(count)
        change = output_map(*settings, np.array(position), count)
        blueprint = self._blueprint(Learner(settings[1], 1, count), self._slots)
        self._add_classes(combined, position, change.ravel().tolist(), *blueprint)

    def _add_labels(self, labels: set[Any]) -> None:
        """Add the labels of a set that were never seen; the core calls this as above."""
        for label in labels:
            check_label(label)
        if not self._several:
            self._continue_with([], self._untrained(self._settings_of("multilabel")))
        classes = self.classes_
        combined = in_order([*classes, *labels])
        if len(combined) == len(classes):  # none
            return
        outputs = continued_labels(classes, combined)
        if self._selection is not None:
            self._relabel_selection(combined, outputs)
            return
        blueprint = self._blueprint(Learner(self._settings(0), 1, len(outputs)), self._slots)
        self._widen_labels(combined, outputs, *blueprint)


def check_label(label: Any) -> None:
    """Raise unless a label is that of a class."""
    if label is None or label != label:
        raise ValueError(f"y is {label!r}; give a class.")


class StreamRegressor(StreamLearner):
    """Passive-Aggressive regressor of a stream: features may appear at any time.

    Without arguments it selects its own settings while it learns, as ``AutoRegressor`` does; with
    the name of a variant or a value of C it is a single model. Examples are dicts as for
    ``StreamClassifier``. Before anything is learned, ``predict_one`` returns 0.

    Parameters
    ----------
    algorithm : str or None, default=None
        Name of a linear regressor in ``aggro.catalogue()``. None selects the settings, or is
        "PAR-I" if ``C`` is a number.
    C : float, "auto" or None, default=None
        Cost of an error outside the tube, as in ``StreamClassifier``.
    max_features, overflow, random_state
        As in ``StreamClassifier``.
    **params
        Settings that override those of the variant, as in ``PassiveAggressiveRegressor``:
        ``criterion``, ``loss``, ``epsilon``, ``metric``, ``features``, ``queue``, ``average``,
        ``batch_size`` and others.

    Examples
    --------
    >>> from aggro import StreamRegressor
    >>> model = StreamRegressor("PAR", epsilon=0.0)
    >>> model.learn_one({"width": 3.0}, 30.0)
    >>> model.predict_one({"width": 3.0})
    30.0

    References
    ----------
    Crammer, Dekel, Keshet, Shalev-Shwartz, Singer: Online Passive-Aggressive Algorithms,
    JMLR 7 (2006).
    """

    _regression = True
    _river_base = "MiniBatchRegressor"

    def __init__(
        self,
        algorithm: str | None = None,
        *,
        C: float | str | None = None,
        max_features: int | None = None,
        overflow: str = "drop",
        random_state: Any = 0,
        **params: Any,
    ) -> None:
        super().__init__(algorithm, C, max_features, overflow, random_state, params)

    def score_one(self, x: Any) -> float:
        """Return the predicted number, as ``predict_one`` does."""
        return float(self.predict_one(x))

    @property
    def coef_(self) -> dict[Any, float]:
        """The weight of each feature."""
        return self._columns()[1][0]

    @property
    def intercept_(self) -> float:
        """The intercept."""
        return self._columns()[2][0]
