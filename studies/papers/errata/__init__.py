"""Errata: printed formulas compared with the corrected ones on real data."""

from studies.papers.errata.protocol import MEASURES, cells, run
from studies.papers.errata.table import section

TITLE = "Effect of the errors in the printed formulas"
SOURCE = "docs/errata.md"
DATA = tuple(dict.fromkeys(data for data, _ in MEASURES.values()))

__all__ = ["DATA", "SOURCE", "TITLE", "cells", "run", "section"]
