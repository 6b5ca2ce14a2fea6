"""Models of texts put together: what their words were counted for, and their races."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce

import numpy as np

from aggro.classes import Classes
from aggro.learner import Array
from aggro.merging.learners import merge_learners
from aggro.merging.margins import join_calibrators, merge_typical
from aggro.merging.parts import wider
from aggro.merging.words import finder, keys_of, since, together
from aggro.persistence.record import Record
from aggro.reference_row import ReferenceRow
from aggro.selection.common import AnyLearner, grow_features, progressive_loss
from aggro.text.encoder import Encoder
from aggro.text.learner import TextLearner
from aggro.text.runner import Runner

FREE = ("C", "n_jobs", "random_state", "memory", "max_iter", "shuffle", "keep_names")


def merge_texts(
    learned: Sequence[Record],
    start: Record | None,
    weights: Sequence[float],
    known: Sequence[Record],
) -> Record:
    """Return models of texts as one; ``known`` are all fitted models, also empty ones."""
    first = learned[0]
    for each in known:
        _check_same(first, each)
    if first.params["forgetting"]:
        raise ValueError(
            f"Such models cannot be merged: forgetting={first.params['forgetting']} lets counts of "
            "documents forget by the order of the texts, which models learned apart do not have in "
            "common; use forgetting=0."
        )
    classes = [
        Classes(each.attributes["classes_"]) for each in known if "classes_" in each.attributes
    ]
    everybody = reduce(lambda some, more: some.admit(more.labels), classes) if classes else None
    if len(learned) == 1 and len(everybody or ()) == len(first.attributes.get("classes_", ())):
        return copy.deepcopy(first)
    fitted = [each.attributes for each in (*learned, start) if each]
    merged, learners = dict(fitted[0]), [each["_learner"] for each in fitted]
    if everybody is not None:
        own = [Classes(each["classes_"]) for each in fitted]
        learners = [_admitted(*pair, everybody) for pair in zip(learners, own, strict=True)]
        merged["classes_"] = everybody.labels
        merged["_classes_given"] = all(each.attributes["_classes_given"] for each in learned)
    begin = learners.pop() if start is not None else None
    merged["_learner"] = merge_text_learners(learners, begin, weights)
    return Record(first.name, first.params, merged)


def _check_same(first: Record, other: Record) -> None:
    for name, value in first.params.items():
        found = other.params.get(name, value)
        if name not in FREE and found != value:
            raise ValueError(
                f"The models differ in {name}: {value!r} and {found!r}; merge models "
                "with the same parameters."
            )
    mine, others = (each.attributes["_learner"].encoder for each in (first, other))
    if (mine.ranges, mine.kinds) != (others.ranges, others.kinds):
        raise ValueError(
            f"The models read texts in other ways: {_told(mine)} and {_told(others)}; choose "
            "ngram_range and idf, or merge models that still race, learned by partial_fit."
        )


def _told(encoder: Encoder) -> str:
    return f"ngram_range={encoder.ranges} by {' and '.join(encoder.kinds)}"


def _admitted(learner: TextLearner, known: Classes, classes: Classes) -> TextLearner:
    if len(known) == len(classes):
        return learner
    settings = replace(learner.settings, task=classes.task)
    return learner.admit(settings, known.among(classes), len(classes))


def merge_text_learners(
    learners: Sequence[TextLearner],
    start: TextLearner | None = None,
    weights: Sequence[float] | None = None,
) -> TextLearner:
    """Return one learner from several of the same classes and the same ways to read texts."""
    states = [each.encoder.state() for each in learners]
    if start is not None:
        begin = start.encoder.state()
        states = [begin, *(since(begin, state) for state in states)]
    first = learners[0]
    encoder = encoder_like(first.encoder, together(states))
    runners = [
        _merged(place, learners, start, weights, encoder)
        for place in _common([*learners, *([] if start is None else [start])])
    ]
    before = np.zeros(4) if start is None else _counts(start)
    total = before + sum(_counts(each) - before for each in learners)
    merged = copy.copy(first)
    merged.encoder, merged.runners = encoder, runners
    merged.examples, merged.repeated = int(total[0]), int(total[3])
    merged.leading = merged.best(runners)
    made = progressive_loss(merged.leader.race)
    merged.counted = (float(total[1] - made[0]), float(total[2] - made[1]))
    if first.calibrator is not None:
        records = [each.calibrator for each in learners if each.calibrator is not None]
        merged.calibrator = join_calibrators(records, None if start is None else start.calibrator)
    return merged


def _counts(learner: TextLearner) -> Array:
    return np.array([learner.examples, learner.mistakes, learner.distance, learner.repeated])


def encoder_like(encoder: Encoder, state: dict[str, Array]) -> Encoder:
    """Return an encoder of the same kind that knows other words."""
    new = Encoder.__new__(Encoder)
    new.__setstate__({**encoder.__getstate__(), "known": state})
    new.keep(prune=True)
    return new


def _common(learners: Sequence[TextLearner]) -> list[tuple[int, str]]:
    """Return the ways to read texts that are still in all races; others were far behind."""
    raced = [[(each.which, each.kind) for each in learner.runners] for learner in learners]
    shared = [place for place in raced[0] if all(place in each for each in raced)]
    if not shared:
        raise ValueError(
            "The races have no way to read texts in common any more: each has followed its own "
            "texts; choose ngram_range and idf, or train with aggro.dask."
        )
    return shared


def _merged(
    place: tuple[int, str],
    learners: Sequence[TextLearner],
    start: TextLearner | None,
    weights: Sequence[float] | None,
    encoder: Encoder,
) -> Runner:
    """Return one way to read texts, as all models have learned by it."""
    known = keys_of(encoder, place[0])
    own = [moved(_runner(each, place), each.encoder, known) for each in learners]
    typicals = [each.typical for each in own]
    if start is None:
        race = merge_learners([each.race for each in own], None, weights)
        return Runner(*place, race, merge_typical(typicals))
    begin = moved(_runner(start, place), start.encoder, known)
    race = merge_learners([each.race for each in own], begin.race, weights)
    return Runner(*place, race, merge_typical(typicals, begin.typical.met))


def _runner(learner: TextLearner, place: tuple[int, str]) -> Runner:
    return next(each for each in learner.runners if (each.which, each.kind) == place)


def moved(runner: Runner, encoder: Encoder, known: Array) -> Runner:
    """Return a runner for an encoder whose features have these keys; it knows more words."""
    keys = np.full(runner.race.features, -1, np.int64)  # a lesson taken back leaves features
    own = keys_of(encoder, runner.which)
    keys[: len(own)] = own
    places = finder(known)(keys)
    used = np.flatnonzero(places >= 0)
    if np.array_equal(places[used], used):  # all stay where they are
        race = grown_copy(runner.race, len(known))
    else:
        race = wider(runner.race, places, len(known))
    return replace(runner, race=race, typical=renamed(runner.typical, places.__getitem__))


def grown_copy(race: AnyLearner, features: int) -> AnyLearner:
    """Return a copy with features that were never seen."""
    twin = copy.deepcopy(race)
    grow_features(twin, features)
    return twin


def renamed(typical: ReferenceRow, new: Callable[[Array], Array]) -> ReferenceRow:
    """Return a typical example whose features have new numbers."""
    samples = tuple(_sorted(values, new(features)) for values, features in typical.samples)
    mean, features = _sorted(typical.mean, new(typical.features))
    return replace(typical, mean=mean, features=features, samples=samples)


def _sorted(values: Array, features: Array) -> tuple[Array, Array]:
    order = np.argsort(features, kind="stable")
    return values[order], features[order]
