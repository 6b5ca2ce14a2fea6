"""Texts with sets of labels."""

import itertools

import numpy as np
import pytest
from text_support import WORDS, texts

import aggro
from aggro import TextClassifier
from aggro.text.encoder import Encoder


def labelled(count, seed=0):
    """Return texts, and the kinds of words that occur in each."""
    X, _ = texts(count, classes=("ham", "spam", "report"), seed=seed)
    X = [" ".join(text.split()[: 2 + i % 7]) for i, text in enumerate(X)]
    return X, [{kind for kind, own in WORDS.items() if set(own) & set(x.split())} for x in X]


@pytest.fixture(scope="module")
def fitted():
    X, y = labelled(400)
    return TextClassifier(probability=True).fit(X, y), X, y


def test_labels_are_predicted_as_sets(fitted):
    model, X, y = fitted
    assert model.classes_.tolist() == ["ham", "report", "spam"]
    assert model.predict(["free money", "lunch market", "the of"]).tolist() == [
        {"spam"},
        {"ham", "report"},
        set(),
    ]
    assert model.score(X, y) > 0.9
    assert model.predict_one("free money") == {"spam"}
    shares = model.predict_proba_one("free money election")
    assert shares["spam"] > 0.5 < shares["report"]
    assert shares["ham"] < 0.5
    assert model.predict_proba(X).shape == model.decision_function(X).shape == (len(X), 3)
    assert (model.coef_.shape[0], model.intercept_.shape) == (3, (3,))
    assert model.top_words("ham", 3)[0][0].split()[0] in WORDS["ham"]
    assert model.explain("free money")["spam"].total > 0


def test_labels_may_appear_at_any_time_and_one_by_one_is_at_once():
    X, y = labelled(120)
    y = [labels - {"spam"} if i < 50 else labels for i, labels in enumerate(y)]
    y[0] = set()
    given = {"C": 1.0, "metric": "diagonal", "average": False, "idf": True, "ngram_range": (1, 2)}
    single, several, known = (TextClassifier(probability=True, **given) for _ in range(3))
    for text, labels in zip(X, y, strict=True):
        single.learn_one(text, labels)
    several.partial_fit(X[:70], y[:70]).partial_fit(X[70:], y[70:])
    known.partial_fit(X, y, classes=["ham", "report", "spam"])
    for model in (several, known):
        np.testing.assert_array_equal(single.decision_function(X), model.decision_function(X))
        assert single.n_mistakes_ == model.n_mistakes_
    np.testing.assert_array_equal(single.predict_proba(X), several.predict_proba(X))


@pytest.mark.parametrize("seed", range(4))
def test_selection_among_label_sets_does_not_depend_on_calls(seed):
    random = np.random.default_rng(seed)
    X, y = labelled(120, seed)
    y = [labels - ({"spam"} if i < 50 else {"report"} if i < 20 else set()) for i, labels in
         enumerate(y)]  # fmt: skip
    weights = random.choice([0.0, 0.5, 1.0], len(X))
    one, many = (
        TextClassifier(n_features=1024, probability=True),
        TextClassifier(n_features=1024, probability=True),
    )
    one.partial_fit(X, y, sample_weight=weights)
    stops = sorted({*random.integers(1, len(X), 12).tolist(), len(X)})
    for start, stop in itertools.pairwise([0, *stops]):
        some = slice(start, stop)
        many.partial_fit(X[some], y[some], sample_weight=weights[some])
    assert one.candidates_ == many.candidates_
    assert one.n_mistakes_ == many.n_mistakes_
    np.testing.assert_array_equal(one.predict_proba(X), many.predict_proba(X))


def test_interrupted_call_keeps_its_blocks_and_their_labels(monkeypatch):
    X, y = labelled(200)
    model, whole = (
        TextClassifier(n_features=1024, probability=True).partial_fit(X[:9], y[:9])
        for _ in range(2)
    )
    new = [labels | {"new"} for labels in y]
    learn, blocks = Encoder.encode, []

    def encode(self, *given, **options):
        blocks.append(None)
        if len(blocks) == 3:
            raise KeyboardInterrupt
        return learn(self, *given, **options)

    monkeypatch.setattr(Encoder, "encode", encode)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X[9:], new[9:])
    monkeypatch.undo()
    learned = model.t_ - 1
    assert 9 < learned < len(X)
    whole.partial_fit(X[9:learned], new[9:learned])
    for each in (model, whole):
        each.partial_fit(X[learned:], new[learned:])
    assert model.classes_.tolist() == whole.classes_.tolist()
    np.testing.assert_array_equal(model.predict_proba(X), whole.predict_proba(X))


@pytest.mark.parametrize("keep", [False, True])
def test_files_of_label_sets(keep, tmp_path):
    X, y = labelled(150)
    model = TextClassifier(probability=True).partial_fit(X, y)
    model = model.keep_best() if keep else model
    model.save(tmp_path / "m")
    other = TextClassifier.load(tmp_path / "m")
    for each in (model, other):
        each.partial_fit(X[:20], [{*labels, "other"} for labels in y[:20]])
    np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(X))
    assert model.classes_.tolist() == other.classes_.tolist() == ["ham", "other", "report", "spam"]


def test_weights_of_texts_with_label_sets():
    X, y = labelled(60)
    weights = np.random.default_rng(0).choice([0.0, 1.0], len(X))
    weighted = TextClassifier(probability=True).partial_fit(X, y, sample_weight=weights)
    kept = np.flatnonzero(weights)
    plain = TextClassifier(probability=True).partial_fit([X[i] for i in kept], [y[i] for i in kept])
    np.testing.assert_array_equal(weighted.decision_function(X), plain.decision_function(X))


def test_models_of_label_sets_merge():
    X, y = labelled(400)
    y = [labels - {"spam"} if i < 200 else labels for i, labels in enumerate(y)]
    parts = [
        TextClassifier(probability=True, mergeable=True).partial_fit(X[s], y[s])
        for s in (slice(200), slice(200, 400))
    ]
    merged = aggro.merge(parts)
    assert merged.classes_.tolist() == ["ham", "report", "spam"]
    assert merged.score(X[200:], y[200:]) > 0.6
    with pytest.raises(ValueError, match="sets of labels"):
        aggro.merge(
            [
                parts[0],
                TextClassifier(probability=True, mergeable=True).partial_fit(
                    X, ["ham", "spam"] * 200
                ),
            ]
        )


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ([{"a"}, {"b"}], ["a", "b"], "one class for each text"),
        (["a", "b"], [{"a"}, {"b"}], "a set of labels for each text"),
        ([{"a"}, {"b"}], [{"a"}, "b"], "mixes sets of labels and single labels"),
        ([{"a"}, {"b"}], [{"a"}, {1}], "give labels of one kind"),
        ([{"a"}, {"b"}], [{"a"}, {"a", None}], "missing label"),
        ([{"a"}, {"b"}], [{"a"}], "2 texts but y has 1"),
    ],
)
def test_bad_label_sets_change_nothing(first, second, message):
    model = TextClassifier(probability=True).partial_fit(["x y", "y z"], first)
    before = model.decision_function(["x y z"])
    with pytest.raises(ValueError, match=message):
        model.partial_fit(["x y", "u v"], second)
    np.testing.assert_array_equal(model.decision_function(["x y z"]), before)
    assert model.classes_.tolist() == ["a", "b"]


def test_unknown_labels_are_rejected_if_all_were_given():
    model = TextClassifier(probability=True).partial_fit(["x"], [{"a"}], classes=["a", "b"])
    with pytest.raises(ValueError, match="'c'"):
        model.partial_fit(["y"], [{"c"}])
