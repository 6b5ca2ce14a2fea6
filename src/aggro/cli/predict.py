"""``aggro predict``: apply a model to data, one line of output for each example."""

from __future__ import annotations

import argparse

from aggro.cli.model import Model, load_model
from aggro.cli.options import DATA_HELP, FORMAT_HELP, FORMATS, add_tolerance, new_parser
from aggro.cli.output import Console, check_files, label_text, opened
from aggro.learner import Array

EXAMPLES = """
aggro predict model.aggro new.svm > labels.txt
aggro predict model.aggro new.csv --scores -o scores.tsv
cat new.svm | aggro predict model.aggro - | sort | uniq -c
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = new_parser("predict", "Apply a model to data.", EXAMPLES)
    parser.add_argument("model", help="a model file")
    parser.add_argument("data", nargs="+", help=DATA_HELP)
    parser.add_argument("-o", "--output", metavar="FILE", help="default: standard output")
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--scores", action="store_true", help="add the margin of each class")
    shown.add_argument(
        "--proba",
        action="store_true",
        help="add the probability of each class: calibrated if the model recorded margins, "
        "otherwise a softmax",
    )
    parser.add_argument("--format", choices=FORMATS, help=FORMAT_HELP)
    add_tolerance(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Write the predictions."""
    check_files({"-o": args.output}, args.data, args.cache, args.model)
    model, reading = load_model(args.model)
    if args.proba and model.regression:
        raise ValueError("A regression has no probabilities; leave --proba out.")
    reader = (
        reading.but(args.format)
        .without_label()
        .open(
            args.data,
            width=model.features,
            labelled=False,
            skip_bad=args.skip_bad,
            cache=args.cache,
            dtype=model.dtype,
            raw=model.raw,
        )
    )
    writer = Writer(model, args.scores, args.proba)
    with opened(args.output) as stream:
        stream.write(writer.heading())
        for batch in reader:
            stream.write(writer.lines(model.scores(batch.X)))
    Console(bar=False).report_skipped_lines(reader)
    return 0


class Writer:
    """Turns scores into lines of text."""

    def __init__(self, model: Model, scores: bool, proba: bool) -> None:
        self.model, self.scores, self.proba = model, scores, proba
        self.names = [label_text(label) for label in model.classes.tolist()]

    def heading(self) -> str:
        """Return the line that names the columns, if there are several."""
        if self.model.regression or not (self.scores or self.proba):
            return ""
        shown = self.names[1:] if self.scores and len(self.names) == 2 else self.names
        return "\t".join(["label", *shown]) + "\n"

    def lines(self, scores: Array) -> str:
        """Return one line for each row of scores."""
        if self.model.regression:
            return "".join(f"{value!r}\n" for value in scores[:, 0].tolist())
        labels = [self.names[index] for index in self.model.chosen(scores).tolist()]
        if not (self.scores or self.proba):
            return "".join(f"{label}\n" for label in labels)
        table = self.model.probabilities(scores) if self.proba else scores
        rows = ("\t".join(f"{value:.6g}" for value in row) for row in table.tolist())
        return "".join(f"{label}\t{row}\n" for label, row in zip(labels, rows, strict=True))
