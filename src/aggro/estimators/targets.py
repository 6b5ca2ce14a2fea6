"""Validation of y: labels, indicator matrices and values, classes and their weights."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from aggro.checks import check_number, near
from aggro.classes import Classes
from aggro.labels import check_same_kind, plain_labels, shown, sorted_classes
from aggro.learner import Array
from aggro.settings import Task
from aggro.sklearn_api import exception
from aggro.training_batch import as_numbers


def check_length(y: Any, count: int) -> None:
    """Raise unless y has one entry for each row of X."""
    if len(y) != count:
        raise ValueError(
            f"X has {count} rows but y has {len(y)} (inconsistent numbers of samples); "
            "give one target for each row."
        )


def read_classes(y: Any, count: int) -> tuple[Array, bool]:
    """Return y as labels, or as an indicator matrix of doubles; and whether it is the latter."""
    if y is None:
        raise ValueError(
            "This estimator requires y to be passed, but the target y is None; give one label for "
            "each row."
        )
    if type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "iubU":
        check_length(y, count)  # integers and texts are always classes
        return y, False
    y = plain_labels(y.toarray() if hasattr(y, "toarray") else y)
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        found = "NaN" if np.isnan(y).any() else "infinity"
        raise ValueError(f"Input y contains {found}; leave such rows out.")
    if _is_indicator(y):
        values = np.ascontiguousarray(np.asarray(y, dtype=np.float64))
        check_length(values, count)
        if not np.isin(values, (-1, 0, 1)).all():
            raise ValueError(
                f"y is a table of {sorted(set(values.ravel().tolist()))}; an indicator matrix of "
                "several labels holds 0 and 1, or -1 and 1."
            )
        return values, True
    y = flat(y)
    if y.dtype.kind == "f" and (y != np.trunc(y)).any():
        raise ValueError(
            "Unknown label type: continuous. Maybe you are trying to fit a classifier, which "
            "expects discrete classes on a regression target with continuous values; use a "
            "regressor, or give classes."
        )
    check_length(y, count)
    return y, False


def _is_indicator(y: Array) -> bool:
    """Return whether y is an indicator matrix."""
    if y.ndim != 2 or y.shape[1] < 2 or y.dtype.kind not in "iubf":
        return False
    values = np.unique(y)
    return len(values) < 3 and bool((values == np.trunc(values)).all())


def flat(y: Array) -> Array:
    """Return y in one dimension; warn if it is a column."""
    if y.ndim == 2 and y.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of "
            "y to (n_samples,), for example using ravel().",
            exception("DataConversionWarning"),
            stacklevel=2,
        )
        y = y.ravel()
    if y.ndim != 1:
        raise ValueError(
            f"y should be a 1d array, got an array of shape {y.shape} instead; give one label for "
            "each row, or an indicator matrix of 0 and 1 for several."
        )
    return y


# -- classes ------------------------------------------------------------------------------------


def task_of(classes: Classes, multilabel: bool) -> Task:
    """Return the classification task for these classes."""
    return "multilabel" if multilabel else classes.task


def classes_of(y: Array, multilabel: bool) -> tuple[Classes, dict[str, Any]]:
    """Return the classes of all labels, and the targets to learn; raise if there is one class."""
    if multilabel:
        return Classes(np.arange(y.shape[1]), given=True), {"values": y}
    classes, labels = Classes.numbered(y)
    if len(classes) < 2:
        raise ValueError(
            "The number of classes has to be greater than one; got 1 class: "
            f"{classes.labels[0]!r}. A stream may begin with one: use partial_fit."
        )
    return Classes(classes.labels, given=True), {"labels": labels}


def first_classes(classes: Any, y: Array, multilabel: bool) -> Classes:
    """Return the classes of the first batch of a stream."""
    if multilabel:
        return Classes(np.arange(y.shape[1]), given=True)
    known = Classes.of(y) if classes is None else Classes.named(classes)
    if len(known) == 0:
        raise ValueError("classes is empty; name the classes, or leave it out.")
    return known


def check_same_classes(classes: Any, known: Classes) -> None:
    """Raise unless ``classes``, if given, are those of the first call."""
    if classes is not None and sorted_classes(classes).tolist() != known.labels.tolist():
        raise ValueError(
            f"classes={classes!r} is not the same as on the last call to partial_fit, was: "
            f"{known.labels!r}; give the same classes, or none."
        )


def check_kind(y: Array, several: bool, known: Classes, multilabel: bool) -> None:
    """Raise unless y has one label per row, or an indicator matrix, as in the first call."""
    if several == multilabel and (not several or y.shape[1] == len(known)):
        return
    was, now = (
        f"an indicator matrix of {labels} columns" if matrix else "one label per row"
        for labels, matrix in ((len(known), multilabel), (y.shape[-1], several))
    )
    raise ValueError(
        f"y is {now}, but the model was begun with {was}; y must keep its kind in all calls of "
        "partial_fit, or begin again with fit."
    )


def check_warm_start(fitted: Any, classes: Classes, multilabel: bool) -> None:
    """Raise unless y has the classes, or as many labels, as the model that continues."""
    known: Classes = fitted.classes
    before = fitted.learner.settings.task == "multilabel"
    if multilabel == before and classes.labels.tolist() == known.labels.tolist():
        return
    was, now = (
        f"{len(each)} labels per row" if several else f"the classes {shown(each.labels)}"
        for each, several in ((known, before), (classes, multilabel))
    )
    raise ValueError(
        f"warm_start continues a model of {was}, but y has {now}. Give rows of the same classes, "
        "use partial_fit to let new ones appear, or begin again with warm_start=False."
    )


def class_weights(
    class_weight: Any, classes: Array, counts: Array, growing: bool = False
) -> Array | None:
    """Return the weight of each class; 'balanced' from the numbers of examples seen so far.

    A dict may contain unknown classes if more may come, or if no class is missing in it: the rows
    of a fold need not have all classes.
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, str) and class_weight == "balanced":
        seen = counts > 0
        weights = np.ones(len(classes))
        weights[seen] = counts.sum() / (seen.sum() * counts[seen])
        return weights
    if not isinstance(class_weight, dict):
        raise ValueError(
            f"class_weight={class_weight!r} is not valid; give 'balanced', a dict from class to "
            "weight, or None."
        )
    for label, weight in class_weight.items():
        check_number(f"class_weight[{label!r}]", weight, above=0, strict=False)
        if weight == np.inf:
            raise ValueError(f"class_weight[{label!r}]=inf is not valid; give a finite number.")
    known = classes.tolist()
    strange = [label for label in class_weight if label not in known]
    if strange:
        check_same_kind(plain_labels(strange, "class_weight"), classes, "class_weight")
    if strange and not growing and any(label not in class_weight for label in known):
        raise ValueError(
            f"class_weight names {strange[0]!r}, which is not a class of y: {shown(classes)}."
            f"{near(str(strange[0]), map(str, known))} Name classes of y, or leave it out."
        )
    return np.array([float(class_weight.get(label, 1.0)) for label in known])


# -- values -------------------------------------------------------------------------------------


def read_values(y: Any, count: int) -> Array:
    """Return y as a matrix of finite doubles, one column per output."""
    if y is None:
        raise ValueError(
            "This estimator requires y to be passed, but the target y is None; give one number for "
            "each row."
        )
    values = np.asarray(y)
    if values.dtype.kind == "c":
        raise ValueError(
            f"Complex data not supported: y is of type {values.dtype}; give real numbers."
        )
    if values.ndim == 2 and values.shape[1] == 1:
        values = flat(values)
    values = as_numbers(values, "y")
    if values.ndim not in (1, 2):
        raise ValueError(
            f"y should be a 1d or 2d array, got an array of shape {values.shape}; give one number "
            "for each row, or one column for each target."
        )
    check_length(values, count)
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values.reshape(count, -1)).all(axis=1)))
        raise ValueError(
            f"Input y contains NaN or infinity (row {row}: {values[row]}); every target must be "
            "finite: leave such rows out."
        )
    return np.ascontiguousarray(values.reshape(count, -1))


def check_columns(values: Array, outputs: int) -> None:
    """Raise unless y has as many columns as the model has outputs."""
    if values.shape[1] != outputs:
        raise ValueError(
            f"y has {values.shape[1]} columns, but the model has {outputs}; give as many targets "
            "as at first, or begin again with fit and warm_start=False."
        )
