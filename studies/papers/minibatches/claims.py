"""Claims of the paper about batches, tested over the 25 trials."""

from __future__ import annotations

from itertools import product

import numpy as np

from studies.papers.claims import Claim, Part, counted, lower, met
from studies.papers.experiment import Results, Values
from studies.papers.minibatches.protocol import BATCHES, LOSSES, SETS, TRAINED

OVERLAP = (1 - TRAINED) / TRAINED  # the trials are subsamples of one set
BOTH = {"intercept": "with a bias", "plain": "without"}
SIMILAR, CLOSE = 3.0, 0.5  # points
LITTLE = 1.5  # times


def claims(results: Results) -> list[Claim]:
    """Return the claims of Section 4.2 and the abstract."""
    everything = [
        _best_batch,
        _all_similar,
        _falls_with_batch,
        _smallest_useful,
        _same_as_online,
        _twenty,
        _smoother,
        _cost,
    ]
    return [claim(results) for claim in everything]


def values(
    results: Results, measure: str, name: str, method: str, batch: int, reading: str
) -> Values:
    """Return a measure of one table cell, with a value (or a row) for each trial."""
    wanted = {"set": name, "method": method, "batch": batch, "reading": reading}
    found: Values = results.where(**wanted).values(measure)[0]
    return found


def names(results: Results) -> list[str]:
    """Return the sets that were run; a quick run skips some."""
    return [n for n in SETS.values() if len(results.where(set=n, reading="plain"))]


def versus(results: Results, measure: str, one: int, other: int, reading: str) -> list[Part]:
    """Return for each set and algorithm whether one batch size has the lower measure."""
    found = []
    for name, method in product(names(results), LOSSES):
        a, b = (values(results, measure, name, method, batch, reading) for batch in (one, other))
        found.append(lower(a, b, OVERLAP))
    return found


def _best_batch(results: Results) -> Claim:
    found = {
        (batch, reading): versus(results, "test", batch, 1, reading)
        for reading in BOTH
        for batch in (4, 8)
    }
    listed = "; ".join(f"B = {b} {BOTH[r]} {counted(parts)}" for (b, r), parts in found.items())
    return Claim(
        "Batches of 4 and 8 classify unseen rows better than single examples",
        "4.2, Table 2",
        tuple(part for parts in found.values() for part in parts),
        f"Lower test error: {listed}",
    )


def _all_similar(results: Results) -> Claim:
    ranges = {}
    for name in names(results):
        fields = product(LOSSES, (1, 4, 8))
        means = [values(results, "test", name, m, b, "plain").mean() for m, b in fields]
        ranges[name] = max(means) - min(means)
    widest = max(ranges, key=lambda name: ranges[name])
    return Claim(
        "The test errors of all nine columns of Table 2 are very similar",
        "4.2",
        met(*(width < SIMILAR for width in ranges.values())),
        f"Within {ranges[widest]:.1f} points on every set, most on {widest} (asked: {SIMILAR:g})",
    )


def _falls_with_batch(results: Results) -> Claim:
    found: dict[str, list[Part]] = {}
    for reading in BOTH:
        found[reading] = []
        for name, method in product(names(results), LOSSES):
            errors = [values(results, "online", name, method, b, reading) for b in BATCHES]
            slopes = np.polyfit(np.log2(BATCHES), np.array(errors), 1)[0]
            found[reading].append(lower(slopes, 0 * slopes, OVERLAP))
    listed = "; ".join(f"{BOTH[r]} {counted(parts)}" for r, parts in found.items())
    return Claim(
        "The online error falls as B grows, about linearly in its logarithm",
        "4.2, Figure 2",
        tuple(part for parts in found.values() for part in parts),
        f"Slope over log B below zero: {listed}",
    )


def _smallest_useful(results: Results) -> Claim:
    found = {
        (batch, reading): versus(results, "online", batch, 1, reading)
        for reading in BOTH
        for batch in (4, 8)
    }
    listed = "; ".join(f"B = {b} {BOTH[r]} {counted(parts)}" for (b, r), parts in found.items())
    return Claim(
        "From B = 4 to 8 on, the online error is clearly below that of B = 1",
        "4.2",
        tuple(part for parts in found.values() for part in parts),
        f"Lower online error: {listed}",
    )


def _same_as_online(results: Results) -> Claim:
    near, above, texts = [], [], []
    grid = list(product(names(results), BATCHES))
    for reading, label in BOTH.items():
        one, two, three = (
            [values(results, "online", n, m, b, reading) for n, b in grid] for m in LOSSES
        )
        gaps = np.array([abs(a.mean() - b.mean()) for a, b in zip(two, three, strict=True)])
        near += [gap < CLOSE for gap in gaps]
        worse = [lower(b, a, OVERLAP) for a, b in zip(one, two, strict=True)]
        above += worse
        texts.append(f"{label}: median {np.median(gaps):.2f} points apart, BPAI {counted(worse)}")
    return Claim(
        "BPAII and BPALS behave alike; BPAI is usually worse",
        "4.2, Figure 2",
        (*met(*near), *above),
        f"Online error, BPAII and BPALS (asked: below {CLOSE:g}), BPAI above BPAII; "
        f"{'; '.join(texts)}",
    )


def _twenty(results: Results) -> Claim:
    kept, texts = [], []
    for reading, label in BOTH.items():
        gaps = []
        for name, method in product(names(results), LOSSES):
            a, b = (values(results, "online", name, method, size, reading) for size in (20, 8))
            gaps.append(float(np.mean(a - b)))
        kept += [gap < 1 for gap in gaps]
        texts.append(f"{label} {sum(gap < 1 for gap in gaps)} of {len(gaps)}")
    return Claim(
        "Batches of 20 still perform well",
        "4.2, Figure 2",
        met(*kept),
        f"Online error less than a point above that of B = 8: {'; '.join(texts)}",
    )


def wobble(results: Results, name: str, method: str, batch: int, reading: str) -> Values:
    """Return the mean change of the test error between evaluations along each run, in points."""
    trajectory = values(results, "trajectory", name, method, batch, reading)
    return np.abs(np.diff(trajectory, axis=1)).mean(axis=1)


def _smoother(results: Results) -> Claim:
    parts, texts = [], []
    for reading, label in BOTH.items():
        found, ratios = [], []
        for name, method in product(names(results), LOSSES):
            eight, one = (wobble(results, name, method, b, reading) for b in (8, 1))
            found.append(lower(eight, one, OVERLAP))
            ratios.append(eight.mean() / one.mean())
        parts += found
        texts.append(f"{label} {counted(found)} (median ratio {np.median(ratios):.2f})")
    return Claim(
        "Batches learn more smoothly along the run",
        "abstract",
        tuple(parts),
        f"Points the test error changes between evaluations, B = 8 below B = 1: {'; '.join(texts)}",
    )


def _cost(results: Results) -> Claim:
    times = results.where(method="time").pairs[0][1]["times"]
    ratios = {m: {b: times[m][str(b)] / times[m]["1"] for b in (4, 8)} for m in LOSSES}
    listed = "; ".join(f"{m} {r[4]:.2f} and {r[8]:.2f}" for m, r in ratios.items())
    least = times["BPALS"]["8"] < min(times["BPAI"]["8"], times["BPAII"]["8"])
    return Claim(
        "Batches of 4 to 8 cost little more than single examples, BPALS least",
        "4.2",
        met(*(ratio < LITTLE for r in ratios.values() for ratio in r.values()), least),
        f"Time over that of B = 1 for B = 4 and 8: {listed} (asked: below {LITTLE:g})",
    )
