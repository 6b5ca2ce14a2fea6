"""Scaled features, tubes in units of the targets' spread, forgetting: the core and its twin."""

import numpy as np
import pytest
from linear_support import covering_rows
from test_twin import AXES, allowed, compare

ADAPTIVE = {
    **AXES,
    "scale": ("none", "online", "standard"),
    "relative_epsilon": (False, True),
    "forgetting": (0.0, 0.2),
}


def possible(part):
    return allowed(part) and not (part.get("metric") == "full" and part.get("forgetting"))


COVER = covering_rows(ADAPTIVE, 2, possible, np.random.default_rng(7))


@pytest.mark.parametrize("seed", range(len(COVER)))
def test_combinations(seed):
    compare(COVER[seed], seed)
