"""Study of forgetting in changing streams: progressive errors.

``python -m studies.accuracy.drift`` writes the tables and the picture of docs/studies/drift.md. It
takes about two minutes and needs the data set electricity (see ``aggro.datasets``) and river.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np

from aggro import PassiveAggressiveClassifier, datasets
from aggro.selection.selection import ModelSelection
from aggro.variants import ESTIMATORS

ROWS, FEATURES, NOISE, SEEDS = 30_000, 20, 0.05, 5
WINDOW = 500  # rows per point of the figure
FORGETTING = (0.0, 0.0003, 0.001, 0.003, 0.01, 0.03)
LATE = 16  # scikit-learn learns generated streams in chunks, since row by row takes minutes

EVERYTHING = 'everything "auto"'
# Parts that forget: precisions, class means, records of model selection.
OURS: dict[str, dict[str, Any]] = {
    EVERYTHING: dict(ESTIMATORS["AutoClassifier"].fixed),
    'metric="diagonal", C="auto"': {"metric": "diagonal", "C": "auto"},
    'metric="diagonal", C=0.1': {"metric": "diagonal", "C": 0.1},
    'class_mean=0.1, C="auto"': {"class_mean": 0.1, "C": "auto"},
    'metric="diagonal", C="auto", average="auto"': {
        "metric": "diagonal",
        "C": "auto",
        "average": "auto",
    },
}


@dataclass
class Stream:
    """Rows in time order, and the delay of labels for slow learners."""

    X: np.ndarray
    y: np.ndarray
    late: int = 1


def generated(seed: int, turns: Callable[[np.ndarray], np.ndarray]) -> Stream:
    """Rows labelled by a hyperplane whose angle in a random plane is a function of time."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(ROWS, FEATURES))
    plane, _ = np.linalg.qr(rng.normal(size=(FEATURES, 2)))
    angle = turns(np.arange(ROWS) / ROWS) * 2 * np.pi
    along = X @ plane
    y = (along[:, 0] * np.cos(angle) + along[:, 1] * np.sin(angle) > 0).astype(int)
    return Stream(X, np.where(rng.random(ROWS) < NOISE, 1 - y, y), LATE)


def electricity(seed: int) -> Stream:
    """Return whether the cost of electricity rises, in time order."""
    data = datasets.load("electricity")
    return Stream(np.ascontiguousarray(data.X), np.unique(data.y, return_inverse=True)[1])


STREAMS: dict[str, tuple[int, Callable[[int], Stream]]] = {
    "steady": (SEEDS, lambda seed: generated(seed, np.zeros_like)),
    # by a third of a turn, at one third and at two thirds of the time
    "abrupt": (SEEDS, lambda seed: generated(seed, lambda time: np.floor(3 * time) / 3)),
    "gradual": (SEEDS, lambda seed: generated(seed, lambda time: time)),  # one turn
    "electricity": (1, electricity),
}


# -- the learners: mistakes in each window ---------------------------------------------------------


def windows(count: int) -> Iterator[slice]:
    """Yield the windows of the figure."""
    for start in range(0, count, WINDOW):
        yield slice(start, min(start + WINDOW, count))


def learn(stream: Stream, **params: Any) -> np.ndarray:
    """Return the progressive mistakes of aggro."""
    params = {"average": False, **params}  # default: last weights
    model, seen = PassiveAggressiveClassifier(random_state=0, **params), [0]
    for part in windows(len(stream.y)):
        model.partial_fit(stream.X[part], stream.y[part], classes=[0, 1])
        seen.append(model.n_mistakes_)
    return np.diff(seen)


def learn_without_restarts(stream: Stream) -> np.ndarray:
    """Return the mistakes of aggro with defaults, without restarts of the selection."""
    with mock.patch.object(ModelSelection, "_restart_if_due", lambda *_: None):
        return learn(stream, **OURS[EVERYTHING])


def _mistakes(stream: Stream, predicted: np.ndarray) -> np.ndarray:
    wrong = predicted != stream.y
    return np.array([wrong[part].sum() for part in windows(len(wrong))])


def river(stream: Stream, make: Callable[[Any], Any]) -> np.ndarray:
    """Return the mistakes of a model of river behind a running scaler."""
    from river import linear_model, preprocessing

    model = preprocessing.StandardScaler() | make(linear_model)
    predicted = np.zeros(len(stream.y), bool)
    for i, (row, answer) in enumerate(zip(stream.X.tolist(), stream.y == 1, strict=True)):
        x = dict(enumerate(row))
        predicted[i] = bool(model.predict_one(x))
        model.learn_one(x, bool(answer))
    return _mistakes(stream, predicted)


def sgd(stream: Stream, **params: Any) -> np.ndarray:
    """Return the mistakes of scikit-learn's gradient descent."""
    from sklearn import config_context
    from sklearn.linear_model import SGDClassifier

    model, predicted = SGDClassifier(random_state=0, **params), np.zeros(len(stream.y), int)
    with config_context(assume_finite=True, skip_parameter_validation=True):
        for start in range(0, len(predicted), stream.late):
            part = slice(start, start + stream.late)
            if start:  # model.predict without validation
                scores = stream.X[part] @ model.coef_[0] + model.intercept_[0]
                predicted[part] = scores > 0
            model.partial_fit(stream.X[part], stream.y[part], None if start else [0, 1])
    return _mistakes(stream, predicted)


ONCE = "aggro, no drift detection"
PEERS: dict[str, Callable[[Stream], np.ndarray]] = {
    ONCE: learn_without_restarts,
    "river PAClassifier": lambda s: river(s, lambda models: models.PAClassifier()),
    "river LogisticRegression": lambda s: river(s, lambda models: models.LogisticRegression()),
    "scikit-learn SGD": sgd,
    "scikit-learn SGD, constant rate 0.01": lambda s: sgd(s, learning_rate="constant", eta0=0.01),
}
Results = dict[tuple[str, str, float], np.ndarray]  # mistakes: seeds x windows


def study() -> Results:
    """Run all learners on all streams."""
    found: Results = {}
    for name, (seeds, make) in STREAMS.items():
        streams = [make(seed) for seed in range(seeds)]
        for label, params in OURS.items():
            for share in FORGETTING:
                runs = [learn(each, forgetting=share, **params) for each in streams]
                found[name, label, share] = np.array(runs)
        for label, run in PEERS.items():
            found[name, label, 0.0] = np.array([run(each) for each in streams])
    return found


if __name__ == "__main__":
    from studies.accuracy.drift_report import write

    write(study())
