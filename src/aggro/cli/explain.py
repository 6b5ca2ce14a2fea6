"""``aggro explain``: which words or columns decided a prediction."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from aggro.cli.feature_names import FeatureNames
from aggro.cli.metrics import label_text
from aggro.cli.model import Model, load_model
from aggro.cli.options import new_parser
from aggro.cli.reading import Reading
from aggro.cli.values import at_least
from aggro.io.batch import RawRows
from aggro.io.strings import StringColumn
from aggro.text.explain import Explanation

EXAMPLES = """
aggro explain mail.aggro "free money, click now"
aggro explain mail.aggro "a fine film" --top 20 --plot why.png
aggro explain churn.aggro customers.csv --row 3
"""
BETWEEN = 2  # classes, where what speaks for one speaks against the other


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = new_parser("explain", "Show which words or columns decided a prediction.", EXAMPLES)
    parser.add_argument("model", help="a model file")
    parser.add_argument(
        "what",
        metavar="TEXT|FILE",
        help="a text, for a model trained with --text; or a file of rows, of which --row is "
        "explained",
    )
    parser.add_argument("--row", type=at_least(1), default=1, help="of the file (default 1)")
    parser.add_argument("--top", type=at_least(1), default=8, help="features to show (default 8)")
    parser.add_argument("--plot", metavar="PICTURE", help="draw the reasons for the prediction")
    return parser


def run(args: argparse.Namespace) -> int:
    """Print the share of each word or column in the score of each class."""
    model, reading = load_model(args.model)
    if Path(args.what).is_file():
        X = row_of_file(model, reading, args.what, args.row)
    elif model.raw:
        columns = model.estimator.columns
        X = args.what if columns is None else row_of_text(args.what, columns)
    else:
        raise ValueError(
            f"{args.what}: no such file. {args.model} was not trained with --text, so give a file "
            "with rows like those it was trained on, and --row N."
        )
    if model.raw:
        answer, share, reasons = explain_text(model, X)
    else:
        names = FeatureNames(reading, model.features, model.names)
        answer, share, reasons = explain_row(model, X, names)
    print(f"{answer:g}" if model.regression else f"{label_text(answer)} ({share:.1%})")
    for label, why in sorted(reasons.items(), key=lambda each: each[0] != answer):
        head = "" if label is None else f" for {label_text(label)}"
        print(f"what speaks{head} ({why.total:+.3g})")
        for word, part in why.shares()[: args.top]:
            print(f"  {part:+7.1%}  {word}")
        if len(reasons) == BETWEEN:
            break
    if args.plot:
        reasons[None if model.regression else answer].plot(args.plot)
    return 0


def row_of_text(text: str, columns: dict[str, str]) -> dict[str, Any]:
    """Return a row of several columns that has nothing but a text, in the first that is one."""
    empty: dict[str, Any] = {"text": "", "category": None, "number": 0.0}
    row = {name: empty[kind] for name, kind in columns.items()}
    texts = [name for name, kind in columns.items() if kind == "text"]
    return {**row, **dict.fromkeys(texts[:1], text)}


def row_of_file(model: Any, reading: Reading, path: str, number: int) -> Any:
    """Return a row of a file as the model takes it."""
    how = {"width": model.features, "dtype": model.dtype, "raw": model.raw}
    reader = reading.without_label([path]).open([path], labelled=False, **how)
    before = 0
    for X, _, _ in reader:
        if number <= before + X.shape[0]:
            row = X[number - 1 - before : number - before]
            return _as_dict(row, model.estimator.columns) if isinstance(row, RawRows) else row
        before += X.shape[0]
    raise ValueError(f"{path}: there is no row {number}; it has {before:,}.")


def _as_dict(row: RawRows, columns: dict[str, str] | None) -> Any:
    """Return the one row that is meant: a text, or a value for each column."""
    place = int(row.rows[0])
    found: dict[str, Any] = {}
    for strings, empty in ((row.texts, ""), (row.categories, None)):
        for name, (buffers, missing) in strings.items():
            found[name] = empty if missing[place] else StringColumn(*buffers).text(place)
    found |= dict(zip(row.names, row.numbers[place].tolist(), strict=True))
    return found if columns is not None else next(iter(found.values()))


def explain_text(model: Model, document: Any) -> tuple[Any, float, dict[Any, Explanation]]:
    """Return the prediction, its probability, and the reasons for each class."""
    estimator = model.estimator
    answer, reasons = estimator.predict_one(document), estimator.explain(document)
    if model.regression:
        return answer, 1.0, reasons
    return answer, estimator.predict_proba_one(document)[answer], reasons


def explain_row(
    model: Model, X: Any, names: FeatureNames
) -> tuple[Any, float, dict[Any, Explanation]]:
    """Return the prediction, its probability, and the reasons for each class."""
    scores = model.scores(X)
    if hasattr(X, "indptr"):
        columns, values = X.indices, X.data
    else:
        columns, values = np.flatnonzero(X[0]), X[0][X[0] != 0]
    coef = np.atleast_2d(model.estimator.coef_)
    parts = coef[:, columns].astype(np.float64) * values
    intercept = np.asarray(model.estimator.intercept_, np.float64)
    if model.regression:
        answer, share, heads = float(scores[0, 0]), 1.0, [None]
    else:
        which = int(model.chosen(scores)[0])
        heads = model.classes.tolist()
        answer, share = heads[which], float(model.probabilities(scores)[0, which])
        if len(heads) == BETWEEN:
            parts, intercept = np.vstack([-parts, parts]), np.concatenate([-intercept, intercept])
    listed = [names[int(column)] for column in columns]
    reasons = {
        label: Explanation(label, list(_strongest(listed, part)), float(b), float(part.sum() + b))
        for label, part, b in zip(heads, parts, intercept, strict=True)
    }
    return answer, share, reasons


def _strongest(names: list[str], parts: Any) -> Iterator[tuple[str, float]]:
    for i in np.argsort(-np.abs(parts), kind="stable").tolist():
        if parts[i]:
            yield names[i], float(parts[i])
