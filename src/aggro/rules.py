"""What a variant is made of: the axes, and the losses as numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from math import inf
from operator import attrgetter
from statistics import NormalDist
from typing import Any, Literal

from aggro import _core
from aggro.checks import Average, Choice, Count, Flag, Kind, Number
from aggro.metric import METRICS

Task = Literal["binary", "multiclass", "multilabel", "regression"]

SCALES = ("none", "online", "standard")
CLASSIFIER_LOSSES = ("hinge", "squared_hinge", "hard", "least_squares")
REGRESSOR_LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive", "hard")
MAX_BATCH = 256

Part = Callable[["Settings"], Any]


@dataclass(frozen=True)
class Axis:
    """What is known of a setting besides its default.

    ``shape`` is the part of the value that makes the shape of a model and cannot change in
    mid-stream; models that learn side by side must agree in it, and in ``joint`` where given.
    """

    kind: Kind
    help: str = ""  # on the command line; an axis without it is no option
    shape: Part | None = None
    joint: Part | None = None
    open: bool = False  # may be left to a race, as "auto"
    core: bool = False  # a field of the core's Shape has its name and value


def _axis(default: Any, kind: Kind, help: str = "", *, whole: bool = False, **facts: Any) -> Any:
    """Return the field of a dataclass that is an axis."""
    return field(default=default, metadata={"axis": (Axis(kind, help, **facts), whole)})


def _one_vs_rest(s: Settings) -> bool:
    return s.task == "multiclass" and s.multiclass == "ovr"


def compete(s: Settings) -> bool:
    """Tell whether classes compete: a margin is between two outputs."""
    return s.task == "multiclass" and s.multiclass != "ovr"


@dataclass(frozen=True)
class Settings:
    """One point on every axis: all that the core needs to know about a variant.

    The fields are the table of all axes. Parameter checks, command line, stream learners, sweeps,
    model files and tests are made from it. The whole value of an axis marked ``whole`` makes the
    shape of a model.
    """

    task: Task
    loss: str = _axis(
        "hinge",
        Choice(CLASSIFIER_LOSSES),  # each estimator has its own: see ``check_settings``
        "hinge, squared_hinge, hard, least_squares, epsilon_insensitive ...",
        joint=lambda s: s.loss.startswith(("cw", "scw")),
    )
    C: Any = _axis(
        1.0,
        Number(auto=True),
        "price of a broken margin, or 'auto'",
        shape=lambda s: s.C == "auto",  # a race, or one model
        open=True,
    )
    epsilon: float = _axis(0.0, Number(strict=False), "half the width of the tube (regression)")
    multiclass: str = _axis(
        "support",
        Choice(("support", "top", "predicted", "ovr")),
        "support, top, predicted or ovr",
        shape=_one_vs_rest,
    )
    fit_intercept: bool = _axis(True, Flag(), whole=True)
    intercept_scaling: Any = _axis(
        1.0,
        Number(auto=True, below=inf, says="give a finite number"),
        "value of the constant feature, or 'auto'",
        whole=True,
    )
    metric: str = _axis(
        "euclidean",
        Choice((*METRICS, "auto")),
        f"{', '.join(METRICS)} or auto",
        whole=True,
        open=True,
    )
    scale: str = _axis(
        "none", Choice((*SCALES, "auto")), "none, online, standard or auto", whole=True, open=True
    )
    class_mean: float = _axis(
        0.0,
        Number(strict=False, below=inf, says="the pull must be finite"),
        "pull to the class means",
        shape=lambda s: s.class_mean > 0,
    )
    trigger: str = _axis(
        "loss", Choice(("loss", "always")), "pull when a loss was suffered ('loss') or 'always'"
    )
    queue: int = _axis(
        1, Count(), "start from the mean of the last Q classifiers", whole=True, core=True
    )
    batch_size: int = _axis(
        1,
        Count(most=MAX_BATCH),
        "ask for the margins of this many examples together",
        joint=lambda s: s.batch_size,
    )
    average: bool | int | str = _axis(
        False,
        Average(("reservoir", "auto")),
        "predict with averaged weights, 'reservoir' or 'auto'",
        whole=True,
    )
    reservoir_size: int = _axis(
        16,
        Count(),
        shape=lambda s: s.reservoir_size if s.average == "reservoir" else 0,
    )
    r: float = _axis(1.0, Number(), "softness of AROW")
    eta: float = _axis(
        0.9,
        Number(
            above=0.5, strict=False, below=1.0, says="give a probability of at least 0.5, below 1"
        ),
        "probability of the confidence-weighted rules",
    )
    relative_epsilon: bool = _axis(False, Flag(), whole=True)
    forgetting: float = _axis(
        0.0,
        Number(
            strict=False,
            below=1.0,
            says="give the share that an example replaces, such as 0.001: at least 0, below 1",
        ),
        "share of the past that an example replaces, for streams that change",
        whole=True,
        core=True,
    )
    mergeable: bool = _axis(False, Flag(), whole=True, core=True)  # counts what a merge goes by

    def rule(self) -> _core.Rule:
        """Return the numbers of this loss."""
        width = 0.0 if self.loss == "least_squares" else self.epsilon  # an equality has no tube
        numbers = {"epsilon": width, **LOSSES[self.loss](self)}
        if ahead := METRICS[self.metric].ahead:  # a margin between two outputs moves both
            numbers |= {"kappa": 0.0, "ahead": ahead * self.C * (1 + compete(self))}
        return _core.Rule(**numbers)


def _ridge(C: float) -> float:
    return 1.0 / (2.0 * C)


def _phi(eta: float) -> float:
    return NormalDist().inv_cdf(eta)


# tau = clip(loss / (q + ridge), lo, cap); see core/step/slack.hpp. A new slack is one row.
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


# examples after which a record counts 1/e: long enough to choose, short enough to follow
MEMORY = 5000


def class_task(classes: int) -> Task:
    """Return what it is to tell so many classes apart; one is learned against what may come."""
    return "binary" if classes <= 2 else "multiclass"


def memory_of(s: Settings) -> float:
    """Return what an example leaves of the records before it."""
    return 1.0 - (s.forgetting or 1.0 / MEMORY)


def intercept_prior(s: Settings, square: float) -> float:
    """Return the square of the constant feature, by the squared length of the first row."""
    if s.intercept_scaling != "auto":
        return float(s.intercept_scaling) ** 2
    return min(1.0, 0.04 * square) if square > 0.0 else 1.0


def _axes() -> dict[str, Axis]:
    """Return the axes by name; of one that is marked so, the whole value is the shape."""
    table = {}
    for each in fields(Settings):
        if "axis" in each.metadata:
            axis, whole = each.metadata["axis"]
            table[each.name] = replace(axis, shape=attrgetter(each.name)) if whole else axis
    return table


AXES = _axes()
DEFAULTS = {name: Settings.__dataclass_fields__[name].default for name in AXES}
CORE = tuple(name for name, axis in AXES.items() if axis.core)
OPEN = tuple(name for name, axis in AXES.items() if axis.open)  # what may be left to a race


def left_open(s: Settings) -> list[str]:
    """Return the names of the settings that are to be chosen while learning."""
    return [name for name in OPEN if getattr(s, name) == "auto"]


def same_shape(s: Settings) -> tuple[Any, ...]:
    """Return what settings must share to learn side by side in one learner."""
    parts = (axis.joint or axis.shape for axis in AXES.values())
    return (s.task, *(part(s) for part in parts if part is not None))


def check_same_shape(old: Settings, new: Settings) -> None:
    """Raise unless a model made with the old settings has room for the new ones."""
    for name, axis in AXES.items():
        if axis.shape is not None and axis.shape(old) != axis.shape(new):
            check_unchanged(name, getattr(old, name), getattr(new, name))


def same_values(some: Any, others: Any) -> bool:
    """Tell whether parameters are equal; those that cannot be compared are not."""
    try:
        return bool(some == others)
    except (ValueError, FutureWarning):  # an array among them: some of it may be equal, or none
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
