"""All table formats give the same columns for the same rows."""

import json

import numpy as np
import pytest
from file_helpers import collect

import aggro
from aggro.io.columns import OTHERS

pa = pytest.importorskip("pyarrow")
feather = pytest.importorskip("pyarrow.feather")
parquet = pytest.importorskip("pyarrow.parquet")

ROWS = {
    "city": ["rome", "paris", "07", "Æble"],
    "size": [1.5, -2.0, 0.0, 1e300],
    "y": ["spam", "ham", "spam", "ham"],
    "body": ["Hello hello world", "the cat", "ΟΔΟΣ İstanbul", "x"],
    "count": [3, 2, 9007199254740993, 0],
    "ok": [True, False, True, True],
}
FORMATS = ["csv", "tsv", "parquet", "arrow", "arrows", "jsonl"]
SETTINGS = {"label": "y", "text": "body", "hash_bits": 14}


def write(path, columns=ROWS):
    """Write a table in the format that the name says."""
    table, kind = pa.table(columns), path.suffix
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if kind == ".parquet":
        parquet.write_table(table, path)
    elif kind == ".arrow":
        feather.write_feather(table, path, compression="uncompressed")
    elif kind == ".arrows":
        with pa.ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table)
    elif kind == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        comma = "," if kind == ".csv" else "\t"
        lines = [comma.join(columns), *(comma.join(map(str, row.values())) for row in rows)]
        path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def tables(tmp_path):
    return {kind: write(tmp_path / f"data.{kind}") for kind in FORMATS}


@pytest.mark.parametrize("columns", [["count"], {"count": "number"}, {"count": "hashed"}])
def test_named_weight_is_also_a_feature_in_all_formats(tables, columns):
    for path in tables.values():
        reader = aggro.io.read(path, label="y", weight="count", columns=columns, hash_bits=14)
        (batch,) = reader
        X = batch.X if isinstance(batch.X, np.ndarray) else batch.X.toarray()
        assert batch.weights.tolist() == X.sum(axis=1).tolist()


def test_keys_under_a_named_key_are_features_except_the_weight(tmp_path):
    rows = [{"y": k, "a": {"w": 1 + k, "x": 2.0, "z": "q"}} for k in range(3)]
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    reader = aggro.io.read(path, label="y", weight="a.w", columns=["a"])
    (batch,) = reader
    assert batch.weights.tolist() == [1, 2, 3]
    assert sorted(reader.names) == ["a.z=q"] and batch.X.sum(axis=1).tolist() == [[3.0]] * 3


def test_kinds_are_the_same_in_all_formats(tables):
    expected = {"city": "category", "size": "number", "count": "number", "ok": "number",
                "body": "text"}  # fmt: skip
    for path in tables.values():
        reader = aggro.io.read(path, **SETTINGS)
        assert reader.columns is None
        list(reader)
        assert reader.columns == expected
        X, y, _ = collect(path, **SETTINGS)
        assert X.shape == (4, 3 + 2**14)
        assert X[:, :3].tolist() == [[1.5, 3, 1], [-2, 2, 0], [0, 2**53, 1], [1e300, 0, 1]]
        words = ["city=rome", "city=07", "city=Æble", "body=hello", "body=οδοσ", "body=istanbul"]
        counts = X[:, 3 + aggro.io.hash_names(words, 14)]
        assert counts.tolist() == [
            [1, 0, 0, 2, 0, 0], [0] * 6, [0, 1, 0, 0, 1, 1], [0, 0, 1, 0, 0, 0]
        ]  # fmt: skip
        assert y == ROWS["y"]


@pytest.mark.parametrize("learned", FORMATS)
def test_columns_found_in_one_format_read_another(tables, learned):
    reader = aggro.io.read(tables[learned], **SETTINGS)
    list(reader)
    expected, _, _ = collect(tables[learned], **SETTINGS)
    for path in tables.values():
        X, y, _ = collect(path, **{**SETTINGS, "text": (), "columns": reader.columns})
        np.testing.assert_array_equal(X, expected)
        assert y == ROWS["y"]


@pytest.mark.parametrize("kind", FORMATS)
def test_kind_is_kept_for_later_files(tmp_path, kind):
    """Digits alone in the second file; the first said that they are names."""
    write(tmp_path / f"1.{kind}", {"y": [1, 0], "zip": ["A1", "07"], "n": [1, 2]})
    write(tmp_path / f"2.{kind}", {"y": [1, 0], "zip": ["33", "07"], "n": [3, 4]})
    settings = {"label": "y", "hash_bits": 12}
    reader = aggro.io.read(tmp_path / f"*.{kind}", **settings)
    for _ in range(2):
        X = np.vstack([batch.X.toarray() for batch in reader])
        names = 1 + aggro.io.hash_names(["zip=A1", "zip=07", "zip=33"], 12)
        assert X[:, names].tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 0]]
        assert X[:, 0].tolist() == [1, 2, 3, 4]


def test_numbers_alone_are_dense(tmp_path):
    columns = {"b": [1.5, 0.0], "y": [1, 0], "a": [2, 3]}
    for kind in FORMATS:
        path = write(tmp_path / f"n.{kind}", columns)
        (batch,) = aggro.io.read(path, label="y", hash_bits=4)
        assert isinstance(batch.X, np.ndarray)
        closed = {"b": "number", "a": "number"}
        assert collect(path, label="y", columns=closed)[0].tolist() == [[1.5, 2], [0, 3]]


def test_late_keys_of_json_tables_are_ignored(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"y": 1, "a": 2}\n' * 70_000 + '{"y": 0, "a": 1, "late": 3}\n')
    reader = aggro.io.read(path, label="y")
    assert list(reader)[-1].X[-1].tolist() == [1]
    assert reader.columns == {"a": "number"}


def test_late_keys_of_irregular_json_are_hashed_in_every_format(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"y": 1}\n' + '{"y": 1, "a": 2}\n' * 70_000 + '{"y": 0, "late": 3, "name": "x"}\n'
    )
    reader = aggro.io.read(path, label="y", hash_bits=12)
    last = list(reader)[-1].X[-1].toarray()[0]
    assert reader.columns == {"a": "number", OTHERS: "hashed"}
    places = 1 + aggro.io.hash_names(["late", "name=x"], 12)
    assert last[places].tolist() == [3, 1]
    for kind in FORMATS:
        table = write(tmp_path / f"t.{kind}", {"name": ["x"], "y": [0], "late": [3]})
        X, _, _ = collect(table, label="y", hash_bits=12, columns=reader.columns)
        np.testing.assert_array_equal(X[0], last)


@pytest.mark.parametrize("kind", FORMATS)
def test_missing_requested_column_is_rejected(tmp_path, kind):
    path = write(tmp_path / f"t.{kind}", {"y": [1, 0], "a": [1, 2]})
    features = {"a": "number", "b": "category"}
    with pytest.raises(aggro.io.ReadingError, match="'b'") as caught:
        list(aggro.io.read(path, label="y", columns=features))
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("kind", FORMATS)
def test_strings_in_a_column_of_numbers_are_bad(tmp_path, kind):
    path = write(tmp_path / f"t.{kind}", {"y": [1, 0, 1], "a": ["one", "two", "3"]})
    reader = aggro.io.read(path, label="y", columns={"a": "number"}, skip_bad=True)
    kept = sum(batch.n_rows for batch in reader)
    assert (kept, reader.n_bad) == ((0, 3) if kind == "jsonl" else (1, 2))
    assert "'one'" in str(reader.bad_lines[0])


def test_unknown_kind_is_rejected(tmp_path):
    path = write(tmp_path / "t.csv", {"y": [1], "a": [1]})
    with pytest.raises(ValueError, match=r"columns.*='numbers' is not valid"):
        aggro.io.read(path, columns={"a": "numbers"})


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@pytest.mark.parametrize("features", [None, {OTHERS: "hashed"}, {"a": "number"}])
def test_values_beyond_float32_are_rejected(tmp_path, kind, features):
    path = write(tmp_path / f"t.{kind}", {"y": [1, 0], "a": [1e30, -1e39]})
    reader = aggro.io.read(path, label="y", columns=features, dtype="float32", skip_bad=True)
    assert sum(batch.n_rows for batch in reader) == 1
    assert reader.bad_lines[0].line == (3 if kind == "csv" else 2)
    assert "finite float32" in str(reader.bad_lines[0])


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_typed_tables_keep_the_type_of_labels(tmp_path, kind):
    types = {
        "int8": pa.array([1, None, -3], pa.int8()),
        "uint64": pa.array([1, None, 2**64 - 1], pa.uint64()),
        "float": pa.array([1.5, float("nan"), 2.5]), "bool": pa.array([True, None, False]),
        "decimal": pa.array([1, None, 2], pa.decimal128(5)),
        "dictionary": pa.array(["a", None, "b"]).dictionary_encode(),
        "large": pa.array(["a", None, "b"]).cast(pa.large_string()),
    }  # fmt: skip
    for name, column in types.items():
        path = write(tmp_path / f"{name}.{kind}", {"y": column, "a": [1, 2, 3]})
        reader = aggro.io.read(path, label="y", skip_bad=True)
        y = [label.item() for batch in reader for label in batch.y]
        assert y == [value for value in column.to_pylist() if value is not None and value == value]
        assert (reader.n_bad, reader.bad_lines[0].line, reader.bad_lines[0].unit) == (1, 2, "row")
    for column in (pa.array([[1]]), pa.array([1], pa.timestamp("s"))):
        path = write(tmp_path / f"odd.{kind}", {"y": column, "a": [1]})
        with pytest.raises(aggro.io.ReadingError, match="column 'y' is of type"):
            list(aggro.io.read(path, label="y"))


def test_duplicate_columns_of_parquet_are_rejected(tmp_path):
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    parquet.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(aggro.io.ReadingError, match="two columns are called 'a'"):
        list(aggro.io.read(tmp_path / "t.parquet"))


BAD_LABELS = ["[1]", '{"a": 1}', "NaN", "Infinity", "1e999", '"spam"', "true", "1" * 30, "null"]


@pytest.mark.parametrize("label", BAD_LABELS)
def test_invalid_json_labels_are_rejected(tmp_path, label):
    path = tmp_path / "a.jsonl"
    rows = '{"y": 1, "a": 2}\n' * 70_000 + f'{{"y": {label}, "a": 2}}\n' + '{"y": 0, "a": 0}\n'
    path.write_text(rows)
    with pytest.raises(aggro.io.BadLine, match=r"line 70001: .*'y'"):
        list(aggro.io.read(path, label="y"))
    reader = aggro.io.read(path, label="y", skip_bad=True)
    assert sum(batch.n_rows for batch in reader) == 70_001
    assert [bad.line for bad in reader.bad_lines] == [70_001]


@pytest.mark.parametrize("value", ["1" * 400, "-" + "1" * 5000, "1e400", "-Infinity"])
def test_huge_json_numbers_are_rejected(tmp_path, value):
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"a": 1}}\n{{"a": {value}}}\n{{"a": 12345678901234567890}}\n')
    reader = aggro.io.read(path, skip_bad=True)
    (batch,) = reader
    assert batch.X[:, 0].tolist() == [1, 12345678901234567890.0]
    assert [bad.line for bad in reader.bad_lines] == [2]


def test_lone_surrogates_in_json_are_accepted(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"t": "Ab \\ud83d É", "c": "\\ud83d"}\n')
    X, _, _ = collect(path, text="t", hash_bits=12)
    assert (
        X[0, aggro.io.hash_names(["t=ab", "t=\ud83d", "t=é", "c=\ud83d"], 12)].tolist() == [1] * 4
    )
