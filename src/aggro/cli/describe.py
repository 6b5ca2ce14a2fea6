"""Describe models and variants: ``aggro info``, ``explain``, ``algorithms`` and ``demo``."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import aggro
from aggro.cli.model import Model, load_model, shown_params
from aggro.cli.options import at_least, new_parser
from aggro.cli.output import label_text
from aggro.cli.reading import FeatureNames, Reading
from aggro.explanation import Explanation
from aggro.io.batch import RawRows
from aggro.learner import Array, Learner
from aggro.persistence.record import TEXTS, Record, read_record
from aggro.selection.common import progressive_loss
from aggro.selection.selection import ModelSelection
from aggro.settings import Settings
from aggro.variants import LINEAR, catalogue

INFO_EXAMPLES = """
aggro info model.aggro
aggro info model.aggro --top 20
"""
FEW_CLASSES = 20


def info_parser() -> argparse.ArgumentParser:
    """Return the parser of ``aggro info``."""
    parser = new_parser("info", "Describe a model and what it has learned.", INFO_EXAMPLES)
    parser.add_argument("model", help="a model file")
    parser.add_argument(
        "--top", type=at_least(0), default=5, help="strongest features to show (default 5)"
    )
    return parser


def run_info(args: argparse.Namespace) -> int:
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
        yield "features", f"{learner.features:,}"
        yield "outputs", f"{learner.outputs:,}"
        yield "examples", f"{learner.examples:,}"
        yield recorded_error(learner, learner.settings, learner.examples)
        yield "updates", f"{learner.progress.updates:,}"
    if record.name in TEXTS and learner is not None:
        yield "selected", shown_params({**selected, **learner.best_params})
        yield "words", f"{learner.features:,}"
        yield "examples", f"{learner.examples:,}"
        selection = learner.selection
        yield recorded_error(selection, selection.settings, learner.examples)
    columns = [f"label {origin['label']}"] if origin.get("label") else []
    columns += [f"text {name}" for name in origin.get("text", ())]
    if columns:
        yield "columns", ", ".join(columns)


def recorded_error(learner: Any, settings: Settings, examples: int) -> tuple[str, str]:
    """Return the mistakes, or the mean error of a regression, before each example was learned."""
    mistakes, errors = progressive_loss(learner)
    if settings.task != "regression":
        return "mistakes", f"{mistakes:,.0f}"
    return "error", f"{errors / max(examples, 1):.5g} ({settings.criterion}, mean)"


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


# -- explain -------------------------------------------------------------------------------------

EXPLAIN_EXAMPLES = """
aggro explain mail.aggro "free money, click now"
aggro explain mail.aggro "a fine film" --top 20 --plot why.png
aggro explain churn.aggro customers.csv --row 3
"""
Reasons = dict[Any, Explanation]  # by class; None for a regression


def explain_parser() -> argparse.ArgumentParser:
    """Return the parser of ``aggro explain``."""
    parser = new_parser(
        "explain", "Show which words or columns decided a prediction.", EXPLAIN_EXAMPLES
    )
    parser.add_argument("model", help="a model file")
    parser.add_argument(
        "input",
        metavar="TEXT|FILE",
        help="a text, for a model trained with --text; or a file of rows",
    )
    parser.add_argument("--row", type=at_least(1), default=1, help="row of the file (default 1)")
    parser.add_argument("--top", type=at_least(1), default=8, help="features to show (default 8)")
    parser.add_argument("--plot", metavar="PICTURE", help="draw the contributions")
    return parser


def run_explain(args: argparse.Namespace) -> int:
    """Print the share of each word or column in the score of each class."""
    model, reading = load_model(args.model)
    if Path(args.input).is_file():
        row = row_of_file(model, reading, args.input, args.row)
    elif model.raw:
        row = row_of_text(args.input, model.estimator.columns)
    else:
        raise ValueError(
            f"{args.input}: no such file. {args.model} was not trained with --text, so give a file "
            "of rows like the training data, and --row N."
        )
    names = FeatureNames(reading, model.features, model.names)
    reasons, scores = reasons_of(model, row, names)
    if model.regression:
        predicted = None
        print(f"{scores[0, 0]:g}")
    else:
        which = int(model.chosen(scores)[0])
        predicted = model.classes.tolist()[which]
        print(f"{label_text(predicted)} ({model.probabilities(scores)[0, which]:.1%})")
    ordered = sorted(reasons.items(), key=lambda each: each[0] != predicted)
    # Of two classes, the contributions to one are those to the other with another sign.
    for label, why in ordered[:1] if len(ordered) == 2 else ordered:
        target = "the prediction" if label is None else label_text(label)
        print(f"contributions to {target} (score {why.total:+.3g})")
        for word, share in why.shares()[: args.top]:
            print(f"  {share:+7.1%}  {word}")
    if args.plot:
        reasons[predicted].plot(args.plot)
    return 0


def row_of_text(text: str, columns: dict[str, str] | None) -> Any:
    """Return a text as a row whose first text column contains it and whose others are empty."""
    if columns is None:
        return text
    empty: dict[str, Any] = {"text": "", "category": None, "number": 0.0}
    row = {name: empty[kind] for name, kind in columns.items()}
    texts = [name for name, kind in columns.items() if kind == "text"]
    return {**row, **dict.fromkeys(texts[:1], text)}


def row_of_file(model: Model, reading: Reading, path: str, number: int) -> Any:
    """Return a row of a file in the form that the model reads."""
    reader = reading.without_label().open([path], unlabelled="keep", **model.columns)
    before = 0
    for X, _, _ in reader:
        if number <= before + X.shape[0]:
            return X[number - 1 - before : number - before]
        before += X.shape[0]
    raise ValueError(f"{path}: there is no row {number}; it has {before:,}.")


def reasons_of(model: Model, row: Any, names: FeatureNames) -> tuple[Reasons, Array]:
    """Return the contributions to the score of each class, and the scores."""
    if model.raw:
        rows = row if isinstance(row, RawRows) else [row]
        return model.estimator.explain(row), model.scores(rows)
    return model.estimator._explanations(row, names.__getitem__), model.scores(row)


# -- variants ------------------------------------------------------------------------------------


def algorithms_parser() -> argparse.ArgumentParser:
    """Return the parser of ``aggro algorithms``."""
    examples = "aggro algorithms\naggro algorithms --json"
    parser = new_parser("algorithms", "List the published variants.", examples)
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def run_algorithms(args: argparse.Namespace) -> int:
    """Print one line for each variant."""
    rows = catalogue()
    if args.json:
        fields = ("name", "estimator", "params", "paper", "rule")
        print(json.dumps([{name: getattr(row, name) for name in fields} for row in rows], indent=2))
        return 0
    wide, long = (max(len(getattr(row, name)) for row in rows) for name in ("name", "paper"))
    for row in rows:
        where = "" if row.estimator in LINEAR else "  (Python only)"
        print(f"{row.name:<{wide}}  {row.paper:<{long}}  {row.rule}{where}")
    return 0


def demo_parser() -> argparse.ArgumentParser:
    """Return the parser of ``aggro demo``."""
    return new_parser("demo", "Show online learning on built-in data.", "aggro demo")


def run_demo(args: argparse.Namespace) -> int:
    """Run the demonstration."""
    from aggro.demo import main

    main()
    return 0
