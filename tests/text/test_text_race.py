"""The race of a text learner: what is raced, who leads, how memory bounds it, its grid of C."""

import pytest
from text_support import texts

from aggro import TextClassifier
from aggro.selection.grids import price
from aggro.settings import Settings
from aggro.text.race import make_race


@pytest.mark.parametrize(
    ("task", "first", "last"), [("binary", -3, 4), ("regression", -3, 4), ("multiclass", -1, 2)]
)
def test_the_short_grid_of_texts_moves_in_steps(task, first, last):
    race = make_race(Settings(task=task, C="auto"), 1 if task == "regression" else 3, "<f8", 0)
    for steps in (-2, 0, 3):
        grid = race.grid(race.settings, steps)
        assert (grid[0], grid[-1]) == (price(first + steps), price(last + steps))
        assert len(grid) == last - first + 1


def test_all_representations_race_and_the_leader_has_the_best_record(learned):
    lanes = learned.candidates_
    raced = {(lane["ngram_range"], lane["idf"], lane["metric"]) for lane in lanes}
    assert len(raced) == 12
    assert [lane["chosen"] for lane in lanes].count(True) == 1
    chosen = next(lane for lane in lanes if lane["chosen"])
    assert chosen["recent_error"] == min(lane["recent_error"] for lane in lanes)


def test_little_memory_makes_a_short_race():
    X, y = texts(400)
    model = TextClassifier(memory=200_000).partial_fit(X, y)
    assert 0 < len(model.candidates_) < 128
    assert model.score(X, y) > 0.85
    one = TextClassifier(memory=1).partial_fit(X, y)
    assert len({(lane["ngram_range"], lane["idf"]) for lane in one.candidates_}) == 1


def test_nothing_raced_is_one_learner():
    X, y = texts(300)
    fixed = {"ngram_range": (1, 2), "idf": True, "C": 1.0, "metric": "diagonal", "average": False}
    model = TextClassifier(**fixed).partial_fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.best_params_ == {"ngram_range": (1, 2), "idf": True}


FIXED = {"C": 1.0, "metric": "euclidean"}


@pytest.mark.parametrize("params", [{}, FIXED, {"idf": True}, {**FIXED, "ngram_range": (1, 1)}])
def test_the_representation_that_leads_may_go_on_alone(params, monkeypatch):
    X, y = texts(400)
    model = TextClassifier(**params).partial_fit(X[:300], y[:300])
    other = TextClassifier(**params).partial_fit(X[:300], y[:300])
    raced = len(model._learner.runners)
    model._learner.follow_leader()
    assert len(model._learner.runners) == raced > 1  # too little is known
    monkeypatch.setattr("aggro.text.learner.PATIENCE", 300)
    model._learner.follow_leader()
    assert len(model._learner.runners) == len(model._learner.encoder.ranges) == 1
    assert len({(row["ngram_range"], row["idf"]) for row in model._learner.left}) == raced - 1
    for _ in range(2):
        assert (model.decision_function(X) == other.decision_function(X)).all()
        assert (model.best_params_, model.n_mistakes_) == (other.best_params_, other.n_mistakes_)
        monkeypatch.setattr("aggro.text.learner.TextLearner._look", lambda *_: None)
        model.partial_fit(X[300:], y[300:])  # as it does in the race, while it leads
        other.partial_fit(X[300:], y[300:])
