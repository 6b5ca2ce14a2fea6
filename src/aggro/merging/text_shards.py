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
from aggro.selection.common import learners_of
from aggro.text.learner import TextLearner


class TextShard(TextLearner):
    """A race on texts in which everybody stays: all shards race the same, until they merge."""

    def _until_next_look(self) -> int:
        return int(np.iinfo(np.int64).max // 2)

    def _look(self, settled: bool) -> None:
        """Leave looking to the merged race."""

    def leave_room(self) -> None:
        """Leave this, too."""


def _with(learner: TextLearner, **changes: Any) -> TextLearner:
    new = copy.copy(learner)
    new.__setstate__({**learner.__getstate__(), **changes})
    return new


def text_shard(learner: TextLearner, shards: int) -> TextShard:
    """Return a copy that learns one of so many shards: its lanes at a price so many times higher.

    It remembers the names alone that it meets itself.
    """
    twin = TextShard.__new__(TextShard)
    runners = [replace(each, race=shard_of(each.race, shards)) for each in learner.runners]
    twin.__setstate__({**learner.__getstate__(), "runners": runners})
    twin.encoder = without_names(learner).encoder
    return twin


def without_names(learner: TextLearner) -> TextLearner:
    """Return the learner without the names of its words, which nobody needs to learn."""
    encoder = learner.encoder
    return _with(learner, encoder=encoder_like(encoder, nameless(encoder.state())))


def counting(learner: TextLearner, mergeable: bool) -> TextLearner:
    """Return the learner that counts news from here on, or no longer does."""
    runners = [replace(r, race=without_news(r.race, mergeable)) for r in learner.runners]
    settings = replace(learner.settings, mergeable=mergeable)
    return _with(learner, runners=runners, settings=settings)


# -- what a shard has learned --------------------------------------------------------------------


def changes_of(start: TextLearner, end: TextLearner) -> tuple[Change, ...]:
    """Return what each learner of each runner has learned, its features called by their keys."""
    space, found = key_space(end.encoder), []
    for before, after in zip(start.runners, end.runners, strict=True):
        keys, width = keys_of(end.encoder, after.which), after.race.features
        wide = grown_copy(before.race, width)
        for old, new in zip(learners_of(wide), learners_of(after.race), strict=True):
            change = change_between(take_apart(old), take_apart(new), new)
            found.append(_called(change, keys[change.touched], space))
    return tuple(found)


def words_since(start: TextLearner, end: TextLearner) -> State:
    """Return the words that a shard has counted; it began without names."""
    return since(nameless(start.encoder.state()), end.encoder.state())


def margins_of(end: TextLearner) -> tuple[Any, ...]:
    """Return the margins of a shard, and the typical texts of its runners by their keys."""
    keys = [keys_of(end.encoder, runner.which) for runner in end.runners]
    typicals = [renamed(r.typical, k.__getitem__) for r, k in zip(end.runners, keys, strict=True)]
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
    rest, runners, placed = iter(changes), [], []
    for runner in start.runners:
        keys = keys_of(encoder, runner.which)
        runners.append(moved(runner, start.encoder, keys))
        found = finder(keys)
        for _ in learners_of(runner.race):
            change = next(rest)
            placed.append(_called(change, found(change.touched), len(keys)))
    known = _with(start, encoder=encoder, runners=runners)
    return _with_margins(known, records) if records else known, placed


def _with_margins(start: TextLearner, records: Sequence[Any]) -> TextLearner:
    own = [calibrator for calibrator, _ in records]
    runners = []
    for place, runner in enumerate(start.runners):
        found = finder(keys_of(start.encoder, runner.which))
        typicals = [renamed(each[place], found) for _, each in records]
        typical = merge_typical(typicals, runner.typical.met)
        runners.append(replace(runner, typical=typical))
    return _with(start, runners=runners, calibrator=join_calibrators(own, start.calibrator))


def merge_text_round(
    start: TextLearner, changes: Sequence[Change], shaped: bool, repeated: int = 0
) -> TextLearner:
    """Return the start with what all shards of a round have learned; the race goes on.

    ``repeated`` of its examples were then learned in a later pass.

    As soon as a representation leads, it goes on alone: the words of all others would have to be
    sent, and shards send them in each round.
    """
    rest, runners = iter(changes), []
    for runner in start.runners:
        own = tuple(next(rest) for _ in learners_of(runner.race))
        runners.append(replace(runner, race=merge_round(runner.race, own, shaped)))
    merged = _with(start, repeated=repeated)
    merged.go_on_with(runners, runners[0].race.examples)
    merged.leave_room()
    merged.follow_leader()
    return merged
