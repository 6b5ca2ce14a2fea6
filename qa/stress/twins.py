"""The learner in plain NumPy for a case, where there is one."""

from dataclasses import replace
from statistics import NormalDist

import numpy as np
from linear_support import teach_twin, twin_of

from aggro.reference import ReferenceKernelLearner, ReferenceLearner
from qa.stress.faces import face_of

TRIES = 24
RULES = {
    "perceptron": "perceptron",
    "arow": "arow",
    "cw": "cw",
    "cw_stdev": "cw-stdev",
    "scw1": "scw-i",
    "scw2": "scw-ii",
}


def hangs_on_rounding(case):
    """Rules that choose, on rows that make equal scores: rounding decides, and all that follows.

    Equal rows do; so do rows of one number, where a margin that two classes meet makes them equal.
    """
    level = case.data.repeats or case.data.X.shape[1] == 1
    return not case.data.tame or (_chooses(case.setting) and level)


def magnifies(case):
    """Whether rows that differ by a few last digits teach something else, in one of some tries.

    The constraints of confidence-weighted learning are hard. Where examples contradict each other,
    each shrinks the variances to the square of what they were, down to 1e-100: the next step goes
    along whatever rounding has left of them. So does that of a hard batch whose rows almost depend
    on each other; rows that share a step may share it otherwise; and scores that cancel may tie. A
    hard step that shrinks weights some thousand times leaves a loss of their former rounding, which
    the same row meets again. No other rule is excused by this in double precision; in single
    precision, whose last digits are a few hundred million times as large, every rule may be.
    """
    setting = case.setting
    sensitive = _chooses(setting) or _is_confident(setting) or case.data.dtype == np.float32
    sensitive |= _is_hard(setting) and (setting.batch_size > 1 or case.data.repeats)
    if not (sensitive or shares_steps(case)):
        return False
    rng, eps = np.random.default_rng(case.seed), np.finfo(case.data.dtype).eps
    plain, counted = _taught(case, case.data.X)
    far = 0.1 * closeness(case) * largest(plain)
    for _ in range(TRIES):
        noise = rng.integers(-4, 5, case.data.X.shape)
        scores, tally = _taught(case, case.data.X * (1 + eps * noise))
        if tally != counted or not np.abs(scores - plain).max() <= far:
            return True
    return False


def _chooses(setting):
    """A race of classifiers chooses by mistakes, and a tie may be one or none."""
    chooses = setting.params.get("multiclass") in ("top", "predicted")
    chooses |= setting.name == "Perceptron"
    return chooses or (setting.races and setting.task != "regression")


def _is_confident(setting):
    algorithm, price = setting.params.get("algorithm", ""), setting.params.get("C")
    if setting.name.startswith("Soft") or algorithm.startswith("SCW"):
        return price == np.inf
    return setting.name == "ConfidenceWeightedClassifier" or algorithm.startswith("CW")


def _is_hard(setting):
    return setting.params.get("loss") == "hard" or setting.params.get("C") == np.inf


def _is_hard_batch(setting):
    return _is_hard(setting) and setting.batch_size > 1


def asks_the_impossible(case):
    """Whether a hard batch may ask for two answers of what is one row, or almost.

    Scales, class means and the weights of a metric move between the two: single precision may not
    hold the weights that tell them apart.
    """
    return _is_hard_batch(case.setting) and case.data.dtype == np.float32 and case.data.repeats


def is_too_large(error):
    """Whether a learner refuses what is too large for a number, in these words."""
    return any(word in str(error) for word in ("large", "overflow"))


def _taught(case, X):
    face = face_of(case.setting, replace(case.data, X=X))
    model = face.setting.make()
    face.learn(model, 0, len(X))
    scores, tally = face.scores(face.finish(model)), face.tally(model)
    return scores, (tally["updates"], tally["mistakes"])


def closeness(case):
    """How far apart two scores may be that are the same, relative to the largest."""
    return 1e-6 if case.data.dtype == np.float64 else 2e-2


def largest(scores):
    return 1 + np.abs(scores[np.isfinite(scores)]).max(initial=0)


def shares_steps(case):
    """Whether rows of a batch may share their step: a metric, or a budget, asks who took it.

    Equal rows may, and so may rows that depend on each other because they have few features.
    """
    params, size = case.setting.params, case.setting.batch_size
    asked = params.get("metric", "euclidean") != "euclidean" or params.get("budget") is not None
    dependent = case.data.repeats or size > case.data.X.shape[1]
    return size > 1 and dependent and asked


def jumps(case):
    """Whether the smallest loss moves the weights, or their metric, by a finite step.

    To the centre of their class, or along what earlier steps have left of the variances. Whether
    such a loss is one, or rounding, need not be the same for the twin; in double precision the
    centres are the same for both, and so is what is left of a row that almost came before.
    """
    params, setting = case.setting.params, case.setting
    to_centre = params.get("class_mean", 0) > 0 or params.get("queue", 1) > 1
    learns_metric = params.get("metric", "euclidean") != "euclidean"
    if case.data.dtype == np.float32 and (to_centre or learns_metric):
        return True
    return _is_confident(setting) or _is_hard_batch(setting)


def jumped(case):
    """Whether single precision took a loss for rounding, or rounding for a loss, at some row.

    From there on the metric, or the way to the centre, is another one. In a batch rows cannot be
    told apart.
    """
    if case.data.dtype != np.float32 or case.setting.batch_size > 1 or not jumps(case):
        return False
    faces = [face_of(case.setting, replace(case.data, dtype=np.dtype(t))) for t in "fd"]
    models = [face.setting.make() for face in faces]
    for i in np.flatnonzero(case.data.present):
        for face, model in zip(faces, models, strict=True):
            face.learn(model, i, i + 1)
        one, two = (face.tally(model) for face, model in zip(faces, models, strict=True))
        if one["updates"] != two["updates"]:
            return True
    return False


def carries_rounding(case):
    """Whether the margin that is asked for has the rounding of all steps before.

    It grows with the variance, and in a full metric each step rounds all variances. A margin that
    was met exactly then lacks a few units of rounding, or none: an update, or none.
    """
    algorithm = case.setting.params.get("algorithm", "")
    doubts = "Confidence" in case.setting.name or algorithm.startswith(("SCW", "CW"))
    return doubts and case.setting.params.get("metric") == "full"


def twin_of_case(case, plain):
    setting, data = case.setting, case.data
    if (
        setting.is_stream
        or setting.races
        or setting.params.get("average") not in (None, False, True)
    ):
        return None, 0
    weights = np.ones(len(data.X)) if data.weights is None else data.weights
    learned = plain._learner.settings
    try:
        if setting.is_kernel:
            return _kernel_twin(case, learned, weights)
        if learned.loss in RULES:
            twin = _second_order_twin(case, learned)
        else:
            twin = twin_of(learned, data.X.shape[1], setting.outputs)
        teach_twin(twin, data.X, data.plain, weights)
    except (ValueError, ArithmeticError):  # not a setting of the twin, or beyond its solver
        return None, 0
    return twin, twin.n_updates


def _second_order_twin(case, learned):
    names = ("C", "r", "multiclass", "metric", "average", "epsilon")
    names += ("fit_intercept", "intercept_scaling")
    axes = {name: getattr(learned, name) for name in names}
    axes["phi"] = NormalDist().inv_cdf(learned.eta)
    shape = {"n_features": case.data.X.shape[1], "n_outputs": case.setting.outputs}
    return ReferenceLearner(learned.task, rule=RULES[learned.loss], **shape, **axes)


def _kernel_twin(case, learned, weights):
    setting, data = case.setting, case.data
    params = setting.make().get_params()
    # equal costs: who leaves is decided by rounding; hard batches take the twin's solver minutes
    few = params["kernel"] in ("linear", "poly")  # dimensions: all members depend on each other
    degenerate = bool(params["budget"] and (data.notes or data.repeats or few))
    degenerate |= _is_hard_batch(setting)
    degenerate |= params["kernel"] == "sigmoid"  # no kernel of any space
    if learned.average or callable(params["kernel"]) or degenerate:
        return None, 0
    names = ("kernel", "degree", "coef0", "budget")
    shape = {"n_features": data.X.shape[1], "n_outputs": setting.outputs}
    axes = {name: getattr(learned, name) for name in ("loss", "C", "epsilon", "multiclass")}
    twin = ReferenceKernelLearner(
        learned.task,
        **shape,
        **axes,
        **{name: params[name] for name in names},
        gamma=params["gamma"],
        fit_intercept=learned.fit_intercept,
        batch_size=learned.batch_size,
        maintenance=params["budget_strategy"],
    )
    y = data.plain if learned.task != "regression" else data.plain[:, 0]
    twin.learn_stream(data.X, 2.0 * y - 1 if learned.task == "binary" else y, weights)
    return twin, twin.n_updates
