"""Feature scaling, relative epsilon and forgetting: the core agrees with the NumPy reference."""

import numpy as np
import pytest
from linear_support import ADAPTIVE_AXES, allowed, covering_rows
from test_reference_agreement import compare

COVER = covering_rows(ADAPTIVE_AXES, 2, allowed, np.random.default_rng(7))


@pytest.mark.parametrize("seed", range(len(COVER)))
def test_core_agrees_with_the_reference(seed):
    compare(COVER[seed], seed)
