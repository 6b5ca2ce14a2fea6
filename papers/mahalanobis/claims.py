"""What the paper says about PAM, tested over the runs; and what it leaves open."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np

from papers.experiment import Claim, Results, Values, read_published
from papers.mahalanobis.data import IMAGES, SETS, TWEETS
from papers.mahalanobis.duels import LEVEL, duels, holm, listed
from papers.mahalanobis.measures import best_runs_of, present, runs_of
from papers.verdict import p_text, signed_rank

Verdict = Literal["holds", "holds in part", "does not hold"]
FIVE = tuple(name for name in SETS if name != TWEETS)


def claims(results: Results) -> list[Claim]:
    """Return the claims of the paper, and its open question."""
    everything = [
        _lower_error,
        _best_f1,
        _beats_cw,
        _cw_beats_pa,
        _crx_gain,
        _images,
        _tweets,
        _hard_is_worse,
        _average_gain,
        _arow,
    ]
    return [claim(results) for claim in everything]


def _share(wins: int, of: int) -> Verdict:
    return "holds" if wins == of else "holds in part" if wins else "does not hold"


def _lower_error(results: Results) -> Claim:
    pa = duels(results, "PAM-II", "PA-II", FIVE)
    cw = duels(results, "PAM-II", "CW", FIVE)
    wins = sum(a.won and b.won for a, b in zip(pa, cw, strict=True))
    return Claim(
        "PAM-II makes fewer mistakes than PA-II and CW on all five sets.",
        "Section 4.1, Figures 1 to 3",
        _share(wins, len(pa)),
        "Difference of the final cumulative error in points, signed-rank test over ten runs. "
        f"Against PA-II: {listed(pa)}. Against CW: {listed(cw)}.",
    )


def _f1_rows(results: Results, algorithm: str) -> list[Values]:
    return [
        runs_of(results, name, algorithm, measure)
        for name in present(results, FIVE)
        for measure in ("positive", "negative")
    ]


def _best_f1(results: Results) -> Claim:
    pam, pa, cw = (_f1_rows(results, a) for a in ("PAM-II", "PA-II", "CW"))
    best = sum(m.mean() >= max(p.mean(), c.mean()) for m, p, c in zip(pam, pa, cw, strict=True))
    sure = sum(
        signed_rank(m, p, "greater") < LEVEL and signed_rank(m, c, "greater") < LEVEL
        for m, p, c in zip(pam, pa, cw, strict=True)
    )
    return Claim(
        "PAM-II has the best F1 in every row of Table 1.",
        "Section 4.2, Table 1",
        _share(best, len(pam)),
        f"It has the best mean in {best} of {len(pam)} rows, and is significantly better than both "
        f"others in {sure}.",
    )


def _beats_cw(results: Results) -> Claim:
    pam, cw = _f1_rows(results, "PAM-II"), _f1_rows(results, "CW")
    gains = [float(np.mean(m - c)) for m, c in zip(pam, cw, strict=True)]
    return Claim(
        "PAM-II beats CW by 1 to 2 points of F1, by more than 2 on BUPA.",
        "Section 4.2",
        "holds" if min(gains) > 0 and min(gains[:2]) > 2 else "holds in part",
        "Mean gains over CW in the rows of Table 1: "
        + ", ".join(f"{g:+.1f}" for g in gains)
        + f"; {np.mean(gains):+.1f} on average.",
    )


def _cw_beats_pa(results: Results) -> Claim:
    one, two = (duels(results, "CW", a, FIVE) for a in ("PA-I", "PA-II"))
    wins = sum(a.won and b.won for a, b in zip(one, two, strict=True))
    losses = sum(a.lost and b.lost for a, b in zip(one, two, strict=True))
    return Claim(
        "CW performs better than PA-I and PA-II.",
        "Section 4.2",
        _share(wins, len(one)),
        f"CW is significantly better than both on {wins} and worse than both on {losses} of "
        f"{len(one)} sets. Its hard constraint learns every wrong label in full; with C tuned, PA "
        f"does not. Error against PA-I: {listed(one)}; against PA-II: {listed(two)}.",
    )


def _crx_gain(results: Results) -> Claim:
    pam, pa, cw = (runs_of(results, "crx", a, "positive") for a in ("PAM-II", "PA-II", "CW"))
    over_pa, over_cw = float(np.mean(pam - pa)), float(np.mean(pam - cw))
    return Claim(
        "On the positive class of CRX, PAM-II gains more than 11 points of F1 on PA-II, 2 on CW.",
        "Section 4.2, Table 1",
        "holds"
        if over_pa > 11 and over_cw > 2
        else "holds in part"
        if over_cw > 2
        else "does not hold",
        f"PAM-II − PA-II: {over_pa:+.1f} ({p_text(signed_rank(pam, pa))}); PAM-II − CW: "
        f"{over_cw:+.1f} ({p_text(signed_rank(pam, cw))}). With standardised features PA-II "
        f"reaches {pa.mean():.1f} where 68.5 is printed; with raw features of very different size, "
        "rows of length one, it falls to 60.1 (PAM-II 63.9, CW 68.4). So scaling alone moves PA-II "
        "by more than the printed gap.",
    )


def _images(results: Results) -> Claim:
    found = duels(results, "PAM-II", "PA-II", IMAGES) + duels(results, "PAM-II", "CW", IMAGES)
    sure = sum(d.won for d in found)
    return Claim(
        "On USPS and MNIST PAM-II is better, but not significantly so.",
        "Section 4.1, Figure 2",
        "holds" if sure == 0 else "holds in part",
        f"Better in {sum(d.gap < 0 for d in found)} and significantly better in {sure} of "
        f"{len(found)} comparisons (first PA-II, then CW): {listed(found)}.",
    )


def _tweets(results: Results) -> Claim:
    found = [d for other in ("PA-II", "CW") for d in duels(results, "PAM-II", other, (TWEETS,))]
    return Claim(
        "On tweets of six users PAM-II has the lowest error for each user.",
        "Section 4.3, Figure 4",
        "cannot be tested",
        "The tweets are not public. On six stand-in streams from Sentiment140 with the same shares "
        "of positive tweets, the error of PAM-II minus that of PA-II and minus that of CW, in "
        f"points: {listed(found)}; with six runs p cannot be below 0.031.",
    )


def _hard_is_worse(results: Results) -> Claim:
    found = duels(results, "PA", "PA-I", FIVE) + duels(results, "PA", "PA-II", FIVE)
    worse = sum(d.lost for d in found)
    return Claim(
        "PA performs worse than PA-I and PA-II.",
        "Section 4.1",
        _share(worse, len(found)),
        f"Significantly worse in {worse} of {len(found)} comparisons (PA-I, then PA-II): "
        f"{listed(found)}.",
    )


def _average_gain(results: Results) -> Claim:
    printed = read_published(Path(__file__).with_name("published.tsv"))
    value = {(e.row, e.column): e.value for e in printed}
    rows = dict.fromkeys(e.row for e in printed)
    table = np.mean([value[r, "PAM-II"] - value[r, "PA-II"] for r in rows])
    pam, pa = _f1_rows(results, "PAM-II"), _f1_rows(results, "PA-II")
    ours = np.mean([np.mean(m - p) for m, p in zip(pam, pa, strict=True)])
    return Claim(
        "PAM gains 4 to 12 points of F1 on average.",
        "Section 5",
        "holds" if 4 <= ours <= 12 else "does not hold",
        f"The printed table itself gives a mean gain of {table:.1f} points over PA-II, and only "
        f"the two rows of CRX lie above 4. Ours is {ours:.1f}.",
    )


def _arow(results: Results) -> Claim:
    parts, better, worse = [], [], 0
    sets = present(results, SETS)
    for suffix, label in (("", "full metric"), ("-diag", "diagonal metric")):
        names = (f"AROW{suffix}", f"PAM-II{suffix}")
        found = duels(results, *names, sets)
        arow, pam = (np.concatenate([runs_of(results, n, a) for n in sets]) for a in names)
        best = [np.concatenate([best_runs_of(results, n, a) for n in sets]) for a in names]
        p = signed_rank(arow, pam)
        better.append(bool(np.mean(arow - pam) < 0 and p < LEVEL))
        worse += sum(duel.lost for duel in found)
        parts.append(
            f"{label}: {listed(found)}; over all {len(arow)} runs {np.mean(arow - pam):+.2f} "
            f"({p_text(p)}), AROW lower in {np.sum(arow < pam)}, PAM-II in {np.sum(arow > pam)}; "
            f"{len(holm(found))} of {len(sets)} sets stay significant after Holm's correction; "
            f"with the best settings in hindsight {np.mean(best[0] - best[1]):+.2f} "
            f"({p_text(signed_rank(*best))})"
        )
    return Claim(
        "Asked, not claimed: AROW's adaptive covariance is better than the static one of PAM-II.",
        "Section 5",
        _share(sum(better), len(better)),
        "Both with their one parameter chosen from eight values on other streams; at C = 1/2 and "
        "r = 1 they are the same algorithm. Error of AROW minus error of PAM-II in points. "
        + ". ".join(part[0].upper() + part[1:] for part in parts)
        + f". AROW is significantly worse in {worse} of {2 * len(sets)} comparisons.",
    )
