"""Texts that change: all representations begin anew together, whatever happens on the way."""

import pickle

import numpy as np
import pytest

import aggro
from aggro.selection.grids import PIECE
from aggro.text.race import TextRace

CHANGE, ROWS = 9 * PIECE, 14 * PIECE  # a race has settled by then


def stream(seed=0):
    """Texts of ten words, each of which speaks for a class; after the change, for the other one."""
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 2000, (ROWS, 10))
    speaks = rng.normal(size=2000)
    label = speaks[words].sum(axis=1) + 2 * rng.normal(size=ROWS) > 0
    label[CHANGE:] ^= True
    return [" ".join(f"word{w}" for w in row) for row in words], label.astype(int)


TEXTS, LABELS = stream()


def races(model):
    return [runner.race for runner in model._learner.runners]


def taught(cuts=(), between=lambda model: model, **params):
    """Return a learner of all texts, in pieces; something happens between two of them."""
    model = aggro.TextClassifier(ngram_range=(1, 1), **params)
    for start, end in zip([0, *cuts], [*cuts, ROWS], strict=True):
        model = between(model)
        model.partial_fit(TEXTS[start:end], LABELS[start:end], classes=[0, 1])
    return model


@pytest.fixture(scope="module")
def whole():
    return taught()


def same(one, two):
    assert one.n_mistakes_ == two.n_mistakes_ and one.candidates_ == two.candidates_
    assert [race.drift for race in races(one)] == [race.drift for race in races(two)]
    np.testing.assert_array_equal(
        one.decision_function(TEXTS[:200]), two.decision_function(TEXTS[:200])
    )


def test_all_begin_anew_together_and_err_less(whole, monkeypatch):
    began = {race.drift.start for race in races(whole)}
    assert len(began) == 1 and began.pop() in (CHANGE + PIECE, CHANGE + 2 * PIECE)
    monkeypatch.setattr(TextRace, "watches", False)
    still = taught()
    assert {race.drift.start for race in races(still)} == {0}
    assert whole.n_mistakes_ < 0.95 * still.n_mistakes_


def test_only_a_change_that_the_leader_notices_counts():
    model = aggro.TextClassifier(ngram_range=(1, 1))
    model.partial_fit(TEXTS[: 3 * PIECE], LABELS[: 3 * PIECE], classes=[0, 1])
    learner = model._learner
    other = races(model)[1 - learner.leading]
    other.drift = other.drift.__class__(**{**vars(other.drift), "drifted": True})
    learner._look(settled=False)
    assert not any(race.drift.drifted for race in races(model))


@pytest.mark.parametrize(
    "cuts", [[CHANGE], [CHANGE + PIECE, CHANGE + PIECE + 1], [777, 5000, 12000]]
)
def test_a_change_is_the_same_however_calls_are_cut(cuts, whole):
    same(taught(cuts), whole)


@pytest.mark.parametrize("cut", [CHANGE, CHANGE + PIECE, CHANGE + PIECE + 300])
def test_a_change_is_the_same_through_files_and_pickles(cut, whole, tmp_path):
    def through_a_file(model):
        if not hasattr(model, "classes_"):
            return model
        aggro.save(model, tmp_path / "model.aggro")
        return aggro.load(tmp_path / "model.aggro")

    same(taught([cut], through_a_file), whole)
    same(taught([cut], lambda model: pickle.loads(pickle.dumps(model))), whole)


def test_races_of_texts_stay_what_they_are(tmp_path):
    """When classes come, and in files: short grids, which begin anew together."""
    model = aggro.TextClassifier()
    for label in ("a", "b", "c"):
        model.partial_fit([f"text of {label}"] * 4, [label] * 4)
    aggro.save(model, tmp_path / "model.aggro")
    for each in (model, aggro.load(tmp_path / "model.aggro")):
        assert {type(race) for race in races(each)} == {TextRace}


def test_a_refused_text_takes_a_new_beginning_back():
    until = CHANGE + PIECE
    model, twin = (
        aggro.TextClassifier(ngram_range=(1, 1)).partial_fit(
            TEXTS[:until], LABELS[:until], classes=[0, 1]
        )
        for _ in range(2)
    )
    assert all(race.drift.drifted for race in races(model))
    with pytest.raises(ValueError, match="sample_weight"):
        model.partial_fit(TEXTS[until:], LABELS[until:], sample_weight=np.full(ROWS - until, -1.0))
    for each in (model, twin):
        each.partial_fit(TEXTS[until:], LABELS[until:])
    same(model, twin)
