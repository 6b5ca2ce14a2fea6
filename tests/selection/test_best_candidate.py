"""The mistakes of a model selection are those of ``predict`` at each example."""

import numpy as np
import pytest

from aggro import ConfidenceWeightedClassifier, PassiveAggressiveClassifier


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "make",
    [
        lambda: PassiveAggressiveClassifier(C="auto", metric="auto"),
        lambda: PassiveAggressiveClassifier(metric="auto", C=0.3),
        lambda: ConfidenceWeightedClassifier(metric="auto", average="reservoir", reservoir_size=1),
    ],
    ids=["C and metric", "metric", "reservoir"],
)
def test_mistakes_are_those_of_predict_at_every_example(make, seed):
    """A candidate that becomes better predicts only from the next checkpoint on."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 8)) * 3.0 ** rng.integers(-2, 3, 8)
    y = (X @ rng.normal(size=8) + 4 * rng.normal(size=400) > 0).astype(int) + (X[:, 0] > 1)
    model = make().partial_fit(X[:1], y[:1], classes=[0, 1, 2])
    made = model.n_mistakes_
    for row, label in zip(X[1:], y[1:], strict=True):
        made += int(model.predict(row[None])[0] != label)
        model.partial_fit(row[None], [label])
        assert model.n_mistakes_ == made
