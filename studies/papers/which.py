"""Numbers of the page on choosing an algorithm; its text is in ``which-algorithm.md.in``.

They are computed from the finished cells and stored in ``results.json``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from studies.papers.claims import evaluate_claims
from studies.papers.class_means.claims import PAIRS
from studies.papers.class_means.numbers import runs
from studies.papers.experiment import Results
from studies.papers.mahalanobis.claims import FIVE, claims, gaps, signed
from studies.papers.mahalanobis.measures import present
from studies.papers.mahalanobis.texts import TITLES
from studies.papers.minibatches.claims import names, values, versus
from studies.papers.minibatches.protocol import LOSSES
from studies.papers.support_classes import selection
from studies.papers.support_classes.claims import claims as support_claims
from studies.papers.support_classes.claims_inside import batch_ratios, pa_ratios
from studies.papers.support_classes.claims_one_pass import DUELS, duels
from studies.papers.support_classes.sets import LARGE

TEMPLATE = Path(__file__).with_name("which-algorithm.md.in")


def page(facts: Mapping[str, str]) -> str:
    """Return the page with its numbers filled in."""
    return TEMPLATE.read_text(encoding="utf-8").format(**facts)


def facts(results: Mapping[str, Results]) -> dict[str, str]:
    """Return every number of the page, by name."""
    return {
        **_slacks(results["mahalanobis"], results["support_classes"]),
        **_support(results["support_classes"]),
        **_metric(results["mahalanobis"]),
        **_means(results["class_means"]),
        **_batches(results["minibatches"]),
    }


def _range(numbers: Iterable[float], digits: int = 0) -> str:
    """Return the range of some numbers as text, or one number if both ends round to it."""
    texts = [f"{number:.{digits}f}" for number in (lambda n: (min(n), max(n)))(list(numbers))]
    return texts[0] if texts[0] == texts[1] else f"{texts[0]} to {texts[1]}"


def _slacks(metric: Results, classes: Results) -> dict[str, str]:
    hard = [gap for other in ("PA-I", "PA-II") for gap in gaps(metric, "PA", other).values()]
    apart = [
        abs(
            selection.best(classes, name, f"{family}-I").mean()
            - selection.best(classes, name, f"{family}-II").mean()
        )
        for name in selection.present(classes, LARGE)
        for family in ("PA", "SPA")
    ]
    errors = selection.by_pass(classes, "News20", "SPA").mean(axis=0)
    return {
        "hard_worse": str(sum(gap > 0 for gap in hard)),
        "hard_of": str(len(hard)),
        "hard_most": f"{max(hard):.1f}",
        "hard_fall": f"{errors[-1] - errors.min():.1f}",
        "slack_apart": f"{max(apart):.1f}",
    }


def _support(results: Results) -> dict[str, str]:
    found = {}
    tested = {s.claim.says: s for s in evaluate_claims(support_claims(results))}
    for family, says in DUELS.items():
        parts, points = duels(results, family)
        found[f"{family}_sure"] = str(tested[says].favour)
        found[f"{family}_gain"] = f"{np.mean(points):.1f}"
        found[f"{family}_lower"] = str(sum(part.towards for part in parts))
        found[f"{family}_of"] = str(len(parts))
    for name in selection.present(results, LARGE):
        peaks = [
            selection.best(results, name, learner).mean()
            for learner in ("SPA-I", "SPA-II", "M-SVM")
        ]
        found[f"peaks_{name}"] = "{:.1f} and {:.1f} % ({:.1f})".format(*peaks)
    found["share_of_batch"] = _range(
        100 * r for both in batch_ratios(results).values() for r in both
    )
    found["spa_time"] = _range(pa_ratios(results).values(), 2)
    found["MPA_share"] = f"{100 * float(found['MPA_gain']) / float(found['PA_gain']):.0f}"
    return found


def _metric(results: Results) -> dict[str, str]:
    def listed(one: str, other: str) -> str:
        found = gaps(results, one, other, FIVE)
        return ", ".join(f"{TITLES[name]} {signed(gap)}" for name, gap in found.items())

    sets = present(results, TITLES)
    (asked,) = (s for s in evaluate_claims(claims(results)) if s.claim.says.startswith("Asked"))
    arow = [
        np.mean(list(gaps(results, f"AROW{kind}", f"PAM-II{kind}", sets).values()))
        for kind in ("", "-diag")
    ]
    return {
        "pam": listed("PAM-II", "PA-II"),
        "pam_diagonal": listed("PAM-II-diag", "PA-II"),
        "cw": listed("CW", "PA-II"),
        "arow_full": f"{arow[0]:+.2f}",
        "arow_diagonal": f"{arow[1]:+.2f}",
        "arow_sure": str(asked.favour + asked.against),
        "arow_of": str(len(asked.claim.parts)),
    }


def _means(results: Results) -> dict[str, str]:
    found = {}
    for key in ("updates", "error"):
        more = [
            runs(results, name, f"exact PAm{suffix}", key).mean()
            > runs(results, name, f"PA{suffix}", key).mean()
            for name, suffix in PAIRS
        ]
        found[f"means_{key}_higher"] = str(sum(more))
    return {**found, "means_of": str(len(PAIRS))}


def _batches(results: Results) -> dict[str, str]:
    found = {}
    for reading in ("intercept", "plain"):
        parts = versus(results, "test", 8, 1, reading)
        found[f"batch_{reading}"] = f"{sum(part.towards for part in parts)} of {len(parts)}"
    times = results.where(method="time").pairs[0][1]["times"]
    found["batch_time"] = _range((times[m]["8"] / times[m]["1"] for m in LOSSES), 1)
    for name in ("ionosphere", "sonar"):
        if name in names(results):
            errors = [values(results, "test", name, m, b, "plain").mean()
                      for m in LOSSES for b in (1, 4, 8)]  # fmt: skip
            found[f"kernel_{name}"] = _range(errors)
    return found
