"""A case: how it is composed, what must hold, how a failure is told."""

import threading
import traceback
import warnings
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
from linear_support import teach_twin, twin_of

from aggro.reference import ReferenceKernelLearner, ReferenceLearner
from stress import inputs, settings
from stress.anatomy import anatomy, differences
from stress.faces import face_of
from stress.troubles import TROUBLES, Difference, Run, troubles_for

RULES = {
    "perceptron": "perceptron",
    "arow": "arow",
    "cw": "cw",
    "cw_stdev": "cw-stdev",
    "scw1": "scw-i",
    "scw2": "scw-ii",
}


@dataclass
class Case:
    """A learner, its data, and what happens on the way: (row, trouble, seed) each."""

    seed: int
    setting: settings.Setting
    data: inputs.Data
    plan: list

    def __str__(self):
        lines = [f"seed {self.seed}", str(self.setting), str(self.data)]
        steps = [f"  up to row {stop}: {name}" for stop, name, _ in self.plan]
        return "\n".join([*lines, "on the way:", *steps])


def compose(seed):
    """Return the case of a seed, always the same."""
    rng = np.random.default_rng(seed)
    setting = settings.compose(rng)
    data = inputs.draw(rng, setting)
    return Case(seed, setting, data, _plan(rng, setting, data))


def _plan(rng, setting, data):
    """Cut the rows into calls, with a trouble each."""
    names = troubles_for(setting)
    stops = np.unique(rng.integers(1, len(data.X) + 1, rng.integers(0, 8)))
    if setting.batch_size > 1 and not setting.is_stream:  # a mini-batch ends with its call
        seen = np.cumsum(data.present)
        stops = [stop for stop in stops if seen[stop - 1] % setting.batch_size == 0]
    stops = sorted({*map(int, stops), len(data.X)})
    return [(stop, names[rng.integers(len(names))], int(rng.integers(2**31))) for stop in stops]


# -- what must hold --------------------------------------------------------------------------


def check(case):
    """Raise a Difference, or what a learner raised, if something does not hold."""
    face = face_of(case.setting, case.data)
    plain = face.setting.make()
    try:
        face.learn(plain, 0, len(case.data.X))
    except ValueError as error:
        if case.data.tame:
            raise
        if "large" not in str(error):
            raise Difference(f"huge rows were refused with the words: {error}") from error
        return
    face.finish(plain)
    for requirement in REQUIREMENTS:
        requirement(case, face, plain)


def is_finite(case, face, plain):
    if not np.isfinite(face.scores(plain)).all():
        raise Difference("the scores are not all finite")


def weights_are_shown(case, face, plain):
    """``coef_`` and ``intercept_`` say what the scores say."""
    if case.setting.is_stream or getattr(plain, "kernel", "linear") != "linear":
        return
    scores = np.atleast_2d(face.scores(plain).T).T
    shown = case.data.X @ np.atleast_2d(plain.coef_).astype(np.float64).T + plain.intercept_
    _close("coef_ against the scores", shown.reshape(scores.shape), scores, case)


def answers_are_classes(case, face, plain):
    if case.data.classes is not None and not np.isin(face.answers(plain), case.data.classes).all():
        raise Difference(f"answers that are no classes: {np.unique(face.answers(plain))}")


def twin_agrees(case, face, plain):
    """The learner in plain NumPy has the same scores and counts."""
    twin, updates = _twin(case, plain)
    if twin is None or not case.data.tame:
        return
    _close("the twin's scores", twin.scores(case.data.X), face.scores(plain), case)
    if case.data.dtype == np.float64 and plain.n_updates_ != updates:
        raise Difference(f"the twin made {updates} updates, the model {plain.n_updates_}")


def _twin(case, plain):
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
    except ValueError:  # not a setting of the twin
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
    degenerate |= learned.loss == "hard" and learned.batch_size > 1
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


def other_storage_agrees(case, face, plain):
    """Rows stored in another way teach the same, up to rounding."""
    if not case.data.tame:
        return
    choices = [name for name in inputs.STORAGES if name != case.data.storage]
    if case.setting.params.get("scale") == "auto":  # sparse rows race fewer scales
        sparse = case.data.storage.startswith("csr")
        choices = [name for name in choices if name.startswith("csr") == sparse]
    storage = choices[case.seed % len(choices)]
    other = face_of(case.setting, replace(case.data, storage=storage))
    model = other.setting.make()
    other.learn(model, 0, len(case.data.X))
    other.finish(model)
    _close(f"rows stored as {storage}", other.scores(model), face.scores(plain), case)
    _same_tally(f"rows stored as {storage}", case, other.tally(model), face.tally(plain))


def classes_may_come_later(case, face, plain):
    """Two classes that are not announced are learned as if they had been."""
    met = len(np.unique(case.data.y[case.data.present])) if case.data.classes is not None else 0
    if (
        case.setting.is_stream
        or case.setting.classes != 2
        or met != 2
        or case.setting.batch_size > 1
    ):
        return
    growing = face_of(case.setting, case.data)
    growing.announce = {}
    model = growing.setting.make()
    for i in range(len(case.data.X)):
        growing.learn(model, i, i + 1)
    _close("classes that were not announced", growing.scores(model), face.scores(plain), case)


def troubles_leave_no_trace(case, face, plain):
    run = Run(face)
    for stop, name, seed in case.plan:
        TROUBLES[name](run, np.random.default_rng(seed), stop)
    face.finish(run.model)
    _same("the troubled model", case, face, run.model, plain)


def threads_do_not_meddle(case, face, plain):
    """Models that learn side by side in threads are those that learn alone."""
    models, errors = [face.setting.make() for _ in range(3)], []

    def learn(model):
        try:
            face.learn(model, 0, len(case.data.X))
            face.finish(model)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=learn, args=(model,)) for model in models]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise Difference(f"a learner in a thread met {errors[0]!r}")
    for model in models:
        _same("a model that learned in a thread", case, face, model, plain)


def writers_lose_nothing(case, face, plain):
    """Threads that teach one model: all rows are counted, the model is whole."""
    model, errors = face.setting.make(), []
    face.learn(model, 0, len(case.data.X))  # all classes are known

    def learn():
        try:
            face.learn(model, 0, len(case.data.X))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=learn) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise Difference(f"one of two writers met {errors[0]!r}")
    face.finish(model)
    found, expected = face.counted(model), 3 * int(case.data.present.sum())
    if found != expected:
        raise Difference(f"three writers taught {expected} rows, {found} are counted")
    is_finite(case, face, model)
    weights_are_shown(case, face, model)


REQUIREMENTS = (
    is_finite,
    weights_are_shown,
    answers_are_classes,
    twin_agrees,
    other_storage_agrees,
    classes_may_come_later,
    troubles_leave_no_trace,
    threads_do_not_meddle,
    writers_lose_nothing,
)


# -- comparisons -----------------------------------------------------------------------------


def _same(what, case, face, found, expected):
    """Compare two models to the last bit; up to rounding where a call ends with a rewriting."""
    if case.setting.params.get("metric") in ("full",):
        _close(what, face.scores(found), face.scores(expected), case)
        return
    changed = differences(anatomy(expected), anatomy(found))
    if changed:
        raise Difference("\n  ".join([f"{what} differs:", *changed[:8]]))


def _close(what, found, expected, case):
    found, expected = (np.ravel(each).astype(np.float64) for each in (found, expected))
    close = 1e-6 if case.data.dtype == np.float64 else 2e-2
    scale = 1 + np.abs(expected).max(initial=0)
    gaps = np.abs(found - expected) / scale
    if not (gaps <= close).all():
        i = int(np.argmax(~(gaps <= close)))
        raise Difference(f"{what}: {found[i]!r} where {expected[i]!r} was expected (score {i})")


def _same_tally(what, case, found, expected):
    if case.data.dtype == np.float32:
        return
    for name in ("examples", "mistakes", "updates"):
        if found[name] != expected[name]:
            raise Difference(f"{what}: {found[name]} {name}, {expected[name]} were expected")


# -- failures --------------------------------------------------------------------------------


def failure(case):
    """Return what is wrong with a case, or None."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            check(case)
        except Difference as error:
            return str(error)
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            return f"{type(error).__name__}: {error}\n  at {place.filename}:{place.lineno}"
    return None


def simplified(case):
    """Return the case without the troubles that its failure does not need."""
    for step in list(case.plan):
        stop, name, seed = step
        if name != "a cut":
            plan = [(stop, "a cut", seed) if each is step else each for each in case.plan]
            if failure(fewer := replace(case, plan=plan)):
                case = fewer
    for step in list(case.plan)[:-1]:
        plan = [each for each in case.plan if each is not step]
        if step[1] == "a cut" and failure(fewer := replace(case, plan=plan)):
            case = fewer
    return case
