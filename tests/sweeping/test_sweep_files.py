"""A sweep over files equals the sweep over rows in memory, with few batches at a time."""

import weakref

import numpy as np
import pytest
import scipy.sparse as sp
from closeness import assert_close
from numpy.testing import assert_array_equal
from test_sweep import problem

import aggro
from aggro.io.batch import Batch
from aggro.io.reader import Reader

AXES = {"C": [0.03, 0.3], "metric": ["euclidean", "diagonal"]}


def write_svm(path, X, labels):
    """Write rows with exact numbers."""
    lines = [
        f"{label} " + " ".join(f"{j + 1}:{row[j].item()!r}" for j in np.flatnonzero(row))
        for label, row in zip(labels, X, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def same(one, two):
    """Assert that two sweeps have equal errors, curves and models."""
    assert [row.name for row in one.rows] == [row.name for row in two.rows]
    assert one.examples == two.examples
    for mine, other in zip(one.rows, two.rows, strict=True):
        assert mine.errors == other.errors and mine.updates == other.updates
        assert mine.losses == other.losses and mine.curve == other.curve
        assert_array_equal(one.model(mine).coef_, two.model(other).coef_)
        assert_array_equal(one.model(mine).intercept_, two.model(other).intercept_)
    assert one.best.name == two.best.name and str(one) == str(two)


@pytest.fixture
def svm(tmp_path):
    X, y = problem(n=400)
    X[:40, 8:] = 0  # the last columns appear late
    return write_svm(tmp_path / "data.svm", X, y), X, y


@pytest.mark.parametrize("passes", [1, 3])
@pytest.mark.parametrize(
    "axes",
    [
        AXES,
        {"C": 0.1, "batch_size": [1, 7, 64], "class_mean": [0.0, 0.1]},
        {"algorithm": ["SPA-I", "AROW"], "average": [False, True]},
        {"scale": ["none", "online", "standard"]},
    ],
    ids=str,
)
def test_files_give_the_same_sweep_as_arrays(svm, axes, passes):
    path, X, y = svm
    reader = aggro.io.read(path, batch_rows=33)
    same(
        aggro.sweep(reader, passes=passes, **axes),
        aggro.sweep(sp.csr_matrix(X), y.astype(float), passes=passes, **axes),
    )


def test_paths_patterns_and_lists_are_accepted(svm):
    path, X, y = svm
    lines = path.read_text().splitlines(keepends=True)
    for name, some in (("part-1.svm", lines[:150]), ("part-2.svm", lines[150:])):
        (path.parent / name).write_text("".join(some))
    expected = aggro.sweep(sp.csr_matrix(X), y.astype(float), **AXES)
    parts = [path.parent / "part-1.svm", str(path.parent / "part-2.svm")]
    for given in (path, str(path), parts, str(path.parent / "part-*.svm")):
        same(aggro.sweep(given, **AXES), expected)


def test_dense_float32_tables_with_two_classes_are_swept(tmp_path):
    X, y = problem(classes=2)
    X = X.astype(np.float32)
    table = "\n".join(
        ",".join(map(repr, [*row, int(c)])) for row, c in zip(X.tolist(), y, strict=True)
    )
    (tmp_path / "t.csv").write_text(",".join("abcdefghijkl") + ",y\n" + table + "\n")
    reader = aggro.io.read(tmp_path / "t.csv", label="y", batch_rows=50, dtype=np.float32)
    result = aggro.sweep(reader, **AXES)
    same(result, aggro.sweep(X, y, **AXES))
    assert result.model().coef_.dtype == np.float32


def test_regression_is_detected_from_the_labels(tmp_path):
    X, _ = problem()
    y = X @ np.arange(12.0) + 0.25
    reader = aggro.io.read(write_svm(tmp_path / "numbers.svm", X, y), batch_rows=64)
    result = aggro.sweep(reader, C=[0.01, 1.0])
    assert type(result.model()).__name__ == "PassiveAggressiveRegressor"
    same(result, aggro.sweep(sp.csr_matrix(X), y, C=[0.01, 1.0]))


def test_many_integers_are_a_regression_unless_task_says_otherwise(tmp_path):
    X, _ = problem()
    y = np.arange(300.0) % 150
    path = write_svm(tmp_path / "years.svm", X, y)
    found = {task: aggro.sweep(path, task=task) for task in (None, "multiclass")}
    assert type(found[None].model()).__name__ == "PassiveAggressiveRegressor"
    assert len(found["multiclass"].model().classes_) == 150


def test_string_labels_are_classes(tmp_path):
    X, y = problem()
    names = np.array(["cat", "hippopotamus", "ox"])[y]
    path = write_svm(tmp_path / "zoo.svm", X, names)
    result = aggro.sweep(aggro.io.read(path, batch_rows=20), C=0.1)
    assert_array_equal(result.model().classes_, ["cat", "hippopotamus", "ox"])
    alone = aggro.PassiveAggressiveClassifier(C=0.1, average=False).partial_fit(X, names)
    assert_close(result.model().coef_, alone.coef_, rtol=1e-12)


def test_several_labels_per_row_are_swept(tmp_path):
    X, _ = problem()
    marks = X @ np.random.default_rng(1).normal(size=(12, 3)) > 0.5
    labels = [",".join(map(str, np.flatnonzero(mark))) for mark in marks]
    path = write_svm(tmp_path / "several.svm", X, labels)
    reader = aggro.io.read(path, multilabel=True, batch_rows=30)
    result = aggro.sweep(reader, C=[0.1, 1.0])
    expected = aggro.sweep(sp.csr_matrix(X), marks.astype(int), C=[0.1, 1.0])
    assert [row.errors for row in result.rows] == [row.errors for row in expected.rows]
    assert_close(result.model().coef_, expected.model().coef_, rtol=1e-12)


def test_weights_in_files_are_used(tmp_path):
    X, y = problem()
    weights = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    lines = [
        f"{c} {w} | " + " ".join(f"f{j}:{float(v)!r}" for j, v in enumerate(row))
        for c, w, row in zip(y, weights, X, strict=True)
    ]
    (tmp_path / "weighted.vw").write_text("\n".join(lines) + "\n")
    reader = aggro.io.read(tmp_path / "weighted.vw", hash_bits=8, batch_rows=70)
    result = aggro.sweep(reader, C=[0.01, 0.1], batch_size=[1, 8])
    assert result.examples == np.count_nonzero(weights)
    hashed = sp.vstack([batch.X for batch in reader], format="csr")
    for row in result.rows:
        alone = aggro.PassiveAggressiveClassifier(average=False, **row.params)
        alone.partial_fit(hashed, y.astype(float), sample_weight=weights)
        assert_close(result.model(row).coef_, alone.coef_, rtol=1e-12)
        assert row.updates == [alone.n_updates_]
        assert_close(row.error, progressive_error(hashed, y.astype(float), weights, row.params))


def progressive_error(X, y, weights, params):
    """Return the weighted share of rows predicted wrong before their batch is learned."""
    rows, size = np.flatnonzero(weights), params["batch_size"]
    model = aggro.PassiveAggressiveClassifier(average=False, **params)
    model.partial_fit(X[:1], y[:1], classes=np.unique(y), sample_weight=[0.0])
    wrong = 0.0
    for start in range(0, len(rows), size):
        batch = rows[start : start + size]
        wrong += ((model.predict(X[batch]) != y[batch]) * weights[batch]).sum()
        model.partial_fit(X[batch], y[batch], sample_weight=weights[batch])
    return wrong / weights.sum()


class Counting(Reader):
    """A reader that counts its live batches."""

    alive = most = 0

    def __iter__(self):
        for X, y, weights in super().__iter__():
            self.alive += 1
            self.most = max(self.most, self.alive)
            weakref.finalize(X, self._one_less)
            yield Batch(X, y, weights)

    def _one_less(self):
        self.alive -= 1


@pytest.mark.parametrize("batch_size", [1, 8])
def test_only_a_few_batches_are_in_memory(svm, batch_size):
    plain = aggro.io.read(svm[0], batch_rows=5)
    reader = Counting(plain.files, plain.options)
    aggro.sweep(reader, C=[0.1, 1.0], average=[False, True], passes=2, batch_size=batch_size)
    assert reader.most <= 3  # of 80: the current and the next one


def test_extracted_model_continues_after_the_file(svm):
    path, X, y = svm
    model = aggro.sweep(path, C=0.1, class_mean=0.1, passes=2).model()
    memory = aggro.sweep(sp.csr_matrix(X), y.astype(float), C=0.1, class_mean=0.1, passes=2).model()
    before = model.coef_.copy()
    for one in (model, memory):
        one.partial_fit(X[::-1].copy(), y[::-1].astype(float))
    assert_close(model.coef_, memory.coef_, rtol=1e-12)
    assert not np.allclose(model.coef_, before)


def test_plot_of_a_file_sweep_is_saved(svm, tmp_path):
    aggro.sweep(svm[0], **AXES).plot(tmp_path / "sweep.png")
    assert (tmp_path / "sweep.png").stat().st_size > 10_000


def test_invalid_input_is_rejected(svm, tmp_path):
    path, _, y = svm
    (tmp_path / "none.svm").write_text("")
    (tmp_path / "one.svm").write_text("1 1:2\n1 2:1\n")
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    wrong = [
        (lambda: aggro.sweep(path, orders=3), "orders=3 asks for random orders"),
        (lambda: aggro.sweep(path, y), "leave y out"),
        (lambda: aggro.sweep(tmp_path / "none.svm"), "no examples"),
        (lambda: aggro.sweep(tmp_path / "one.svm"), "one class only"),
        (lambda: aggro.sweep(tmp_path / "t.csv"), "label="),
        (lambda: aggro.sweep("-"), "more than once"),
        (lambda: aggro.sweep(problem()[0]), "y is None"),
    ]
    for call, message in wrong:
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize("name", ["C", "metric", "scale"])
def test_auto_parameters_are_rejected(name):
    with pytest.raises(ValueError, match=f"{name}='auto' in an estimator"):
        aggro.sweep(*problem(), **{name: ["auto"]})


def test_changed_files_are_detected(svm):
    class Shrinking(Reader):
        turn = 0

        def __iter__(self):
            self.turn += 1
            batches = list(super().__iter__())
            return iter(batches[: -self.turn + 1 or None])

    plain = aggro.io.read(svm[0], batch_rows=50)
    with pytest.raises(ValueError, match="400 rows, and now 350"):
        aggro.sweep(Shrinking(plain.files, plain.options), C=0.1)
