"""Merging is commutative, bit for bit, and an empty model is its neutral element."""

import copy
import itertools

import numpy as np
import pandas as pd
import pytest

import aggro

RNG = np.random.default_rng(7)
SIZES = (70, 90, 70)  # two of the same length: only their content tells them apart
X = RNG.normal(size=(sum(SIZES), 5))
NUMBERS = X @ np.arange(5.0) + 0.3 * RNG.normal(size=len(X))
LABELS = np.array(["a", "b", "c"])[(NUMBERS > -2).astype(int) + (NUMBERS > 3)]
WORDS = np.array(["free", "money", "lunch", "cheap", "meeting", "today", "offer", "agenda"])
TEXTS = [" ".join(RNG.choice(WORDS, 4)) for _ in X]
SPAM = np.array(["free" in text or "money" in text for text in TEXTS])
PARTS = np.split(np.arange(len(X)), np.cumsum(SIZES)[:-1])
START = np.arange(40)

auto = {"C": "auto"}
mergeable = {"mergeable": True}
LINEAR = {
    "pa": lambda: aggro.PassiveAggressiveClassifier(**mergeable),
    "average": lambda: aggro.PassiveAggressiveClassifier(average=True, **mergeable),
    "class mean": lambda: aggro.PassiveAggressiveClassifier(class_mean=0.3, **mergeable),
    "online scale": lambda: aggro.PassiveAggressiveClassifier(scale="online", **mergeable),
    "standard scale": lambda: aggro.PassiveAggressiveClassifier(scale="standard", **mergeable),
    "probability": lambda: aggro.PassiveAggressiveClassifier(probability=True, **mergeable),
    "C auto": lambda: aggro.PassiveAggressiveClassifier(**auto, **mergeable),
    "auto": lambda: aggro.AutoClassifier(random_state=0, **mergeable),
    "auto probability": lambda: aggro.AutoClassifier(probability=True, **mergeable),
    "perceptron": lambda: aggro.Perceptron(**mergeable),
    "arow": lambda: aggro.AROWClassifier(),
    "full metric": lambda: aggro.AROWClassifier(metric="full"),
    "cw": lambda: aggro.ConfidenceWeightedClassifier(),
    "scw": lambda: aggro.SoftConfidenceWeightedClassifier(C=0.1),
    "regressor": lambda: aggro.PassiveAggressiveRegressor(**mergeable),
    "arow regressor": lambda: aggro.AROWRegressor(),
    "auto regressor": lambda: aggro.AutoRegressor(**mergeable),
}
STREAMS = {
    "stream": lambda: aggro.StreamClassifier(**mergeable),
    "bounded stream": lambda: aggro.StreamClassifier(max_features=12, **mergeable),
    "hashed stream": lambda: aggro.StreamClassifier(max_features=8, overflow="hash", **mergeable),
    "stream probability": lambda: aggro.StreamClassifier(probability=True, **mergeable),
    "stream auto": lambda: aggro.StreamClassifier("PA-I", **auto, **mergeable),
    "stream arow": lambda: aggro.StreamClassifier("AROW"),
    "stream regressor": lambda: aggro.StreamRegressor(**mergeable),
    "stream regressor auto": lambda: aggro.StreamRegressor(**auto, **mergeable),
}
OF_TEXTS = {
    "text": lambda: aggro.TextClassifier(probability=True, **mergeable),
    "text fixed": lambda: aggro.TextClassifier(
        probability=True, ngram_range=(1, 1), idf=True, metric="newton", C=1.0, **mergeable
    ),
    "text regressor": lambda: aggro.TextRegressor(**mergeable),
}
KINDS = {**LINEAR, **STREAMS, **OF_TEXTS}


def learn(kind, model, rows):
    """Learn some rows of the one problem, as the kind of model takes them."""
    numbers = "regressor" in kind
    if kind in STREAMS:
        for i in rows:
            x = {f"f{j}": v for j, v in enumerate(X[i]) if (i + j) % 3}
            model.learn_one({**x, "day": f"d{i % 4}"}, float(NUMBERS[i]) if numbers else LABELS[i])
        return model
    if kind in OF_TEXTS:
        return model.partial_fit([TEXTS[i] for i in rows], (NUMBERS if numbers else SPAM)[rows])
    return model.partial_fit(X[rows], (NUMBERS if numbers else LABELS)[rows])


def three(kind):
    return [learn(kind, KINDS[kind](), rows) for rows in PARTS]


def saved(model, folder):
    """Everything that makes up a model, to the last bit."""
    aggro.save(model, folder / "model")
    return (folder / "model").read_bytes()


@pytest.mark.parametrize("kind", KINDS)
def test_merging_is_commutative(kind, tmp_path):
    models, weights = three(kind), (1.0, 2.0, 0.5)
    expected = saved(aggro.merge(models), tmp_path)
    weighted = saved(aggro.merge(models, weights), tmp_path)
    for order in itertools.permutations(range(3)):
        some = [models[i] for i in order]
        assert saved(aggro.merge(some), tmp_path) == expected
        assert saved(aggro.merge(some, [weights[i] for i in order]), tmp_path) == weighted


@pytest.mark.parametrize("kind", KINDS)
def test_merging_from_a_start_is_commutative(kind, tmp_path):
    start = learn(kind, KINDS[kind](), START)
    models = [learn(kind, copy.deepcopy(start), rows) for rows in PARTS]
    expected = saved(aggro.merge(models, start=start), tmp_path)
    for order in itertools.permutations(models):
        assert saved(aggro.merge(order, start=start), tmp_path) == expected
        assert saved(aggro.merge([start, *order], start=start), tmp_path) == expected  # neutral


@pytest.mark.parametrize("kind", KINDS)
def test_one_model_merged_predicts_the_same(kind):
    model = three(kind)[0]
    merged = aggro.merge([model])
    if kind in STREAMS:
        assert merged.coef_ == model.coef_ and merged.examples == model.examples
    else:
        rows = TEXTS if kind in OF_TEXTS else X
        for method in ("decision_function", "predict_proba", "predict"):
            if hasattr(model, method):
                expected = getattr(model, method)(rows)
                np.testing.assert_array_equal(getattr(merged, method)(rows), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_model_is_neutral(kind, tmp_path):
    models, empty = three(kind), KINDS[kind]()
    for some in (models, models[:1], []):
        expected = saved(aggro.merge(some) if some else empty, tmp_path)
        for place in range(len(some) + 1):
            given = [*some[:place], empty, *some[place:]]
            assert saved(aggro.merge(given), tmp_path) == expected
            assert saved(aggro.merge(given, start=empty), tmp_path) == expected
            aggro.save(empty, tmp_path / "empty")
            files = [tmp_path / "empty" if each is empty else each for each in given]
            assert saved(aggro.merge(files), tmp_path) == expected


@pytest.mark.parametrize("kind", ["probability", "auto probability", "stream probability", "text"])
def test_predicting_does_not_change_the_merge(kind, tmp_path):
    """Maps of margins to probabilities are cached at the first prediction."""
    models = three(kind)
    expected = saved(aggro.merge(models), tmp_path)
    if kind == "stream probability":
        models[2].predict_proba_one({"f1": 1.0})
    else:
        models[2].predict_proba(TEXTS if kind == "text" else X)
    assert saved(aggro.merge(models), tmp_path) == expected


def test_an_empty_model_adds_its_classes_and_columns(tmp_path):
    frames = [
        pd.DataFrame(X[:50, :3], columns=list("abc")),
        pd.DataFrame(X[50:], columns=list("bcade")),
    ]
    models = [
        LINEAR["pa"]().partial_fit(frame, labels)
        for frame, labels in zip(frames, (LABELS[:50], LABELS[50:]), strict=True)
    ]
    empty = OF_TEXTS["text"]().partial_fit([], [], classes=[False, True])
    text = OF_TEXTS["text"]().partial_fit(["free"], [True])
    merged = aggro.merge([empty, text])
    assert merged.classes_.tolist() == [False, True] and merged.t_ == text.t_
    assert saved(aggro.merge([text, empty]), tmp_path) == saved(merged, tmp_path)
    both = aggro.merge(models)
    assert both.feature_names_in_.tolist() == list("bcade")  # of the model with the most examples
    assert saved(aggro.merge(models[::-1]), tmp_path) == saved(both, tmp_path)


@pytest.mark.parametrize("kind", ["stream", "bounded stream", "stream auto", "stream probability"])
def test_streams_of_examples_without_features_merge(kind, tmp_path):
    bare, other = STREAMS[kind](), STREAMS[kind]()
    for label in ("a", "b", "a"):
        bare.learn_one({}, label)
    learn(kind, other, PARTS[0])
    merged = aggro.merge([bare, other])
    assert merged.examples == 3 + len(PARTS[0])
    assert saved(aggro.merge([other, bare]), tmp_path) == saved(merged, tmp_path)
    assert aggro.merge([bare, copy.deepcopy(bare)]).examples == 6


def test_the_best_candidate_of_a_merged_selection_predicts():
    for models in itertools.permutations(three("auto"), 2):
        candidates = aggro.merge(models).candidates_
        best = min(candidates, key=lambda each: (each["recent_error"], each["recent_loss"]))
        assert best["chosen"]
