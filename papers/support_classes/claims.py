"""What the paper says about many passes, tested over folds; and all its claims together."""

from __future__ import annotations

import numpy as np

from papers.experiment import Claim, Results, Values
from papers.support_classes import selection
from papers.support_classes.claims_inside import inside_claims
from papers.support_classes.claims_one_pass import one_pass_claims
from papers.support_classes.judging import is_less, verdict
from papers.support_classes.learners import BATCH, PRINTED, SLACKS
from papers.support_classes.sets import LARGE
from papers.verdict import p_text, signed_rank


def claims(results: Results) -> list[Claim]:
    """Return all claims with their verdicts."""
    return [
        *one_pass_claims(results),
        _squared_best(results),
        _squared_beats_kin(results),
        _against_batch(results),
        _noise(results),
        _few_passes(results),
        *inside_claims(results),
    ]


def _squared_best(results: Results) -> Claim:
    held, texts = [], []
    rivals = [learner for learner in PRINTED if learner != "SPA-II"]
    for name in selection.present(results, LARGE):
        ours = selection.best(results, name, "SPA-II")
        theirs = {r: selection.best(results, name, r) for r in rivals}
        nearest = min(rivals, key=lambda r: theirs[r].mean())
        beaten = [r for r in rivals if is_less(ours, theirs[r])]
        held += [bool(ours.mean() <= theirs[nearest].mean()), *(r in beaten for r in rivals)]
        p = p_text(signed_rank(ours, theirs[nearest], "less"))
        texts.append(
            f"{name} SPA-II {ours.mean():.2f} %, next {nearest} {theirs[nearest].mean():.2f} % "
            f"({p}); significantly better than {', '.join(beaten) or 'none'}"
        )
    return Claim(
        "SPA-II is the most accurate of the online learners",
        "5.3, Table 6",
        verdict(held),
        ". ".join(texts) + ".",
    )


def _squared_beats_kin(results: Results) -> Claim:
    held, texts = [], []
    for name in selection.present(results, LARGE):
        for family in ("PA", "SPA"):
            all_three = [selection.best(results, name, family + kind) for kind in SLACKS]
            held += [is_less(all_three[2], all_three[0]), is_less(all_three[2], all_three[1])]
            numbers = " / ".join(f"{v.mean():.2f}" for v in all_three)
            texts.append(f"{name} {family}, -I, -II: {numbers} %")
    return Claim(
        "The squared slack is the best of the three kinds, for PA and for SPA",
        "5.3, Table 6",
        verdict(held),
        f"{'; '.join(texts)}. Of {len(held)} differences {sum(held)} are significant.",
    )


def _against_batch(results: Results) -> Claim:
    held, texts = [], []
    for name in selection.present(results, LARGE):
        soft = {k: selection.best(results, name, k) for k in ("SPA-I", "SPA-II")}
        full = {k: selection.best(results, name, k) for k in BATCH}
        for b in full.values():
            for s in soft.values():
                if name == "USPS":
                    held.append(bool(b.mean() < s.mean()))
                elif name == "Reuters":
                    held.append(bool(s.mean() < b.mean()))
        numbers = ", ".join(f"{k} {v.mean():.2f}" for k, v in {**soft, **full}.items())
        best = min(full.values(), key=np.mean)
        p = signed_rank(soft["SPA-II"][: len(best)], best)
        texts.append(f"{name} {numbers} % (SPA-II and the better batch learner: {p_text(p)})")
    return Claim(
        "The batch learners are better on USPS, SPA-I and SPA-II are better on Reuters; all peaks "
        "are close",
        "5.3, Table 6",
        verdict(held),
        "; ".join(texts) + ".",
    )


def _noise(results: Results) -> Claim:
    held, texts = [], []
    for learner in ("PA", "SPA", "PA-II", "SPA-II"):
        errors = selection.by_pass(results, "News20", learner)
        values, best = selection.peak(results, "News20", learner)
        falls = float(errors[:, -1].mean() - values.mean())
        hard = learner in ("PA", "SPA")
        fell = is_less(values, errors[:, -1])
        held.append((best <= 5 and fell) if hard else falls < 1)
        texts.append(f"{learner} best after {best} ({values.mean():.1f} %), then +{falls:.1f}")
    return Claim(
        "On News20 the hard rules are best after the first passes and then get worse; the soft "
        "ones stay",
        "5.3, Figure 3",
        verdict(held),
        f"Passes, error there, and points lost until the last pass: {'; '.join(texts)}.",
    )


def _few_passes(results: Results) -> Claim:
    """How many passes until the mean error is within half a point of its best."""
    held, texts = [], []
    for name in selection.present(results, LARGE):
        needed = {}
        for learner in PRINTED:
            means = selection.by_pass(results, name, learner).mean(axis=0)
            needed[learner] = int(np.argmax(means <= means.min() + 0.5)) + 1
        held += [needed["SPA" + kind] <= needed["PA" + kind] for kind in SLACKS]
        listed = ", ".join(f"{learner} {count}" for learner, count in needed.items())
        texts.append(f"{name}: {listed}")
    return Claim(
        "SPA reaches its accuracy in few passes, and improves more steadily than PA",
        "5.3, Figure 3",
        verdict([*held, *_steadier(results)]),
        f"Passes until within half a point of the best: {'; '.join(texts)}. "
        f"{_steadiness_text(results)}",
    )


def _wobble(results: Results, name: str, learner: str) -> Values:
    """Return the mean change from pass to pass in the second half, for each fold."""
    errors = selection.by_pass(results, name, learner)
    return np.abs(np.diff(errors[:, errors.shape[1] // 2 :], axis=1)).mean(axis=1)


def _steadier(results: Results) -> list[bool]:
    return [
        is_less(_wobble(results, name, "SPA" + kind), _wobble(results, name, "PA" + kind))
        for name in selection.present(results, LARGE)
        for kind in SLACKS
    ]


def _steadiness_text(results: Results) -> str:
    pairs = [
        f"{name} {_wobble(results, name, 'SPA-II').mean():.2f} against "
        f"{_wobble(results, name, 'PA-II').mean():.2f}"
        for name in selection.present(results, LARGE)
    ]
    return (
        "Change of the test error from pass to pass in the second half, SPA-II against PA-II: "
        f"{', '.join(pairs)} points; smaller for SPA in {sum(_steadier(results))} of 9 pairs."
    )
