"""A new model: the variant asked for, or the one that suits the first labels."""

from __future__ import annotations

import argparse
import contextlib
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from aggro.cli.console import listed
from aggro.cli.model import LinearModel
from aggro.cli.variant import allowed, choose, given, is_regression
from aggro.files import Reader
from aggro.files.labels import looks_continuous
from aggro.learn.beginners import is_sparse
from aggro.learn.grids import race_tables
from aggro.learn.learner import Array, rows_of
from aggro.settings import Settings, selected_axes
from aggro.variants import ESTIMATORS

CHOSEN = dict.fromkeys(("C", "metric", "scale", "average"), "auto")
UNDECIDED = {"epsilon", "fit_intercept", "intercept_scaling", "forgetting"}  # whatever is chosen
# Of wide sparse rows, such as texts, one metric is raced, which takes a quarter of the memory.
CHOSEN_OF_WIDE = {
    "classification": {"C": "auto", "metric": "newton", "scale": "auto", "average": "auto"},
    "regression": {"C": "auto", "scale": "auto", "average": "auto"},
}
WIDE = 1 << 16  # columns
MOST_MEMORY = 1 << 31  # bytes that the choice may take


def new_model(
    args: argparse.Namespace,
    algorithm: str | None,
    X: Any,
    y: Array,
    *,
    strict: bool = True,
    chooses: bool = False,
) -> LinearModel:
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
        left = left_to_choose(X, task, outputs, args.auto)
        params = {name: value for name, value in left.items() if name in axes} | params
    return LinearModel.create(variant, params, X.dtype, args.seed or 0)


def leaves_choice(args: argparse.Namespace) -> bool:
    """Tell whether nothing was said that one plain model would be wanted for."""
    plain = args.algorithm is not None or args.fast or given(args).keys() - UNDECIDED
    return bool(args.auto or not plain)


def left_to_choose(X: Any, task: str, outputs: int, insists: bool = False) -> dict[str, Any]:
    """Return the settings of a race that suits rows like these, with the memory it may use.

    Who ``insists`` lets it take more.
    """
    sparse = hasattr(X, "indptr")
    full: dict[str, Any] = CHOSEN_OF_WIDE[task] if sparse and X.shape[1] > WIDE else CHOSEN
    unfilled = X.shape[0] > 0 and is_sparse(rows_of(X), 0)
    for left in (full, {name: value for name, value in full.items() if name != "scale"}):
        tables = outputs * race_tables(Settings(task="binary", **left), unfilled)
        if insists or X.shape[1] * tables * X.dtype.itemsize <= MOST_MEMORY:
            return left
    return {}


def choice_told(settings: Settings) -> str:
    """Return what is said about the choice before learning begins."""
    names = selected_axes(settings)
    if names:
        return f"{', '.join(names)}: chosen while learning (--fast: one plain model)"
    return (
        f"one plain model: with so many features and classes the choice of its settings would take "
        f"more than {MOST_MEMORY >> 30} GiB (--auto insists)"
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
