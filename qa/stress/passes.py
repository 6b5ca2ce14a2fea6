"""Cases of several passes: ``fit``, ``warm_start``, and ``partial_fit`` of later rows."""

from dataclasses import dataclass, field, replace

import numpy as np

from aggro.estimators.passes import permutation
from aggro.sklearn_api import check_random_state
from qa.stress import inputs, settings
from qa.stress.faults import run_plan
from qa.stress.one_pass import OnePass, draw_steps
from qa.stress.requirements import CONTROLS, ONE_MODEL, close, same
from qa.stress.runs import NOTHING, Difference, Step

# Combinations that are rarely drawn.
COMBINATIONS = (
    {"class_mean": 2.0, "batch_size": 4},
    {"class_mean": 0.3, "metric": "full"},
    {"metric": "full", "batch_size": 4},
    {"class_mean": 2.0, "metric": "full", "batch_size": 4},
    {"budget": 9, "budget_strategy": "projection"},
)
DURING_FIT = (  # a fit from scratch
    *(NOTHING, "interrupted at a line", "interrupted by the clock", "readers"),
    *("pickled", "deep copy", "saved and loaded", "a bad fit", "read"),
)


@dataclass
class Passes(OnePass):
    """A learner that is fitted one or more times before it learns a stream."""

    params: dict = field(default_factory=dict)

    several_passes = True

    def __str__(self):
        schedule = ", ".join(f"{name}={value!r}" for name, value in self.params.items())
        return f"{super().__str__()}\nschedule: {schedule}"

    @property
    def fits(self):
        """Return the steps that call ``fit``."""
        return [step for step in self.plan if step.action != "partial_fit"]

    @property
    def holds_out(self):
        """Return whether ``fit`` holds rows out to decide when to stop."""
        return self.params["early_stopping"]

    @property
    def fitted(self):
        """Return the number of rows of ``fit``."""
        return self.fits[0].stop if self.fits else 0

    @property
    def ignores_absent_rows(self):
        """Return whether rows of weight zero cannot change the order or choice of the others."""
        fitted = self.data.present[: self.fitted]
        labels = self.data.y[: len(fitted)]
        same_classes = self.data.classes is None or set(labels[fitted]) == set(labels)
        return not self.params["shuffle"] and not self.holds_out and same_classes

    def learn(self, adapter):
        """Return the control model: without faults, and with one call after the fits."""
        return adapter.finish(run_plan(adapter, self.control_plan(adapter), params=self.given))

    def control_plan(self, adapter):
        rows = len(adapter.data.X)
        stream = [Step(rows, NOTHING, 0)] if self.fitted < rows else []
        return [*(step._replace(fault=NOTHING) for step in self.fits), *stream]

    @property
    def given(self):
        """Return the parameters of the learner's schedule."""
        known = [name for name in self.params if self.setting.has(name)]
        return {name: self.params[name] for name in known}

    def without_absent_rows(self):
        before = np.cumsum(self.data.present)
        plan = [step._replace(stop=int(before[step.stop - 1])) for step in self.plan]
        return replace(self, plan=[step for step in plan if step.stop > 0])

    # -- the schedule ---------------------------------------------------------------------------

    def orders(self, rows, passes):
        """Yield the order of each pass of a ``fit``."""
        random = check_random_state(self.setting.params.get("random_state"))
        for _ in range(passes):
            if self.params["shuffle"]:
                yield permutation(rows, random.randint(2**31 - 1))
            else:
                yield np.arange(rows)

    def train_reference(self, reference, control):
        """Train the NumPy reference in the same passes; check their number in the last ``fit``."""
        if self.holds_out:
            raise ValueError("held-out rows are beyond the reference")
        passes = 1
        for step in self.fits:
            passes = self._fit_reference(reference, step.stop)
        rows = np.arange(self.fitted, len(self.data.X))
        if len(rows):
            reference.learn(rows)
        elif control.n_iter_ != passes:
            raise Difference(f"n_iter_ is {control.n_iter_}, the reference made {passes} passes")

    def _fit_reference(self, reference, rows):
        """Return the number of passes; raise ValueError if rounding may decide when they end."""
        tol, idle, best, uncertain = self.params["tol"], 0, np.inf, False
        unit = 1e-9 if self.data.dtype == np.float64 else 1e-3
        for number, order in enumerate(self.orders(rows, self.params["max_iter"]), start=1):
            before = reference.loss
            reference.learn(order, again=number > 1)
            loss = (reference.loss - before) / max(1, self.data.present[:rows].sum())
            if tol is None:
                continue
            uncertain |= abs(loss - best + tol) < unit * (1 + abs(loss))
            idle = 0 if loss <= best - tol else idle + 1
            best = min(best, loss)
            if idle >= self.params["n_iter_no_change"]:
                break
        if uncertain:
            raise ValueError("rounding decides when the passes end")
        return number


# -- requirements ----------------------------------------------------------------------------


def refit_starts_from_scratch(case, adapter, control):
    """A second ``fit`` gives the model of the first."""
    plan = case.control_plan(adapter)
    if not case.fits:
        return
    model = run_plan(adapter, plan, params=case.given)
    adapter.fit(model, plan[0].stop)
    first = run_plan(adapter, plan[:1], params=case.given)
    same("an estimator that is fitted again", case, adapter, model, first)


def mistakes_are_of_the_first_pass(case, adapter, control):
    """Later passes of ``fit`` are not counted."""
    if case.holds_out or not case.fits or case.data.classes is None:
        return
    several = run_plan(adapter, case.control_plan(adapter)[:1], params=case.given)
    once = run_plan(adapter, case.control_plan(adapter)[:1], params={**case.given, "max_iter": 1})
    if several.n_mistakes_ != once.n_mistakes_:
        counts = f"{several.n_mistakes_} mistakes, {once.n_mistakes_} in the first"
        raise Difference(f"several passes count {counts}")


def passes_are_calls(case, adapter, control):
    """Passes without shuffling equal calls of ``partial_fit`` if nothing is frozen."""
    learned = getattr(control._learner, "settings", None)
    exact = case.params["tol"] is None and not case.params["shuffle"]
    exact &= not case.setting.maps_features  # its statistics count each row once
    if not exact or case.holds_out or case.setting.selects or learned is None:
        return
    plain = learned.average in (False, True) and learned.class_mean == 0
    weighted = isinstance(case.setting.params.get("class_weight"), str)
    balanced = case.setting.batch_size == 1 or case.data.present.all()
    step = case.fits[0]
    divides = case.data.present[: step.stop].sum() % case.setting.batch_size == 0
    budget = case.setting.params.get("budget")  # repeated calls store equal rows twice
    if not (plain and balanced and divides) or weighted or budget:
        return
    if case.data.classes is not None and len(set(case.data.y[: step.stop])) != len(
        case.data.classes
    ):
        return
    calls = case.setting.make()
    for _ in range(case.params["max_iter"]):
        adapter.learn(calls, 0, step.stop)
    fitted = run_plan(adapter, [step._replace(fault=NOTHING)], params=case.given)
    what = f"{case.params['max_iter']} calls of partial_fit"
    close(what, adapter.scores(calls), adapter.scores(fitted), case)


def passes_are_at_most_max_iter(case, adapter, control):
    most = case.params["max_iter"]
    fitted = run_plan(adapter, case.control_plan(adapter)[:1], params=case.given)
    exact = case.params["tol"] is None
    if fitted.n_iter_ > most or (exact and fitted.n_iter_ != most):
        raise Difference(f"{fitted.n_iter_} passes with {case.params}")


Passes.requirements = (
    *ONE_MODEL,
    *CONTROLS,
    passes_are_at_most_max_iter,
    refit_starts_from_scratch,
    mistakes_are_of_the_first_pass,
    passes_are_calls,
)


# -- composing -------------------------------------------------------------------------------


def compose(seed, rng):
    """Return a case of several passes."""
    setting = _setting(rng)
    data = inputs.draw(rng, setting, rows=int(rng.integers(10, 90)))
    rows = len(data.X)
    fitted = int(rng.integers(6, rows + 1)) if rng.random() < 0.7 else rows
    if setting.classes:  # fit needs all classes at once
        data.targets[: setting.classes] = np.arange(setting.classes)
        if data.weights is not None:
            data.weights[: setting.classes] = 1.0
        inputs.encode_targets(data, setting)
    elif not data.present[:fitted].any():
        data.weights[0] = 1.0
    if setting.batch_size > 1:  # a mini-batch ends with its call
        fitted = rows
    setting = inputs.with_class_weight(rng, setting, data, balanced=fitted == rows)
    params = _schedule(rng, setting, data, streams=fitted < rows)
    plan = [_fit_step(rng, setting, fitted, "fit")]
    if setting.has("warm_start") and rng.random() < 0.3:
        plan.append(_fit_step(rng, setting, fitted, "warm fit"))
    if fitted < rows:
        plan += draw_steps(rng, setting, data, fitted)
    return Passes(seed, setting, data, plan, params)


def _setting(rng):
    while True:
        setting = settings.compose(rng)
        if setting.is_stream:
            continue
        some = COMBINATIONS[rng.integers(len(COMBINATIONS))]
        if rng.random() < 0.3 and all(map(setting.has, some)):
            setting = replace(setting, params={**setting.params, **some})
            if not settings.is_accepted(setting):
                continue
        return setting


def _schedule(rng, setting, data, streams):
    labels = np.bincount(data.targets) if setting.classes else np.array([2])
    enough = len(data.X) >= 40 and labels.min() >= 2
    holds_out = enough and not streams and setting.has("early_stopping") and rng.random() < 0.3
    return {
        "max_iter": int(rng.integers(2, 9)),
        "tol": [None, None, 1e-3, 0.0, 0.1][rng.integers(5)],
        "n_iter_no_change": int(rng.integers(1, 4)),
        "shuffle": bool(rng.integers(2)),
        "early_stopping": bool(holds_out),
        "validation_fraction": 0.3,
    }


def _fit_step(rng, setting, stop, action):
    names = [
        name for name in DURING_FIT if action == "fit" or name not in ("a bad fit", "deep copy")
    ]
    if callable(setting.params.get("kernel")):
        names.remove("saved and loaded")
    return Step(stop, names[rng.integers(len(names))], int(rng.integers(2**31)), action)
