"""Models of texts: the options they have, and which of them may change later."""

from __future__ import annotations

import dataclasses
from argparse import Namespace
from typing import Any

from aggro.cli.model import Model
from aggro.cli.reading import Reading
from aggro.cli.variant import given
from aggro.io.batch import RawRows, looks_continuous
from aggro.io.sources import expand, format_of
from aggro.learner import Array
from aggro.text.classifier import TextClassifier
from aggro.text.regressor import TextRegressor

LEARNING = (
    *("C", "metric", "average", "multiclass", "forgetting", "epsilon", "mergeable", "memory"),
)
READS = ("csv", "tsv", "parquet", "arrow", "jsonl")  # which have columns


def wants_words(args: Namespace) -> bool:
    """Tell whether texts are to be learned as texts, rather than as counts of words.

    A variant that is named learns counts, as its paper says.
    """
    if not args.text or args.text_defaults == "counts" or args.algorithm is not None:
        options = [name for name in ("ngrams", "chars", "idf", "stop_words") if getattr(args, name)]
        if options:
            raise ValueError(
                f"--{options[0].replace('_', '-')} is for texts that are learned as texts: give "
                "--text COLUMN, and neither --algorithm nor --text-defaults counts."
            )
        return False
    return all((args.format or format_of(path)) in READS for path in expand(args.data))


def parameters(args: Namespace) -> dict[str, Any]:
    """Return what the command line says about texts and learning."""
    params = given(args)
    strange = sorted(params.keys() - set(LEARNING))
    if strange:
        option = strange[0].replace("fit_intercept", "no_intercept").replace("_", "-")
        raise ValueError(
            f"--{option} is no setting of models of texts; add --text-defaults counts, or an "
            "--algorithm, to learn counts of words with it."
        )
    if args.ngrams and args.chars:
        raise ValueError("--ngrams is for words and --chars for characters; give one of them.")
    if args.ngrams:
        params["ngram_range"] = args.ngrams
    if args.chars:
        params |= {"analyzer": "char_wb", "ngram_range": args.chars}
    if args.idf:
        params["idf"] = {"yes": True, "no": False, "auto": "auto"}[args.idf]
    if args.stop_words:
        params["stop_words"] = _stop_words(args.stop_words)
    if args.hash_bits is not None:
        params["n_features"] = 2**args.hash_bits
    return {**params, "random_state": args.seed or 0}


def _stop_words(given: str) -> Any:
    if given == "english":
        return given
    from pathlib import Path

    return sorted(set(Path(given).read_text(encoding="utf-8").split()))


def new_text_model(args: Namespace, X: RawRows, y: Array) -> Model:
    """Return a model that has learned nothing yet, of the kind that suits the first labels."""
    regression = args.task == "regression" or (args.task == "auto" and looks_continuous(y))
    params = parameters(args)
    if regression:
        params.pop("multiclass", None)
    elif "epsilon" in params:
        raise ValueError("--epsilon is for regression; these labels are classes.")
    columns = {
        **dict.fromkeys(X.texts, "text"),
        **dict.fromkeys(X.categories, "category"),
        **dict.fromkeys(X.names, "number"),
    }
    params["columns"] = None if list(columns.values()) == ["text"] else columns
    estimator = (TextRegressor if regression else TextClassifier)(**params)
    estimator._new_learner(2)  # raises if a parameter is invalid
    return Model(estimator)


def resume_texts(args: Namespace, model: Model, kept: Reading) -> Reading:
    """Return how the data of a saved model of texts are read; nothing of it can change."""
    named = ("ngrams", "chars", "idf", "stop_words", "text_defaults", "algorithm", "hash_bits")
    asked = [name for name in named if getattr(args, name)] + sorted(given(args))
    asked += ["text"] if args.text and tuple(args.text) != tuple(kept.text) else []
    asked += ["label"] if args.label and args.label != kept.label else []
    asked += ["categorical"] if tuple(args.categorical or ()) != tuple(kept.categorical) else []
    if asked:
        option = asked[0].replace("fit_intercept", "no_intercept").replace("_", "-")
        raise ValueError(
            f"--{option} is part of the model of {args.resume} and cannot change with --resume; "
            "leave it out, or train a new model."
        )
    task = "regression" if model.regression else "classification"
    if args.task not in ("auto", task):
        raise ValueError(f"{args.resume} is for {task}; leave --task out, or train a new model.")
    return dataclasses.replace(
        kept,
        format=args.format or kept.format,
        weight=args.weight or kept.weight,
        missing_zero=args.missing_zero or kept.missing_zero,
    )
