"""Write the golden files: python make_golden.py.

One model of each kind, and one of each feature that has its own state. The model files may be
written again when the format changes. ``predictions.json`` must not change: it contains the
predictions of the models, and a new version must learn the same ones.
"""

import json
from pathlib import Path

import numpy as np

import aggro

HERE = Path(__file__).parent
PREDICTIONS = HERE / "predictions.json"
CLASSIFIER = aggro.PassiveAggressiveClassifier
MODELS = {
    "binary": CLASSIFIER(C=0.5),
    "support": CLASSIFIER(average=True, class_weight={"bee": 2.0}),
    "means": CLASSIFIER(class_mean=0.1, queue=3),
    "multilabel": CLASSIFIER(),
    "diagonal": CLASSIFIER(metric="diagonal", multiclass="ovr"),
    "full": CLASSIFIER(metric="full", multiclass="ovr"),
    "adagrad": CLASSIFIER(metric="adagrad", average=False),
    "reservoir": CLASSIFIER(average="reservoir", reservoir_size=3, random_state=0),
    "probability": CLASSIFIER(C="auto", scale="online", probability=True, random_state=0),
    "one-class": CLASSIFIER(class_mean=0.1, average=True),
    "regressor": aggro.PassiveAggressiveRegressor(),
    "perceptron": aggro.Perceptron(),
    "arow": aggro.AROWClassifier(),
    "arow-regressor": aggro.AROWRegressor(),
    "cw": aggro.ConfidenceWeightedClassifier(),
    "scw": aggro.SoftConfidenceWeightedClassifier(),
    "kernel": aggro.KernelPassiveAggressiveClassifier(budget=10),
    "kernel-regressor": aggro.KernelPassiveAggressiveRegressor(),
    "auto": aggro.AutoClassifier(features="linear", random_state=0),
    "auto-regressor": aggro.AutoRegressor(features="linear", random_state=0),
    "stream": aggro.StreamClassifier("SPA-I", C="auto", probability=True),
    "stream-regressor": aggro.StreamRegressor("PAR-I", max_features=16, overflow="hash"),
    "text": aggro.TextClassifier(
        probability=True, n_features=2**6, keep_names=True, random_state=0
    ),
    "text-regressor": aggro.TextRegressor(
        n_features=2**6, ngram_range=(1, 1), C=1.0, random_state=0
    ),
}


def data(name):
    """Return forty rows of four features, exact in binary, or as many texts, and their targets."""
    X = (np.arange(160).reshape(40, 4) * 37 % 64 - 32) / 16
    if name.startswith("text"):
        texts = np.array([" ".join(f"word{value:.0f}" for value in 4 * row + 8) for row in X])
        return texts, X[:, 0] if name.endswith("regressor") else np.where(X[:, 0] > 0, "bee", "ant")
    if name.endswith("regressor"):
        return X, X @ [1.0, -2.0, 0.5, 0.0]
    if name == "one-class":
        return X, np.full(40, "bee")
    if name == "multilabel":
        return X, (X[:, :3] > 0).astype(int)
    y = np.array(["ant", "bee", "wasp"])[X[:, :3].argmax(axis=1)]
    return X, (y == "bee").astype(int) if name == "binary" else y


def learn(model, X, y):
    """Learn rows in one call, or one by one if the model is a stream learner."""
    if hasattr(model, "partial_fit"):
        model.partial_fit(X, y)
        return
    for x, label in zip(X.tolist(), y.tolist(), strict=True):
        model.learn_one(dict(zip("abcd", x, strict=True)), label)


def predictions(model, X):
    """Return the scores of rows, the probabilities if there are some, or the values, as lists."""
    if not hasattr(model, "partial_fit"):
        one = getattr(model, "predict_proba_one", model.predict_one)
        found = [one(dict(zip("abcd", x, strict=True))) for x in X.tolist()]
        return [list(row.values()) if isinstance(row, dict) else row for row in found]
    if getattr(model, "probability", False):
        return model.predict_proba(X).tolist()
    return np.asarray(getattr(model, "decision_function", model.predict)(X)).tolist()


if __name__ == "__main__":
    found = {}
    for name, model in MODELS.items():
        X, y = data(name)
        learn(model, X, y)
        aggro.save(model, HERE / f"{name}.aggro")
        found[name] = predictions(model, X)
    lines = [f"{json.dumps(name)}: {json.dumps(each)}" for name, each in found.items()]
    PREDICTIONS.write_text("{\n" + ",\n".join(lines) + "\n}\n")
