"""A new model: the variant asked for, or the one that suits the first labels."""

from __future__ import annotations

import argparse
from typing import Any

from aggro.cli.model import LinearModel
from aggro.cli.variant import allowed, choose, given, is_regression
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
    return LinearModel.create(variant, params, X.dtype, args.seed)
