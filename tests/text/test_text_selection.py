"""The race of a text learner: what is raced, who leads, how memory bounds it, its grid of C."""

from dataclasses import replace

import pytest
from text_support import texts

from aggro import TextClassifier
from aggro.selection.search_space import C_at


@pytest.mark.parametrize(("outputs", "first", "last"), [(1, -3, 4), (3, -1, 2)])
def test_the_first_grid_of_texts_is_short_and_follows_the_unit(outputs, first, last):
    X, y = texts(8, classes=("ham", "spam", "news")[: 2 + (outputs > 1)])
    classes = sorted({*y.tolist(), "ham", "spam"} | ({"news"} if outputs > 1 else set()))
    model = TextClassifier(metric="diagonal", idf=True, ngram_range=(1, 1))
    model.partial_fit(X[:1], y[:1], classes=classes)
    assert [row["C"] for row in model.candidates_] == [C_at(i) for i in range(first, last + 1)]


def test_all_representations_have_candidates_and_the_best_record_predicts(learned):
    lanes = learned.candidates_
    raced = {(lane["ngram_range"], lane["idf"], lane["metric"]) for lane in lanes}
    assert len(raced) == 12
    assert [lane["chosen"] for lane in lanes].count(True) == 1
    chosen = next(lane for lane in lanes if lane["chosen"])
    assert chosen["recent_error"] == min(lane["recent_error"] for lane in lanes)


def test_little_memory_leaves_few_candidates():
    X, y = texts(400)
    model = TextClassifier(memory=200_000).partial_fit(X, y)
    assert 0 < len(model.candidates_) < 128
    assert model.score(X, y) > 0.85
    one = TextClassifier(memory=1).partial_fit(X, y)
    assert len({(lane["ngram_range"], lane["idf"]) for lane in one.candidates_}) == 1


def test_fixed_settings_are_one_learner():
    X, y = texts(300)
    fixed = {"ngram_range": (1, 2), "idf": True, "C": 1.0, "metric": "diagonal", "average": False}
    model = TextClassifier(**fixed).partial_fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.best_params_ == {"ngram_range": (1, 2), "idf": True}


FIXED = {"C": 1.0, "metric": "euclidean"}


@pytest.mark.parametrize("params", [{}, FIXED, {"idf": True}, {**FIXED, "ngram_range": (1, 1)}])
def test_the_best_representation_may_continue_alone(params):
    X, y = texts(400)
    model = TextClassifier(**params).partial_fit(X[:300], y[:300])
    other = TextClassifier(**params).partial_fit(X[:300], y[:300])
    raced = {(row["ngram_range"], row["idf"]) for row in model.candidates_}
    selection = model._learner.selection
    selection.keep_representation()
    assert len(raced) == len(selection.representations.descriptions) > 1  # too little is known
    selection.space = replace(selection.space, patience=300)
    selection.keep_representation()
    assert len(selection.representations.descriptions) == 1
    assert len({(row["ngram_range"], row["idf"]) for row in selection.left}) == len(raced) - 1
    for _ in range(2):
        assert (model.decision_function(X) == other.decision_function(X)).all()
        assert (model.best_params_, model.n_mistakes_) == (other.best_params_, other.n_mistakes_)
        for each in (model, other):  # another representation may win later
            each._learner.selection.paused = True
            each.partial_fit(X[300:], y[300:])
