"""Going on with a saved model: what it was made with stands, and nothing is silently ignored."""

from __future__ import annotations

import argparse
import dataclasses
from typing import Any

import numpy as np

from aggro.cli.model import LinearModel
from aggro.cli.reading import Reading
from aggro.cli.variant import given
from aggro.variants import find

# How these rows are written down; the rest says what the columns of the model mean.
MAY_CHANGE = ("format", "weight", "missing_zero")


def resume(args: argparse.Namespace) -> tuple[LinearModel, Reading]:
    """Return the saved model and how its data are read; options that contradict it are errors."""
    model, kept = LinearModel.load(args.resume)
    asked = _reading(args)
    if "_origin" in model.record.attributes:  # a model made in Python says nothing about files
        for name in asked.keys() - set(MAY_CHANGE):
            was = _known(kept, name)
            if (name, was) != ("labels", "auto"):
                _compare(args.resume, OPTIONS.get(name, name), was, asked[name])
    _check_variant(args, model)
    if args.task != "auto":
        task = "regression" if model.regression else "classification"
        _compare(args.resume, "task", task, args.task)
    if args.seed is not None:
        _compare(args.resume, "seed", model.record.params.get("random_state"), args.seed)
    if args.float32:
        _compare(args.resume, "float32", model.dtype == np.float32, True)
    model.go_on_with(given(args))
    if args.skip == 0 and model.learner is not None:
        model.learner.freeze_means(False)  # new rows, even if an interrupt came in a later pass
    return model, dataclasses.replace(kept, **asked)


# Fields of a reading whose options have other names.
OPTIONS = {"header": "no_header"}


def _reading(args: argparse.Namespace) -> dict[str, Any]:
    """Return what the command line says about reading, and only that."""
    told, silent = Reading.from_arguments(args), Reading()
    names = [field.name for field in dataclasses.fields(Reading)]
    found = {n: getattr(told, n) for n in names if getattr(told, n) != getattr(silent, n)}
    return found | ({} if args.hash_bits is None else {"hash_bits": args.hash_bits})


def _known(kept: Reading, name: str) -> Any:
    """Return what a model knows about reading; all columns of a table, where none were named."""
    if name == "features" and kept.features is None and kept.columns is not None:
        return tuple(column for column in kept.columns if column not in kept.text)
    return getattr(kept, name)


def _check_variant(args: argparse.Namespace, model: LinearModel) -> None:
    if args.algorithm is None:
        return
    variant, record = find(args.algorithm), model.record
    same = variant.name == model.title or (
        variant.estimator == record.name
        and all(record.params.get(name) == value for name, value in variant.params.items())
    )
    if not same:
        _compare(args.resume, "algorithm", model.title, variant.name)


def _compare(path: str, name: str, was: Any, asked: Any) -> None:
    if was != asked:
        option = f"--{name.replace('_', '-')}"
        raise ValueError(
            f"{path} was made {_shown(option, was)}, which cannot change to "
            f"{_plain(asked)}; leave {option} out, or train a new model without --resume."
        )


def _shown(option: str, value: Any) -> str:
    if value is None or value == () or isinstance(value, bool):
        return f"without {option}"
    return f"with {option} {_plain(value)}"


def _plain(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
