"""Passive-Aggressive online learning: classification, regression and text, exact and self-tuning.

Public names are loaded on first use, so ``import aggro`` is fast.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "AutoClassifier": "aggro.estimators.auto",
    "AutoRegressor": "aggro.estimators.auto",
    "PassiveAggressiveClassifier": "aggro.estimators.passive_aggressive",
    "PassiveAggressiveRegressor": "aggro.estimators.passive_aggressive",
    "AROWClassifier": "aggro.estimators.second_order",
    "AROWRegressor": "aggro.estimators.second_order",
    "ConfidenceWeightedClassifier": "aggro.estimators.second_order",
    "SoftConfidenceWeightedClassifier": "aggro.estimators.second_order",
    "Perceptron": "aggro.estimators.second_order",
    "KernelPassiveAggressiveClassifier": "aggro.estimators.kernel",
    "KernelPassiveAggressiveRegressor": "aggro.estimators.kernel",
    "FeatureMap": "aggro.feature_map",
    "StreamClassifier": "aggro.stream.learners",
    "StreamRegressor": "aggro.stream.learners",
    "TextClassifier": "aggro.text.classifier",
    "TextRegressor": "aggro.text.regressor",
    "save": "aggro.persistence",
    "load": "aggro.persistence",
    "to_sklearn": "aggro.persistence",
    "to_onnx": "aggro.persistence",
    "ModelFileError": "aggro.persistence",
    "merge": "aggro.merging",
    "sweep": "aggro.sweeping.sweep",
    "catalogue": "aggro.variants",
    "from_name": "aggro.variants",
}

_MODULES = ("datasets", "io", "reference", "serve", "text")

__all__ = [*_HOMES, *_MODULES, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"aggro.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'aggro' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
