"""The metrics as rows: what is known of each outside the core."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    """What the rules, a race and a merge know of a metric.

    ``keeps`` is what the core keeps for it. Its precision gains x² after an update; where ``ahead``
    is given, ``ahead`` C loss² x² before the update instead.

    A race lays its ``grid`` of C out in steps of the root of ten from the unit. The unit is 1/‖x‖²
    for the Euclidean metric, where a larger C than about one changes nothing; the others bring
    features to one scale by themselves. A merge of shards shortens the change of a weight by the
    share of the shards that have news about it, to the power of ``damping``: Euclidean steps do not
    shrink with what is known, and rare features need all they get. Where many shards have news, the
    mean of their steps is lengthened by ``relaxation``: a step is a projection onto a margin, and a
    mean of projections may go up to twice as far (Cimmino). ``rounds`` is how many times as many
    merges as there must be are worth their price: precisions of all shards shorten the steps that
    each takes after a merge, and the mean of them is shorter still.
    """

    keeps: str
    ahead: float = 0.0
    power: float = 0.0  # a weight's variance is its precision to the power of -1/power
    grid: range = range(-6, 7)
    damping: float = 0.0
    relaxation: float = 0.5
    rounds: int = 2


METRICS = {
    "euclidean": Metric("euclidean", grid=range(-10, 3), rounds=16),
    "diagonal": Metric("diagonal", power=1.0, damping=0.5),
    "root": Metric("root", power=2.0, damping=0.5),
    "newton": Metric("diagonal", ahead=2.0, power=1.0, damping=0.5),
    "full": Metric("full", relaxation=0.0),  # its merge solves for the change that fits all best
}
# Those that keep a variance for each weight.
DIAGONAL = {name: metric.power for name, metric in METRICS.items() if metric.power}
