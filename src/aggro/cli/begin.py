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
from aggro.learner import Array


def new_model(
    args: argparse.Namespace, algorithm: str | None, X: Any, y: Array, *, strict: bool = True
) -> LinearModel:
    """Return a new model of the variant asked for, or of the one that suits the first labels."""
    found = "regression" if looks_continuous(y) else "classification"
    variant = choose(algorithm, args.task, found)
    if args.task == "auto" and found == "regression" and not is_regression(variant):
        raise ValueError(
            f"{variant.name} tells classes apart, but the labels are numbers such as {y[0]:g}; "
            "use --task regression without --algorithm, or --task classification to insist."
        )
    params = allowed(variant, given(args), strict=strict)
    return LinearModel.create(variant, params, X.dtype, args.seed or 0)


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
