"""Adding classes in the core equals the NumPy reference, array by array."""

import add_classes_reference
import numpy as np
import pytest
from test_add_classes_side_by_side import AXES, GROWTHS, candidates, problem

from aggro.learner import Learner, rows_of
from aggro.settings import Settings

MORE = [
    *({"metric": "adagrad"}, {"mergeable": True}, {"intercept_scaling": "auto"}),
    *({"intercept_scaling": "auto", "metric": "full"}, {"average": "auto"}),
    {"scale": "standard", "metric": "diagonal", "average": True},
]
ROUNDED = ("class_sum_norm", "class_sum_cross", "class_total")  # summed in another order


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("multiclass", ["support", "top", "ovr"])
@pytest.mark.parametrize("axes", [*AXES, *MORE], ids=str)
def test_grown_learners_are_equal(axes, multiclass, dtype):
    settings = Settings(task="binary", loss="hinge", multiclass=multiclass, **axes)
    for labels, classes, position in GROWTHS:
        X, y = problem(labels)
        old = Learner(candidates(settings, len(labels)), 4, len(labels), dtype)
        old.model.set_memory(0.9)
        old.learn(rows_of(X.astype(dtype)), labels=y)
        before = {name: array.tobytes() for name, array in old.state().items()}
        wider, place = candidates(settings, classes), np.array(position)
        expected = add_classes_reference.grow_classes(old, wider, place, classes)
        found = old.add_classes(wider, place, classes)
        assert before == {name: array.tobytes() for name, array in old.state().items()}
        assert found.model.memory == expected.model.memory
        for name, array in expected.state().items():
            if name in ROUNDED:
                np.testing.assert_allclose(found.state()[name], array, rtol=1e-12, atol=1e-12)
            else:
                assert np.array_equal(found.state()[name], array), name
