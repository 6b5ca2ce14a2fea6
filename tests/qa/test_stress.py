"""The stress tool finds defects injected into the library, and a seed repeats its case."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[2]))

import aggro.estimators.base
import aggro.estimators.classifier
import aggro.estimators.linear
import aggro.io.sources
import aggro.serve.snapshots
from aggro.kernel_learner import KernelLearner
from aggro.learner import Learner, rows_of
from qa.stress import restores, rounding, selections, texts
from qa.stress.adapters import adapter_of
from qa.stress.cases import KINDS, compose, failure, kind_of, simplified
from qa.stress.faults import DURING, FAULTS, FOR_TEXTS, faults_for
from qa.stress.files import TruncatedTable
from qa.stress.inputs import Data
from qa.stress.one_pass import OnePass
from qa.stress.passes import Passes
from qa.stress.requirements import but_for_rounding, close, is_rounding
from qa.stress.restores import Restore
from qa.stress.rounding import depends_on_rounding, jumped, jumps, magnifies, may_be_infeasible
from qa.stress.runs import NOTHING, Difference, Run, Step, by_deepcopy
from qa.stress.selections import Selection
from qa.stress.settings import Setting

SCHEDULE = {
    "max_iter": 3,
    "tol": None,
    "n_iter_no_change": 1,
    "shuffle": False,
    "early_stopping": False,
    "validation_fraction": 0.3,
}


def simple_data(weights=None):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    y = X[:, :3].argmax(axis=1)
    return Data(X, y, y, np.arange(3), weights, np.dtype("float64"), "dense")


def simple_case(fault=NOTHING, seed=2, **params):
    """Return a simple case with one fault after row 10."""
    params = {"C": 0.4, "random_state": 0, **params}
    setting = Setting("PassiveAggressiveClassifier", params, "multiclass", 3)
    plan = [Step(10, NOTHING, 1), Step(20, fault, seed), Step(30, NOTHING, 3)]
    return OnePass(1, setting, simple_data(), plan)


def passes_case(
    fault=NOTHING, name="PassiveAggressiveClassifier", weights=None, seed=2, **schedule
):
    """Return a case of ``fit`` and a warm start on 20 rows, then ``partial_fit`` of 10 rows."""
    params = {"C": 0.4, "random_state": 0, "average": False}
    if name.startswith("Kernel"):
        params["gamma"] = 0.5
    setting = Setting(name, params, "multiclass", 3)
    warm = Step(20, fault, seed, "warm fit")
    plan = [Step(20, NOTHING, 1, "fit"), *([warm] if setting.has("warm_start") else [])]
    plan.append(Step(30, NOTHING, 3))
    return Passes(1, setting, simple_data(weights), plan, {**SCHEDULE, **schedule})


@pytest.mark.parametrize("seed", range(0, 200, 20))
def test_same_seed_gives_the_same_case(seed):
    one, two = compose(seed), compose(seed)
    assert str(one) == str(two) and f"seed {seed}" in str(one)
    assert str(vars(one)) == str(vars(two))


def test_every_kind_and_every_fault_is_drawn():
    assert {kind_of(seed) for seed in range(600)} == set(KINDS)
    plans = [case.plan for seed in range(600) if isinstance(case := compose(seed), OnePass)]
    assert {step.fault for plan in plans for step in plan} == FAULTS.keys()


@pytest.mark.parametrize("fault", faults_for(simple_case().setting))
def test_simple_learner_withstands_every_fault(fault):
    assert failure(simple_case(fault)) is None


@pytest.mark.parametrize("fault", [NOTHING, "a bad fit", "saved and loaded", *DURING])
@pytest.mark.parametrize(
    "name", ["PassiveAggressiveClassifier", "KernelPassiveAggressiveClassifier"]
)
def test_simple_fit_withstands_every_fault(fault, name):
    assert failure(passes_case(fault, name)) is None


# -- defects injected into the library ------------------------------------------------------


def flawed_copy(monkeypatch):
    keep = Learner.__setstate__

    def restore(self, state):
        keep(self, state)
        self.model.weights_view()[0, 0] += 1e-9

    monkeypatch.setattr(Learner, "__setstate__", restore)


def no_undo(monkeypatch):
    learn = Learner.learn

    def never_back(self, rows, **batch):
        learn(self, rows, **{**batch, "undo": False})

    monkeypatch.setattr(Learner, "learn", never_back)


def wrong_sparse_rows(monkeypatch):
    def spoiled(X):
        return rows_of(X * (1 + 1e-4) if hasattr(X, "indptr") else X)

    monkeypatch.setattr(aggro.estimators.linear, "rows_of", spoiled)


def wrong_C(monkeypatch):
    rule = aggro.settings.LOSSES["hinge"]
    monkeypatch.setitem(aggro.settings.LOSSES, "hinge", lambda s: rule(replace(s, C=1.01 * s.C)))


DEFECTS = {
    flawed_copy: ("pickled", "met faults differs"),
    no_undo: ("a bad value", "rejected, changed the model"),
    wrong_sparse_rows: (NOTHING, "stored as"),
    wrong_C: (NOTHING, "reference"),
}


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.__name__)
def test_defects_are_found(defect, monkeypatch):
    fault, words = DEFECTS[defect]
    defect(monkeypatch)
    case = simple_case(fault)
    assert words in failure(case)
    kept = [step.fault for step in simplified(case).plan]
    assert (fault in kept) == (fault != NOTHING) or kept == [NOTHING]


def rows_of_an_interrupted_call(monkeypatch):
    learn = Learner.learn

    def learn_some(self, rows, **batch):
        try:
            learn(self, rows, **batch)
        except KeyboardInterrupt:
            self.model.weights_view()[0, 0] += 1
            raise

    monkeypatch.setattr(Learner, "learn", learn_some)


def warm_start_without_a_copy(monkeypatch):
    cls = aggro.estimators.linear.LinearModel
    monkeypatch.setattr(cls, "_copied_learner", lambda self, settings: self._learner)


AMID_CALLS = {rows_of_an_interrupted_call: simple_case, warm_start_without_a_copy: passes_case}


@pytest.mark.parametrize("defect", AMID_CALLS, ids=lambda defect: defect.__name__)
def test_defects_of_interrupted_calls_are_found(defect, monkeypatch):
    """At least one of several interrupts falls on the lines in question."""
    defect(monkeypatch)
    fault, compose_case = "interrupted at a line", AMID_CALLS[defect]
    assert any(failure(compose_case(fault, seed=seed)) for seed in range(100))


def ignored_class_weight(monkeypatch):
    name = "class_weights"
    monkeypatch.setattr(aggro.estimators.classifier, name, lambda *args: np.ones(3))


def test_ignored_class_weights_are_found(monkeypatch):
    weights = {0: 4.0, 1: 0.25, 2: 1.0}
    assert failure(simple_case(class_weight=weights)) is None
    ignored_class_weight(monkeypatch)
    assert "reference" in failure(simple_case(class_weight=weights))


def all_passes_are_counted(monkeypatch):
    monkeypatch.setattr(KernelLearner, "freeze_means", lambda self, frozen=True: None)


def refit_that_goes_on(monkeypatch):
    cls = aggro.estimators.linear.LinearModel
    monkeypatch.setattr(cls, "_continued", lambda self: vars(self).get("_fitted"))


def absent_rows_are_learned(monkeypatch):
    read = aggro.estimators.classifier.read_weights

    def some_weight(weights, count):
        found = read(weights, count)
        return None if found is None else np.maximum(found, 0.1)

    monkeypatch.setattr(aggro.estimators.classifier, "read_weights", some_weight)


ABSENT = np.where(np.arange(30) % 3 == 1, 0.0, 1.0)
OF_PASSES = {
    all_passes_are_counted: ({"name": "KernelPassiveAggressiveClassifier"}, "several passes count"),
    refit_that_goes_on: ({}, "fitted again differs"),
    absent_rows_are_learned: ({"weights": ABSENT}, "reference"),
}


@pytest.mark.parametrize("defect", OF_PASSES, ids=lambda defect: defect.__name__)
def test_defects_of_several_passes_are_found(defect, monkeypatch):
    case, words = OF_PASSES[defect]
    assert failure(passes_case(**case)) is None
    defect(monkeypatch)
    assert words in failure(passes_case(**case))


@pytest.mark.parametrize("tol", [0.3, 0.1, 0.01])
def test_number_of_passes_equals_that_of_the_reference(tol, monkeypatch):
    case = passes_case(tol=tol, max_iter=8)
    case = replace(case, plan=[Step(30, NOTHING, 1, "fit")])
    assert failure(case) is None
    fit = aggro.PassiveAggressiveClassifier.fit

    def one_more(self, *args, **kwargs):
        fit(self, *args, **kwargs)
        self._fitted = self._fitted.changed(n_iter=self.n_iter_ + 1)
        return self

    monkeypatch.setattr(aggro.PassiveAggressiveClassifier, "fit", one_more)
    assert "the reference made" in failure(case)


# -- other kinds -----------------------------------------------------------------------------


@pytest.mark.parametrize("fault", FOR_TEXTS)
def test_text_learner_withstands_every_fault(fault):
    rng = np.random.default_rng(3)
    data = texts._draw(rng, regression=False)
    params = {"n_features": 64, "random_state": 1, "C": 1.0, "metric": "euclidean", "idf": True}
    plan = [Step(8, NOTHING, 1, "fit"), Step(10, fault, 2), Step(len(data.X), NOTHING, 3)]
    setting = texts.TextSetting("TextClassifier", params)
    assert failure(texts.TextCase(1, setting, data, plan, SCHEDULE)) is None


def test_half_read_file_is_found(monkeypatch):
    case = TruncatedTable(1, ".svm", ".xz", 200, 0.5)
    assert failure(case) is None
    reader = aggro.io.sources.Decompressed
    read = reader._read_some

    def forgiving(self, size):
        try:
            return read(self, size)
        except EOFError:
            return b""

    monkeypatch.setattr(reader, "_read_some", forgiving)
    assert "were read as" in failure(case)


def test_restore_that_loses_updates_is_found(monkeypatch):
    actions = ("learn 10", "copy_journal", "learn 20", "snapshot", "copy_snapshot", "restore")
    plan = [(each.split()[0], int(each.split()[-1]) if " " in each else "") for each in actions]
    case = Restore(1, "PA-I", {}, [*plan, ("learn", 5), ("crash", ""), ("learn", 1)])
    assert failure(case) is None
    newest = aggro.serve.snapshots.Snapshots.newest

    def ignore_the_journal(self, journal):
        last, at = journal.last, journal.checksum_at
        snapshot = max(map(int, (p.stem[6:] for p in self.folder.glob("model-*.aggro"))))
        journal.last = max(last, snapshot)
        journal.checksum_at = lambda seq: (
            self.read(seq).notes.checksum if seq > last and seq == snapshot else at(seq)
        )
        try:
            return newest(self, journal)
        finally:
            journal.last = last
            del journal.checksum_at

    monkeypatch.setattr(aggro.serve.snapshots.Snapshots, "newest", ignore_the_journal)
    assert failure(case) is not None


def test_model_selection_that_ignores_weights_is_found(monkeypatch):
    case = Selection(4, "a rare class", "PassiveAggressiveClassifier", {"C": "auto"}, 1500)
    monkeypatch.setattr(Selection, "make", lambda self: self.fixed(1e-7))
    assert "balanced accuracy" in failure(case)


def test_every_scenario_is_drawn():
    cases = [selections.compose(0, np.random.default_rng(k)) for k in range(100)]
    drawn = {case.scenario for case in cases}
    assert drawn == selections.SCENARIOS.keys()
    plans = [restores.compose(0, np.random.default_rng(k)).plan for k in range(50)]
    assert {action for plan in plans for action, _ in plan} >= {*restores.ACTIONS, "restore"}


# -- tolerances ------------------------------------------------------------------------------


def test_infinite_scores_must_be_equal():
    case = simple_case()
    large = np.array([1.0, np.inf, np.nan])
    close("scores", np.array([1.0, np.nan, -np.inf]), large, case)
    with pytest.raises(Difference, match="score 1"):
        close("scores", np.array([1.0, 2.0, np.nan]), large, case)
    with pytest.raises(Difference, match="score 0"):
        close("scores", np.array([1.1, np.inf, np.nan]), large, case)


SENSITIVE = [
    Setting("ConfidenceWeightedClassifier", {"loss": "cw_stdev"}, "multiclass", 3),
    Setting("PassiveAggressiveClassifier", {"loss": "hard", "batch_size": 4}, "multiclass", 3),
    Setting("SoftConfidenceWeightedClassifier", {"C": np.inf}, "multiclass", 3),
    Setting("PassiveAggressiveClassifier", {"multiclass": "predicted"}, "multiclass", 3),
]


@pytest.mark.parametrize("setting", SENSITIVE, ids=str)
@pytest.mark.parametrize(
    "learned",
    [
        lambda case, X: (np.sign(X - case.data.X), 0),  # other scores
        lambda case, X: (np.zeros(3), float(np.abs(X - case.data.X).sum())),  # other updates
    ],
)
def test_only_differences_caused_by_rounding_are_accepted(setting, learned, monkeypatch):
    simple = simple_case()
    sensitive = replace(simple, setting=setting)
    assert not magnifies(sensitive)
    assert jumps(sensitive) == ("multiclass" not in setting.params)
    assert not jumps(simple)
    monkeypatch.setattr(rounding, "_learned", learned)
    assert magnifies(sensitive)
    assert not magnifies(simple)

    @but_for_rounding
    def differs(case, adapter, model):
        raise Difference("as always")

    differs(sensitive, None, None)
    with pytest.raises(Difference, match="as always"):
        differs(simple, None, None)


def test_repeated_rows_make_hard_steps_sensitive(monkeypatch):
    simple = simple_case()
    hard = replace(simple, setting=replace(simple.setting, params={"loss": "hard"}))
    twice = np.concatenate([simple.data.X[:-1], simple.data.X[:1]])
    again = replace(hard, data=replace(simple.data, X=twice))
    passes = replace(passes_case(), setting=hard.setting)
    assert not magnifies(again) and not magnifies(passes)
    monkeypatch.setattr(rounding, "_learned", lambda case, X: (np.sign(X - case.data.X), 0))
    assert magnifies(again) and magnifies(passes) and not magnifies(hard)
    assert not magnifies(replace(again, setting=simple.setting))


def test_only_equal_rows_of_a_hard_batch_may_be_contradictory():
    params = {"loss": "hard", "batch_size": 4}
    simple = simple_case()
    twice = np.concatenate([simple.data.X[:-1], simple.data.X[:1]])
    data = replace(simple.data, X=twice, dtype=np.dtype(np.float32))
    hard = replace(simple, setting=replace(simple.setting, params=params), data=data)
    assert may_be_infeasible(hard)
    for changes in ({"loss": "hinge"}, {"batch_size": 1}):
        setting = replace(simple.setting, params=params | changes)
        assert not may_be_infeasible(replace(hard, setting=setting))
    for changes in ({"X": simple.data.X}, {"dtype": np.dtype(np.float64)}):
        assert not may_be_infeasible(replace(hard, data=replace(data, **changes)))


def test_copy_may_reject_huge_rows_and_old_names():
    case = simple_case()
    run = Run(adapter_of(case.setting, case.data))
    run.perform(Step(3, NOTHING, 0))

    def reject(*_):
        raise ValueError("its score overflows")

    run.adapter.learn = reject
    with pytest.raises(ValueError, match="overflows"):
        by_deepcopy(run, None)
    run.adapter.data = replace(run.adapter.data, well_scaled=False)
    by_deepcopy(run, None)
    narrow = replace(case.setting, params={"max_features": 13, "batch_size": 4})
    run.adapter.data, run.adapter.setting = case.data, narrow
    by_deepcopy(run, None)
    assert not replace(narrow, params={"max_features": 13}).is_narrow
    assert not replace(narrow, params={"batch_size": 4}).is_narrow


def test_model_selection_may_depend_on_ties_of_repeated_rows():
    auto = Setting("PassiveAggressiveClassifier", {"C": "auto"}, "binary", 1)
    selection = replace(simple_case(), setting=auto)
    rows = selection.data.X
    twice = replace(selection.data, X=np.concatenate([rows[:-1], rows[:1]]))
    assert not depends_on_rounding(selection)
    assert depends_on_rounding(replace(selection, data=twice))
    numbers = replace(selection, data=replace(twice, classes=None))
    assert depends_on_rounding(replace(numbers, setting=replace(auto, task="multilabel")))
    assert not depends_on_rounding(replace(numbers, setting=replace(auto, task="regression")))


def test_only_terms_that_cancel_up_to_rounding_are_ties():
    for scores in (1e-16, [-1e-13], [0.3, 0.3 + 1e-16, 0.1], [1e6, 1e6 + 1e-9]):
        assert is_rounding(np.array(scores))
    for scores in (0.0, [1e-9], [0.3, 0.3, 0.1], [0.3, 0.31]):  # exact zeros and exact ties
        assert not is_rounding(np.array(scores))


class Counts:
    """An adapter that counts one update per row, one less at row 3 in single precision."""

    def __init__(self, setting, data):
        self.setting, self.data = self, data

    def make(self):
        return []

    def learn(self, model, start, stop):
        model.append(start != 3 or self.data.dtype == np.float64)

    def counts(self, model):
        return {"updates": sum(model) + (len(model) > 4 and not model[3])}


def test_single_precision_may_treat_a_loss_as_rounding(monkeypatch):
    """The difference is found at its row, even if the final counts are equal."""
    simple, params = simple_case(), {"metric": "diagonal"}
    single = replace(simple, data=replace(simple.data, dtype=np.dtype(np.float32)))
    learns = replace(single, setting=replace(simple.setting, params=params))
    assert not jumped(learns)
    monkeypatch.setattr(rounding, "adapter_of", Counts)
    assert jumped(learns)
    for other in (simple, single, replace(learns, data=simple.data)):
        assert not jumped(other)
    batch = replace(learns, setting=replace(simple.setting, params=params | {"batch_size": 4}))
    assert not jumped(batch)
