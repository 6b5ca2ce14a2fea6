"""Drift in texts: all representations restart together."""

import pickle

import numpy as np
import pytest

import aggro
from aggro.selection.search_space import INTERVAL, TEXT_SEARCH_SPACE
from aggro.selection.selection import ModelSelection

CHANGE, ROWS = 9 * INTERVAL, 14 * INTERVAL  # selection has ended by then


def stream(seed=0):
    """Return texts of ten words, each typical of a class; after the change, of the other one."""
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 2000, (ROWS, 10))
    speaks = rng.normal(size=2000)
    label = speaks[words].sum(axis=1) + 2 * rng.normal(size=ROWS) > 0
    label[CHANGE:] ^= True
    return [" ".join(f"word{w}" for w in row) for row in words], label.astype(int)


TEXTS, LABELS = stream()


def drift(model):
    return model._learner.selection.drift


def learned_model(cuts=(), between=lambda model: model, **params):
    """Return a learner of all texts, in pieces; call ``between`` after each piece."""
    model = aggro.TextClassifier(probability=True, ngram_range=(1, 1), **params)
    for start, end in zip([0, *cuts], [*cuts, ROWS], strict=True):
        model = between(model)
        model.partial_fit(TEXTS[start:end], LABELS[start:end], classes=[0, 1])
    return model


@pytest.fixture(scope="module")
def whole():
    return learned_model()


def same(one, two):
    assert one.n_mistakes_ == two.n_mistakes_ and one.candidates_ == two.candidates_
    assert drift(one) == drift(two)
    np.testing.assert_array_equal(
        one.decision_function(TEXTS[:200]), two.decision_function(TEXTS[:200])
    )


def test_all_representations_restart_after_drift_and_make_fewer_errors(whole, monkeypatch):
    assert drift(whole).start in (CHANGE + INTERVAL, CHANGE + 2 * INTERVAL)
    monkeypatch.setattr(ModelSelection, "_restart_if_due", lambda *_: None)
    still = learned_model()
    assert drift(still).start == 0
    assert whole.n_mistakes_ < 0.95 * still.n_mistakes_


@pytest.mark.parametrize(
    "cuts", [[CHANGE], [CHANGE + INTERVAL, CHANGE + INTERVAL + 1], [777, 5000, 12000]]
)
def test_drift_is_chunk_invariant(cuts, whole):
    same(learned_model(cuts), whole)


@pytest.mark.parametrize("cut", [CHANGE, CHANGE + INTERVAL, CHANGE + INTERVAL + 300])
def test_drift_survives_files_and_pickles(cut, whole, tmp_path):
    def through_a_file(model):
        if not hasattr(model, "classes_"):
            return model
        aggro.save(model, tmp_path / "model.aggro")
        return aggro.load(tmp_path / "model.aggro")

    same(learned_model([cut], through_a_file), whole)
    same(learned_model([cut], lambda model: pickle.loads(pickle.dumps(model))), whole)


def test_the_search_space_of_texts_is_kept_by_new_classes_and_files(tmp_path):
    model = aggro.TextClassifier(probability=True)
    for label in ("a", "b", "c"):
        model.partial_fit([f"text of {label}"] * 4, [label] * 4)
    aggro.save(model, tmp_path / "model.aggro")
    for each in (model, aggro.load(tmp_path / "model.aggro")):
        assert each._learner.selection.space == TEXT_SEARCH_SPACE


def test_a_rejected_call_does_not_restart_selection():
    until = CHANGE + INTERVAL
    model, copied = (
        aggro.TextClassifier(probability=True, ngram_range=(1, 1)).partial_fit(
            TEXTS[:until], LABELS[:until], classes=[0, 1]
        )
        for _ in range(2)
    )
    assert drift(model).drifted
    with pytest.raises(ValueError, match="sample_weight"):
        model.partial_fit(TEXTS[until:], LABELS[until:], sample_weight=np.full(ROWS - until, -1.0))
    for each in (model, copied):
        each.partial_fit(TEXTS[until:], LABELS[until:])
    same(model, copied)
