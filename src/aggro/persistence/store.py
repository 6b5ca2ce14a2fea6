"""``save`` and ``load``: conversion between models and records."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

import aggro
from aggro.calibration.calibrator import Calibrator
from aggro.calibration.recorder import Recorder
from aggro.classes import Classes, label_outputs
from aggro.estimators import counters
from aggro.estimators.base import Fitted
from aggro.kernel_learner import KernelLearner
from aggro.learner import Learner
from aggro.persistence.container import ModelFileError
from aggro.persistence.objects import require
from aggro.persistence.record import DAMAGED, KERNELS, TEXTS, Record, read_record, write_record
from aggro.persistence.schema import POSITIVE, Field, check_array
from aggro.persistence.streams import STREAMS, stream_learner, stream_record
from aggro.reference_row import ReferenceRow
from aggro.selection.selection import ModelSelection
from aggro.settings import class_task
from aggro.text.learner import TextLearner
from aggro.variants import ESTIMATORS

# Fitted attributes of the estimators and their types.
ATTRIBUTES: dict[str, type | tuple[type, ...]] = {
    "_learner": (Learner, ModelSelection, KernelLearner, TextLearner),
    "classes_": np.ndarray,
    "n_features_in_": int,
    "feature_names_in_": np.ndarray,
    "n_iter_": int,
    "_multilabel": bool,
    "_classes_given": bool,
    "_counts": np.ndarray,
    "_flat": bool,
    "_calibrator": Calibrator,
    "_reference": ReferenceRow,
    "_origin": dict,  # how the command line read the data
    "_counters": dict,  # monotonic columns, see estimators/counters.py
    "_names": list,  # names of hashed columns of tables
}
# Saved as flags: their values follow from the rest.
FLAGS = ("_known_params", "_sparse_coef")
EXTRA = ("_origin", "_names", "_sparse_coef")  # attributes besides the fitted state


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model to a file, from which ``load`` restores it exactly.

    The file contains arrays and a JSON header (safetensors), never code. It is replaced in one
    step: a concurrent reader sees the old file or the new one.

    Parameters
    ----------
    model : estimator, stream learner or Pipeline
        Any of aggro's, fitted or not. A pipeline of scikit-learn may contain models of aggro,
        scalers, SimpleImputer, encoders, vectorizers, ColumnTransformer and FeatureUnion.
    path : path
        Where to write.

    Examples
    --------
    >>> import tempfile, pathlib, aggro
    >>> model = aggro.StreamClassifier()
    >>> model.learn_one({"money": 1.0}, "spam")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     aggro.save(model, pathlib.Path(folder, "mail.aggro"))
    ...     aggro.load(pathlib.Path(folder, "mail.aggro")).predict_one({"money": 1.0})
    'spam'
    """
    write_record(record_of(model), path)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model or a pipeline from a file; learning continues where it stopped.

    Nothing in the file is executed. A file that is damaged, cut short or of another kind raises
    ``ModelFileError``.

    Parameters
    ----------
    path : path
        A file written by ``save`` or by the command ``aggro train``.

    Examples
    --------
    >>> import tempfile, pathlib, aggro
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "model.aggro")
    ...     aggro.save(aggro.StreamRegressor("PAR", epsilon=0.0), path)
    ...     model = aggro.load(path)
    >>> model.learn_one({"width": 2.0}, 6.0)
    >>> model.predict_one({"width": 2.0})
    6.0
    """
    record = read_record(path)
    try:
        return model_of(record)
    except DAMAGED as error:
        raise ModelFileError(f"{os.fspath(path)}: cannot be read: {error}") from error


def record_of(model: Any) -> Record:
    """Return a model as plain data."""
    name = type(model).__name__
    if name not in CODECS or not _is_original(model):
        raise ModelFileError(
            f"{type(model).__qualname__} cannot be saved: expected one of {', '.join(CODECS)}."
        )
    return CODECS[name][0](model)


def _is_original(model: Any) -> bool:
    """Return whether the class of a model is aggro's, not another one with the same name."""
    return is_pipeline(model) or type(model) is getattr(aggro, type(model).__name__, None)


def is_pipeline(model: Any) -> bool:
    """Return whether a model is a pipeline of scikit-learn."""
    kind = type(model)
    return (kind.__module__, kind.__name__) == ("sklearn.pipeline", "Pipeline")


def model_of(record: Record) -> Any:
    """Return the model described by plain data."""
    if record.name not in CODECS:
        raise ModelFileError(f"it holds an unknown class of model: {record.name!r}")
    return CODECS[record.name][1](record)


def _estimator_record(model: Any) -> Record:
    params = model.get_params(deep=False)
    for name in vars(model).keys() - params.keys() - {"_fitted", *EXTRA}:
        raise ModelFileError(f"the attribute {name} cannot be saved; delete it first.")
    found = {name: vars(model)[name] for name in EXTRA if name in vars(model)}
    if "_sparse_coef" in found:
        found["_sparse_coef"] = True
    if "_fitted" in vars(model):
        found |= _attributes(model._fitted, model._parameters())
    return Record(type(model).__name__, params, dict(sorted(found.items())))


def _attributes(fitted: Fitted, parameters: tuple[Any, ...]) -> dict[str, Any]:
    """Return the fitted state of an estimator by name."""
    learner, classes, record = fitted.learner, fitted.classes, fitted.record
    found = {
        "_learner": learner,
        "n_features_in_": learner.features,
        "feature_names_in_": fitted.feature_names,
        "n_iter_": fitted.n_iter,
        "_known_params": fitted.parameters == parameters,
        "_counters": fitted.counters,
    }
    if classes is None:
        found["_flat"] = learner.outputs == 1
    else:
        found |= {"classes_": classes.labels, "_classes_given": classes.given}
        found |= {"_counts": fitted.counts, "_multilabel": learner.settings.task == "multilabel"}
    if record is not None:
        found |= {"_calibrator": record.calibrator, "_reference": record.reference}
    return {name: value for name, value in found.items() if value is not None}


def _fitted(attributes: dict[str, Any], parameters: tuple[Any, ...] | None) -> Fitted:
    """Return the fitted state described by attributes."""
    get = attributes.get
    record = None
    if "_calibrator" in attributes:
        record = Recorder(attributes["_calibrator"], get("_reference"))
    classes = None
    if "classes_" in attributes:
        classes = Classes(attributes["classes_"], attributes["_classes_given"])
    return Fitted(
        attributes["_learner"],
        parameters,
        get("feature_names_in_"),
        attributes["n_iter_"],
        classes,
        get("_counts"),
        record,
        get("_counters"),
    )


def _estimator(record: Record) -> Any:
    kind = getattr(aggro, record.name)
    for name, value in record.attributes.items():
        if name not in FLAGS and not isinstance(value, ATTRIBUTES.get(name, ())):
            raise ModelFileError(f"{name} is unknown or of the wrong type")
    if "_learner" not in record.attributes:
        return kind(**record.params)
    check_fitted(record)
    model = kind(**record.params)
    learned = record.attributes["_learner"].settings
    current = record.attributes.get("_known_params") is True
    if current and model._settings_for(record.attributes["_learner"], learned.task) != learned:
        raise ModelFileError("the parameters are not those that the model was trained with")
    model._fitted = _fitted(record.attributes, model._parameters() if current else None)
    extra = {name: record.attributes[name] for name in EXTRA if name in record.attributes}
    vars(model).update({name: value for name, value in extra.items() if name not in FLAGS})
    return model.sparsify() if record.attributes.get("_sparse_coef") is True else model


def check_fitted(record: Record) -> None:
    """Raise unless the fitted attributes are consistent."""
    fitted, learner = record.attributes, record.attributes["_learner"]
    kinds = KernelLearner if record.name in KERNELS else (Learner, ModelSelection)
    names = fitted.get("feature_names_in_")
    fits = isinstance(learner, kinds) and fitted["n_features_in_"] == learner.features
    fits = fits and (
        "_counters" not in fitted or counters.fit(fitted["_counters"], learner.features)
    )
    fits = fits and (
        names is None or (names.dtype == object and names.shape == (learner.features,))
    )
    if record.name.endswith("Regressor"):
        fits = fits and learner.settings.task == "regression"
        fits = fits and (learner.outputs == 1 or not fitted["_flat"])
    else:
        count = len(fitted["classes_"])
        fits = fits and _classes_fit(fitted, learner, fitted.get("_multilabel"), count)
        check_array("_counts", fitted["_counts"], Field(np.float64, (count,), *POSITIVE))
        fits = fits and _margins_fit(fitted, learner)
    require(fits, "its parts are not those of one model")


def _classes_fit(fitted: dict[str, Any], learner: Any, several: Any, outputs: int) -> bool:
    """Return whether the classes are sorted, and those of a learner with this number of outputs."""
    classes, count = fitted["classes_"], len(fitted["classes_"])
    task = "multilabel" if several else class_task(count)
    return (
        learner.settings.task == task
        and learner.classes == outputs
        and classes.shape == (count,)
        and bool(np.all(classes[:-1] < classes[1:]))
        and type(fitted["_classes_given"]) is bool
    )


def _margins_fit(fitted: dict[str, Any], learner: Any) -> bool:
    """Return whether the margins for ``probability=True``, if any, match the model."""
    found, reference = fitted.get("_calibrator"), fitted.get("_reference")
    classes = (len(fitted["classes_"]), fitted["_multilabel"])
    return (found is None or (found.classes, found.multilabel) == classes) and (
        reference is None or reference.fits(max(learner.features, 1))
    )


# -- text estimators --


def _text_record(model: Any) -> Record:
    params = model.get_params()
    fitted = {name: value for name, value in sorted(vars(model).items()) if name not in params}
    if params["stop_words"] is not None and not isinstance(params["stop_words"], str):
        params["stop_words"] = sorted(params["stop_words"])
    if params["columns"] is not None:
        params["columns"] = dict(params["columns"])
    return Record(type(model).__name__, params, fitted)


def _text_estimator(record: Record) -> Any:
    model, fitted = getattr(aggro, record.name)(**record.params), record.attributes
    if fitted.keys() - {"_origin"}:
        learner: Any = fitted.get("_learner")
        regression = record.name == "TextRegressor"
        expected = {"_learner"} if regression else {"_learner", "classes_", "_classes_given"}
        fits = fitted.keys() - {"_origin"} == expected and isinstance(learner, TextLearner)
        if regression:
            fits = fits and learner.settings.task == "regression"
        elif fits:
            several, count = learner.settings.task == "multilabel", len(fitted["classes_"])
            outputs = label_outputs(count) if several else count
            fits = _classes_fit(fitted, learner, several, outputs)
        require(fits, "its parts are not those of one model of texts")
        vars(model).update(fitted)
    return model


def _pipeline_record(model: Any) -> Record:
    from aggro.persistence.pipelines import pipeline_record

    return pipeline_record(model)


def _pipeline_of(record: Record) -> Any:
    from aggro.persistence.pipelines import pipeline_of

    return pipeline_of(record)


Codec = tuple[Callable[[Any], Record], Callable[[Record], Any]]
CODECS: dict[str, Codec] = {
    **dict.fromkeys(ESTIMATORS, (_estimator_record, _estimator)),
    **dict.fromkeys(STREAMS, (stream_record, stream_learner)),
    **dict.fromkeys(TEXTS, (_text_record, _text_estimator)),
    "Pipeline": (_pipeline_record, _pipeline_of),
}
