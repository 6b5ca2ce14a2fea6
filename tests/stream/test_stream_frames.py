"""Streams on tables of pandas and polars."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from stream_problems import everything

from aggro.stream.learners import StreamClassifier, StreamRegressor

COLUMNS = {"a": [1.0, 0.0, 2.0, -1.0], "b": [1, 2, 3, 4], "flag": [True, False, True, True]}
COLOURS = ["red", "blue", "red", "green"]
LABELS = ["x", "y", "x", "z"]
FRAMES = [pd.DataFrame, pl.DataFrame]


def one_by_one(model, columns, y, w=None):
    for i in range(len(y)):
        model.learn_one({k: v[i] for k, v in columns.items()}, y[i], 1.0 if w is None else w[i])
    return model


@pytest.mark.parametrize("frame", FRAMES, ids=["pandas", "polars"])
@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 0.0, 0.5]])
def test_learn_many_equals_learn_one(frame, weights):
    columns = {**COLUMNS, "colour": COLOURS}
    model = StreamClassifier("PAM-I-diag")
    model.learn_many(frame(columns), LABELS, weights)
    assert everything(model) == everything(
        one_by_one(StreamClassifier("PAM-I-diag"), columns, LABELS, weights)
    )


@pytest.mark.parametrize(
    "y", [np.array([1.0, 2.0, 3.0, 4.0]), pd.Series([1, 2, 3, 4]), pl.Series([1, 2, 3, 4])]
)
def test_targets_of_every_kind(y):
    model = StreamRegressor()
    model.learn_many(pd.DataFrame(COLUMNS), y)
    assert everything(model) == everything(
        one_by_one(StreamRegressor(), COLUMNS, [1.0, 2.0, 3.0, 4.0])
    )


def test_predictions_for_pandas_keep_the_index():
    X = pd.DataFrame(COLUMNS, index=[3, 1, 4, 5])
    model = StreamClassifier()
    model.learn_many(X, LABELS)
    labels, table = model.predict_many(X), model.predict_proba_many(X)
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)]
    assert labels.tolist() == [model.predict_one(x) for x in rows]
    assert table.to_dict("records") == [model.predict_proba_one(x) for x in rows]
    assert labels.index.tolist() == table.index.tolist() == [3, 1, 4, 5]


def test_predictions_for_polars_are_series():
    X = pl.DataFrame(COLUMNS)
    model = StreamClassifier()
    model.learn_many(X, [0, 1, 0, 2])
    labels, table = model.predict_many(X), model.predict_proba_many(X)
    assert isinstance(labels, pl.Series)
    assert labels.to_list() == [model.predict_one(x) for x in X.iter_rows(named=True)]
    assert table.columns == ["0", "1", "2"]
    regressor = StreamRegressor()
    regressor.learn_many(X, [1.0, 2.0, 3.0, 4.0])
    assert regressor.predict_many(X).dtype == pl.Float64


@pytest.mark.parametrize("frame", FRAMES, ids=["pandas", "polars"])
def test_learn_many_is_all_or_nothing(frame):
    model = StreamRegressor()
    model.learn_one({"a": 1.0}, 1.0)
    before = everything(model)
    with pytest.raises((TypeError, ValueError), match="row 2: feature 'b' is"):
        model.learn_many(frame({"a": [1.0, 2.0, 3.0], "b": [1.0, 2.0, None]}), [1.0, 2.0, 3.0])
    assert everything(model) == before


def test_different_lengths_raise():
    with pytest.raises(ValueError, match="X has 4 rows but y has 3"):
        StreamRegressor().learn_many(pd.DataFrame(COLUMNS), [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="but w has 1"):
        StreamRegressor().learn_many(pd.DataFrame(COLUMNS), [1.0] * 4, [1.0])


def test_unknown_tables_raise():
    with pytest.raises(TypeError, match="give a table of pandas or polars"):
        StreamRegressor().learn_many([[1.0]], [1.0])


@pytest.mark.parametrize("frame", FRAMES, ids=["pandas", "polars"])
def test_empty_table_changes_nothing(frame):
    model = StreamClassifier()
    X = frame({"a": []})
    model.learn_many(X, [])
    assert len(model.predict_many(X)) == 0
    assert len(model.predict_proba_many(X)) == 0
