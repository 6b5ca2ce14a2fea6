"""A new model: the variant asked for, or the one that suits the first labels."""

from __future__ import annotations

import argparse
import contextlib
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from aggro.cli.console import listed
from aggro.cli.model import Model
from aggro.cli.variant import allowed, choose, given, is_regression
from aggro.io import Reader
from aggro.io.batch import looks_continuous
from aggro.learner import Array, rows_of
from aggro.selection.grids import places_of
from aggro.selection.memory import affordable, by_importance
from aggro.selection.start import is_sparse
from aggro.settings import Settings, selected_axes
from aggro.variants import ESTIMATORS

CHOSEN = dict.fromkeys(("C", "metric", "scale", "average"), "auto")
UNDECIDED = {
    "epsilon",
    "fit_intercept",
    "intercept_scaling",
    "forgetting",
    "memory",
}  # whatever is chosen
# Of wide sparse rows, such as texts, one metric is selected from, which takes less memory.
CHOSEN_OF_WIDE = {
    "classification": {"C": "auto", "metric": "newton", "scale": "auto", "average": "auto"},
    "regression": {"C": "auto", "scale": "auto", "average": "auto"},
}
WIDE = 1 << 16  # columns


def new_model(
    args: argparse.Namespace,
    algorithm: str | None,
    X: Any,
    y: Array,
    *,
    strict: bool = True,
    chooses: bool = False,
) -> Model:
    """Return a new model of the variant asked for, or of the one that suits the first labels.

    ``chooses``: what was not asked for is left to be chosen while learning.
    """
    found = "regression" if looks_continuous(y) else "classification"
    variant = choose(algorithm, args.task, found, chooses)
    if args.task == "auto" and found == "regression" and not is_regression(variant):
        raise ValueError(
            f"{variant.name} tells classes apart, but the labels are numbers such as {y[0]:g}; "
            "use --task regression without --algorithm, or --task classification to insist."
        )
    params = allowed(variant, given(args), strict=strict)
    if chooses:
        task = "regression" if is_regression(variant) else "classification"
        outputs = 1 if task == "regression" else len(np.unique(y))
        axes = ESTIMATORS[variant.estimator].axes
        left = {} if is_too_large(X, task, outputs, args) else left_to_choose(X, task)
        params = {name: value for name, value in left.items() if name in axes} | params
    estimator = variant.make(**params, random_state=args.seed or 0)
    estimator._checked_settings("regression" if is_regression(variant) else "multiclass")
    return Model(estimator, X.dtype, variant.name)


def leaves_choice(args: argparse.Namespace) -> bool:
    """Tell whether nothing was said that one plain model would be wanted for."""
    plain = args.algorithm is not None or args.fast or given(args).keys() - UNDECIDED
    return bool(args.auto or not plain)


def left_to_choose(X: Any, task: str) -> dict[str, Any]:
    """Return the settings that are selected for rows like these."""
    sparse = hasattr(X, "indptr")
    left: dict[str, Any] = CHOSEN_OF_WIDE[task] if sparse and X.shape[1] > WIDE else CHOSEN
    return left


def is_too_large(X: Any, task: str, outputs: int, args: argparse.Namespace) -> bool:
    """Return whether the memory limit leaves nothing to select from; ``--auto`` insists."""
    left = left_to_choose(X, task)
    settings = Settings(task="binary", **{**left, "memory": args.memory})
    pairs = places_of(settings, X.shape[0] > 0 and is_sparse(rows_of(X), 0))
    places = [replace(settings, metric=metric, scale=scale) for metric, scale in pairs]
    shape = (X.shape[1], 1 if outputs == 2 else outputs, X.dtype.itemsize)
    _, values = affordable(by_importance(places), *shape)
    return values == 1 and not args.auto


def choice_told(settings: Settings) -> str:
    """Return what is said about the choice before learning begins."""
    names = selected_axes(settings)
    if names:
        return f"{', '.join(names)}: chosen while learning (--fast: one plain model)"
    return (
        "one plain model: with so many features and classes the memory limit leaves no choice of "
        "its settings (--memory raises it, --auto insists)"
    )


@contextlib.contextmanager
def naming_examples(reader: Reader, before: int, X: Any) -> Iterator[None]:
    """Say which example of X it is that a learner refuses; ``before`` came already."""
    try:
        yield
    except MemoryError as error:
        if not hasattr(X, "indptr") or "features needs" not in str(error):
            raise
        last = int(X.indices.argmax())  # the feature that would need so many weights
        row = int(np.searchsorted(X.indptr, last, side="right"))
        place = f"{listed(reader.files)}, example {before + row}"
        raise MemoryError(f"{place}: feature {X.indices[last]}: {error}") from error
    except ValueError as error:
        refused = re.fullmatch(r"row (\d+): (.*)", str(error), re.DOTALL)
        if refused is None:
            raise
        place = f"{listed(reader.files)}, example {before + int(refused[1]) + 1}"
        raise ValueError(f"{place}: {refused[2]}") from error


def no_labels(reader: Reader) -> ValueError:
    """Return the error of data without labels."""
    return ValueError(f"{listed(reader.files)}: no labels; name their column with --label.")


def no_examples(reader: Reader, skipped: int = 0) -> ValueError:
    """Return the error of data without rows."""
    after = f" after the first {skipped:,}" if skipped else ""
    return ValueError(f"{listed(reader.files)}: there were no examples to learn from{after}.")
