"""Export of linear models, alone or at the end of a pipeline, to scikit-learn and ONNX."""

from __future__ import annotations

import copy
import os
from typing import Any

import numpy as np

from aggro.atomic import replacing
from aggro.extras import optional
from aggro.learner import Array
from aggro.persistence.container import ModelFileError
from aggro.persistence.record import CLASSIFIERS, REGRESSORS
from aggro.persistence.store import is_pipeline

OPSET = 17
IR_VERSION = 8  # of 2021, for old runtimes


def to_sklearn(model: Any) -> Any:
    """Return a fitted model of scikit-learn with the same weights, scores and predictions.

    Classifiers become an SGDClassifier, with several labels a RidgeClassifier; regressors a
    LinearRegression. In a pipeline, the last step is replaced and the others are copied.

    Parameters
    ----------
    model : fitted linear estimator, or Pipeline that ends with one
        Any of aggro's linear classifiers and regressors.

    Examples
    --------
    >>> import aggro
    >>> model = aggro.PassiveAggressiveClassifier().partial_fit([[0.0], [1.0]], ["no", "yes"])
    >>> aggro.to_sklearn(model).predict([[1.0]])
    array(['yes'], dtype='<U3')
    """
    optional("sklearn", "aggro.to_sklearn")
    if is_pipeline(model):
        steps = copy.deepcopy(model.steps[:-1])
        return type(model)([*steps, (model.steps[-1][0], to_sklearn(model.steps[-1][1]))])
    _require_linear(model)
    coef, intercept = _dense_coef(model), np.array(model.intercept_)
    if type(model).__name__ in REGRESSORS:
        plain = _regression(coef, intercept, model._learner.outputs == 1)
    elif model._multilabel:
        plain = _labels(coef, intercept)
    else:
        plain = _classes(coef, intercept, model)
    plain.n_features_in_ = model.n_features_in_
    if hasattr(model, "feature_names_in_"):
        plain.feature_names_in_ = model.feature_names_in_.copy()
    return plain


def to_onnx(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a linear model, or a pipeline of scalers and a linear model, as an ONNX file.

    Its input ``X`` has the model's dtype. A classifier gives ``label`` and ``scores`` (what
    ``predict`` and ``decision_function`` return), a regressor ``prediction``.

    Parameters
    ----------
    model : fitted linear estimator, or Pipeline that ends with one
        Any of aggro's linear classifiers and regressors. The other steps of a pipeline may be
        StandardScaler, MinMaxScaler, MaxAbsScaler and SimpleImputer.
    path : path
        Where to write.

    Examples
    --------
    >>> import tempfile, pathlib, aggro
    >>> model = aggro.PassiveAggressiveRegressor().fit([[1.0], [2.0]], [1.0, 2.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "model.onnx")
    ...     aggro.to_onnx(model, path)
    ...     path.stat().st_size > 0
    True
    """
    onnx = optional("onnx", "aggro.to_onnx")
    steps = [step for _, step in model.steps] if is_pipeline(model) else [model]
    _require_linear(steps[-1])
    graph = _graph(onnx, steps[-1], steps[:-1])
    opsets = [onnx.helper.make_opsetid("", OPSET)]
    whole = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)
    onnx.checker.check_model(whole)
    with replacing(path) as stream:
        stream.write(whole.SerializeToString())


def _require_linear(model: Any) -> None:
    name = type(model).__name__
    if name not in (*CLASSIFIERS, *REGRESSORS):
        raise ModelFileError(f"{name} is not a linear model of aggro, so it cannot be converted.")
    if not hasattr(model, "_learner"):
        raise ModelFileError(f"This {name} has learned nothing yet; fit it before converting it.")
    if len(getattr(model, "classes_", "ab")) < 2 and not model._multilabel:
        raise ModelFileError("The model knows one class only; there is nothing to tell apart.")


def _dense_coef(model: Any) -> Array:
    """Return a copy, outputs x features, since the estimator's is a view that changes."""
    return np.array(model._coef(), order="C").reshape(model._learner.outputs, -1)


def _classes(coef: Array, intercept: Array, model: Any) -> Any:
    from sklearn.linear_model import SGDClassifier

    plain = SGDClassifier()
    plain.coef_, plain.intercept_, plain.classes_ = coef, intercept, model.classes_.copy()
    plain.t_, plain.n_iter_ = float(model.t_), model.n_iter_
    return plain


def _labels(coef: Array, intercept: Array) -> Any:
    from sklearn.linear_model import RidgeClassifier
    from sklearn.preprocessing import LabelBinarizer

    plain = RidgeClassifier()
    plain.coef_, plain.intercept_ = coef, intercept
    plain._label_binarizer = LabelBinarizer(pos_label=1, neg_label=-1)
    plain._label_binarizer.fit(np.eye(len(coef), dtype=np.int64))
    return plain


def _regression(coef: Array, intercept: Array, flat: bool) -> Any:
    from sklearn.linear_model import LinearRegression

    plain = LinearRegression()
    plain.coef_, plain.intercept_ = (coef[0], intercept[0]) if flat else (coef, intercept)
    return plain


def _graph(onnx: Any, model: Any, steps: list[Any]) -> Any:
    """Return the ONNX graph: preceding steps, X @ coef.T + intercept, and the prediction."""
    make, types = onnx.helper, onnx.TensorProto
    number = types.FLOAT if model._learner.dtype == np.float32 else types.DOUBLE
    outputs = model._learner.outputs
    constants = {"coef": _dense_coef(model).T, "intercept": np.array(model.intercept_)}
    nodes, prepared = _prepare(make, constants, steps, model._learner.dtype)
    nodes += [
        make.make_node("MatMul", [prepared, "coef"], ["products"]),
        make.make_node("Add", ["products", "intercept"], ["table"]),
    ]
    if type(model).__name__ in REGRESSORS:
        flat = outputs == 1
        results = [("prediction", number, ["rows"] if flat else ["rows", outputs])]
        nodes += _flatten(make, constants, "prediction", flat)
    else:
        flat = outputs == 1 and not model._multilabel
        nodes += _flatten(make, constants, "scores", flat)
        nodes += _decide(make, constants, model, flat)
        kind = make.np_dtype_to_tensor_dtype(_label_type(model))
        shape = ["rows", outputs] if model._multilabel else ["rows"]
        results = [("label", kind, shape)]
        results += [("scores", number, ["rows"] if flat else ["rows", outputs])]
    return make.make_graph(
        nodes,
        "aggro",
        [make.make_tensor_value_info("X", number, ["rows", model.n_features_in_])],
        [make.make_tensor_value_info(*result) for result in results],
        [_constant(onnx, name, value) for name, value in constants.items()],
    )


def _prepare(
    make: Any, constants: dict[str, Array], steps: list[Any], dtype: Any
) -> tuple[list[Any], str]:
    """Return the nodes of the steps before the model, and the name of their output."""
    nodes, last = [], "X"
    for operation, constant in [pair for step in steps for pair in _operations(step)]:
        given, number = last, len(constants)
        constant_name, last = f"constant{number}", f"prepared{number}"
        constants[constant_name] = np.asarray(constant, dtype)
        inputs = [given, constant_name]
        if operation == "Where":
            nodes.append(make.make_node("IsNaN", [given], [f"missing{number}"]))
            inputs = [f"missing{number}", constant_name, given]
        nodes.append(make.make_node(operation, inputs, [last]))
    return nodes, last


def _operations(step: Any) -> list[tuple[str, Any]]:
    """Return the operations of a step, each with a number per column."""
    name = type(step).__name__
    if step is None or isinstance(step, str):  # "passthrough"
        return []
    if name == "StandardScaler":
        centre = [("Sub", step.mean_)] if step.with_mean else []
        return centre + ([("Div", step.scale_)] if step.with_std else [])
    if name == "MinMaxScaler":
        limits = [*zip(("Max", "Min"), step.feature_range, strict=True)] if step.clip else []
        return [("Mul", step.scale_), ("Add", step.min_), *limits]
    if name == "MaxAbsScaler":
        limits = [("Max", -1.0), ("Min", 1.0)] if getattr(step, "clip", False) else []
        return [("Div", step.scale_), *limits]
    if name == "SimpleImputer" and _is_plain(step):
        return [("Where", step.statistics_)]
    raise ModelFileError(
        f"to_onnx cannot export the step {step!r}. It exports StandardScaler, MinMaxScaler, "
        "MaxAbsScaler and SimpleImputer for NaN without indicator columns; give it the last step "
        "alone, and apply the others before."
    )


def _is_plain(imputer: Any) -> bool:
    """Return whether an imputer replaces NaN and keeps all columns."""
    is_nan = isinstance(imputer.missing_values, float) and np.isnan(imputer.missing_values)
    statistics = np.asarray(imputer.statistics_)
    complete = statistics.dtype.kind == "f" and bool(np.isfinite(statistics).all())
    return is_nan and complete and not imputer.add_indicator


def _constant(onnx: Any, name: str, value: Array) -> Any:
    if value.dtype.kind in "UO":
        encoded = [str(text).encode() for text in value.tolist()]
        return onnx.helper.make_tensor(name, onnx.TensorProto.STRING, value.shape, encoded)
    return onnx.numpy_helper.from_array(np.ascontiguousarray(value), name)


def _flatten(make: Any, constants: dict[str, Array], name: str, flat: bool) -> list[Any]:
    if not flat:
        return [make.make_node("Identity", ["table"], [name])]
    constants["columns"] = np.array([1], np.int64)
    return [make.make_node("Squeeze", ["table", "columns"], [name])]


def _label_type(model: Any) -> Any:
    kind = model.classes_.dtype.kind
    if model._multilabel or kind in "iu":
        return np.dtype(np.int64)
    if kind in "UO":
        return np.dtype(object)
    return np.dtype(np.float64) if kind == "f" else model.classes_.dtype


def _decide(make: Any, constants: dict[str, Array], model: Any, flat: bool) -> list[Any]:
    """Return the nodes from scores to labels."""
    index = "label" if model._multilabel else "index"
    if flat or model._multilabel:
        constants["zero"] = np.zeros((), model._learner.dtype)
        integer = make.np_dtype_to_tensor_dtype(np.dtype(np.int64))
        nodes = [
            make.make_node("Greater", ["scores", "zero"], ["above"]),
            make.make_node("Cast", ["above"], [index], to=integer),
        ]
    else:
        nodes = [make.make_node("ArgMax", ["scores"], [index], axis=1, keepdims=0)]
    if not model._multilabel:
        constants["classes"] = model.classes_.astype(_label_type(model))
        nodes.append(make.make_node("Gather", ["classes", index], ["label"]))
    return nodes
