"""Explanations of texts, top words of classes, and their figures."""

import pytest
from text_support import WORDS, texts

from aggro import TextClassifier
from aggro.text.explain import draw_bars


def test_contributions_of_words_sum_to_the_score(learned):
    X, _ = texts(20, seed=9)
    for text in X:
        found = learned.explain(text)
        assert found["spam"].total == pytest.approx(learned.decision_function([text])[0], abs=1e-4)
        assert found["ham"].total == pytest.approx(-found["spam"].total)
        assert sum(abs(share) for _, share in found["spam"].shares()) <= 1.0 + 1e-9
        for word, _ in found["spam"].words:
            assert all(part in text.split() for part in word.split(" | ")[0].split())
    assert learned.explain("words never met")["spam"].words == []


def test_top_words_belong_to_their_class(learned):
    for label in ("ham", "spam"):
        best = [word.split(" | ")[0] for word, weight in learned.top_words(label, 5)]
        assert len(best) == 5
        assert sum(any(part in WORDS[label] for part in word.split()) for word in best) >= 4


def test_explanations_are_drawn(learned, tmp_path):
    learned.explain("free money for lunch")["spam"].plot(tmp_path / "why.png")
    learned.plot_words("spam", tmp_path / "words.svg")
    assert (tmp_path / "why.png").stat().st_size > 5000
    assert (tmp_path / "words.svg").stat().st_size > 5000


@pytest.mark.parametrize(("shares", "unit"), [(True, 100.0), (False, 1.0)])
def test_length_of_a_bar_is_its_share(shares, unit):
    words = [("money", 0.5), ("lunch", -0.25), ("the", 0.0)]
    (axes,) = draw_bars(words, "why", shares=shares).axes
    assert [bar.get_width() for bar in axes.patches] == [unit * value for _, value in words]
    assert [label.get_text() for label in axes.get_yticklabels()] == [word for word, _ in words]
    colours = [bar.get_facecolor() for bar in axes.patches]
    assert colours[0] == colours[2] != colours[1]


def test_texts_without_words_have_no_top_words():
    model = TextClassifier().partial_fit(["a", "b c"], ["x", "y"])
    assert model.top_words("x") == []
