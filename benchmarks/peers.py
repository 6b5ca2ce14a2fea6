"""Other libraries on the same work; missing ones are skipped with a note."""

from __future__ import annotations

import importlib
import warnings

import numpy as np

missing: set[str] = set()


def peer(module):
    """Return a module, or None with a note if it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError:
        missing.add(module.split(".")[0])
        return None


def sklearn_fit(X, y, C=1.0):
    """Make one pass of scikit-learn's Passive-Aggressive."""
    from sklearn.linear_model import SGDClassifier

    model = SGDClassifier(
        learning_rate="pa1", penalty=None, eta0=C, max_iter=1, tol=None, shuffle=False
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one pass does not converge
        return model.fit(X, y)


def vw_run(arguments):
    """Run Vowpal Wabbit with the arguments of its command line."""
    from vowpalwabbit import Workspace

    return Workspace(f"--quiet {arguments}")


def error_of(X, y):
    """Return a function for the error rate of a classifier on these rows."""
    return lambda model: float(np.mean(model.predict(X) != y))
