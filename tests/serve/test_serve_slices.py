"""Costs of requests are linear, bounded or in another thread, so that others do not wait."""

import threading

import numpy as np
import pytest
from serve_support import running

import aggro
from aggro.calibration.calibrator import Calibrator
from aggro.serve.adapters import ArrayAdapter, Probabilities, StreamAdapter, TextAdapter


@pytest.fixture
def fits(monkeypatch):
    """Record how large each fitted map is, and the thread that fits it."""
    found, fit = [], Calibrator._fit

    def recorded(self, late):
        found.append((len(self.weights) * self.classes**2, threading.current_thread().name))
        return fit(self, late)

    monkeypatch.setattr(Calibrator, "_fit", recorded)
    return found


def texts(count, seed=0):
    rng = np.random.default_rng(seed)
    words = [f"w{k}" for k in range(50)]
    return [
        {"text": " ".join(rng.choice(words, 5)), "label": f"c{rng.integers(6)}"}
        for _ in range(count)
    ]


def test_large_maps_are_fitted_in_another_thread(tmp_path, fits):
    with running(tmp_path, "TextClassifier", params={"probability": True}) as server:
        server.post("/learn", texts(400))
        asked = [{"text": each["text"]} for each in texts(300, seed=1)]
        for _ in range(2):
            answers = server.post("/predict", asked).json()
        sums = [sum(each["probabilities"].values()) for each in answers]
        assert np.allclose(sums, 1.0)
    large = {thread for size, thread in fits if size > 4000}
    assert large and all(thread.startswith("calibration") for thread in large)


def test_the_open_inference_protocol_fits_no_map(tmp_path, fits):
    with running(tmp_path, "TextClassifier") as server:
        server.post("/learn", texts(400))
        before = list(fits)
        data = [each["text"] for each in texts(1000, seed=1)]
        tensor = {"name": "text", "shape": [1000], "datatype": "BYTES", "data": data}
        answer = server.post("/v2/models/aggro/infer", {"inputs": [tensor]}).json()
        expected = server.service.learning.adapter.model.predict(data).tolist()
        assert answer["outputs"][0]["data"] == expected
        assert fits == before


def test_probabilities_are_those_of_the_model_once_its_map_is_ready():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    y = X.argmax(axis=1)
    model = aggro.PassiveAggressiveClassifier(probability=True).partial_fit(X, y)
    stream = aggro.StreamClassifier("PA-I", probability=True)
    for x, label in zip(X.tolist(), y.tolist(), strict=True):
        stream.learn_one(dict(zip("abc", x, strict=True)), label)
    stream._record.flush()
    for adapter, x in (
        (ArrayAdapter(model), [0.1, 0.2, 0.3]),
        (StreamAdapter(stream), {"a": 0.1, "b": 0.2}),
    ):
        found = adapter.predict(x).probabilities
        if isinstance(adapter, ArrayAdapter):
            expected = model.predict_proba([x])[0]
        else:
            expected = list(stream.predict_proba_one(x).values())
        np.testing.assert_allclose(list(found.values()), expected)


def test_a_new_class_is_answered_before_its_map_is_ready():
    fresh = Calibrator.empty(30)
    outcomes = np.arange(500) % 30
    margins = np.stack([np.eye(30)[outcomes], np.zeros((500, 30))], axis=1)
    found = Probabilities().of(fresh.update(margins, outcomes), np.arange(30.0), np.zeros(30))
    assert len(found) == 30 and sum(found) == pytest.approx(1.0)
    assert found == sorted(found)


def test_texts_without_probability_have_scores():
    model = aggro.TextClassifier(probability=False)
    model.partial_fit(["free money", "lunch"] * 3, ["spam", "ham"] * 3)
    output = TextAdapter(model).predict("free money")
    assert output.prediction == "spam" and output.probabilities is None
    assert output.scores["spam"] == -output.scores["ham"] > 0


# -- explanations -------------------------------------------------------------------------------


def arrays(count=200, classes=3, **params):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(count, 5))
    return aggro.PassiveAggressiveClassifier(**params).partial_fit(X, X[:, :classes].argmax(axis=1))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "params",
    [{}, {"average": True}, {"average": "reservoir"}, {"scale": "standard"}, {"class_mean": 0.3},
     {"C": "auto"}],
    ids=str,
)  # fmt: skip
def test_arrays_are_explained_by_differences_of_scores(params, classes):
    adapter, x = ArrayAdapter(arrays(classes=classes, **params)), [0.5, -1.0, 2.0, 0.0, 3.0]
    explanation, rows = adapter.explain(x), np.vstack([np.zeros(5), np.diag(x), x])
    scores = adapter.model.decision_function(rows)
    label = explanation.label
    scores = (scores if label == 1 else -scores) if classes == 2 else scores[:, label]
    np.testing.assert_allclose(explanation.intercept, scores[0], atol=1e-6)
    np.testing.assert_allclose(explanation.score, scores[-1], atol=1e-6)
    parts = [part for _, _, part in explanation.contributions]
    np.testing.assert_allclose(parts, scores[1:-1] - scores[0], atol=1e-6)


@pytest.mark.parametrize("classes", [1, 2, 3])
@pytest.mark.parametrize(
    "params",
    [{}, {"average": True}, {"scale": "standard"}, {"C": "auto"}, {"class_mean": 0.3},
     {"max_features": 8, "overflow": "hash"}],
    ids=str,
)  # fmt: skip
def test_streams_are_explained_by_differences_of_scores(params, classes):
    rng = np.random.default_rng(0)
    model = aggro.StreamClassifier("PA-I", **params)
    for k in range(60):
        model.learn_one({"a": rng.normal(), "b": "xyz"[k % 3], "c": k % 5}, "pqr"[k % classes])
    adapter, x = StreamAdapter(model), {"a": 2.0, "b": "y", "new": 3.0, "c": True}
    explanation = adapter.explain(x)
    label = explanation.label
    none = adapter._score({}, label)
    for name, value, part in explanation.contributions:
        assert part == pytest.approx(adapter._score({name: value}, label) - none, abs=1e-9)
    total = explanation.intercept + sum(part for _, _, part in explanation.contributions)
    assert total == pytest.approx(explanation.score) == adapter._score(x, label)


def test_an_explanation_of_a_list_scores_no_more_rows(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 5000))
    model = aggro.PassiveAggressiveClassifier().partial_fit(X, np.arange(20) % 2)
    asked, scores = [], model._scores
    monkeypatch.setattr(model, "_scores", lambda rows: asked.append(len(rows)) or scores(rows))
    explanation = ArrayAdapter(model).explain(X[0].tolist())
    assert len(explanation.contributions) == 5000 and sum(asked) <= 1
