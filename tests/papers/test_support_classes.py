"""Words, stems and batch learners of the paper on support classes."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from papers.experiment import Results
from papers.support_classes import learners, newsgroups, selection
from papers.support_classes.stems import stem


def test_stems_are_porters():
    pytest.importorskip("snowballstemmer")
    words = {"running": "run", "relational": "relat", "ponies": "poni", "generously": "gener"}
    assert {word: stem(word) for word in words} == words


def test_words_are_letters_and_digits_of_some_headers():
    pytest.importorskip("snowballstemmer")
    head = "From: ann@x1.org\nOrganization: none\nSubject: The cars"
    message = f"{head}\n\nA V8, 300 horses; e-mail"
    expected = "ann x1 org subject car v8 300 hors mail"
    assert newsgroups.words(message) == expected.split()


def test_a_batch_learner_that_does_not_converge_is_an_error(monkeypatch):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(60, 5)), random.integers(0, 3, 60)
    assert learners.fitted("LR", 1.0, X, y).n_iter_.max() > 1
    monkeypatch.setitem(learners.BATCH_LIMITS, "LR", {"tol": 1e-12, "max_iter": 1})
    with pytest.raises(ConvergenceWarning):
        learners.fitted("LR", 1.0, X, y)


def test_c_is_chosen_in_the_middle_of_a_plateau():
    choose = [[5.0], [4.0], [4.0], [4.0], [6.0]]
    judge = [[0.0], [1.0], [2.0], [3.0], [4.0]]
    cell = {"part": "online", "set": "USPS"}
    outcome = {"choose": {"PA-I": choose}, "judge": {"PA-I": judge}}
    assert selection.one_pass(Results([(cell, outcome)]), "USPS", "PA-I").tolist() == [2.0]
