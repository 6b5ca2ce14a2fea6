"""What must hold for a learner that has seen a stream, whatever happens on the way."""

import functools
import threading
from dataclasses import replace

import numpy as np

from aggro.learn.grids import SETTLED
from qa.stress import inputs
from qa.stress.anatomy import differences
from qa.stress.faces import face_of
from qa.stress.runs import Difference, Run
from qa.stress.troubles import TROUBLES
from qa.stress.twins import (
    asks_the_impossible,
    carries_rounding,
    closeness,
    hangs_on_rounding,
    is_too_large,
    jumped,
    jumps,
    largest,
    magnifies,
    shares_steps,
    twin_of_case,
)


def is_finite(case, face, plain):
    """All scores are finite, but those of rows so large that a product with a weight is not."""
    if _means_are_huge(case):
        return
    with np.errstate(over="ignore"):
        most = np.abs(case.data.X).sum(axis=1) * face.largest_weight(plain)
    scores = face.scores(plain).reshape(len(most), -1)
    if not np.isfinite(scores[np.isfinite(most)]).all():
        raise Difference("the scores are not all finite")


def weights_are_shown(case, face, plain):
    """``coef_`` and ``intercept_`` say what the scores say."""
    if case.setting.is_stream or getattr(plain, "kernel", "linear") != "linear":
        return
    if _means_are_huge(case):
        return
    coef = np.atleast_2d(plain.coef_).astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        shown = case.data.X @ coef.T + plain.intercept_
        reach = _largest_rows(case) @ _largest_terms(plain, coef).T + np.abs(plain.intercept_)
        gaps = np.abs(shown - face.scores(plain).reshape(shown.shape)) / (1 + reach)
    worst = gaps[np.isfinite(reach)].max(initial=0)
    if not worst <= (1e-9 if case.data.dtype == np.float64 else 1e-3):
        raise Difference(f"coef_ and intercept_ differ from the scores by {worst:.3g}")


def _largest_rows(case):
    """How large the numbers are that weights are multiplied by; a centred row has its mean, too."""
    rows = np.abs(case.data.X)
    centred = case.setting.params.get("scale") in ("standard", "auto")
    return rows + rows.mean(axis=0) if centred else rows


def _largest_terms(plain, coef):
    """How large the numbers are of which the weights are sums: those of a kernel may cancel."""
    if not hasattr(plain, "dual_coef_"):
        return np.abs(coef)
    return np.abs(np.atleast_2d(plain.dual_coef_)) @ np.abs(plain.support_vectors_)


def _means_are_huge(case):
    """Whether class means of huge rows cancel, or overflow in the unit that weights have there."""
    return not case.data.tame and case.setting.params.get("class_mean")


def answers_are_classes(case, face, plain):
    if case.data.classes is not None and not np.isin(face.answers(plain), case.data.classes).all():
        raise Difference(f"answers that are no classes: {np.unique(face.answers(plain))}")


def but_for_rounding(requirement):
    """Excuse a difference that last digits of the rows make as well, or of single precision."""

    @functools.wraps(requirement)
    def excused(case, face, plain):
        try:
            requirement(case, face, plain)
        except Difference:
            if not (magnifies(case) or jumped(case)):
                raise

    return excused


@but_for_rounding
def twin_agrees(case, face, plain):
    """The learner in plain NumPy has the same scores and counts."""
    if hangs_on_rounding(case) or shares_steps(case):
        return
    twin, updates = twin_of_case(case, plain)
    if twin is None:
        return
    if plain.n_updates_ != updates and jumps(case):
        return
    least = 1e-3 if case.setting.batch_size > 1 else 0.0  # the twin's solver of batches stops there
    _close("the twin's scores", twin.scores(case.data.X), face.scores(plain), case, least)
    exact = case.data.dtype == np.float64 and case.setting.batch_size == 1
    exact &= not carries_rounding(case)
    if exact and plain.n_updates_ != updates:
        raise Difference(f"the twin made {updates} updates, the model {plain.n_updates_}")


@but_for_rounding
def other_storage_agrees(case, face, plain):
    """Rows stored in another way teach the same, up to rounding."""
    if hangs_on_rounding(case):
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


@but_for_rounding
def classes_may_come_later(case, face, plain):
    """Two classes that are not announced are learned as if they had been.

    A race that is halved before the second one comes cannot know which of the two will be first in
    order, and so where a score of zero is a mistake.
    """
    met = len(np.unique(case.data.y[case.data.present])) if case.data.classes is not None else 0
    if (
        case.setting.is_stream
        or case.setting.classes != 2
        or met != 2
        or case.setting.batch_size > 1
    ):
        return
    answers = case.data.y[case.data.present]
    if case.setting.races and (answers[:SETTLED] == answers[0]).all():
        return
    growing = face_of(case.setting, case.data)
    growing.announce = {}
    model = growing.setting.make()
    for i in range(len(case.data.X)):
        growing.learn(model, i, i + 1)
    _close("classes that were not announced", growing.scores(model), face.scores(plain), case)


def fit_is_one_pass(case, face, plain):
    """``fit`` in one pass, rows in their order, learns what ``partial_fit`` does."""
    data = case.data
    if case.setting.is_stream or (data.weights is not None and not data.weights.all()):
        return
    if data.classes is not None and len(np.unique(data.y)) < len(data.classes):
        return
    model = case.setting.make().set_params(max_iter=1, tol=None, shuffle=False)
    model.fit(face.rows, data.y, sample_weight=data.weights)
    _close("fit in one pass", face.scores(model), face.scores(plain), case)


def mistakes_are_those_of_predict(case, face, plain):
    """The mistakes that are counted are those that ``predict`` makes before each example.

    Where terms cancel but for rounding, either answer may be the one that is counted.
    """
    data, params = case.data, case.setting.params
    many = len(data.X) > 100 or case.setting.batch_size > 1 or data.repeats or not data.tame
    if (
        data.classes is None
        or many
        or case.setting.is_stream
        or params.get("scale", "none") != "none"
    ):
        return
    model, found, ties = face.setting.make(), 0, 0
    for i in np.flatnonzero(data.present):
        known = face.counted(model) > 0
        said = face.answer(model, i) if known else data.classes[0]
        found += said != data.y[i]
        ties += known and is_rounding(face.score(model, i))
        face.learn(model, i, i + 1)
    if abs(model.n_mistakes_ - found) > ties:
        raise Difference(f"{model.n_mistakes_} mistakes are counted, predict made {found}")


def is_rounding(scores):
    """Whether the margin of the best score is rounding: terms that cancel.

    It is not if it is zero, unless that is what single precision has left of a double.
    """
    *_, second, best = np.sort([*np.ravel(scores), *[0.0] * (np.size(scores) == 1)])
    single = np.asarray(scores).dtype == np.float32
    unit = (1e-6 if single else 1e-12) * (1 + np.abs(scores).max())
    return best - second <= unit and bool(single or best > second)


def troubles_leave_no_trace(case, face, plain):
    run = Run(face)
    for stop, name, seed in case.plan:
        TROUBLES[name](run, np.random.default_rng(seed), stop)
    face.finish(run.model)
    _same("the troubled model", case, face, run.model, plain)


def _side_by_side(works):
    """Run each work in a thread of its own; return the errors they met."""
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


def threads_do_not_meddle(case, face, plain):
    """Models that learn side by side in threads are those that learn alone."""
    models = [face.setting.make() for _ in range(3)]

    def learn(model):
        face.learn(model, 0, len(case.data.X))
        face.finish(model)

    if errors := _side_by_side([functools.partial(learn, model) for model in models]):
        raise Difference(f"a learner in a thread met {errors[0]!r}")
    for model in models:
        _same("a model that learned in a thread", case, face, model, plain)


def writers_lose_nothing(case, face, plain):
    """Threads that teach one model: all rows are counted, the model is whole."""
    if not case.data.tame or case.setting.is_narrow:
        return
    model = face.setting.make()
    face.learn(model, 0, len(case.data.X))  # all classes are known
    if errors := _side_by_side([lambda: face.learn(model, 0, len(case.data.X))] * 2):
        if asks_the_impossible(case) and all(map(is_too_large, errors)):
            return
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
    fit_is_one_pass,
    mistakes_are_those_of_predict,
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
    changed = differences(face.anatomy(expected), face.anatomy(found))
    if changed:
        raise Difference("\n  ".join([f"{what} differs:", *changed[:8]]))


def _close(what, found, expected, case, least=0.0):
    """Compare scores; one that is too large for a number has to be so in both."""
    found, expected = (np.ravel(each).astype(np.float64) for each in (found, expected))
    with np.errstate(invalid="ignore"):
        gaps = np.abs(found - expected) / largest(expected)
    overflow = ~np.isfinite(found) & ~np.isfinite(expected)
    close = overflow | (gaps <= max(closeness(case), least))
    if not close.all():
        i = int(np.argmin(close))
        raise Difference(f"{what}: {found[i]!r} where {expected[i]!r} was expected (score {i})")


def _same_tally(what, case, found, expected):
    names = ["examples"]
    if case.data.dtype == np.float64 and case.setting.batch_size == 1:
        names.append("updates")
        if not case.data.repeats:  # else a tie may be a mistake; so it may in a batch
            names.append("mistakes")
    for name in names:
        if found[name] != expected[name]:
            raise Difference(f"{what}: {found[name]} {name}, {expected[name]} were expected")
