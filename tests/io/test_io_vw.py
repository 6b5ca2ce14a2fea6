"""Vowpal Wabbit's format: hashes, labels, special cases."""

import math

import numpy as np
import pytest
from file_helpers import collect
from hypothesis import given, settings
from hypothesis import strategies as st

import aggro
from aggro import _core

MASK = 2**18 - 1


def parse(line, **options):
    parser = _core.TextParser.vw(
        float32=False, names=False, several=False, skip_bad=False, bits=18, **options
    )
    parser.feed(line.encode(), True, 10)
    assert not parser.stopped, parser.problems()
    return parser.take()


def features(line):
    parsed = parse(line)
    return dict(zip(parsed["indices"].tolist(), parsed["values"].tolist(), strict=True))


def test_hashes_equal_vowpal_wabbit():
    assert _core.hash_name("a") == 1009084850
    assert _core.hash_name("x", 1009084850) & MASK == 55432
    assert _core.hash_name("12") == 12
    assert _core.hash_name("12", 100) == 112
    assert _core.hash_name("") == 0
    line = "1 2.0 'tag|a:0.5 x:2 y 12 :3 :4 foo:bar | z 7:0.5 | q |12 c"
    assert features(line) == {
        55432: 1.0, 42847: 0.5, 92606: 0.5, 92594: 1.5, 92595: 2.0, 178348: 1.0,
        170519: 1.0, 7: 0.5, 133608: 1.0, 80228: 1.0,
    }  # fmt: skip


name = st.text(
    st.characters(exclude_characters=" \t\r\n:|\0\v\f", exclude_categories=["Cs"]),
    min_size=1,
    max_size=12,
)
value = st.one_of(
    st.just(""), st.floats(-100, 100, width=32).map(lambda v: f":{v:.4f}"), name.map(":s{}".format)
)
feature = st.builds("{}{}".format, name, value)
space = st.builds(
    "|{}{} {}".format, name, st.sampled_from(["", ":0.5", ":2"]), st.lists(feature).map(" ".join)
)


@pytest.fixture(scope="module")
def whole_line():
    """A function from a line to Vowpal Wabbit's own reading of it: label, weight and features."""
    package = pytest.importorskip("vowpalwabbit")
    with package.Workspace("--quiet --noconstant -b 18") as workspace:

        def read(line):
            example = workspace.example(line)
            found = {}
            for index, weight in example.iter_features():
                found[index & MASK] = found.get(index & MASK, 0.0) + weight
            label = example.get_simplelabel_label()
            head = (None if label > 3e38 else label, example.get_simplelabel_weight(),
                    example.get_simplelabel_initial())  # fmt: skip
            workspace.finish_example(example)
            return head, found

        yield read


@pytest.fixture(scope="module")
def vowpal_wabbit(whole_line):
    """A function from a line to Vowpal Wabbit's own features."""
    return lambda line: whole_line(line)[1]


HEADS = [
    *["", "1 ", "-1.5 ", "1e1 ", "1 2 ", "1  0.5 ", " 1 ", "1 2 0.5 ", "1 2 -3 'tag", "1 'tag "],
    *["'tag", "tag", "1 tag", "1 2|", "1\t2 ", "\t1 2 ", "1 2\t", "x\t1 3 ", "\t", "1 \t2 "],
]
SPACES = ["|a", "|", "|a:2", "|a:.5", "|a:.", "|é", "|12"]
VALUES = [
    *["x", "x:.", "x:-", "x:-.", "x:+", "x:e5", "x:.e5", "x:1e", "x:1e-", "x:1e3", "x:1E-2"],
    *["x:.5", "x:5.", "x:-5", "x:+5", "x:0", "x:red", "x:-red", "x:.red", "x:--5", ":2", "é:2"],
    *["x:é", "12", "12:3", "x|b y", "x:2|b:3 y", "x\ty:2\tz", "x  y ", "# z", "x:r:s"],
]


@pytest.mark.parametrize("end", ["", "\r", "\n"])
@pytest.mark.parametrize("head", HEADS)
def test_heads_as_vowpal_wabbit_reads_them(whole_line, head, end):
    (label, weight, initial), expected = whole_line(f"{head}|a x{end}")
    parsed = parse(f"{head}|a x{end}")
    assert parsed["weights"].tolist() == [pytest.approx(weight)]
    assert parsed["initials"] == (initial != 0)
    (ours,) = parsed["labels"].tolist()
    assert math.isnan(ours) if label is None else ours == pytest.approx(label)
    assert dict(zip(parsed["indices"].tolist(), parsed["values"].tolist(), strict=True)) == expected


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("value", VALUES)
def test_values_as_vowpal_wabbit_reads_them(vowpal_wabbit, space, value):
    for line in (f"1 {space} {value} last", f"1 {space} first {value}"):
        expected, found = vowpal_wabbit(line), features(line)
        assert found.keys() == expected.keys()
        for index, weight in expected.items():
            assert found[index] == pytest.approx(weight, rel=1e-5)


@pytest.mark.parametrize("line", ["1 |a x:", "1 |a :", "1 |a:2 y x:", "1 |a x:\r"])
def test_colon_at_the_end_of_a_line_is_accepted(vowpal_wabbit, line):
    assert features(line) == vowpal_wabbit(line.rstrip())


def test_initial_predictions_are_counted(tmp_path):
    path = tmp_path / "a.vw"
    path.write_text("1 2 0.5 |a b\n1 1 0 |a b\n1 1 -3 'x|a b\n")
    reader = aggro.io.read(path)
    with pytest.warns(UserWarning, match="2 initial predictions were ignored"):
        list(reader)
    assert reader.n_initials == 2
    assert collect_quietly(path)[1:] == ([1, 1, 1], [2, 1, 1])


def collect_quietly(path):
    with pytest.warns(UserWarning, match="initial"):
        X, y, weights = collect(path)
    return X, y, weights.tolist()


@pytest.mark.parametrize("line", ["| x", "'tag |a x", "tag|a x", "1\t|a x"])
@pytest.mark.parametrize("good", ["1 |a b\n", "spam |a b\n"])
def test_lines_without_a_label_cannot_be_learned_from(tmp_path, line, good):
    path = tmp_path / "a.vw"
    path.write_text(good + line + "\n" + good)
    kept = aggro.io.read(path)
    assert sum(batch.n_rows for batch in kept) == 3
    with pytest.raises(aggro.io.BadLine, match=r"line 2, column 1: .* without a label"):
        list(kept.labelled())
    reader = aggro.io.read(path, unlabelled="error", skip_bad=True)
    assert (sum(batch.n_rows for batch in reader), reader.n_bad) == (2, 1)


@settings(deadline=None)
@given(spaces=st.lists(space, min_size=1, max_size=3))
def test_features_equal_vowpal_wabbit(vowpal_wabbit, spaces):
    line = "1 " + " ".join(spaces)
    expected, found = vowpal_wabbit(line), features(line)
    assert found.keys() == expected.keys()
    np.testing.assert_allclose(
        [found[k] for k in expected], list(expected.values()), rtol=1e-5, atol=1e-6
    )


def test_labels_and_weights_are_parsed(tmp_path):
    path = tmp_path / "a.vw"
    path.write_text(
        "1 |a b\n-1 0.5 |a b\n2 3 'tag|a b\n| b\n'tag |a b\ntag|a b\n1 2 'tag |a b\n2.5 tag|a b\n"
    )
    _, y, weights = collect(path)
    assert [label for label in y if not math.isnan(label)] == [1, -1, 2, 1, 2.5]
    assert [math.isnan(label) for label in y] == [False] * 3 + [True] * 3 + [False] * 2
    assert weights.tolist() == [1, 0.5, 3, 1, 1, 1, 2, 1]


def test_names_are_vw_labels(tmp_path):
    path = tmp_path / "a.vw"
    path.write_text("spam |a b\n'tag |a c\nham 2 |a b\n")
    _, y, weights = collect(path)
    assert y == ["spam", "", "ham"]
    assert weights.tolist() == [1, 1, 2]


def test_repeated_features_are_summed_and_zeros_omitted():
    assert features("1 | 3:1 4:0 3:2") == {3: 3.0}


def test_hash_names_equals_murmurhash():
    assert aggro.io.hash_names(["a", "12", "é"], bits=10).tolist() == [
        1009084850 % 1024, 12, _core.hash_name("é") % 1024,
    ]  # fmt: skip
