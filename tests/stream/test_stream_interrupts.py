"""Interrupts at any line of Python leave a stream consistent."""

import copy
import itertools
import pickle
import sys

import numpy as np
import pytest
from interrupt_support import Stop, known_by, stopping_at_line

import aggro
from aggro.selection.search_space import FIRST_REMOVAL


def through_a_file(model, folder):
    aggro.save(model, folder / "model")
    return aggro.load(folder / "model")


def examples_of_a_stream(count, sets=False):
    words = np.random.default_rng(1)
    for i in range(count):
        x = {
            f"w{j}": float(v) for j, v in zip(words.integers(0, 9, 4), words.random(4), strict=True)
        }
        label = "abc"[i % 2 if i < 20 else i % 3]
        yield x, {label} if sets else label


STREAMS = {
    "a new class": (lambda: aggro.StreamClassifier("PA-I", average=True), 20, False),
    "the first example of a selection": (aggro.StreamClassifier, 0, False),
    "a new class of a selection": (aggro.StreamClassifier, 20, False),
    "a replaced feature": (lambda: aggro.StreamClassifier(max_features=5), 15, False),
    "an evaluation step": (aggro.StreamClassifier, FIRST_REMOVAL - 1, False),
    "the first set of labels": (lambda: aggro.StreamClassifier("PA-I"), 0, True),
    "a new label": (lambda: aggro.StreamClassifier("PA-I", average=True), 20, True),
    "the first set of labels of a selection": (aggro.StreamClassifier, 0, True),
    "a new label of a selection": (aggro.StreamClassifier, 20, True),
}


@pytest.mark.parametrize("name", STREAMS)
def test_interrupted_stream_stays_consistent(name):
    """A stream interrupted at any line continues like one that was not."""
    make, count, sets = STREAMS[name]
    *past, (x, y) = examples_of_a_stream(count + 1, sets)
    begun, lines = make(), 0
    for example in past:
        begun.learn_one(*example)
    for line in itertools.count(0, 7 if count < 100 else 41):
        stream, copied = copy.deepcopy(begun), copy.deepcopy(begun)
        try:
            with stopping_at_line(line):
                stream.learn_one(x, y)
        except Stop:
            lines += 1
        else:
            break
        if stream.examples == count:
            stream.learn_one(x, y)
        copied.learn_one(x, y)
        for example in examples_of_a_stream(9, sets):
            stream.learn_one(*example)
            copied.learn_one(*example)
        assert known_by(stream) == known_by(copied), line
    assert lines > 3


@pytest.mark.parametrize("options", [{}, {"batch_size": 2}])
def test_interrupted_example_with_new_features_removes_the_same_candidates(options, tmp_path):
    """Candidates that do not suit the features are removed before the next example."""
    first, second, *later = examples_of_a_stream(9)
    wide = {f"new{j}": 1.0 for j in range(200)}, "b"
    begun, removed = aggro.StreamClassifier(**options), 0
    begun.learn_one(*first)
    begun.learn_one(*second)
    if options:
        begun.learn_one(*second)
    for line in itertools.count():
        stream, copied = copy.deepcopy(begun), copy.deepcopy(begun)
        before = stream._taken
        try:
            with stopping_at_line(line, files=("stream/selecting.py",)):
                stream.learn_one(*wide)
        except Stop:
            pass
        else:
            break
        if stream._taken == before:
            stream.learn_one(*wide)
        stream = through_a_file(stream, tmp_path)
        copied.learn_one(*wide)
        for example in later:
            stream.learn_one(*example)
            copied.learn_one(*example)
        assert known_by(stream) == known_by(copied), line
        removed = len(stream._selection.learner.left)
    assert removed


def test_rejected_example_with_new_features_does_not_hide_them_from_the_check():
    """Candidates that do not suit the features are removed also if the first such row fails."""
    wide = {f"new{j}": 1.0 for j in range(200)}
    stream, copied = aggro.StreamRegressor(), aggro.StreamRegressor()
    for each in (stream, copied):
        each.learn_one({"a": 1.0, "b": 2.0}, 3.0)
    with pytest.raises(ValueError, match="cannot be learned"):
        stream.learn_one({**wide, "new7": 1e300}, 1e300)
    for each in (stream, copied):
        each.learn_one(wide, 1.0)
        each.learn_one({"b": 1.0}, 2.0)
    assert known_by(stream) == known_by(copied)
    assert {each["scale"] for each in stream.candidates_} == {"none", "online"}


@pytest.mark.parametrize("name", STREAMS)
def test_signal_handler_may_predict(name):
    make, count, sets = STREAMS[name]
    *past, (x, y) = examples_of_a_stream(count + 1, sets)
    stream, seen = make(), []
    for example in past:
        stream.learn_one(*example)

    def trace(frame, event, _):
        if "aggro" not in frame.f_code.co_filename:
            return None
        seen.append((stream.examples, stream.predict_one(x), stream.score_one(x)))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        stream.learn_one(x, y)
    finally:
        sys.settrace(before)
    copied = make()
    for example in [*past, (x, y)]:
        copied.learn_one(*example)
    assert len(seen) > 10 and known_by(stream) == known_by(copied)


@pytest.mark.parametrize("options", [{}, {"batch_size": 2}, {"probability": True}])
@pytest.mark.parametrize("count", [3, FIRST_REMOVAL - 1])
def test_copies_of_an_interrupted_stream_continue_equally(count, options, tmp_path):
    """An overdue evaluation step is also overdue in each copy."""
    *past, (x, y) = examples_of_a_stream(count + 1)
    begun, stopped = aggro.StreamClassifier(**options), 0
    for example in past:
        begun.learn_one(*example)
    for line in itertools.count(0, 29):
        stream = copy.deepcopy(begun)
        try:
            with stopping_at_line(line):
                stream.learn_one({name: 30 * value for name, value in x.items()}, y)
        except Stop:
            stopped += 1
        else:
            break
        copies = (
            copy.deepcopy(stream),
            pickle.loads(pickle.dumps(stream)),
            through_a_file(stream, tmp_path),
        )
        for example in examples_of_a_stream(9):
            for each in (stream, *copies):
                each.learn_one(*example)
        assert all(known_by(each) == known_by(stream) for each in copies), line
    assert stopped
