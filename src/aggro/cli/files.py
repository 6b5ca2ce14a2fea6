"""New files from others: ``aggro convert`` for data, ``aggro merge`` for models."""

from __future__ import annotations

import argparse
import contextlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from aggro.atomic import replacing
from aggro.cli.options import add_reading, new_parser, numbers
from aggro.cli.output import STANDARD_OUTPUT, Console, check_files, label_text, opened
from aggro.cli.reading import Reading
from aggro.io import Batch, Reader
from aggro.io.sources import CACHE_SUFFIX, COMPRESSIONS, compressor_of, format_of
from aggro.merging.models import merge
from aggro.persistence.record import write_record
from aggro.persistence.store import record_of

CONVERT_EXAMPLES = """
aggro convert data.csv data.svm --label price
aggro convert data.parquet data.svm --label kind --text body --hash-bits 20
aggro convert data.svm data.svm.aggrocache
"""


def convert_parser() -> argparse.ArgumentParser:
    """Return the parser of ``aggro convert``."""
    description = "Convert data to svmlight text or, for names in .aggrocache, to a cache."
    parser = new_parser("convert", description, CONVERT_EXAMPLES)
    parser.add_argument("data", metavar="IN", help="file, folder or pattern; - for standard input")
    parser.add_argument("output", metavar="OUT", help="- for standard output")
    add_reading(parser)
    return parser


def run_convert(args: argparse.Namespace) -> int:
    """Convert the data batch by batch."""
    cache = args.output.endswith(CACHE_SUFFIX)
    if not cache:
        check_name(args.output)
    check_files({"OUT": args.output}, [args.data], None if cache else args.cache)
    reading = Reading.from_arguments(args)
    reading.check_label([args.data])
    stored = args.output if cache else args.cache
    kept = "ignore" if cache else "keep"  # a cache contains the columns that aggro train reads
    reader = reading.open([args.data], skip_bad=args.skip_bad, cache=stored, uninformative=kept)
    if cache:
        for _ in reader:
            pass
    else:
        with _opened(args.output) as stream:
            stream.writelines(_text(reader))
    console = Console(bar=False)
    console.note(f"{reader.n_rows:,} examples, {reader.n_features:,} features")
    console.report_skipped_lines(reader)
    console.show_notes(reader)
    return 0


def check_name(path: str) -> None:
    """Raise if a name stands for another format than svmlight text, compressed or not."""
    plain = Path(path)
    if plain.suffix.lower() in COMPRESSIONS:
        plain = plain.with_suffix("")
        compressor_of(path)  # its package may be missing
    if plain.suffix == CACHE_SUFFIX or format_of(path) != "svmlight":
        raise ValueError(
            f"{path}: convert writes svmlight text, which may be compressed, or a cache; give a "
            f"name that ends in .svm, {', '.join(f'.svm{each}' for each in COMPRESSIONS)} or "
            f"{CACHE_SUFFIX}."
        )


@contextlib.contextmanager
def _opened(path: str) -> Iterator[IO[str]]:
    """Open a file for text, or standard output; the name determines the compression."""
    compress = compressor_of(path)
    if compress is None or path == STANDARD_OUTPUT:
        with opened(path) as stream:
            yield stream
        return
    with replacing(path) as raw, compress(raw) as inner:
        text = io.TextIOWrapper(inner, encoding="utf-8", newline="")
        yield text
        text.flush()
        text.detach()


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
            raise ValueError(f"The label {label!r} cannot be written to an svmlight file.")
        yield " ".join([label, *entries[start:stop]]) + "\n"


def _entries(X: Any) -> tuple[Any, Any, Any]:
    if hasattr(X, "indptr"):
        X.sort_indices()
        return X.indptr, X.indices, X.data
    rows, columns = np.nonzero(X)
    indptr = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=X.shape[0]))))
    return indptr, columns, X[rows, columns]


# -- merge ---------------------------------------------------------------------------------------

MERGE_EXAMPLES = """
aggro train monday.svm --mergeable -o monday.aggro
aggro train tuesday.svm --mergeable -o tuesday.aggro
aggro merge monday.aggro tuesday.aggro -o both.aggro
"""


def merge_parser() -> argparse.ArgumentParser:
    """Return the parser of ``aggro merge``."""
    parser = new_parser("merge", "Merge models that were trained separately.", MERGE_EXAMPLES)
    parser.add_argument("models", metavar="MODEL", nargs="+", help="model files of one kind")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="model to write")
    parser.add_argument(
        "--start", metavar="FILE", help="model that all of them were resumed from (default: none)"
    )
    parser.add_argument(
        "--weights",
        metavar="W,...",
        type=numbers,
        help="weight of each model (default: 1)",
    )
    return parser


def run_merge(args: argparse.Namespace) -> int:
    """Merge model files and write the result."""
    inputs = [*args.models, *([args.start] if args.start else [])]
    check_files({"--output": args.output}, inputs, None)
    record = record_of(merge(args.models, args.weights, start=args.start))
    write_record(record, args.output)
    learner = record.attributes.get("_learner")
    count = "" if learner is None else f" of {learner.examples:,} examples"
    Console(bar=False).note(f"{args.output}: {len(args.models)} models{count}")
    return 0
