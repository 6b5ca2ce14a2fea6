"""Cases of truncated files, which raise or give all rows, and of forged model files."""

import bz2
import contextlib
import gzip
import hashlib
import json
import lzma
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import aggro
from aggro.io.sources import zstandard
from aggro.persistence import ModelFileError
from qa.stress.runs import Difference

NAMES = ("a", "b", "c")


def _svmlight(X, y):
    lines = [
        f"{label:g} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row.tolist()))
        for row, label in zip(X, y, strict=True)
    ]
    return "\n".join([*lines, ""]).encode()


def _vw(X, y):
    lines = [
        f"{label:g} | " + " ".join(f"{name}:{v!r}" for name, v in zip(NAMES, row, strict=True))
        for row, label in zip(X.tolist(), y, strict=True)
    ]
    return "\n".join([*lines, ""]).encode()


def _table(separator):
    def write(X, y):
        rows = [
            separator.join(map(repr, [*row, label]))
            for row, label in zip(X.tolist(), y.tolist(), strict=True)
        ]
        return "\n".join([separator.join([*NAMES, "y"]), *rows, ""]).encode()

    return write


def _jsonl(X, y):
    rows = [
        json.dumps({**dict(zip(NAMES, row, strict=True)), "y": label})
        for row, label in zip(X.tolist(), y.tolist(), strict=True)
    ]
    return "\n".join([*rows, ""]).encode()


def _arrow_table(X, y):
    import pyarrow as pa

    columns = dict(zip(NAMES, X.T, strict=True))
    return pa.table({**columns, "y": y})


def _parquet(X, y):
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(_arrow_table(X, y), sink, row_group_size=max(1, len(y) // 3))
    return sink.getvalue().to_pybytes()


def _ipc(kind):
    def write(X, y):
        import pyarrow as pa

        table, sink = _arrow_table(X, y), pa.BufferOutputStream()
        make = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
        with make(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=max(1, len(y) // 3))
        return sink.getvalue().to_pybytes()

    return write


def _zstd(data):
    module = zstandard("Writing")
    return module.compress(data)


TEXTS = {".svm": _svmlight, ".vw": _vw, ".csv": _table(","), ".tsv": _table("\t"), ".jsonl": _jsonl}
BINARIES = {".parquet": _parquet, ".arrow": _ipc("file"), ".arrows": _ipc("stream")}
COMPRESSIONS = {
    "": lambda data: data,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".lzma": lambda data: lzma.compress(data, lzma.FORMAT_ALONE),
    ".zst": _zstd,
}
ERRORS = (aggro.io.ReadingError, OSError, EOFError, ValueError)


@dataclass
class TruncatedTable:
    """A table of random numbers in a truncated file."""

    seed: int
    format: str
    compression: str
    rows: int
    share: float  # of the remaining bytes; 1.0: all but a few
    plan = ()

    def __str__(self):
        name = f"table{self.format}{self.compression}"
        return f"seed {self.seed}\n{self.rows} rows in {name}, cut off at {self.share:.4f}"

    def check(self):
        rng = np.random.default_rng(self.seed)
        X, y = rng.normal(size=(self.rows, 3)), rng.integers(0, 2, self.rows).astype(float)
        data = {**TEXTS, **BINARIES}[self.format](X, y)
        packed = COMPRESSIONS[self.compression](data)
        size = min(int(len(packed) * self.share), len(packed) - int(rng.integers(1, 5)))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"table{self.format}{self.compression}"
            path.write_bytes(packed)
            if _rows_of(path, self.format) != self.rows:
                raise Difference("the whole file is not read wholly")
            path.write_bytes(packed[:size])
            for cache in (None, f"{path}.aggrocache", f"{path}.aggrocache"):
                self._check_truncated(path, data, size, cache)

    def _check_truncated(self, path, data, size, cache):
        try:
            found = _rows_of(path, self.format, cache)
        except ERRORS:
            return
        complete = self.rows
        if self.format in TEXTS and not self.compression:  # missing lines cannot be detected
            header = self.format in (".csv", ".tsv")
            lines = [line for line in data[:size].split(b"\n") if line]
            complete = max(0, len(lines) - header)
        if found != complete:
            raise Difference(f"{size} bytes were read as {found} rows of {complete}")


def _rows_of(path, format, cache=None):
    named = {} if format in (".svm", ".vw") else {"label": "y"}
    reader = aggro.io.read(path, **named, **({"cache": cache} if cache else {}))
    return sum(batch.n_rows for batch in reader)


@dataclass
class TruncatedModel:
    """A truncated model file."""

    seed: int
    share: float
    plan = ()

    def __str__(self):
        return f"seed {self.seed}\na model file, cut off at {self.share:.4f}"

    def check(self):
        rng = np.random.default_rng(self.seed)
        X, y = rng.normal(size=(20, 3)), rng.integers(0, 2, 20)
        y[:2] = (0, 1)
        kinds = (aggro.PassiveAggressiveClassifier, aggro.AutoClassifier)
        model = kinds[rng.integers(len(kinds))](random_state=0).partial_fit(X, y)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.aggro"
            aggro.save(model, path)
            data = path.read_bytes()
            size = min(int(len(data) * self.share), len(data) - 1)
            path.write_bytes(data[:size])
            try:
                aggro.load(path)
            except ModelFileError:
                return
            raise Difference(f"{size} of {len(data)} bytes of a model file were loaded")


# -- model files whose arrays have another shape or type -----------------------------------------

SHAPES = {
    "one more dimension": lambda shape: [1, *shape],
    "one more dimension at the end": lambda shape: [*shape, 1],
    "transposed": lambda shape: shape[::-1],
    "flat": lambda shape: [int(np.prod(shape))],
}
TYPES = {"F64": "I64", "I64": "F64", "F32": "I32", "I32": "F32", "U8": "I8"}


@dataclass
class ForgedModel:
    """A model file with a valid checksum and an array of another shape or type."""

    seed: int
    kind: str
    change: str
    plan = ()

    def __str__(self):
        return f"seed {self.seed}\na file of a {self.kind}, an array {self.change}"

    def check(self):
        rng = np.random.default_rng(self.seed)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.aggro"
            aggro.save(MODELS[self.kind](rng), path)
            header, arrays = _parsed(path.read_bytes())
            path.write_bytes(_built(header, arrays))
            aggro.load(path)
            names = sorted(header.keys() - {"__metadata__"})
            for name in names:
                changed = dict(header[name])
                if self.change in SHAPES:
                    changed["shape"] = SHAPES[self.change](changed["shape"])
                else:
                    changed["dtype"] = TYPES.get(changed["dtype"], changed["dtype"])
                path.write_bytes(_built({**header, name: changed}, arrays))
                with contextlib.suppress(ModelFileError):
                    aggro.load(path)


def _parsed(content):
    """Return the header and the arrays of a model file, which is one of safetensors."""
    size = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + size]), content[8 + size :]


def _built(header, arrays):
    """Return a model file with a valid checksum."""

    def head(checksum):
        metadata = {**header["__metadata__"], "sha256": checksum}
        text = json.dumps({**header, "__metadata__": metadata}, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        return len(text).to_bytes(8, "little") + text

    return head(hashlib.sha256(head("0" * 64) + arrays).hexdigest()) + arrays


def _stream(rng):
    model = aggro.StreamClassifier("PA-I", C="auto")
    for k in range(20):
        model.learn_one({"a": rng.normal(), "b": "x"}, "pq"[k % 2])
    return model


def _fitted(estimator):
    def make(rng):
        X = rng.normal(size=(30, 3))
        return estimator.fit(X, (X[:, 0] > 0).astype(int))

    return make


MODELS = {
    "stream learner": _stream,
    "kernel": _fitted(aggro.KernelPassiveAggressiveClassifier()),
    "classifier": _fitted(aggro.PassiveAggressiveClassifier(probability=True)),
    "selection": _fitted(aggro.AutoClassifier(probability=True)),
    "text": lambda rng: aggro.TextClassifier(n_features=64).partial_fit(
        ["free money", "lunch"] * 5, ["spam", "ham"] * 5
    ),
}


def compose(seed, rng):
    """Return a case of a file that is truncated or forged."""
    share = float([rng.random(), 1.0][rng.integers(2)])
    if rng.random() < 0.1:
        return TruncatedModel(seed, share)
    if rng.random() < 0.05:
        change = [*SHAPES, "of another type"][rng.integers(len(SHAPES) + 1)]
        return ForgedModel(seed, list(MODELS)[rng.integers(len(MODELS))], change)
    format = list({**TEXTS, **BINARIES})[rng.integers(len(TEXTS) + len(BINARIES))]
    packings = list(COMPRESSIONS) if format in TEXTS else [""]
    rows = int(rng.choice([3, 200, 20_000], p=[0.4, 0.5, 0.1]))
    return TruncatedTable(seed, format, packings[rng.integers(len(packings))], rows, share)
