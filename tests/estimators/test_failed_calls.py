"""Random sequences of calls with and without failing ones give bitwise equal models."""

import copy
import pickle

import numpy as np
import pytest
from estimator_support import CLASSIFIERS, REGRESSORS, ROWS, knowledge, targets_for

import aggro

AXES = {
    aggro.PassiveAggressiveClassifier: [
        {},
        {"C": "auto"},
        {"C": "auto", "average": "auto", "probability": True},
        {"class_mean": 0.2, "average": True, "trigger": "always"},
        {"queue": 2, "metric": "diagonal", "multiclass": "ovr", "forgetting": 0.01},
        {"average": "reservoir", "class_mean": 0.2, "batch_size": 4},
        {"scale": "standard", "metric": "full", "class_weight": "balanced"},
        {"probability": True, "average": 3},
    ],
    aggro.PassiveAggressiveRegressor: [
        {},
        {"C": "auto"},
        {"scale": "online", "average": True, "relative_epsilon": True},
    ],
    aggro.KernelPassiveAggressiveClassifier: [
        {},
        {"budget": 12, "budget_strategy": "projection", "average": True},
        {"probability": True, "batch_size": 3},
    ],
    aggro.KernelPassiveAggressiveRegressor: [{}, {"budget": 10, "fit_intercept": False}],
}
MODELS = [
    cls(**axes, random_state=0)
    for cls in (*CLASSIFIERS, *REGRESSORS)
    for axes in AXES.get(cls, [{}])
]
VALUES = {"C": (1e-6, 0.1, 1.0), "r": (0.1, 5.0), "eta": (0.6, 0.95), "epsilon": (0.0, 0.5)}
SHAPES = {"fit_intercept": False, "average": 7, "queue": 5, "class_mean": 0.7, "scale": "online",
          "metric": "diagonal", "budget": 3, "gamma": 3.0, "multiclass": "ovr"}  # fmt: skip


class Pair:
    """An estimator, and a copy without failing calls."""

    def __init__(self, model, seed, folder):
        self.random = np.random.default_rng(seed)
        self.model, self.unharmed = copy.deepcopy(model), copy.deepcopy(model)
        self.targets, self.file = targets_for(type(model)), folder / "model"

    def rows(self, largest=8):
        some = self.random.integers(0, len(ROWS), self.random.integers(1, largest))
        weights = self.random.choice([0.0, 0.5, 1.0], len(some), p=[0.2, 0.2, 0.6])
        weights[0] = 1.0
        return ROWS[some].copy(), self.targets[some].copy(), weights

    def both(self, act):
        act(self.model)
        act(self.unharmed)

    # -- calls of both --

    def change_a_value(self):
        names = VALUES.keys() & self.model.get_params().keys()
        if names and self.model.get_params().get("C") != "auto":
            name = sorted(names)[self.random.integers(len(names))]
            value = self.random.choice(VALUES[name])
            self.both(lambda model: model.set_params(**{name: float(value)}))

    def learn(self):
        X, y, weights = self.rows()
        if type(self.model) in CLASSIFIERS and self.random.random() < 0.2:
            y[0] = self.random.integers(0, 6)  # possibly a new class
        self.both(lambda model: model.partial_fit(X, y, sample_weight=weights))

    # -- failing calls --

    def copy(self):
        self.model = pickle.loads(pickle.dumps(self.model))

    def save_and_load(self):
        aggro.save(self.model, self.file)
        self.model = aggro.load(self.file)

    def reject_a_row(self):
        """With other parameters, and possibly a new class."""
        X, y, weights = self.rows(largest=60)
        X[-1, 1], weights[-1] = np.nan, 1.0
        if type(self.model) in CLASSIFIERS and self.random.random() < 0.5:
            y[0] = 9
        before = self.model.get_params()
        for name in VALUES.keys() & before.keys():
            if before[name] != "auto":
                self.model.set_params(**{name: float(self.random.choice(VALUES[name]))})
        self.rejects(X, y, sample_weight=weights)
        if self.random.random() < 0.5:
            self.copy()
        self.model.set_params(**before)

    def reject_a_parameter(self):
        before = self.model.get_params()
        names = sorted(SHAPES.keys() & before.keys())
        name = names[self.random.integers(len(names))]
        if before[name] == SHAPES[name] or not hasattr(self.model, "_learner"):
            return
        if name == "class_mean" and before[name] > 0:  # must stay a number once there is a pull
            return
        if name == "multiclass" and len(self.model.classes_) == 2:
            return
        self.model.set_params(**{name: SHAPES[name]})
        X, y, weights = self.rows()
        self.rejects(X, y, sample_weight=weights)
        self.model.set_params(**before)

    def reject_targets(self):
        X, y, weights = self.rows()
        self.rejects(X, y[1:])
        self.rejects(X, np.full(len(y), "text" if y.dtype.kind in "if" else 1))
        self.rejects(X, y, sample_weight=-weights)
        self.rejects(X[:, :3], y)

    def rejects(self, *batch, **more):
        if not hasattr(self.model, "_learner"):
            return
        with pytest.raises(ValueError):
            self.model.partial_fit(*batch, **more)


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_failed_calls_change_nothing(model, seed, tmp_path):
    pair = Pair(model, seed, tmp_path)
    harmless = [pair.copy, pair.save_and_load, pair.reject_a_row]
    harmless += [pair.reject_a_parameter, pair.reject_targets]
    pair.learn()
    for _ in range(25):
        act = pair.random.choice(
            [pair.learn, pair.learn, pair.change_a_value, *harmless, *harmless]
        )
        act()
        assert knowledge(pair.model) == knowledge(pair.unharmed), act.__name__
    assert np.array_equal(pair.model.predict(ROWS), pair.unharmed.predict(ROWS))


class Fails(Exception):
    """Raised by a failing kernel of the caller."""


@pytest.mark.parametrize("batch_size", [1, 3])
def test_kernel_rejects_invalid_rows(batch_size):
    """Rejected by the core or by the caller's kernel: ids and parameters are unchanged."""

    def fragile(A, B):
        if max(np.abs(A).max(), np.abs(B).max()) > 1e3:
            raise Fails
        return A @ B.T

    huge = ROWS.copy()
    huge[100] = 1e200
    for kernel, error in (("linear", ValueError), (fragile, Fails)):
        model, unharmed = (
            aggro.KernelPassiveAggressiveClassifier(
                kernel=kernel, batch_size=batch_size
            ).partial_fit(ROWS[:50], targets_for(None)[:50])
            for _ in range(2)
        )
        before = knowledge(model)
        with pytest.raises(error):
            model.set_params(C=0.01).partial_fit(huge, targets_for(None))
        assert knowledge(model.set_params(C=1.0)) == before
        for each in (model, unharmed):
            each.partial_fit(ROWS[50:], targets_for(None)[50:])
        assert knowledge(model) == knowledge(unharmed)
