"""Text learners in model files: vocabulary, and model selection."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

import aggro
from aggro.persistence.calibrators import (
    decode_calibrator,
    decode_typical,
    encode_calibrator,
    encode_typical,
)
from aggro.persistence.container import ModelFileError
from aggro.persistence.schema import check_words
from aggro.persistence.selections import decode_selection, encode_selection
from aggro.persistence.values import Arrays, decode, encode
from aggro.selection.search_space import TEXT_SEARCH_SPACE
from aggro.text.encoder import Encoder
from aggro.text.learner import TextLearner
from aggro.text.options import Options

MOST_RANGES = 64
MOST_SOURCES = 2**16


def encode_text_learner(learner: TextLearner, where: str, arrays: Arrays) -> dict[str, Any]:
    """Return the JSON description of a text learner; add its arrays to ``arrays``."""
    encoder, calibrator = learner.encoder, learner.calibrator
    arrays |= {f"{where}-words.{name}": array for name, array in encoder.state().items()}
    return {
        "repeated": int(learner.repeated),
        "options": encode(dataclasses.asdict(_plain(encoder.options)), f"{where}-options", arrays),
        "ranges": [list(map(int, each)) for each in encoder.ranges],
        "kinds": list(encoder.kinds),
        "shape": [len(encoder.texts), int(encoder.categories is not None), _numbers(encoder)],
        "names": int(encoder.names),
        "references": [
            encode_typical(each, f"{where}-reference-{number}", arrays)
            for number, each in enumerate(encoder.references)
        ],
        "selection": encode_selection(learner.selection, where, arrays),
        "representations": [each.representation for each in learner.selection.learners],
        "calibrator": None
        if calibrator is None
        else encode_calibrator(calibrator, f"{where}-calibrator", arrays),
    }


def decode_text_learner(facts: dict[str, Any], where: str, arrays: Arrays) -> TextLearner:
    """Return the learner, or raise if its parts are inconsistent."""
    if type(facts["repeated"]) is not int or facts["repeated"] < 0:
        raise ModelFileError(f"repeated={facts['repeated']!r} is not a count")
    encoder = _decode_encoder(facts, where, arrays)
    learner = TextLearner.__new__(TextLearner)
    selection = decode_selection(
        facts["selection"], where, arrays, representations=encoder, space=TEXT_SEARCH_SPACE
    )
    for each, number in zip(selection.learners, facts["representations"], strict=True):
        each.representation = int(number)
    calibrator = facts["calibrator"]
    calibrator = None if calibrator is None else decode_calibrator(calibrator, arrays)
    known = {"selection": selection, "calibrator": calibrator, "repeated": facts["repeated"]}
    learner.__setstate__(known)
    _check(learner)
    return learner


def _decode_encoder(facts: dict[str, Any], where: str, arrays: Arrays) -> Encoder:
    texts, categories, numbers = (int(each) for each in facts["shape"])
    if not (0 <= texts + numbers < MOST_SOURCES and 0 < len(facts["ranges"]) <= MOST_RANGES):
        raise ModelFileError("it has an invalid number of columns or of ranges of n-grams")
    options = Options(**decode(facts["options"], arrays))
    ranges = [(int(low), int(high)) for low, high in facts["ranges"]]
    for each in ranges:
        dataclasses.replace(options, ngram_range=each)  # validates it
    if not set(facts["kinds"]) <= {"tf", "idf"} or not facts["kinds"]:
        raise ModelFileError("it has unknown weightings of words")
    shape = (texts, bool(categories), numbers, int(facts["names"]))
    encoder = Encoder(options, ranges, facts["kinds"], *shape)
    prefix = f"{where}-words."
    words = {n[len(prefix) :]: a for n, a in arrays.items() if n.startswith(prefix)}
    check_words(words, numbers)
    encoder.load_state(words)
    encoder.set_references([decode_typical(each, arrays) for each in facts["references"]])
    return encoder


def _check(learner: TextLearner) -> None:
    """Raise unless the parts are consistent."""
    encoder, selection = learner.encoder, learner.selection
    fits = len(encoder.references) in (0, len(encoder.choices)) and selection.dtype == np.float32
    for each in selection.learners:
        fits = fits and 0 <= each.representation < len(encoder.choices)
        fits = fits and each.features >= encoder.features(encoder.choices[each.representation][0])
    for (which, _), reference in zip(encoder.choices, encoder.references, strict=False):
        places = max(int(part.max(initial=0)) for part in reference.places())
        fits = fits and places < encoder.features(which)
    calibrator = learner.calibrator
    if calibrator is not None:
        known = (calibrator.classes, calibrator.multilabel)
        fits = fits and known == (learner.classes, False) and len(encoder.references) > 0
        fits = fits and learner.settings.task != "regression"
    if not fits:
        raise ModelFileError("its parts are not those of one learner of texts")


def text_estimator_of(name: str, params: dict[str, Any], attributes: dict[str, Any]) -> Any:
    """Return the estimator described by plain data."""
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
    """Return the options with stop words as a sorted list."""
    stops = options.stop_words
    if stops is None or isinstance(stops, str):
        return options
    return dataclasses.replace(options, stop_words=sorted(stops))


def _numbers(encoder: Encoder) -> int:
    return 0 if encoder.numbers is None else len(encoder.numbers.squares)


def _fits(learner: TextLearner, attributes: dict[str, Any]) -> bool:
    """Return whether the learner and the attributes have the same task."""
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
