"""Loading and saving a model gives the same bytes."""

import numpy as np
import pytest

import aggro

rng = np.random.default_rng(0)
X, y = rng.normal(size=(60, 5)), np.array(["a", "b", "c"] * 20)
TEXTS = ["free money", "lunch", "what is up"] * 20
REGRESSORS = (aggro.AutoRegressor, aggro.KernelPassiveAggressiveRegressor, aggro.TextRegressor)
MODELS = {
    "recorded": lambda: aggro.PassiveAggressiveClassifier(C="auto", probability=True),
    "reservoir": lambda: aggro.PassiveAggressiveClassifier(average="reservoir"),
    "selection": lambda: aggro.AutoClassifier(probability=True),
    "regression": aggro.AutoRegressor,
    "kernel": aggro.KernelPassiveAggressiveRegressor,
    "text": aggro.TextClassifier,
    "text regression": aggro.TextRegressor,
}


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("rows", [1, 60])
def test_file_written_after_loading_has_the_same_bytes(tmp_path, kind, rows):
    model = MODELS[kind]()
    rows_of = TEXTS if "text" in kind else X
    targets = X[:, 0] if isinstance(model, REGRESSORS) else y
    model.partial_fit(rows_of[:rows], targets[:rows])
    first, second = tmp_path / "first.aggro", tmp_path / "second.aggro"
    aggro.save(model, first)
    read = aggro.load(first)
    aggro.save(read, second)
    assert first.read_bytes() == second.read_bytes()

    for each, path in ((model, first), (read, second)):
        each.partial_fit(rows_of[:1], targets[:1])
        aggro.save(each, path)
    assert first.read_bytes() == second.read_bytes()
