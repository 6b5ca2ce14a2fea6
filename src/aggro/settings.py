"""The settings of a model: one table of all axes, metrics, losses and invalid combinations."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, replace
from math import inf
from operator import attrgetter
from statistics import NormalDist
from typing import Any, Literal

from aggro import _core
from aggro.checks import (
    Average,
    Choice,
    Count,
    Flag,
    Kind,
    Memory,
    Number,
    bytes_of,
    check_choice,
)

Task = Literal["binary", "multiclass", "multilabel", "regression"]


@dataclass(frozen=True)
class Metric:
    """Properties of a metric outside the core.

    Parameters
    ----------
    storage : str
        The core's metric that stores it.
    gain_before : float
        If positive, the precision gains ``gain_before`` C loss² x² before the update; otherwise it
        gains x² after the update.
    power : float
        The variance of a weight is its precision to the power of -1/power; 0 without precisions.
    grid : range
        Values of C in a model selection, in steps of √10 around the scale of C. For the Euclidean
        metric a C above about 1/‖x‖² changes nothing; the others scale the features themselves.
    damping : float
        A merge multiplies the change of a weight by the share of the shards that updated it, to
        this power. Euclidean steps do not shrink with experience, so rare features keep them whole.
    relaxation : float
        How far a merge extends the mean of the steps of many shards. A step is a projection onto a
        margin, and a mean of projections may be extended up to twice (Cimmino).
    prior : bool
        Whether precisions are comparable evidence of all shards: a share of the start's precision
        votes in a merge, and shards keep C as it is. Otherwise the mean of S steps is too short,
        and shards learn with √S times C.
    rounds : int
        Maximum number of merge rounds in a pass. Precisions of all shards shorten the steps after
        a merge, so the metrics that keep them gain less from more rounds.
    """

    storage: str
    gain_before: float = 0.0
    power: float = 0.0
    grid: range = range(-6, 7)
    damping: float = 0.0
    relaxation: float = 0.5
    prior: bool = False
    rounds: int = 16


METRICS = {
    "euclidean": Metric("euclidean", grid=range(-10, 3), rounds=64),
    "diagonal": Metric("diagonal", power=1.0, damping=0.5),
    "adagrad": Metric("adagrad", power=2.0, damping=0.5),
    "newton": Metric("diagonal", gain_before=2.0, power=1.0, relaxation=0.0, prior=True),
    "full": Metric("full", relaxation=0.0),  # its merge is a least-squares solution
}
#: The power of each metric that keeps a variance for each weight.
DIAGONAL = {name: metric.power for name, metric in METRICS.items() if metric.power}

SCALES = ("none", "online", "standard")
FEATURES = ("linear", "fourier", "bins", "both")
CLASSIFIER_LOSSES = ("hinge", "squared_hinge", "hard", "least_squares")
REGRESSOR_LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive", "hard")
# The errors of a regression, and the loss that minimises each of them.
LOSS_OF = {"absolute": "epsilon_insensitive", "squared": "squared_epsilon_insensitive"}
CRITERIA = tuple(LOSS_OF)
MAX_BATCH = 256

Part = Callable[["Settings"], Any]


@dataclass(frozen=True)
class Axis:
    """Properties of a setting besides its default.

    Parameters
    ----------
    kind : Kind
        The valid values.
    help : str
        Text on the command line; an axis without it is not an option.
    layout : callable
        The part of the value that determines the layout of a model, which cannot change while it
        learns.
    shared : callable
        The part that models in one learner must share; by default their layout.
    selectable : bool
        Whether it can be "auto", that is, found by model selection.
    in_core : bool
        Whether the core's ``Shape`` has a field of this name and value.
    """

    kind: Kind
    help: str = ""
    layout: Part | None = None
    shared: Part | None = None
    selectable: bool = False
    in_core: bool = False


def _axis(default: Any, kind: Kind, help: str = "", *, fixed: bool = False, **facts: Any) -> Any:
    """Return a dataclass field that is an axis; if ``fixed``, its whole value is layout."""
    return field(default=default, metadata={"axis": (Axis(kind, help, **facts), fixed)})


def _one_vs_rest(s: Settings) -> bool:
    return s.task == "multiclass" and s.multiclass == "ovr"


def classes_compete(s: Settings) -> bool:
    """Return whether a margin is the difference between the scores of two classes."""
    return s.task == "multiclass" and s.multiclass != "ovr"


@dataclass(frozen=True)
class Settings:
    """One value for every axis: a complete description of a variant.

    The fields are the table of all axes. Parameter checks, command-line options, stream learners,
    sweeps, model files and tests iterate over it.
    """

    task: Task
    loss: str = _axis(
        "hinge",
        Choice(CLASSIFIER_LOSSES),  # each estimator has its own: see ``check_settings``
        "hinge, squared_hinge, hard, least_squares, epsilon_insensitive ...",
        shared=lambda s: s.loss.startswith(("cw", "scw")),
    )
    C: Any = _axis(
        1.0,
        Number(auto=True),
        "cost of a violated margin, or 'auto'",
        layout=lambda s: s.C == "auto",  # a selection or a single model
        selectable=True,
    )
    epsilon: float = _axis(0.0, Number(strict=False), "half the width of the tube (regression)")
    multiclass: str = _axis(
        "support",
        Choice(("support", "top", "predicted", "ovr")),
        "support, top, predicted or ovr",
        layout=_one_vs_rest,
    )
    fit_intercept: bool = _axis(True, Flag(), fixed=True)
    intercept_scaling: Any = _axis(
        1.0,
        Number(auto=True, below=inf, says="give a finite number"),
        "value of the constant feature, or 'auto'",
        fixed=True,
    )
    metric: str = _axis(
        "euclidean",
        Choice((*METRICS, "auto")),
        f"{', '.join(METRICS)} or auto",
        fixed=True,
        selectable=True,
    )
    scale: str = _axis(
        "none",
        Choice((*SCALES, "auto")),
        "none, online, standard or auto",
        fixed=True,
        selectable=True,
    )
    features: str = _axis(
        "linear",
        Choice((*FEATURES, "auto")),
        "non-linear features of up to 300 columns: linear (none), fourier, bins, both or auto",
        fixed=True,
        selectable=True,
    )
    class_mean: float = _axis(
        0.0,
        Number(strict=False, below=inf, says="the pull must be finite"),
        "pull to the class means",
        layout=lambda s: s.class_mean > 0,
    )
    trigger: str = _axis(
        "loss", Choice(("loss", "always")), "pull after a loss ('loss') or 'always'"
    )
    queue: int = _axis(
        1, Count(), "start from the mean of the last Q classifiers", fixed=True, in_core=True
    )
    batch_size: int = _axis(
        1,
        Count(most=MAX_BATCH),
        "learn this many examples together, as a mini-batch",
        shared=lambda s: s.batch_size,
    )
    average: bool | int | str = _axis(
        False,
        Average(("reservoir", "auto")),
        "predict with averaged weights, 'reservoir' or 'auto'",
        fixed=True,
    )
    reservoir_size: int = _axis(
        16,
        Count(),
        layout=lambda s: s.reservoir_size if s.average == "reservoir" else 0,
    )
    r: float = _axis(1.0, Number(), "softness of AROW")
    eta: float = _axis(
        0.9,
        Number(
            above=0.5, strict=False, below=1.0, says="give a probability of at least 0.5, below 1"
        ),
        "probability of the confidence-weighted rules",
    )
    relative_epsilon: bool = _axis(False, Flag(), fixed=True)
    criterion: str = _axis(
        "absolute", Choice(CRITERIA), "error of a regression: absolute or squared", fixed=True
    )
    forgetting: float = _axis(
        0.0,
        Number(
            strict=False,
            below=1.0,
            says="give the share that an example replaces, such as 0.001: at least 0, below 1",
        ),
        "share of the past that an example replaces, for streams that change",
        fixed=True,
        in_core=True,
    )
    mergeable: bool = _axis(False, Flag(), fixed=True, in_core=True)  # keeps update counts
    memory: Any = _axis(None, Memory(), "memory of a model selection, such as 512MiB")

    def __post_init__(self) -> None:
        """Replace ``loss="auto"`` of a regression by the loss of its criterion."""
        if self.task == "regression" and self.loss == "auto":
            object.__setattr__(self, "loss", LOSS_OF.get(str(self.criterion), REGRESSOR_LOSSES[0]))

    def rule(self) -> _core.Rule:
        """Return the numbers of this loss."""
        width = 0.0 if self.loss == "least_squares" else self.epsilon  # an equality has no tube
        numbers = {"epsilon": width, **LOSSES[self.loss](self)}
        if gain := METRICS[self.metric].gain_before:  # a margin between two outputs moves both
            numbers |= {"kappa": 0.0, "ahead": gain * self.C * (1 + classes_compete(self))}
        return _core.Rule(**numbers)


def _ridge(C: float) -> float:
    return 1.0 / (2.0 * C)


def _phi(eta: float) -> float:
    return NormalDist().inv_cdf(eta)


# tau = clip(loss / (q + ridge), lo, cap); see slack.hpp in the core. A new slack is one row.
LOSSES: dict[str, Callable[[Settings], dict[str, Any]]] = {
    "hard": lambda s: {},
    "hinge": lambda s: {"cap": s.C},
    "squared_hinge": lambda s: {"ridge": _ridge(s.C)},
    "least_squares": lambda s: {"lo": -inf, "ridge": _ridge(s.C)},
    "epsilon_insensitive": lambda s: {"cap": s.C},
    "squared_epsilon_insensitive": lambda s: {"ridge": _ridge(s.C)},
    "perceptron": lambda s: {"lo": 1.0, "cap": 1.0, "margin": 0.0},
    "arow": lambda s: {"ridge": s.r, "kappa": 1.0 / s.r, "weigh_kappa": True},
    "cw": lambda s: {"uncertainty": _core.Uncertainty.variance, "phi": _phi(s.eta)},
    "cw_stdev": lambda s: {"uncertainty": _core.Uncertainty.deviation, "phi": _phi(s.eta)},
    "scw1": lambda s: {"uncertainty": _core.Uncertainty.deviation, "phi": _phi(s.eta), "cap": s.C},
    "scw2": lambda s: {
        "uncertainty": _core.Uncertainty.deviation,
        "phi": _phi(s.eta),
        "ridge": _ridge(s.C),
    },
}


# Examples after which an error record has decayed to 1/e: long enough to be reliable, short enough
# to follow a changing stream.
MEMORY = 5000
DEFAULT_MEMORY = 2**30  # bytes of a model selection


def class_task(classes: int) -> Task:
    """Return the task for a number of classes; a single class is learned as a binary task."""
    return "binary" if classes <= 2 else "multiclass"


def error_name(s: Settings) -> str:
    """Return the name of the recorded error: mistakes, absolute error or squared error."""
    return f"{s.criterion} error" if s.task == "regression" else "mistakes"


def memory_of(s: Settings) -> float:
    """Return the factor by which each example discounts the error records."""
    return 1.0 - (s.forgetting or 1.0 / MEMORY)


def memory_limit(memory: Any) -> int:
    """Return the maximum size of a model selection in bytes.

    By default that is a gibibyte, or a quarter of the machine's memory if that is less.
    """
    if memory is None:
        return int(min(DEFAULT_MEMORY, _core.machine_memory() / 4))
    return bytes_of("memory", memory)


def intercept_prior(s: Settings, square: float) -> float:
    """Return the squared constant feature, given the squared norm of the first row."""
    if s.intercept_scaling != "auto":
        return float(s.intercept_scaling) ** 2
    return min(1.0, 0.04 * square) if square > 0.0 else 1.0


def _axes() -> dict[str, Axis]:
    """Return the axes by name."""
    table = {}
    for each in fields(Settings):
        if "axis" in each.metadata:
            axis, fixed = each.metadata["axis"]
            table[each.name] = replace(axis, layout=attrgetter(each.name)) if fixed else axis
    return table


AXES = _axes()
DEFAULTS = {name: Settings.__dataclass_fields__[name].default for name in AXES}
CORE = tuple(name for name, axis in AXES.items() if axis.in_core)
SELECTABLE = tuple(name for name, axis in AXES.items() if axis.selectable)


def selected_axes(s: Settings) -> list[str]:
    """Return the names of the settings that model selection must find."""
    return [name for name in SELECTABLE if getattr(s, name) == "auto"]


def shared_layout(s: Settings) -> tuple[Any, ...]:
    """Return what the settings of models in one learner must share."""
    parts = (axis.shared or axis.layout for axis in AXES.values())
    return (s.task, *(part(s) for part in parts if part is not None))


def check_same_layout(old: Settings, new: Settings) -> None:
    """Raise if a model cannot switch from the old settings to the new ones."""
    for name, axis in AXES.items():
        if axis.layout is not None and axis.layout(old) != axis.layout(new):
            check_unchanged(name, getattr(old, name), getattr(new, name))


def same_values(some: Any, others: Any) -> bool:
    """Return whether parameters are equal; False if they cannot be compared."""
    try:
        return bool(some == others)
    except (ValueError, FutureWarning):  # one of them is an array
        return False


def check_unchanged(name: str, was: Any, is_now: Any) -> None:
    """Raise if a parameter that determines the layout of a model has changed."""
    if same_values(was, is_now):
        return
    instead = "set it before the first partial_fit"
    if name in SELECTABLE and same_values(was, "auto"):
        instead = "call keep_best() first, which keeps the best candidate"
    raise ValueError(
        f"{name} cannot change from {was!r} to {is_now!r} in the middle of a stream; "
        f"{instead}, or start from scratch with fit."
    )


# -- incompatible settings ---------------------------------------------------------------------

_ONE_MARGIN_ONLY = ("cw", "cw_stdev", "scw1", "scw2")


@dataclass(frozen=True)
class Incompatible:
    """Two axes that cannot be combined, and why."""

    axes: tuple[str, str]
    when: Callable[[Settings], bool]
    why: str


def _shares_slack(s: Settings) -> bool:
    return s.task == "multiclass" and s.multiclass == "support"


INCOMPATIBLE: tuple[Incompatible, ...] = (
    Incompatible(
        ("loss", "multiclass"),
        lambda s: s.loss == "least_squares" and _shares_slack(s),
        "least squares requires margins of exactly 1, which all wrong classes cannot meet with one "
        "shared slack; use multiclass='ovr' or 'top'",
    ),
    Incompatible(
        ("loss", "multiclass"),
        lambda s: s.loss in _ONE_MARGIN_ONLY and classes_compete(s),
        "the confidence-weighted rules constrain one margin at a time; use multiclass='ovr'",
    ),
    Incompatible(
        ("loss", "multiclass"),
        lambda s: s.loss == "perceptron" and _shares_slack(s),
        "a Perceptron moves by a fixed step against one class; use multiclass='top' or 'ovr'",
    ),
    Incompatible(
        ("task", "class_mean"),
        lambda s: s.task == "regression" and s.class_mean > 0,
        "the pull is to the means of classes, and regression has none; use class_mean=0",
    ),
    Incompatible(
        ("loss", "batch_size"),
        lambda s: s.batch_size > 1 and s.loss in ("perceptron", *_ONE_MARGIN_ONLY),
        "this rule is not the solution of a problem over a mini-batch; use batch_size=1",
    ),
    Incompatible(
        ("loss", "class_mean"),
        lambda s: s.class_mean > 0 and s.loss in ("perceptron", *_ONE_MARGIN_ONLY),
        "this rule does not start from a centre, so class means cannot pull it; use class_mean=0",
    ),
    Incompatible(
        ("loss", "metric"),
        lambda s: s.metric == "newton" and s.loss in ("arow", "perceptron", *_ONE_MARGIN_ONLY),
        "this rule defines how its metric grows; use metric='diagonal' or 'full'",
    ),
    Incompatible(
        ("loss", "metric"),
        lambda s: s.metric == "newton" and (s.loss == "hard" or inf == s.C),
        "Newton's metric grows with C, and a hard margin has none; use a loss with a finite C, or "
        "metric='diagonal'",
    ),
    Incompatible(
        ("metric", "forgetting"),
        lambda s: s.metric == "full" and s.forgetting > 0,
        "a full matrix cannot forget without losing what keeps it positive; use metric='diagonal', "
        "or forgetting=0",
    ),
    Incompatible(
        ("features", "scale"),
        lambda s: s.features in FEATURES[1:] and s.scale not in ("none", "auto"),
        "feature maps standardise the columns themselves; use scale='none', or features='linear'",
    ),
    Incompatible(
        ("features", "metric"),
        lambda s: s.features in ("bins", "both") and s.metric == "full",
        "a full matrix of thousands of cells is too large; use metric='diagonal', or "
        "features='fourier'",
    ),
    Incompatible(
        ("features", "mergeable"),
        lambda s: s.features in FEATURES[1:] and s.mergeable,
        "models learned apart have feature maps of their own, which cannot be merged; use "
        "features='linear', or mergeable=False",
    ),
    Incompatible(
        ("mergeable", "queue"),
        lambda s: s.mergeable and s.queue > 1,
        "models learned apart have no last classifiers in common, so a queue of them cannot be "
        "merged; use queue=1, or mergeable=False",
    ),
    Incompatible(
        ("mergeable", "average"),
        lambda s: s.mergeable and s.average == "reservoir",
        "a reservoir draws classifiers by how long they survived in one stream, so it cannot be "
        "merged; use average=True, or mergeable=False",
    ),
    Incompatible(
        ("loss", "queue"),
        lambda s: s.queue > 1 and s.loss in ("perceptron", *_ONE_MARGIN_ONLY),
        "this rule does not start from a centre, so no queue can be its start; use queue=1",
    ),
)


def are_compatible(s: Settings) -> bool:
    """Return whether settings can be combined."""
    return not any(row.when(s) for row in INCOMPATIBLE)


def check_settings(s: Settings, losses: Iterable[str]) -> None:
    """Raise a ValueError if settings are invalid or incompatible."""
    check_choice("loss", s.loss, losses)
    for name, axis in AXES.items():
        if name != "loss":
            axis.kind.check(name, getattr(s, name))
    for row in INCOMPATIBLE:
        if row.when(s):
            raise ValueError(f"{row.why[0].upper()}{row.why[1:]}.")
