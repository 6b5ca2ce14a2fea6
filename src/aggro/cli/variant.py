"""From --algorithm and its options to a variant and its parameters."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from aggro.cli.options import options
from aggro.variants import ESTIMATORS, PLAIN, SELECTED, Variant, find


def given(args: Namespace) -> dict[str, Any]:
    """Return the settings that were given on the command line."""
    params = {name: getattr(args, name) for name in options()}
    params = {name: value for name, value in params.items() if value is not None}
    if args.no_intercept:
        params["fit_intercept"] = False
    if getattr(args, "mergeable", False):
        params["mergeable"] = True
    return params


def is_regression(variant: Variant) -> bool:
    """Tell whether a variant predicts numbers."""
    return ESTIMATORS[variant.estimator].regression


def choose(algorithm: str | None, task: str, looks_like: str, races: bool = False) -> Variant:
    """Return the variant for a task; without a name, the default of the task, or of its races."""
    if task == "auto":
        named = None if algorithm is None else find(algorithm)
        task = looks_like if named is None else _task_of(named)
    plain = (SELECTED if races else PLAIN)[task == "regression"]
    variant = find(algorithm or plain)
    if _task_of(variant) != task:
        raise ValueError(f"{variant.name} is for {_task_of(variant)}; for {task} use e.g. {plain}.")
    return variant


def _task_of(variant: Variant) -> str:
    return "regression" if is_regression(variant) else "classification"


def allowed(variant: Variant, params: dict[str, Any], *, strict: bool = True) -> dict[str, Any]:
    """Return the parameters that a variant has; one that it has not is an error if ``strict``."""
    if ESTIMATORS[variant.estimator].kernel:
        raise ValueError(
            f"{variant.name} learns in a kernel's space, which the command line cannot do yet; use "
            f"aggro.{variant.estimator} in Python."
        )
    choices = set(ESTIMATORS[variant.estimator].axes)
    strange = sorted(params.keys() - choices)
    if strange and strict:
        listed = ", ".join(
            f"--{name.replace('_', '-')}" for name in sorted(choices & options().keys())
        )
        raise ValueError(
            f"{variant.name} has no --{strange[0].replace('_', '-')}; its options are {listed}."
        )
    return {name: value for name, value in params.items() if name in choices}


def chosen(choice: dict[str, Any]) -> str:
    """Return what a race has chosen, as text."""
    return ", ".join(
        f"{name}={value:g}" if name == "C" else f"{name}={value}" for name, value in choice.items()
    )
