"""Composes cases from seeds, checks and simplifies them."""

import traceback
import warnings
from dataclasses import replace

import numpy as np

from qa.stress import files, one_pass, passes, restores, selections, texts
from qa.stress.runs import Difference

# kind: (module, share of the cases)
KINDS = {
    "one pass": (one_pass, 0.54),
    "passes": (passes, 0.3),
    "texts": (texts, 0.04),
    "files": (files, 0.06),
    "restores": (restores, 0.015),
    "selections": (selections, 0.03),
}


def kind_of(seed):
    """Return the kind of the case of a seed."""
    return _draw_kind(np.random.default_rng(seed))


def _draw_kind(rng):
    shares = np.array([share for _, share in KINDS.values()])
    return list(KINDS)[rng.choice(len(KINDS), p=shares / shares.sum())]


def compose(seed):
    """Return the case of a seed."""
    rng = np.random.default_rng(seed)
    module, _ = KINDS[_draw_kind(rng)]
    return module.compose(seed, rng)


def failure(case):
    """Return the failure of a case, or None."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            case.check()
        except Difference as error:
            return str(error)
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            return f"{type(error).__name__}: {error}\n  at {place.filename}:{place.lineno}"
    return None


def simplified(case, failure=failure):
    """Return the case without faults and steps that its failure does not need."""
    for _ in range(2):  # remove faults first, then steps without faults
        for i in reversed(range(len(case.plan))):
            plan = case.simpler_plan(i)
            if plan is not None and failure(fewer := replace(case, plan=plan)):
                case = fewer
    return case
