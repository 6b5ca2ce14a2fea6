"""The values of names that share a bucket are added."""

import numpy as np
import pytest

from aggro import StreamClassifier, StreamRegressor

BUCKETS = 4  # far fewer than names


def examples(names=30, count=60):
    rng = np.random.default_rng(0)
    for _ in range(count):
        some = {f"n{i}": float(rng.normal()) for i in range(names) if rng.random() < 0.2}
        yield some, {f"n{i}": some.get(f"n{i}", 0.0) for i in range(names)}


@pytest.mark.parametrize("scale", ["none", "online", "standard"])
@pytest.mark.parametrize("cls", [StreamClassifier, StreamRegressor])
def test_explicit_zeros_change_nothing(cls, scale):
    one, other = (cls(scale=scale, max_features=BUCKETS, overflow="hash") for _ in range(2))
    for some, everything in examples():
        target = sum(some.values())
        y = target if cls is StreamRegressor else target > 0
        one.learn_one(some, y)
        other.learn_one(everything, y)
        ask = "predict_one" if cls is StreamRegressor else "score_one"
        expected = getattr(one, ask)(some)
        for model, asked in ((one, everything), (other, some), (other, everything)):
            assert getattr(model, ask)(asked) == pytest.approx(expected, abs=1e-9)
