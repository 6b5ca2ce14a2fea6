"""The stress command finds what it is made to find, and a seed repeats its case."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[1]))

import aggro.estimators.classifier
from aggro.learn.learner import Learner, rows_of
from qa.stress import twins
from qa.stress.check import Case, compose, failure, simplified
from qa.stress.faces import face_of
from qa.stress.inputs import Data
from qa.stress.requirements import _close, but_for_rounding, is_rounding
from qa.stress.runs import Difference, Run, by_deepcopy
from qa.stress.settings import Setting
from qa.stress.troubles import TROUBLES
from qa.stress.twins import asks_the_impossible, hangs_on_rounding, jumped, jumps, magnifies


def plain_case(trouble="a cut"):
    """A case without any difficulty, except that one trouble happens after row 10."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    y = X[:, :3].argmax(axis=1)
    data = Data(X, y, y, np.arange(3), None, np.dtype("float64"), "dense")
    params = {"C": 0.4, "random_state": 0}
    setting = Setting("PassiveAggressiveClassifier", params, "multiclass", 3)
    return Case(1, setting, data, [(10, "a cut", 1), (20, trouble, 2), (30, "a cut", 3)])


@pytest.mark.parametrize("seed", range(0, 200, 20))
def test_a_seed_is_a_case(seed):
    one, two = compose(seed), compose(seed)
    assert str(one) == str(two) and f"seed {seed}" in str(one)
    assert one.data.X.tobytes() == two.data.X.tobytes()


def test_every_trouble_is_met():
    met = {name for seed in range(300) for _, name, _ in compose(seed).plan}
    assert met == TROUBLES.keys()


@pytest.mark.parametrize("trouble", TROUBLES)
def test_a_plain_learner_has_no_trouble(trouble):
    assert failure(plain_case(trouble)) is None


def flawed_copy(monkeypatch):
    keep = Learner.__setstate__

    def restore(self, state):
        keep(self, state)
        self.model.weights_view()[0, 0] += 1e-9

    monkeypatch.setattr(Learner, "__setstate__", restore)


def no_undo(monkeypatch):
    learn = Learner.learn

    def never_back(self, rows, **lesson):
        learn(self, rows, **{**lesson, "undo": False})

    monkeypatch.setattr(Learner, "learn", never_back)


def uncounted_interrupt(monkeypatch):
    learn = Learner.learn

    def lose_the_first_row(self, rows, **lesson):
        if sys.gettrace():
            learn(self, rows, **lesson)
            self.model.weights_view()[0, 0] += 1
            raise KeyboardInterrupt
        learn(self, rows, **lesson)

    monkeypatch.setattr(Learner, "learn", lose_the_first_row)


def wrong_sparse_rows(monkeypatch):
    def spoiled(X):
        return rows_of(X * (1 + 1e-4) if hasattr(X, "indptr") else X)

    monkeypatch.setattr(aggro.estimators.weights, "rows_of", spoiled)


def wrong_price(monkeypatch):
    rule = aggro.settings.LOSSES["hinge"]
    monkeypatch.setitem(aggro.settings.LOSSES, "hinge", lambda s: rule(replace(s, C=1.01 * s.C)))


FAULTS = {
    flawed_copy: ("pickled", "troubled model differs"),
    no_undo: ("a bad value", "was refused, but changed the model"),
    uncounted_interrupt: ("interrupted at a line", "troubled model differs"),
    wrong_sparse_rows: ("a cut", "stored as"),
    wrong_price: ("a cut", "twin"),
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_planted_faults_are_found(fault, monkeypatch):
    trouble, words = FAULTS[fault]
    fault(monkeypatch)
    case = plain_case(trouble)
    assert words in failure(case)
    kept = [name for _, name, _ in simplified(case).plan]
    assert (trouble in kept) == (trouble != "a cut") or kept == ["a cut"]


def test_scores_beyond_all_numbers_must_be_so_in_both():
    case = plain_case("a cut")
    large = np.array([1.0, np.inf, np.nan])
    _close("scores", np.array([1.0, np.nan, -np.inf]), large, case)
    with pytest.raises(Difference, match="score 1"):
        _close("scores", np.array([1.0, 2.0, np.nan]), large, case)
    with pytest.raises(Difference, match="score 0"):
        _close("scores", np.array([1.1, np.inf, np.nan]), large, case)


SENSITIVE = [
    Setting("ConfidenceWeightedClassifier", {"loss": "cw_stdev"}, "multiclass", 3),
    Setting("PassiveAggressiveClassifier", {"loss": "hard", "batch_size": 4}, "multiclass", 3),
    Setting("SoftConfidenceWeightedClassifier", {"C": np.inf}, "multiclass", 3),
    Setting("PassiveAggressiveClassifier", {"multiclass": "predicted"}, "multiclass", 3),
]


@pytest.mark.parametrize("setting", SENSITIVE, ids=str)
@pytest.mark.parametrize(
    "taught",
    [
        lambda case, X: (np.sign(X - case.data.X), 0),  # other scores
        lambda case, X: (np.zeros(3), float(np.abs(X - case.data.X).sum())),  # other updates
    ],
)
def test_only_what_hangs_on_last_digits_is_excused(setting, taught, monkeypatch):
    plain = plain_case()
    sensitive = replace(plain, setting=setting)
    assert not magnifies(sensitive)
    assert jumps(sensitive) == ("multiclass" not in setting.params)
    assert not jumps(plain)
    monkeypatch.setattr(twins, "_taught", taught)
    assert magnifies(sensitive)
    assert not magnifies(plain)

    @but_for_rounding
    def differs(case, face, model):
        raise Difference("as always")

    differs(sensitive, None, None)
    with pytest.raises(Difference, match="as always"):
        differs(plain, None, None)


def test_a_hard_step_is_sensitive_where_its_row_comes_again(monkeypatch):
    plain = plain_case()
    hard = replace(plain, setting=replace(plain.setting, params={"loss": "hard"}))
    twice = np.concatenate([plain.data.X[:-1], plain.data.X[:1]])
    again = replace(hard, data=replace(plain.data, X=twice))
    assert not magnifies(again)
    monkeypatch.setattr(twins, "_taught", lambda case, X: (np.sign(X - case.data.X), 0))
    assert magnifies(again) and not magnifies(hard)
    assert not magnifies(replace(again, setting=plain.setting))


def test_only_equal_rows_of_a_hard_batch_may_ask_the_impossible():
    params = {"loss": "hard", "batch_size": 4}
    plain = plain_case()
    twice = np.concatenate([plain.data.X[:-1], plain.data.X[:1]])
    data = replace(plain.data, X=twice, dtype=np.dtype(np.float32))
    hard = replace(plain, setting=replace(plain.setting, params=params), data=data)
    assert asks_the_impossible(hard)
    for changes in ({"loss": "hinge"}, {"batch_size": 1}):
        setting = replace(plain.setting, params=params | changes)
        assert not asks_the_impossible(replace(hard, setting=setting))
    for changes in ({"X": plain.data.X}, {"dtype": np.dtype(np.float64)}):
        assert not asks_the_impossible(replace(hard, data=replace(data, **changes)))


def test_a_copy_may_refuse_what_is_huge_or_of_long_ago_the_second_time():
    case = plain_case()
    run = Run(face_of(case.setting, case.data))
    run.learn(3)

    def refuse(*_):
        raise ValueError("its score overflows")

    run.face.learn = refuse
    with pytest.raises(ValueError, match="overflows"):
        by_deepcopy(run, None)
    run.face.data = replace(run.face.data, tame=False)
    by_deepcopy(run, None)
    narrow = replace(case.setting, params={"max_features": 13, "batch_size": 4})
    run.face.data, run.face.setting = case.data, narrow
    by_deepcopy(run, None)
    assert not replace(narrow, params={"max_features": 13}).is_narrow
    assert not replace(narrow, params={"batch_size": 4}).is_narrow


def test_a_race_may_hang_on_the_ties_of_rows_that_come_again():
    auto = Setting("PassiveAggressiveClassifier", {"C": "auto"}, "binary", 1)
    race = replace(plain_case(), setting=auto)
    twice = replace(race.data, X=np.concatenate([race.data.X[:-1], race.data.X[:1]]))
    assert not hangs_on_rounding(race)
    assert hangs_on_rounding(replace(race, data=twice))
    numbers = replace(race, data=replace(twice, classes=None))
    assert hangs_on_rounding(replace(numbers, setting=replace(auto, task="multilabel")))
    assert not hangs_on_rounding(replace(numbers, setting=replace(auto, task="regression")))


def test_only_terms_that_cancel_but_for_rounding_are_ties():
    for scores in (1e-16, [-1e-13], [0.3, 0.3 + 1e-16, 0.1], [1e6, 1e6 + 1e-9]):
        assert is_rounding(np.array(scores))
    for scores in (0.0, [1e-9], [0.3, 0.3, 0.1], [0.3, 0.31]):  # zeros and equals are exact
        assert not is_rounding(np.array(scores))


class Counts:
    """A face whose learners count an update for each row, single precision one less at row 3."""

    def __init__(self, setting, data):
        self.setting, self.data = self, data

    def make(self):
        return []

    def learn(self, model, start, stop):
        model.append(start != 3 or self.data.dtype == np.float64)

    def tally(self, model):
        return {"updates": sum(model) + (len(model) > 4 and not model[3])}


def test_single_precision_may_take_a_loss_for_rounding(monkeypatch):
    """It is seen at the row where that happens, though in the end as many are counted."""
    plain, params = plain_case(), {"metric": "diagonal"}
    single = replace(plain, data=replace(plain.data, dtype=np.dtype(np.float32)))
    learns = replace(single, setting=replace(plain.setting, params=params))
    assert not jumped(learns)
    monkeypatch.setattr(twins, "face_of", Counts)
    assert jumped(learns)
    for other in (plain, single, replace(learns, data=plain.data)):
        assert not jumped(other)
    batch = replace(learns, setting=replace(plain.setting, params=params | {"batch_size": 4}))
    assert not jumped(batch)
