"""``aggro train``: learn a model from files of any size."""

from __future__ import annotations

import argparse
import dataclasses
import shlex
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from aggro.cli import advice
from aggro.cli.begin import (
    choice_told,
    leaves_choice,
    naming_examples,
    new_model,
    no_examples,
    no_labels,
)
from aggro.cli.console import Console, listed
from aggro.cli.evaluate import measure
from aggro.cli.feature_names import FeatureNames
from aggro.cli.interrupt import Interrupt
from aggro.cli.metrics import label_text
from aggro.cli.model import Model
from aggro.cli.options import add_reading, add_variant, add_words, new_parser
from aggro.cli.outputs import STANDARD_OUTPUT, check_files, write_report
from aggro.cli.reading import TABLE, Reading, guess_rows
from aggro.cli.resume import resume
from aggro.cli.shuffle import Shuffled
from aggro.cli.texts import new_text_model, wants_words
from aggro.cli.values import at_least
from aggro.cli.variant import chosen
from aggro.cli.watch import Watch, heading
from aggro.io import Batch, Reader
from aggro.io.batch import RawRows, first_labels
from aggro.io.sources import expand
from aggro.learner import Array

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
    parser.add_argument("data", nargs="+", help="files, folders or patterns; - for standard input")
    parser.add_argument("-o", "--output", required=True, metavar="MODEL", help="where to save")
    parser.add_argument("--algorithm", help="a variant; aggro algorithms lists them")
    parser.add_argument("--task", default="auto", choices=("auto", "classification", "regression"))
    parser.add_argument("--passes", type=at_least(1), default=1, help="over the data (default 1)")
    parser.add_argument("--test", action="append", metavar="FILE", help="data to measure on")
    parser.add_argument("--plot", metavar="PICTURE", help="draw the learning curve")
    parser.add_argument("--json", metavar="FILE", help="write a report")
    parser.add_argument("--resume", metavar="MODEL", help="go on with a saved model")
    parser.add_argument("--keep-race", action="store_true",
                        help="save all that 'auto' raced, to go on to the last bit")  # fmt: skip
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--auto", action="store_true",
                        help="choose all settings while learning, even if no option says so "
                        "(the default within --memory)")  # fmt: skip
    choice.add_argument("--fast", action="store_true",
                        help="one plain model: choose nothing while learning")  # fmt: skip
    parser.add_argument("--shuffle", action="store_true",
                        help="learn rows in random order, in memory or by blocks")  # fmt: skip
    parser.add_argument("--skip", type=at_least(0), default=0, help="leave out the first examples")
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")
    add_reading(parser)
    add_words(parser)
    add_variant(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Train, test, report and save."""
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
    dtype = model.dtype if model else np.float32 if args.float32 else np.float64
    raw = model.raw if model else wants_words(args)
    how = {"skip_bad": args.skip_bad, "cache": args.cache, "dtype": dtype, "raw": raw}
    how["uninformative"] = "keep" if args.shuffle else "ignore"
    reader = reading.open(args.data, **how)
    expected = guess_rows(args.data, reading.format)
    total = None if expected is None else expected * args.passes
    with Console(total, args.quiet) as console, Interrupt() as interrupt:
        if model and model.settled:
            console.note(f"{args.resume}: its race is over; {chosen(model.settled)} goes on")
        training = Training(args, reading, reader, console, interrupt, model)
        training.all_passes()
    if training.interrupted_in:
        console.note(training.how_to_go_on())
        return 130
    training.finish()
    return 0


class Training:
    """One run over the data."""

    def __init__(
        self,
        args: argparse.Namespace,
        reading: Reading,
        reader: Reader,
        console: Console,
        interrupt: Interrupt,
        model: Model | None,
    ) -> None:
        self.args, self.reading, self.reader = args, reading, reader
        self.console, self.interrupt = console, interrupt
        self.model = model
        self.watch: Watch | None = None
        self.began = time.perf_counter()
        self.interrupted_in = 0  # the pass
        self.position = 0  # examples of this pass, learned or skipped

    def all_passes(self) -> None:
        """Learn pass after pass; save at the end, or when interrupted."""
        for number in range(1, self.args.passes + 1):
            self._one_pass(self.args.skip if number == 1 else 0)
            if self.interrupt.asked:
                self.interrupted_in = number
                break
            if number < self.args.passes:
                self.console.expect(self.position * self.args.passes)
                if self.model is not None:
                    self.model.freeze()
        if self.watch is None or self._model.learner is None:
            raise no_examples(self.reader, self.args.skip)
        shown = len(self.watch.lines)
        self.watch.report()
        for line in self.watch.lines[shown:]:
            self.console.line(line.text(not self._model.regression))
        if not self.interrupted_in:
            self._end()
        self._model.keep_names(self.reader.names)
        self._model.save(self.args.output, self._final_reading(), self.args.passes)

    def _end(self) -> None:
        """Get ready for new rows; what a race did not choose is thrown away, unless kept."""
        model = self._model
        model.freeze(False)
        if model.selects and self.args.keep_race:
            self.console.line(f"leads: {chosen(model.estimator.best_params_)}; the race is saved")
        elif model.selects:
            self.console.line(
                f"chosen: {chosen(model.keep_best())}; the rest of the race is not saved "
                "(--keep-race saves it, to go on to the last bit)"
            )

    def _one_pass(self, skip: int) -> None:
        self.position = 0
        batches: Iterator[Batch] = self._batches(skip)
        if self.watch is None:
            first, batches = first_labels(batches)
        for X, y, weights in batches:
            if self.watch is None:
                self._begin(X, y if first is None else first)
            assert self.watch is not None
            with naming_examples(self.reader, self.position, X):
                lines = self.watch.learn(X, y, weights)
            for line in lines:
                self.console.line(line.text(not self._model.regression))
            self.console.advance(X.shape[0])
            self.position += X.shape[0]
            if self.interrupt.asked:
                return

    def _batches(self, skip: int) -> Iterator[Batch]:
        """Yield the batches without the first ``skip`` rows."""
        labelled = self._labelled()
        for batch in Shuffled(labelled, self._seed()) if self.args.shuffle else labelled:
            drop = min(skip - self.position, batch.n_rows) if self.position < skip else 0
            self.position += drop
            if drop == 0:
                yield batch
            elif drop < batch.n_rows:
                X, y, weights = batch
                yield Batch(X[drop:], y[drop:], None if weights is None else weights[drop:])

    def _labelled(self) -> Iterator[Batch]:
        for batch in self.reader:
            if batch.y is None:
                raise no_labels(self.reader)
            yield batch

    def _seed(self) -> int:
        """Return the seed of the order of rows, which is that of the model."""
        if self.model is None:
            return int(self.args.seed or 0)
        return int(self.model.estimator.random_state or 0)

    def _begin(self, X: Any, y: Array) -> None:
        """Choose the variant by what the first labels look like."""
        if self.model is None:
            chooses = leaves_choice(self.args)
            if isinstance(X, RawRows):
                self.model = new_text_model(self.args, X, y)
            else:
                self.model = new_model(self.args, self.args.algorithm, X, y, chooses=chooses)
                if self._final_reading().made_by == TABLE:
                    self.model.keep_counters()
                if chooses:
                    self.console.line(choice_told(self.model.settings))
        self._check_labels(y)
        self.watch = Watch(self.model)
        estimator = self.model.estimator
        price = f", C={estimator.C}" if "C" in estimator.get_params() else ""
        what = "absolute error" if self.model.regression else "error"
        self.console.line(f"{self.model.title}{price}: {what}, judged before learning")
        self.console.line(heading())

    def _check_labels(self, y: Array) -> None:
        known = self._model.classes
        if len(known) and (known.dtype.kind in "UO") != (y.dtype.kind in "UO"):
            raise ValueError(
                f"{listed(self.reader.files)}: labels such as {label_text(y[0])}, but the model of "
                f"{self.args.resume} knows classes such as {label_text(known[0])}."
            )

    @property
    def _model(self) -> Model:
        if self.model is None:
            raise ValueError("There were no examples to learn from.")
        return self.model

    def _final_reading(self) -> Reading:
        """Return how later data are to be read: what was found out is fixed."""
        return self.reading.learned_from(self.reader, self._model.classes)

    def how_to_go_on(self) -> str:
        """Return the command that does the rest."""
        left = self.args.passes - self.interrupted_in + 1
        words = ["aggro", "train", *self.args.data, "--resume", self.args.output]
        words += ["-o", self.args.output, "--skip", str(self.position), "--passes", str(left)]
        for flag in ("skip_bad", "keep_race", "shuffle"):
            words += [f"--{flag.replace('_', '-')}"] * getattr(self.args, flag)
        for option in ("cache", "test", "plot", "json"):
            words += _repeated(option, getattr(self.args, option))
        return f"Interrupted; the model is saved. Go on with:\n  {shlex.join(words)}"

    def finish(self) -> None:
        """Say how it went, test, draw and write the report."""
        model, watch, console = self._model, self.watch, self.console
        assert watch is not None
        seconds = time.perf_counter() - self.began
        outputs = "1 target" if model.regression else f"{len(model.classes)} classes"
        console.line(
            f"{watch.examples:,} examples, {model.features:,} features, {outputs} "
            f"in {seconds:.2f} s ({watch.examples / seconds:,.0f} examples/s)"
        )
        console.tell_bad_lines(self.reader)
        console.show_notes(self.reader)
        for warning in self._warnings(watch):
            console.note(f"note: {warning}")
        report = {
            "model": self.args.output,
            "algorithm": model.title,
            "params": {k: _plain(v) for k, v in model.estimator.get_params().items()},
            "classes": model.classes.tolist(),
            "features": model.features,
            "seconds": seconds,
            "bad_lines": self.reader.n_bad,
            "progress": [dataclasses.asdict(line) for line in watch.lines],
        }
        if self.args.test:
            reading = self._final_reading()
            figures = measure(console, model, reading, self.args.test, self.args.skip_bad)
            report["test"] = figures.report()
            for line in ["", "test", *figures.lines()]:
                console.line(line)
            for warning in advice.of_test(figures):
                console.note(f"note: {warning}")
        if self.args.json:
            write_report(self.args.json, report)
        if self.args.plot:
            from aggro.cli.plots import draw_curves

            draw_curves({model.title: watch.lines}, model.regression, self.args.plot)
        console.note(f"saved {self.args.output}")

    def _warnings(self, watch: Watch) -> Iterator[str]:
        """Yield what a person should know about these data and this model."""
        model, wordy = self._model, self.reader.wordy
        if not model.regression:
            yield from advice.of_labels(watch.runs, self.args.shuffle)
        yield from advice.of_columns(wordy)
        names = FeatureNames(self._final_reading(), model.features, model.names)
        yield from advice.of_counters(names[int(each)] for each in model.ignored)
        chosen = bool(model.settled) or model.selects
        yield from advice.of_error(watch.lines, model.regression, bool(wordy), chosen)


def _repeated(option: str, value: Any) -> list[str]:
    """Return the words that give an option again."""
    values = value if isinstance(value, list) else [value]
    return [
        word
        for each in values
        if each is not None
        for word in [f"--{option}", *([] if each is True else [each])]
    ]


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
