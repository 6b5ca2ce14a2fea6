"""Claims of the blog post, tested over many seeds."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from studies.papers.blog.learning import C_VALUES
from studies.papers.claims import Claim, higher, lower, met
from studies.papers.experiment import Results, Values

CALM = 0.05  # a transient is over when errors stay below this share of the mean |y|
EQUAL = 1e-9
CLOSE = 0.02
SLOW = 500  # a slow learner needs more rows of the new problem for half its gain


def claims(results: Results) -> list[Claim]:
    """Return all claims that can be tested."""
    classes = results.where(example="classification")
    numbers = results.where(example="regression")
    return [
        _same_rule(classes, numbers),
        _near_logistic(classes),
        _beats_perceptron(classes),
        _passive(classes),
        _slack(classes),
        _about_C(classes),
        _transient(numbers),
        _tube(numbers),
        _forgetting(results.where(example="drift")),
    ]


def _same_rule(classes: Results, numbers: Results) -> Claim:
    apart, errors = classes.values("weights_apart").max(), numbers.values("apart").max()
    return Claim(
        "The printed loops are what libraries implement",
        "both programs",
        met(apart < EQUAL, errors < EQUAL),
        f"aggro's PA-II and the loops differ by at most {max(apart, errors):.0e}",
    )


def _near_logistic(classes: Results) -> Claim:
    ours, logistic = classes.values("accuracy"), classes.values("logistic")
    gap = logistic - ours
    return Claim(
        "One pass of PA-II comes close to logistic regression",
        "first program",
        met(gap.mean() < CLOSE, np.quantile(gap, 0.9) < CLOSE),
        f"{ours.mean():.1%} against {logistic.mean():.1%}; nine of ten seeds within "
        f"{np.quantile(gap, 0.9):.1%} (asked: below {CLOSE:.0%})",
    )


def _beats_perceptron(classes: Results) -> Claim:
    ours, theirs = classes.values("accuracy"), classes.values("perceptron")
    parts = (higher(ours, theirs), *met(np.mean(ours > theirs) > 0.5))
    return Claim(
        "Passive-Aggressive methods do better than the Perceptron",
        "introduction",
        parts,
        f"{ours.mean():.1%} against {theirs.mean():.1%}, better for {np.mean(ours > theirs):.0%} "
        "of the seeds; MIRA, also named, is given no form",
    )


def _passive(classes: Results) -> Claim:
    share = classes.values("moved_though_right") / classes.values("updates")
    return Claim(
        "The learner is passive when the predicted sign is right",
        "classification",
        met(share.mean() == 0, share.min() == 0),
        f"{share.mean():.0%} of all moves were on rows with the right sign: a margin of 1 is asked",
    )


def _slack(classes: Results) -> Claim:
    gaps = classes.values("loss_gap")
    return Claim(
        "After a step the loss is no larger than the slack ξ",
        "classification",
        met(gaps.max() < EQUAL, np.median(gaps) < EQUAL),
        f"It equals ξ = τ/2C, to {gaps.max():.0e}, at every step",
    )


def _about_C(classes: Results) -> Claim:
    noisy, clean = (np.array([o[key] for _, o in classes.pairs]) for key in ("noisy", "clean"))
    high, low = C_VALUES.index(100.0), C_VALUES.index(0.01)
    return Claim(
        "With noisy labels a low C is better than a high one, by more than without",
        "classification",
        (
            lower(noisy[:, high], noisy[:, low]),
            higher(noisy[:, low] - noisy[:, high], clean[:, low] - clean[:, high]),
        ),
        f"C = 0.01 against 100: {noisy[:, low].mean():.1%} and {noisy[:, high].mean():.1%} with a "
        f"fifth of the labels wrong, {clean[:, low].mean():.1%} and {clean[:, high].mean():.1%} "
        "without",
    )


def transient(results: Results, setting: str) -> Values:
    """Return the number of rows until the errors stay small, for each seed."""
    lengths = []
    for _, outcome in results.pairs:
        loud = np.flatnonzero(np.array(outcome["errors"][setting]) > CALM * outcome["size"])
        lengths.append(loud[-1] + 1 if len(loud) else 0)
    return np.array(lengths, float)


def _transient(numbers: Results) -> Claim:
    lengths = [transient(numbers, f"C={C:g}") for C in C_VALUES]  # from high to low
    parts = tuple(lower(*both) for both in pairwise(lengths))
    listed = ", ".join(
        f"{np.median(n):.0f} (C {c:g})" for c, n in zip(C_VALUES, lengths, strict=True)
    )
    return Claim(
        "A higher C shortens the transient of the regression",
        "regression",
        parts,
        f"Rows until errors stay below 5 % of the mean |y|: {listed}",
    )


def _tube(numbers: Results) -> Claim:
    settings = ("C=0.01", "epsilon=1", "epsilon=10")
    late = [
        np.array([np.mean(o["errors"][setting][-100:]) for _, o in numbers.pairs])
        for setting in settings
    ]
    return Claim(
        "ε limits the quality of the regression",
        "regression",
        (lower(late[0], late[1]), lower(late[1], late[2])),
        "Mean error of the last hundred rows for ε = 0.1, 1, 10: "
        + ", ".join(f"{values.mean():.2f}" for values in late),
    )


def _forgetting(drift: Results) -> Claim:
    old, new = (np.array([o[key] for _, o in drift.pairs]) for key in ("old", "new"))
    half = old.shape[1] // 2
    before, after, later = new[:, half - 1], new[:, -1], new[:, half - 1 + SLOW // 100]
    share = (later - before).mean() / (after - before).mean()
    return Claim(
        "After a change the weights slowly forget the old problem and learn the new one",
        "classification",
        (higher(after, before), lower(old[:, -1], old[:, half - 1]), *met(share < 0.5)),
        f"New problem {before.mean():.0%} to {after.mean():.0%}, old one "
        f"{old[:, half - 1].mean():.0%} to {old[:, -1].mean():.0%}; {share:.0%} of the gain within "
        f"{SLOW} rows (asked: less than half)",
    )
