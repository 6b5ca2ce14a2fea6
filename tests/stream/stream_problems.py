"""Helpers of the stream tests: examples, and the state of a model."""

import copy

import numpy as np

from aggro.stream.selecting import StreamSelection
from aggro.variants import LINEAR, ROWS

CLASSIFIERS = [
    row.name for row in ROWS if row.estimator in LINEAR and not LINEAR[row.estimator].regression
]
REGRESSORS = [
    row.name for row in ROWS if row.estimator in LINEAR and LINEAR[row.estimator].regression
]
AXES = [
    {"average": True},
    {"average": 5},
    {"average": "reservoir", "reservoir_size": 3},
    {"metric": "diagonal", "class_mean": 0.3},
    {"metric": "full", "queue": 3},
    {"class_mean": 0.2, "trigger": "always", "average": True},
    {"multiclass": "ovr", "class_mean": 0.5},
    {"multiclass": "predicted"},
    {"multiclass": "support", "metric": "diagonal", "batch_size": 4},
    {"fit_intercept": False, "loss": "squared_hinge"},
]


def sparse_stream(rows=120, features=12, classes=4, seed=0):
    """Return a matrix with many zeros, labels that follow it with noise, and weights."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, features)) * (random.random((rows, features)) < 0.4)
    labels = (X @ random.normal(size=(features, classes))).argmax(axis=1)
    flipped = random.random(rows) < 0.1
    labels[flipped] = random.integers(classes, size=flipped.sum())
    weights = random.choice([0.0, 0.5, 1.0, 3.0], size=rows)
    return X, labels, weights


def as_dict(row):
    """Return the non-zeros of a row by the names of its columns."""
    return {f"f{j}": float(row[j]) for j in np.flatnonzero(row)}


def learn_rows(model, X, y, weights=None):
    """Learn all rows as dicts."""
    for i, row in enumerate(X):
        model.learn_one(as_dict(row), y[i], 1.0 if weights is None else weights[i])
    return model


def map_of(model):
    """Return the state of the feature map, or an empty dict."""
    selection = model._selection
    maps = selection and selection.learner.representations
    return maps.core.state() if hasattr(maps, "core") else {}


def everything(model):
    """Return the state of a model to compare; capacity for features may differ."""
    names, classes, known, arrays = model._pieces()
    width, facts = model.n_features_in_, [names, classes, model._get_params(), model.examples]
    learners = [known]
    if isinstance(known, StreamSelection):
        selection, learners = known.learner, known.learner.learners
        facts += [known.counters, known.entries, selection.drift, selection.leading]
        facts += [selection.counted, selection.margin_unit, selection.left]
        facts.append({name: array.tolist() for name, array in map_of(model).items()})
    for learner in learners:
        mapped = learner.settings.features != "linear"
        if learner.features < width and not mapped:  # it grows once waiting examples are learned
            learner = copy.deepcopy(learner)
            learner.model.grow(width)
        facts.append(learner.all_settings)
        kinds = learner.model.layout()
        for name, array in learner.state().items():
            if kinds[name] in ("column", "slot", "feature") and not mapped:
                array = array.reshape(learner.features, -1)[: max(width, 1)]
            facts.append((name, array.tolist()))
    if getattr(model, "probability", False):
        record = model._recorded()
        facts += [record.met, record.recent, record.reference, record.next_mean]
        facts += [np.asarray(part).tolist() for part in vars(record.flush()).values()]
    return repr(facts), {name: array.tolist() for name, array in arrays.items()}
