"""Equality but for rounding, on every machine."""

import numpy as np


def assert_close(actual, expected, rtol=1e-7):
    """Each number is within ``rtol`` of the greatest; a sum that cancels is small by itself.

    How a processor and its BLAS round differs from machine to machine.
    """
    atol = rtol * np.max(np.abs(expected), initial=0.0)
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=atol)
