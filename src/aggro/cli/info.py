"""``aggro info``: show what a model is and what it has learned."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import aggro
from aggro.cli.feature_names import FeatureNames
from aggro.cli.metrics import label_text
from aggro.cli.model import Model, load_model
from aggro.cli.options import new_parser
from aggro.cli.reading import Reading
from aggro.cli.values import at_least
from aggro.cli.variant import chosen
from aggro.learner import Array, Learner
from aggro.persistence.record import TEXTS, Record, read_record
from aggro.selection.selection import ModelSelection

EXAMPLES = """
aggro info model.aggro
aggro info model.aggro --top 20
"""
FEW_CLASSES = 20


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = new_parser("info", "Show what a model is and what it has learned.", EXAMPLES)
    parser.add_argument("model", help="a model file")
    parser.add_argument(
        "--top", type=at_least(0), default=5, help="strongest features to show (default 5)"
    )
    return parser


def run(args: argparse.Namespace) -> int:
    """Print what a model is."""
    record = read_record(args.model)
    learner = record.attributes.get("_learner")
    size = Path(args.model).stat().st_size
    print(f"{args.model}: {record.name}, {size:,} bytes")
    for name, value in facts(record, learner):
        print(f"{name:<12}{value}")
    if record.name in TEXTS and learner is not None and args.top > 0:
        for line in strongest_words(args.model, args.top):
            print(line)
    elif isinstance(learner, (Learner, ModelSelection)) and args.top > 0:
        model, reading = load_model(args.model)
        for line in strongest(model, reading, args.top):
            print(line)
    return 0


def facts(record: Record, learner: Any) -> list[tuple[str, str]]:
    """Return what is known about a model, by name."""
    defaults: dict[str, Any] = getattr(getattr(aggro, record.name, None), "_defaults", dict)()
    given = {k: v for k, v in record.params.items() if v is not None and v != defaults.get(k)}
    found = [("parameters", ", ".join(f"{k}={v!r}" for k, v in given.items()))]
    origin = record.attributes.get("_origin", {})
    if "variant" in origin:
        found.insert(0, ("algorithm", origin["variant"]))
    if "classes_" in record.attributes:
        found.append(("classes", _listed(record.attributes["classes_"])))
    choice = learner.choice if isinstance(learner, ModelSelection) else origin.get("settled")
    if choice and record.name not in TEXTS:
        found.append(("chosen", chosen(choice)))
    if isinstance(learner, (Learner, ModelSelection)):
        progress = learner.progress
        found += [
            ("features", f"{learner.features:,}"),
            ("outputs", f"{learner.outputs:,}"),
            ("examples", f"{learner.examples:,}"),
            ("mistakes", f"{progress.mistakes:,}"),
            ("updates", f"{progress.updates:,}"),
        ]
    if record.name in TEXTS and learner is not None:
        found += [
            ("chosen", chosen({**origin.get("settled", {}), **learner.choice})),
            ("words", f"{learner.encoder.features(learner.leader.which):,}"),
            ("examples", f"{learner.examples:,}"),
            ("mistakes", f"{learner.mistakes:,.0f}"),
        ]
    columns = [f"label {origin['label']}"] if origin.get("label") else []
    columns += [f"text {name}" for name in origin.get("text", ())]
    return [*found, ("columns", ", ".join(columns))] if columns else found


def _listed(classes: Array) -> str:
    shown = ", ".join(label_text(label) for label in classes[:FEW_CLASSES].tolist())
    more = ", ..." if len(classes) > FEW_CLASSES else ""
    return f"{len(classes)}: {shown}{more}"


def strongest_words(path: str, top: int) -> list[str]:
    """Return a line for each class with the words that speak most for it."""
    estimator = load_model(path)[0].estimator
    classes = getattr(estimator, "classes_", np.array([None])).tolist()
    lines = ["strongest words"]
    for label in classes[:FEW_CLASSES]:
        words = ", ".join(
            f"{word} {weight:+.3g}" for word, weight in estimator.top_words(label, top)
        )
        lines.append(f"  {'target' if label is None else label_text(label)}: {words or 'none'}")
    return lines


def strongest(model: Model, reading: Reading, top: int) -> list[str]:
    """Return a line for each output with the features that speak most for it."""
    coef = np.atleast_2d(model.estimator.coef_)
    if model.regression:
        heads = ["target"]
    elif len(model.classes) == 2:
        heads = [label_text(model.classes[1])]
    else:
        heads = [label_text(label) for label in model.classes.tolist()]
    named_by = FeatureNames(reading, model.features, model.names)
    lines = ["strongest features"]
    for head, weights in list(zip(heads, coef, strict=True))[:FEW_CLASSES]:
        best = np.argsort(-np.abs(weights), kind="stable")[:top]
        named = (f"{named_by[int(j)]} {weights[j]:+.4g}" for j in best if weights[j])
        lines.append(f"  {head}: {', '.join(named) or 'none'}")
    return lines
