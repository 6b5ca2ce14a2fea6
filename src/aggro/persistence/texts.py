"""Learners of texts in model files: their words, and the learners that race on them."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

import aggro
from aggro.learner import Learner
from aggro.persistence.autos import (
    decode_auto_learner,
    decode_counted,
    decode_left,
    encode_auto_learner,
)
from aggro.persistence.calibrators import (
    decode_calibrator,
    decode_typical,
    encode_calibrator,
    encode_typical,
)
from aggro.persistence.container import ModelFileError
from aggro.persistence.learners import (
    decode_learner,
    decode_settings,
    encode_learner,
    encode_settings,
)
from aggro.persistence.schema import check_words
from aggro.persistence.values import Arrays, decode, encode
from aggro.selection.selection import ModelSelection
from aggro.text.encoder import Encoder
from aggro.text.learner import TextLearner
from aggro.text.options import Options
from aggro.text.race import TextRace
from aggro.text.runner import Runner

FACTS = {"classes": int, "examples": int, "leading": int, "memory": int}
MOST_RUNNERS = 64
MOST_SOURCES = 2**16


def encode_text_learner(learner: TextLearner, where: str, arrays: Arrays) -> dict[str, Any]:
    """Return the facts about a learner of texts; its arrays go to ``arrays``."""
    encoder = learner.encoder
    known = encoder.state()
    arrays |= {f"{where}-words.{name}": array for name, array in known.items()}
    return {
        **{name: int(getattr(learner, name)) for name in FACTS},
        "left": [row | {"ngram_range": list(row["ngram_range"])} for row in learner.left],
        "repeated": int(learner.repeated),
        "earlier": [float(each) for each in learner.counted],  # leaders
        "settings": encode_settings(learner.settings, arrays),
        "options": encode(dataclasses.asdict(_plain(encoder.options)), f"{where}-options", arrays),
        "ranges": [list(map(int, each)) for each in encoder.ranges],
        "kinds": list(encoder.kinds),
        "shape": [len(encoder.texts), int(encoder.categories is not None), _numbers(encoder)],
        "names": int(encoder.names),
        "runners": [
            _encode_runner(runner, f"{where}-{number}", arrays)
            for number, runner in enumerate(learner.runners)
        ],
        "calibrator": None
        if learner.calibrator is None
        else encode_calibrator(learner.calibrator, f"{where}-calibrator", arrays),
    }


def decode_text_learner(facts: dict[str, Any], where: str, arrays: Arrays) -> TextLearner:
    """Return the learner, or raise if its parts do not fit together."""
    for name, kind in FACTS.items():
        if type(facts[name]) is not kind or facts[name] < 0:
            raise ModelFileError(f"{name}={facts[name]!r} is not of the right type")
    texts, categories, numbers = (int(each) for each in facts["shape"])
    if not (0 <= texts + numbers < MOST_SOURCES and 0 < len(facts["runners"]) <= MOST_RUNNERS):
        raise ModelFileError("it holds no learner of texts that makes sense")
    options = Options(**decode(facts["options"], arrays))
    ranges = [(int(low), int(high)) for low, high in facts["ranges"]]
    for each in ranges:
        dataclasses.replace(options, ngram_range=each)  # checks it
    if not set(facts["kinds"]) <= {"tf", "idf"} or not facts["kinds"] or not ranges:
        raise ModelFileError("it has weighings of words that are not known")
    shape = (texts, bool(categories), numbers, int(facts["names"]))
    encoder = Encoder(options, ranges, facts["kinds"], *shape)
    prefix = f"{where}-words."
    words = {n[len(prefix) :]: a for n, a in arrays.items() if n.startswith(prefix)}
    check_words(words, numbers)
    encoder.load_state(words)
    settings = decode_settings(facts["settings"], arrays)
    learner = TextLearner.__new__(TextLearner)
    runners = [
        _decode_runner(each, f"{where}-{number}", arrays)
        for number, each in enumerate(facts["runners"])
    ]
    calibrator = facts["calibrator"]
    calibrator = None if calibrator is None else decode_calibrator(calibrator, arrays)
    known = {name: facts[name] for name in FACTS}
    learner.__setstate__(
        {
            **known,
            "encoder": encoder,
            "settings": settings,
            "runners": runners,
            "calibrator": calibrator,
            "counted": (0.0, 0.0),
            "repeated": int(facts["repeated"]),
            "left": _left(facts["left"]),
        }
    )
    _check(learner)
    learner.counted = decode_counted(facts["earlier"])
    return learner


def _left(rows: Any) -> list[dict[str, Any]]:
    """Return the report of the removed candidates."""
    return [row | {"ngram_range": tuple(map(int, row["ngram_range"]))} for row in decode_left(rows)]


def _encode_runner(runner: Runner, where: str, arrays: Arrays) -> dict[str, Any]:
    race = runner.race
    kind, learner = (
        ("auto_learner", encode_auto_learner(race, where, arrays))
        if isinstance(race, ModelSelection)
        else ("learner", encode_learner(race, where, arrays))
    )
    typical = encode_typical(runner.typical, f"{where}-typical", arrays)
    return {"which": runner.which, "kind": runner.kind, kind: learner, "typical": typical}


def _decode_runner(facts: dict[str, Any], where: str, arrays: Arrays) -> Runner:
    race: ModelSelection | Learner
    if "auto_learner" in facts:
        race = decode_auto_learner(facts["auto_learner"], where, arrays, TextRace)
    else:
        race = decode_learner(facts["learner"], where, arrays)
    typical = decode_typical(facts["typical"], arrays)
    return Runner(int(facts["which"]), str(facts["kind"]), race, typical)


def _check(learner: TextLearner) -> None:
    """Raise unless the parts are those of one learner."""
    encoder, outputs = learner.encoder, learner.outputs
    fits = 0 <= learner.leading < len(learner.runners)
    for runner in learner.runners:
        race, which = runner.race, runner.which
        fits = fits and runner.kind in encoder.kinds and 0 <= which < len(encoder.ranges)
        fits = fits and race.features >= encoder.features(which)
        fits = fits and race.outputs == outputs and race.settings.task == learner.settings.task
        fits = fits and race.dtype == np.float32
        places = max(int(part.max(initial=0)) for part in runner.typical.places())
        fits = fits and places < race.features
    calibrator = learner.calibrator
    if calibrator is not None:
        known = (calibrator.classes, calibrator.multilabel)
        fits = fits and known == (learner.classes, learner.settings.task == "regression")
    if not fits:
        raise ModelFileError("its parts are not those of one learner of texts")


def text_estimator_of(name: str, params: dict[str, Any], attributes: dict[str, Any]) -> Any:
    """Return the estimator that plain data describe."""
    model = getattr(aggro, name)(**params)
    expected = {"_learner"} if name == "TextRegressor" else {"_learner", "classes_"}
    expected |= set() if name == "TextRegressor" else {"_classes_given"}
    others = attributes.keys() - {"_origin"}
    if not attributes or others == set():
        return model
    learner = attributes.get("_learner")
    if others != expected or not isinstance(learner, TextLearner) or not _fits(learner, attributes):
        raise ModelFileError("its parts are not those of one model of texts")
    vars(model).update(attributes)
    return model


def _plain(options: Options) -> Options:
    """Return the options with stop words as a sorted list, if they are words."""
    stops = options.stop_words
    if stops is None or isinstance(stops, str):
        return options
    return dataclasses.replace(options, stop_words=sorted(stops))


def _numbers(encoder: Encoder) -> int:
    return 0 if encoder.numbers is None else len(encoder.numbers.squares)


def _fits(learner: TextLearner, attributes: dict[str, Any]) -> bool:
    """Tell whether the learner is of the task that the attributes are of."""
    if "classes_" not in attributes:
        return learner.settings.task == "regression"
    classes = attributes["classes_"]
    return (
        isinstance(classes, np.ndarray)
        and classes.shape == (learner.classes,)
        and bool(np.all(classes[:-1] < classes[1:]))
        and type(attributes["_classes_given"]) is bool
        and learner.settings.task != "regression"
    )
