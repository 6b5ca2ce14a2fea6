"""Cases of text estimators: several passes of ``fit``, then texts in calls of ``partial_fit``."""

import inspect
from dataclasses import dataclass, field, replace

import numpy as np

import aggro
from qa.stress.adapters import EstimatorAdapter
from qa.stress.faults import FOR_TEXTS, run_plan
from qa.stress.passes import (
    DURING_FIT,
    Passes,
    mistakes_are_of_the_first_pass,
    refit_starts_from_scratch,
)
from qa.stress.requirements import (
    close,
    faults_leave_no_trace,
    predictions_are_classes,
    same,
    zero_weight_is_absent,
)
from qa.stress.runs import Difference, Step

VALUES = {
    "ngram_range": ("auto", (1, 1), (1, 2)),
    "idf": ("auto", True, False),
    "C": ("auto", 0.1, 2.0),
    "metric": ("auto", "euclidean", "diagonal"),
    "average": ("auto", True, False),
    "multiclass": ("support", "ovr"),
    "analyzer": ("word", "char_wb"),
    "sublinear_tf": (False, True),
    "binary": (False, True),
    "keep_names": (True, False),
    "probability": (True, False),
    "forgetting": (0.0, 0.01),
}
OTHER = ["", "   ", "ÉTÉ été", "x" * 300, "1 2 3", "the the the", "\x00", "日本 語"]


@dataclass(frozen=True)
class TextSetting:
    """A text estimator and its parameters."""

    name: str
    params: dict

    is_stream = is_kernel = is_narrow = selects = False
    batch_size = 1

    def has(self, name):
        return name in inspect.signature(getattr(aggro, self.name)).parameters

    def make(self, **params):
        return getattr(aggro, self.name)(**{**self.params, **params})

    def __str__(self):
        shown = ", ".join(f"{name}={value!r}" for name, value in sorted(self.params.items()))
        return f"{self.name}({shown})"


@dataclass
class TextData:
    """Texts with their labels or values."""

    X: np.ndarray
    y: np.ndarray
    targets: np.ndarray
    classes: np.ndarray | None
    weights: np.ndarray | None
    labels: list | None = None  # of sets
    declared: bool = True  # whether the first call gets all classes or labels
    notes: list = field(default_factory=list)

    dtype, well_scaled = np.dtype(np.float32), True

    @property
    def repeats(self):
        return len(set(self.X.tolist())) < len(self.X)

    @property
    def present(self):
        return np.ones(len(self.X), bool) if self.weights is None else self.weights > 0

    def __str__(self):
        kind = "numbers" if self.classes is None else f"classes {self.classes.tolist()}"
        return "; ".join([f"{len(self.X)} texts", kind, *self.notes])


class TextAdapter(EstimatorAdapter):
    """Learns texts in calls of ``partial_fit`` or ``fit``."""

    def __init__(self, setting, data):
        self.setting, self.data = setting, data
        self.rows = data.X.tolist()
        known = data.labels if data.classes is None else data.classes
        self.announce = {} if known is None or not data.declared else {"classes": known}

    def finish(self, model):
        return model

    def counts(self, model):
        return {"examples": self.counted(model), "mistakes": getattr(model, "n_mistakes_", 0)}


class TextCase(Passes):
    """A text estimator, its texts, and a plan of steps with faults."""

    adapter = TextAdapter


def scores_are_finite(case, adapter, control):
    if not np.isfinite(adapter.scores(control)).all():
        raise Difference("the scores are not all finite")


def threads_change_nothing(case, adapter, control):
    """Two threads give the same model as one."""
    other = TextAdapter(
        replace(case.setting, params={**case.setting.params, "n_jobs": 2}), case.data
    )
    close("two threads", other.scores(case.learn(other)), adapter.scores(control), case)


def stream_may_be_cut(case, adapter, control):
    """Learning texts one by one equals one call."""
    model = run_plan(adapter, case.plan[: len(case.fits)], params=case.given)
    for i in range(case.fitted, min(len(case.data.X), case.fitted + 60)):
        adapter.learn(model, i, i + 1)
    rest = min(len(case.data.X), case.fitted + 60)
    adapter.learn(model, rest, len(case.data.X))
    same("texts one by one", case, adapter, model, control)


def mistakes_are_those_of_predict(case, adapter, control):
    """Counted mistakes are those of ``predict``; document frequencies include the text itself."""
    if case.data.classes is None or case.setting.params.get("idf", "auto") is not False:
        return
    model = run_plan(adapter, case.plan[: len(case.fits)], params=case.given)
    rows = case.fitted + np.flatnonzero(case.data.present[case.fitted :])
    if not adapter.counted(model):  # a model without examples does not predict
        adapter.learn(model, 0, 1)
        rows = rows[1:]
    before, found, ties = model.n_mistakes_, 0, 0
    for i in rows[:80]:
        scores = np.sort(np.append(np.ravel(model.decision_function(adapter.rows[i : i + 1])), 0))
        ties += bool(np.diff(scores).min() < 1e-6 * (1 + np.abs(scores).max()))
        found += adapter.prediction(model, i) != case.data.y[i]
        adapter.learn(model, i, i + 1)
    if abs(model.n_mistakes_ - before - found) > ties:
        text = f"{model.n_mistakes_ - before} mistakes are counted, predict made {found}"
        raise Difference(text)


TextCase.requirements = (
    scores_are_finite,
    predictions_are_classes,
    zero_weight_is_absent,
    faults_leave_no_trace,
    threads_change_nothing,
    stream_may_be_cut,
    mistakes_are_those_of_predict,
    refit_starts_from_scratch,
    mistakes_are_of_the_first_pass,
)


# -- composing -------------------------------------------------------------------------------


def compose(seed, rng):
    """Return a case of a text estimator."""
    regression = rng.random() < 0.25
    name = "TextRegressor" if regression else "TextClassifier"
    params = {"n_features": int(rng.choice([64, 1024])), "random_state": int(rng.integers(100))}
    setting = TextSetting(name, params)
    for each, values in VALUES.items():
        if setting.has(each) and rng.random() < 0.35:
            params[each] = values[rng.integers(len(values))]
    data = _draw(rng, regression)
    if not regression and rng.random() < 0.2:
        _use_sets(rng, data)
    rows = len(data.X)
    fitted = [0, rows, int(rng.integers(rows // 2, rows))][rng.integers(3)]
    schedule = {
        "max_iter": int(rng.integers(2, 5)),
        "tol": None,
        "shuffle": bool(rng.integers(2)),
        "early_stopping": False,
    }
    plan = []
    if fitted:
        during = [name for name in DURING_FIT if name in FOR_TEXTS]
        plan.append(Step(fitted, _pick(rng, during), int(rng.integers(2**31)), "fit"))
    if fitted < rows:
        stops = {*rng.integers(fitted + 1, rows + 1, rng.integers(0, 6)).tolist(), rows}
        faults = [_pick(rng, FOR_TEXTS) for _ in stops]
        plan += [
            Step(stop, fault, int(rng.integers(2**31)))
            for stop, fault in zip(sorted(stops), faults, strict=True)
        ]
    return TextCase(seed, setting, data, plan, schedule)


def _draw(rng, regression):
    count = int(rng.integers(1050, 1300)) if rng.random() < 0.03 else int(rng.integers(12, 80))
    classes = None if regression else np.array(["ham", "list", "spam"])[: rng.integers(2, 4)]
    kinds = rng.integers(0, 3 if regression else len(classes), count)
    if not regression:
        kinds[: len(classes)] = np.arange(len(classes))  # fit needs all classes at once
    texts = []
    for i, kind in enumerate(kinds):
        if i >= 3 and rng.random() < 0.1:
            texts.append(OTHER[rng.integers(len(OTHER))])
            continue
        own = [f"k{kind}w{rng.integers(1 + i // 8)}" for _ in range(rng.integers(1, 4))]
        texts.append(" ".join([*own, *(f"s{rng.integers(30)}" for _ in range(5))]))
    targets = kinds + 0.1 * rng.standard_cauchy(count) if regression else kinds
    y = targets if regression else classes[kinds]
    weights = rng.choice([0.0, 0.5, 1.0, 2.0], count) if rng.random() < 0.5 else None
    if weights is not None:
        weights[:3] = 1.0
    return TextData(np.array(texts, dtype=object), y, targets, classes, weights)


def _use_sets(rng, data):
    """Give each text the set of its class and possibly another label, or no label."""
    sets = [{label} if i < 3 or rng.random() < 0.8 else set() for i, label in enumerate(data.y)]
    for i in {0, *np.flatnonzero(rng.random(len(sets)) < 0.4).tolist()}:
        sets[i].add("long")
    data.y, data.labels = np.array([*sets, None], dtype=object)[:-1], sorted(set().union(*sets))
    data.classes = None
    data.declared = bool(rng.random() < 0.5)
    data.notes.append("sets of labels" if data.declared else "sets of labels that appear")


def _pick(rng, values):
    return values[rng.integers(len(values))]
