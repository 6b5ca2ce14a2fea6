"""``aggro explain``: which words of a text decided. Other columns of the model count as empty."""

from __future__ import annotations

import argparse
from typing import Any

from aggro.cli.metrics import label_text
from aggro.cli.options import new_parser
from aggro.cli.texts import TextModel, is_text_model
from aggro.cli.values import at_least

EXAMPLES = """
aggro explain model.aggro "free money, click now"
aggro explain model.aggro "a fine film" --top 20 --plot why.png
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = new_parser("explain", "Show which words of a text decided.", EXAMPLES)
    parser.add_argument("model", help="a model file, trained with --text")
    parser.add_argument("text", help="a text")
    parser.add_argument("--top", type=at_least(1), default=8, help="words to show (default 8)")
    parser.add_argument("--plot", metavar="PICTURE", help="draw the words of the predicted class")
    return parser


def run(args: argparse.Namespace) -> int:
    """Print what each word says for each class."""
    if not is_text_model(args.model):
        raise ValueError(
            f"{args.model} does not know words: train it with --text COLUMN, without --algorithm "
            "and --text-defaults counts."
        )
    model, _ = TextModel.load(args.model)
    estimator = model.estimator
    document = args.text if estimator.columns is None else row_of(args.text, estimator.columns)
    told = estimator.explain(document)
    answer = estimator.predict_one(document)
    if model.regression:
        print(f"{answer:g}")
    else:
        shares = estimator.predict_proba_one(document)
        print(f"{label_text(answer)} ({shares[answer]:.1%})")
    for label, why in sorted(told.items(), key=lambda each: each[0] != answer):
        head = "" if label is None else f" for {label_text(label)}"
        print(f"what speaks{head} ({why.total:+.3g})")
        for word, share in why.shares()[: args.top]:
            print(f"  {share:+7.1%}  {word}")
        if len(told) == 2:
            break  # of two classes, what speaks for one speaks against the other
    if args.plot:
        why = told[None if model.regression else answer]
        why.plot(args.plot)
    return 0


def row_of(text: str, columns: dict[str, str]) -> dict[str, Any]:
    """Return a row of several columns that has nothing but a text, in the first that is one."""
    empty: dict[str, Any] = {"text": "", "category": None, "number": 0.0}
    row = {name: empty[kind] for name, kind in columns.items()}
    texts = [name for name, kind in columns.items() if kind == "text"]
    return {**row, **dict.fromkeys(texts[:1], text)}
