"""svmlight and Vowpal Wabbit text, as batches or as a whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from itertools import islice, pairwise
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from aggro import _core
from aggro.io.batch import Batch, Report, SparseRows
from aggro.io.options import UNLIMITED, BadLine, Options, ReadingError, naming
from aggro.io.sources import (
    Block,
    PathLike,
    blocks_of,
    check_not_packed,
    long_line,
    open_bytes,
    read_ahead,
    whole_lines,
)

LABELS_INSPECTED = 20
TOO_WIDE = "needs more columns than there is memory for weights"  # the message of the core


def batches(path: str, options: Options, report: Report) -> Iterator[Batch]:
    """Yield the batches of one svmlight or Vowpal Wabbit file."""
    lines = _Lines(path, options, report)
    with closing(blocks_of(path, options)) as blocks:
        for block in blocks:
            yield from lines.add(block)
    yield from lines.rest()


def _load(stream: IO[bytes], name: str, options: Options) -> dict[str, Any]:
    """Return all rows of an open svmlight stream, as the parser's arrays."""
    lines = _Lines(name, options, Report())
    blocks = read_ahead(whole_lines(stream, options.batch_bytes, options.longest_line))
    with closing(blocks):
        for block in blocks:
            lines.feed_all(block)
    return lines.take()


class _Lines:
    """The state of the parser of one file."""

    def __init__(self, path: str, options: Options, report: Report) -> None:
        self.path = path
        self.options = options
        self.report = report
        self.is_vw = options.format == "vw"
        self.most_rows = options.batch_rows or UNLIMITED
        self.n_seen_bad = 0
        self.parser: Any = None

    def add(self, block: Block) -> Iterator[Batch]:
        """Parse a block and yield the batches it completes; raise at the first bad line."""
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
        """Yield the rows that are parsed but not yet yielded."""
        if self.parser is not None and self.parser.rows:
            yield self._batch(self.take())

    def take(self) -> dict[str, Any]:
        """Return the parser's arrays, with indices from 0, and empty it."""
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
                guessed = guess(block.data, self.is_vw)
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
            return _core.TextParser.vw(
                bits=options.hash_bits, need_labels=options.unlabelled == "error", **common
            )
        if options.zero_based != "auto":
            self.report.found.zero_based = bool(options.zero_based)
        first_index = int(self.report.found.zero_based is False)
        n_features, widest = self._limits(first_index)
        return _core.TextParser.svmlight(
            first_index=first_index, n_features=n_features, widest=widest, **common
        )

    def _limits(self, first_index: int) -> list[int]:
        """Return the limits of indices; while the base is unknown, the last may be the width."""
        more = int(first_index == 0 and self.report.found.zero_based is None)
        options = self.options
        most = options.n_features if options.unseen == "error" else None
        return [UNLIMITED if each is None else each + more for each in (most, options.widest)]

    def _decide_base(self, parsed: dict[str, Any]) -> None:
        """Determine the base: without an index 0 in the first rows, indices start at 1."""
        if parsed["largest"] < 0:
            return
        self.report.found.zero_based = parsed["smallest"] == 0
        first_index = int(not self.report.found.zero_based)
        if first_index:
            parsed["indices"] -= 1
            parsed["largest"] -= 1
        self.parser.set_first_index(first_index, *self._limits(first_index))

    def _batch(self, parsed: dict[str, Any]) -> Batch:
        options = self.options
        seen = options.n_features or self.report.n_features
        width = options.n_hashed if self.is_vw else seen
        values, indices, indptr = parsed["values"], parsed["indices"], parsed["indptr"]
        if parsed["largest"] >= width:
            values, indices, indptr = self._without_unseen(parsed, width)
        shape = (len(indptr) - 1, width)
        X = SparseRows(values, indices, indptr, shape, is_sorted=parsed["sorted"])
        return Batch(X, as_array(parsed), parsed["weights"] if self.is_vw else None)

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


def load_svmlight(
    path: PathLike | IO[bytes],
    n_features: int | None = None,
    dtype: DTypeLike = np.float64,
    zero_based: bool | Literal["auto"] = "auto",
    multilabel: bool = False,
    *,
    labels: Literal["auto", "number", "text"] = "number",
    query_id: bool = False,
) -> tuple[Any, ...]:
    r"""Read an svmlight file as (X, y), as `sklearn.datasets.load_svmlight_file` does, but faster.

    Repeated indices of a line are summed and unsorted ones are sorted, which scikit-learn rejects;
    NaN and infinity are rejected. Index arrays are int32 where they fit. With `query_id`, a third
    array holds the qid of each row, -1 where a line has none.

    >>> import io
    >>> from aggro.io import load_svmlight
    >>> X, y = load_svmlight(io.BytesIO(b"1 1:0.5 3:2\n-1 2:1 # a comment\n"))
    >>> X.toarray(), y
    (array([[0.5, 0. , 2. ],
           [0. , 1. , 0. ]]), array([ 1., -1.]))
    """
    options = Options(
        format="svmlight",
        labels=labels,
        multilabel=multilabel,
        dtype=np.dtype(dtype),
        n_features=n_features,
        zero_based=zero_based,
    )
    if isinstance(path, str | os.PathLike):
        name = os.fspath(path)
        check_not_packed(name)
        with naming(name), open_bytes(name) as stream:
            parsed = _load(stream, name, options)
    else:
        name = str(getattr(path, "name", "stream"))
        parsed = _load(path, name, options)
    width = _width(parsed, n_features, name)
    arrays = (parsed["values"], parsed["indices"], parsed["indptr"])
    shape = (len(parsed["indptr"]) - 1, width)
    X = SparseRows(*arrays, shape, is_sorted=parsed["sorted"]).to_scipy()
    X.sort_indices()
    result = (X, as_array(parsed))
    return (*result, parsed["queries"]) if query_id else result


def _width(parsed: dict[str, Any], n_features: int | None, name: str) -> int:
    needed = max(int(parsed["largest"]) + 1, 1)
    if n_features is not None and n_features < needed:
        raise ReadingError(
            name,
            f"n_features={n_features}, but the file has {needed} features",
            "; raise {n_features}, or leave it out",
        )
    return n_features or needed


# -- labels --


def guess(data: memoryview, is_vw: bool) -> Literal["number", "text"]:
    r"""Return "text" if none of the first labels is a number, else "number".

    >>> guess(memoryview(b"spam 1:2\nham 3:4\n"), is_vw=False)
    'text'
    """
    found = list(
        islice(filter(None, (_first_label(line, is_vw) for line in _lines(data))), LABELS_INSPECTED)
    )
    return "text" if found and not any(_is_number(label) for label in found) else "number"


def _lines(data: memoryview) -> list[bytes]:
    return bytes(data[: 1 << 16]).split(b"\n")


def _first_label(line: bytes, is_vw: bool) -> bytes:
    if is_vw:
        head, bar, _ = line.partition(b"|")
        head = head.partition(b"\t")[2] if b"\t" in head else head
        words = head.split()
        is_label = (
            bar
            and words
            and not words[0].startswith(b"'")
            and (len(words) > 1 or head[-1:].isspace())
        )
        return words[0] if is_label else b""
    words = line.partition(b"#")[0].split(maxsplit=1)
    return words[0] if words and b":" not in words[0] else b""


def _is_number(label: bytes) -> bool:
    try:
        return bool(np.isfinite([float(part) for part in label.split(b",")]).all())
    except ValueError:
        return False


def as_array(parsed: dict[str, Any]) -> Any:
    """Return a parser's labels as floats, strings, or tuples if rows have several.

    >>> as_array({"labels": np.array([0, 1, 0]), "names": [b"a", b"b"], "label_begin": None})
    array(['a', 'b', 'a'], dtype='<U1')
    """
    flat: NDArray[Any] = parsed["labels"]
    if flat.dtype != np.float64:
        names = [name.decode("utf-8", "backslashreplace") for name in parsed["names"]]
        flat = np.array(names or [""], dtype=np.str_)[flat]
    begin = parsed["label_begin"]
    if begin is None:
        return flat
    values = flat.tolist()
    return [tuple(sorted(values[start:stop])) for start, stop in pairwise(begin.tolist())]
