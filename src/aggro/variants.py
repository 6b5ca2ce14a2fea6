"""Tables of the estimators and of the published variants: keywords, paper and equation of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from aggro.checks import near
from aggro.settings import AXES, CLASSIFIER_LOSSES, LOSS_OF, REGRESSOR_LOSSES

# -- the settings of each estimator; a test compares them with the constructors ---


@dataclass(frozen=True)
class EstimatorSettings:
    """The settings of an estimator.

    Parameters
    ----------
    axes : tuple
        The axes that are keywords of the estimator.
    losses : tuple
        The losses that it offers.
    regression, kernel : bool
        Whether it is a regressor; whether it is a kernel estimator.
    fixed : dict
        Settings that are not keywords.
    defaults : dict
        Defaults of its keywords that differ from those of ``Settings``.
    """

    axes: tuple[str, ...]
    losses: tuple[str, ...]
    regression: bool = False
    kernel: bool = False
    fixed: dict[str, Any] = field(default_factory=dict)
    defaults: dict[str, Any] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The keywords that are settings: the axes, and the loss if there are several."""
        chooses = len(self.losses) > 1 and "loss" not in {*self.axes, *self.fixed}
        return (*self.axes, "loss") if chooses else self.axes

    def keywords(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the settings for the given parameters, including defaults and fixed ones."""
        return {**self.fixed, **self.defaults, **given}


_ALL = ("fit_intercept", "average", "reservoir_size")
_SIZED = (*_ALL, "intercept_scaling")
_SELECTS = ("mergeable", "memory")
_PA = (*_SIZED, *_SELECTS, "C", "loss", "metric", "queue", "batch_size", "scale", "features",
       "forgetting")  # fmt: skip
_KERNEL = ("fit_intercept", "average", "C", "loss", "batch_size")
_DIAGONAL = {"intercept_scaling": "auto", "metric": "diagonal"}
_CHOSEN = {"C": "auto", "metric": "auto", "scale": "auto", "average": "auto"}

ESTIMATORS: dict[str, EstimatorSettings] = {
    "PassiveAggressiveClassifier": EstimatorSettings(
        axes=(*_PA, "multiclass", "class_mean", "trigger"),
        losses=CLASSIFIER_LOSSES,
        defaults={"intercept_scaling": "auto", "average": "auto"},
    ),
    "PassiveAggressiveRegressor": EstimatorSettings(
        axes=(*_PA, "epsilon", "relative_epsilon", "criterion"),
        losses=REGRESSOR_LOSSES,
        regression=True,
        defaults={"loss": "epsilon_insensitive", "epsilon": 0.1, "average": "auto"},
    ),
    "AutoClassifier": EstimatorSettings(
        axes=("fit_intercept", "features", *_SELECTS),
        losses=("squared_hinge",),
        fixed={**_CHOSEN, "loss": "squared_hinge", "intercept_scaling": "auto"},
        defaults={"features": "auto"},
    ),
    "AutoRegressor": EstimatorSettings(
        axes=("fit_intercept", "features", "criterion", *_SELECTS),
        losses=tuple(LOSS_OF.values()),
        regression=True,
        fixed={**_CHOSEN, "loss": "auto", "epsilon": 0.0},
        defaults={"features": "auto"},
    ),
    "Perceptron": EstimatorSettings(
        axes=(*_ALL, "multiclass", "mergeable"),
        losses=("perceptron",),
        fixed={"loss": "perceptron"},
        defaults={"multiclass": "top"},
    ),
    "AROWClassifier": EstimatorSettings(
        axes=(*_SIZED, "r", "metric", "multiclass"),
        losses=("arow",),
        fixed={"loss": "arow"},
        defaults={**_DIAGONAL, "multiclass": "ovr"},
    ),
    "AROWRegressor": EstimatorSettings(
        axes=(*_SIZED, "r", "epsilon", "metric"),
        losses=("arow",),
        regression=True,
        fixed={"loss": "arow"},
        defaults={"metric": "diagonal"},
    ),
    "ConfidenceWeightedClassifier": EstimatorSettings(
        axes=(*_SIZED, "eta", "metric"),
        losses=("cw", "cw_stdev"),
        fixed={"multiclass": "ovr"},
        defaults={**_DIAGONAL, "loss": "cw"},
    ),
    "SoftConfidenceWeightedClassifier": EstimatorSettings(
        axes=(*_SIZED, "C", "eta", "metric"),
        losses=("scw1", "scw2"),
        fixed={"multiclass": "ovr"},
        defaults={**_DIAGONAL, "loss": "scw1"},
    ),
    "KernelPassiveAggressiveClassifier": EstimatorSettings(
        axes=(*_KERNEL, "multiclass"), losses=CLASSIFIER_LOSSES, kernel=True
    ),
    "KernelPassiveAggressiveRegressor": EstimatorSettings(
        axes=(*_KERNEL, "epsilon"),
        losses=REGRESSOR_LOSSES,
        regression=True,
        kernel=True,
        defaults={"loss": "epsilon_insensitive", "epsilon": 0.1},
    ),
}


LINEAR = {name: row for name, row in ESTIMATORS.items() if not row.kernel}


def losses_of(regression: bool) -> tuple[str, ...]:
    """Return all losses of classification or of regression."""
    rows = [row.losses for row in ESTIMATORS.values() if row.regression == regression]
    return tuple(dict.fromkeys(loss for losses in rows for loss in losses))


# -- published variants ------------------------------------------------------------------------

CRAMMER = "Crammer et al., JMLR 7 (2006)"
MEANS = "Passive-Aggressive with class means (PAm)"
MAHALANOBIS = "Passive-Aggressive in a Mahalanobis metric (PAM)"
MINIBATCH = "Passive-Aggressive with mini-batches"
SUPPORT = "Passive-Aggressive with support classes (SPA)"
BUDGET = "Wang and Vucetic, AISTATS (2010)"

PA = "PassiveAggressiveClassifier"
REGRESSOR = "PassiveAggressiveRegressor"
KERNEL = "KernelPassiveAggressiveClassifier"


@dataclass(frozen=True)
class Variant:
    """A published variant: estimator, keywords, paper and equation."""

    name: str
    estimator: str
    params: dict[str, Any] = field(hash=False)
    paper: str
    rule: str

    def __post_init__(self) -> None:
        """Set ``average=False``: published rules predict with the last weights."""
        if "average" in ESTIMATORS[self.estimator].defaults:
            self.params.setdefault("average", False)

    def make(self, **params: Any) -> Any:
        """Return a new estimator of this variant; keywords override the row's."""
        import aggro

        return getattr(aggro, self.estimator)(**{**self.params, **params})


def _three(
    names: tuple[str, str, str],
    estimator: str,
    paper: str,
    rules: tuple[str, str, str],
    **params: Any,
) -> list[Variant]:
    """Return the variants of one idea with hard, linear and squared slack."""
    losses = ("hard", "epsilon_insensitive", "squared_epsilon_insensitive")
    if estimator != REGRESSOR:
        losses = ("hard", "hinge", "squared_hinge")
    return [
        Variant(name, estimator, {"loss": loss, **params}, paper, rule)
        for name, loss, rule in zip(names, losses, rules, strict=True)
    ]


_PLAIN = ("τ = l/‖x‖²", "τ = min(C, l/‖x‖²)", "τ = l/(‖x‖² + 1/2C)")
_TOP = ("τ = l/2‖x‖²", "τ = min(C, l/2‖x‖²)", "τ = l/(2‖x‖² + 1/2C)")
_SUPPORT = ("Σ[l−θ]₊ = θ", "Σ[l−θ]₊ = min(θ, C‖x‖²)", "Σ[l−θ]₊ = θ‖x‖²/(‖x‖²+1/2C)")
_MEANS = (
    "PA from (w+γm)/(1+γ)",
    "PA-I from (w+γm)/(1+γ), C/(1+γ)",
    "PA-II from (w+γm)/(1+γ), C/(1+γ)",
)
_METRIC = (
    "τ = l/x'Σx, w += τyΣx",
    "τ = min(C, l/x'Σx), w += τyΣx",
    "τ = l/(x'Σx + 1/2C), w += τyΣx",
)
_BATCH = ("max l't − ½t'At, t ≥ 0", "max l't − ½t'At, 0 ≤ t ≤ C", "max l't − ½t'(A + I/2C)t, t ≥ 0")

ROWS: tuple[Variant, ...] = (
    Variant("Perceptron", "Perceptron", {}, "Rosenblatt (1958)", "w += yx on a mistake"),
    *_three(("PA", "PA-I", "PA-II"), PA, CRAMMER, _PLAIN, multiclass="top"),
    Variant(
        "PALS",
        PA,
        {"loss": "least_squares", "multiclass": "ovr"},
        MINIBATCH,
        "τ = (1−yf)/(‖x‖² + 1/2C)",
    ),
    *_three(("PAR", "PAR-I", "PAR-II"), REGRESSOR, CRAMMER, _PLAIN),
    *_three(("MPA", "MPA-I", "MPA-II"), PA, CRAMMER, _TOP, multiclass="top"),
    *_three(("SPA", "SPA-I", "SPA-II"), PA, SUPPORT, _SUPPORT, multiclass="support"),
    *_three(("PAm", "PAm-1", "PAm-2"), PA, MEANS, _MEANS, class_mean=0.1),
    *_three(("PAmW", "PAmW-1", "PAmW-2"), PA, MEANS, _MEANS, class_mean=0.1, queue=5),
    *_three(("PAM", "PAM-I", "PAM-II"), PA, MAHALANOBIS, _METRIC, metric="full", multiclass="ovr"),
    *_three(
        ("PAM-diag", "PAM-I-diag", "PAM-II-diag"),
        PA,
        MAHALANOBIS,
        _METRIC,
        metric="diagonal",
        multiclass="ovr",
    ),
    *_three(("BPA", "BPAI", "BPAII"), PA, MINIBATCH, _BATCH, batch_size=8),
    Variant(
        "BPALS",
        PA,
        {"loss": "least_squares", "multiclass": "ovr", "batch_size": 8},
        MINIBATCH,
        "t = (A + I/2C)⁻¹ l",
    ),
    *_three(
        ("KPA", "KPA-I", "KPA-II"),
        KERNEL,
        MINIBATCH,
        ("τ = l/k(x,x)", "τ = min(C, l/k(x,x))", "τ = l/(k(x,x) + 1/2C)"),
    ),
    *_three(("KBPA", "KBPAI", "KBPAII"), KERNEL, MINIBATCH, _BATCH, batch_size=8),
    Variant(
        "KBPALS",
        KERNEL,
        {"loss": "least_squares", "multiclass": "ovr", "batch_size": 8},
        MINIBATCH,
        "t = (A + I/2C)⁻¹ l",
    ),
    Variant(
        "BPA-S",
        KERNEL,
        {"budget": 100, "budget_strategy": "simple"},
        BUDGET,
        "removed vector projected on x_t",
    ),
    Variant(
        "BPA-NN",
        KERNEL,
        {"budget": 100, "budget_strategy": "nearest"},
        BUDGET,
        "… on x_t and the removed vector’s nearest neighbour",
    ),
    Variant(
        "BPA-P",
        KERNEL,
        {"budget": 100, "budget_strategy": "projection"},
        BUDGET,
        "… on all that remain",
    ),
    Variant(
        "AROW",
        "AROWClassifier",
        {},
        "Crammer, Kulesza, Dredze (2009)",
        "τ = l/(x'Σx + r), Σ⁻¹ += xx'/r",
    ),
    Variant(
        "AROWR", "AROWRegressor", {}, "Vaits, Crammer (2011)", "τ = l/(x'Σx + r), Σ⁻¹ += xx'/r"
    ),
    Variant(
        "CW",
        "ConfidenceWeightedClassifier",
        {"loss": "cw"},
        "Dredze, Crammer, Pereira (2008)",
        "yf ≥ φ x'Σx",
    ),
    Variant(
        "CW-stdev",
        "ConfidenceWeightedClassifier",
        {"loss": "cw_stdev"},
        "Crammer, Dredze, Pereira (2008)",
        "yf ≥ φ √(x'Σx)",
    ),
    Variant(
        "SCW-I",
        "SoftConfidenceWeightedClassifier",
        {"loss": "scw1"},
        "Wang, Zhao, Hoi (2012)",
        "yf ≥ φ √(x'Σx) − ξ, penalty Cξ",
    ),
    Variant(
        "SCW-II",
        "SoftConfidenceWeightedClassifier",
        {"loss": "scw2"},
        "Wang, Zhao, Hoi (2012)",
        "yf ≥ φ √(x'Σx) − ξ, penalty Cξ²",
    ),
)


def catalogue() -> list[Variant]:
    """Return every published variant, one row each.

    >>> import aggro
    >>> [row.name for row in aggro.catalogue()][:3]
    ['Perceptron', 'PA', 'PA-I']
    """
    return list(ROWS)


# The default variant for classification and regression: a single model, or a model selection.
PLAIN = {False: "SPA-I", True: "PAR-I"}
SELECTED = {False: "SPA-II", True: "PAR-I"}
SQUARED = "PAR-II"  # the same for the squared errors of a regression


def from_name(name: str, **params: Any) -> Any:
    """Return a new estimator of a published variant; keywords override the row's.

    >>> import aggro
    >>> aggro.from_name("spa-ii", C=0.1).loss
    'squared_hinge'
    """
    return find(name).make(**params)


def _squeeze(name: str) -> str:
    return "".join(letter for letter in str(name) if letter not in "-_ ")


def find(name: str) -> Variant:
    """Return the row of this name. Case and hyphens do not matter, except that PAm is not PAM."""
    key = _squeeze(name)
    exact = [row for row in ROWS if _squeeze(row.name) == key]
    if exact:
        return exact[0]
    rows = [row for row in ROWS if _squeeze(row.name).lower() == key.lower()]
    if len(rows) == 1 and not _mixes_families(key, rows[0]):
        return rows[0]
    if rows:
        both = sorted({row.name for row in rows} | {"PAm", "PAM"})
        raise ValueError(
            f"{name!r} is ambiguous: PAm… (class means) and PAM… (Mahalanobis metric) differ in "
            f"the case of one letter. Write it as one of {', '.join(both)}."
        )
    hint = near(name, [row.name for row in ROWS]) or near(key.upper(), [row.name for row in ROWS])
    raise ValueError(f"There is no variant {name!r}.{hint} aggro.catalogue() lists them all.")


def _mixes_families(key: str, row: Variant) -> bool:
    """Return whether a name and a row differ in m and M (PAm, PAM)."""
    return key[:2] == "PA" and key[2:3] in ("m", "M") and key[2:3] != row.name[2:3]


def keywords_of(algorithm: str, regression: bool, params: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a linear variant; ``params`` override the row's."""
    row = find(algorithm)
    kind = LINEAR.get(row.estimator)
    if kind is None or kind.regression != regression:
        task = "regression" if regression else "classification"
        raise ValueError(
            f"{row.name!r} is not a linear variant of {task}, but of aggro.{row.estimator}."
        )
    for name in params:
        if name not in AXES:
            raise TypeError(f"{name!r} is not a setting.{near(name, AXES)}")
    return {**kind.keywords(row.params), **params}
