"""Rows that come next choose between two merges of a round, and between two prices."""

import copy
import uuid
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

pytest.importorskip("dask")

import dask
from dask import array as dask_array

from aggro import PassiveAggressiveClassifier
from aggro.classes import Classes
from aggro.dask import rounds as rounds_module
from aggro.dask.estimators import on_dask
from aggro.dask.inputs import Partition, partitions_of
from aggro.dask.models import go_on_with
from aggro.dask.rounds import Rival, Rounds
from aggro.dask.schedule import rounds_for, schedule_of
from aggro.dask.work import Outcome, Unit, combine, judge_unit, learn_unit, look_at
from aggro.merging.shards import has_price, merge_round, stands


def data(count, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 6))
    return X, (X @ [2.0, -1.0, 1.0, 0.5, 0.0, 0.0] + rng.normal(size=count) > 0).astype(int)


def model(**params):
    made = PassiveAggressiveClassifier(mergeable=True, C=0.1, **params)
    return made.partial_fit(*data(20, 9), classes=[0, 1])


def outcome(start, shards=4):
    """What some shards have learned from a start."""
    units = [Unit(k) for k in range(shards)]
    parts = [(*data(60, 10 + k), None, "rows", (), unit) for k, unit in enumerate(units)]
    return combine([learn_unit(start, *part, shards) for part in parts])


@pytest.mark.parametrize("sparse", [False, True])
def test_judges_count_the_mistakes_of_each_model(sparse):
    X, y = data(50, 1)
    one, other = model(), model(fit_intercept=False).partial_fit(*data(300, 3))
    part = csr_matrix(X) if sparse else X
    for most in (7, 50, 1000):
        unit = Unit(0, seed=5)
        found = judge_unit([one, other], part, y, None, "rows", (), unit, most)
        rows = unit.rows(50)[:most]
        expected = [(each.predict(X[rows]) != y[rows]).sum() for each in (one, other)]
        assert found.tolist() == [*expected, len(rows), len(rows)]


@pytest.mark.parametrize("class_weight", [None, {0: 1.0, 1: 9.0}])
def test_judges_count_by_weight(class_weight):
    X, y = data(50, 1)
    weights = np.random.default_rng(2).integers(0, 4, 50).astype(float)
    one, other = model(class_weight=class_weight), model(fit_intercept=False)
    found = judge_unit([one, other], X, y, weights, "rows", (), Unit(0), 50)
    full = weights * np.where(y == 1, 9.0, 1.0) if class_weight else weights
    expected = [full[each.predict(X) != y].sum() for each in (one, other)]
    np.testing.assert_allclose(found, [*expected, full.sum(), full @ full])


def test_rows_that_cannot_be_judged_count_for_nobody():
    X, y = data(10, 1)
    bad = X.copy()
    bad[3, 2] = np.nan
    strange = np.full(10, 7)  # a class that the models do not know yet
    open_to_all = model()
    fitted = open_to_all._fitted
    open_to_all._fitted = fitted.changed(classes=Classes(fitted.classes.labels, given=False))
    for rows, targets in ((bad, y), (X[:0], y[:0]), (X, strange), (X, y[:4])):
        part = (rows, targets, None, "rows", (), Unit(0))
        assert judge_unit([open_to_all, open_to_all], *part, 10).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(("mistakes", "shaped"), [((100, 95), True), ((100, 80), False)])
def test_the_merge_that_rows_prefer_goes_on(mistakes, shaped, monkeypatch):
    start = model()
    found: Outcome = outcome(start)
    rounds = Rounds(None, start, [Partition(None)] * 4, None)
    monkeypatch.setattr(Rounds, "_judge", lambda *_: np.array(mistakes, float))
    before, [rival] = start._learner, rounds.rivals
    expected = merge_round(before, found.changes, shaped)
    other = merge_round(before, found.changes, not shaped)
    assert not np.array_equal(expected.coef(), other.coef())
    for judges in ([(Unit(0), 10)], []):  # without any, the last choice stands
        start._learner = before
        rounds._merge([found], judges, trial=False)
        assert np.array_equal(start.coef_, expected.coef())
    assert stands(*mistakes) == rival.shaped == shaped


def learned(client, monkeypatch, price=None, plain_wins=False, metric="euclidean"):
    """Return what four partitions teach in eight rounds: at one price, or where one is chosen."""
    arrays = [dask_array.from_array(part, chunks=(100, *part.shape[1:])) for part in data(400, 2)]
    start = PassiveAggressiveClassifier(mergeable=True, C=0.01, random_state=0, metric=metric)
    rounds = Rounds(client, start, partitions_of(*arrays, None, {}), None, rounds=8)
    of_cheap = 70.0 if plain_wins else 98.0

    def verdict(_, models, judges):
        """Both merges of the dear price, then of the other: the merge that is shaped stands."""
        return np.array([100.0, 95.0, of_cheap, of_cheap])[: len(models)]

    with monkeypatch.context() as patch:
        patch.setattr(Rounds, "_judge", verdict)
        if price is not None:
            patch.setattr(rounds_module, "has_price", lambda learner: False)
        rounds.begin()
        if price is not None:
            rounds.rivals = [Rival(rounds.model, dear=price)]
        assert len(rounds.rivals) == (2 if price is None else 1)
        rounds.one_pass(0)
    assert [rival.model for rival in rounds.rivals] == [start] == [rounds.model]
    return start, rounds


@pytest.mark.parametrize("plain_wins", [False, True])
def test_the_price_that_rows_prefer_goes_on(client, monkeypatch, plain_wins):
    """The model is the one that had this price from the start, and every row is counted once."""
    found, rounds = learned(client, monkeypatch, plain_wins=plain_wins)
    expected, other = (
        learned(client, monkeypatch, dear)[0] for dear in (not plain_wins, plain_wins)
    )
    assert found.coef_.tobytes() == expected.coef_.tobytes() != other.coef_.tobytes()
    assert found.n_mistakes_ == expected.n_mistakes_
    assert sum(each["rows"] for each in rounds.progress.history) == found.t_ - 1 == 400


@pytest.mark.parametrize(("metric", "dear"), [("euclidean", False), ("diagonal", True)])
def test_a_metric_that_learns_has_the_higher_price_again(client, monkeypatch, metric, dear):
    """Whatever the first pass chose, the second learns as if this price had been told."""
    found = []
    for told in (None, dear, not dear):
        start, rounds = learned(client, monkeypatch, plain_wins=True, metric=metric)
        assert [rival.dear for rival in rounds.rivals] == [False]
        with monkeypatch.context() as patch:
            if told is not None:
                patch.setattr(rounds_module, "is_dear", lambda *_, told=told: told)
            rounds.one_pass(1)
        found.append(start.coef_.tobytes())
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize("params", [{"loss": "hard"}, {"C": "auto"}, {"C": np.inf}])
def test_only_a_price_is_on_trial(params):
    made = PassiveAggressiveClassifier(mergeable=True, **params).partial_fit(*data(20, 9))
    assert not has_price(made._learner)
    assert has_price(model()._learner)


def test_models_are_merged_as_often_as_that_is_cheap():
    """A round reads a partition and sends a model; what a metric wins by it sets a limit."""
    rows = (3, 8, 160, 5000, 200_000, 10**7)
    assert [rounds_for(n, 10.0, 10_000) for n in rows] == [1, 2, 40, 64, 22, 16]
    assert [rounds_for(n, 50.0, 50) for n in rows] == [1, 2, 40, 64, 6, 4]
    assert [rounds_for(n, 10.0, 10_000, metric="diagonal") for n in rows] == [1, 2, 32, 32, 22, 16]
    assert {rounds_for(5000, 50.0, 50, metric=each) for each in ("diagonal", "full", "auto")} == {8}
    wide = [rounds_for(5000, 10.0, 2**18, outputs) for outputs in (1, 4, 100)]  # larger models
    assert wide == [64, 20, 16]


def test_many_partitions_that_are_dear_to_read_are_read_once():
    for partitions, rounds in ((1, 16), (63, 16), (64, 4), (256, 16), (10**4, 64)):
        assert rounds_for(10**6, 40.0, 10_000, partitions=partitions) == rounds
        assert rounds_for(5000, 40.0, 10_000, partitions=partitions) == 64  # these are cheap
        units = schedule_of(partitions, rounds)
        assert all((unit.slices == 1) == (partitions >= 64) for each in units for unit in each)


def test_partitions_of_texts_are_read_once_from_sixteen_on():
    """To learn a slice of texts costs as much as a model has words."""
    for partitions, rounds in ((1, 4), (15, 4), (16, 4), (24, 6), (64, 8), (10**4, 8)):
        texts = {"metric": "auto", "partitions": partitions, "dear": True}
        assert rounds_for(5000, 40.0, 10_000, **texts) == rounds
        units = schedule_of(partitions, rounds, dear=True)
        assert all((unit.slices == 1) == (partitions >= 16) for each in units for unit in each)


def noted(part, folder):
    """Load a part, and leave a note that it was loaded."""
    Path(folder, uuid.uuid4().hex).touch()
    return part


@pytest.mark.parametrize("rounds", [1, 4])
def test_whole_partitions_are_loaded_once_though_they_are_looked_at(client, tmp_path, rounds):
    X, y = data(256, 2)
    blocks = [
        dask.delayed(noted)((X[part], y[part]), str(tmp_path))
        for part in np.array_split(np.arange(256), 64)
    ]
    model = on_dask("PassiveAggressiveClassifier")(rounds=rounds, random_state=0)
    model.partial_fit(blocks, classes=[0, 1])
    assert model.t_ - 1 == 256
    assert len(list(tmp_path.iterdir())) == 64


def test_what_comes_one_by_one_is_not_held(monkeypatch):
    """A worker that reads an iterator has used it up."""
    X, y = data(10, 2)
    examples = [({"f": x[0]}, label) for x, label in zip(X, y, strict=True)]
    once = (each for each in examples), ((x for x in X), y)
    for part, lasting in ((examples, True), (once[0], False), (once[1], False)):
        seen = look_at(part, None, None, "pairs", (), Unit(0))
        assert (seen.rows, seen.error, seen.lasting) == (10, None, lasting)
        rounds = Rounds(None, model(), [Partition(None)] * 4, None, lasting=seen.lasting)
        held = []
        monkeypatch.setattr(rounds, "_keep", held.append)
        rounds._judges([Unit(2), Unit(3)], rows=1)
        assert held == ([2] if lasting else [])


def test_rows_before_a_round_are_counted_once():
    """Else their number would grow with the power of the rounds, beyond what a number holds."""
    start = model(probability=True)
    for _ in range(3):
        found = outcome(start)
        go_on_with(start, merge_round(start._learner, found.changes), found)
    assert start._fitted.record.typical.met == start.t_ - 1 == 20 + 3 * 4 * 60


def test_what_is_judged_is_left_as_it_was():
    start = model()
    before = copy.deepcopy(start)
    found = outcome(start)
    merge_round(start._learner, found.changes, shaped=False)
    assert np.array_equal(start.coef_, before.coef_)
