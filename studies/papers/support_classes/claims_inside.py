"""Claims of the paper about single updates and about time."""

from __future__ import annotations

import numpy as np

from studies.papers.claims import Claim, met
from studies.papers.experiment import Results, Values
from studies.papers.support_classes import selection
from studies.papers.support_classes.learners import BATCH, SLACKS
from studies.papers.support_classes.sets import LARGE

QUARTER = 0.25
LITTLE = 1.1  # times
OFTEN = 0.25  # of all updates


def inside_claims(results: Results) -> list[Claim]:
    """Return the claims on updates and on time."""
    return [
        _still_wrong(results),
        _support_sizes(results),
        _faster_than_batch(results),
        _little_more_than_pa(results),
    ]


def _sums(results: Results, name: str, learner: str, what: str) -> Values:
    """Return a count summed over the orders."""
    found = results.where(part="inside", set=name).values(learner, what)
    total: Values = found.sum(axis=0)
    return total


def _still_wrong(results: Results) -> Claim:
    texts, conditions = [], []
    for name in selection.present(results, LARGE):
        share = {
            family: 100
            * _sums(results, name, family, "wrong")
            / _sums(results, name, family, "updates")
            for family in ("PA", "MPA", "SPA")
        }
        conditions += [share["PA"] > 0, share["SPA"] == 0]
        texts.append(f"{name} " + ", ".join(f"{value:.2f}" for value in share.values()))
    return Claim(
        "An update against one class may leave its example wrong; SPA never does",
        "3",
        met(*conditions),
        f"Still wrong after the update, PA, MPA, SPA (%): {'; '.join(texts)}",
    )


def _support_sizes(results: Results) -> Claim:
    texts, conditions = [], []
    for name in selection.present(results, LARGE):
        moved, short = (_sums(results, name, "SPA", what) for what in ("moved", "short"))
        sizes = np.arange(len(moved))
        support, below = (float(sizes @ v / v.sum()) for v in (moved, short))
        several = moved[2:].sum() / moved.sum()
        conditions += [support < below, several > OFTEN]
        texts.append(f"{name} {support:.1f} of {below:.1f}, two or more in {several:.0%}")
    return Claim(
        "Often several classes must be moved, but not all whose margin is below one",
        "3, 7",
        met(*conditions),
        "Support classes an update, of those below the margin (asked: fewer; two or more in "
        f"over {OFTEN:.0%}): {'; '.join(texts)}",
    )


def _seconds(results: Results, name: str, learner: str) -> float:
    return float(np.median(selection.seconds(results, name, learner)))


def batch_ratios(results: Results) -> dict[str, Values]:
    """Return for each set the time of the slowest SPA over that of each batch learner."""
    ratios = {}
    for name in selection.present(results, LARGE):
        slowest = max(_seconds(results, name, "SPA" + kind) for kind in SLACKS)
        ratios[name] = np.array([slowest / _seconds(results, name, b) for b in BATCH])
    return ratios


def pa_ratios(results: Results) -> dict[str, float]:
    """Return for each set the time of SPA over that of PA, the mean of the three kinds."""
    return {
        name: float(
            np.mean(
                [
                    _seconds(results, name, "SPA" + kind) / _seconds(results, name, "PA" + kind)
                    for kind in SLACKS
                ]
            )
        )
        for name in selection.present(results, LARGE)
    }


def _faster_than_batch(results: Results) -> Claim:
    ratios = batch_ratios(results)
    return Claim(
        "Forty passes of SPA take less than a fourth of the time of the batch learners",
        "5.3, Table 5",
        met(*(ratio < QUARTER for both in ratios.values() for ratio in both)),
        "Slowest SPA over LR and over M-SVM: "
        + "; ".join(f"{name} {r[0]:.2f} and {r[1]:.2f}" for name, r in ratios.items()),
    )


def _little_more_than_pa(results: Results) -> Claim:
    ratios = pa_ratios(results)
    return Claim(
        "SPA costs little more time than PA (printed: 3 to 8 %)",
        "5.3, Table 5",
        met(*(ratio < LITTLE for ratio in ratios.values())),
        f"Time over PA's (asked: below {LITTLE:g}): "
        + ", ".join(f"{name} {r:.2f}" for name, r in ratios.items()),
    )
