"""Candidates of a model selection that fit into its memory limit.

Three eighths of the limit are for the state of the candidates. The rest is for copies of it: what a
call that fails goes back to, grids that move, and the best pass of ``fit``. Which candidates there
are depends on the shape of the model and on the limit alone, not on how rows are cut into calls.
"""

from __future__ import annotations

from collections.abc import Sequence

from aggro.learner import Learner
from aggro.selection.grids import PLACES, PLACES_OF_NUMBERS, Places, tables_of
from aggro.settings import METRICS, Settings, memory_limit

VECTOR = 64  # bytes to which the outputs of a feature are padded
FEWEST = 5  # values of C for each pair of metric and scale, as long as there are several pairs
# The pairs in the order in which they are kept; docs/tuning.md says why.
ORDER: Places = tuple(
    dict.fromkeys((("newton", "none"), ("newton", "online"), ("diagonal", "standard"), *PLACES))
)
ORDER_OF_NUMBERS: Places = tuple(
    dict.fromkeys((("adagrad", "online"), ("euclidean", "online"), *PLACES_OF_NUMBERS[::-1]))
)


def state_bytes(s: Settings, features: int, outputs: int, models: int, itemsize: int) -> int:
    """Return about how many bytes the state of models side by side takes.

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
    """Return about how many bytes the state of a learner takes."""
    shape = (learner.features, learner.outputs, learner.models, learner.dtype.itemsize)
    return state_bytes(learner.settings, *shape)


def affordable(
    places: Sequence[Settings], features: int, outputs: int, itemsize: int, spent: int = 0
) -> tuple[list[Settings], int]:
    """Return the pairs of metric and scale, of these in order, that can be selected from.

    The second value is the most values of C for each of them. ``spent`` bytes are taken already.

    >>> given = {"metric": "newton", "memory": "1GiB"}
    >>> pairs = [Settings("binary", scale=scale, **given) for scale in ("none", "online")]
    >>> kept, values = affordable(pairs, 10**5, 1, 8)
    >>> [each.scale for each in kept], values
    (['none', 'online'], 13)
    >>> kept, values = affordable(pairs, 10**6, 20, 8)
    >>> [each.scale for each in kept], values
    (['none'], 1)
    """
    room = memory_limit(places[0].memory) * 3 // 8 - spent
    widest = max(len(METRICS[place.metric].grid) for place in places)

    def fits(kept: Sequence[Settings], values: int) -> bool:
        each = (state_bytes(place, features, outputs, values, itemsize) for place in kept)
        return sum(each) <= room

    for count in range(len(places), 0, -1):
        for values in range(widest, FEWEST - 1 if count > 1 else 0, -1):
            if fits(places[:count], values):
                return list(places[:count]), values
    return list(places[:1]), 1


def by_importance(places: Sequence[Settings]) -> list[Settings]:
    """Return pairs of metric and scale in the order in which a limit keeps them."""
    order = ORDER_OF_NUMBERS if places[0].task == "regression" else ORDER
    ranks = {pair: rank for rank, pair in enumerate(order)}
    return sorted(places, key=lambda s: ranks.get((s.metric, s.scale), len(ranks)))
