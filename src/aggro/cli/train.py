"""``aggro train``: learn a model from files of any size."""

from __future__ import annotations

import argparse
import dataclasses
import shlex
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from itertools import chain
from types import FrameType
from typing import Any

import numpy as np

from aggro.cli.model import (
    Model,
    learns_texts,
    new_model,
    resume,
    selects_by_default,
    shown_params,
)
from aggro.cli.options import (
    DATA_HELP,
    TASKS,
    add_reading,
    add_rows,
    add_variant,
    add_words,
    at_least,
    new_parser,
    option_of,
)
from aggro.cli.output import (
    STANDARD_OUTPUT,
    Console,
    check_files,
    label_text,
    listed,
    write_report,
)
from aggro.cli.predict import measure, show_metrics
from aggro.cli.progress import (
    Constant,
    Line,
    Progress,
    Shuffled,
    column_warnings,
    error_warnings,
    heading,
    label_warnings,
)
from aggro.cli.reading import (
    TABLE,
    FeatureNames,
    Reading,
    guess_rows,
    no_labels,
    with_example_number,
)
from aggro.io import Batch, Reader
from aggro.io.batch import first_labels
from aggro.io.sources import expand
from aggro.learner import Array
from aggro.settings import selected_axes

EXAMPLES = """
aggro train data.svm -o model.aggro --test data.t
aggro train reviews.csv --label stars --text review -o model.aggro --algorithm SPA-I --C 0.1
aggro train days/ --label price --task regression -o model.aggro --passes 3 --plot curve.png
zcat log.vw.gz | aggro train - --format vw -o model.aggro
aggro train tuesday.svm --resume model.aggro -o model.aggro
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = new_parser("train", "Learn a model from files of any size.", EXAMPLES)
    add = parser.add_argument
    add("data", nargs="+", help=DATA_HELP)
    add("-o", "--output", required=True, metavar="MODEL", help="model file to write")
    add("--task", default="auto", choices=TASKS)
    add("--test", action="append", metavar="FILE", help="data to evaluate the model on")
    shuffled = (
        "learn rows in random order, in memory or by blocks (default: if they are sorted by their "
        "labels)"
    )
    add("--shuffle", action=argparse.BooleanOptionalAction, help=shuffled)
    kept = "save all candidates of the model selection, so that it can continue"
    add_rows(
        parser,
        ("--algorithm", "NAME", str, "a variant; aggro algorithms lists them"),
        ("--passes", "N", at_least(1), "passes over the data (default 1)"),
        ("--plot", "PICTURE", str, "draw the learning curve"),
        ("--json", "FILE", str, "write a report"),
        ("--resume", "MODEL", str, "continue a saved model"),
        ("--skip", "N", at_least(0), "skip the first N examples"),
        ("--keep-candidates", kept),
        ("--probability", "record margins, for calibrated probabilities of aggro predict --proba"),
        ("--quiet", "print only errors"),
    )
    parser.set_defaults(passes=1, skip=0)
    selected = (
        "select all settings while learning, except those that are given (the default if none is "
        "given)"
    )
    add_rows(
        parser.add_mutually_exclusive_group(),
        ("--auto", selected),
        ("--fast", "train one model with fixed settings"),
    )
    add_reading(parser)
    add_words(parser)
    add_variant(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Train, save, report and test."""
    if args.output == STANDARD_OUTPUT:
        raise ValueError("A model needs a file; for standard output use -o /dev/stdout --quiet.")
    outputs = {"-o": args.output, "--json": args.json, "--plot": args.plot}
    check_files(outputs, args.data, args.cache, *(expand(args.test) if args.test else ()))
    model: Model | None = None
    if args.resume:
        model, reading = resume(args)
    else:
        reading = Reading.from_arguments(args)
    reading.check_label(args.data)
    reader = reading.open(
        args.data,
        skip_bad=args.skip_bad,
        cache=args.cache,
        dtype=model.dtype if model else np.float32 if args.float32 else np.float64,
        raw=model.raw if model else learns_texts(args),
        uninformative="keep" if args.shuffle else "ignore",
    )
    expected = guess_rows(args.data, reading.format)
    total = None if expected is None else expected * args.passes
    with Console(total, args.quiet) as console, Interrupt() as interrupt:
        if model and model.selected:
            params = shown_params(model.selected)
            console.note(f"{args.resume}: continues with the selected {params}")
        training = Training(args, reading, reader, console, model)
        training.learn(interrupt)
    if training.interrupted_in:
        console.note(training.command_to_continue())
        return 130
    training.finish()
    return 0


class Training:
    """A run over the data."""

    def __init__(
        self,
        args: argparse.Namespace,
        reading: Reading,
        reader: Reader,
        console: Console,
        model: Model | None,
    ) -> None:
        self.args, self.reading, self.reader = args, reading, reader
        self.console, self.model = console, model
        self.progress: Progress | None = None
        self.started = time.perf_counter()
        self.shuffle = bool(args.shuffle)
        self.interrupted_in = 0  # the number of the pass
        self.position = 0  # examples of this pass, learned or skipped

    def learn(self, interrupt: Interrupt) -> None:
        """Learn pass after pass; save at the end, or when interrupted."""
        for number in range(1, self.args.passes + 1):
            for X, y, weights in self._batches(self.args.skip if number == 1 else 0):
                assert self.progress is not None
                with with_example_number(self.reader, self.position, X):
                    lines = self.progress.learn(X, y, weights)
                self._print(lines)
                self.console.advance(X.shape[0])
                self.position += X.shape[0]
                if interrupt.requested:
                    self.interrupted_in = number
                    break
            if self.interrupted_in:
                break
            if number < self.args.passes:
                self.console.expect(self.position * self.args.passes)
                self._model.end_pass()
        self._save()

    def _batches(self, skip: int) -> Iterable[Batch]:
        """Return the batches of a pass without the first ``skip`` rows."""
        self.position = 0
        batches: Iterable[Batch] = self.reader
        if self.progress is None:
            batches = self._start()
        if self.shuffle:
            batches = Shuffled(batches, int(self._model.estimator.random_state or 0))
        return self._skipping(batches, skip) if skip else batches

    def _skipping(self, batches: Iterable[Batch], skip: int) -> Iterator[Batch]:
        for batch in batches:
            drop = min(skip, batch.n_rows)
            skip -= drop
            self.position += drop
            if drop == 0:
                yield batch
            elif drop < batch.n_rows:
                yield batch.rows(slice(drop, None))

    def _start(self) -> Iterable[Batch]:
        """Make the model that suits the first batches, print the heading; return all batches."""
        labels, batches = first_labels(self.reader)
        first = next(batches, None)
        if first is None:
            raise self._no_examples()
        if labels is None:
            raise no_labels(self.reader)
        if self.model is None:
            self.model = model = new_model(self.args, first.X, labels, self.reader.columns)
            if self._final_reading().made_by == TABLE:
                model.ignores_counters = False
            if selects_by_default(self.args) and not model.raw:
                names = ", ".join(selected_axes(model.settings))
                self.console.line(f"{names}: selected while learning (--fast: one model)")
        model = self.model
        self._check_labels(labels)
        if self.args.shuffle is None and not model.regression:
            self._shuffle_if_sorted(labels)
        self.progress = Progress(model)
        C = f", C={model.estimator.C}" if "C" in model.estimator.get_params() else ""
        error = model.measured if model.regression else "error"
        self.console.line(f"{model.title}{C}: {error} of predictions made before learning")
        self.console.line(heading())
        return chain([first], batches)

    def _shuffle_if_sorted(self, labels: Array) -> None:
        constant = Constant()
        constant.add(labels)
        self.shuffle = constant.is_sorted
        if self.shuffle:
            self.console.note(
                f"note: labels change {constant.changes:,} times in the first {len(labels):,} "
                f"rows, against about {constant.expected_changes:,.0f} in random order: the rows "
                "seem to be sorted, and are learned in random order (--no-shuffle: in file order)"
            )

    def _check_labels(self, y: Array) -> None:
        known = self._model.classes
        if len(known) and (known.dtype.kind in "UO") != (y.dtype.kind in "UO"):
            raise ValueError(
                f"{listed(self.reader.files)}: labels such as {label_text(y[0])}, but the classes "
                f"of {self.args.resume} are of another type, such as {label_text(known[0])}."
            )

    @property
    def _model(self) -> Model:
        if self.model is None:
            raise self._no_examples()
        return self.model

    def _no_examples(self) -> ValueError:
        skip = self.args.skip
        after = f" after the first {skip:,}" if skip else ""
        return ValueError(f"{listed(self.reader.files)}: no examples to learn from{after}.")

    def _final_reading(self) -> Reading:
        """Return how later data are read, with everything that was detected."""
        return self.reading.learned_from(self.reader, self._model.classes)

    # -- the end ---------------------------------------------------------------------------------

    def _save(self) -> None:
        """Print the last line of the table and save the model."""
        model, progress = self._model, self.progress
        if progress is None or progress.examples == 0:
            raise self._no_examples()
        shown = len(progress.lines)
        progress.report()
        self._print(progress.lines[shown:])
        if not self.interrupted_in:
            model.expect_new_rows()
            self._end_selection(model)
        model.keep_names(self.reader.names)
        model.save(self.args.output, self._final_reading(), self.args.passes)

    def _end_selection(self, model: Model) -> None:
        """Keep only the best candidate, unless all are wanted."""
        if not model.selects:
            return
        if self.args.keep_candidates:
            params = shown_params(model.estimator.best_params_)
            self.console.line(f"best so far: {params}; all candidates are saved")
        else:
            self.console.line(
                f"selected: {shown_params(model.keep_best())} (--keep-candidates saves the others, "
                "so that the selection can continue)"
            )

    def _print(self, lines: Iterable[Line]) -> None:
        for line in lines:
            self.console.line(line.text(not self._model.regression))

    def command_to_continue(self) -> str:
        """Return the command that does the rest."""
        args = self.args
        left = args.passes - self.interrupted_in + 1
        words = ["aggro", "train", *args.data, "--resume", args.output, "-o", args.output]
        words += ["--skip", str(self.position), "--passes", str(left)]
        for name in ("skip_bad", "keep_candidates"):
            words += [option_of(name)] * getattr(args, name)
        words += ["--shuffle" if self.shuffle else "--no-shuffle"]
        for name in ("cache", "test", "plot", "json"):
            given = getattr(args, name)
            for value in given if isinstance(given, list) else [given]:
                if value is not None:
                    words += [f"--{name}"] if value is True else [f"--{name}", value]
        return f"Interrupted; the model is saved. Continue with:\n  {shlex.join(words)}"

    def finish(self) -> None:
        """Print a summary and warnings; test, draw and write the report."""
        model, progress, console, args = self._model, self.progress, self.console, self.args
        assert progress is not None
        seconds = time.perf_counter() - self.started
        outputs = "1 target" if model.regression else f"{len(model.classes)} classes"
        console.line(
            f"{progress.examples:,} examples, {model.features:,} features, {outputs} "
            f"in {seconds:.2f} s ({progress.examples / seconds:,.0f} examples/s)"
        )
        console.report_skipped_lines(self.reader)
        console.show_notes(self.reader)
        for warning in self._warnings(model, progress):
            console.note(f"note: {warning}")
        report = {
            "model": args.output,
            "algorithm": model.title,
            "params": {k: _plain(v) for k, v in model.estimator.get_params().items()},
            "classes": model.classes.tolist(),
            "features": model.features,
            "seconds": seconds,
            "bad_lines": self.reader.n_bad,
            "progress": [dataclasses.asdict(line) for line in progress.lines],
        }
        if args.test:
            reading = self._final_reading()
            (metrics,) = measure(console, [model], reading, args.test, args.skip_bad)
            report["test"] = metrics.report()
            console.line("\ntest")
            show_metrics(console, metrics)
        if args.json:
            write_report(args.json, report)
        if args.plot:
            points = [(line.evaluated, line.so_far) for line in progress.lines]
            curve = [(count, error) for count, error in points if error is not None]
            baseline = progress.lines[-1].baseline
            from aggro.plot import draw_curves

            draw_curves({model.title: curve}, baseline, model.measured, args.plot)
        console.note(f"saved {args.output}")

    def _warnings(self, model: Model, progress: Progress) -> Iterator[str]:
        """Yield warnings about these data and this model."""
        wordy = self.reader.text_like
        if not model.regression:
            yield from label_warnings(progress.constant, self.shuffle)
        names = FeatureNames(self._final_reading(), model.features, model.names)
        yield from column_warnings(wordy, [names[int(column)] for column in model.ignored])
        selects = bool(model.selected) or model.selects
        yield from error_warnings(progress, bool(wordy), selects)


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


class Interrupt:
    """Handles Ctrl-C: the first only sets ``requested``, the second stops at once."""

    def __init__(self) -> None:
        self.requested = False
        self._before: Any = None

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._notice)
        return self

    def _notice(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True

    def __exit__(self, *error: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
