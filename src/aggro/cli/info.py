"""``aggro info``: describe a model file."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import aggro
from aggro.cli.model import Model, load_model, shown_params
from aggro.cli.options import at_least, new_parser
from aggro.cli.output import label_text
from aggro.cli.reading import FeatureNames, Reading
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
    parser = new_parser("info", "Describe a model and what it has learned.", EXAMPLES)
    parser.add_argument("model", help="a model file")
    parser.add_argument(
        "--top", type=at_least(0), default=5, help="strongest features to show (default 5)"
    )
    return parser


def run(args: argparse.Namespace) -> int:
    """Print the description."""
    record = read_record(args.model)
    learner = record.attributes.get("_learner")
    size = Path(args.model).stat().st_size
    print(f"{args.model}: {record.name}, {size:,} bytes")
    for name, value in facts(record, learner):
        print(f"{name:<12}{value}")
    if args.top == 0 or learner is None:
        return 0
    if record.name in TEXTS:
        print("\n".join(strongest_words(load_model(args.model)[0], args.top)))
    elif isinstance(learner, (Learner, ModelSelection)):
        print("\n".join(strongest_features(*load_model(args.model), args.top)))
    return 0


def facts(record: Record, learner: Any) -> Iterator[tuple[str, str]]:
    """Yield the facts about a model, each with its name."""
    origin = record.attributes.get("_origin", {})
    selected = origin.get("selected", {})
    if "variant" in origin:
        yield "algorithm", origin["variant"]
    defaults: dict[str, Any] = getattr(getattr(aggro, record.name, None), "_defaults", dict)()
    given = {k: v for k, v in record.params.items() if v is not None and v != defaults.get(k)}
    yield "parameters", ", ".join(f"{k}={v!r}" for k, v in given.items())
    if "classes_" in record.attributes:
        yield "classes", _listed(record.attributes["classes_"])
    if isinstance(learner, (Learner, ModelSelection)):
        if isinstance(learner, ModelSelection):
            selected = learner.choice
        if selected:
            yield "selected", shown_params(selected)
        progress = learner.progress
        yield "features", f"{learner.features:,}"
        yield "outputs", f"{learner.outputs:,}"
        yield "examples", f"{learner.examples:,}"
        yield "mistakes", f"{progress.mistakes:,}"
        yield "updates", f"{progress.updates:,}"
    if record.name in TEXTS and learner is not None:
        yield "selected", shown_params({**selected, **learner.best_params})
        yield "words", f"{learner.features:,}"
        yield "examples", f"{learner.examples:,}"
        yield "mistakes", f"{learner.selection.mistakes:,.0f}"
    columns = [f"label {origin['label']}"] if origin.get("label") else []
    columns += [f"text {name}" for name in origin.get("text", ())]
    if columns:
        yield "columns", ", ".join(columns)


def _listed(classes: Array) -> str:
    shown = ", ".join(label_text(label) for label in classes[:FEW_CLASSES].tolist())
    more = ", ..." if len(classes) > FEW_CLASSES else ""
    return f"{len(classes)}: {shown}{more}"


def strongest_words(model: Model, top: int) -> list[str]:
    """Return a line for each class with the words of the largest weights."""
    classes = [None] if model.regression else model.classes.tolist()
    lines = ["strongest words"]
    for label in classes[:FEW_CLASSES]:
        pairs = model.estimator.top_words(label, top)
        words = ", ".join(f"{word} {weight:+.3g}" for word, weight in pairs)
        lines.append(f"  {'target' if label is None else label_text(label)}: {words or 'none'}")
    return lines


def strongest_features(model: Model, reading: Reading, top: int) -> list[str]:
    """Return a line for each output with the features of the largest weights."""
    if not hasattr(model.estimator, "coef_"):
        return ["strongest features", "  no weights of columns: aggro explain shows those of a row"]
    coef = np.atleast_2d(model.estimator.coef_)
    outputs = ["target"] if model.regression else list(map(label_text, model.classes.tolist()))
    if len(outputs) == 2:
        outputs = outputs[1:]
    names = FeatureNames(reading, model.features, model.names)
    lines = ["strongest features"]
    for output, weights in list(zip(outputs, coef, strict=True))[:FEW_CLASSES]:
        best = np.argsort(-np.abs(weights), kind="stable")[:top]
        shown = (f"{names[int(j)]} {weights[j]:+.4g}" for j in best if weights[j])
        lines.append(f"  {output}: {', '.join(shown) or 'none'}")
    return lines
