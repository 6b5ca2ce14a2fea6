"""Which settings do not combine, and what is said of those that are wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import inf

from aggro.checks import check_choice
from aggro.rules import AXES, Settings, compete

_ONE_MARGIN_ONLY = ("cw", "cw_stdev", "scw1", "scw2")


@dataclass(frozen=True)
class Clash:
    """Two axes that cannot be combined, and why."""

    axes: tuple[str, str]
    when: Callable[[Settings], bool]
    why: str


def _shares_slack(s: Settings) -> bool:
    return s.task == "multiclass" and s.multiclass == "support"


CLASHES: tuple[Clash, ...] = (
    Clash(
        ("loss", "multiclass"),
        lambda s: s.loss == "least_squares" and _shares_slack(s),
        "least squares ask for margins of exactly 1, which all wrong classes cannot meet with one "
        "shared slack; use multiclass='ovr' or 'top'",
    ),
    Clash(
        ("loss", "multiclass"),
        lambda s: s.loss in _ONE_MARGIN_ONLY and compete(s),
        "the confidence-weighted rules constrain one margin at a time; use multiclass='ovr'",
    ),
    Clash(
        ("loss", "multiclass"),
        lambda s: s.loss == "perceptron" and _shares_slack(s),
        "a Perceptron moves by a fixed step against one class; use multiclass='top' or 'ovr'",
    ),
    Clash(
        ("task", "class_mean"),
        lambda s: s.task == "regression" and s.class_mean > 0,
        "the pull is to the means of classes, and regression has none; use class_mean=0",
    ),
    Clash(
        ("loss", "batch_size"),
        lambda s: s.batch_size > 1 and s.loss in ("perceptron", *_ONE_MARGIN_ONLY),
        "this rule is not the solution of a problem over a mini-batch; use batch_size=1",
    ),
    Clash(
        ("loss", "class_mean"),
        lambda s: s.class_mean > 0 and s.loss in ("perceptron", *_ONE_MARGIN_ONLY),
        "this rule does not start from a centre, so class means cannot pull it; use class_mean=0",
    ),
    Clash(
        ("loss", "metric"),
        lambda s: s.metric == "newton" and s.loss in ("arow", "perceptron", *_ONE_MARGIN_ONLY),
        "this rule tells by itself what its metric gains; use metric='diagonal' or 'full'",
    ),
    Clash(
        ("loss", "metric"),
        lambda s: s.metric == "newton" and (s.loss == "hard" or inf == s.C),
        "Newton's metric gains by the price of a loss, and a hard margin has no price; use a loss "
        "with a finite C, or metric='diagonal'",
    ),
    Clash(
        ("metric", "forgetting"),
        lambda s: s.metric == "full" and s.forgetting > 0,
        "a full matrix cannot forget without losing what keeps it positive; use metric='diagonal', "
        "or forgetting=0",
    ),
    Clash(
        ("mergeable", "queue"),
        lambda s: s.mergeable and s.queue > 1,
        "models learned apart have no last classifiers in common, so a queue of them cannot be "
        "merged; use queue=1, or mergeable=False",
    ),
    Clash(
        ("mergeable", "average"),
        lambda s: s.mergeable and s.average == "reservoir",
        "a reservoir draws classifiers by how long they survived in one stream, so it cannot be "
        "merged; use average=True, or mergeable=False",
    ),
    Clash(
        ("loss", "queue"),
        lambda s: s.queue > 1 and s.loss in ("perceptron", *_ONE_MARGIN_ONLY),
        "this rule does not start from a centre, so no queue can be its start; use queue=1",
    ),
)


def combine(s: Settings) -> bool:
    """Tell whether settings do not clash."""
    return not any(clash.when(s) for clash in CLASHES)


def check_settings(s: Settings, losses: Iterable[str]) -> None:
    """Raise a ValueError that says what is wrong with the settings, and what to do."""
    check_choice("loss", s.loss, losses)
    for name, axis in AXES.items():
        if name != "loss":
            axis.kind.check(name, getattr(s, name))
    for clash in CLASHES:
        if clash.when(s):
            raise ValueError(f"{clash.why[0].upper()}{clash.why[1:]}.")
