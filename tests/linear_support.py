"""Helpers for tests of the linear learner: problems, learners, storage formats, states."""

import copy
import functools
import itertools
import pickle

import numpy as np
import scipy.sparse as sp

from aggro import settings as table
from aggro.checks import Flag
from aggro.learner import Learner, rows_of
from aggro.reference import ReferenceLearner
from aggro.reference.task import batches
from aggro.settings import Settings, are_compatible, memory_of

CLASS_LOSSES = ("hinge", "squared_hinge", "hard", "least_squares")
NUMBER_LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive", "hard", "least_squares")

# name: (task, outputs, multiclass)
CASES = {
    "binary": ("binary", 1, "support"),
    "support": ("multiclass", 4, "support"),
    "top": ("multiclass", 4, "top"),
    "predicted": ("multiclass", 4, "predicted"),
    "ovr": ("multiclass", 3, "ovr"),
    "multilabel": ("multilabel", 3, "support"),
    "regression": ("regression", 1, "support"),
    "regressions": ("regression", 3, "support"),
}
STORAGES = ("dense", "csr32", "csr64")
SHAPES = [  # one of each kind of weight table
    {},
    {"metric": "diagonal"},
    {"metric": "full"},
    {"average": True},
    {"average": "reservoir", "reservoir_size": 3},
    {"queue": 3},
    {"class_mean": 0.2, "forgetting": 0.01},
]


def stored(X, storage="dense", dtype=np.float64):
    """Return the matrix in a storage format: dense or CSR."""
    X = np.ascontiguousarray(X, dtype=dtype)
    if storage == "dense":
        return X
    csr = sp.csr_array(X)
    wide = np.int64 if storage == "csr64" else np.int32
    csr.indices, csr.indptr = csr.indices.astype(wide), csr.indptr.astype(wide)
    return csr


def make_problem(task, outputs, rng, n=40, d=7, density=0.6, noise=0.5):
    """Return noisy linear data: X, and labels 0..K-1, -1/+1 indicators or numbers."""
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < density)
    X[n // 3] = 0  # a row of zeros
    S = X @ rng.standard_normal((outputs, d)).T + noise * rng.standard_normal((n, outputs))
    if task == "binary":
        return X, (S[:, 0] > 0.3).astype(np.int64)
    if task == "multiclass":
        return X, S.argmax(axis=1)
    return X, np.where(S > 0, 1.0, -1.0) if task == "multilabel" else S


def make_learner(settings, features, outputs, dtype=np.float64, seed=0):
    return Learner(settings, features, 2 if settings.task == "binary" else outputs, dtype, seed)


def train(learner, X, y, weights=None, order=None):
    """Learn rows with labels or values, depending on the task."""
    y = np.asarray(y)
    if learner.settings.task in ("binary", "multiclass"):
        target = {"labels": y.astype(np.int64)}
    else:
        target = {"values": np.ascontiguousarray(y, dtype=np.float64).reshape(len(y), -1)}
    if weights is not None:
        weights = np.asarray(weights, dtype=np.float64)
    learner.learn(rows_of(X), weights=weights, order=order, **target)
    return learner


def trained(X, y, outputs=1, weights=None, storage="dense", dtype=np.float64, **settings):
    """Return a learner that has learned X and y in one pass."""
    learner = make_learner(Settings(**settings), X.shape[1], outputs, dtype)
    return train(learner, stored(X, storage, dtype), y, weights)


def reference_of(settings, features, outputs):
    """Return the NumPy reference for these settings."""
    known = settings.__dataclass_fields__.keys() & ReferenceLearner.__dataclass_fields__.keys()
    axes = {name: getattr(settings, name) for name in known}
    axes["memory"] = memory_of(settings)
    return ReferenceLearner(n_features=features, n_outputs=outputs, **axes)


def reference_targets(task, y):
    return 2 * np.asarray(y) - 1 if task == "binary" else np.asarray(y)


def train_reference(reference, X, y, weights):
    """Train the reference; return its mistakes, counted as the learner counts them."""
    targets, joint = reference_targets(reference.task, y), 0
    if reference.task == "regression" and reference.n_outputs == 1:
        targets = targets[:, 0]
    for some in batches(weights, reference.batch_size):
        scaler = copy.deepcopy(reference.scaler)
        rows = reference._rows([scaler.learn(row) for row in X[some]])
        scores = np.hstack([rows @ group.predictor().T for group in reference.groups])
        if reference.task == "multilabel":
            joint += int(np.any((scores > 0) != (targets[some] > 0), axis=1).sum())
        elif reference.task == "multiclass" and reference.multiclass == "ovr":
            joint += int((scores.argmax(axis=1) != targets[some]).sum())
        reference.learn_batch(X[some], targets[some], weights[some])
    votes = reference.task == "multilabel" or (
        reference.task == "multiclass" and not reference.coupled
    )
    return joint if votes else reference.n_mistakes


def covering_rows(axes, strength, allowed, rng, candidates=20):
    """Return a covering array: rows with every allowed combination of ``strength`` axes."""
    names = list(axes)
    todo = {
        tuple(zip(group, values, strict=True))
        for group in itertools.combinations(names, strength)
        for values in itertools.product(*(axes[name] for name in group))
        if allowed(dict(zip(group, values, strict=True)))
    }

    def complete(part):
        while True:
            row = {name: axes[name][rng.integers(len(axes[name]))] for name in names} | dict(part)
            if allowed(row):
                return row

    def combinations_in(row):
        return {
            tuple((name, row[name]) for name in group)
            for group in itertools.combinations(names, strength)
        }

    rows = []
    while todo:
        seeds = sorted(todo, key=str)
        tries = [complete(seeds[rng.integers(len(seeds))]) for _ in range(candidates)]
        best = max(tries, key=lambda row: len(combinations_in(row) & todo))
        rows.append(best)
        todo -= combinations_in(best)
    return rows


def same_state(a, b):
    """Return True if the states of two learners are bitwise equal."""
    one, two = a.state(), b.state()
    return one.keys() == two.keys() and all(
        one[name].tobytes() == two[name].tobytes() for name in one
    )


def fingerprint(estimator):
    """Return the complete state of an estimator, to compare it before and after a call."""
    if not hasattr(estimator, "_learner"):
        return sorted(vars(estimator))
    state = {name: array.tobytes() for name, array in estimator._learner.state().items()}
    shown = {name: np.array(getattr(estimator, name)) for name in ("coef_", "intercept_")}
    counts = [getattr(estimator, name) for name in ("t_", "n_mistakes_", "n_updates_", "n_iter_")]
    classes = np.array(getattr(estimator, "classes_", [])).tolist()
    others = sorted(set(vars(estimator)))
    return (
        state,
        {name: value.tobytes() for name, value in shown.items()},
        counts,
        estimator.cumulative_loss_,
        classes,
        others,
        pickle.loads(pickle.dumps(estimator))._learner.settings,
    )


# Values to test besides the default, for axes whose kind does not list its values.
SAMPLES = {
    "class_mean": (0.3,),
    "queue": (3,),
    "batch_size": (4,),
    "average": (True, 10, "auto"),
    "intercept_scaling": ("auto", 0.3),
    "forgetting": (0.05,),
}
# Axes that are covered by CASES, by the index of the loss, or by separate tests.
ELSEWHERE = {
    "loss",
    "multiclass",
    "C",
    "epsilon",
    "r",
    "eta",
    "reservoir_size",
    "features",
    "mergeable",
    "memory",
}


def values_of(name):
    """Return the values of an axis to combine: the default, all words and some numbers."""
    kind, default = table.AXES[name].kind, table.DEFAULTS[name]
    words = tuple(word for word in getattr(kind, "words", ()) if word != "auto")
    flags = (True, False) if isinstance(kind, Flag) else ()
    values = dict.fromkeys((default, *SAMPLES.get(name, ()), *words, *flags))
    assert len(values) > 1, f"the axis {name} needs values to be tested with: see SAMPLES"
    return tuple(values)


# Every axis of the linear learner, and the storage of its rows; a case is a task and its outputs.
ADAPTIVE_AXES = {
    "case": tuple(CASES),
    "loss": (0, 1, 2, 3),
    **{name: values_of(name) for name in table.AXES if name not in ELSEWHERE},
    "weighted": (False, True),
    "storage": STORAGES,
    "dtype": ("float64", "float32"),
}
AXES = {k: v for k, v in ADAPTIVE_AXES.items() if k != "relative_epsilon"}  # for regression only
PLAIN = {name: AXES[name][0] for name in AXES if name not in ("case", "loss", "storage", "dtype")}


def settings_of(row):
    """Return the settings and the number of outputs for one value of each axis."""
    task, outputs, multiclass = CASES[row["case"]]
    names = (NUMBER_LOSSES if task == "regression" else CLASS_LOSSES)[row["loss"]]
    axes = {name: row[name] for name in row.keys() & Settings.__dataclass_fields__.keys()}
    more = {**axes, "task": task, "multiclass": multiclass, "loss": names}
    return Settings(C=0.4, epsilon=0.1, **more), outputs


def allowed(part):
    """Return whether a combination of values is valid."""
    if part.get("metric") == "full" and part.get("forgetting", 0) > 0:
        return False
    if part.get("metric") == "newton" and part.get("loss") == CLASS_LOSSES.index("hard"):
        return False
    if "case" not in part:
        return True
    settings, _ = settings_of({"loss": 0, **part})
    return are_compatible(settings)


@functools.cache
def cover():
    """Return rows that cover every allowed triple of values."""
    return covering_rows(AXES, 3, allowed, np.random.default_rng(5))
