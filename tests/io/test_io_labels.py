"""Labels are classes or values by the same rule in every interface."""

import numpy as np
import pytest

import aggro
from aggro.cli import main
from aggro.cli.model import load_model
from aggro.io import batch as labels
from aggro.io.batch import Batch


@pytest.mark.parametrize(
    ("y", "continuous"),
    [
        ([1.0, 2.0], False),
        ([1.0, 2.5], True),
        (["a", "b"], False),
        ([True, False], False),
        (np.arange(20), False),
        (np.arange(21), True),
        (np.arange(2000) % 200, False),
        (np.arange(2009) % 201, True),
        (np.arange(2010) % 201, False),
        (np.arange(-10.0, 11.0), True),
        ([np.nan, 0.5], False),
        ([], False),
        (np.r_[np.zeros(labels.MOST_INSPECTED - 1), 0.5], True),
        (np.r_[np.zeros(labels.MOST_INSPECTED), 0.5], False),
    ],
)
def test_classes_and_values_are_distinguished(y, continuous):
    assert labels.looks_continuous(np.array(y)) is continuous


@pytest.mark.parametrize("rows", [1, 7, 5000, 20_000])
def test_batch_size_does_not_change_the_inspected_labels(rows):
    y = np.arange(25_000)
    cut = [
        Batch(np.ones((len(part), 1)), part, None)
        for part in np.split(y, range(rows, 25_000, rows))
    ]
    first, batches = labels.first_labels(cut)
    np.testing.assert_array_equal(first, y[: labels.MOST_INSPECTED])
    np.testing.assert_array_equal(np.concatenate([batch.y for batch in batches]), y)


def test_large_rows_limit_the_inspected_labels():
    drawn = []

    def wide():
        for number in range(100):
            drawn.append(number)
            yield Batch(np.ones((1, 1 << 20)), np.array([1.0]), None)

    _, batches = labels.first_labels(wide())
    assert len(drawn) <= 8
    assert sum(batch.n_rows for batch in batches) == 100


def test_rows_without_a_single_label_have_no_task():
    for y in (None, [(1.0,), (2.0, 3.0)]):
        first, batches = labels.first_labels([Batch(np.ones((2, 1)), y, None)])
        assert first is None
        assert len(list(batches)) == 1


CASES = {
    "150 whole numbers that repeat": np.arange(3000) % 150,
    "150 whole numbers that do not": np.arange(300) % 150,
    "fractions": np.arange(60) / 4,
    "two classes": np.arange(50) % 2,
    "fractions after the first mebibyte": np.r_[np.arange(12_000) % 2, 0.5],
}


@pytest.mark.parametrize("y", CASES.values(), ids=CASES)
@pytest.mark.parametrize("kind", ["svm", "csv", "vw"])
def test_train_and_sweep_detect_the_same_task(tmp_path, y, kind):
    patterns = {"svm": "{0} {1}:1 9:{2}", "csv": "{0},{1},{2}", "vw": "{0} |a f{1}:1 x:{2}"}
    lines = [patterns[kind].format(label, i % 7 + 1, i % 5) for i, label in enumerate(y.tolist())]
    path = tmp_path / f"data.{kind}"
    path.write_text("\n".join((["y,a,b"] if kind == "csv" else []) + lines) + "\n")
    more = ["--hash-bits", "6", *(["--label", "y"] if kind == "csv" else [])]
    assert main(["train", str(path), "-o", str(tmp_path / "m"), "--quiet", *more]) == 0
    trained = load_model(str(tmp_path / "m"))[0]
    label = "y" if kind == "csv" else None
    reader = aggro.io.read(path, batch_rows=100, label=label, hash_bits=6)
    swept = aggro.sweep(reader, C=0.1)
    assert trained.regression == type(swept.model()).__name__.endswith("Regressor")
    assert trained.regression == labels.looks_continuous(y)


def test_one_line_without_a_label_does_not_make_a_regression(tmp_path, capsys):
    path = tmp_path / "data.vw"
    path.write_text("1 |a b\n-1 |a c\n| d\n" * 20)
    assert main(["train", str(path), "-o", str(tmp_path / "m"), "--quiet"]) == 1
    assert "data.vw, line 3, column 1: '|' starts a line without a label" in capsys.readouterr().err
    with pytest.raises(aggro.io.BadLine, match=r"data\.vw, line 3"):
        aggro.sweep(path)
    assert main(["train", str(path), "-o", str(tmp_path / "m"), "--quiet", "--skip-bad"]) == 0
    assert load_model(str(tmp_path / "m"))[0].classes.tolist() == [-1, 1]
    assert main(["predict", str(tmp_path / "m"), str(path), "-o", str(tmp_path / "p")]) == 0
    assert len((tmp_path / "p").read_text().split()) == 60
