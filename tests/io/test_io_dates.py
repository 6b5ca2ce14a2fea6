"""Dates and times become numbers: years, and the cycles of year, week and day."""

import datetime
import json

import numpy as np
import pytest
from file_helpers import collect

import aggro
from aggro.io.columns import numeric_names
from aggro.io.strings import DATE_PARTS, date_numbers, is_date

START = datetime.datetime(2021, 3, 1)


def times(n, step=3, seed=0):
    order = np.random.default_rng(seed).permutation(n).tolist()
    return [START + datetime.timedelta(days=step * i, hours=i % 24) for i in order]


def write_csv(path, cells):
    rows = [f"{i % 2},{cell},{i % 7}" for i, cell in enumerate(cells)]
    path.write_text("\n".join(["y,when,a", *rows]) + "\n")
    return path


DATES = [
    *("2024-02-29", "2024/2/29", "2024-02-29 23:59", "2024-02-29T01:02:03.5Z"),
    " 2024-02-29 00:00:00+01:00",
]
OTHERS = [
    *("2023-02-29", "2024-13-01", "2024-1", "20240131", "2024-02/01", "2024-02-29 25:00"),
    *("12:30", "x2024-01-01", ""),
]


@pytest.mark.parametrize(("text", "expected"), [(t, t in DATES) for t in DATES + OTHERS])
def test_dates_are_distinguished_from_other_cells(text, expected):
    assert is_date(text) == expected


def test_numbers_of_a_date_are_its_years_and_cycles():
    quarters = [(0, 0), (1, 1), (0, 2), (-1, 1)]  # sine, and one minus the cosine
    for hour, expected in zip((0, 6, 12, 18), quarters, strict=True):
        found = date_numbers([f"2000-01-03 {hour}:00"])[0]  # a Monday
        np.testing.assert_allclose(found[5:], expected, atol=1e-12)
    years = date_numbers(["2000-01-01", "2010-01-01", "1990-01-01"])[:, 0]
    np.testing.assert_allclose(years, [0, 10, -10], atol=0.01)
    monday, sunday = date_numbers(["2024-01-01", "2024-01-07"])
    np.testing.assert_allclose(monday[1:], 0, atol=1e-12)
    np.testing.assert_allclose(sunday[3:5], [np.sin(-2 * np.pi / 7), 1 - np.cos(2 * np.pi / 7)])


def test_a_column_of_dates_becomes_numbers_in_every_format(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    when = times(100)
    csv = write_csv(tmp_path / "t.csv", when)
    rows = [{"y": i % 2, "when": str(t), "a": i % 7} for i, t in enumerate(when)]
    jsonl = tmp_path / "t.jsonl"
    jsonl.write_text("".join(json.dumps(row) + "\n" for row in rows))
    table = {"y": [row["y"] for row in rows], "when": when, "a": [row["a"] for row in rows]}
    parquet.write_table(pa.table(table), tmp_path / "t.parquet")
    strings = {**table, "when": [str(t) for t in when]}
    parquet.write_table(pa.table(strings), tmp_path / "strings.parquet")
    days = {**table, "when": pa.array([t.date() for t in when])}
    parquet.write_table(pa.table(days), tmp_path / "days.parquet")
    expected = np.column_stack([table["a"], date_numbers(strings["when"])])
    for path in (csv, jsonl, tmp_path / "t.parquet", tmp_path / "strings.parquet"):
        reader = aggro.io.read(path, label="y")
        X = np.vstack([batch.X for batch in reader])
        np.testing.assert_array_equal(X, expected)
        assert reader.columns == {"when": "date", "a": "number"}
        assert numeric_names(reader.columns) == ["a", *(f"when ({part})" for part in DATE_PARTS)]
        again, _, _ = collect(csv, label="y", columns=reader.columns)
        np.testing.assert_array_equal(again, X)
    X, _, _ = collect(tmp_path / "days.parquet", label="y")
    assert not X[:, -2:].any()  # no time of day


def test_rising_dates_lose_their_trend_unless_they_are_named(tmp_path):
    path = write_csv(tmp_path / "t.csv", sorted(times(100)))
    reader = aggro.io.read(path, label="y", uninformative="ignore")
    with pytest.warns(UserWarning, match="'when' only rises .* only its cycles count"):
        (batch,) = reader
    assert reader.columns == {"when": "cycle", "a": "number"}
    whole, _, _ = collect(path, label="y", columns=["when", "a"], uninformative="ignore")
    np.testing.assert_array_equal(batch.X, np.delete(whole, 1, axis=1))


def test_gaps_and_malformed_dates(tmp_path):
    cells = [str(each) for each in times(100)]
    cells[10], cells[20] = "", "yesterday"
    path = write_csv(tmp_path / "t.csv", cells)
    with pytest.raises(
        aggro.io.BadLine, match=r"line 12: column 'when' is missing.*missing='zero'"
    ):
        collect(path, label="y")
    with pytest.raises(
        aggro.io.BadLine, match=r"line 22: column 'when' is 'yesterday'; expected a date"
    ):
        collect(path, label="y", missing="zero")
    reader = aggro.io.read(path, label="y", missing="zero", skip_bad=True)
    X = np.vstack([batch.X for batch in reader])
    assert X.shape == (99, 8)
    assert not X[10, 1:].any()
    assert reader.n_bad == 1


def test_dates_may_be_read_as_categories(tmp_path):
    path = write_csv(tmp_path / "t.csv", times(100))
    reader = aggro.io.read(path, label="y", categorical="when")
    list(reader)
    assert reader.columns == {"when": "category", "a": "number"}


def test_text_models_read_dates_of_frames_and_files_alike(tmp_path):
    when = [str(each) for each in times(300)]
    kinds = ["spam" if int(t[11:13]) < 12 else "ham" for t in when]  # at night
    path = tmp_path / "t.csv"
    rows = [f"{k},{t},hello word{i % 5}" for i, (k, t) in enumerate(zip(kinds, when, strict=True))]
    path.write_text("\n".join(["kind,when,body", *rows]) + "\n")
    columns = {"body": "text", "when": "date"}
    model = aggro.TextClassifier(columns=columns)
    frame = {"body": [f"hello word{i % 5}" for i in range(300)], "when": when}
    model.partial_fit(frame, kinds)
    other = aggro.TextClassifier(columns=columns)
    for X, y, _ in aggro.io.read(path, label="kind", columns=columns).raw():
        other.partial_fit(X, y)
    np.testing.assert_array_equal(other.decision_function(frame), model.decision_function(frame))
    assert model.score(frame, kinds) > 0.9
    row = {"body": "hello", "when": "2024-01-01 03:00"}
    words = dict(model.explain(row)["spam"].words)
    assert "when (day, sin)" in words
    assert model.predict_one(row) == "spam"
    assert model.predict_one({"body": "hello", "when": None}) in ("spam", "ham")
    with pytest.raises(ValueError, match="column 'when' must hold dates, but row 0 is 'soon'"):
        model.predict([{"body": "hello", "when": "soon"}])


def test_missing_values_of_every_kind_count_as_nothing():
    columns = {"body": "text", "size": "number", "city": "category", "when": "date"}
    cells = [(f"w{i % 3}", float(i % 5), f"c{i % 2}", f"2024-01-{i % 28 + 1}") for i in range(100)]
    rows = [dict(zip(columns, row, strict=True)) for row in cells]
    model = aggro.TextClassifier(columns=columns).partial_fit(rows, [i % 2 for i in range(100)])
    empty = {"body": "", "size": 0.0, "city": None, "when": "2000-01-01"}
    for missing in (None, float("nan")):
        found = model.decision_function([dict.fromkeys(columns, missing)])
        assert found == model.decision_function([{**empty, "when": missing}])
        assert model.decision_function([{**rows[1], "size": missing}]) == model.decision_function(
            [{**rows[1], "size": 0.0}]
        )


@pytest.mark.parametrize("name", ["later.csv", "later.jsonl"])
def test_absent_dates_of_irregular_json_keep_their_columns(tmp_path, name):
    rows = [{"when": f"2024-01-{i % 28 + 1:02d}", "a": i, f"k{i % 3}": "x"} for i in range(60)]
    (tmp_path / "first.jsonl").write_text("\n".join(map(json.dumps, rows)))
    first = aggro.io.read(tmp_path / "first.jsonl", hash_bits=4)
    (width,) = {batch.X.shape[1] for batch in first}
    lines = {"later.csv": "a,k1\n2,x\n", "later.jsonl": '{"a": 2, "k1": "x"}\n'}
    (tmp_path / name).write_text(lines[name])
    later = aggro.io.read(tmp_path / name, columns=first.columns, hash_bits=4, missing="zero")
    (batch,) = later
    assert batch.X.shape == (1, width) and batch.X.nnz == 2
