"""The estimators on a cluster of two processes: input, output and errors."""

import pickle

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask_support import ONCE, X, Y, arrays, content, pa, same
from scipy.sparse import csr_matrix

import aggro
import aggro.dask
from aggro.dask import AROWClassifier, PassiveAggressiveRegressor, hashed
from aggro.dask.inputs import Partition
from aggro.persistence.record import bytes_of
from aggro.persistence.store import record_of

pytestmark = pytest.mark.filterwarnings("ignore")


def test_one_partition_in_one_round_is_what_one_machine_learns(client):
    model = pa(rounds=1, shuffle=False).fit(da.from_array(X), da.from_array(Y))
    local = aggro.PassiveAggressiveClassifier(C=0.1).partial_fit(X, Y)
    np.testing.assert_allclose(model.coef_, local.coef_, rtol=1e-9, atol=1e-12)
    assert model.n_mistakes_ == local.n_mistakes_ == round(model.history_[0]["error"] * len(Y))


@pytest.mark.parametrize(
    ("kind", "params"),
    [
        ("AutoClassifier", {"probability": True, "early_stopping": True}),
        ("PassiveAggressiveClassifier", {"max_iter": 3, "class_weight": "balanced"}),
    ],
)
def test_little_data_are_learned_as_one_machine_learns_them(client, kind, params):
    local = getattr(aggro, kind)(random_state=0, **params).fit(X, Y)
    model = getattr(aggro.dask, kind)(random_state=0, **params).fit(*arrays())
    assert content(model) == bytes_of(record_of(local))
    assert model.n_iter_ == local.n_iter_
    assert [each["rows"] for each in model.history_] == [len(Y)]
    bad = X.copy()
    bad[450, 4] = np.nan
    with pytest.raises(ValueError, match=r"partition 2, row 50\D"):
        model.fit(da.from_array(bad, chunks=(200, -1)), arrays()[1])
    assert content(model) == bytes_of(record_of(local))


def test_arrays_frames_bags_delayed_and_files_learn_alike(client, tmp_path):
    expected = pa(shuffle=False).fit(*arrays())
    rows, targets = arrays()
    sparse = rows.map_blocks(csr_matrix)
    found = pa(shuffle=False).fit(sparse, targets)  # sums of sparse rows are rounded otherwise
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-9, atol=1e-12)
    columns = [f"f{i}" for i in range(X.shape[1])]
    frame = dd.from_pandas(pd.DataFrame(X, columns=columns), chunksize=200, sort=False)
    labels = dd.from_pandas(pd.Series(Y), chunksize=200, sort=False)
    framed = pa(shuffle=False).fit(frame, labels)
    np.testing.assert_array_equal(framed.coef_, expected.coef_)
    assert framed.feature_names_in_.tolist() == columns
    arrow = frame.astype(dict.fromkeys(columns, "double[pyarrow]"))
    same(pa(shuffle=False).fit(arrow, labels), framed)
    parts = np.array_split(np.arange(len(Y)), 4)
    pairs = [dask.delayed((X[part], Y[part])) for part in parts]
    same(pa(shuffle=False).fit(pairs), expected)
    for number, part in enumerate(parts):
        lines = [
            f"{y} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row.tolist()))
            for row, y in zip(X[part], Y[part], strict=True)
        ]
        (tmp_path / f"{number}.svm").write_text("\n".join(lines) + "\n")
    files = pa(shuffle=False).fit(str(tmp_path / "*.svm"))
    np.testing.assert_array_equal(files.coef_, found.coef_)


def test_bags_of_dicts_are_hashed(client):
    examples = [
        ({f"f{j}": float(v) for j, v in enumerate(x)}, int(y)) for x, y in zip(X, Y, strict=True)
    ]
    bag = db.from_sequence(examples, npartitions=4)
    model = pa().fit(bag)
    rows = hashed([x for x, _ in examples])
    assert model.to_local().score(rows, Y) > 0.8
    dicts = bag.map(lambda pair: pair[0])
    split = pa().fit(dicts, bag.map(lambda pair: pair[1]))
    same(split, model)
    answers = np.concatenate([np.atleast_1d(a) for a in model.predict(dicts).compute()])
    assert (answers == model.to_local().predict(rows)).all()


def test_classes_may_appear_in_any_partition(client):
    names = np.where(Y == 1, "b", "d").astype("U1")
    names[450:550] = "a"
    names[700:] = "c"
    model = pa().partial_fit(*arrays(100, names))
    assert model.classes_.tolist() == ["a", "b", "c", "d"]
    assert model.t_ - 1 == len(Y)
    sorted_by_class = np.argsort(Y, kind="stable")  # most partitions have one class only
    rows = da.from_array(X[sorted_by_class], chunks=(200, -1))
    one = pa(C=1.0).fit(rows, da.from_array(Y[sorted_by_class], chunks=200))
    assert one.to_local().score(X, Y) > 0.7
    given = pa().partial_fit(*arrays(), classes=[0, 1, 2])
    assert given.classes_.tolist() == [0, 1, 2]


def test_predictions_are_lazy_and_of_the_kind_of_the_data(client):
    model = pa(probability=True).fit(*arrays())
    local = model.to_local()
    assert type(local) is aggro.PassiveAggressiveClassifier
    rows, targets = arrays()
    for method in ("predict", "decision_function", "predict_proba"):
        lazy = getattr(model, method)(rows)
        assert isinstance(lazy, da.Array)
        np.testing.assert_array_equal(lazy.compute(), getattr(local, method)(X))
    frame = dd.from_pandas(pd.DataFrame(X), chunksize=300, sort=False)
    series = model.predict(frame)
    assert isinstance(series, dd.Series)
    assert (series.compute().to_numpy() == local.predict(X)).all()
    assert model.predict_proba(frame).compute().shape == (len(Y), 2)
    assert float(model.score(rows, targets)) == local.score(X, Y)
    unknown = rows[rows[:, 0] > 0]  # whose length nobody knows
    assert len(model.predict(unknown).compute()) == int((X[:, 0] > 0).sum())


def test_a_fitted_model_is_pickled_without_its_client(client):
    model = pa(client=client).fit(*arrays())
    again = pickle.loads(pickle.dumps(model))
    assert again.client is None
    same(again, model)
    again.partial_fit(*arrays())
    assert again.t_ == model.t_ + len(Y)


@pytest.mark.parametrize("place", [(0, 3), (3, 150)])
def test_a_nan_names_partition_and_row_and_costs_nothing(client, place):
    partition, row = place
    bad = X.copy()
    bad[partition * 200 + row, 4] = np.nan
    model = pa(shuffle=False).fit(*arrays())
    before = pickle.dumps(model._learner.state())
    rows = da.from_array(bad, chunks=(200, -1))
    with pytest.raises(ValueError, match=rf"partition {partition}, row {row}\D"):
        model.partial_fit(rows, arrays()[1])
    assert pickle.dumps(model._learner.state()) == before
    with pytest.raises(ValueError, match=rf"partition {partition}"):
        pa().fit(rows, arrays()[1])


def test_odd_partitions_work_or_say_what_to_do(client):
    rows, targets = arrays(100)
    some = rows[:, 0] > 1.5  # unknown lengths, some partitions empty or nearly so
    model = pa(rounds=1).fit(rows[some], targets[some])
    assert model.t_ - 1 == int((X[:, 0] > 1.5).sum())
    nothing = da.from_array(np.empty((0, 10)), chunks=(1, 10))
    mixed = da.concatenate([nothing, rows.astype(np.float32)])
    empty = da.concatenate([da.from_array(np.empty(0, int)), targets])
    assert pa().fit(mixed, empty).t_ - 1 == len(Y)
    wide = da.from_array(X, chunks=(200, 5))  # columns in blocks
    same(pa().fit(wide, arrays()[1]), pa().fit(*arrays()))
    with pytest.raises(ValueError, match="8 partitions but y has 4"):
        pa().fit(rows[some], arrays(200)[1])
    with pytest.raises(ValueError, match="give a dask array"):
        pa().fit(X, Y)
    with pytest.raises(ValueError, match="y is None"):
        pa().fit(rows)
    with pytest.raises(ValueError, match="All partitions are empty"):
        pa().fit(nothing, da.from_array(np.empty(0, int)))
    with pytest.raises(ValueError, match="early_stopping"):
        pa(early_stopping=True).fit(*arrays())
    with pytest.raises(ValueError, match="rounds"):
        pa(rounds=0).fit(*arrays())


def test_regression_weights_and_passes(client):
    truth = X @ np.arange(10.0) + np.random.default_rng(0).normal(size=len(X))  # R² is not one
    rows, values = da.from_array(X, chunks=(200, -1)), da.from_array(truth, chunks=200)
    three = {**ONCE, "max_iter": 3, "rounds": 4}
    model = PassiveAggressiveRegressor(**three, epsilon=0.01).fit(rows, values)
    assert model.to_local().score(X, truth) > 0.95
    assert float(model.score(rows, values)) == pytest.approx(model.to_local().score(X, truth))
    assert [each["pass"] for each in model.history_] == [0] * 4 + [1] * 4 + [2] * 4
    assert model.n_iter_ == 3
    weights = da.from_array((np.arange(len(Y)) < 400).astype(float), chunks=200)
    half = AROWClassifier(**ONCE, rounds=2).fit(*arrays(), sample_weight=weights)
    assert half.t_ - 1 == 400


def test_there_must_be_a_client():
    with pytest.raises(ValueError, match="no Dask client"):
        pa().fit(*arrays())


def test_progress_is_printed(client, capsys):
    pa(verbose=1).fit(*arrays())
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert "round 2/2: 800 rows" in lines[1]
    assert "error so far" in lines[1]


def test_a_file_without_rows_is_a_partition_without_rows(tmp_path):
    path = tmp_path / "nothing.svm"
    path.write_text("# no rows\n")
    block = Partition(str(path), options={}).read()
    assert len(block) == len(block.y) == 0 and block.weights is None
