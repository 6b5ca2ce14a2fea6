"""The learner in plain NumPy for a case, where there is one."""

from statistics import NormalDist

import numpy as np
from linear_support import teach_twin, twin_of

from aggro.reference import ReferenceKernelLearner, ReferenceLearner

HARD = {"hard": np.inf}  # the price that a loss stands for
RULES = {
    "perceptron": "perceptron",
    "arow": "arow",
    "cw": "cw",
    "cw_stdev": "cw-stdev",
    "scw1": "scw-i",
    "scw2": "scw-ii",
}


def hangs_on_rounding(case):
    """Rules that choose, on rows that make equal scores: rounding decides, and all that follows."""
    chooses = case.setting.params.get("multiclass") in ("top", "predicted")
    chooses |= case.setting.name == "Perceptron"
    return not case.data.tame or (chooses and case.data.repeats)


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
    names = ("C", "r", "multiclass", "fit_intercept", "metric", "average", "epsilon")
    axes = {name: getattr(learned, name) for name in names}
    axes["phi"] = NormalDist().inv_cdf(learned.eta)
    shape = {"n_features": case.data.X.shape[1], "n_outputs": case.setting.outputs}
    return ReferenceLearner(learned.task, rule=RULES[learned.loss], **shape, **axes)


def _kernel_twin(case, learned, weights):
    setting, data = case.setting, case.data
    params = setting.make().get_params()
    # equal costs: who leaves is decided by rounding; hard batches take the twin's solver minutes
    degenerate = bool(params["budget"] and data.notes)
    degenerate |= np.inf in (learned.C, HARD.get(learned.loss)) and learned.batch_size > 1
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
