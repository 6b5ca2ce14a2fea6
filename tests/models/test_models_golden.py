"""Models learn the recorded predictions, and golden files load."""

import json
import sys
from pathlib import Path

import pytest
from sklearn.base import clone

import aggro
from aggro.variants import ESTIMATORS

GOLDEN = Path(__file__).parent / "golden"
sys.path.insert(0, str(GOLDEN))

from make_golden import MODELS, PREDICTIONS, data, learn, predictions  # noqa: E402


def close_to(name):
    # Texts are learned in single precision.
    tolerance = 1e-5 if name.startswith("text") else 1e-12
    return [
        pytest.approx(each, rel=tolerance, abs=tolerance)
        for each in json.loads(PREDICTIONS.read_text())[name]
    ]


def test_there_is_a_golden_file_for_each_kind_of_model():
    assert {path.stem for path in GOLDEN.glob("*.aggro")} == set(MODELS)
    kinds = {type(model).__name__ for model in MODELS.values()}
    others = {"StreamClassifier", "StreamRegressor", "TextClassifier", "TextRegressor"}
    assert kinds == {*ESTIMATORS, *others}


@pytest.mark.parametrize("name", MODELS)
def test_golden_file_predicts_as_recorded_and_continues(name):
    X, y = data(name)
    model = aggro.load(GOLDEN / f"{name}.aggro")
    assert predictions(model, X) == close_to(name)
    learn(model, X, y)


@pytest.mark.parametrize("name", MODELS)
def test_new_model_learns_the_recorded_predictions(name):
    X, y = data(name)
    model = clone(MODELS[name], safe=False)
    learn(model, X, y)
    assert predictions(model, X) == close_to(name)
