"""From --algorithm and its options to the settings of a learner, without scikit-learn."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from aggro.cli.options import AXES
from aggro.rules import Settings
from aggro.stream_settings import keywords_of, settings_of
from aggro.variants import Variant, find

SHARED = {"fit_intercept", "average", "reservoir_size"}
# What can be set on each estimator; the others' keywords it does not have.
CHOICES: dict[str, set[str]] = {
    "PassiveAggressiveClassifier": SHARED
    | {"C", "loss", "multiclass", "metric", "class_mean", "trigger", "queue", "batch_size"}
    | {"scale", "forgetting"},
    "PassiveAggressiveRegressor": SHARED
    | {"C", "loss", "epsilon", "metric", "queue", "batch_size", "scale", "forgetting"},
    "Perceptron": SHARED | {"multiclass"},
    "AROWClassifier": SHARED | {"r", "metric", "multiclass"},
    "AROWRegressor": SHARED | {"r", "epsilon", "metric"},
    "ConfidenceWeightedClassifier": SHARED | {"eta", "metric"},
    "SoftConfidenceWeightedClassifier": SHARED | {"C", "eta", "metric"},
}
DEFAULTS = {"classification": "SPA-I", "regression": "PAR-I"}


def given(args: Namespace) -> dict[str, Any]:
    """Return the settings that were given on the command line."""
    params = {name: getattr(args, name) for name in ("C", "average", *AXES)}
    params = {name: value for name, value in params.items() if value is not None}
    if args.no_intercept:
        params["fit_intercept"] = False
    return params


def is_regression(variant: Variant) -> bool:
    """Tell whether a variant predicts numbers."""
    return variant.estimator.endswith("Regressor")


def choose(algorithm: str | None, task: str, looks_like: str) -> Variant:
    """Return the variant for a task; without a name, the default of the task."""
    if task == "auto":
        named = None if algorithm is None else find(algorithm)
        task = looks_like if named is None else _task_of(named)
    variant = find(algorithm or DEFAULTS[task])
    if _task_of(variant) != task:
        other = DEFAULTS[task]
        raise ValueError(f"{variant.name} is for {_task_of(variant)}; for {task} use e.g. {other}.")
    return variant


def _task_of(variant: Variant) -> str:
    return "regression" if is_regression(variant) else "classification"


def allowed(variant: Variant, params: dict[str, Any], *, strict: bool = True) -> dict[str, Any]:
    """Return the parameters that a variant has; one that it has not is an error if ``strict``."""
    if variant.estimator not in CHOICES:
        raise ValueError(
            f"{variant.name} learns in a kernel's space, which the command line cannot do yet; use "
            f"aggro.{variant.estimator} in Python."
        )
    choices = CHOICES[variant.estimator]
    strange = sorted(params.keys() - choices)
    if strange and strict:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in sorted(choices - SHARED))
        raise ValueError(
            f"{variant.name} has no --{strange[0].replace('_', '-')}; its options are {options}."
        )
    return {name: value for name, value in params.items() if name in choices}


def chosen(choice: dict[str, Any]) -> str:
    """Return what a race has chosen, as text."""
    return ", ".join(
        f"{name}={value:g}" if name == "C" else f"{name}={value}" for name, value in choice.items()
    )


def settings_for(variant: Variant, params: dict[str, Any]) -> Settings:
    """Return the checked settings of a variant."""
    regression = is_regression(variant)
    return settings_of(keywords_of(variant.name, regression, params), regression, classes=3)
