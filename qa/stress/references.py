"""NumPy references of learners."""

from itertools import zip_longest
from statistics import NormalDist

import numpy as np
from linear_support import reference_of as linear_reference
from linear_support import train_reference

from aggro.reference import FeatureMap, ReferenceKernelLearner, ReferenceLearner
from qa.stress.inputs import effective_weights
from qa.stress.rounding import is_hard_batch

RULES = {
    "perceptron": "perceptron",
    "arow": "arow",
    "cw": "cw",
    "cw_stdev": "cw-stdev",
    "scw1": "scw-i",
    "scw2": "scw-ii",
}


class Reference:
    """A NumPy reference that learns rows of a case, possibly in several passes."""

    def __init__(self, case, learner, features=None):
        self.learner, self.setting, self.data = learner, case.setting, case.data
        self.features = features  # a feature map, or None
        self.weights = effective_weights(case.setting, case.data)
        self.mistakes = 0  # in new rows

    def learn(self, rows, *, again=False):
        """Learn rows in order; ``again``: they have been learned before."""
        self._freeze(again)
        before = self.learner.n_mistakes
        targets, weights = self.data.targets[rows], self.weights[rows]
        X = self._seen(self.data.X[rows], [] if again else weights > 0)
        if self.setting.is_kernel:
            self.learner.learn_stream(X, self._numbers(targets), weights)
            mistakes = self.learner.n_mistakes - before
        else:
            joint = train_reference(self.learner, X, targets, weights)
            mistakes = joint if self._votes else self.learner.n_mistakes - before
        self._freeze(False)
        self.mistakes += 0 if again else mistakes

    @property
    def _votes(self):
        """Return whether independent outputs make one prediction."""
        task = self.learner.task
        return task == "multilabel" or (task == "multiclass" and not self.learner.coupled)

    def _seen(self, X, counted=()):
        """Return rows as the learner sees them, each after it was counted by the feature map."""
        if self.features is None:
            return X
        mapped = []
        for row, counts in zip_longest(X, counted, fillvalue=False):
            if counts:
                self.features.learn(row)
            mapped.append(self.features.map(row))
        return np.array(mapped)

    def scores(self, X):
        return self.learner.scores(self._seen(X))

    @property
    def updates(self):
        return self.learner.n_updates

    @property
    def loss(self):
        return self.learner.cumulative_loss

    def _numbers(self, targets):
        if self.learner.task == "regression":
            return targets[:, 0]
        return 2.0 * targets - 1 if self.learner.task == "binary" else targets

    def _freeze(self, frozen):
        self.learner.frozen = frozen
        for group in getattr(self.learner, "groups", ()):
            group.means.frozen = frozen


def reference_of(case, control):
    """Return an untrained Reference, or None if there is none."""
    setting = case.setting
    if setting.is_stream or setting.selects or setting.params.get("average") == "reservoir":
        return None
    learned, features = control._learner.settings, None
    width = case.data.X.shape[1]
    try:
        if setting.is_kernel:
            learner = _kernel_reference(case, learned)
        elif learned.loss in RULES:
            learner = _second_order_reference(case, learned)
        else:
            if setting.maps_features:
                features = _feature_map(control._learner.representations, width)
                width = len(features.map(np.zeros(width)))
            learner = linear_reference(learned, width, setting.outputs)
    except ValueError:  # not a setting of the reference
        return None
    return learner and Reference(case, learner, features)


def _feature_map(representations, columns):
    (kind,) = representations.kinds
    features = FeatureMap(*representations.size(kind), representations.seed)
    features.grow(columns)
    return features


def _second_order_reference(case, learned):
    names = ("C", "r", "multiclass", "metric", "average", "epsilon")
    names += ("fit_intercept", "intercept_scaling")
    axes = {name: getattr(learned, name) for name in names}
    axes["phi"] = NormalDist().inv_cdf(learned.eta)
    shape = {"n_features": case.data.X.shape[1], "n_outputs": case.setting.outputs}
    return ReferenceLearner(learned.task, rule=RULES[learned.loss], **shape, **axes)


def _kernel_reference(case, learned):
    setting, data = case.setting, case.data
    params = setting.make().get_params()
    # With equal costs, rounding decides which vector is removed; hard batches take minutes.
    few = params["kernel"] in ("linear", "poly")  # dimensions: the vectors are linearly dependent
    degenerate = bool(params["budget"] and (data.notes or case.repeats or few))
    degenerate |= is_hard_batch(setting)
    degenerate |= params["kernel"] == "sigmoid"  # not positive definite
    if learned.average or callable(params["kernel"]) or degenerate:
        return None
    names = ("kernel", "degree", "coef0", "budget")
    shape = {"n_features": data.X.shape[1], "n_outputs": setting.outputs}
    axes = {name: getattr(learned, name) for name in ("loss", "C", "epsilon", "multiclass")}
    return ReferenceKernelLearner(
        learned.task,
        **shape,
        **axes,
        **{name: params[name] for name in names},
        gamma=params["gamma"],
        fit_intercept=learned.fit_intercept,
        batch_size=learned.batch_size,
        maintenance=params["budget_strategy"],
    )
