"""Claims of the paper about many passes, tested over folds, and the list of all claims."""

from __future__ import annotations

import numpy as np

from studies.papers.claims import Claim, Part, counted, lower, met
from studies.papers.experiment import Results, Values
from studies.papers.support_classes import selection
from studies.papers.support_classes.claims_inside import inside_claims
from studies.papers.support_classes.claims_one_pass import one_pass_claims
from studies.papers.support_classes.learners import BATCH, PRINTED, SLACKS
from studies.papers.support_classes.selection import OVERLAP
from studies.papers.support_classes.sets import LARGE

SOON = 5  # passes
STAYS = 1.0  # points


def claims(results: Results) -> list[Claim]:
    """Return all claims."""
    return [
        *one_pass_claims(results),
        _squared_best(results),
        _squared_beats_kin(results),
        _against_batch(results),
        _noise(results),
        _few_passes(results),
        _steadier(results),
        *inside_claims(results),
    ]


def below(ours: Values, theirs: Values) -> Part:
    """Return the part that ``ours`` are lower, over the common folds."""
    count = min(len(ours), len(theirs))
    return lower(ours[:count], theirs[:count], OVERLAP)


def _squared_best(results: Results) -> Claim:
    rivals = [learner for learner in PRINTED if learner != "SPA-II"]
    parts, texts = [], []
    for name in selection.present(results, LARGE):
        ours = selection.best(results, name, "SPA-II")
        theirs = {r: selection.best(results, name, r) for r in rivals}
        nearest = min(rivals, key=lambda r: theirs[r].mean())
        parts += [below(ours, theirs[r]) for r in rivals]
        texts.append(f"{name} {ours.mean():.2f}, next {nearest} {theirs[nearest].mean():.2f}")
    return Claim(
        "SPA-II is the most accurate of the online learners",
        "5.3, Table 6",
        tuple(parts),
        f"Peak error (%): {'; '.join(texts)}; lower than {counted(parts)}",
    )


def _squared_beats_kin(results: Results) -> Claim:
    parts = []
    for name in selection.present(results, LARGE):
        for family in ("PA", "SPA"):
            hard, linear, squared = (selection.best(results, name, family + k) for k in SLACKS)
            parts += [below(squared, hard), below(squared, linear)]
    return Claim(
        "The squared slack is the best of the three kinds",
        "5.3, Table 6",
        tuple(parts),
        f"Lower peak error than the hard and the linear kind in {counted(parts)}",
    )


def _against_batch(results: Results) -> Claim:
    parts, texts = [], []
    for name in selection.present(results, LARGE):
        soft = {k: selection.best(results, name, k) for k in ("SPA-I", "SPA-II")}
        full = {k: selection.best(results, name, k) for k in BATCH}
        for b in full.values():
            for s in soft.values():
                if name == "USPS":
                    parts.append(below(b, s))
                elif name == "Reuters":
                    parts.append(below(s, b))
        texts.append(f"{name} " + ", ".join(f"{v.mean():.2f}" for v in (soft | full).values()))
    return Claim(
        "Batch learners are better on USPS, SPA-I and SPA-II on Reuters",
        "5.3, Table 6",
        tuple(parts),
        f"SPA-I, SPA-II, LR, M-SVM (%): {'; '.join(texts)}; as claimed in {counted(parts)}",
    )


def _noise(results: Results) -> Claim:
    parts: list[Part] = []
    texts = []
    for learner in ("PA", "SPA", "PA-II", "SPA-II"):
        errors = selection.by_pass(results, "News20", learner)
        values, best = selection.peak(results, "News20", learner)
        falls = float(errors[:, -1].mean() - values.mean())
        if learner in ("PA", "SPA"):
            parts += [*met(best <= SOON), below(values, errors[:, -1])]
        else:
            parts += met(falls < STAYS)
        texts.append(f"{learner} after {best}, then +{falls:.1f}")
    return Claim(
        "On News20 the hard rules peak early and then get worse; the soft ones stay",
        "5.3, Figure 3",
        tuple(parts),
        f"Best pass, and points lost until pass 40 (asked: pass {SOON} at most for hard rules, "
        f"below {STAYS:g} point for soft ones): {'; '.join(texts)}",
    )


def _few_passes(results: Results) -> Claim:
    """Test the number of passes until the mean error is within half a point of its best."""
    parts, texts = [], []
    for name in selection.present(results, LARGE):
        needed = {}
        for learner in PRINTED:
            means = selection.by_pass(results, name, learner).mean(axis=0)
            needed[learner] = int(np.argmax(means <= means.min() + 0.5)) + 1
        parts += [needed["SPA" + kind] <= needed["PA" + kind] for kind in SLACKS]
        listed = "/".join(str(needed["SPA" + kind]) for kind in SLACKS)
        texts.append(f"{name} {listed} against {'/'.join(str(needed['PA' + k]) for k in SLACKS)}")
    return Claim(
        "SPA reaches its accuracy in fewer passes than PA",
        "5.3, Figure 3",
        met(*parts),
        f"Passes until within half a point of the best, SPA kinds and PA kinds: {'; '.join(texts)}",
    )


def _steadier(results: Results) -> Claim:
    parts = [
        below(_wobble(results, name, "SPA" + kind), _wobble(results, name, "PA" + kind))
        for name in selection.present(results, LARGE)
        for kind in SLACKS
    ]
    return Claim(
        "SPA improves more steadily than PA",
        "5.3, Figure 3",
        tuple(parts),
        f"Change of the error from pass to pass within a run, passes 21 to 40: smaller in "
        f"{counted(parts)}",
    )


def _wobble(results: Results, name: str, learner: str) -> Values:
    """Return the mean change from pass to pass in the second half, for each fold."""
    errors = selection.by_pass(results, name, learner)
    return np.abs(np.diff(errors[:, errors.shape[1] // 2 :], axis=1)).mean(axis=1)
