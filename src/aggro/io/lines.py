"""svmlight and Vowpal Wabbit text: blocks of lines to batches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import IO, Any

import numpy as np

from aggro.io import labels as label_arrays
from aggro.io.batch import Batch, Report
from aggro.io.blocks import Block, blocks_of, long_line, read_ahead, whole_lines
from aggro.io.errors import BadLine
from aggro.io.matrix import SparseRows
from aggro.io.native import core
from aggro.io.options import UNLIMITED, Options

TOO_WIDE = "asks for more columns than the memory can hold a weight for"  # as the core says


def batches(path: str, options: Options, report: Report) -> Iterator[Batch]:
    """Batches of one svmlight or Vowpal Wabbit file."""
    lines = _Lines(path, options, report)
    with closing(blocks_of(path, options)) as blocks:
        for block in blocks:
            yield from lines.add(block)
    yield from lines.rest()


def load(stream: IO[bytes], name: str, options: Options, report: Report) -> dict[str, Any]:
    """All rows of an open svmlight stream, as the parser's arrays."""
    lines = _Lines(name, options, report)
    with closing(
        read_ahead(whole_lines(stream, options.batch_bytes, options.longest_line))
    ) as blocks:
        for block in blocks:
            lines.feed_all(block)
    return lines.take()


class _Lines:
    """One file on its way through the parser."""

    def __init__(self, path: str, options: Options, report: Report) -> None:
        self.path = path
        self.options = options
        self.report = report
        self.is_vw = options.format == "vw"
        self.most_rows = options.batch_rows or UNLIMITED
        self.n_seen_bad = 0
        self.parser: Any = None

    def add(self, block: Block) -> Iterator[Batch]:
        """Parse a block; yield the batches it completes, and raise at its first bad line."""
        self._start(block)
        position = 0
        while True:
            position += self.parser.feed(block.data[position:], block.is_last, self.most_rows)
            full = self.parser.rows >= self.most_rows
            if self.parser.stopped or (not full and self.options.batch_rows is None):
                yield from self.rest()
            self._raise_or_count()
            if not full:
                return
            yield from self.rest()

    def feed_all(self, block: Block) -> None:
        """Parse a block and keep its rows in the parser."""
        self._start(block)
        self.parser.feed(block.data, block.is_last, UNLIMITED)
        self._raise_or_count()

    def rest(self) -> Iterator[Batch]:
        """Yield the rows parsed and not yet yielded."""
        if self.parser is not None and self.parser.rows:
            yield self._batch(self.take())

    def take(self) -> dict[str, Any]:
        """Take the parser's arrays, indices counted from 0."""
        parsed: dict[str, Any] = self.parser.take()
        if not self.is_vw and self.report.found.zero_based is None:
            self._decide_base(parsed)
        largest = int(parsed["largest"]) + 1
        self.report.n_features = max(self.report.n_features, largest)
        self.report.n_rows += len(parsed["indptr"]) - 1
        self.report.n_initials += int(parsed["initials"])
        return parsed

    def _start(self, block: Block) -> None:
        if self.parser is None:
            if self.report.found.labels is None:
                wanted = self.options.labels
                guessed = label_arrays.guess(block.data, self.is_vw)
                self.report.found.labels = guessed if wanted == "auto" else wanted
            self.parser = self._new_parser()
        if block.after_long_line:
            self.parser.line += 1
            too_long = long_line(self.options.longest_line)
            problem = BadLine(self.path, self.parser.line, *too_long)
            if not self.options.skip_bad:
                raise problem
            self.report.add_bad(problem)

    def _new_parser(self) -> Any:
        options = self.options
        common = {
            "float32": options.dtype == np.float32,
            "names": self.report.found.labels == "text",
            "several": options.multilabel,
            "skip_bad": options.skip_bad,
        }
        if self.is_vw:
            return core().TextParser.vw(
                bits=options.hash_bits, need_labels=options.unlabelled == "error", **common
            )
        if options.zero_based != "auto":
            self.report.found.zero_based = bool(options.zero_based)
        first_index = int(self.report.found.zero_based is False)
        return core().TextParser.svmlight(
            first_index=first_index,
            n_features=self._limit(first_index),
            widest=self._widest(first_index),
            **common,
        )

    def _limit(self, first_index: int) -> int:
        if self.options.n_features is None or self.options.unseen == "ignore":
            return UNLIMITED
        return self.options.n_features + self._undecided(first_index)

    def _widest(self, first_index: int) -> int:
        if self.options.widest is None:
            return UNLIMITED
        return self.options.widest + self._undecided(first_index)

    def _undecided(self, first_index: int) -> int:
        """Return 1 while the base is not known, since the last index may then be the width."""
        return int(first_index == 0 and self.report.found.zero_based is None)

    def _decide_base(self, parsed: dict[str, Any]) -> None:
        """Without an index 0 among the first rows, indices start at 1."""
        if parsed["largest"] < 0:
            return
        self.report.found.zero_based = parsed["smallest"] == 0
        first_index = int(not self.report.found.zero_based)
        if first_index:
            parsed["indices"] -= 1
            parsed["largest"] -= 1
        limits = self._limit(first_index), self._widest(first_index)
        self.parser.set_first_index(first_index, *limits)

    def _batch(self, parsed: dict[str, Any]) -> Batch:
        options = self.options
        seen = options.n_features or self.report.n_features
        width = options.n_hashed if self.is_vw else seen
        values, indices, indptr = parsed["values"], parsed["indices"], parsed["indptr"]
        if parsed["largest"] >= width:
            values, indices, indptr = self._without_unseen(parsed, width)
        shape = (len(indptr) - 1, width)
        X = SparseRows(values, indices, indptr, shape, is_sorted=parsed["sorted"])
        return Batch(X, label_arrays.as_array(parsed), parsed["weights"] if self.is_vw else None)

    def _without_unseen(self, parsed: dict[str, Any], width: int) -> tuple[Any, Any, Any]:
        if self.options.unseen == "error":
            raise BadLine(
                self.path,
                int(self.parser.line),
                f"an index is beyond n_features={width}, since an index 0 says that indices start "
                "at 0",
                "; raise {n_features}, or leave it out",
            )
        kept = parsed["indices"] < width
        before = np.concatenate(([0], np.cumsum(kept)))
        return parsed["values"][kept], parsed["indices"][kept], before[parsed["indptr"]]

    def _raise_or_count(self) -> None:
        new = int(self.parser.bad) - self.n_seen_bad
        if not new:
            return
        problems = [self._problem(*each) for each in self.parser.problems()[self.n_seen_bad :]]
        self.n_seen_bad += new
        if self.parser.stopped:
            raise problems[0]
        self.report.add_bad(*problems, count=new)

    def _problem(self, line: int, column: int, word: bytes, reason: str) -> BadLine:
        text = word.decode("utf-8", "backslashreplace")
        if reason == TOO_WIDE:
            first_index = int(self.report.found.zero_based is not True)
            columns = int(text.lstrip("'").partition(":")[0]) + 1 - first_index
            reason = (
                f"asks for {columns:,} columns, but a model in the memory of this machine has at "
                f"most {self.options.widest:,}; expected a smaller index; pass {{skip_bad=True}} "
                "to leave such lines out"
            )
        return BadLine(self.path, line, text, f" {reason}", column=column)
