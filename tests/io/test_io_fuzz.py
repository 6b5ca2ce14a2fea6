"""Thousands of generated files are read as scikit-learn and Python's csv and json read them."""

import csv
import io
import json
import math
import random

import numpy as np
import pytest
from file_helpers import collect

import aggro
from aggro.io import BadLine

NUMBERS = ["0", "1", "-1", "+2", "2.5", ".5", "5.", "1e3", "-1E-3", "1e-400", "007", "123456789012"]
SEPARATORS = [" ", "  ", "\t", " \t "]


def svmlight_line(draw):
    """A line that scikit-learn reads, or rejects."""
    if draw.random() < 0.1:
        return draw.choice(["", "  ", "# note", "\r", "1 # 2:3", "1 1:x", "1 1", "x 1:1", "1 -1:2"])
    columns = sorted(draw.sample(range(1, 40), draw.randrange(6)))
    words = [draw.choice(NUMBERS), *(f"{j}:{draw.choice(NUMBERS)}" for j in columns)]
    if draw.random() < 0.1:
        words.insert(1, f"qid:{draw.randrange(9)}")
    return draw.choice(SEPARATORS).join(words) + draw.choice(["", "", " ", "\r", " # x 1:y"])


def test_svmlight_is_read_like_scikit_learn():
    datasets = pytest.importorskip("sklearn.datasets")
    draw = random.Random(0)
    agreed = rejected = 0
    for _ in range(2000):
        text = "\n".join(svmlight_line(draw) for _ in range(draw.randrange(1, 5)))
        data = (text + draw.choice(["", "\n"])).encode()
        try:
            X, y = datasets.load_svmlight_file(io.BytesIO(data))
        except ValueError:
            with pytest.raises(BadLine):
                aggro.io.load_svmlight(io.BytesIO(data))
            rejected += 1
            continue
        ours, labels = aggro.io.load_svmlight(io.BytesIO(data))
        assert ours.shape == X.shape
        np.testing.assert_array_equal(ours.toarray(), X.toarray())
        np.testing.assert_array_equal(labels, y)
        agreed += 1
    assert agreed > 1000
    assert rejected > 100


FIELDS = [
    "a",
    "",
    "x y",
    "é",
    'say "hi"',
    "1,5",
    "two\nlines",
    '"',
    "\r\n",
    "1.5",
    "NA",
    " b ",
    "\t",
]


def test_csv_is_read_like_python(tmp_path):
    draw = random.Random(1)
    path = tmp_path / "data.csv"
    for _ in range(400):
        width = draw.randrange(1, 4)
        names = ["y", *(f"c{j}" for j in range(1, width))]
        rows = [[draw.choice(FIELDS) for _ in names] for _ in range(draw.randrange(1, 6))]
        stream = io.StringIO(newline="")
        end = draw.choice(["\n", "\r\n"])
        quoting = draw.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
        writer = csv.writer(stream, lineterminator=end, quoting=quoting)
        writer.writerows([names, *rows])
        mark = draw.choice([b"", b"\xef\xbb\xbf"])
        path.write_bytes(mark + stream.getvalue().encode())
        kinds = dict.fromkeys(names[1:], "category")
        settings = {"label": "y", "labels": "text", "columns": kinds, "missing": "zero"}
        size = draw.choice([1, 7, 30, 1 << 20])
        reader = aggro.io.read(path, skip_bad=True, batch_bytes=size, hash_bits=20, **settings)
        batches = list(reader)
        kept = [row for row in rows if row[0] not in ("", "NA")]
        assert [label for batch in batches for label in batch.y] == [row[0] for row in kept]
        assert reader.n_bad == len(rows) - len(kept)
        X = [row for batch in batches for row in batch.X] if width > 1 else []
        for ours, row in zip(X, kept, strict=width > 1):
            pairs = zip(names[1:], row[1:], strict=True)
            wanted = [f"{name}={value}" for name, value in pairs if value not in ("", "NA")]
            assert sorted(ours.indices) == sorted(aggro.io.hash_names(wanted, 20))


def test_csv_numbers_are_read_like_pandas(tmp_path):
    pandas = pytest.importorskip("pandas")
    draw = random.Random(2)
    path = tmp_path / "data.csv"
    for _ in range(300):
        rows = [
            [draw.choice([*NUMBERS, '"3"']) for _ in "abc"] for _ in range(draw.randrange(1, 9))
        ]
        path.write_text(
            "\n".join(["a,b,c", *map(",".join, rows)]) + draw.choice(["", "\n", "\n\n"])
        )
        X, _, _ = collect(path, batch_rows=draw.choice([None, 1, 3]))
        expected = pandas.read_csv(path, dtype=str).map(float).to_numpy()
        np.testing.assert_array_equal(X, expected)


VALUES = [0, 1, -2.5, 1e300, True, False, "x", "", "é", None, [1], {"z": 1.5}, {"k": "v"}, 10**400]
LINES = ["", "  ", "{", "[1]", "3", '{"y": 1', "\x00", '{"y": "\ud83d"}']


def test_json_is_read_like_python(tmp_path):
    draw = random.Random(3)
    path = tmp_path / "data.jsonl"
    for _ in range(400):
        lines, kept = [], []
        for _ in range(draw.randrange(1, 6)):
            if draw.random() < 0.2:
                lines.append(draw.choice(LINES))
                continue
            record = {key: draw.choice(VALUES) for key in draw.sample("abc", draw.randrange(4))}
            record["y"] = draw.choice([1, 2.5, -3])
            lines.append(json.dumps(record))
            if all(_is_usable(value) for value in record.values()):
                kept.append(record)
        path.write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))
        settings = {"label": "y", "columns": {"*": "hashed"}, "hash_bits": 20, "skip_bad": True}
        reader = aggro.io.read(path, batch_bytes=draw.choice([1, 20, 1 << 20]), **settings)
        batches = list(reader)
        assert [float(label) for batch in batches for label in batch.y] == [r["y"] for r in kept]
        bad = sum(not line.isspace() and line != "" for line in lines) - len(kept)
        assert reader.n_bad == bad
        rows = [row for batch in batches for row in batch.X]
        for ours, record in zip(rows, kept, strict=True):
            wanted = dict(_features({k: v for k, v in record.items() if k != "y"}))
            columns = aggro.io.hash_names(list(wanted), 20).tolist()
            stored = dict(zip(ours.indices.tolist(), ours.data.tolist(), strict=True))
            assert stored == dict(zip(columns, wanted.values(), strict=True))


def _is_usable(value):
    if isinstance(value, dict):
        return all(map(_is_usable, value.values()))
    if isinstance(value, (list, type(None))):
        return False
    return isinstance(value, str) or abs(value) < 10**308


def _features(record, prefix=""):
    for key, value in record.items():
        if isinstance(value, dict):
            yield from _features(value, f"{prefix}{key}.")
        elif isinstance(value, str):
            yield f"{prefix}{key}={value}", 1.0
        else:
            assert math.isfinite(value)
            yield f"{prefix}{key}", float(value)
