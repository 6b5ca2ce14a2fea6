"""Comparison of floating-point results across machines."""

import numpy as np


def assert_close(actual, expected, rtol=1e-7):
    """Assert that each number differs by at most ``rtol`` times the largest one.

    Rounding depends on the processor and its BLAS; a sum that cancels may be small itself.
    """
    atol = rtol * np.max(np.abs(expected), initial=0.0)
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=atol)
