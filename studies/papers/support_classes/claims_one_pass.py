"""Claims of the paper about one pass, tested over orders and folds."""

from __future__ import annotations

import numpy as np

from studies.papers.claims import Claim, Part, counted, lower
from studies.papers.experiment import Results, Values
from studies.papers.support_classes import selection
from studies.papers.support_classes.learners import SLACKS
from studies.papers.support_classes.selection import OVERLAP

STREAM = {
    "mistakes": ("On the stream of USPS SPA makes fewer mistakes than PA", "5.2, Figure 1"),
    "updates": ("On that stream SPA ends with fewer updates than PA", "5.2, Figure 1"),
    "loss": ("On that stream SPA ends with less cumulated loss", "5.2, Figure 2"),
}


DUELS = {  # the claim about SPA and each family after one pass
    "PA": "After one pass SPA is more accurate than PA of its kind, on every set",
    "MPA": "That gain comes from updating all support classes (against PA on the best wrong class)",
}


def one_pass_claims(results: Results) -> list[Claim]:
    """Return the claims on the stream of USPS and on Table 4."""
    return [
        *(_stream(results, what) for what in STREAM),
        _as_printed(results),
        _best_wrong(results),
    ]


def _stream(results: Results, what: str) -> Claim:
    def last(learner: str) -> Values:
        return selection.streams(results, learner, what)[:, -1]

    parts, texts = [], []
    for kind in SLACKS:
        spa, pa, mpa = (last(family + kind) for family in ("SPA", "PA", "MPA"))
        parts += [lower(spa, pa), lower(spa, last("Perc"))]
        texts.append(f"{spa.mean():.0f} / {pa.mean():.0f} / {mpa.mean():.0f}")
    return Claim(
        *STREAM[what],
        tuple(parts),
        f"SPA / PA / MPA, by kind: {'; '.join(texts)}; Perceptron {last('Perc').mean():.0f}",
    )


def duels(results: Results, family: str) -> tuple[list[Part], list[float]]:
    """Return the comparisons of SPA with another family after one pass, in points."""
    parts, gaps = [], []
    for name in selection.present(results):
        for kind in SLACKS:
            spa, other = (selection.one_pass(results, name, f + kind) for f in ("SPA", family))
            parts.append(lower(spa, other, OVERLAP))
            gaps.append(float(other.mean() - spa.mean()))
    return parts, gaps


def _as_printed(results: Results) -> Claim:
    parts, gaps = duels(results, "PA")
    return Claim(
        DUELS["PA"],
        "5.2, Table 4",
        tuple(parts),
        f"Lower in {counted(parts)}, by {np.mean(gaps):.1f} points on average",
    )


def _best_wrong(results: Results) -> Claim:
    parts, gaps = duels(results, "MPA")
    _, printed = duels(results, "PA")
    return Claim(
        DUELS["MPA"],
        "1, 3, 7",
        tuple(parts),
        f"Lower in {counted(parts)}, by {np.mean(gaps):.1f} points, "
        f"{np.mean(gaps) / np.mean(printed):.0%} of the gain over the printed PA",
    )
