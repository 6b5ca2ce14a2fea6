"""``aggro convert``: turn data into svmlight text or into a cache of parsed batches."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from aggro.cli.console import Console
from aggro.cli.metrics import label_text
from aggro.cli.options import add_reading, new_parser
from aggro.cli.reading import Reading
from aggro.files import Batch, Reader
from aggro.files.sources import CACHE_SUFFIX

EXAMPLES = """
aggro convert data.csv data.svm --label price
aggro convert data.parquet data.svm --label kind --text body --hash-bits 20
aggro convert data.svm data.svm.aggrocache
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = new_parser(
        "convert", "Turn data into svmlight text or, for names in .aggrocache, a cache.", EXAMPLES
    )
    parser.add_argument("data", metavar="IN", help="file, folder or pattern; - for standard input")
    parser.add_argument("output", metavar="OUT", help="- for standard output")
    add_reading(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Convert, a batch at a time."""
    reading = Reading.from_arguments(args)
    reading.check_label([args.data])
    if args.output.endswith(CACHE_SUFFIX):
        reader = reading.open([args.data], skip_bad=args.skip_bad, cache=args.output)
        for _ in reader:
            pass
    else:
        reader = reading.open([args.data], skip_bad=args.skip_bad, cache=args.cache)
        _write_text(reader, args.output)
    console = Console(bar=False)
    console.note(f"{reader.n_rows:,} examples, {reader.n_features:,} features")
    console.tell_bad_lines(reader)
    return 0


def _write_text(reader: Reader, path: str) -> None:
    if path == "-":
        sys.stdout.writelines(_text(reader))
        return
    if Path(path).exists() and path in reader.files:
        raise ValueError(f"{path} is the input too; give another output.")
    with Path(path).open("w", encoding="utf-8") as stream:
        stream.writelines(_text(reader))


def _text(reader: Reader) -> Iterator[str]:
    for batch in reader:
        if batch.weights is not None and (batch.weights != 1).any():
            raise ValueError("svmlight has no weights of examples; convert data without them.")
        yield "".join(_lines(batch))


def _lines(batch: Batch) -> Iterator[str]:
    """Yield svmlight lines, features counted from 1; values read back as the same numbers."""
    indptr, indices, values = _entries(batch.X)
    entries = [f"{i}:{v!r}" for i, v in zip((indices + 1).tolist(), values.tolist(), strict=True)]
    labels = ["0"] * batch.n_rows if batch.y is None else map(label_text, batch.y.tolist())
    for label, start, stop in zip(labels, indptr[:-1].tolist(), indptr[1:].tolist(), strict=True):
        if not label or any(letter.isspace() or letter in "#:" for letter in label):
            raise ValueError(f"The label {label!r} cannot stand in an svmlight file.")
        yield " ".join([label, *entries[start:stop]]) + "\n"


def _entries(X: Any) -> tuple[Any, Any, Any]:
    if hasattr(X, "indptr"):
        X.sort_indices()
        return X.indptr, X.indices, X.data
    rows, columns = np.nonzero(X)
    indptr = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=X.shape[0]))))
    return indptr, columns, X[rows, columns]
