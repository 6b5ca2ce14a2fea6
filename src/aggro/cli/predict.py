"""Apply models: ``aggro predict`` prints predictions, ``aggro evaluate`` metrics."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from aggro.cli.model import Model, load_model
from aggro.cli.options import DATA_HELP, FORMAT_HELP, add_rows, add_tolerance, new_parser
from aggro.cli.output import Console, check_files, label_text, opened, write_report
from aggro.cli.reading import Reading, no_labels
from aggro.io.options import FORMATS
from aggro.learner import Array
from aggro.sweeping.data import ConstantPrediction

PREDICT_EXAMPLES = """
aggro predict model.aggro new.svm > labels.txt
aggro predict model.aggro new.csv --scores -o scores.tsv
cat new.svm | aggro predict model.aggro - | sort | uniq -c
"""
PROBA_HELP = (
    "add the probability of each class: calibrated if the model recorded margins, otherwise a "
    "softmax"
)


def predict_parser() -> argparse.ArgumentParser:
    """Return the parser of ``aggro predict``."""
    parser = _parser("predict", "Apply a model to data.", PREDICT_EXAMPLES)
    parser.add_argument("-o", "--output", metavar="FILE", help="default: standard output")
    add_rows(
        parser.add_mutually_exclusive_group(),
        ("--scores", "add the margin of each class"),
        ("--proba", PROBA_HELP),
    )
    return parser


def _parser(name: str, description: str, examples: str) -> argparse.ArgumentParser:
    """Return the parser of a command that applies a model to data."""
    parser = new_parser(name, description, examples)
    parser.add_argument("model", help="a model file")
    parser.add_argument("data", nargs="+", help=DATA_HELP)
    parser.add_argument("--format", choices=FORMATS, help=FORMAT_HELP)
    add_tolerance(parser)
    return parser


def run_predict(args: argparse.Namespace) -> int:
    """Write the predictions."""
    check_files({"-o": args.output}, args.data, args.cache, args.model)
    model, reading = load_model(args.model)
    if args.proba and model.regression:
        raise ValueError("A regression has no probabilities; leave --proba out.")
    reading = reading.but(args.format).without_label()
    how = {"unlabelled": "keep", "skip_bad": args.skip_bad, "cache": args.cache}
    reader = reading.open(args.data, **model.columns, **how)
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


# -- evaluate ------------------------------------------------------------------------------------

EVALUATE_EXAMPLES = """
aggro evaluate model.aggro data.t
aggro evaluate model.aggro test.csv --json report.json
"""
FEW_CLASSES = 12
ENOUGH = 20  # test examples before any warning


def evaluate_parser() -> argparse.ArgumentParser:
    """Return the parser of ``aggro evaluate``."""
    parser = _parser("evaluate", "Measure a model on labelled data.", EVALUATE_EXAMPLES)
    add_rows(parser, ("--json", "FILE", str, "write a report"))
    return parser


def run_evaluate(args: argparse.Namespace) -> int:
    """Print the metrics."""
    check_files({"--json": args.json}, args.data, args.cache, args.model)
    model, reading = load_model(args.model)
    reading = reading.but(args.format)
    console = Console(bar=False)
    (metrics,) = measure(console, [model], reading, args.data, args.skip_bad, args.cache)
    show_metrics(console, metrics)
    if args.json:
        write_report(args.json, metrics.report())
    return 0


def worse_than_constant(metrics: Metrics) -> Iterable[str]:
    """Yield a warning if the best constant prediction is better."""
    if metrics.count < ENOUGH or metrics.error <= metrics.constant_error:
        return
    own, constant = map(metrics.unit.format, (metrics.error, metrics.constant_error))
    yield (
        f"on the test data the model is worse than always predicting {metrics.constant}: its error "
        f"is {own}, that of the constant {constant}; check that the test data resemble the "
        "training data, or try --shuffle, --passes 5 or other --columns"
    )


def show_metrics(console: Console, metrics: Metrics) -> None:
    """Print the metrics, and a warning if a constant prediction is better."""
    for line in metrics.lines():
        console.line(line)
    for warning in worse_than_constant(metrics):
        console.note(f"note: {warning}")


def measure(
    console: Console,
    models: Sequence[Model],
    reading: Reading,
    paths: Sequence[str],
    skip_bad: bool = False,
    cache: str | bool | None = None,
) -> list[Metrics]:
    """Return the metrics of models on the same files; report skipped lines."""
    metrics = [metrics_for(model) for model in models]
    reader = reading.open(paths, skip_bad=skip_bad, cache=cache, **models[0].columns)
    for X, y, _ in reader:
        if y is None:
            raise no_labels(reader)
        for model, each in zip(models, metrics, strict=True):
            each.add(model, model.scores(X), np.asarray(y))
    console.report_skipped_lines(reader)
    return metrics


class ClassMetrics:
    """Counts of true and predicted classes."""

    constant = "the most frequent class"
    unit = "{:.1%}"

    def __init__(self) -> None:
        self.pairs: Counter[tuple[str, str]] = Counter()
        self.best_constant = ConstantPrediction()

    def add(self, model: Model, scores: Array, y: Array) -> None:
        """Add the scores of some examples and their labels."""
        self.best_constant.add_labels(y)
        chosen = model.chosen(scores)
        names, labels = np.unique(y, return_inverse=True)
        pairs, counts = np.unique(labels * len(model.classes) + chosen, return_counts=True)
        for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
            true, predicted = divmod(pair, len(model.classes))
            key = label_text(names[true]), label_text(model.classes[predicted])
            self.pairs[key] += count

    @property
    def count(self) -> int:
        """Number of examples."""
        return sum(self.pairs.values())

    @property
    def error(self) -> float:
        """Error rate."""
        return (self.count - self._correct) / max(self.count, 1)

    @property
    def _correct(self) -> int:
        return sum(n for (true, predicted), n in self.pairs.items() if true == predicted)

    @property
    def constant_error(self) -> float:
        """Error rate of always predicting the most frequent class."""
        return self.best_constant.error("mistakes")

    def report(self) -> dict[str, Any]:
        """Return the metrics by name."""
        scores = {name: self._f1(name) for name in self._names()}
        return {
            "examples": self.count,
            "accuracy": self._correct / max(self.count, 1),
            "macro_f1": float(np.mean(list(scores.values()))) if scores else 0.0,
            "f1": scores,
            "confusion": [[*pair, n] for pair, n in sorted(self.pairs.items())],
        }

    def _names(self) -> list[str]:
        return sorted({name for pair in self.pairs for name in pair}, key=_numbers_first)

    def _f1(self, name: str) -> float:
        hits = self.pairs[name, name]
        others = sum(n for pair, n in self.pairs.items() if name in pair) - hits
        return 2 * hits / max(2 * hits + others, 1)

    def lines(self) -> list[str]:
        """Return the metrics as text."""
        report, names = self.report(), self._names()
        text = [
            f"accuracy  {report['accuracy']:.2%} of {report['examples']:,} examples",
            f"macro F1  {report['macro_f1']:.4f}",
        ]
        width = max([len(name) for name in names] + [6])
        if len(names) > FEW_CLASSES:
            worst = sorted(report["f1"].items(), key=lambda item: item[1])[:5]
            shown = ", ".join(f"{name} {score:.3f}" for name, score in worst)
            return [*text, f"lowest F1 {shown} ({len(names)} classes)"]
        text.append(f"{'true class':<{width}}      F1   predicted as")
        text.append(" " * (width + 11) + "".join(f"{name[:9]:>10}" for name in names))
        for name in names:
            row = "".join(f"{self.pairs[name, predicted]:>10,}" for predicted in names)
            text.append(f"{name:<{width}}  {report['f1'][name]:.4f}   {row}")
        return text


def _numbers_first(name: str) -> tuple[int, float, str]:
    try:
        return 0, float(name), name
    except ValueError:
        return 1, 0.0, name


class RegressionMetrics:
    """Sums of errors, compared with the constant that is best by the measured error."""

    unit = "{:.4g} on average"

    def __init__(self, measured: str) -> None:
        self.measured = measured
        self.constant = "the mean" if measured == "squared error" else "the median"
        self.count, self.absolute, self.squared = 0, 0.0, 0.0
        self.mean, self.spread = 0.0, 0.0  # of the targets
        self.best_constant = ConstantPrediction()

    @property
    def error(self) -> float:
        """Mean error."""
        total = self.squared if self.measured == "squared error" else self.absolute
        return total / max(self.count, 1)

    @property
    def constant_error(self) -> float:
        """Mean error of the best constant: the median or the mean of the first million targets."""
        return self.best_constant.error(self.measured)

    def add(self, model: Model, scores: Array, y: Array) -> None:
        """Add the predictions for some examples and their targets."""
        error = np.asarray(y, np.float64) - scores[:, 0]
        self.best_constant.add_targets(np.asarray(y, np.float64).reshape(-1, 1))
        self.absolute += float(np.abs(error).sum())
        self.squared += float((error**2).sum())
        # Combine means and sums of squares of two parts (Chan, Golub, LeVeque 1983).
        count, mean = len(y), float(np.mean(y))
        total, shift = self.count + count, mean - self.mean
        self.spread += float(((y - mean) ** 2).sum()) + shift**2 * self.count * count / total
        self.mean += shift * count / total
        self.count = total

    def report(self) -> dict[str, Any]:
        """Return the metrics by name."""
        count = max(self.count, 1)
        return {
            "examples": self.count,
            "rmse": float(np.sqrt(self.squared / count)),
            "mae": self.absolute / count,
            "r2": 1 - self.squared / self.spread if self.spread > 0 else 0.0,
        }

    def lines(self) -> list[str]:
        """Return the metrics as text."""
        report = self.report()
        return [
            f"RMSE  {report['rmse']:.6g} on {report['examples']:,} examples",
            f"MAE   {report['mae']:.6g}",
            f"R²    {report['r2']:.4f}",
        ]


Metrics = ClassMetrics | RegressionMetrics


def metrics_for(model: Model) -> Metrics:
    """Return the empty metrics that suit a model."""
    if not model.regression:
        return ClassMetrics()
    return RegressionMetrics(model.measured)
