"""Write the golden files of the present format: python make_golden.py [--replace].

They are made once for each format and then kept: every later version must load them.
"""

import json
import sys
from pathlib import Path

import numpy as np

import aggro
from aggro.models import save
from aggro.models.record import FORMAT

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
    "kernel": getattr(aggro, "KernelPassiveAggressiveClassifier", lambda **_: None)(budget=10),
    "kernel-regressor": getattr(aggro, "KernelPassiveAggressiveRegressor", lambda: None)(),
}


def data(name):
    """Forty rows of four features, exact in binary, and their targets."""
    X = (np.arange(160).reshape(40, 4) * 37 % 64 - 32) / 16
    if name.endswith("regressor"):
        return X, X @ [1.0, -2.0, 0.5, 0.0]
    y = np.array(["ant", "bee", "wasp"])[X[:, :3].argmax(axis=1)]
    return X, (y == "bee").astype(int) if name == "binary" else y


def scores(model, X):
    """What a model says about its rows, as lists."""
    says = getattr(model, "decision_function", model.predict)
    return np.asarray(says(X)).tolist()


if __name__ == "__main__":
    for name, model in MODELS.items():
        path = HERE / f"format-{FORMAT}-{name}.aggro"
        if model is None or (path.exists() and "--replace" not in sys.argv):
            continue
        X, y = data(name)
        model.set_params(random_state=0).partial_fit(X, y)
        save(model, path)
        path.with_suffix(".json").write_text(json.dumps(scores(model, X)) + "\n")
        print(path.name, path.stat().st_size)
