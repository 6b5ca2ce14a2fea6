"""One round of shards of texts: each meets words of its own, which all call by the same keys."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from aggro.learner import Array
from aggro.merging.changes import Change, change_between
from aggro.merging.margins import join_calibrators, merge_typical
from aggro.merging.parts import take_apart, without_news
from aggro.merging.shards import merge_round, shard_of
from aggro.merging.texts import encoder_like, grown_copy, moved, renamed
from aggro.merging.words import State, finder, key_space, keys_of, nameless, since, together
from aggro.selection.memory import fits_into_memory
from aggro.selection.selection import ModelSelection
from aggro.text.encoder import Encoder
from aggro.text.learner import TextLearner


def _with(learner: TextLearner, **changes: Any) -> TextLearner:
    new = copy.copy(learner)
    new.__dict__.update(changes)
    return new


def _with_encoder(selection: ModelSelection, encoder: Encoder) -> ModelSelection:
    new = copy.copy(selection)
    new.representations = encoder
    return new


def text_shard(learner: TextLearner, shards: int) -> TextLearner:
    """Return a copy that learns one of so many shards: its lanes at a price so many times higher.

    It remembers the names alone that it meets itself.
    """
    shard = without_names(learner)
    selection = shard_of(shard.selection, shards)
    assert isinstance(selection, ModelSelection)
    return _with(shard, selection=selection)


def without_names(learner: TextLearner) -> TextLearner:
    """Return the learner without the names of its words, which nobody needs to learn."""
    encoder = learner.encoder
    bare = encoder_like(encoder, nameless(encoder.state()))
    return _with(learner, selection=_with_encoder(learner.selection, bare))


def counting(learner: TextLearner, mergeable: bool) -> TextLearner:
    """Return the learner that counts news from here on, or no longer does."""
    return _with(learner, selection=without_news(learner.selection, mergeable))


# -- what a shard has learned --------------------------------------------------------------------


def changes_of(start: TextLearner, end: TextLearner) -> tuple[Change, ...]:
    """Return what each learner has learned, its features called by their keys."""
    space, found, encoder = key_space(end.encoder), [], end.encoder
    keys = [keys_of(encoder, which) for which, _ in encoder.choices]
    for old, new in zip(start.selection.learners, end.selection.learners, strict=True):
        before = take_apart(grown_copy(old, new.features))
        change = change_between(before, take_apart(new), new)
        found.append(_called(change, keys[new.representation][change.touched], space))
    return tuple(found)


def words_since(start: TextLearner, end: TextLearner) -> State:
    """Return the words that a shard has counted; it began without names."""
    return since(nameless(start.encoder.state()), end.encoder.state())


def margins_of(end: TextLearner) -> tuple[Any, ...]:
    """Return the margins of a shard, and its reference rows with the keys of their features."""
    keys = [keys_of(end.encoder, which) for which, _ in end.encoder.choices]
    rows = end.encoder.references
    typicals = [renamed(row, own.__getitem__) for row, own in zip(rows, keys, strict=True)]
    return end.calibrator, typicals


def _called(change: Change, touched: Array, features: int) -> Change:
    """Return a change whose features are called otherwise."""
    order = np.argsort(touched, kind="stable")
    tables = {name: table[order] for name, table in change.tables.items()}
    news = None if change.news is None else change.news[order]
    return replace(change, features=features, touched=touched[order], tables=tables, news=news)


# -- the merge -----------------------------------------------------------------------------------


def knowing(
    start: TextLearner, words: State, changes: Sequence[Change], records: Sequence[Any]
) -> tuple[TextLearner, list[Change]]:
    """Return the start as it knows all words of a round, and the changes by its own features.

    It knows the margins that texts of the round were given, too.
    """
    encoder = encoder_like(start.encoder, together([start.encoder.state(), words]))
    selection, references = moved(start, encoder)
    keys = [keys_of(encoder, which) for which, _ in encoder.choices]
    placed = []
    for learner, change in zip(selection.learners, changes, strict=True):
        own = keys[learner.representation]
        placed.append(_called(change, finder(own)(change.touched), len(own)))
    encoder.set_references(references)
    known = _with(start, selection=_with_encoder(selection, encoder))
    return _with_margins(known, records) if records else known, placed


def _with_margins(start: TextLearner, records: Sequence[Any]) -> TextLearner:
    own, encoder = [calibrator for calibrator, _ in records], start.encoder
    merged = []
    for number, (which, _) in enumerate(encoder.choices):
        found = finder(keys_of(encoder, which))
        typicals = [renamed(each[number], found) for _, each in records]
        merged.append(merge_typical(typicals, encoder.references[number].met))
    encoder.set_references(merged)
    return _with(start, calibrator=join_calibrators(own, start.calibrator))


def merge_text_round(
    start: TextLearner, changes: Sequence[Change], repeated: int = 0
) -> TextLearner:
    """Return the start with what all shards of a round have learned; the race goes on.

    ``repeated`` of its examples were then learned in a later pass.

    As soon as a representation leads, it goes on alone: the words of all others would have to be
    sent, and shards send them in each round.
    """
    selection = merge_round(start.selection, tuple(changes))
    assert isinstance(selection, ModelSelection)
    if not fits_into_memory(selection.learners, selection.settings):
        selection.fit_into_memory()
    selection.keep_representation()
    return _with(start, selection=selection, repeated=repeated)
