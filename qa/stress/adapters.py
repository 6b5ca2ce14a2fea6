"""One interface to estimators and stream learners: learn the rows of an interval."""

import warnings

import numpy as np

from qa.stress.inputs import STORAGES, as_dict
from qa.stress.model_state import model_state

NEW_NAME = 25  # rows of a stream after which a new feature name appears


def adapter_of(setting, data):
    return (StreamAdapter if setting.is_stream else EstimatorAdapter)(setting, data)


class EstimatorAdapter:
    """Learns rows in calls of ``partial_fit`` or ``fit``."""

    def __init__(self, setting, data):
        self.setting, self.data = setting, data
        self.rows = STORAGES[data.storage](data.X.astype(data.dtype))
        self.announce = {} if data.classes is None else {"classes": data.classes}

    def learn(self, model, start, stop, **changes):
        """Learn some rows; ``changes`` replace X, y, sample_weight or classes."""
        if start == stop:
            return
        model.partial_fit(**{**self._call(slice(start, stop)), **self.announce, **changes})

    def fit(self, model, stop, *, warm=False, **changes):
        """Fit the first rows, from scratch or continuing the model."""
        self.prepare(model, warm)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Maximum number of passes")
            model.fit(**{**self._call(slice(0, stop)), **changes})

    def prepare(self, model, warm):
        """Set the parameter that determines how ``fit`` starts."""
        if self.setting.has("warm_start"):
            model.set_params(warm_start=warm)

    def _call(self, some):
        weights = self.data.weights
        given = {} if weights is None else {"sample_weight": weights[some]}
        return {"X": self.rows[some], "y": self.data.y[some], **given}

    def counted(self, model):
        """Return the number of learned rows of positive weight."""
        return model.t_ - 1 if hasattr(model, "_learner") else 0

    def state(self, model):
        """Return the complete state of a model."""
        return model_state(model)

    def scores(self, model):
        """Return the scores of every row."""
        judge = getattr(model, "decision_function", model.predict)
        return np.asarray(judge(self.rows), dtype=np.float64)

    def largest_weight(self, model):
        """Return the largest weight of a column; 0 for kernels and feature maps."""
        linear = not self.setting.is_kernel and hasattr(model, "coef_")
        return np.abs(model.coef_).max() if linear else 0.0

    def predictions(self, model):
        return model.predict(self.rows)

    def prediction(self, model, i):
        return model.predict(self.rows[i : i + 1])[0]

    def score(self, model, i):
        """Return the scores of one row."""
        return np.asarray(model.decision_function(self.rows[i : i + 1]), dtype=np.float64)[0]

    def finish(self, model):
        """Complete an interrupted evaluation step, as the next example would."""
        if hasattr(getattr(model, "_learner", None), "evaluate_if_due"):
            model._learner.evaluate_if_due()
        return model

    def counts(self, model):
        return {
            "examples": self.counted(model),
            "mistakes": model.n_mistakes_,
            "updates": model.n_updates_,
            "loss": model.cumulative_loss_,
        }


class StreamAdapter:
    """Learns rows one by one, as dicts."""

    def __init__(self, setting, data):
        self.setting, self.data = setting, data
        zeros = "zeros" in data.storage
        rows = data.X.astype(data.dtype)
        self.rows = [as_dict(row, i // NEW_NAME, zeros) for i, row in enumerate(rows)]
        self.y, weights = _targets_of(data), data.weights
        self.weights = [1.0] * len(self.y) if weights is None else weights.tolist()

    def learn(self, model, start, stop):
        for i in range(start, stop):
            model.learn_one(self.rows[i], self.y[i], self.weights[i])

    def counted(self, model):
        return model.examples

    def state(self, model):
        """Return the state as in a file, including pending examples of a batch."""
        if model.__dict__.get("probability"):
            model._recorded().flush()
        return model_state(model)

    def scores(self, model):
        """Return the scores of every row, with one column for two classes."""
        return np.array([_numbers(model.score_one(row)) for row in self.rows])

    def largest_weight(self, model):
        """Return the largest weight of a feature; 0 for feature maps."""
        if not hasattr(model, "coef_"):
            return 0.0
        _, columns, _ = model._columns()
        return max((abs(weight) for column in columns for weight in column.values()), default=0.0)

    def predictions(self, model):
        return np.array([model.predict_one(row) for row in self.rows])

    def prediction(self, model, i):
        return model.predict_one(self.rows[i])

    def finish(self, model):
        """Learn an incomplete batch."""
        model.flush()
        return model

    counts = EstimatorAdapter.counts


def _targets_of(data):
    """Return labels or values; of an indicator matrix, the set of labels of each row."""
    if data.y.ndim == 1:
        return data.y.tolist()
    return [{f"label {k}" for k in np.flatnonzero(row)} for row in data.y]


def _numbers(scores):
    return list(scores.values()) if isinstance(scores, dict) else [scores]
