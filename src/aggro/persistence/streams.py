"""Stream learners in model files."""

from __future__ import annotations

from typing import Any

import numpy as np

import aggro
from aggro.calibration.calibrator import Calibrator
from aggro.classes import label_outputs
from aggro.estimators import counters
from aggro.learner import Learner
from aggro.persistence.container import ModelFileError
from aggro.persistence.record import Record
from aggro.persistence.schema import COUNT, POSITIVE, Field, check_arrays
from aggro.selection.common import is_mapped
from aggro.selection.feature_maps import MOST_COLUMNS
from aggro.selection.selection import ModelSelection
from aggro.settings import Settings, Task, check_settings, class_task
from aggro.stream.base import is_narrow, numbers_of, settings_given
from aggro.stream.probability import StreamRecord
from aggro.stream.selecting import StreamSelection
from aggro.variants import losses_of

NOT_SETTINGS = ("algorithm", "C", "max_features", "overflow", "random_state", "probability")
COLUMNS = ("entries", "width", "checked")  # sizes that a stream selection knows
STREAMS = ("StreamClassifier", "StreamRegressor")
ARRAYS = {
    "waiting_values": Field(np.float64, (None,)),
    "waiting_slots": Field(np.int32, (None,), *COUNT),
    "waiting_ends": Field(np.int64, (None,), *COUNT),
    "waiting_labels": Field(np.int64, (None,), -1),
    "waiting_targets": Field(np.float64, (None,)),
    "waiting_weights": Field(np.float64, (None,), *POSITIVE),
    "recency": Field(np.int32, (None,), *COUNT),
}


def stream_record(model: Any) -> Record:
    """Return a stream learner as plain data."""
    with model._lock:
        names, classes, known, arrays = model._pieces()
        recorded = model._recorded() if getattr(model, "probability", False) else None
    plain = bool(names) and all(type(name) is str for name in names)
    attributes: dict[str, Any] = {
        "names": np.array(names, dtype=object) if plain else names,  # an array is smaller
        "classes": classes,
    }
    ignored = np.zeros(len(names), np.uint8)
    ignored[arrays["ignored"]] = 1
    attributes["waiting"] = {**arrays, "ignored": ignored}
    if isinstance(known, StreamSelection):
        columns = {name: getattr(known, name) for name in ("counters", *COLUMNS)}
        attributes |= {"_learner": known.learner, "columns": columns}
    else:
        attributes["_learner"] = known
    if recorded is not None:
        examples = [*recorded.recent, recorded.reference]
        attributes["_calibrator"] = recorded.flush()
        attributes["record"] = {
            "met": recorded.met,
            "next_mean": recorded.next_mean,
            "recent": [(list(x), list(x.values())) for x in examples],
        }
    return Record(type(model).__name__, model._get_params(), attributes)


def stream_learner(record: Record) -> Any:
    """Return the stream learner described by plain data."""
    params, fitted = record.params, record.attributes
    learner, waiting = fitted["_learner"], fitted["waiting"]
    expected = {"names", "classes", "waiting", "_learner"}
    expected |= {"columns"} if isinstance(learner, ModelSelection) else set()
    expected |= {"_calibrator", "record"} if params.get("probability") else set()
    if fitted.keys() != expected or not isinstance(waiting, dict):
        raise ModelFileError("its parts are not those of a stream learner")
    names, classes = list(fitted["names"]), list(fitted["classes"])
    check_arrays(waiting, {**ARRAYS, "ignored": Field(np.uint8, (len(names),))})
    waiting = {**waiting, "ignored": np.flatnonzero(waiting["ignored"]).astype(np.int32)}
    _check_learner(record, names, classes, learner)
    known = learner if isinstance(learner, Learner) else _selection_of(learner, fitted["columns"])
    model = getattr(aggro, record.name)(**params)
    model._restore(names, classes, known, waiting)
    if params.get("probability"):
        several = learner.settings.task == "multilabel"
        model._record = _stream_record_of(fitted, classes, several, model._record.batch)
    return model


def _check_learner(record: Record, names: list[Any], classes: list[Any], learner: Any) -> None:
    """Raise unless a learner matches the parameters, names and classes of a stream."""
    params, regression = record.params, record.name == "StreamRegressor"
    if not isinstance(learner, (Learner, ModelSelection)):
        raise ModelFileError("it holds no linear learner")
    own = {key: value for key, value in params.items() if key not in NOT_SETTINGS}
    narrow = is_narrow(params["max_features"], params["overflow"])
    keywords = settings_given(regression, params["algorithm"], params["C"], own, narrow)
    task: Task = "regression" if regression else class_task(len(classes))
    outputs = max(len(classes), 1)
    if not regression and learner.settings.task == "multilabel":
        task, outputs = "multilabel", label_outputs(len(classes))
    settings = Settings(task=task, **keywords)
    check_settings(settings, losses_of(regression))
    fits = learner.settings == settings and learner.classes == outputs
    fits &= learner.dtype == np.float64
    if params["overflow"] == "hash" and params["max_features"]:
        fits &= learner.features == params["max_features"] and not names
    else:
        waits = len(record.attributes["waiting"]["waiting_ends"])  # candidates will be widened then
        grows = isinstance(learner, ModelSelection) and waits > 0
        full = is_mapped(learner) and learner.features >= MOST_COLUMNS  # other names are ignored
        fits &= grows or full or learner.features >= len(names)
    if not fits:
        raise ModelFileError("the parameters are not those that the model has learned with")


def _selection_of(learner: ModelSelection, columns: dict[str, Any]) -> StreamSelection:
    known, sizes = columns["counters"], [columns[name] for name in COLUMNS]
    fits = known is None or counters.fit(known, learner.features)
    if not fits or any(type(size) is not int or size < 0 for size in sizes):
        raise ModelFileError("its column statistics are inconsistent")
    return StreamSelection(learner, known, *sizes)


def _stream_record_of(
    fitted: dict[str, Any], classes: list[Any], several: bool, batch: int
) -> StreamRecord:
    """Return the recorded margins."""
    facts, calibrator = fitted["record"], fitted["_calibrator"]
    known = (label_outputs(len(classes)) if several else max(len(classes), 1), several)
    if not isinstance(calibrator, Calibrator) or (
        (calibrator.classes, calibrator.multilabel) != known
    ):
        raise ModelFileError("the recorded margins are not those of its classes")
    record = StreamRecord(batch, classes)
    record.calibrator = calibrator
    record.met, record.next_mean = int(facts["met"]), int(facts["next_mean"])
    *record.recent, record.reference = (
        numbers_of(dict(zip(names, values, strict=True))) for names, values in facts["recent"]
    )
    return record
