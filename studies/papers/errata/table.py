"""The errata that affect learning, and their table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from studies.papers.experiment import Outcome, Results


@dataclass(frozen=True)
class Erratum:
    """One erratum, and how to report both versions."""

    name: str
    paper: str
    where: str
    printed: str
    right: str
    shows: str  # a format string for the outcome
    happens: str


ERROR = "error {error:.1f} %"
EXCESS = f"{ERROR}; objective {{excess:.3g}} % above its least value"
MISSED = f"{ERROR}; margin missed in {{missed:.1f}} % of updates"
STILL = f"{ERROR}; no step in {{still:.0f}} % of rounds with a loss"
GROWN = f"{ERROR}; length of the weights {{norm:.2g}}"

ERRATA = (
    Erratum(
        "E0.1", "PAm", "Algorithms 1, 2", "w in the class means, α and the update", "x",
        GROWN,
        "from w = 0 nothing is ever learned; the error is the share of the smaller class",
    ),
    Erratum(
        "E0.2", "PAm", "Algorithms 1, 2", "counters of the means stay 0", "count each example",
        ERROR, "a “mean” is the last example of its class",
    ),
    Erratum(
        "E0.3", "PAm", "α of Algorithm 1", "α without a lower bound", "α ≥ 0",
        f"{ERROR}; raw α below 0 in {{negative:.2f}} % of updates, objective then {{excess:.3g}} % "
        "above its least value",
        "where the centre already has the margin, w is pulled back to it: not the minimiser",
    ),
    Erratum(
        "E0.5", "PAm", "Algorithm 2", "α from the loss at w", "from the loss at the queue’s mean",
        MISSED, "the hard rule does not reach its margin",
    ),
    Erratum(
        "E1.2", "PAM", "(4)–(6)", "closed form of M ≥ φV, also for α < 0",
        "that of M ≥ φ√V, α ≥ 0",
        f"{ERROR}; α below 0 in {{back:.1f}} % of rounds, (4) unmet after {{broken:.1f}} %",
        "sure models are pulled back, and the constraint of the problem is not met; the error "
        "is no larger here",
    ),
    Erratum(
        "E1.7", "PAM", "Theorem 3 (13)", "bound for u = 0, C = ½: C·T",
        "(max v + 1/2C)·2C·updates",
        f"{ERROR}; bound broken for {{broken:.0f}} % of all T",
        "the printed bound fails, from the first example on; the rule itself is right",
    ),
    Erratum(
        "E3.1", "mini-batches", "(9)", "τ = (1 − f)/(…)", "(1 − y·f)/(…)",
        GROWN,
        "each negative example makes its own error larger: the weights explode",
    ),
    Erratum(
        "E3.2", "mini-batches", "(17)", "τ'τ/2C", "τ'τ/4C",
        EXCESS,
        "solves the problem with C/2: shorter steps, near the same error",
    ),
    Erratum(
        "E3.3", "mini-batches", "(19)", "(A + I/C)⁺ l", "(A + I/2C)⁻¹ l",
        EXCESS,
        "solves the problem with C/2: shorter steps, which happen to suit this stream",
    ),
    Erratum(
        "E4.1", "SPA", "Table 1, before (3.12)", "l = 1 − (s_v − s_y)", "1 − (s_y − s_v)",
        f"{GROWN} after {{seen:.0f}} examples",
        "scores are driven apart the wrong way: the weights explode",
    ),
    Erratum(
        "E4.2", "SPA", "Table 1, loop", "w_y overwritten for each class", "w_y += (Στ)·x",
        MISSED, "only the last τ counts; the margin is not reached",
    ),
    Erratum(
        "E4.3", "SPA", "Table 2, SPA-I (B)", "Σl/|S| + (C/|S|)·n", "Σl/|S| − (C/|S|)·n",
        STILL, "no step is ever taken",
    ),
    Erratum(
        "E4.4", "SPA", "Table 2, SPA-I (A)", "min{(k+1)C/n − l_k, k·l_k}",
        "min{(k−1)l_k + C·n, k·l_k}", STILL,
        "S is empty: nothing is learned, also with the sign of E4.3 repaired",
    ),
    Erratum(
        "E4.5", "SPA", "Table 2, SPA-II (B)", "(|S|+1)·n + 1/2C", "(|S|+1)·n + |S|/2C",
        f"{STILL}; at C = 0.1 {{large_error:.1f}} %, objective {{large_excess:.3g}} % above its "
        "least value",
        "all classes tie at W = 0; for C ≤ (K − 2)/2n the step is 0, so W stays 0. With a "
        "larger C the steps are too short when |S| ≥ 2",
    ),
    Erratum(
        "E4.6", "SPA", "Table 2, PA-I (B)", "min(C/2, l/2n)", "min(C, l/2n)",
        EXCESS, "solves the problem with C/2; another C repairs it",
    ),
    Erratum(
        "E4.7", "SPA", "(2.3)", "constraint on the predicted class", "on the best wrong class",
        STILL,
        "0 ≥ 1 where the prediction is right with a small margin: those rounds cause no update",
    ),
)  # fmt: skip
COLUMNS = (
    "", "paper", "where", "printed", "right", "data", "measured as printed", "measured when right",
    "what happens",
)  # fmt: skip


def section(results: Results) -> str:
    """Return the chapter on the errata."""
    lines = [
        '<a id="errata"></a>',
        "",
        "## Effect of the errors in the printed formulas",
        "",
        "The formulas as printed beside the right ones ([docs/errata.md](../../docs/errata.md) "
        f"derives them) on a real stream: medians over {_orders(results)} random orders. Errors "
        "are progressive: each example is judged before it is learned. Only one thing is wrong in "
        "each row; the rest of the rule is right. E1.5, E1.6, E4.9 and E4.10 are about theorems, "
        "and confirmed by the counter-examples there.",
        "",
        f"| {' | '.join(COLUMNS)} |",
        f"|{' --- |' * len(COLUMNS)}",
    ]
    known = {erratum.name: erratum for erratum in ERRATA}
    for name in dict.fromkeys(cell["erratum"] for cell, _ in results.pairs):
        lines.append(_line(known[name], results.where(erratum=name)))
    gap = max(abs(o["right"]["error"] - o["right"]["own"]) for _, o in results.pairs)
    lines += ["", _agreement(gap), ""]
    return "\n".join(lines)


def _orders(results: Results) -> int:
    return len({cell["order"] for cell, _ in results.pairs})


def _line(erratum: Erratum, results: Results) -> str:
    name = results.pairs[0][0]["set"]
    sides = [erratum.shows.format(**_median(results, side)) for side in ("printed", "right")]
    e = erratum
    fields = [e.name, e.paper, e.where, e.printed, e.right, name, *sides, e.happens]
    return "| " + " | ".join(field.replace("|", "\\|") for field in fields) + " |"


def _median(results: Results, side: str) -> Outcome:
    """Return the median of every number over the orders."""
    keys = results.pairs[0][1][side]
    return {key: float(np.median(results.values(side, key))) for key in keys}


def _agreement(gap: float) -> str:
    if gap == 0:
        return (
            "In every row and order aggro's compiled learner makes just as many mistakes as the "
            "right rule."
        )
    return (
        "aggro's compiled learner makes as many mistakes as the right rule in every row, up to "
        f"{gap:.2g} percentage points."
    )
