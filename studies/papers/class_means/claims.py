"""Claims of the paper, tested with the undivided rule and with the exact one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from studies.papers.claims import Claim, Part, counted, higher, lower, met
from studies.papers.class_means.data import REAL
from studies.papers.class_means.numbers import PUBLISHED, SUFFIXES, pulls, runs, trajectory
from studies.papers.experiment import Results, Values
from studies.papers.verdict import deviation

PAIRS = [(name, suffix) for name in REAL for suffix in SUFFIXES]
RULES = {"PAm": "undivided", "exact PAm": "exact"}
CLOSE_TO_BATCH = 0.01
SAME_CLASSIFIER = 0.999
LEVEL_CHANGE = 0.1
PRINTED_RATIO = 0.75
Summary = Callable[[Values], Values]


def claims(results: Results) -> list[Claim]:
    """Return all claims that can be tested."""
    return [
        _rule(results),
        _against_pa(results, "PAm makes fewer updates than PA", "Table III", "updates"),
        _against_pa(results, "PAm makes fewer mistakes on the way", "section III", "mistakes"),
        _time(results),
        _against_pa(results, "PAm predicts better than PA after one pass", "Table IV", "error"),
        _against_pa(
            results, "PAm depends less on the order of the rows", "Table V", "error", _each_spread
        ),
        _best_is_pam1(results),
        _queue(results),
        _similarity(results),
        _similarity_against_pa(results),
        _near_batch(results),
        _level_updates(results),
    ]


def _each_order(table: Values) -> Values:
    return table.ravel()


def _each_spread(table: Values) -> Values:
    return np.array([deviation(row) for row in table])


def _duels(
    results: Results, ours: str, theirs: str, key: str, summary: Summary = _each_order
) -> list[Part]:
    """Return for each set and slack whether a family is lower than another."""
    return [
        lower(
            summary(runs(results, name, f"{ours}{suffix}", key)),
            summary(runs(results, name, f"{theirs}{suffix}", key)),
        )
        for name, suffix in PAIRS
    ]


def _against_pa(
    results: Results, says: str, where: str, key: str, summary: Summary = _each_order
) -> Claim:
    """Return a claim that PAm is lower than PA, of the undivided rule and of the exact one."""
    parts = {rule: _duels(results, rule, "PA", key, summary) for rule in RULES}
    listed = "; ".join(f"{label} rule lower in {counted(parts[r])}" for r, label in RULES.items())
    return Claim(says, where, tuple(part for rule in RULES for part in parts[rule]), listed)


def _rule(results: Results) -> Claim:
    """Test on each set whether some pull makes as few updates relative to PA as printed."""
    updates = {(e.row, e.column): e.value for e in PUBLISHED if e.table == "Table III"}
    printed = [updates[name, "PAm"] / updates[name, "PA"] for name in REAL]
    fewest = {}
    for name in REAL:
        plain = runs(results, name, "PA", "updates").mean()
        fewest[name] = pulls(results, name, "exact", "updates").mean(axis=0).min() / plain
    return Claim(
        "The tables were made with the closed form of section II",
        "section II, Table III",
        met(*(ratio < PRINTED_RATIO for ratio in fewest.values())),
        f"Printed: {min(printed):.2f} to {max(printed):.2f} times PA's updates (asked: below "
        f"{PRINTED_RATIO:g}). At the best pull the printed form makes "
        + ", ".join(f"{ratio:.2f} ({name})" for name, ratio in fewest.items()),
    )


def _time(results: Results) -> Claim:
    ratios, parts = {}, []
    for name in REAL:
        exact, plain = (
            np.array([runs(results, name, f"{f}{s}", "seconds").ravel() for s in SUFFIXES])
            for f in ("exact PAm", "PA")
        )
        ratios[name] = float(np.median(exact) / np.median(plain))
        parts += [lower(e, p) for e, p in zip(exact, plain, strict=True)]
    return Claim(
        "PAm finishes a pass sooner than PA",
        "Table II",
        tuple(parts),
        "Time of aggro's exact PAm over PA's: "
        + ", ".join(f"{name} {ratio:.1f}" for name, ratio in ratios.items()),
    )


def _best_is_pam1(results: Results) -> Claim:
    others = ("PA", "PA-1", "PA-2", "PAm", "PAm-2")
    parts, beaten = [], []
    for name in REAL:
        ours = runs(results, name, "PAm-1", "error").ravel()
        found = [lower(ours, runs(results, name, other, "error").ravel()) for other in others]
        beaten.append(f"{name} {counted(found)}")
        parts += found
    return Claim(
        "PAm-1 has the least error",
        "Tables IV to VI",
        tuple(parts),
        f"Undivided PAm-1 lower than the other five: {', '.join(beaten)}",
    )


def _queue(results: Results) -> Claim:
    parts = _duels(results, "PAmW", "exact PAm", "error", _each_spread)
    return Claim(
        "A queue of classifiers makes the result more stable",
        "Algorithm 2 (no numbers printed)",
        tuple(parts),
        f"Standard deviation over orders lower with a queue of five in {counted(parts)}",
    )


def _similarity(results: Results) -> Claim:
    after = {
        name: trajectory(results, name, "PAm-1", "similarity")[:, 3:5].min()
        for name in ("svmguide1", "adult")
    }
    return Claim(
        "PAm-1 has nearly the same classifier after three to five passes",
        "Figure 1",
        met(*(value > SAME_CLASSIFIER for value in after.values())),
        f"Least cosine from pass 4 to 6 (asked: above {SAME_CLASSIFIER}): "
        + ", ".join(f"{name} {value:.5f}" for name, value in after.items()),
    )


def _similarity_against_pa(results: Results) -> Claim:
    def first(name: str, variant: str) -> Values:
        return trajectory(results, name, variant, "similarity")[:, 0]

    parts = {
        rule: [higher(first(n, f"{rule}{s}"), first(n, f"PA{s}")) for n, s in PAIRS]
        for rule in RULES
    }
    listed = "; ".join(f"{label} rule closer in {counted(parts[r])}" for r, label in RULES.items())
    return Claim(
        "The first two passes of PAm end closer together than those of PA",
        "section IV",
        tuple(part for rule in RULES for part in parts[rule]),
        f"{listed} (ten orders each)",
    )


def _near_batch(results: Results) -> Claim:
    gaps = {}
    for name in ("gamma", "delta"):
        batch = results.where(part="batch", set=name).values("error")[0]
        gaps[name] = trajectory(results, name, "PAm-1", "error")[:, 4].mean() - batch
    return Claim(
        "PAm-1 comes near the batch learner in three to five passes",
        "Figure 2 (stand-ins)",
        met(*(gap < CLOSE_TO_BATCH for gap in gaps.values())),
        "Error after five passes minus the batch machine's (asked: below 0.01): "
        + ", ".join(f"{name} {gap:+.4f}" for name, gap in gaps.items()),
    )


def _level_updates(results: Results) -> Claim:
    moves, lower_end = [], []
    for name in ("svmguide1", "adult", "gamma", "delta"):
        for suffix in SUFFIXES:
            ours = trajectory(results, name, f"PAm{suffix}", "updates")
            plain = trajectory(results, name, f"PA{suffix}", "updates")
            for table in (ours, plain):
                moves.append(abs(table[:, 19] - table[:, 14]).mean() / table[:, 14].mean())
            lower_end.append(lower(ours[:, 19], plain[:, 19]))
    return Claim(
        "Updates become level after enough passes, lower for PAm than for PA",
        "Figure 3",
        (*met(*(move < LEVEL_CHANGE for move in moves)), *lower_end),
        f"Change from pass 15 to 20 at most {max(moves):.0%} (asked: below 10 %); undivided rule "
        f"lower in {counted(lower_end)}",
    )
