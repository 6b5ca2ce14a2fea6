"""What a variant is made of: the losses as numbers, the axes and which of them combine."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import inf
from statistics import NormalDist
from typing import Any, Literal

from aggro import _core

Task = Literal["binary", "multiclass", "multilabel", "regression"]

MULTICLASS = ("support", "top", "predicted", "ovr")
METRICS = ("euclidean", "diagonal", "full")
TRIGGERS = ("loss", "always")
SCALES = ("none", "online", "standard")
CLASSIFIER_LOSSES = ("hinge", "squared_hinge", "hard", "least_squares")
REGRESSOR_LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive", "hard")
MAX_BATCH = 256


@dataclass(frozen=True)
class Settings:
    """One point on every axis: all that the core needs to know about a variant."""

    task: Task
    loss: str = "hinge"
    C: Any = 1.0  # a number, or "auto"
    epsilon: float = 0.0
    multiclass: str = "support"
    fit_intercept: bool = True
    metric: str = "euclidean"
    class_mean: float = 0.0
    trigger: str = "loss"
    queue: int = 1
    batch_size: int = 1
    average: bool | int | str = False
    reservoir_size: int = 16
    r: float = 1.0
    eta: float = 0.9
    scale: str = "none"
    relative_epsilon: bool = False
    forgetting: float = 0.0

    def rule(self) -> _core.Rule:
        """Return the numbers of this loss."""
        width = 0.0 if self.loss == "least_squares" else self.epsilon  # an equality has no tube
        return _core.Rule(epsilon=width, **LOSSES[self.loss](self))


def _ridge(C: float) -> float:
    return 1.0 / (2.0 * C)


def _phi(eta: float) -> float:
    return NormalDist().inv_cdf(eta)


# tau = clip(loss / (q + ridge), lo, cap); see core/slack.hpp. A new slack is one row.
LOSSES: dict[str, Callable[[Settings], dict[str, Any]]] = {
    "hard": lambda s: {},
    "hinge": lambda s: {"cap": s.C},
    "squared_hinge": lambda s: {"ridge": _ridge(s.C)},
    "least_squares": lambda s: {"lo": -inf, "ridge": _ridge(s.C)},
    "epsilon_insensitive": lambda s: {"cap": s.C},
    "squared_epsilon_insensitive": lambda s: {"ridge": _ridge(s.C)},
    "perceptron": lambda s: {"lo": 1.0, "cap": 1.0, "margin": 0.0},
    "arow": lambda s: {"ridge": s.r, "kappa": 1.0 / s.r, "weigh_kappa": True},
    "cw": lambda s: {"doubt": _core.Doubt.variance, "phi": _phi(s.eta)},
    "cw_stdev": lambda s: {"doubt": _core.Doubt.deviation, "phi": _phi(s.eta)},
    "scw1": lambda s: {"doubt": _core.Doubt.deviation, "phi": _phi(s.eta), "cap": s.C},
    "scw2": lambda s: {"doubt": _core.Doubt.deviation, "phi": _phi(s.eta), "ridge": _ridge(s.C)},
}
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
        lambda s: s.loss in _ONE_MARGIN_ONLY and s.task == "multiclass" and s.multiclass != "ovr",
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
        ("metric", "forgetting"),
        lambda s: s.metric == "full" and s.forgetting > 0,
        "a full matrix cannot forget without losing what keeps it positive; use metric='diagonal', "
        "or forgetting=0",
    ),
    Clash(
        ("loss", "queue"),
        lambda s: s.queue > 1 and s.loss in ("perceptron", *_ONE_MARGIN_ONLY),
        "this rule does not start from a centre, so no queue can be its start; use queue=1",
    ),
)


def near(name: str, valid: Iterable[str]) -> str:
    """Return ' Did you mean ...?' when a valid name looks like this one."""
    close = difflib.get_close_matches(str(name), list(valid), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def check_choice(name: str, value: Any, valid: Iterable[str]) -> None:
    """Raise unless value is one of the valid strings; the message lists them."""
    valid = tuple(valid)
    if not isinstance(value, str) or value not in valid:
        listed = ", ".join(map(repr, valid))
        raise ValueError(
            f"{name}={value!r} is not valid; choose one of {listed}.{near(value, valid)}"
        )


def check_number(name: str, value: Any, *, above: float, strict: bool = True) -> None:
    """Raise unless value is a real number (not a bool, not NaN) above the bound."""
    real = isinstance(value, (int, float)) or (
        hasattr(value, "dtype") and value.ndim == 0 and value.dtype.kind in "iuf"
    )
    fine = real and not isinstance(value, bool) and (value > above if strict else value >= above)
    if not fine:
        bound = f"{'greater than' if strict else 'of at least'} {above:g}"
        choice = ", or 'auto'" if name == "C" else ""
        raise ValueError(f"{name}={value!r} is not valid; give a number {bound}{choice}.")


def check_count(name: str, value: Any, *, least: int = 1, most: int | None = None) -> None:
    """Raise unless value is a whole number within the bounds."""
    whole = hasattr(value, "__index__") and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        upper = f" and at most {most}" if most is not None else ""
        raise ValueError(
            f"{name}={value!r} is not valid; give a whole number of at least {least}{upper}."
        )


def check_flag(name: str, value: Any) -> None:
    """Raise unless value is True or False."""
    if value is not True and value is not False:
        raise ValueError(f"{name}={value!r} is not valid; give True or False.")


def check_settings(s: Settings, losses: Iterable[str]) -> None:
    """Raise a ValueError that says what is wrong with the settings, and what to do."""
    check_choice("loss", s.loss, losses)
    check_flag("fit_intercept", s.fit_intercept)
    check_flag("relative_epsilon", s.relative_epsilon)
    if s.C != "auto":
        check_number("C", s.C, above=0)
    check_number("epsilon", s.epsilon, above=0, strict=False)
    check_choice("multiclass", s.multiclass, MULTICLASS)
    check_choice("metric", s.metric, (*METRICS, "auto"))
    check_choice("scale", s.scale, (*SCALES, "auto"))
    check_number("class_mean", s.class_mean, above=0, strict=False)
    if s.class_mean == inf:
        raise ValueError("class_mean=inf is not valid; the pull must be finite.")
    check_choice("trigger", s.trigger, TRIGGERS)
    check_count("queue", s.queue)
    check_count("batch_size", s.batch_size, most=MAX_BATCH)
    check_count("reservoir_size", s.reservoir_size)
    check_number("r", s.r, above=0)
    check_number("eta", s.eta, above=0.5, strict=False)
    if s.eta >= 1:
        raise ValueError(
            f"eta={s.eta!r} is not valid; give a probability of at least 0.5, below 1."
        )
    check_average(s.average)
    check_number("forgetting", s.forgetting, above=0, strict=False)
    if s.forgetting >= 1:
        raise ValueError(
            f"forgetting={s.forgetting!r} is not valid; give the share that an example replaces, "
            "such as 0.001: at least 0, below 1."
        )
    for clash in CLASHES:
        if clash.when(s):
            raise ValueError(f"{clash.why[0].upper()}{clash.why[1:]}.")


OPEN = ("C", "metric", "scale", "average")  # what may be left to a race


def left_open(s: Settings) -> list[str]:
    """Return the names of the settings that are to be chosen while learning."""
    return [name for name in OPEN if getattr(s, name) == "auto"]


def check_same_shape(old: Settings, new: Settings) -> None:
    """Raise unless a model made with the old settings has room for the new ones."""
    shape = ["C"] * ((old.C == "auto") != (new.C == "auto"))  # a race, or one model
    shape += ["fit_intercept", "metric", "queue", "average"]
    shape += ["scale", "relative_epsilon", "forgetting"]
    shape += ["reservoir_size"] * (new.average == "reservoir")
    one_each = [s.task == "multiclass" and s.multiclass == "ovr" for s in (old, new)]
    shape += ["multiclass"] * any(one_each)
    shape += ["class_mean"] * ((old.class_mean > 0) != (new.class_mean > 0))
    shape += ["C"] * ("auto" in (old.C, new.C))
    for name in shape:
        check_unchanged(name, getattr(old, name), getattr(new, name))


def same_values(some: Any, others: Any) -> bool:
    """Tell whether parameters are equal; those that cannot be compared are not."""
    try:
        return bool(some == others)
    except ValueError:  # an array among them: some of it may be equal
        return False


def check_unchanged(name: str, was: Any, is_now: Any) -> None:
    """Raise if a parameter that makes the shape of a model has changed since it was begun."""
    if same_values(was, is_now):
        return
    instead = "set it before the first partial_fit"
    if name in OPEN and same_values(was, "auto"):
        instead = "call settle(), which keeps what leads, and set it then"
    raise ValueError(
        f"{name} cannot change from {was!r} to {is_now!r} in the middle of a stream; "
        f"{instead}, or begin anew with fit."
    )


def check_average(average: Any) -> None:
    """Raise unless average is a flag, a number of examples, 'reservoir' or 'auto'."""
    if isinstance(average, str):
        check_choice("average", average, ("reservoir", "auto"))
    elif not isinstance(average, bool):
        check_count("average", average, least=0)
