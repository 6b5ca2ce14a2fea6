"""What the paper says about batches, tested over the 25 trials."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from papers.experiment import Claim, Results, Values
from papers.minibatches.protocol import BATCHES, LOSSES, SETS
from papers.verdict import p_text, sign, signed_rank

LEVEL = 0.05
BOTH = {"intercept": "with a bias", "plain": "without a bias"}


def claims(results: Results) -> list[Claim]:
    """Return the claims of Section 4.2 and the abstract."""
    everything = [
        _best_batch,
        _all_similar,
        _falls_with_batch,
        _smallest_useful,
        _twins,
        _twenty,
        _smoother,
        _cost,
    ]
    return [claim(results) for claim in everything]


def _values(
    results: Results, measure: str, name: str, method: str, batch: int, reading: str
) -> Values:
    wanted = {"set": name, "method": method, "batch": batch, "reading": reading}
    return results.where(**wanted).values(measure)[0]


def _names(results: Results) -> list[str]:
    return [n for n in SETS.values() if len(results.where(set=n, reading="plain"))]


@dataclass(frozen=True)
class Score:
    """On how many pairs of set and algorithm something is significantly better, or worse."""

    better: int
    worse: int
    of: int

    def __str__(self) -> str:
        return f"better in {self.better} and worse in {self.worse} of {self.of}"


def _versus(results: Results, measure: str, one: int, other: int, reading: str) -> Score:
    """Compare two batch sizes on every set with every algorithm."""
    better = worse = 0
    pairs = list(product(_names(results), LOSSES))
    for name, method in pairs:
        a, b = (_values(results, measure, name, method, batch, reading) for batch in (one, other))
        better += signed_rank(a, b, "less") < LEVEL
        worse += signed_rank(a, b, "greater") < LEVEL
    return Score(better, worse, len(pairs))


def _verdict(*parts: bool) -> str:
    return "holds" if all(parts) else "holds in part" if any(parts) else "does not hold"


def _claim(says: str, where: str, parts: list[bool], found: str) -> Claim:
    """Return a claim that holds when all its parts do, and in part when some do."""
    return Claim(says, where, _verdict(*parts), found)


def _best_batch(results: Results) -> Claim:
    scores = {
        reading: [_versus(results, "test", batch, 1, reading) for batch in (4, 8)]
        for reading in BOTH
    }
    found = "; ".join(
        f"{BOTH[reading]} B = 4 is {four} and B = 8 {eight}"
        for reading, (four, eight) in scores.items()
    )
    return _claim(
        "Batches of 4 and 8 classify unseen rows better than single examples.",
        "Section 4.2, Table 2",
        [max(s.better for s in pair) > pair[0].of / 2 for pair in scores.values()],
        "Test error against B = 1 over sets and algorithms (signed-rank test of 25 trials, level "
        f"{LEVEL}): {found}. The bias spoils single steps, and batches make up for some of that; "
        "without a bias there is little left to gain. (A part holds when most cases are better.)",
    )


def _all_similar(results: Results) -> Claim:
    ranges = {}
    for name in _names(results):
        fields = product(LOSSES, (1, 4, 8))
        means = [_values(results, "test", name, m, b, "plain").mean() for m, b in fields]
        ranges[name] = max(means) - min(means)
    widest = max(ranges, key=lambda name: ranges[name])
    return _claim(
        "The classification errors of all nine algorithms are very similar.",
        "Section 4.2",
        [ranges[widest] < 3],
        "Without a bias the mean test errors of the nine columns of Table 2 lie within "
        f"{ranges[widest]:.1f} points of each other on every set (most on {widest}).",
    )


def _slopes(results: Results, reading: str) -> Score:
    """Count where the online error falls with log B, and where it rises."""
    falls = rises = 0
    single = "plain" if reading == "sliding" else reading  # one example cannot overlap
    names = [n for n in _names(results) if (n, reading) != ("twonorm", "sliding")]
    pairs = list(product(names, LOSSES))
    for name, method in pairs:
        errors = [
            _values(results, "online", name, method, b, single if b == 1 else reading)
            for b in BATCHES
        ]
        slopes = np.polyfit(np.log2(BATCHES), np.array(errors), 1)[0]
        falls += signed_rank(slopes, 0 * slopes, "less") < LEVEL
        rises += signed_rank(slopes, 0 * slopes, "greater") < LEVEL
    return Score(falls, rises, len(pairs))


def _falls_with_batch(results: Results) -> Claim:
    labels = {**BOTH, "sliding": "with overlapping batches"}
    scores = {reading: _slopes(results, reading) for reading in labels}
    texts = [
        f"{labels[reading]} it falls in {s.better} and rises in {s.worse} of {s.of} cases"
        for reading, s in scores.items()
    ]
    return _claim(
        "The online error falls as B grows, about linearly in its logarithm.",
        "Section 4.2, Figure 2",
        [scores[reading].better > 0.8 * scores[reading].of for reading in BOTH],
        "Slope over log B in each of 25 trials, signed-rank test: " + "; ".join(texts) + ". "
        "Overlapping batches predict examples that they have already learned, so that fall says "
        "nothing.",
    )


def _smallest_useful(results: Results) -> Claim:
    scores = {b: _versus(results, "online", b, 1, "intercept") for b in BATCHES[1:]}
    plain = _versus(results, "online", 8, 1, "plain")
    return _claim(
        "From B = 4 to 8 on, on some sets from 2, the online error is clearly below that of B = 1.",
        "Section 4.2",
        [scores[4].better > scores[4].of / 2 and scores[2].better > 0, plain.better > plain.of / 2],
        "With a bias, online error against B = 1 over sets and algorithms: "
        + ", ".join(f"B = {b} is {score}" for b, score in scores.items())
        + f". Without a bias B = 8 is {plain}.",
    )


def _twins(results: Results) -> Claim:
    texts, near, above = [], [], []
    grid = list(product(_names(results), BATCHES))
    for reading, label in BOTH.items():
        means = np.array(
            [[_values(results, "online", n, m, b, reading).mean() for m in LOSSES] for n, b in grid]
        )
        gaps = np.abs(means[:, 1] - means[:, 2])
        worse = int(np.sum(means[:, 0] > means[:, 1:].max(1)))
        near.append(np.median(gaps) < 0.5)
        above.append(worse > 0.6 * len(grid))
        texts.append(
            f"{label} BPAII and BPALS differ by {np.median(gaps):.2f} points in the median (most "
            f"{gaps.max():.2f}), and BPAI is worse than both in {worse} of {len(grid)} cases"
        )
    return _claim(
        "BPAII and BPALS behave alike; BPAI is usually worse, better on some sets.",
        "Section 4.2, Figure 2",
        [all(near), all(above)],
        "Mean online error over sets and batch sizes: " + "; ".join(texts) + ".",
    )


def _twenty(results: Results) -> Claim:
    scores = {reading: _versus(results, "online", 20, 8, reading) for reading in BOTH}
    return _claim(
        "Most algorithms still perform well on most sets with batches of 20.",
        "Section 4.2, Figure 2",
        [score.worse < score.of / 4 for score in scores.values()],
        "Online error against B = 8: "
        + "; ".join(f"{BOTH[reading]} B = 20 is {score}" for reading, score in scores.items())
        + ".",
    )


def _smoother(results: Results) -> Claim:
    texts, parts = [], []
    for reading, label in BOTH.items():
        one, eight = (
            np.array(
                [
                    _values(results, "test", n, m, batch, reading).std(ddof=1)
                    for n, m in product(_names(results), LOSSES)
                ]
            )
            for batch in (1, 8)
        )
        p = sign(eight, one, "less")
        parts.append(p < LEVEL)
        texts.append(
            f"{label} it is smaller in {np.sum(eight < one)} and larger in {np.sum(eight > one)} "
            f"of {len(one)} cases ({p_text(p)}; median {np.median(eight):.2f} against "
            f"{np.median(one):.2f} points)"
        )
    return _claim(
        "Batches learn more smoothly and robustly.",
        "Abstract, Table 2",
        parts,
        "Spread of the test error between trials, B = 8 against B = 1, sign test: "
        + "; ".join(texts)
        + ". In the printed table the intervals of B = 8 are narrower in 20 of 21 cases.",
    )


def _cost(results: Results) -> Claim:
    times = results.where(method="time").pairs[0][1]["times"]
    listed = [f"{m} " + ", ".join(f"{times[m][str(b)]:.2f}" for b in (1, 4, 8)) for m in LOSSES]
    surcharge = [times[m]["8"] / times[m]["1"] - 1 for m in LOSSES]
    return _claim(
        "Batches of 4 to 8 cost only a little more than single examples, with BPALS least.",
        "Section 4.2",
        [max(surcharge) < 0.5, times["BPALS"]["8"] < 0.9 * times["BPAII"]["8"]],
        "Time of one pass over diabetes with B = 1, 4 and 8 as a multiple of BPAI with B = 1, "
        f"taken side by side: {'; '.join(listed)}. Small problems are cheap "
        "either way, and BPALS is never passive, so it has the most examples to remember.",
    )
