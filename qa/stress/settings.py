"""An estimator and its parameters: any variant of the catalogue, with any combination of axes."""

from dataclasses import dataclass
from inspect import signature

import numpy as np
from linear_support import ADAPTIVE_AXES, CASES

import aggro
from aggro.settings import FEATURES, SELECTABLE, Settings, check_settings
from aggro.variants import ROWS, losses_of

UNDRAWN = ("case", "loss")
# The values of every parameter: of the axes, and of parameters of some learners.
VALUES = {
    **{name: values for name, values in ADAPTIVE_AXES.items() if name not in UNDRAWN},
    "features": (*FEATURES, "auto"),
    "reservoir_size": (1, 3, 16),
    "C": (0.01, 0.4, 5.0, np.inf),
    "epsilon": (0.0, 0.1, 1.0),
    "multiclass": ("support", "top", "predicted", "ovr"),
    "r": (0.3, 1.0, 10.0),
    "eta": (0.5, 0.7, 0.95),
    "n_jobs": (None, 2),
    "probability": (False, True),
    "kernel": ("rbf", "poly", "linear", "sigmoid"),
    "gamma": (0.1, 1.0),
    "degree": (1, 2),
    "coef0": (0.0, 0.5),
    "budget": (None, 4, 9),
    "budget_strategy": ("simple", "nearest", "projection", "oldest"),
    "max_features": (None, 13, 100),
    "overflow": ("drop", "hash"),
}
STREAM_ONLY = ("max_features", "overflow")
CHANGES = 4  # mean number of parameters that differ from the variant's
AUTO = 0.08  # share of the cases with an estimator that selects all of its settings
SELECTING = 0.25  # share of the cases with model selection


@dataclass(frozen=True)
class Setting:
    """The class of a learner, its parameters, and the task that it learns."""

    name: str
    params: dict
    task: str
    outputs: int

    @property
    def is_stream(self):
        return self.name.startswith("Stream")

    @property
    def is_kernel(self):
        return self.name.startswith("Kernel")

    @property
    def selects(self):
        """Whether parameters are chosen by model selection."""
        if self.name.startswith("Auto"):
            return True
        return any(self.params.get(name) == "auto" for name in SELECTABLE)

    @property
    def maps_features(self):
        """Whether rows may be learned as non-linear features of their columns."""
        default = signature(getattr(aggro, self.name)).parameters.get("features")
        linear = default is None or self.params.get("features", default.default) == "linear"
        return not linear

    @property
    def batch_size(self):
        return self.params.get("batch_size", 1)

    @property
    def is_narrow(self):
        """Return whether a batch may have more features than the stream may store."""
        return bool(self.params.get("max_features")) and self.batch_size > 1

    @property
    def classes(self):
        """The number of classes, 0 where targets are not classes."""
        return {"binary": 2, "multiclass": self.outputs}.get(self.task, 0)

    def has(self, name):
        """Whether the learner has a parameter of this name."""
        return name in signature(getattr(aggro, self.name)).parameters

    def make(self, **params):
        return getattr(aggro, self.name)(**{**self.params, **params})

    def __str__(self):
        shown = ", ".join(f"{name}={value!r}" for name, value in sorted(self.params.items()))
        return f"{self.name}({shown})"


def compose(rng):
    """Return a setting that the library accepts."""
    while True:
        setting = _draw(rng)
        if is_accepted(setting):
            return setting


def _draw(rng):
    if rng.random() < AUTO:
        return _draw_auto(rng)
    row = ROWS[rng.integers(len(ROWS))]
    regression = row.estimator.endswith("Regressor")
    kinds = [c for c in CASES.values() if (c[0] == "regression") == regression]
    task, outputs, multiclass = kinds[rng.integers(len(kinds))]
    params = dict(row.params)
    if "multiclass" in params:
        params["multiclass"] = multiclass
    name = row.estimator
    linear = not name.startswith("Kernel")
    single = task != "regression" or outputs == 1
    if linear and single and rng.random() < 0.3:
        name = "StreamRegressor" if regression else "StreamClassifier"
        params["algorithm"] = row.name
    known = _parameters(name, row.estimator)
    for each in known:
        if rng.random() < CHANGES / len(known):
            params[each] = _pick(rng, VALUES[each])
    if linear and rng.random() < SELECTING:
        for each in _selectable(known):
            if rng.random() < 0.6:
                params[each] = "auto"
        if "batch_size" in known and rng.random() < 0.2:
            params["batch_size"] = 4
    if not linear:
        params.setdefault("gamma", 0.5)  # "scale" depends on the first call
    if "random_state" in signature(getattr(aggro, name)).parameters:
        params["random_state"] = int(rng.integers(100))
    return Setting(name, params, task, outputs)


def _draw_auto(rng):
    """Return an estimator that selects all of its settings."""
    task, outputs, _ = list(CASES.values())[rng.integers(len(CASES))]
    name = "AutoRegressor" if task == "regression" else "AutoClassifier"
    params = {
        each: _pick(rng, VALUES[each])
        for each in ("features", "fit_intercept", "n_jobs", "probability")
        if each in signature(getattr(aggro, name)).parameters and rng.random() < 0.3
    }
    params["random_state"] = int(rng.integers(100))
    return Setting(name, params, task, outputs)


def _parameters(name, estimator):
    """Return the parameters of a learner with several values."""
    own = signature(getattr(aggro, estimator)).parameters
    if name == estimator:
        return [each for each in own if each in VALUES]
    settings = own.keys() & Settings.__dataclass_fields__.keys() & VALUES.keys()
    regression = name.endswith("Regressor")
    return [*sorted(settings), *STREAM_ONLY, *([] if regression else ["probability"])]


def _selectable(known):
    """Return the parameters that may be "auto"."""
    return [each for each in SELECTABLE if each in known]


def _pick(rng, values):
    return values[rng.integers(len(values))]


def is_accepted(setting):
    kernel, strategy = (setting.params.get(each) for each in ("kernel", "budget_strategy"))
    if kernel == "sigmoid" and strategy == "projection":  # not positive: any row may be rejected
        return False
    try:
        model = setting.make()
        if setting.is_stream:
            settings = Settings(setting.task, **model._keywords)
            regression = setting.task == "regression"
            losses = losses_of(regression)
            check_settings(settings, losses)
        else:
            model._checked_settings(setting.task)
            if setting.is_kernel:
                model._check_stream()
    except (ValueError, TypeError):
        return False
    return True
