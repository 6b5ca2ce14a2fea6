"""One way to talk to estimators and to stream learners: rows from here to there."""

import numpy as np

from qa.stress.anatomy import anatomy
from qa.stress.inputs import STORAGES, as_dict

FRESH = 25  # rows of a stream after which a new name appears


def face_of(setting, data):
    return (StreamFace if setting.is_stream else EstimatorFace)(setting, data)


class EstimatorFace:
    """Rows come in calls of ``partial_fit``."""

    def __init__(self, setting, data):
        self.setting, self.data = setting, data
        self.rows = STORAGES[data.storage](data.X.astype(data.dtype))
        self.announce = {} if data.classes is None else {"classes": data.classes}

    def learn(self, model, start, stop, **changes):
        """Learn some rows; ``changes`` replace X, y, sample_weight or classes."""
        if start == stop:
            return
        weights = self.data.weights
        call = {
            "X": self.rows[start:stop],
            "y": self.data.y[start:stop],
            **({} if weights is None else {"sample_weight": weights[start:stop]}),
            **self.announce,
        }
        model.partial_fit(**{**call, **changes})

    def counted(self, model):
        """How many rows a model has learned; those without a weight are none."""
        return model.t_ - 1 if hasattr(model, "_learner") else 0

    def anatomy(self, model):
        """All that a model knows."""
        return anatomy(model)

    def scores(self, model):
        """What a model says of every row."""
        judge = getattr(model, "decision_function", model.predict)
        return np.asarray(judge(self.rows), dtype=np.float64)

    def largest_weight(self, model):
        """The largest weight of a feature; 0 where kernels have none."""
        return 0.0 if self.setting.is_kernel else np.abs(model.coef_).max()

    def answers(self, model):
        return model.predict(self.rows)

    def answer(self, model, i):
        return model.predict(self.rows[i : i + 1])[0]

    def score(self, model, i):
        """What a classifier says of one row."""
        return np.asarray(model.decision_function(self.rows[i : i + 1]), dtype=np.float64)[0]

    def finish(self, model):
        """Do what comes with the next example: a look at the race that was interrupted."""
        if self.setting.races and self.counted(model):
            model._learner._look_if_due()
        return model

    def tally(self, model):
        return {
            "examples": self.counted(model),
            "mistakes": model.n_mistakes_,
            "updates": model.n_updates_,
            "loss": model.cumulative_loss_,
        }


class StreamFace:
    """Rows come one by one, as dicts."""

    def __init__(self, setting, data):
        self.setting, self.data = setting, data
        zeros = "zeros" in data.storage
        rows = data.X.astype(data.dtype)
        self.rows = [as_dict(row, i // FRESH, zeros) for i, row in enumerate(rows)]
        self.y, weights = data.y.tolist(), data.weights
        self.weights = [1.0] * len(self.y) if weights is None else weights.tolist()

    def learn(self, model, start, stop):
        for i in range(start, stop):
            model.learn_one(self.rows[i], self.y[i], self.weights[i])

    def counted(self, model):
        return model.examples

    def anatomy(self, model):
        """What a file would hold: examples that wait, or not, are told alike."""
        return anatomy(model.state())

    def scores(self, model):
        """The margins of every row, those of two classes as one column."""
        return np.array([_numbers(model.score_one(row)) for row in self.rows])

    def largest_weight(self, model):
        """The largest weight of a feature."""
        _, columns, _ = model._columns()
        return max((abs(weight) for column in columns for weight in column.values()), default=0.0)

    def answers(self, model):
        return np.array([model.predict_one(row) for row in self.rows])

    def answer(self, model, i):
        return model.predict_one(self.rows[i])

    def finish(self, model):
        """Learn what waits for its batch to be full, and do what comes with the next example."""
        model.flush()
        if 0 < model._next_look <= model.examples:
            model._look()
        return model

    tally = EstimatorFace.tally


def _numbers(margin):
    return list(margin.values()) if isinstance(margin, dict) else [margin]
