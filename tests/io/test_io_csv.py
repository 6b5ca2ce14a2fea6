"""Irregular CSV files are read correctly, or the error names the file and the line."""

import numpy as np
import pytest
from file_helpers import collect

import aggro

MEBIBYTE = 1 << 20


@pytest.fixture
def write(tmp_path):
    def write(content, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def check_bad(path, line, message, good=None, **settings):
    """A strict reading stops at the line; a lenient one counts it and has the good rows."""
    with pytest.raises(aggro.io.BadLine, match=message) as caught:
        list(aggro.io.read(path, **settings))
    assert (caught.value.file, caught.value.line, caught.value.unit) == (str(path), line, "line")
    reader = aggro.io.read(path, skip_bad=True, **settings)
    rows = sum(batch.n_rows for batch in reader)
    assert reader.bad_lines[0].line == line
    assert str(reader.bad_lines[0]) == str(caught.value)
    if good is not None:
        assert (rows, reader.n_bad) == good


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_byte_order_mark_is_skipped(write, end):
    path = write(b"\xef\xbb\xbf" + end.join(["y,a", "1,2", "0,3", ""]).encode())
    X, y, _ = collect(path, label="y")
    assert (X.tolist(), y) == ([[2], [3]], [1, 0])
    for name in ("a.svm", "a.jsonl"):
        content = b"1 1:2\n" if name == "a.svm" else b'{"a": 2}\n'
        marked = write(b"\xef\xbb\xbf" + content, name)
        assert collect(marked, hash_bits=4)[0][0, 0] == 2


@pytest.mark.parametrize("size", [5, 100, 4 << 20])
def test_quoted_line_ends_do_not_depend_on_blocks(write, size):
    text = 'y,t,a\n1,"one\n""two"", three\n",5\n0,x,6\n'
    X, y, _ = collect(write(text), label="y", text="t", hash_bits=10, batch_bytes=size)
    assert (X[:, 0].tolist(), y) == ([5, 6], [1, 0])
    words = aggro.io.hash_names(["t=one", "t=two", "t=three", "t=x"], 10) + 1
    assert X[:, words].tolist() == [[1, 1, 1, 0], [0, 0, 0, 1]]


def test_quoted_line_ends_beyond_the_first_mebibyte(write):
    rows = MEBIBYTE // 10
    text = "y,t,a\n" + '1,"a\nb, c",2.5\n' * rows + "0,d,x\n"
    check_bad(write(text), 2 * rows + 2, "column 'a' is 'x'", (rows, 1), label="y", text="t")


def test_unclosed_quote_costs_one_line(write):
    path = write('y,t\n1,a\n1,"b\n0,c\n0,d\n')
    check_bad(path, 3, "quote that is never closed", (3, 1), label="y", text="t")
    check_bad(path, 3, "quote that is never closed", (3, 1), label="y", text="t", batch_bytes=6)
    long = write('y,t\n1,a\n1,"b\n' + "0,c\n" * 5000)
    settings = {"label": "y", "text": "t", "longest_line": 3000, "batch_bytes": 1000}
    check_bad(long, 3, "longer than longest_line", (5001, 1), **settings)


def test_text_after_a_closing_quote_is_rejected(write):
    check_bad(write('a,b\n1,2\n"3"4,5\n6,7\n'), 3, "text after a closing quote", (2, 1))
    # The first quote is never closed; the next line is lost with it at most.
    check_bad(write('t,a\n"x,1\n"y",2\nz,3\n'), 2, "text after a closing quote", (2, 1), text="t")


@pytest.mark.parametrize("record", ["1", "1,2,3", "1,2,", '"1,2"'])
def test_wrong_number_of_fields_is_rejected(write, record):
    check_bad(write(f"a,b\n1,2\n\n{record}\n3,4\n"), 4, "expected 2, as in the first line", (2, 1))


def test_duplicate_column_names_are_rejected(write):
    with pytest.raises(aggro.io.ReadingError, match=r"data\.csv: two columns are called 'a'"):
        list(aggro.io.read(write("a,b,a\n1,2,3\n")))


@pytest.mark.parametrize("content", ["", "\n\n", "\ufeff"])
def test_empty_file_is_rejected(write, content):
    with pytest.raises(aggro.io.ReadingError, match=r"data\.csv: is empty; expected a table"):
        list(aggro.io.read(write(content)))
    assert list(aggro.io.read(write(content, "a.svm"))) == []
    assert list(aggro.io.read(write(content, "a.jsonl"))) == []


def test_header_alone_gives_no_rows(write):
    assert list(aggro.io.read(write("a,b"), label="a")) == []
    with pytest.raises(aggro.io.ReadingError, match="no column 'c'; its columns are 'a', 'b'"):
        list(aggro.io.read(write("a,b"), label="c"))


LATER = "1,0.5\n" * (MEBIBYTE // 6 + 10)


@pytest.mark.parametrize("label", ["spam", "true", "1e999", "", "nan", "9" * 30])
def test_later_labels_of_another_type_are_rejected(write, label):
    line = LATER.count("\n") + 2
    path = write(f"y,a\n{LATER}{label},1\n0,1\n")
    check_bad(path, line, "column 'y' is", (line - 1, 1), label="y")


def test_later_fractions_are_accepted_as_labels(write):
    batches = list(aggro.io.read(write(f"y,a\n{LATER}2.5,1\n"), label="y"))
    assert batches[0].y.dtype == np.int64
    assert batches[-1].y[-1] == 2.5


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("1 2 3", [1, 2, 3]),
        ("1 2.5 NA", [1.0, 2.5]),
        ("true False TRUE", [True, False, True]),
        ("1 x 2", ["1", "x", "2"]),
        ("9007199254740993 9007199254740992", [9007199254740993, 9007199254740992]),
        ("-9223372036854775808 9223372036854775807", [-(2**63), 2**63 - 1]),
        ("9223372036854775808 9223372036854775809", ["9223372036854775808", "9223372036854775809"]),
        ("-9223372036854775809 1", ["-9223372036854775809", "1"]),
    ],
)
def test_type_of_labels_is_detected(write, labels, expected):
    csv = write("y,a\n" + "".join(f"{label},1\n" for label in labels.split()))
    shown = [label.lower() if label.lower() in ("true", "false") else label
             for label in labels.split()]  # fmt: skip
    plain = [label if label[0].isdigit() or label[0] in "-tf" else f'"{label}"' for label in shown]
    plain = ["null" if label == '"NA"' else label for label in plain]
    json = write("".join(f'{{"y": {label}, "a": 1}}\n' for label in plain), "data.jsonl")
    for path in (csv, json):
        y = collect(path, label="y", skip_bad=True)[1]
        assert y == expected
        assert {type(label.item()) for label in y} == {type(label) for label in expected}


def test_numbers_beyond_two_to_the_53_are_rounded(write):
    X, _, _ = collect(write("a\n9007199254740993\n-123456789012345678901234567890\n"))
    assert X.tolist() == [[9007199254740992.0], [-1.2345678901234568e29]]


@pytest.mark.parametrize(
    "bad", [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\x80", b"\xf5\x80\x80\x80", b"\xe2\x28\xa1"]
)
@pytest.mark.parametrize("pad", [b"", b"x" * 50])
def test_invalid_utf_8_is_rejected(write, bad, pad):
    path = write(b"y,c\n1,a\n1," + pad + bad + pad + b"\n0,b\n")
    check_bad(path, 3, "not valid UTF-8", (2, 1), label="y")
    json = write(b'{"y": 1}\n{"y": 1, "c": "' + bad + b'"}\n{"y": 0}\n', "data.jsonl")
    check_bad(json, 2, "not valid UTF-8", (2, 1), label="y")
    with pytest.raises(aggro.io.BadLine, match=r"data\.csv, line 1: is not valid UTF-8"):
        list(aggro.io.read(write(b"y," + bad + b"\n1,2\n")))


def test_utf_8_of_all_lengths_is_accepted(write):
    letters = [
        "\u007f",
        "\u0080",
        "\u07ff",
        "\u0800",
        "\ud7ff",
        "\ue000",
        "\U00010000",
        "\U0010ffff",
    ]
    path = write("y,c\n" + "".join(f"{letter},1\n" for letter in letters))
    assert collect(path, label="y")[1] == letters


def test_line_numbers_count_skipped_records(write):
    text = 'a,b\n1,2\n\nx,1\n1\n"3\n4",5\n\n1,y\n7,8\n9\n'
    path = write(text)
    kinds = {"a": "number", "b": "number"}
    for size in (1, 8, 100):
        reader = aggro.io.read(path, columns=kinds, skip_bad=True, batch_bytes=size, batch_rows=2)
        assert sum(batch.n_rows for batch in reader) == 2
        assert [bad.line for bad in reader.bad_lines] == [4, 5, 6, 9, 11]
        assert reader.n_bad == 5


def test_rows_before_a_bad_line_are_yielded_first(write):
    for text, line in (("a\n1\n2\nx\n1,2\n", 4), ("a\n1\n2\n1,2\nx\n", 4)):
        reader = iter(aggro.io.read(write(text), columns={"a": "number"}))
        assert next(reader).X.tolist() == [[1], [2]]
        with pytest.raises(aggro.io.BadLine, match=f"line {line}"):
            next(reader)


def test_batch_rows_of_a_csv_is_exact(write):
    path = write("a\n" + "1\n" * 100)
    for size in (1, 7, 1000):
        counts = [batch.n_rows for batch in aggro.io.read(path, batch_rows=30, batch_bytes=size)]
        assert counts == [30, 30, 30, 10]


def test_error_names_a_damaged_compressed_file(write):
    path = write(b"\x1f\x8b\x08\x00garbage", "data.csv.gz")
    with pytest.raises(aggro.io.ReadingError, match=r"data\.csv\.gz: cannot be read"):
        list(aggro.io.read(path))
    path = write(b"no parquet", "data.parquet")
    with pytest.raises(aggro.io.ReadingError, match=r"data\.parquet: cannot be read"):
        list(aggro.io.read(path))


def test_line_numbers_count_a_line_that_is_too_long(tmp_path):
    lines = ["y,x", "1,2", "1," + "9" * 5000, "0,3", "0,3", "0,oops,1", "1,4"]
    path = tmp_path / "long.csv"
    path.write_text("\n".join(lines) + "\n")
    reader = aggro.io.read(path, label="y", longest_line=1000, skip_bad=True, batch_bytes=500)
    rows = sum(len(batch.y) for batch in reader)
    assert [bad.line for bad in reader.bad_lines] == [3, 6]
    assert rows == 4
