"""The search space of a model selection as data: grids, checkpoints, and successive halving."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from aggro.selection.representation import NEVER
from aggro.settings import DIAGONAL, METRICS, SCALES, Settings, are_compatible, intercept_prior

# Values of C are powers of the square root of ten; grids count them in steps from their unit.
STEP = math.log(10.0) / 2
MOST_STEPS = 550  # beyond which a C is not a finite number
# Pairs of metric and scale, each with a grid of its own; docs/studies/tuning.md has other choices
# that were measured. Newton's metric is for classes only: the squared loss of a number has the unit
# of the number.
Pairs = tuple[tuple[str, str], ...]
CLASSIFICATION_PAIRS: Pairs = (
    ("diagonal", "none"),
    ("adagrad", "none"),
    ("newton", "none"),
    ("newton", "online"),
    ("adagrad", "standard"),
    ("euclidean", "standard"),
    ("diagonal", "standard"),
)
REGRESSION_PAIRS: Pairs = (
    ("diagonal", "none"),
    ("adagrad", "none"),
    ("adagrad", "online"),
    ("euclidean", "online"),
    ("adagrad", "standard"),
    ("euclidean", "standard"),
    ("diagonal", "standard"),
)
FILLED = 8  # sparse rows are centred, which fills them, if every eighth feature is non-zero
INTERVAL = 1024  # most examples between two checkpoints
# Successive halving: from this number of examples, this many learners remain, and in each grid the
# best C with this many neighbours on either side. On 70 real sets the error is 1.002 times that of
# a selection without removals before 3000 examples (at most 1.035 times).
HALVINGS = (
    (0, 7, 6),
    (256, 6, 2),
    (512, 4, 2),
    (1024, 3, 1),
    (4096, 2, 1),
    (8192, 1, 1),
)
FIRST_REMOVAL = HALVINGS[1][0]  # from here on learners may be removed and grids may move
FAR_BEHIND = 1.2  # times the error of the best learner
NEAR = 0.8  # steps by which the unit may differ from that of the grid
FAR = 24  # steps by which the edges may move away from the unit

# Examples that the ensemble predicts. On 19 sets of two classes that is worth almost as much as an
# unlimited ensemble (0.965 and 0.961 times the mistakes of the best candidate). With several
# classes there is no difference (0.998 times), and means of regressions are worse (1.035 times).
ENSEMBLE = 1024

# Rows of mapped features have about unit length; on 15 tables the best C was between 0.03 and 100.
# Models of several outputs are large: three values, which move with the best one, are as accurate
# on four tables.
MAPPED_GRIDS = (range(-3, 4), range(-1, 2))


@dataclass(frozen=True)
class SearchSpace:
    """What a model selection chooses from, besides the settings that are "auto".

    Parameters
    ----------
    grids : (range, range), optional
        Values of C in steps from their unit, for models of one output and of several. By default
        the grid of each metric.
    halves_each : bool, default=False
        Whether successive halving applies to each representation separately. Then a representation
        that is worse at the beginning and better later can win.
    patience : int, default=0
        Examples before a candidate is removed because one of another representation is better.
    ensemble : int, default=1024
        Examples of two classes that an ensemble predicts before the best candidate does.
    """

    grids: tuple[range, range] | None = None
    halves_each: bool = False
    patience: int = 0
    ensemble: int = ENSEMBLE

    def grid(self, settings: Settings, outputs: int) -> range:
        """Return the values of C of candidates with these settings, in steps from their unit."""
        if settings.features != "linear":
            return MAPPED_GRIDS[outputs > 1]
        if self.grids is None:
            return METRICS[settings.metric].grid
        return self.grids[outputs > 1]


DEFAULT_SEARCH_SPACE = SearchSpace()
# Linear candidates learn faster, mapped features are better after some thousand rows: neither side
# is removed before, and both remain until one is far behind.
MAPPED_SEARCH_SPACE = SearchSpace(halves_each=True, patience=2 * INTERVAL)
# Rows of texts have unit length, and on seven of the tasks of docs/text.md the best C was between
# 0.3 and 100: a short grid suffices, since it moves with its best candidate, and saves memory. Long
# n-grams are worse at the beginning and better later. An unlimited ensemble makes 0.98
# times the mistakes of one that predicts the first 1024 texts, and 0.995 times on fresh tasks.
TEXT_SEARCH_SPACE = SearchSpace(
    (range(-3, 5), range(-1, 3)), halves_each=True, patience=3 * INTERVAL, ensemble=NEVER
)


# -- candidates ----------------------------------------------------------------------------------


def pairs_of(settings: Settings, sparse: bool) -> list[tuple[str, str]]:
    """Return the pairs of metric and scale to compare that are compatible with the other settings.

    Sparse rows are not centred, which would fill them. Mapped features have their scale already.
    """
    s = settings
    if s.features != "linear":
        return [("adagrad" if s.metric == "auto" else s.metric, "none")]
    if s.metric != "auto" and s.scale != "auto":
        return [(s.metric, s.scale)]
    pairs = REGRESSION_PAIRS if s.task == "regression" else CLASSIFICATION_PAIRS
    if s.scale != "auto":
        pairs = tuple(dict.fromkeys((metric, s.scale) for metric, _ in pairs))
    elif s.metric != "auto":
        pairs = tuple((s.metric, scale) for scale in SCALES)
    return [
        (metric, scale)
        for metric, scale in pairs
        if not (sparse and s.scale == "auto" and scale == "standard")
        and are_compatible(replace(s, metric=metric, scale=scale))
    ]


def tables_of(s: Settings) -> int:
    """Return how many numbers a candidate stores for a feature: weight, mean, variance."""
    return 1 + (s.average not in (False, 0)) + (s.metric in DIAGONAL)


def limited_grid(grid: range, values: int) -> range:
    """Return at most this number of places of a grid, around the one below the middle.

    The largest values of C are alike, since a step ends where the margin is 1. On eight sets of
    hashed words, errors are 0.978 times those of a grid around the one above the middle.

    >>> list(limited_grid(range(-6, 7), 5)), len(limited_grid(range(-6, 7), 99))
    ([-3, -2, -1, 0, 1], 13)
    """
    if values >= len(grid):
        return grid
    first = (grid.start + grid.stop) // 2 - 1 - (values - 1) // 2
    first = min(max(first, grid.start), grid.stop - values)
    return range(first, first + values)


def grid_of(s: Settings, steps: int) -> list[float]:
    """Return the grid of C of a metric around a unit, at this number of steps from one."""
    return [C_at(place + steps) for place in METRICS[s.metric].grid]


def C_at(place: int) -> float:
    """Return the C at a position of the infinite grid."""
    return float(10.0 ** (place / 2))


def shifted(C: float, steps: int) -> float:
    """Return C moved by steps of the grid; the factor alone may be larger than any number.

    >>> shifted(1e-300, 1200)
    1e+300
    """
    while steps:
        part = max(-MOST_STEPS, min(steps, MOST_STEPS))
        C, steps = C * C_at(part), steps - part
    return C


def first_steps(s: Settings, square: float, target: float) -> int:
    """Return the steps of the unit, by the squared length and the target of one example."""
    unit = []
    for size in (square + s.fit_intercept * intercept_prior(s, square), target):
        known = 0.0 < size < math.inf
        unit += [float(known), math.log(size) if known else 0.0]
    return round(steps_of(s, [*unit, 0.0]))


def steps_of(s: Settings, unit: Sequence[float]) -> float:
    """Return the steps of the unit from one, by the statistics that the core keeps of examples.

    A step of C x changes a prediction by C‖x‖². If C limits the step of a regression, it has the
    unit of the target, too. Missing statistics count as one.
    """
    rows, squares, counted, targets, _ = unit
    log = -squares / rows if s.metric == "euclidean" and rows else 0.0
    if s.loss == "epsilon_insensitive" and counted:
        log += targets / counted
    return max(-MOST_STEPS, min(log / STEP, MOST_STEPS))


# -- checkpoints ---------------------------------------------------------------------------------


def next_checkpoint(examples: int) -> int:
    """Return the number of examples at the next evaluation step; the first ones are frequent."""
    step = min(1 << (examples // 32).bit_length(), INTERVAL)
    return (examples // step + 1) * step


def is_test_due(examples: int, checkpoint: int) -> bool:
    """Return True if the evaluation step that was due at ``checkpoint`` may remove candidates.

    That is the case at each power of two, and later once in each interval. Intervals are counted
    from the beginning of the stream, so that they do not depend on calls.
    """
    if examples < FIRST_REMOVAL:
        return False
    interval = min(1 << (examples.bit_length() - 1), INTERVAL)
    return examples // interval > (checkpoint - 1) // interval


def halving(examples: int) -> tuple[int, int]:
    """Return how many learners remain, and how many neighbours the best C of each keeps.

    >>> halving(255), halving(1024), halving(1_000_000)
    ((7, 6), (3, 1), (1, 1))
    """
    _, learners, neighbours = max(row for row in HALVINGS if row[0] <= examples)
    return learners, neighbours


def values_kept(examples: int, below: int = 0) -> int:
    """Return how many values of C a grid keeps after this number of examples.

    ``below`` are the values below the best one that are kept in addition.
    """
    return 2 * halving(examples)[1] + 1 + below


def record_row(record: tuple[float, float, float, float], chosen: bool) -> dict[str, Any]:
    """Return the record that the core keeps of a candidate, as it is reported."""
    mistakes, recent_mistakes, recent_loss, recent = record
    return {
        "mistakes": int(mistakes),
        "recent_error": recent_mistakes / recent if recent else 0.0,
        "recent_loss": recent_loss / recent if recent else 0.0,
        "chosen": chosen,
    }


def off_unit(s: Settings, unit: Sequence[float]) -> int:
    """Return the steps by which a grid must follow its unit: none while it is near."""
    off = steps_of(s, unit) - unit[-1]
    return round(off) if abs(off) > NEAR else 0


def off_edge(costs: Sequence[float], chosen: int, unit: Sequence[float]) -> int:
    """Return the step of a grid whose best candidate is at its edge."""
    last = len(costs) - 1
    low, high = (round(math.log(costs[at]) / STEP - unit[-1]) for at in (0, last))
    return int(chosen == last and high < FAR) - int(chosen == 0 and low > -FAR)


def is_clearly_best(records: Sequence[Sequence[float]], chosen: int, s: Settings) -> bool:
    """Return True if the best candidate, at the edge, is better than the next by more than chance.

    Moving a grid copies all weights, which is not worth it if the candidates are equally good.
    """
    (_, fewest, *_), (_, mistakes, *_) = records[chosen], records[abs(chosen - 1)]
    return s.task == "regression" or mistakes - fewest > math.sqrt(fewest)
