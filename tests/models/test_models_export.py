"""Exported models predict the same as the originals."""

import numpy as np
import pytest
from model_helpers import problem
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

import aggro
from aggro.persistence import ModelFileError, to_onnx, to_sklearn
from aggro.persistence.export import _label_type

LABELS = ("strings", "ints", "floats", "bools", "objects", "two", "several")
DTYPES = (np.float32, np.float64)


def classifier(kind, dtype):
    X, y = problem("SPA-I", "ints" if kind == "several" else kind)
    X = X.astype(dtype)
    y = (X[:, :3] > 0).astype(int) if kind == "several" else y
    return X, aggro.PassiveAggressiveClassifier(random_state=0, average=True).partial_fit(X, y)


def regressor(outputs, dtype):
    X = problem("PAR-I")[0].astype(dtype)
    y = X[:, 0] * 2 if outputs == 1 else X[:, :outputs]
    return X, aggro.PassiveAggressiveRegressor().partial_fit(X, y)


def close(one, two, dtype):
    tolerance = 1e-4 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(one, two, rtol=tolerance, atol=tolerance)
    assert one.shape == two.shape


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", LABELS)
def test_to_sklearn_classifier_predicts_the_same(kind, dtype):
    X, model = classifier(kind, dtype)
    plain = to_sklearn(model)
    assert type(plain).__module__.startswith("sklearn.")
    close(plain.decision_function(X), model.decision_function(X), dtype)
    assert plain.predict(X).tolist() == model.predict(X).tolist()
    assert kind == "several" or plain.classes_.tolist() == model.classes_.tolist()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("outputs", [1, 3])
def test_to_sklearn_regressor_predicts_the_same(outputs, dtype):
    X, model = regressor(outputs, dtype)
    close(to_sklearn(model).predict(X), model.predict(X), dtype)


def test_to_sklearn_returns_a_copy():
    X, model = classifier("strings", np.float64)
    plain = to_sklearn(model)
    before = plain.coef_.copy()
    model.partial_fit(X[::-1], np.roll(model.predict(X), 1))
    assert np.array_equal(plain.coef_, before)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", LABELS)
def test_onnx_classifier_predicts_the_same(kind, dtype, tmp_path):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    X, model = classifier(kind, dtype)
    to_onnx(model, tmp_path / "m.onnx")
    label, scores = runtime.InferenceSession(tmp_path / "m.onnx").run(None, {"X": X})
    close(scores, model.decision_function(X), dtype)
    assert label.tolist() == model.predict(X).tolist()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("outputs", [1, 3])
def test_onnx_regressor_predicts_the_same(outputs, dtype, tmp_path):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    X, model = regressor(outputs, dtype)
    to_onnx(model, tmp_path / "m.onnx")
    (prediction,) = runtime.InferenceSession(tmp_path / "m.onnx").run(None, {"X": X})
    close(prediction, model.predict(X), dtype)


def test_unsupported_models_are_rejected():
    with pytest.raises(ModelFileError, match="nothing yet"):
        to_sklearn(aggro.PassiveAggressiveClassifier())
    with pytest.raises(ModelFileError, match="one class"):
        to_sklearn(aggro.PassiveAggressiveClassifier().partial_fit([[1.0]], ["a"]))
    with pytest.raises(ModelFileError, match="list is not a linear model"):
        to_sklearn([])


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        (np.array([1.0, 2.0], np.float32), np.float64),
        (np.array([1, 2], np.int8), np.int64),
        (np.array([False, True]), np.bool_),
        (np.array(["a", "b"]), object),
    ],
)
def test_onnx_labels_have_a_supported_type(classes, expected):
    model = aggro.PassiveAggressiveClassifier().partial_fit(np.eye(2), classes)
    assert _label_type(model) == np.dtype(expected)


# -- pipelines --

ROWS, _ = problem("SPA-I")
GAPS = np.where(np.abs(ROWS) < 0.2, np.nan, ROWS)
PIPELINES = {
    "standard": [StandardScaler()],
    "standard, not centred": [StandardScaler(with_mean=False), "passthrough"],
    "range": [MinMaxScaler((-1, 2), clip=True)],
    "largest": [MaxAbsScaler()],
    "gaps": [SimpleImputer(strategy="median"), StandardScaler()],
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", PIPELINES)
def test_onnx_pipeline_gives_the_same_scores(kind, dtype, tmp_path):
    _, y = problem("SPA-I")
    X = (GAPS if kind == "gaps" else ROWS).astype(dtype)
    model = aggro.PassiveAggressiveClassifier(random_state=0)
    pipeline = make_pipeline(*PIPELINES[kind], model).fit(X, y)
    rows = (2 * X).astype(dtype)  # outside of the learned range, so that limits matter
    plain = to_sklearn(pipeline)
    close(plain.decision_function(rows), pipeline.decision_function(rows), dtype)
    runtime = pytest.importorskip("onnxruntime")
    to_onnx(pipeline, tmp_path / "m.onnx")
    label, scores = runtime.InferenceSession(tmp_path / "m.onnx").run(None, {"X": rows})
    close(scores, pipeline.decision_function(rows), dtype)
    assert list(label) == pipeline.predict(rows).tolist()


def test_steps_that_onnx_does_not_support_are_named(tmp_path):
    X, y = problem("SPA-I")
    model = aggro.PassiveAggressiveClassifier()
    for step, name in ((PCA(2), "PCA"), (SimpleImputer(add_indicator=True), "SimpleImputer")):
        with pytest.raises(ModelFileError, match=f"cannot export the step {name}"):
            to_onnx(make_pipeline(step, model).fit(X, y), tmp_path / "m.onnx")
    assert not list(tmp_path.iterdir())
