"""The kind of a column is that of nearly all its cells; other cells are reported."""

import json
import warnings

import numpy as np
import pytest

import aggro
from aggro.io.columns import Contents
from aggro.io.strings import is_number_like

pa = pytest.importorskip("pyarrow")

MALFORMED = ["1_000", "0x10", "1\x00", "oops", "1,5", "12 apples"]


def numbers(n=3000, seed=0):
    return [f"{value:.4f}" for value in np.random.default_rng(seed).standard_normal(n)]


def table(path, values, name="a", n_classes=2):
    """Write a column with labels beside it, as csv, tsv or JSON lines; strings that are numbers
    become JSON numbers."""
    if path.suffix == ".jsonl":

        def cell(value):
            try:
                return float(value) if "_" not in value else value
            except ValueError:
                return value

        rows = [json.dumps({"y": i % n_classes, name: cell(v)}) for i, v in enumerate(values)]
        path.write_text("\n".join(rows) + "\n")
        return path
    mark = "\t" if path.suffix == ".tsv" else ","
    rows = [f'{i % n_classes}{mark}"{value}"' for i, value in enumerate(values)]
    path.write_text(f"y{mark}{name}\n" + "\n".join(rows) + "\n")
    return path


def rows_of(path, **options):
    reader = aggro.io.read(path, **options)
    return reader, sum(batch.n_rows for batch in reader)


@pytest.mark.parametrize("format", ["csv", "tsv", "jsonl"])
@pytest.mark.parametrize("cell", MALFORMED)
@pytest.mark.parametrize("place", [0, 1500, 2999])
def test_malformed_cell_is_reported(tmp_path, format, cell, place):
    values = numbers()
    values[place] = cell
    path = table(tmp_path / f"data.{format}", values)
    with pytest.raises(aggro.io.BadLine, match=r"skip_bad=True.*categorical") as raised:
        rows_of(path, label="y")
    assert raised.value.line == place + (1 if format == "jsonl" else 2)
    assert "'a' is " in str(raised.value)
    assert repr(cell) in str(raised.value)
    reader, n_rows = rows_of(path, label="y", skip_bad=True)
    assert (n_rows, reader.n_bad, reader.columns["a"]) == (2999, 1, "number")
    reader, n_rows = rows_of(path, label="y", categorical="a")
    assert (n_rows, reader.columns["a"]) == (3000, "category")


@pytest.mark.parametrize("format", ["csv", "jsonl"])
@pytest.mark.parametrize("gap", ["?", "NA", "-", " none "])
def test_gaps_in_numbers_are_missing_values(tmp_path, format, gap):
    values = numbers()
    values[::7] = [gap] * len(values[::7])
    path = table(tmp_path / f"data.{format}", values)
    with pytest.raises(aggro.io.BadLine, match="missing='zero'"):
        rows_of(path, label="y")
    reader, n_rows = rows_of(path, label="y", missing="zero")
    assert (n_rows, reader.columns["a"]) == (3000, "number")


@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_decimal_commas_are_malformed_numbers(tmp_path, format):
    values = [value.replace(".", ",") for value in numbers(400)]
    values[5] = "2" if format == "csv" else "2.0"
    path = table(tmp_path / f"data.{format}", values)
    with pytest.raises(aggro.io.BadLine, match="expected a number"):
        rows_of(path, label="y")


@pytest.mark.parametrize("format", ["csv", "jsonl"])
@pytest.mark.parametrize("cells", [["1", "2", "x", "3a"], ["0150", "SW1", "7", "N1", "5020"]])
def test_categories_with_values_like_numbers_still_work(tmp_path, format, cells):
    path = table(tmp_path / f"data.{format}", cells * 100)
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        reader, n_rows = rows_of(path, label="y")
    assert (n_rows, reader.columns["a"]) == (len(cells) * 100, "category")


def test_category_of_mostly_numbers_gives_a_warning(tmp_path):
    path = table(tmp_path / "data.csv", [*numbers(80), *["x"] * 20])
    with pytest.warns(UserWarning, match="'a': most values are numbers .not 'x'.*categorical"):
        reader, _ = rows_of(path, label="y")
    assert reader.columns["a"] == "category"
    rows_of(path, label="y", categorical=["a"])  # without a warning


@pytest.mark.parametrize("write", ["parquet", "arrow"])
def test_string_column_of_numbers_gives_a_warning(tmp_path, write):
    from pyarrow import feather, parquet

    data = pa.table({"y": [0, 1] * 100, "a": numbers(200)})
    path = tmp_path / f"data.{write}"
    (parquet.write_table if write == "parquet" else feather.write_feather)(data, str(path))
    with pytest.warns(UserWarning, match="'a': most values are numbers, but"):
        reader, _ = rows_of(path, label="y")
    assert reader.columns["a"] == "category"
    rows_of(path, label="y", columns={"a": "number"})


@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_malformed_label_is_reported(tmp_path, format):
    path = tmp_path / f"data.{format}"
    labels = [*map(str, range(300))]
    if format == "csv":
        labels[7] = "1_0"
        path.write_text("y,a\n" + "".join(f"{label},{i}\n" for i, label in enumerate(labels)))
    else:
        lines = [json.dumps({"y": "1_0" if i == 7 else i, "a": i}) for i in range(300)]
        path.write_text("\n".join(lines) + "\n")
    with pytest.raises(aggro.io.BadLine, match=r"'y' is '1_0'.*labels='text'"):
        rows_of(path, label="y")
    assert rows_of(path, label="y", skip_bad=True)[1] == 299
    assert rows_of(path, label="y", labels="text")[1] == 300


@pytest.mark.parametrize("role", ["columns", "text", "categorical"])
@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_label_cannot_be_a_feature(tmp_path, role, format):
    path = table(tmp_path / f"data.{format}", numbers(20))
    with pytest.raises(ValueError, match=f"{role}='y' is the column of the label"):
        aggro.io.read(path, label="y", **{role: ["a", "y"]})
    if role == "columns":
        with pytest.raises(ValueError, match="must not be learned from"):
            aggro.io.read(path, label="y", columns={"y": "category", "a": "number"})


def test_uninformative_columns_are_omitted_on_request(tmp_path):
    path = tmp_path / "data.csv"
    values = numbers(200)
    lines = [f"{i % 2},{i},{1e9 - 3 * i},7,u{i:x}-{i},{v}" for i, v in enumerate(values)]
    path.write_text("y,id,time,version,uuid,a\n" + "\n".join(lines) + "\n")
    kept, _ = rows_of(path, label="y")
    assert "ignored" not in kept.columns.values()
    reader = aggro.io.read(path, label="y", uninformative="ignore").without_scipy()
    assert {batch.X.shape[1] for batch in reader} == {1}
    kinds = dict.fromkeys(("id", "time", "version", "uuid"), "ignored")
    assert reader.columns == {**kinds, "a": "number"}
    assert len(reader.notes) == 4
    named, _ = rows_of(path, label="y", uninformative="ignore", columns=["id", "a"])
    assert named.columns == {"id": "number", "a": "number"}


def test_names_of_categories_are_known_after_a_pass_and_from_a_cache(tmp_path):
    path = table(tmp_path / "data.csv", ["Oslo", "Rome"] * 50, name="city")
    for _ in range(2):
        reader, _ = rows_of(path, label="y", cache=True)
        assert sorted(reader.names) == ["city=Oslo", "city=Rome"]


def test_contents_of_small_columns():
    assert Contents(np.arange(9.0), ["x"]).kind == "number"
    assert Contents(np.arange(8.0), ["x"]).kind == "category"
    assert Contents(np.arange(0.0), ["?"]).kind == "category"
    assert not any(map(is_number_like, ["10-20", "12:30", "1.2.3", "192.168.1.1", "2020-01-01"]))
