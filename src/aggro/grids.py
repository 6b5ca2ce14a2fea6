"""What is raced where a setting is "auto": grids of C, metrics, scales, last or mean weights."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from aggro.bundle import select
from aggro.learner import Learner
from aggro.rules import SCALES, Settings

# Grids are in units of 1/‖x‖² for the Euclidean metric, where a larger C than about
# one changes nothing; the diagonal and full metrics bring features to one scale by themselves.
STEP = 10**0.5
GRIDS = {
    "euclidean": 10.0 ** np.arange(-5.0, 1.1, 0.5),
    "diagonal": 10.0 ** np.arange(-3.0, 3.1, 0.5),
    "full": 10.0 ** np.arange(-3.0, 3.1, 0.5),
}
PREDICTORS: dict[Any, tuple[bool, ...]] = {"auto": (False, True)}
# Metric and scale, each pair with a grid of its own. Unscaled features in the Euclidean metric are
# left out when both are to be chosen: of 43 real sets they led on one.
PLACES = (
    ("diagonal", "none"),
    ("diagonal", "online"),
    ("euclidean", "online"),
    ("diagonal", "standard"),
    ("euclidean", "standard"),
)
# examples after which a record counts 1/e: long enough to choose, short enough to follow
MEMORY = 5000
PIECE = 1024  # most examples between two looks at who leads
SETTLED = 3 * PIECE  # examples before the grid may move, or who is far behind may leave
FAR_BEHIND = 1.2  # so many times the error of the leader


def places_of(settings: Settings, sparse: bool) -> list[tuple[str, str]]:
    """Return the pairs of metric and scale to race. Sparse rows are not centred: all would fill."""
    s = settings
    if s.metric != "auto" and s.scale != "auto":
        return [(s.metric, s.scale)]
    places = PLACES if s.metric == "auto" else tuple((s.metric, scale) for scale in SCALES)
    if s.scale != "auto":
        places = tuple((metric, s.scale) for metric in GRIDS if metric != "full")
    return [place for place in places if not (sparse and s.scale == "auto" and "standard" in place)]


def grid_of(s: Settings, size: float, target: float) -> list[float]:
    """Return a grid of C for rows of squared length ``size`` and targets about so large.

    A step of C x changes a prediction by C‖x‖². Where C caps the step of a regression, it is in
    units of the target, too.
    """
    unit = 1.0 / max(size + s.fit_intercept, 1e-300) if s.metric == "euclidean" else 1.0
    if s.loss == "epsilon_insensitive":
        unit *= target or 1.0
    return [float(c * unit) for c in GRIDS[s.metric]]


def memory_of(s: Settings) -> float:
    """Return what an example leaves of the records before it."""
    return 1.0 - (s.forgetting or 1.0 / MEMORY)


def standing(record: tuple[float, float, float, float], chosen: bool) -> dict[str, Any]:
    """Return how a lane is doing, by the record that the core keeps of it."""
    mistakes, recent_mistakes, recent_loss, recent = record
    return {
        "mistakes": int(mistakes),
        "recent_error": recent_mistakes / max(recent, 1.0),
        "recent_loss": recent_loss / max(recent, 1.0),
        "chosen": chosen,
    }


def move_grid(learner: Learner) -> Learner:
    """Return the learner with its grid moved by one step when the best lane sits at its edge."""
    last, best = learner.models - 1, learner.model.chosen
    if last == 0:  # one C that was given
        return learner
    settings = list(learner.all_settings)
    if best == last and settings[last].C < 1e12:
        fresh = replace(settings[last], C=settings[last].C * STEP)
        return select(learner, [*range(1, last + 1), last], [*settings[1:], fresh])
    if best == 0 and settings[0].C > 1e-12:
        fresh = replace(settings[0], C=settings[0].C / STEP)
        return select(learner, [0, *range(last)], [fresh, *settings[:-1]])
    return learner
