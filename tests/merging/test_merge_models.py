"""``aggro.merge`` on estimators, streams and files, and the command."""

import numpy as np
import pandas as pd
import pytest
from merging_support import rows
from sklearn.base import clone

import aggro
from aggro.cli import main
from aggro.merging.adapters import adapter_of


def halves(make, X, y, cut=None):
    cut = len(y) // 2 if cut is None else cut
    return [make().partial_fit(X[:cut], y[:cut]), make().partial_fit(X[cut:], y[cut:])]


def pa(**more):
    return aggro.PassiveAggressiveClassifier(C=0.1, mergeable=True, **more)


ESTIMATORS = [
    pa(),
    pa(average=True),
    pa(class_mean=0.1),
    pa(probability=True),
    pa(scale="online"),
    aggro.AROWClassifier(),
    aggro.AROWClassifier(metric="full"),
    aggro.SoftConfidenceWeightedClassifier(C=0.1),
    aggro.ConfidenceWeightedClassifier(),
    aggro.Perceptron(mergeable=True),
]


@pytest.mark.parametrize("model", ESTIMATORS, ids=str)
@pytest.mark.parametrize("classes", [2, 3])
def test_estimators_learn_from_each_other(model, classes):
    X, y = rows(1, 1200, 12, classes, sparse=0.7)
    X, y, tests, truth = X[:800], y[:800], X[800:], y[800:]
    models = halves(lambda: clone(model), X, y)
    merged = aggro.merge(models)
    assert type(merged) is type(model)
    assert merged.t_ - 1 == len(y)
    assert merged.n_mistakes_ == sum(each.n_mistakes_ for each in models)
    assert merged.score(tests, truth) >= min(each.score(tests, truth) for each in models) - 0.02
    merged.partial_fit(X, y)  # and learning goes on
    if model.get_params().get("probability"):
        chances = merged.predict_proba(tests)
        assert (chances.argmax(axis=1) == truth).mean() > 0.6


def test_regressors_merge():
    random = np.random.default_rng(0)
    X = random.normal(size=(600, 5))
    y = X @ np.arange(5.0)
    for make in (
        lambda: aggro.PassiveAggressiveRegressor(mergeable=True, relative_epsilon=True),
        aggro.AROWRegressor,
    ):
        merged = aggro.merge(halves(make, X, y))
        assert merged.score(X, y) > 0.95


def test_classes_and_features_seen_by_some_are_all_there():
    X, y = rows(2, 300, 4, 3)
    names = np.array(["ant", "bee", "cat"])[y]
    some = y < 2
    frames = [
        pd.DataFrame(X[:, :3], columns=["a", "b", "c"]),
        pd.DataFrame(X, columns=list("bcad")),
    ]
    first = pa().partial_fit(frames[0][some], names[some])
    second = pa().partial_fit(frames[1][~some], names[~some])
    merged = aggro.merge([first, second])
    assert merged.classes_.tolist() == ["ant", "bee", "cat"]
    assert merged.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    new = frames[1][["a", "b", "c", "d"]]
    assert merged.predict(new).shape == (300,)
    alone = pa().partial_fit(frames[1][~some], names[~some])  # nobody else has met d
    assert alone.classes_.tolist() == ["cat"]
    assert merged.coef_[2, 3] == pytest.approx(alone.coef_[0, 3] * 2 / 3)


def test_models_that_go_on_from_a_start_keep_it_once():
    X, y = rows(3, 900, 8, 2)
    start = pa().partial_fit(X[:300], y[:300])
    models = []
    for part in (slice(300, 600), slice(600, 900)):
        from copy import deepcopy

        models.append(deepcopy(start).partial_fit(X[part], y[part]))
    merged = aggro.merge(models, start=start)
    assert merged.t_ - 1 == 900
    assert merged.score(X, y) > 0.8


def test_selections_merge_candidate_by_candidate():
    for count, candidates in ((400, 10), (600, 4)):  # before the grids are narrowed, and after
        X, y = rows(4, count, 6, 2)
        models = halves(lambda: aggro.PassiveAggressiveClassifier(C="auto", mergeable=True), X, y)
        merged = aggro.merge(models)
        assert len(merged.candidates_) >= candidates
        assert merged.score(X, y) > 0.75
        assert merged.t_ - 1 == count


def test_streams_merge_by_name():
    random = np.random.default_rng(0)
    words = ["sun", "sea", "snow", "ice", "wind"]
    streams = []
    for own in (words[:3], words[2:]):
        model = aggro.StreamClassifier("PA-I", mergeable=True, C=0.5)
        for _ in range(200):
            x = dict.fromkeys(random.choice(own, 2), 1.0)
            model.learn_one(x, "cold" if "snow" in x or "ice" in x else "mild")
        streams.append(model)
    merged = aggro.merge(streams)
    assert merged.examples == 400
    assert merged.n_features_in_ == 5
    assert merged.predict_one({"ice": 1.0}) == "cold"
    assert merged.predict_one({"sun": 1.0, "sea": 1.0}) == "mild"
    merged.learn_one({"fog": 1.0}, "grey")
    assert merged.classes_ == ["cold", "grey", "mild"]


@pytest.mark.parametrize("more", [{"max_features": 8}, {"probability": True}, {"C": "auto"}])
def test_streams_merge_with_all_they_keep(more):
    settings = {"mergeable": True, **more}
    streams = [aggro.StreamClassifier("PA-I", **settings) for _ in range(2)]
    random = np.random.default_rng(1)
    for i, model in enumerate(streams):
        for _ in range(60):
            a, b = random.normal(size=2)
            model.learn_one({"a": a, "b": b, f"own{i}": 1.0}, bool(a > b))
    merged = aggro.merge(streams)
    assert merged.predict_one({"a": 2.0, "b": -2.0}) is True
    assert merged.predict_one({"a": -2.0, "b": 2.0}) is False
    if "probability" in more:
        assert merged.predict_proba_one({"a": 3.0, "b": -3.0})[True] > 0.6


def test_files_and_the_command(tmp_path, capsys):
    X, y = rows(5, 400, 6, 2)
    paths = [tmp_path / "a.aggro", tmp_path / "b.aggro"]
    models = halves(pa, X, y)
    for model, path in zip(models, paths, strict=True):
        aggro.save(model, path)
    both = aggro.merge([str(path) for path in paths])
    np.testing.assert_array_equal(both.coef_, aggro.merge(models).coef_)
    target = tmp_path / "c.aggro"
    assert main(["merge", *map(str, paths), "-o", str(target)]) == 0
    assert "400 examples" in capsys.readouterr().err
    np.testing.assert_array_equal(aggro.load(target).coef_, both.coef_)
    assert main(["merge", str(paths[0]), str(tmp_path / "no.aggro"), "-o", str(target)]) == 1
    assert main(["merge", *map(str, paths), "-o", str(target), "--weights", "1,x"]) == 2


def test_trained_files_merge(tmp_path):
    lines = [f"{label} {i % 3 + 1}:1 4:{label}\n" for i, label in enumerate([1, -1] * 30)]
    paths = []
    for name, part in (("a", lines[:30]), ("b", lines[30:])):
        (tmp_path / f"{name}.svm").write_text("".join(part))
        paths.append(str(tmp_path / f"{name}.aggro"))
        data = str(tmp_path / f"{name}.svm")
        assert main(["train", data, "--mergeable", "-o", paths[-1]]) == 0
    assert aggro.merge(paths).t_ - 1 == 60


@pytest.mark.parametrize(
    ("models", "words"),
    [
        (lambda X, y: [], "give a list"),
        (lambda X, y: [pa().fit(X, y), aggro.AROWClassifier().fit(X, y)], "one kind"),
        (lambda X, y: [pa().fit(X, y), pa(class_mean=1.0).fit(X, y)], "class_mean"),
        (
            lambda X, y: [aggro.PassiveAggressiveClassifier().fit(X, y)] * 2,
            "mergeable=True",
        ),
        (
            lambda X, y: [aggro.KernelPassiveAggressiveClassifier().fit(X, y)] * 2,
            "remembered examples",
        ),
        (
            lambda X, y: [aggro.AutoClassifier(features="auto").partial_fit(X, y)] * 2,
            "features='linear'",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_models_that_cannot_be_merged_raise(models, words):
    X, y = rows(6, 40, 3, 2)
    with pytest.raises(ValueError, match=words):
        aggro.merge(models(X, y))


def test_rounds_reject_models_with_feature_maps():
    X, y = rows(6, 40, 3, 2)
    model = aggro.AutoClassifier(features="auto").partial_fit(X, y)
    with pytest.raises(ValueError, match="features='linear'"):
        adapter_of(model).begin()
    assert not model.mergeable


def test_weights_must_fit():
    X, y = rows(6, 40, 3, 2)
    models = halves(pa, X, y)
    for weights, words in (
        ([1.0], "2 models"),
        ([1.0, -1.0], "greater than 0"),
        ([1, np.inf], "finite"),
    ):
        with pytest.raises(ValueError, match=words):
            aggro.merge(models, weights)


def test_the_models_stay_as_they_are():
    X, y = rows(7, 100, 3, 2)
    models = halves(lambda: pa(class_mean=0.1, average=True), X, y)
    before = [each._learner.state() for each in models]
    aggro.merge(models)
    for model, was in zip(models, before, strict=True):
        for name, array in model._learner.state().items():
            np.testing.assert_array_equal(array, was[name])


def test_streams_with_probabilities_that_met_other_classes():
    """The margins of each are those of all classes once they are merged."""
    parts = []
    for labels in (["ant", "bee"], ["bee", "cat"]):
        model = aggro.StreamClassifier("PA-I", mergeable=True, probability=True)
        for i in range(40):
            model.learn_one({labels[i % 2]: 1.0, "noise": (i * 7 % 5) / 5}, labels[i % 2])
        parts.append(model)
    merged = aggro.merge(parts)
    assert merged.classes_ == ["ant", "bee", "cat"]
    probabilities = merged.predict_proba_one({"cat": 1.0})
    assert max(probabilities, key=probabilities.get) == "cat"
    assert sum(probabilities.values()) == pytest.approx(1.0)
