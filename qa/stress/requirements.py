"""Requirements for the control model of a case, and for models with faults."""

import functools
import threading
from dataclasses import replace

import numpy as np

from aggro.selection.search_space import FIRST_REMOVAL
from qa.stress import inputs
from qa.stress.adapters import adapter_of
from qa.stress.faults import run_plan
from qa.stress.model_state import differences
from qa.stress.references import reference_of
from qa.stress.rounding import (
    carries_rounding,
    closeness,
    depends_on_rounding,
    is_too_large,
    jumped,
    jumps,
    largest,
    magnifies,
    may_be_infeasible,
    shares_steps,
)
from qa.stress.runs import Difference

# -- one model -------------------------------------------------------------------------------


def scores_are_finite(case, adapter, control):
    """All scores are finite, except of rows so large that a product with a weight is not."""
    if _means_are_huge(case):
        return
    scores = adapter.scores(control).reshape(len(case.data.X), -1)
    if not np.isfinite(scores[_has_finite_terms(case, adapter, control)]).all():
        raise Difference("the scores are not all finite")


def weights_agree_with_scores(case, adapter, control):
    """``coef_`` and ``intercept_`` give the scores."""
    if case.setting.is_stream or getattr(control, "kernel", "linear") != "linear":
        return
    if _means_are_huge(case) or not hasattr(control, "coef_"):
        return
    coef = np.atleast_2d(control.coef_).astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        shown = case.data.X @ coef.T + control.intercept_
        reach = _largest_rows(case) @ _largest_terms(control, coef).T + np.abs(control.intercept_)
        gaps = np.abs(shown - adapter.scores(control).reshape(shown.shape)) / (1 + reach)
    finite = np.isfinite(reach) & _has_finite_terms(case, adapter, control)[:, None]
    worst = gaps[finite].max(initial=0)
    if not worst <= (1e-9 if case.data.dtype == np.float64 else 1e-3):
        raise Difference(f"coef_ and intercept_ differ from the scores by {worst:.3g}")


def _has_finite_terms(case, adapter, control):
    """Return whether the product of each row and the largest weight is finite.

    A mean of weights is stored as its sum, in which each round counts by its number.
    """
    data, averages = case.data, case.setting.params.get("average", False) is not False
    rounds = 1 + (len(data.X) if data.weights is None else data.weights.sum())
    with np.errstate(over="ignore"):
        most = np.abs(data.X).sum(axis=1) * float(adapter.largest_weight(control))
        return np.isfinite((most * rounds**2 if averages else most).astype(data.dtype))


def _largest_rows(case):
    """Return the size of the factors of weights, including means of centred rows."""
    rows = np.abs(case.data.X)
    centred = case.setting.params.get("scale") in ("standard", "auto") or case.setting.selects
    return rows + rows.mean(axis=0) if centred else rows


def _largest_terms(control, coef):
    """Return the size of the terms of the weights; those of a kernel may cancel."""
    if not hasattr(control, "dual_coef_"):
        return np.abs(coef)
    return np.abs(np.atleast_2d(control.dual_coef_)) @ np.abs(control.support_vectors_)


def _means_are_huge(case):
    """Return whether class means of huge rows cancel, or overflow in the unit of the weights."""
    return not case.data.well_scaled and case.setting.params.get("class_mean")


def predictions_are_classes(case, adapter, control):
    predicted = adapter.predictions(control)
    if case.data.classes is not None and not np.isin(predicted, case.data.classes).all():
        raise Difference(f"predictions that are no classes: {np.unique(predicted)}")


def but_for_rounding(requirement):
    """Accept a difference that also occurs if the last digits of the rows change."""

    @functools.wraps(requirement)
    def lenient(case, adapter, control):
        try:
            requirement(case, adapter, control)
        except Difference:
            if not (magnifies(case) or jumped(case)):
                raise

    return lenient


# -- control models --------------------------------------------------------------------------


@but_for_rounding
def reference_agrees(case, adapter, control):
    """The NumPy reference has the same scores and counts."""
    if depends_on_rounding(case) or shares_steps(case) or len(case.data.X) > 500:
        return
    reference = reference_of(case, control)
    if reference is None:
        return
    try:
        case.train_reference(reference, control)
    except (ValueError, ArithmeticError):  # its solver failed
        return
    if control.n_updates_ != reference.updates and jumps(case):
        return
    least = 1e-3 if case.setting.batch_size > 1 else 0.0  # tolerance of its solver of batches
    found = adapter.scores(control)
    close("the scores of the reference", reference.scores(case.data.X), found, case, least)
    exact = case.data.dtype == np.float64 and case.setting.batch_size == 1
    if not exact or carries_rounding(case):
        return
    if control.n_updates_ != reference.updates:
        text = f"the reference made {reference.updates} updates, the model {control.n_updates_}"
        raise Difference(text)
    if case.data.classes is None or case.data.repeats or case.setting.is_kernel:
        return
    if control.n_mistakes_ != reference.mistakes:
        text = f"the reference made {reference.mistakes} mistakes, the model {control.n_mistakes_}"
        raise Difference(text)


@but_for_rounding
def other_storage_agrees(case, adapter, control):
    """Rows stored in another way give the same model, up to rounding."""
    if depends_on_rounding(case):
        return
    choices = [name for name in inputs.STORAGES if name != case.data.storage]
    scale = case.setting.params.get("scale")
    if scale == "auto" or case.setting.name.startswith("Auto"):  # sparse rows have fewer scales
        sparse = case.data.storage.startswith("csr")
        choices = [name for name in choices if name.startswith("csr") == sparse]
    if case.setting.is_stream and _maps_features(case.setting.params):
        if "zeros" in case.data.storage:  # names with the value zero get columns
            return
        choices = [name for name in choices if "zeros" not in name]
    storage = choices[case.seed % len(choices)]
    other = adapter_of(case.setting, replace(case.data, storage=storage))
    model = case.learn(other)
    close(f"rows stored as {storage}", other.scores(model), adapter.scores(control), case)
    _same_counts(f"rows stored as {storage}", case, other.counts(model), adapter.counts(control))


def _maps_features(params):
    """Return whether a stream learner may have non-linear features."""
    default = "auto" if params.get("algorithm") is None else "linear"
    return params.get("features", default) != "linear"


def zero_weight_is_absent(case, adapter, control):
    """Rows of weight zero change nothing."""
    data = case.data
    if data.present.all() or case.setting.is_stream or not case.ignores_absent_rows:
        return
    some = np.flatnonzero(data.present)
    present = replace(data, X=data.X[some], y=data.y[some], targets=data.targets[some])
    other = case.adapter(case.setting, replace(present, weights=data.weights[some]))
    model = case.without_absent_rows().learn(other)
    found, expected = other.scores(model), adapter.scores(control)[some]
    close("without the rows of weight zero", found, expected, case)
    if other.counts(model) != adapter.counts(control) and data.dtype == np.float64:
        counts = f"{other.counts(model)}, {adapter.counts(control)} were expected"
        raise Difference(f"without the rows of weight zero: {counts}")


def class_weights_are_weights(case, adapter, control):
    """``class_weight`` multiplies ``sample_weight``."""
    by_class = isinstance(case.setting.params.get("class_weight"), dict)
    if not by_class or case.holds_out:  # held-out rows are scored without class weights
        return
    weights = inputs.effective_weights(case.setting, case.data)
    params = {**case.setting.params, "class_weight": None}
    other = adapter_of(replace(case.setting, params=params), replace(case.data, weights=weights))
    found = other.scores(case.learn(other))
    close("class weights given as sample weights", found, adapter.scores(control), case)


def faults_leave_no_trace(case, adapter, control):
    model = run_plan(adapter, case.plan, params=case.given)
    same("the model that met faults", case, adapter, adapter.finish(model), control)


# -- one pass --------------------------------------------------------------------------------


@but_for_rounding
def classes_may_come_later(case, adapter, control):
    """Two classes that are not declared give the same model as declared ones.

    Before the second class appears, a selection cannot know which of the two sorts first, and thus
    whether a score of zero is a mistake.
    """
    met = len(np.unique(case.data.y[case.data.present])) if case.data.classes is not None else 0
    if (
        case.setting.is_stream
        or case.setting.classes != 2
        or met != 2
        or case.setting.batch_size > 1
    ):
        return
    targets = case.data.y[case.data.present]
    if case.setting.selects and (targets[:FIRST_REMOVAL] == targets[0]).all():
        return
    growing = adapter_of(case.setting, case.data)
    growing.announce = {}
    model = growing.setting.make()
    for i in range(len(case.data.X)):
        growing.learn(model, i, i + 1)
    found, expected = growing.scores(model), adapter.scores(control)
    close("classes that were not announced", found, expected, case)


def fit_is_one_pass(case, adapter, control):
    """``fit`` in one pass without shuffling equals ``partial_fit``."""
    data = case.data
    if case.setting.is_stream or (data.weights is not None and not data.weights.all()):
        return
    if data.classes is not None and len(np.unique(data.y)) < len(data.classes):
        return
    model = case.setting.make().set_params(max_iter=1, tol=None, shuffle=False)
    model.fit(adapter.rows, data.y, sample_weight=data.weights)
    close("fit in one pass", adapter.scores(model), adapter.scores(control), case)


ENSEMBLE = 1024 + 1  # examples predicted by the ensemble
MANY = 100  # rows; of longer streams only the last ones are checked one by one


def mistakes_are_those_of_predict(case, adapter, control):
    """Counted mistakes are those of ``predict`` before each example.

    If terms cancel up to rounding, either prediction may be counted. Scales and feature maps
    include the current example, which ``predict`` does not know.
    """
    data, params = case.data, case.setting.params
    scaled = params.get("scale", "auto" if case.setting.name.startswith("Auto") else "none")
    uncertain = case.setting.batch_size > 1 or data.repeats or not data.well_scaled
    uncertain |= case.setting.maps_features
    if (
        data.classes is None
        or uncertain
        or case.setting.is_stream
        or scaled not in ("none", "auto")
    ):
        return
    start = 0 if len(data.X) <= MANY else len(data.X) * 3 // 4
    model, found, ties = adapter.setting.make(), 0, 0
    adapter.learn(model, 0, start)
    before = model.n_mistakes_ if adapter.counted(model) else 0
    for i in start + np.flatnonzero(data.present[start:]):
        known = adapter.counted(model) > 0
        predicted = adapter.prediction(model, i) if known else data.classes[0]
        found += predicted != data.y[i]
        ties += known and (
            is_rounding(adapter.score(model, i)) or (scaled == "auto" and _is_scaled(model))
        )
        adapter.learn(model, i, i + 1)
    if abs(model.n_mistakes_ - before - found) > ties:
        text = f"{model.n_mistakes_ - before} mistakes are counted, predict made {found}"
        raise Difference(text)


def _is_scaled(model):
    """Return whether a prediction may depend on the scale of the features."""
    return model.t_ <= ENSEMBLE or model._learner.choice.get("scale") != "none"


def is_rounding(scores):
    """Return whether the margin of the best score is a rounding error.

    Zero is not, unless it is a double rounded to single precision.
    """
    *_, second, best = np.sort([*np.ravel(scores), *[0.0] * (np.size(scores) == 1)])
    single = np.asarray(scores).dtype == np.float32
    unit = (1e-6 if single else 1e-12) * (1 + np.abs(scores).max())
    return best - second <= unit and bool(single or best > second)


def run_in_threads(works):
    """Run each function in a separate thread; return the errors."""
    errors = []

    def run(work):
        try:
            work()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def threads_do_not_interfere(case, adapter, control):
    """Models trained in parallel threads equal one trained alone."""
    models = []
    works = [lambda: models.append(case.learn(adapter))] * 3
    if errors := run_in_threads(works):
        raise Difference(f"a learner in a thread raised {errors[0]!r}")
    for model in models:
        same("a model that learned in a thread", case, adapter, model, control)


def writers_lose_nothing(case, adapter, control):
    """Threads that update one model lose no rows and leave it consistent."""
    if not case.data.well_scaled or case.setting.is_narrow:
        return
    model = adapter.setting.make()
    adapter.learn(model, 0, len(case.data.X))  # all classes are known
    if errors := run_in_threads([lambda: adapter.learn(model, 0, len(case.data.X))] * 2):
        if may_be_infeasible(case) and all(map(is_too_large, errors)):
            return
        raise Difference(f"one of two writers raised {errors[0]!r}")
    adapter.finish(model)
    found, expected = adapter.counted(model), 3 * int(case.data.present.sum())
    if found != expected:
        raise Difference(f"three writers learned {expected} rows, {found} are counted")
    scores_are_finite(case, adapter, model)
    weights_agree_with_scores(case, adapter, model)


ONE_MODEL = (scores_are_finite, weights_agree_with_scores, predictions_are_classes)
CONTROLS = (
    reference_agrees,
    other_storage_agrees,
    zero_weight_is_absent,
    class_weights_are_weights,
    faults_leave_no_trace,
)
ONE_PASS = (
    *ONE_MODEL,
    *CONTROLS,
    classes_may_come_later,
    fit_is_one_pass,
    mistakes_are_those_of_predict,
    threads_do_not_interfere,
    writers_lose_nothing,
)


# -- comparisons -----------------------------------------------------------------------------


def same(what, case, adapter, found, expected):
    """Compare two models bit for bit, or up to rounding if calls end with a rewrite."""
    if case.setting.params.get("metric") in ("full",):
        close(what, adapter.scores(found), adapter.scores(expected), case)
        return
    changed = differences(adapter.state(expected), adapter.state(found))
    if changed:
        raise Difference("\n  ".join([f"{what} differs:", *changed[:8]]))


def close(what, found, expected, case, least=0.0):
    """Compare scores; infinite ones must be infinite in both."""
    found, expected = (np.ravel(each).astype(np.float64) for each in (found, expected))
    with np.errstate(invalid="ignore"):
        gaps = np.abs(found - expected) / largest(expected)
    overflow = ~np.isfinite(found) & ~np.isfinite(expected)
    near = overflow | (gaps <= max(closeness(case), least))
    if not near.all():
        i = int(np.argmin(near))
        raise Difference(f"{what}: {found[i]!r} where {expected[i]!r} was expected (score {i})")


def _same_counts(what, case, found, expected):
    names = ["examples"]
    if case.data.dtype == np.float64 and case.setting.batch_size == 1:
        names.append("updates")
        if not case.data.repeats:  # otherwise, and in batches, a tie may be a mistake
            names.append("mistakes")
    for name in names:
        if found[name] != expected[name]:
            raise Difference(f"{what}: {found[name]} {name}, {expected[name]} were expected")
