"""Errors of malformed input: place, reason, advice."""

import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import aggro
from aggro import _core

SVMLIGHT = [
    (b"1 1:x", 3, "'1:x' has no finite decimal number"),
    (b"1 1:", 3, "'1:' has no finite"),
    (b"1 1:2:3", 3, "'1:2:3' has no finite"),
    (b"1 1:1e", 3, "has no finite"),
    (b"1 1:nan", 3, "has no finite"),
    (b"1 1:-inf", 3, "has no finite"),
    (b"1 1:1e999", 3, "too large"),
    (b"1 7", 3, "'7' has no colon"),
    (b"1 2:1 a:1", 7, "'a:1' does not start with a feature index"),
    (b"1 :1", 3, "does not start with a feature index"),
    (b"1 -3:1", 3, "'-3:1' has a negative index"),
    (b"1 1234567890123456789:1", 3, "beyond 63 bits"),
    (b"1 0:1", 3, "zero_based=True"),
    (b"1 9999:1", 3, "beyond n_features"),
    (b"1 1\x00:1", 3, "'1\\x00:1' has no colon"),
    (b"spam 1:1", 1, "'spam' is not a number"),
    (b"nan 1:1", 1, "'nan' is not a number"),
    (b"1e999 1:1", 1, "too large"),
    (b"1,2 1:1", 1, "'1,2' is not a number"),
    (b"1 qid:x 1:1", 3, "'qid:x' is not a query number"),
    (b"1 1:1e308 1:1e308", 3, "sum"),
    (b"1 2:" + b"x" * 99, 3, "xxx...'"),
]
VW = [
    (b"1 a b", 1, "no '|'"),
    (b"1|a b", 1, "touches the '|'"),
    (b"1 x |a b", 3, "'x' is not an importance"),
    (b"1 -1 |a b", 3, "'-1' is not an importance"),
    (b"1 1 x |a b", 5, "'x' is not an initial prediction"),
    (b"1 1 0.5 2 |a b", 9, "'2' is one word too many"),
    (b"1\t2\t3 |a b", 1, "'1' has a second tab"),
    (b"1 |a: b", 4, "namespace weight"),
    (b"1 |a:x b", 4, "namespace weight"),
    (b"1 |:2 b", 4, "namespace weight"),
    (b"1 |a b:inf", 6, "no usable value"),
    (b"1 |a b: c", 6, "'b:' has a colon and no value"),
    (b"1 |a b:|c d", 6, "has a colon and no value"),
    (b"1 |a b:2x", 6, "no usable value"),
    (b"1 |a b:NaN", 6, "no usable value"),
    (b"1 |a b:1e999", 6, "too large"),
]
CASES = [("svmlight", *case) for case in SVMLIGHT] + [("vw", *case) for case in VW]


@pytest.mark.parametrize(("format", "line", "column", "message"), CASES)
def test_error_names_the_bad_line(tmp_path, format, line, column, message):
    good = b"1 1:1\n" if format == "svmlight" else b"1 |a b\n"
    path = tmp_path / "data"
    path.write_bytes(good + b"\n" + line + b"\n" + good)
    settings = {"format": format, "labels": "number", "zero_based": False, "n_features": 100}
    reader = iter(aggro.io.read(path, **settings))
    assert next(reader).n_rows == 1
    with pytest.raises(aggro.io.BadLine) as caught:
        next(reader)
    assert (caught.value.file, caught.value.line, caught.value.column) == (str(path), 3, column)
    assert message in str(caught.value)

    skipping = aggro.io.read(path, skip_bad=True, **settings)
    assert sum(batch.n_rows for batch in skipping) == 2
    assert (skipping.n_bad, skipping.bad_lines[0].line) == (1, 3)


def test_float32_has_its_own_limit(tmp_path):
    path = tmp_path / "a.svm"
    path.write_bytes(b"1 1:1e39\n")
    with pytest.raises(aggro.io.BadLine, match="float64"):
        list(aggro.io.read(path, dtype="float32"))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bad_lines_do_not_count_for_the_width(tmp_path, dtype):
    path = tmp_path / "a.svm"
    path.write_bytes(b"1 1:1\n1 9:1e38 9:9e38\n1 3000000000:1e999\n1 3000000000:-1e39 x\n")
    path.write_bytes(path.read_bytes() + b"1 8:1.7e308 8:1.7e308\n1 3000000000:x\n")
    reader = aggro.io.read(path, skip_bad=True, dtype=dtype)
    assert [batch.X.shape for batch in reader] == ([(1, 1)] if dtype == "float32" else [(2, 9)])


def test_a_wide_index_with_a_large_value(tmp_path):
    path = tmp_path / "a.svm"
    path.write_bytes(b"1 3000000000:1\n1 3000000000:1e39\n")
    with pytest.raises(aggro.io.BadLine, match=r"line 2, column 3: .* too large"):
        list(aggro.io.read(path, dtype="float32"))


def test_only_the_first_bad_lines_are_kept(tmp_path):
    path = tmp_path / "a.svm"
    path.write_bytes(b"1 1:1\n1 x\n" * 1000)
    reader = aggro.io.read(path, skip_bad=True, batch_bytes=1000)
    assert sum(batch.n_rows for batch in reader) == 1000
    assert (reader.n_rows, reader.n_bad, len(reader.bad_lines)) == (1000, 1000, 10)
    assert [bad.line for bad in reader.bad_lines] == list(range(2, 22, 2))


@pytest.mark.parametrize("format", ["svmlight", "jsonl"])
def test_endless_line_does_not_fill_the_memory(tmp_path, format):
    good = b"1 1:1\n" if format == "svmlight" else b'{"a": 1}\n'
    path = tmp_path / "data"
    path.write_bytes(good + b"1 " + b"1:1 " * 5000 + b"\n" + good + b"1 1:")
    settings = {"format": format, "longest_line": 2000, "batch_bytes": 500}
    with pytest.raises(aggro.io.BadLine, match="longest_line") as caught:
        list(aggro.io.read(path, **settings))
    assert caught.value.line == 2
    reader = aggro.io.read(path, skip_bad=True, **settings)
    assert sum(batch.n_rows for batch in reader) == 2
    assert [bad.line for bad in reader.bad_lines] == [2, 4]


def test_bad_lines_can_be_pickled():
    error = pickle.loads(pickle.dumps(aggro.io.BadLine("a", 3, "oops", column=4)))
    assert (str(error), error.column) == ("a, line 3, column 4: oops", 4)


@pytest.mark.parametrize(
    "settings",
    [
        {"format": "xml"},
        {"hash_bits": 31},
        {"batch_rows": 0},
        {"missing": "drop"},
        {"dtype": "int32"},
        {"zero_based": 2},
    ],
)
def test_options_are_validated(tmp_path, settings):
    (tmp_path / "a.svm").write_bytes(b"1 1:1\n")
    with pytest.raises(ValueError, match=f"{next(iter(settings))}=.*(is not valid|expected)"):
        aggro.io.read(tmp_path / "a.svm", **settings)


words = st.sampled_from(
    [
        b"1",
        b"-1",
        b"2:3",
        b"1:1e5",
        b"|",
        b"|a:2",
        b"x:y",
        b":",
        b"#",
        b"qid:1",
        b"\0",
        b"9" * 20,
        b"'t|",
        b"\r",
    ]
)
lines = st.one_of(
    st.lists(words).map(b" ".join),
    st.binary(max_size=30).map(lambda line: line.replace(b"\n", b"")),
)


def check_any_bytes(content, is_vw, names, several, float32, most_rows):
    common = {"float32": float32, "names": names, "several": several, "skip_bad": True}
    parser = (
        _core.TextParser.vw(bits=8, **common)
        if is_vw
        else _core.TextParser.svmlight(first_index=0, n_features=2**62, widest=2**62, **common)
    )
    data = memoryview(b"\n".join(content))
    rows = 0
    while len(data):
        used = parser.feed(data, True, most_rows)
        rows += parser.rows
        parsed = parser.take()
        assert len(parsed["indptr"]) <= most_rows + 1
        assert parsed["indptr"][-1] == len(parsed["indices"]) == len(parsed["values"])
        data = data[used:]
    assert rows + parser.bad <= len(content)


@given(
    st.lists(lines), st.booleans(), st.booleans(), st.booleans(), st.booleans(), st.integers(1, 4)
)
def test_any_bytes_give_rows_or_bad_lines(content, is_vw, names, several, float32, most_rows):
    check_any_bytes(content, is_vw, names, several, float32, most_rows)


def check_any_table(content, cut):
    """Any bytes give the same rows, in one block or in two."""

    def parsed(*blocks):
        parser = _core.CsvParser(",", [0, -1, 1], skip_bad=True, longest=100)
        left = b""
        for number, block in enumerate(blocks, 1):
            left += block
            left = left[parser.feed(left, number == len(blocks), 2**60) :]
        columns, lines = parser.take()
        strings = [(data.tobytes(), offsets.tolist()) for data, offsets in columns]
        return strings, lines.tolist(), parser.bad, parser.line, left

    cut %= len(content) + 1
    whole = parsed(content)
    assert whole == parsed(content[:cut], content[cut:])
    strings, lines, bad, line, left = whole
    assert left == b""
    assert len(lines) + bad <= line
    for data, offsets in strings:
        assert (offsets[-1], len(offsets)) == (len(data), len(lines) + 1)
        data.decode()


fields = st.sampled_from(
    [b"1", b"a", b"", b'"', b'""', b'"x,y"', b'"x\ny"', b",", b"\r", b"\n", b"\xff", b"\xc3\xa9"]
)


@given(st.lists(fields, max_size=30).map(b"".join), st.integers(0, 100))
def test_any_bytes_give_a_table_or_bad_lines(content, cut):
    check_any_table(content, cut)


SEEDS = Path(__file__).parents[2] / "qa" / "fuzz" / "seeds"


@pytest.mark.parametrize("seed", sorted(SEEDS.iterdir()), ids=lambda seed: seed.name)
def test_seeds_of_the_fuzzer_are_handled(seed):
    settings, cut, *content = seed.read_bytes()
    if settings & 64:
        check_any_table(bytes(content), cut)
        return
    lines = bytes(content).split(b"\n")
    check_any_bytes(lines, bool(settings & 8), bool(settings & 1), bool(settings & 2), False, 4)
