"""Candidates of a model selection that fit into its memory limit.

Three eighths of the limit are for the state of the candidates. The rest is for copies of it, which
are needed to undo a failed call, to move grids, and for the best pass of ``fit``. Which candidates
fit depends on the shape of the models and on the limit alone, not on how rows are divided into
calls.
"""

from __future__ import annotations

from collections.abc import Sequence

from aggro.learner import Learner
from aggro.selection.search_space import CLASSIFICATION_PAIRS, REGRESSION_PAIRS, Pairs, tables_of
from aggro.settings import METRICS, Settings, memory_limit

VECTOR = 64  # bytes to which the outputs of a feature are padded
FEWEST = 5  # values of C for each pair of metric and scale, if there are several pairs
# The pairs in the order in which they are kept; docs/tuning.md says why.
ORDER: Pairs = tuple(
    dict.fromkeys(
        (("newton", "none"), ("newton", "online"), ("diagonal", "standard"), *CLASSIFICATION_PAIRS)
    )
)
ORDER_OF_NUMBERS: Pairs = tuple(
    dict.fromkeys((("adagrad", "online"), ("euclidean", "online"), *REGRESSION_PAIRS[::-1]))
)


def state_bytes(s: Settings, features: int, outputs: int, models: int, itemsize: int) -> int:
    """Return the approximate number of bytes of the state of several models in one learner.

    >>> state_bytes(Settings("binary", metric="newton", average="auto"), 1000, 1, 8, 8)
    192000
    """
    width = -(-outputs * models * itemsize // VECTOR) * VECTOR
    tables = (
        tables_of(s) + s.queue * (s.queue > 1) + (s.reservoir_size + 1) * (s.average == "reservoir")
    )
    line = width * tables + (0 if s.scale == "none" else 4 * 8)
    full = METRICS[s.metric].storage == "full"
    return features * (line + full * features * width // 2)


def learner_bytes(learner: Learner) -> int:
    """Return the approximate number of bytes of the state of a learner."""
    shape = (learner.features, learner.outputs, learner.models, learner.dtype.itemsize)
    return state_bytes(learner.settings, *shape)


def fits_into_memory(learners: Sequence[Learner], settings: Settings) -> bool:
    """Return True if these learners are within the memory limit of a selection."""
    return sum(map(learner_bytes, learners)) <= _available(settings) or len(learners) <= 1


def affordable(
    places: Sequence[Settings],
    features: int | Sequence[int],
    outputs: int,
    itemsize: int,
    spent: int = 0,
    most: Sequence[int] | None = None,
) -> tuple[int, int]:
    """Return how many of these settings, in order, can be selected from within the memory limit.

    The second value is the largest number of values of C for each of them.

    Parameters
    ----------
    places : sequence of Settings
        One for each learner, the most important ones first.
    features : int or sequence of int
        Columns, of all learners or of each.
    outputs, itemsize : int
        Scores of a row, and bytes of a weight.
    spent : int, default=0
        Bytes that are used already.
    most : sequence of int, optional
        The largest number of values of C of each learner. By default the grid of its metric.

    >>> given = {"metric": "newton", "memory": "1GiB"}
    >>> pairs = [Settings("binary", scale=scale, **given) for scale in ("none", "online")]
    >>> affordable(pairs, 10**5, 1, 8), affordable(pairs, 10**6, 20, 8)
    ((2, 13), (1, 1))
    """
    available = _available(places[0]) - spent
    widths = [features] * len(places) if isinstance(features, int) else features
    if most is None:
        most = [max(len(METRICS[place.metric].grid) for place in places)] * len(places)
    widest = max(most)

    def fits(count: int, values: int) -> bool:
        each = (
            state_bytes(place, width, outputs, min(values, own), itemsize)
            for place, width, own in zip(places[:count], widths, most, strict=False)
        )
        return sum(each) <= available

    for count in range(len(places), 0, -1):
        fewest = min(FEWEST, widest) if count > 1 else 1
        for values in range(widest, fewest - 1, -1):
            if fits(count, values):
                return count, values
    return 1, 1


def _available(settings: Settings) -> int:
    return memory_limit(settings.memory) * 3 // 8


def importance(settings: Settings) -> int:
    """Return the rank of a pair of metric and scale; a memory limit keeps the lowest ranks."""
    order = ORDER_OF_NUMBERS if settings.task == "regression" else ORDER
    pair = (settings.metric, settings.scale)
    return order.index(pair) if pair in order else len(order)


def importance_of(learner: Learner) -> int:
    """Return the rank of a learner (see ``importance``)."""
    return importance(learner.settings)
