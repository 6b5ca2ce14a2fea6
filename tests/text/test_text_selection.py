"""Model selection of texts: candidates, the best one, memory limit, grid of C."""

import copy
import itertools
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from text_support import SHARED, texts

import aggro
from aggro import TextClassifier
from aggro.selection.search_space import C_at

FOLDERS = tuple(str(Path(aggro.__file__).parent / name) for name in ("selection", "text"))


@pytest.mark.parametrize(("outputs", "first", "last"), [(1, -3, 4), (3, -1, 2)])
def test_first_grid_of_texts_is_short_and_follows_the_unit(outputs, first, last):
    X, y = texts(8, classes=("ham", "spam", "report")[: 2 + (outputs > 1)])
    classes = sorted({*y.tolist(), "ham", "spam"} | ({"report"} if outputs > 1 else set()))
    model = TextClassifier(metric="diagonal", idf=True, ngram_range=(1, 1))
    model.partial_fit(X[:1], y[:1], classes=classes)
    assert [row["C"] for row in model.candidates_] == [C_at(i) for i in range(first, last + 1)]


def test_all_representations_have_candidates_and_the_best_record_predicts(learned):
    candidates = learned.candidates_
    kinds = {(row["ngram_range"], row["idf"], row["metric"]) for row in candidates}
    assert len(kinds) == 12
    assert [row["chosen"] for row in candidates].count(True) == 1
    chosen = next(row for row in candidates if row["chosen"])
    assert chosen["recent_error"] == min(row["recent_error"] for row in candidates)


def test_memory_limit_reduces_candidates():
    X, y = texts(400)
    model = TextClassifier(memory=200_000).partial_fit(X, y)
    assert 0 < len(model.candidates_) < 128
    assert model.score(X, y) > 0.85
    one = TextClassifier(memory=1).partial_fit(X, y)
    assert len({(row["ngram_range"], row["idf"]) for row in one.candidates_}) == 1


def test_fixed_settings_are_one_learner():
    X, y = texts(300)
    fixed = {"ngram_range": (1, 2), "idf": True, "C": 1.0, "metric": "diagonal", "average": False}
    model = TextClassifier(**fixed).partial_fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.best_params_ == {"ngram_range": (1, 2), "idf": True}


FIXED = {"C": 1.0, "metric": "euclidean"}


@pytest.mark.parametrize("params", [{}, FIXED, {"idf": True}, {**FIXED, "ngram_range": (1, 1)}])
def test_best_representation_can_be_kept_alone(params):
    X, y = texts(400)
    model = TextClassifier(**params).partial_fit(X[:300], y[:300])
    other = TextClassifier(**params).partial_fit(X[:300], y[:300])
    kinds = {(row["ngram_range"], row["idf"]) for row in model.candidates_}
    selection = model._learner.selection
    selection.keep_representation()
    assert len(kinds) == len(selection.representations.descriptions) > 1  # too early
    selection.space = replace(selection.space, patience=300)
    selection.keep_representation()
    assert len(selection.representations.descriptions) == 1
    assert len({(row["ngram_range"], row["idf"]) for row in selection.left}) == len(kinds) - 1
    for _ in range(2):
        assert (model.decision_function(X) == other.decision_function(X)).all()
        assert (model.best_params_, model.n_mistakes_) == (other.best_params_, other.n_mistakes_)
        for each in (model, other):  # another representation may win later
            each._learner.selection.paused = True
            each.partial_fit(X[300:], y[300:])


@pytest.mark.parametrize(
    "read", ["decision_function", "predict_proba", "predict_proba_one", "explain"]
)
def test_predictions_while_another_thread_keeps_the_best(read):
    """Keeping the best representation at any line of a prediction does not change the result."""
    random = np.random.default_rng(0)
    y = random.integers(3, size=200)
    pairs = np.array(["one two", "two one", "one of two"])[y]  # pairs of words decide
    X = [f"{random.choice(SHARED)} {pair} {random.choice(SHARED)}" for pair in pairs]
    fixed = {"C": 1.0, "metric": "diagonal", "average": False}
    model = TextClassifier(n_features=1024, probability=True, **fixed).partial_fit(X, y)
    assert model._learner.selection.representation > 0
    given = X[0] if read in ("explain", "predict_proba_one") else X[:9]
    expected, lines = getattr(copy.deepcopy(model), read)(given), 0

    def traced(frame, event, argument):
        nonlocal lines
        if not frame.f_code.co_filename.startswith(FOLDERS):
            return None
        lines += event == "line"
        if lines < at:
            return traced
        sys.settrace(None)
        thread = threading.Thread(target=current.keep_best)
        thread.start()
        thread.join()
        return None

    for at in itertools.count(1):
        current, lines = copy.deepcopy(model), 0
        sys.settrace(traced)
        try:
            found = getattr(current, read)(given)
        finally:
            sys.settrace(None)
        if read == "explain":
            assert str(found) == str(expected)
        else:
            np.testing.assert_array_equal(found, expected)
        if lines < at:
            break
    assert at > 10
