"""Effects of rounding on models, and tolerances of scores."""

from dataclasses import replace

import numpy as np

from qa.stress.adapters import adapter_of

TRIES = 24  # with slightly different rows, to detect effects of rounding


def depends_on_rounding(case):
    """Return whether a rule may choose between equal scores, so that rounding decides.

    Equal rows may have equal scores, and so may rows with one number at the margin of two classes.
    """
    level = case.data.repeats or case.data.X.shape[1] == 1
    return not case.data.well_scaled or (_chooses(case.setting) and level)


def magnifies(case):
    """Return whether changing the last digits of the rows changes the result, in some tries.

    Confidence-weighted constraints are hard. Contradictory examples square the variances
    repeatedly, down to 1e-100, and the next step follows rounding errors. The same holds for hard
    batches of nearly dependent rows; dependent rows may share a step in several ways; and scores
    that cancel may be equal. A hard step that shrinks weights a thousandfold leaves a loss of their
    former rounding error, which the same row meets again. In double precision no other rule is
    exempted; in single precision, with much larger rounding errors, every rule may be.
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
    """Return whether ties matter: model selection of classifiers counts them as mistakes or not."""
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


def may_be_infeasible(case):
    """Return whether a hard batch may contain equal or nearly equal rows with different targets.

    Scales, class means and the metric change between the rows; single precision may be insufficient
    for weights that separate them.
    """
    return is_hard_batch(case.setting) and case.data.dtype == np.float32 and case.repeats


def is_too_large(error):
    """Return whether an error reports an overflow."""
    return any(word in str(error) for word in ("large", "overflow"))


def _learned(case, X):
    adapter = adapter_of(case.setting, replace(case.data, X=X))
    model = case.learn(adapter)
    scores, counts = adapter.scores(model), adapter.counts(model)
    return scores, (counts["updates"], counts["mistakes"])


def closeness(case):
    """Return the tolerance of scores, relative to the largest."""
    return 1e-6 if case.data.dtype == np.float64 else 2e-2


def largest(scores):
    return 1 + np.abs(scores[np.isfinite(scores)]).max(initial=0)


def shares_steps(case):
    """Return whether the step of a batch may be distributed among its rows in several ways.

    Equal rows may share a step, and so may linearly dependent rows with few features. A metric or a
    budget depends on the distribution.
    """
    params, size = case.setting.params, case.setting.batch_size
    asked = params.get("metric", "euclidean") != "euclidean" or params.get("budget") is not None
    dependent = case.repeats or size > case.data.X.shape[1]
    return size > 1 and dependent and asked


def jumps(case):
    """Return whether any loss, however small, changes the weights or their metric by a finite step.

    The step leads to the class means, or along the remaining variances. The core and the reference
    may disagree about a loss of rounding size. In double precision their class means are equal, and
    so are the remainders of nearly equal rows.
    """
    params, setting = case.setting.params, case.setting
    to_centre = params.get("class_mean", 0) > 0 or params.get("queue", 1) > 1
    learns_metric = params.get("metric", "euclidean") != "euclidean"
    if case.data.dtype == np.float32 and (to_centre or learns_metric):
        return True
    return _is_confident(setting) or is_hard_batch(setting)


def jumped(case):
    """Return whether single precision treated a loss as rounding, or the reverse, at some row.

    From there on the metric or the pull differs. Rows of a batch cannot be distinguished, and of
    several passes only the totals are compared.
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
    """Return whether the required margin depends on the rounding errors of all earlier steps.

    It grows with the variance, which each step rounds in a full metric. A margin that was met
    exactly may then be missed by a rounding error, which causes an update.
    """
    algorithm = case.setting.params.get("algorithm", "")
    doubts = "Confidence" in case.setting.name or algorithm.startswith(("SCW", "CW"))
    return doubts and case.setting.params.get("metric") == "full"
