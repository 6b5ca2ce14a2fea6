"""The peers, as they would be used for the same work; absent ones are left out with a note."""

from __future__ import annotations

import importlib
import warnings

import numpy as np

missing: set[str] = set()


def peer(module):
    """Return a module, or None with a note when it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError:
        missing.add(module.split(".")[0])
        return None


def sklearn_fit(X, y, C=1.0):
    """One pass of scikit-learn's own Passive-Aggressive."""
    from sklearn.linear_model import SGDClassifier

    model = SGDClassifier(
        learning_rate="pa1", penalty=None, eta0=C, max_iter=1, tol=None, shuffle=False
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one pass has not converged
        return model.fit(X, y)


def vw_run(arguments):
    """Let Vowpal Wabbit do what its command line would."""
    from vowpalwabbit import Workspace

    return Workspace(f"--quiet {arguments}")


def error_of(X, y):
    """Return the function that says how often a fitted classifier errs on these rows."""
    return lambda model: float(np.mean(model.predict(X) != y))
