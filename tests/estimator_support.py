"""Helpers for tests of all estimators: instances, data, and fitted states."""

import dataclasses

import numpy as np
import sklearn
from sklearn import linear_model

import aggro
from aggro.calibration.calibrator import Calibrator
from aggro.calibration.recorder import Recorder
from aggro.classes import Classes
from aggro.learner import Learner
from aggro.reference_row import ReferenceRow

RNG = np.random.default_rng(83)
ROWS = RNG.standard_normal((120, 4))
DIRECTIONS = RNG.standard_normal((4, 3))
CLASSES = (ROWS @ DIRECTIONS).argmax(axis=1)
VALUES = ROWS @ DIRECTIONS[:, 0] + RNG.standard_normal(120)
LABELS = (ROWS @ DIRECTIONS[:, :2] > 0).astype(int)

CLASSIFIERS = (
    aggro.PassiveAggressiveClassifier,
    aggro.AROWClassifier,
    aggro.ConfidenceWeightedClassifier,
    aggro.SoftConfidenceWeightedClassifier,
    aggro.Perceptron,
    aggro.KernelPassiveAggressiveClassifier,
)
REGRESSORS = (
    aggro.PassiveAggressiveRegressor,
    aggro.AROWRegressor,
    aggro.KernelPassiveAggressiveRegressor,
)
KERNELS = (aggro.KernelPassiveAggressiveClassifier, aggro.KernelPassiveAggressiveRegressor)


def targets_for(cls):
    """Return targets that an estimator of this class can learn."""
    return VALUES if cls in REGRESSORS else CLASSES


def knowledge(model):
    """Return the complete state of an estimator, parameters included, for exact comparison."""
    known = {name: _plain(value) for name, value in vars(model).items() if name != "_fitted"}
    if hasattr(model, "_learner"):
        aside = ("learner", "parameters")  # copies of the learner's settings
        fitted = getattr(model, "_fitted", None)
        if dataclasses.is_dataclass(fitted):
            known |= {k: _plain(v) for k, v in vars(fitted).items() if k not in aside}
        known["_learner"] = _learned(model._learner)
        known["progress"] = (model.t_, model.n_mistakes_, model.n_updates_, model.cumulative_loss_)
    return known


def _learned(learner):
    if isinstance(learner, Learner):
        return learner.all_settings, _plain(learner.state())
    if hasattr(learner, "learners"):
        facts = {k: _plain(v) for k, v in vars(learner).items() if k not in ("learners", "turns")}
        return facts, [_learned(each) for each in learner.learners]
    return _plain(learner.__getstate__())


def _plain(value):
    if isinstance(value, np.ndarray):
        numbers = value.tolist() if value.dtype == object else value.tobytes()
        return value.dtype.str, value.shape, numbers
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, Classes):
        return _plain(value.labels), value.given
    return _plain(vars(value)) if isinstance(value, (Calibrator, Recorder, ReferenceRow)) else value


def sklearn_pa(kind, rule, C, **common):
    """Return scikit-learn's estimator for "pa1" or "pa2", in any version."""
    version = tuple(map(int, sklearn.__version__.split(".")[:2]))
    loss = {"Classifier": "hinge", "Regressor": "epsilon_insensitive"}[kind]
    if version < (1, 8):  # SGD has no parameter for C yet
        named = loss if rule == "pa1" else f"squared_{loss}"
        return getattr(linear_model, f"PassiveAggressive{kind}")(C=C, loss=named, **common)
    sgd = {"loss": loss, "learning_rate": rule, "eta0": C, "penalty": None}
    return getattr(linear_model, f"SGD{kind}")(**sgd, **common)
