"""Additional table: the plateau that C was chosen from, and the kernel's vote alone."""

from __future__ import annotations

from itertools import product

import numpy as np

from studies.papers.experiment import Outcome, Results
from studies.papers.minibatches.protocol import LOSSES, SETS
from studies.papers.tables import markdown

SHOWN = (1, 4, 8)  # the batch sizes of Table 2
ALONE = 0.5  # points; an error closer to that of the kernel's vote does not measure learning


def beside(results: Results) -> str:
    """Return the table of plateaus."""
    fields = list(product(LOSSES, SHOWN))
    rows, alone = [], 0
    for title, name in SETS.items():
        if not len(results.where(set=name, reading="plain")):
            continue
        row = [title]
        for method, batch in fields:
            outcome = _outcome(results, name, method, batch)
            alone += _is_vote(outcome)
            row.append(_field(outcome))
        rows.append(row)
    head = ["", *(f"{method}-{batch}" for method, batch in fields)]
    return "\n".join(["### Plateaus of C, and the kernel alone", "", _text(alone), "",
                      *markdown(head, rows)])  # fmt: skip


def _text(alone: int) -> str:
    return (
        "The chosen C, the tied C around it at the chosen σ, and below the test error of the "
        f"kernel's vote, which learns nothing. † marks the {alone} fields whose error is within "
        f"{ALONE:g} points of the vote's: they cannot tell learning from the kernel."
    )


def _outcome(results: Results, name: str, method: str, batch: int) -> Outcome:
    wanted = {"set": name, "method": method, "batch": batch, "reading": "plain"}
    ((_, outcome),) = results.where(**wanted).pairs
    return outcome


def _is_vote(outcome: Outcome) -> bool:
    return bool(abs(np.mean(outcome["test"]) - np.mean(outcome["vote"])) < ALONE)


def _field(outcome: Outcome) -> str:
    C_values = [C for C, sigma in outcome["tied"] if sigma == outcome["sigma"]]
    low, high = min(C_values), max(C_values)
    plateau = f"{outcome['C']:g}" + (f" ({low:g} … {high:g})" if low < high else "")
    return f"{plateau}<br>{np.mean(outcome['vote']):.2f}{' †' if _is_vote(outcome) else ''}"
