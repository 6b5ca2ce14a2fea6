"""Write the golden files of the present format: python make_golden.py [--replace].

They are made once for each format and then kept: every later version must load them.
"""

import json
import sys
from pathlib import Path

import numpy as np

import aggro
from aggro.persistence import save
from aggro.persistence.record import FORMAT

HERE = Path(__file__).parent
MODELS = {
    "binary": aggro.PassiveAggressiveClassifier(C=0.5),
    "support": aggro.PassiveAggressiveClassifier(average=True, class_weight={"bee": 2.0}),
    "means": aggro.PassiveAggressiveClassifier(class_mean=0.1, queue=3),
    "diagonal": aggro.PassiveAggressiveClassifier(metric="diagonal", multiclass="ovr"),
    "full": aggro.PassiveAggressiveClassifier(metric="full", multiclass="ovr"),
    "reservoir": aggro.PassiveAggressiveClassifier(average="reservoir", reservoir_size=3),
    "regressor": aggro.PassiveAggressiveRegressor(),
    "perceptron": aggro.Perceptron(),
    "arow": aggro.AROWClassifier(),
    "arow-regressor": aggro.AROWRegressor(),
    "cw": aggro.ConfidenceWeightedClassifier(),
    "scw": aggro.SoftConfidenceWeightedClassifier(),
    "kernel": aggro.KernelPassiveAggressiveClassifier(budget=10),
    "kernel-regressor": aggro.KernelPassiveAggressiveRegressor(),
    "auto": aggro.PassiveAggressiveClassifier(C="auto"),
    "stream": aggro.StreamClassifier("SPA-I"),
    "stream-regressor": aggro.StreamRegressor("PAR-I", max_features=16, overflow="hash"),
    "late": aggro.PassiveAggressiveClassifier(),
    "adagrad": aggro.PassiveAggressiveClassifier(metric="adagrad", average=False),
    "choice": aggro.AutoClassifier(),
    "text": aggro.TextClassifier(n_features=2**8, keep_names=True, random_state=0),
    "text-regressor": aggro.TextRegressor(n_features=2**8, random_state=0),
    # Written when a first class was only counted, until a second one came.
    "one-class": aggro.PassiveAggressiveClassifier(class_mean=0.1, average=True),
    "one-class-auto": aggro.PassiveAggressiveClassifier(C="auto", scale="online"),
    "one-class-kernel": aggro.KernelPassiveAggressiveClassifier(budget=10, probability=True),
    "one-class-probability": aggro.PassiveAggressiveClassifier(probability=True),
    "one-class-stream": aggro.StreamClassifier("PA-I", class_mean=0.1, scale="online"),
    "one-class-stream-auto": aggro.StreamClassifier("PA-I", C="auto", probability=True),
    "no-class-stream": aggro.StreamClassifier("PA-I", class_mean=0.1),
}


def data(name):
    """Forty rows of four features, exact in binary, or as many texts, and their targets."""
    X = (np.arange(160).reshape(40, 4) * 37 % 64 - 32) / 16
    if "text" in name:
        texts = np.array([" ".join(f"word{value:.0f}" for value in 4 * row + 8) for row in X])
        return texts, X[:, 0] if name.endswith("regressor") else np.where(X[:, 0] > 0, "bee", "ant")
    if name.endswith("regressor"):
        return X, X @ [1.0, -2.0, 0.5, 0.0]
    if name.startswith(("one-class", "no-class")):
        return X, np.full(40, "bee")
    y = np.array(["ant", "bee", "wasp"])[X[:, :3].argmax(axis=1)]
    return X, (y == "bee").astype(int) if name.endswith("binary") else y


def learn(model, X, y):
    """Let a model learn rows, one by one if it is made for that."""
    if hasattr(model, "partial_fit"):
        model.partial_fit(X, y)
        return
    for x, label in zip(X.tolist(), y.tolist(), strict=True):
        model.learn_one(dict(zip("abcd", x, strict=True)), label)


def scores(model, X):
    """Return what a model says about rows, as lists."""
    if not hasattr(model, "partial_fit"):
        says = getattr(model, "predict_proba_one", model.predict_one)
        return [says(dict(zip("abcd", x, strict=True))) for x in X.tolist()]
    says = getattr(model, "decision_function", model.predict)
    return np.asarray(says(X)).tolist()


if __name__ == "__main__":
    for name, model in MODELS.items():
        path = HERE / f"format-{FORMAT}-{name}.aggro"
        if path.exists() and "--replace" not in sys.argv:
            continue
        X, y = data(name)
        if not name.startswith("no-class"):
            learn(model, X, y)
        save(model, path)
        path.with_suffix(".json").write_text(json.dumps(scores(model, X)) + "\n")
        print(path.name, path.stat().st_size)
