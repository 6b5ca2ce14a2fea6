"""Model selection of texts: candidates, the best one, memory limit, grid of C."""

from dataclasses import replace

import pytest
from text_support import texts

from aggro import TextClassifier
from aggro.selection.search_space import C_at


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
