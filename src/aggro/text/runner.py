"""A way to read texts that is in the race, and the learners that race on it."""

from __future__ import annotations

import dataclasses

from aggro.learner import Array
from aggro.reference_row import ReferenceRow
from aggro.selection.common import AnyLearner
from aggro.selection.selection import ModelSelection
from aggro.settings import Settings
from aggro.text.encoder import Rows


@dataclasses.dataclass(frozen=True)
class Runner:
    """A representation in the race: a range of n-grams and a weighing."""

    which: int
    kind: str
    race: AnyLearner
    typical: ReferenceRow


@dataclasses.dataclass(frozen=True)
class Matrix:
    """Sparse rows by one weighing."""

    data: Array
    indices: Array
    indptr: Array


def matrix_of(runner: Runner, rows: list[Rows]) -> Matrix:
    """Return the rows as a runner weighs them."""
    each = rows[runner.which]
    return Matrix(each.values[runner.kind], each.indices, each.starts)


def settings_of(runner: Runner, settings: Settings) -> Settings:
    """Return the settings of a runner: what its own race left open, or has chosen."""
    if isinstance(runner.race, ModelSelection):
        return settings
    old = runner.race.settings
    chosen = {name: getattr(old, name) for name in ("C", "metric", "average")}
    return dataclasses.replace(settings, **chosen)
