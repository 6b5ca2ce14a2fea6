"""Pipelines of scikit-learn with models of aggro are saved without pickle."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)

import aggro
from aggro.cli import main
from aggro.persistence import container

rng = np.random.default_rng(0)
ROWS = 60
X = rng.normal(size=(ROWS, 4))
GAPS = np.where(rng.random(X.shape) < 0.1, np.nan, X)
y = np.where(X[:, 0] > 0, "yes", "no")
TABLE = pd.DataFrame(
    {
        "size": X[:, 0],
        "price": GAPS[:, 1],
        "city": np.array(["Oslo", "Rome", None] * 20, dtype=object),
        "grade": np.array(["low", "high"] * 30, dtype=object),
        "note": [f"word{i % 7} and word{i % 3}" for i in range(ROWS)],
        "left": rng.integers(0, 9, ROWS),
    }
)
DICTS = [{"a": row[0], f"b{i % 3}": 1.0, "c": "x"} for i, row in enumerate(X)]


def columns():
    return ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), [0, 1]),
            ("city", OneHotEncoder(handle_unknown="ignore"), ["city"]),
            ("grade", OrdinalEncoder(dtype=np.float32), slice("grade", "grade")),
            ("note", TfidfVectorizer(ngram_range=(1, 2)), "note"),
        ],
        remainder="passthrough",
    )


def model():
    return aggro.PassiveAggressiveClassifier(random_state=0)


PIPELINES = {
    "scaled": (make_pipeline(StandardScaler(), model()), X),
    "range": (make_pipeline(MinMaxScaler((-1, 1), clip=True), model()), X),
    "sparse": (make_pipeline(MaxAbsScaler(), "passthrough", model()), X),
    "imputed": (make_pipeline(SimpleImputer(strategy="median"), model()), GAPS),
    "selected": (make_pipeline(StandardScaler(), aggro.AutoClassifier(random_state=0)), X),
    "columns": (make_pipeline(columns(), model()), TABLE),
    "words": (make_pipeline(CountVectorizer(stop_words="english"), model()), TABLE["note"]),
    "hashed": (make_pipeline(HashingVectorizer(n_features=64), model()), TABLE["note"]),
    "union": (make_pipeline(make_union(StandardScaler(), MinMaxScaler()), model()), X),
    "dicts": (make_pipeline(DictVectorizer(), model()), DICTS),
    "kernel": (
        make_pipeline(StandardScaler(), aggro.KernelPassiveAggressiveClassifier(random_state=0)),
        X,
    ),
    "frames": (
        make_pipeline(StandardScaler().set_output(transform="pandas"), model()),
        TABLE[["size"]],
    ),
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "pipeline.aggro"


def saved(pipeline, path):
    aggro.save(pipeline, path)
    return aggro.load(path)


@pytest.mark.parametrize("kind", PIPELINES)
def test_loaded_pipeline_makes_the_same_predictions(kind, path):
    pipeline, rows = PIPELINES[kind]
    pipeline = clone(pipeline).fit(rows, y)
    loaded = saved(pipeline, path)
    assert isinstance(loaded, Pipeline)
    np.testing.assert_array_equal(loaded.decision_function(rows), pipeline.decision_function(rows))
    np.testing.assert_array_equal(loaded.predict(rows), pipeline.predict(rows))
    assert list(loaded.named_steps) == list(pipeline.named_steps)
    loaded.fit(rows, y)
    np.testing.assert_array_equal(
        loaded.decision_function(rows), clone(pipeline).fit(rows, y).decision_function(rows)
    )


def test_unfitted_pipeline_keeps_its_parameters(path):
    pipeline = make_pipeline(StandardScaler(with_mean=False), aggro.AROWClassifier(r=2.0))
    loaded = saved(pipeline, path)
    params = loaded.get_params()
    assert params["standardscaler__with_mean"] is False and params["arowclassifier__r"] == 2.0


def test_names_of_output_columns_are_kept(path):
    pipeline = make_pipeline(columns(), model()).fit(TABLE, y)
    names = pipeline[:-1].get_feature_names_out()
    np.testing.assert_array_equal(saved(pipeline, path)[:-1].get_feature_names_out(), names)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (PCA(2), "PCA cannot be saved"),
        (FunctionTransformer(np.log1p), "func"),
        (CountVectorizer(tokenizer=str.split), "method_descriptor"),
        (ColumnTransformer([("a", "passthrough", make_column_selector("a"))]), "cannot be saved"),
    ],
)
def test_steps_with_code_are_rejected_and_leave_no_file(step, message, path):
    with pytest.raises(aggro.ModelFileError, match=message):
        aggro.save(make_pipeline(step, model()), path)
    assert not path.exists()


def test_models_of_scikit_learn_are_rejected(path):
    with pytest.raises(aggro.ModelFileError, match="LogisticRegression cannot be saved"):
        aggro.save(make_pipeline(StandardScaler(), LogisticRegression()), path)
    with pytest.raises(aggro.ModelFileError, match="StandardScaler cannot be saved"):
        aggro.save(StandardScaler(), path)


def forge(path, old, new):
    """Write the file with another description and a valid checksum."""
    text, arrays = container.read(path)
    assert old in text
    container.write(path, text.replace(old, new), arrays)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("StandardScaler", "MemoryError"),
        ('"mean_"', '"transform"'),
        ('"mean_"', '"__class__"'),
        ('"mean_"', '"__dict__"'),
        ('"with_mean"', '"with_code"'),
    ],
)
def test_forged_steps_are_rejected(old, new, path):
    aggro.save(make_pipeline(StandardScaler(), model()).fit(X, y), path)
    forge(path, old, new)
    with pytest.raises(aggro.ModelFileError, match="cannot be read"):
        aggro.load(path)


def test_damaged_model_inside_a_pipeline_is_rejected(path):
    aggro.save(make_pipeline(StandardScaler(), model()).fit(X, y), path)
    text, arrays = container.read(path)
    (inner,) = (name for name, array in arrays.items() if array.dtype == np.uint8)
    arrays[inner] = arrays[inner].copy()
    arrays[inner][-1] ^= 1
    container.write(path, text, arrays)
    with pytest.raises(aggro.ModelFileError, match="checksum"):
        aggro.load(path)


def test_another_version_of_scikit_learn_is_reported(path):
    import sklearn

    aggro.save(make_pipeline(StandardScaler(), model()).fit(X, y), path)
    forge(path, json.dumps(sklearn.__version__), json.dumps("0.1"))
    with pytest.warns(UserWarning, match=r"saved with scikit-learn 0\.1"):
        aggro.load(path)


def test_pipelines_cannot_be_merged(path):
    pipeline = make_pipeline(StandardScaler(), model()).fit(X, y)
    with pytest.raises(ValueError, match="A Pipeline cannot be merged"):
        aggro.merge([pipeline, pipeline])


def test_info_shows_the_kind_of_a_pipeline_file(path, capsys):
    aggro.save(make_pipeline(StandardScaler(), model()).fit(X, y), path)
    assert main(["info", str(path)]) == 0
    assert "Pipeline" in capsys.readouterr().out
