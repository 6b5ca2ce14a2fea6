"""Blog post: PA-II for classification and regression, from scratch."""

from __future__ import annotations

from studies.papers.blog.claims import claims
from studies.papers.blog.figures import figures
from studies.papers.blog.learning import run
from studies.papers.experiment import Cell, Provenance, Published, Results, Values

TITLE = "ML Algorithms addendum: Passive Aggressive Algorithms"
SOURCE = "G. Bonaccorso, bonaccorso.eu, October 2017 (a blog text with two programs)."
DATA: tuple[str, ...] = ()
MAIN = "One pass of PA-II"
PROVENANCE = Provenance(
    own="both generated sets, seed for seed", other="–", fitted="nothing: no number is printed"
)
ABOUT = """
The text prints two programs and the curve of one, but no numbers, so no single number can be
compared. Both examples use generated data with seed 1000. Here, aggro and the printed rule, written
as a NumPy loop, learn them for that seed and for 49 more.
"""
SEEDS = range(1000, 1050)

__all__ = ["ABOUT", "DATA", "MAIN", "PROVENANCE", "SOURCE", "TITLE", "cells", "claims", "figures"]
__all__ += ["reproduced", "run"]


def cells(quick: bool) -> list[Cell]:
    """Return each example for each seed."""
    seeds = SEEDS[:6] if quick else SEEDS
    examples = ("classification", "regression", "drift")
    return [{"example": example, "seed": seed} for example in examples for seed in seeds]


def reproduced(results: Results, entry: Published) -> Values | None:
    """Return None: the text prints no number."""
    return None
