"""CSV, Parquet, Arrow and JSON lines."""

import gzip
import json
import subprocess
import sys

import numpy as np
import pytest
from file_helpers import collect

import aggro
from aggro.io.arrow import ArrowColumn

pa = pytest.importorskip("pyarrow")
feather = pytest.importorskip("pyarrow.feather")
parquet = pytest.importorskip("pyarrow.parquet")

COLUMNS = {
    "y": ["spam", "ham", "spam"],
    "age": [1.5, 2.0, 0.0],
    "count": [1, 2, 3],
    "ok": [True, False, True],
    "city": ["paris", "rome", "paris"],
    "bio": ["Hello hello world", "the cat", "ÉTÉ"],
}


@pytest.fixture(params=["csv", "tsv", "csv.gz", "parquet", "arrow", "arrows", "feather"])
def table_path(request, tmp_path):
    path = tmp_path / f"data.{request.param}"
    table = pa.table(COLUMNS)
    if request.param == "parquet":
        parquet.write_table(table, path, row_group_size=2)
    elif request.param in ("feather", "arrow"):
        feather.write_feather(table, path, compression="uncompressed")
    elif request.param == "arrows":
        with pa.ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table)
    else:
        comma = "\t" if request.param == "tsv" else ","
        rows = [COLUMNS.keys(), *zip(*COLUMNS.values(), strict=True)]
        data = (
            "".join(comma.join(map(str, row)) + "\n" for row in rows)
            .replace("True", "true")
            .replace("False", "false")
        )
        path.write_bytes(
            gzip.compress(data.encode()) if request.param.endswith("gz") else data.encode()
        )
    return path


def test_columns_of_numbers_give_a_dense_matrix(table_path):
    X, y, weights = collect(
        table_path, label="y", columns=["age", "count", "ok"], weight="count", dtype="float32"
    )
    assert X.dtype == np.float32
    assert X.tolist() == [[1.5, 1, 1], [2, 2, 0], [0, 3, 1]]
    assert y == ["spam", "ham", "spam"]
    assert weights.tolist() == [1, 2, 3]


def test_a_weight_may_be_zero_but_not_negative(tmp_path):
    path = tmp_path / "weights.csv"
    path.write_text("x,y,w\n1,0,0\n2,1,0.5\n")
    assert collect(path, label="y", weight="w")[2].tolist() == [0, 0.5]
    path.write_text("x,y,w\n1,0,0\n2,1,-0.5\n")
    with pytest.raises(ValueError, match=r"line 3.*weight that is not negative"):
        collect(path, label="y", weight="w")


@pytest.mark.parametrize("rows", [1, 2, None])
def test_strings_are_hashed(table_path, rows):
    X, _, _ = collect(table_path, label="y", text="bio", hash_bits=12, batch_rows=rows)
    assert X.shape == (3, 3 + 2**12)
    assert X[:, :3].tolist() == [[1.5, 1, 1], [2, 2, 0], [0, 3, 1]]
    words = ["city=paris", "city=rome", "bio=hello", "bio=world", "bio=the", "bio=cat", "bio=été"]
    counts = X[:, 3 + aggro.io.hash_names(words, 12)]
    assert counts.tolist() == [[1, 0, 2, 1, 0, 0, 0], [0, 1, 0, 0, 1, 1, 0], [1, 0, 0, 0, 0, 0, 1]]
    assert X[:, 3:].sum() == 9


def test_unknown_columns_are_named(table_path):
    with pytest.raises(ValueError, match="no column 'target'; its columns are 'y', 'age'"):
        list(aggro.io.read(table_path, label="target"))


def test_columns_of_unsupported_types_are_rejected(tmp_path):
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"when": pa.array([1], pa.duration("ms")), "a": [1]}), path)
    with pytest.raises(
        ValueError, match=r"'when' is of type duration\[ms\]; expected .* in columns"
    ):
        list(aggro.io.read(path))
    assert collect(path, columns=["a"])[0].tolist() == [[1]]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("column", ["a", "c"])
def test_missing_values_are_rejected_or_zero(tmp_path, kind, column):
    content = {"y": [1, 0, 1, 0], "a": [1.0, 2.0, 3.0, 4.0], "c": ["u", "v", "u", "v"]}
    content[column][2] = None
    path = tmp_path / f"a.{kind}"
    if kind == "csv":
        rows = zip(*content.values(), strict=True)
        path.write_text(
            "y,a,c\n"
            + "".join(",".join("" if v is None else str(v) for v in row) + "\n" for row in rows)
        )
    else:
        parquet.write_table(pa.table(content), path)
    reader = iter(aggro.io.read(path, label="y"))
    assert next(reader).n_rows == 2
    place = "line 4" if kind == "csv" else "row 3"
    with pytest.raises(aggro.io.BadLine, match=f"{place}: column '{column}' is missing"):
        next(reader)
    X, y, _ = collect(path, label="y", missing="zero", hash_bits=8)
    assert (X.shape, y) == ((4, 257), [1, 0, 1, 0])
    assert np.count_nonzero(X[2]) == 1
    skipping = aggro.io.read(path, label="y", skip_bad=True)
    assert sum(batch.n_rows for batch in skipping) == 3
    assert (skipping.n_bad, skipping.bad_lines[0].line) == (1, int(place[-1]))


def test_bad_csv_rows_are_located(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("y,a,b\n1,2,3\n1,2\n0,nan,4\n" + "1,5,6\n" * 50 + "1,inf,1\n")
    reader = aggro.io.read(path, label="y", skip_bad=True)
    assert sum(batch.n_rows for batch in reader) == 51
    assert reader.n_bad == 3
    with pytest.raises(
        aggro.io.BadLine, match="line 3: '1,2' starts a record of 2 fields; expected 3"
    ):
        list(aggro.io.read(path, label="y"))
    path.write_text("a\n" + "2\n" * 600_000 + "x\n")
    with pytest.raises(aggro.io.BadLine, match="line 600002: column 'a' is 'x'; expected a number"):
        list(aggro.io.read(path))


def test_csv_without_header_names_its_columns(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("1,2,3\n4,5,6\n")
    X, y, _ = collect(path, header=False, label="f2")
    assert (X.tolist(), y) == ([[1, 2], [4, 5]], [3, 6])


@pytest.mark.skipif(int(pa.__version__.split(".")[0]) < 17, reason="older pyarrow keeps more")
def test_parquet_memory_is_bounded(tmp_path):
    path = tmp_path / "large.parquet"
    numbers = np.random.default_rng(0).normal(size=(200_000, 20))
    parquet.write_table(
        pa.table({f"c{i}": numbers[:, i] for i in range(20)}), path, row_group_size=10_000
    )
    code = (
        "import sys\nimport aggro\nimport pyarrow\n"
        "n = sum(b.n_rows for b in aggro.io.read(sys.argv[1], batch_rows=1000))\n"
        "print(n, pyarrow.default_memory_pool().max_memory())"
    )
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, check=True)
    rows, most = map(int, done.stdout.split())
    assert rows == 200_000
    assert most < 12 << 20 < path.stat().st_size


def test_json_lines_are_read(tmp_path):
    path = tmp_path / "a.jsonl"
    records = [
        {"y": "a", "n": 2.5, "ok": True, "city": "rome", "deep": {"x": 1, "kind": "k"}},
        {"y": "b", "t": "Hi there hi", "7": 3},
    ]
    path.write_text("\n".join(map(json.dumps, records)) + "\n\n")
    X, y, _ = collect(path, label="y", text="t", hash_bits=16, missing="zero")
    assert X[:, :4].tolist() == [[2.5, 1, 1, 0], [0, 0, 0, 3]]  # n, ok, deep.x and 7
    names = ["city=rome", "deep.kind=k", "t=hi", "t=there"]
    assert X[:, 4 + aggro.io.hash_names(names, 16)].tolist() == [[1, 1, 0, 0], [0, 0, 2, 1]]
    assert X.shape == (2, 4 + 2**16)
    assert y == ["a", "b"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{bad", "expected one JSON object"),
        ("[1]", "a JSON list; expected an object"),
        ('{"a": 1}', "no 'y'; its keys are 'a'"),
        ('{"y": 1, "a": null}', "'a' is missing"),
        ('{"y": 1, "a": [1]}', "expected a finite number"),
        ('{"y": 1, "a": NaN}', "expected a finite number"),
        ("[" * 100_000, ""),
    ],
)
def test_bad_json_lines_are_located(tmp_path, line, message):
    path = tmp_path / "a.jsonl"
    path.write_text('{"y": 1, "a": 2}\n' + line + '\n{"y": 0, "a": 2}\n')
    reader = iter(aggro.io.read(path, label="y"))
    assert next(reader).n_rows == 1
    with pytest.raises(aggro.io.BadLine, match="line 2") as caught:
        next(reader)
    assert message in str(caught.value)
    skipping = aggro.io.read(path, label="y", skip_bad=True)
    assert sum(batch.n_rows for batch in skipping) == 2
    assert skipping.n_bad == 1


@pytest.mark.parametrize("kind", ["string", "large_string"])
def test_empty_arrow_column_without_offsets_is_read(kind):
    """The format allows that, and some writers do it."""
    column = pa.Array.from_buffers(getattr(pa, kind)(), 0, [None, None, pa.py_buffer(b"")])
    data, ends = ArrowColumn(column).strings()
    assert (data.tolist(), ends.tolist()) == ([], [0])
    data, ends = ArrowColumn(pa.array(["ab", "", "c"], getattr(pa, kind)())).strings()
    assert (data.tobytes()[: ends[-1]], ends.tolist()) == (b"abc", [0, 2, 2, 3])
