"""Scaled features, tubes in units of the targets' spread, forgetting: the core and its twin."""

import numpy as np
import pytest
from linear_support import ADAPTIVE_AXES, allowed, covering_rows
from test_twin import compare

COVER = covering_rows(ADAPTIVE_AXES, 2, allowed, np.random.default_rng(7))


@pytest.mark.parametrize("seed", range(len(COVER)))
def test_combinations(seed):
    compare(COVER[seed], seed)
