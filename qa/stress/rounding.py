"""Where rounding may decide what a model learns, and how far it may move scores."""

from dataclasses import replace

import numpy as np

from qa.stress.adapters import adapter_of

TRIES = 24  # of slightly different rows, to see whether rounding decides


def hangs_on_rounding(case):
    """Return whether equal scores may occur where a rule chooses by them: rounding then decides.

    Equal rows may have equal scores; so may rows of one number, where two classes meet a margin.
    """
    level = case.data.repeats or case.data.X.shape[1] == 1
    return not case.data.well_scaled or (_chooses(case.setting) and level)


def magnifies(case):
    """Return whether changing the last digits of the rows changes the result, in some tries.

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
    sensitive |= _is_hard(setting) and (setting.batch_size > 1 or case.repeats)
    if not (sensitive or shares_steps(case)):
        return False
    rng, eps = np.random.default_rng(case.seed), np.finfo(case.data.dtype).eps
    unchanged, counted = _learned(case, case.data.X)
    far = 0.1 * closeness(case) * largest(unchanged)
    for _ in range(TRIES):
        noise = rng.integers(-4, 5, case.data.X.shape)
        scores, counts = _learned(case, case.data.X * (1 + eps * noise))
        if counts != counted or not np.abs(scores - unchanged).max() <= far:
            return True
    return False


def _chooses(setting):
    """Whether ties matter: model selection of classifiers counts them as mistakes or not."""
    chooses = setting.params.get("multiclass") in ("top", "predicted")
    chooses |= setting.name == "Perceptron"
    return chooses or (setting.selects and setting.task != "regression")


def _is_confident(setting):
    algorithm, C = setting.params.get("algorithm", ""), setting.params.get("C")
    if setting.name.startswith("Soft") or algorithm.startswith("SCW"):
        return np.inf == C
    return setting.name == "ConfidenceWeightedClassifier" or algorithm.startswith("CW")


def _is_hard(setting):
    return setting.params.get("loss") == "hard" or setting.params.get("C") == np.inf


def is_hard_batch(setting):
    return _is_hard(setting) and setting.batch_size > 1


def asks_the_impossible(case):
    """Whether a hard batch may demand two targets of one row, or of almost equal rows.

    Scales, class means and the weights of a metric move between the two: single precision may not
    hold the weights that tell them apart.
    """
    return is_hard_batch(case.setting) and case.data.dtype == np.float32 and case.repeats


def is_too_large(error):
    """Whether an error says that a number is too large to be represented."""
    return any(word in str(error) for word in ("large", "overflow"))


def _learned(case, X):
    adapter = adapter_of(case.setting, replace(case.data, X=X))
    model = case.learn(adapter)
    scores, counts = adapter.scores(model), adapter.counts(model)
    return scores, (counts["updates"], counts["mistakes"])


def closeness(case):
    """Tolerance of scores, relative to the largest."""
    return 1e-6 if case.data.dtype == np.float64 else 2e-2


def largest(scores):
    return 1 + np.abs(scores[np.isfinite(scores)]).max(initial=0)


def shares_steps(case):
    """Whether the step of a batch may be distributed among its rows in several ways.

    Equal rows may share a step, and so may rows that depend on each other because they have few
    features. It matters to a metric or a budget which of the rows took the step.
    """
    params, size = case.setting.params, case.setting.batch_size
    asked = params.get("metric", "euclidean") != "euclidean" or params.get("budget") is not None
    dependent = case.repeats or size > case.data.X.shape[1]
    return size > 1 and dependent and asked


def jumps(case):
    """Whether the smallest loss moves the weights, or their metric, by a finite step.

    The step leads to the class means, or along what earlier steps have left of the variances.
    Whether such a loss counts as rounding need not be the same for the reference. In double
    precision the class means are the same for both, and so are the remainders of almost equal rows.
    """
    params, setting = case.setting.params, case.setting
    to_centre = params.get("class_mean", 0) > 0 or params.get("queue", 1) > 1
    learns_metric = params.get("metric", "euclidean") != "euclidean"
    if case.data.dtype == np.float32 and (to_centre or learns_metric):
        return True
    return _is_confident(setting) or is_hard_batch(setting)


def jumped(case):
    """Whether single precision took a loss for rounding, or rounding for a loss, at some row.

    From there on the metric, or the way to the class means, differs. The rows of a batch cannot be
    distinguished, and of several passes only the total is compared.
    """
    if case.data.dtype != np.float32 or case.setting.batch_size > 1 or not jumps(case):
        return False
    adapters = [adapter_of(case.setting, replace(case.data, dtype=np.dtype(t))) for t in "fd"]
    if case.several_passes:
        one, two = (adapter.counts(case.learn(adapter)) for adapter in adapters)
        return one["updates"] != two["updates"]
    models = [adapter.setting.make() for adapter in adapters]
    for i in np.flatnonzero(case.data.present):
        for adapter, model in zip(adapters, models, strict=True):
            adapter.learn(model, i, i + 1)
        one, two = (adapter.counts(model) for adapter, model in zip(adapters, models, strict=True))
        if one["updates"] != two["updates"]:
            return True
    return False


def carries_rounding(case):
    """Whether the required margin carries the rounding errors of all earlier steps.

    It grows with the variance, and in a full metric each step rounds all variances. A margin that
    was met exactly may then be missed by a few units of rounding, which is an update.
    """
    algorithm = case.setting.params.get("algorithm", "")
    doubts = "Confidence" in case.setting.name or algorithm.startswith(("SCW", "CW"))
    return doubts and case.setting.params.get("metric") == "full"
