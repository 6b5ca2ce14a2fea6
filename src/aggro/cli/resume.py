"""Going on with a saved model: what it was made with stands, and nothing is silently ignored."""

from __future__ import annotations

import argparse
import dataclasses
from typing import Any

import numpy as np

from aggro.cli.model import Model, load_model
from aggro.cli.reading import Reading
from aggro.cli.texts import resume_texts
from aggro.cli.variant import given
from aggro.variants import LINEAR, find

# How these rows are written down; the rest says what the columns of the model mean.
MAY_CHANGE = ("format", "weight", "missing_zero")
PRICES = ("C", "epsilon", "r", "eta")  # settings that may change


def resume(args: argparse.Namespace) -> tuple[Model, Reading]:
    """Return the saved model and how its data are read; options that contradict it are errors."""
    model, kept = load_model(args.resume)
    if model.raw:
        return model, resume_texts(args, model, kept)
    asked = _reading(args)
    if hasattr(model.estimator, "_origin"):  # a model made in Python says nothing about files
        for name in asked.keys() - set(MAY_CHANGE):
            was = _known(kept, name)
            if (name, was) != ("labels", "auto"):
                _compare(args.resume, OPTIONS.get(name, name), was, asked[name])
    _check_variant(args, model)
    if args.task != "auto":
        task = "regression" if model.regression else "classification"
        _compare(args.resume, "task", task, args.task)
    if args.seed is not None:
        _compare(args.resume, "seed", model.estimator.random_state, args.seed)
    if args.float32:
        _compare(args.resume, "float32", model.dtype == np.float32, True)
    change(model, given(args))
    if args.skip == 0:
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


def _check_variant(args: argparse.Namespace, model: Model) -> None:
    if args.algorithm is None:
        return
    variant = find(args.algorithm)
    same = variant.name == model.title or (
        variant.estimator == model.name
        and all(getattr(model.estimator, name) == value for name, value in variant.params.items())
    )
    if not same:
        _compare(args.resume, "algorithm", model.title, variant.name)


def change(model: Model, params: dict[str, Any]) -> None:
    """Change parameters for the rows to come; raise if one belongs to what was learned."""
    params = {name: value for name, value in params.items() if not _has(model, name, value)}
    fixed = sorted(params.keys() - set(PRICES))
    if fixed:
        option = fixed[0].replace("fit_", "no_").replace("_", "-")
        raise ValueError(f"--{option} is part of the model and cannot change with --resume.")
    strange = sorted(params.keys() - set(LINEAR[model.name].axes))
    if strange:
        raise ValueError(f"{model.title} has no --{strange[0].replace('_', '-')}.")
    known = model.settings
    if "C" in params and "auto" in (params["C"], known.C):
        raise ValueError(
            f"{model.title} learns with --C {known.C}, which cannot change to {params['C']} with "
            "--resume; leave --C out, or train a new model."
        )
    model.estimator.set_params(**params)._reconfigure(known.task)


def _has(model: Model, name: str, value: Any) -> bool:
    """Return whether a setting is that of the model, or was selected from "auto" for it."""
    same = getattr(model.settings, name) == value
    return same or (value == "auto" and name in model.settled)


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
