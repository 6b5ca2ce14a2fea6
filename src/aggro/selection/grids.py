"""What is raced where a setting is "auto": grids of C, metrics, scales."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from aggro.learner import Learner
from aggro.selection.copies import begin_anew, select
from aggro.settings import DIAGONAL, METRICS, SCALES, Settings, are_compatible, intercept_prior

# Values of C are powers of the square root of ten; grids count them in steps from the unit.
STEP = math.log(10.0) / 2
MOST_STEPS = 550  # beyond which a C is no longer a number
# Metric and scale, each pair with a grid of its own; docs/tuning.md tells what else was tried.
# Newton's metric races for classes alone: the squared loss of a number has the unit of the number.
Places = tuple[tuple[str, str], ...]
PLACES: Places = (
    ("diagonal", "none"),
    ("adagrad", "none"),
    ("newton", "none"),
    ("newton", "online"),
    ("adagrad", "standard"),
    ("euclidean", "standard"),
    ("diagonal", "standard"),
)
PLACES_OF_NUMBERS: Places = (
    ("diagonal", "none"),
    ("adagrad", "none"),
    ("adagrad", "online"),
    ("euclidean", "online"),
    ("adagrad", "standard"),
    ("euclidean", "standard"),
    ("diagonal", "standard"),
)
FILLED = 8  # sparse rows are centred, which fills them, if at least every eighth feature is there
PIECE = 1024  # most examples between two looks at who leads
# What stays of a race, from so many examples on: so many learners, the best ones; and of each grid
# the best C with so many neighbours on either side. On 70 real sets the error is 1.002 times that
# of a race in which nobody leaves before 3000 examples (at most 1.035 times).
HALVINGS = (
    (0, 7, 6),
    (256, 6, 2),
    (512, 4, 2),
    (1024, 3, 1),
    (4096, 2, 1),
    (8192, 1, 1),
)
SETTLED = HALVINGS[1][0]  # from here on somebody may leave, and grids may move
FAR_BEHIND = 1.2  # so many times the error of the leader
KNOWN_UNIT = (1024.0, 0.0, 1024.0, 0.0, 0.0)  # of a grid that was laid out once and for all
NEAR = 0.8  # steps that the unit may be away from where the grid was put
FAR = 24  # steps that the edges may move away from the unit


def places_of(settings: Settings, sparse: bool) -> list[tuple[str, str]]:
    """Return the pairs of metric and scale to compare that are compatible with the other settings.

    Sparse rows are not centred: all would fill.
    """
    s = settings
    if s.metric != "auto" and s.scale != "auto":
        return [(s.metric, s.scale)]
    places = PLACES_OF_NUMBERS if s.task == "regression" else PLACES
    if s.scale != "auto":
        places = tuple(dict.fromkeys((metric, s.scale) for metric, _ in places))
    elif s.metric != "auto":
        places = tuple((s.metric, scale) for scale in SCALES)
    return [
        (metric, scale)
        for metric, scale in places
        if not (sparse and s.scale == "auto" and scale == "standard")
        and are_compatible(replace(s, metric=metric, scale=scale))
    ]


def tables_of(s: Settings) -> int:
    """Return how many numbers one lane keeps of a feature: its weight, a mean, a variance."""
    return 1 + (s.average not in (False, 0)) + (s.metric in DIAGONAL)


def limited_grid(grid: range, values: int) -> range:
    """Return at most so many places of a grid, around the one above the middle.

    >>> list(limited_grid(range(-6, 7), 5)), len(limited_grid(range(-6, 7), 99))
    ([-1, 0, 1, 2, 3], 13)
    """
    if values >= len(grid):
        return grid
    first = (grid.start + grid.stop) // 2 + 1 - (values - 1) // 2
    first = min(max(first, grid.start), grid.stop - values)
    return range(first, first + values)


def grid_of(s: Settings, steps: int) -> list[float]:
    """Return the grid of C of a metric around a unit, so many steps away from one."""
    return [price(place + steps) for place in METRICS[s.metric].grid]


def price(place: int) -> float:
    """Return the C at a place of the endless grid."""
    return float(10.0 ** (place / 2))


def shifted(C: float, steps: int) -> float:
    """Return C moved by steps of the grid; the factor alone may be larger than any number.

    >>> shifted(1e-300, 1200)
    1e+300
    """
    while steps:
        part = max(-MOST_STEPS, min(steps, MOST_STEPS))
        C, steps = C * price(part), steps - part
    return C


def first_steps(s: Settings, square: float, target: float) -> int:
    """Return where the unit lies, by the squared length and the target of one example."""
    unit = []
    for size in (square + s.fit_intercept * intercept_prior(s, square), target):
        known = 0.0 < size < math.inf
        unit += [float(known), math.log(size) if known else 0.0]
    return round(steps_of(s, [*unit, 0.0]))


def steps_of(s: Settings, unit: Sequence[float]) -> float:
    """Return where the unit lies, in steps from one, by what the core knows of the examples.

    A step of C x changes a prediction by C‖x‖². Where C caps the step of a regression, it is in
    units of the target, too. What is not known yet counts as one.
    """
    rows, squares, answers, targets, _ = unit
    log = -squares / rows if s.metric == "euclidean" and rows else 0.0
    if s.loss == "epsilon_insensitive" and answers:
        log += targets / answers
    return max(-MOST_STEPS, min(log / STEP, MOST_STEPS))


def next_look(examples: int) -> int:
    """Return when to look at the race again: after one example at first, later after a piece."""
    step = min(1 << (examples // 32).bit_length(), PIECE)
    return (examples // step + 1) * step


def is_settled(examples: int, look: int) -> bool:
    """Tell whether a look that was due at ``look`` may do more than follow the unit.

    That is so at each power of two, and later once in a piece. Pieces are counted from the
    beginning of the stream, so that calls do not matter.
    """
    if examples < SETTLED:
        return False
    piece = min(1 << (examples.bit_length() - 1), PIECE)
    return examples // piece > (look - 1) // piece


def staying(examples: int) -> tuple[int, int]:
    """Return how many learners may stay, and how many neighbours the best C of each may keep.

    >>> staying(255), staying(1024), staying(1_000_000)
    ((7, 6), (3, 1), (1, 1))
    """
    _, learners, neighbours = max(row for row in HALVINGS if row[0] <= examples)
    return learners, neighbours


def standing(record: tuple[float, float, float, float], chosen: bool) -> dict[str, Any]:
    """Return how a lane is doing, by the record that the core keeps of it."""
    mistakes, recent_mistakes, recent_loss, recent = record
    return {
        "mistakes": int(mistakes),
        "recent_error": recent_mistakes / recent if recent else 0.0,
        "recent_loss": recent_loss / recent if recent else 0.0,
        "chosen": chosen,
    }


def off_unit(s: Settings, unit: Sequence[float]) -> int:
    """Return how many steps the grid has to follow its unit: none while it is near."""
    off = steps_of(s, unit) - unit[-1]
    return round(off) if abs(off) > NEAR else 0


def off_edge(prices: Sequence[float], chosen: int, unit: Sequence[float]) -> int:
    """Return the step that a grid has to move when its best lane sits at its edge."""
    last = len(prices) - 1
    low, high = (round(math.log(prices[at]) / STEP - unit[-1]) for at in (0, last))
    return int(chosen == last and high < FAR) - int(chosen == 0 and low > -FAR)


def leads_clearly(records: Sequence[Sequence[float]], chosen: int, s: Settings) -> bool:
    """Tell whether the best lane, at the edge, is ahead of the next one by more than chance.

    Moving a grid costs a copy of all weights, and where lanes are level there is nothing to gain.
    """
    (_, fewest, *_), (_, mistakes, *_) = records[chosen], records[abs(chosen - 1)]
    return s.task == "regression" or mistakes - fewest > math.sqrt(fewest)


def most_values(examples: int, below: int = 0) -> int:
    """Return how many values of C a grid keeps after so many examples.

    ``below`` are the values below the best one that are kept in addition.
    """
    return 2 * staying(examples)[1] + 1 + below


def narrowed(learner: Learner, values: int, below: int = 0) -> Learner:
    """Return the learner with so many values of C around the best one; the grid still moves."""
    if learner.models <= values:
        return learner
    before = values - 1 - max(values - 1 - below, 0) // 2
    first = min(max(learner.model.chosen - before, 0), learner.models - values)
    lanes = range(first, first + values)
    return select(learner, lanes, [learner.all_settings[lane] for lane in lanes])


def within_grid(learner: Learner, values: int, grid: range) -> Learner:
    """Return the learner with the values of C that a limited grid begins with."""
    if learner.models <= values:
        return learner
    first = limited_grid(grid, values).start - limited_grid(grid, learner.models).start
    lanes = range(first, first + values)
    return select(learner, lanes, [learner.all_settings[lane] for lane in lanes])


def move_grid(
    learner: Learner, settled: bool, examples: int | None = None, below: int = 0
) -> Learner:
    """Return the learner with its grid where it should be: at the unit, or a step off its edge.

    ``examples`` tells how long it has raced, if that is not for as long as it learns.
    """
    if learner.models == 1:  # one C that was given
        return learner
    if settled:
        raced = learner.examples if examples is None else examples
        learner = narrowed(learner, most_values(raced, below), below)
    unit, chosen = learner.model.unit, learner.model.chosen
    follow = off_unit(learner.settings, unit)
    away = follow
    if settled and not follow:
        away = off_edge([lane.C for lane in learner.all_settings], chosen, unit)
    if away == 0 or not (follow or leads_clearly(learner.model.records, chosen, learner.settings)):
        return learner
    moved = _shift(learner, away)
    moved.model.set_unit(unit[-1] + follow)
    return moved


def _shift(learner: Learner, steps: int) -> Learner:
    """Return the learner with each C so many steps on; a C that is new begins as the leader.

    By more than one step, which happens to the first few examples only, all begin anew: what they
    have learned is of another size, and a small C could not put it right.
    """
    settings, last = learner.all_settings, learner.models - 1
    sources, lanes = [], []
    for place in range(steps, steps + learner.models):
        edge = min(max(place, 0), last)
        sources.append(place if place == edge else learner.model.chosen)
        lanes.append(replace(settings[edge], C=shifted(settings[edge].C, place - edge)))
    return begin_anew(learner, lanes) if abs(steps) > 1 else select(learner, sources, lanes)
