"""What the text says, tested over many seeds."""

from __future__ import annotations

import numpy as np

from papers.blog.learning import PRICES
from papers.experiment import Claim, Results, Values
from papers.verdict import p_text, signed_rank

CALM = 0.05  # a transient is over when errors stay below this share of the mean |y|


def claims(results: Results) -> list[Claim]:
    """Return all that can be tested."""
    classes = results.where(example="classification")
    numbers = results.where(example="regression")
    return [
        _same_rule(classes, numbers),
        _near_logistic(classes),
        _beats_perceptron(classes),
        _passive(classes),
        _slack(classes),
        _price(classes),
        _transient(numbers),
        _tube(numbers),
        _forgetting(results.where(example="drift")),
    ]


def _same_rule(classes: Results, numbers: Results) -> Claim:
    apart = classes.values("weights_apart").max()
    errors = numbers.values("apart").max()
    equal = apart < 1e-9 and errors < 1e-9
    return Claim(
        "The rule takes a few lines and is what libraries implement",
        "both programs",
        "holds" if equal else "does not hold",
        f"aggro's PA-II without intercept and the printed rule differ by at most {apart:.0e} "
        "in a weight "
        f"and {errors:.0e} in an error of the regression, over {len(classes)} seeds. "
        "(scikit-learn's has "
        "an intercept unless told otherwise.)",
    )


def _near_logistic(classes: Results) -> Claim:
    ours, logistic = classes.values("accuracy"), classes.values("logistic")
    own = classes.where(seed=1000)
    return Claim(
        "One pass of PA-II comes close to logistic regression",
        "first program",
        "holds" if np.mean(logistic - ours) < 0.02 else "does not hold",
        f"With the text's seed {own.values('accuracy')[0]:.2%} against "
        f"{own.values('logistic')[0]:.2%}; over all seeds {ours.mean():.2%} against "
        f"{logistic.mean():.2%} (signed-rank test: {p_text(signed_rank(ours, logistic))}).",
    )


def _beats_perceptron(classes: Results) -> Claim:
    ours, theirs = classes.values("accuracy"), classes.values("perceptron")
    p = signed_rank(ours, theirs, "greater")
    return Claim(
        "Passive-Aggressive methods do better than the Perceptron and MIRA",
        "introduction",
        "holds in part" if p < 0.05 else "does not hold",
        f"On the text's data PA-II reaches {ours.mean():.2%} and the Perceptron "
        f"{theirs.mean():.2%} "
        f"({p_text(p)}, {len(ours)} seeds). MIRA was not tried: the text gives no form of it.",
    )


def _passive(classes: Results) -> Claim:
    share = classes.values("moved_though_right") / classes.values("updates")
    return Claim(
        "The learner is passive when the predicted sign is right",
        "classification",
        "does not hold" if share.max() > 0 else "holds",
        f"It is passive when the margin is at least 1: {share.mean():.0%} of all moves (at least "
        f"{share.min():.0%} for any seed) were made on rows whose sign was right. The program "
        "does it "
        "rightly; only the sentence is wrong.",
    )


def _slack(classes: Results) -> Claim:
    gap = classes.values("loss_gap").max()
    return Claim(
        "After a step the loss is no larger than the slack ξ",
        "classification",
        "holds" if gap < 1e-9 else "does not hold",
        f"It equals ξ = τ/2C, to {gap:.0e}, at every step.",
    )


def _price(classes: Results) -> Claim:
    noisy, clean = (np.array([o[key] for _, o in classes.pairs]) for key in ("noisy", "clean"))
    high, low = PRICES.index(100.0), PRICES.index(0.01)
    p = signed_rank(noisy[:, high], noisy[:, low], "less")
    return Claim(
        "A high C risks instability when labels are noisy; a low C adapts better",
        "classification",
        "holds" if p < 0.05 else "does not hold",
        f"With 20 % of the labels turned round, C = 100 gives {noisy[:, high].mean():.1%} and "
        "C = 0.01 "
        f"{noisy[:, low].mean():.1%} ({p_text(p)}); without noise {clean[:, high].mean():.1%} and "
        f"{clean[:, low].mean():.1%}: these classes overlap, so the low C is the better one "
        "there too.",
    )


def transient(results: Results, setting: str) -> Values:
    """Return after how many rows the errors stay small, for each seed."""
    lengths = []
    for _, outcome in results.pairs:
        loud = np.flatnonzero(np.array(outcome["errors"][setting]) > CALM * outcome["size"])
        lengths.append(loud[-1] + 1 if len(loud) else 0)
    return np.array(lengths, float)


def _transient(numbers: Results) -> Claim:
    lengths = {price: transient(numbers, f"C={price:g}") for price in PRICES}
    p = signed_rank(lengths[100.0], lengths[0.01], "less")
    listed = ", ".join(f"{np.median(length):.0f} for C = {c:g}" for c, length in lengths.items())
    return Claim(
        "The length of the transient is controlled by C",
        "regression",
        "holds" if p < 0.05 else "does not hold",
        f"Rows until all later errors are below 5 % of the mean |y|, median over {len(numbers)} "
        f"seeds: {listed} ({p_text(p)} for the extremes). There is no noise in these data.",
    )


def _tube(numbers: Results) -> Claim:
    def late(setting: str) -> Values:
        return np.array([np.mean(o["errors"][setting][-100:]) for _, o in numbers.pairs])

    narrow, wide = late("C=0.01"), late("epsilon=10")
    lengths = [np.median(transient(numbers, s)) for s in ("C=0.01", "epsilon=1", "epsilon=10")]
    p = signed_rank(narrow, wide, "less")
    return Claim(
        "The quality is controlled by ε, too",
        "regression",
        "holds" if p < 0.05 else "does not hold",
        f"Mean error of the last hundred rows {narrow.mean():.2f} with ε = 0.1 and "
        f"{wide.mean():.2f} with "
        f"ε = 10 ({p_text(p)}): ε is where errors stop shrinking. The transient does not get "
        "shorter: "
        f"{lengths[0]:.0f}, {lengths[1]:.0f} and {lengths[2]:.0f} rows for ε = 0.1, 1, 10.",
    )


def _forgetting(drift: Results) -> Claim:
    old, new = (np.array([o[key] for _, o in drift.pairs]) for key in ("old", "new"))
    half = old.shape[1] // 2
    p = signed_rank(new[:, -1], new[:, half - 1], "greater")
    soon = (new[:, half] - new[:, half - 1]).mean() / (new[:, -1] - new[:, half - 1]).mean()
    return Claim(
        "When the distribution changes, the weights slowly forget the old and learn the new one",
        "classification",
        "holds in part" if p < 0.05 else "does not hold",
        f"After 3250 rows of one problem and 3250 of another, accuracy on the new one rose from "
        f"{new[:, half - 1].mean():.1%} to {new[:, -1].mean():.1%} ({p_text(p)}) and fell on "
        "the old one "
        f"from {old[:, half - 1].mean():.1%} to {old[:, -1].mean():.1%}. But not slowly: "
        f"{soon:.0%} of the "
        "gain came with the first hundred rows.",
    )
