"""The memory limit of a model selection and the candidates that fit in it."""

import copy
from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import random as random_csr

import aggro
from aggro import AutoClassifier, AutoRegressor, PassiveAggressiveClassifier, StreamClassifier
from aggro.checks import bytes_of
from aggro.selection.memory import learner_bytes
from aggro.settings import DEFAULT_MEMORY, memory_limit

COLUMNS, CLASSES = 400, 6


def rows(count=300, seed=0, density=0.05):
    random = np.random.default_rng(seed)
    X = random_csr(count, COLUMNS, density, format="csr", random_state=random)
    return X, np.r_[np.arange(CLASSES), random.integers(0, CLASSES, count - CLASSES)]


def allocated(learners):
    """Return the bytes of all arrays of the candidates."""
    return sum(array.nbytes for each in learners for array in each.state().values())


def names(model):
    return {(each["metric"], each["scale"], each["C"]) for each in model.candidates_}


@pytest.mark.parametrize("cls", [AutoClassifier, AutoRegressor])
@pytest.mark.parametrize("memory", [1, 200_000, "500kB", "1MiB", 2_000_000, "3MB", "1GiB"])
@pytest.mark.parametrize("dense", [False, True])
def test_candidates_stay_within_the_limit(cls, memory, dense):
    X, y = rows()
    model = cls(memory=memory, random_state=0).partial_fit(X.toarray() if dense else X, y)
    learners = model._learner.learners
    candidates = sum(each.models for each in learners)
    assert allocated(learners) <= bytes_of("memory", memory) or candidates == 1
    assert model.predict(X[:1].toarray() if dense else X[:1]).shape == (1,)


def test_the_peak_while_a_selection_learns_stays_within_the_limit(monkeypatch):
    """Temporary candidates count while they exist."""
    from aggro import learner as module

    alive, most = [], [0]
    original = module.Learner.__init__

    class Mark:
        def __init__(self, size):
            self.size = size
            alive.append(size)
            most[0] = max(most[0], sum(alive))

        def __del__(self):
            alive.remove(self.size)

    def counted(self, *args, **kwargs):
        original(self, *args, **kwargs)
        self.mark = Mark(learner_bytes(self))

    monkeypatch.setattr(module.Learner, "__init__", counted)
    X, y = rows(3500)
    limit = 1_500_000
    model = AutoClassifier(memory=limit, random_state=0, max_iter=4, tol=1e-9)
    model.partial_fit(X, y)
    assert 0 < most[0] <= limit
    del model
    most[0] = 0
    AutoClassifier(memory=limit, random_state=0).fit(X, y)
    assert 0 < most[0] <= limit


def test_more_memory_means_more_candidates_and_enough_means_all():
    X, y = rows(40)
    models = [AutoClassifier(memory=size).partial_fit(X, y) for size in (1, "800kB", "5MB", None)]
    sizes = [len(model.candidates_) for model in models]
    assert sizes[0] == 1 and all(a < b for a, b in pairwise(sizes))
    whole = PassiveAggressiveClassifier(
        C="auto", metric="auto", scale="auto", loss="squared_hinge"
    ).partial_fit(X, y)
    assert len(whole.candidates_) == sizes[-1]


@pytest.mark.parametrize("memory", [1, "800kB", "5MB"])
def test_candidates_within_a_limit_are_chunk_invariant(memory):
    X, y = rows(700)
    whole = AutoClassifier(memory=memory).partial_fit(X, y)
    parts = AutoClassifier(memory=memory)
    for start in range(0, len(y), 70):
        parts.partial_fit(X[start : start + 70], y[start : start + 70], classes=np.unique(y))
    assert names(whole) == names(parts)
    assert np.array_equal(whole.coef_, parts.coef_)


@pytest.mark.parametrize("memory", [1, "800kB", "5MB"])
def test_classes_that_appear_later_leave_the_same_candidates(memory):
    X, y = rows(200)
    order = np.r_[np.argsort(y[:20], kind="stable"), 20 : len(y)]
    X, y = X[order], y[order]
    whole = AutoClassifier(memory=memory).partial_fit(X, y)
    parts = AutoClassifier(memory=memory)
    for row in range(len(y)):
        parts.partial_fit(X[row : row + 1], y[row : row + 1])
        assert allocated(parts._learner.learners) <= bytes_of("memory", memory) or memory == 1
    assert names(whole) == names(parts)


def test_classes_that_appear_after_a_removal_keep_the_limit():
    X, y = rows(700)
    early = np.minimum(y, 1)
    model = AutoClassifier(memory="600kB").partial_fit(X, early)
    model.partial_fit(X, y)
    assert allocated(model._learner.learners) <= 600_000


def test_a_stream_keeps_its_limit():
    stream = StreamClassifier("SPA-I", C="auto", metric="diagonal", memory="60kB")
    random = np.random.default_rng(0)
    for _ in range(400):
        x = {f"word{i}": 1.0 for i in random.integers(0, 400, 8)}
        stream.learn_one(x, bool(random.random() < 0.5))
    assert 1 <= len(stream.candidates_) < 13
    assert stream._raw_memory_usage > 0
    sizes = [len(stream.candidates_), len(copy.deepcopy(stream).candidates_)]
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize(
    ("given", "size"),
    [
        (1000, 1000),
        ("1000", 1000),
        ("1GiB", 2**30),
        ("1.5 kb", 1500),
        (2e3, 2000),
        (np.int64(7), 7),
    ],
)
def test_sizes_are_parsed(given, size):
    assert bytes_of("memory", given) == size


@pytest.mark.parametrize(
    "given", [0, -1, 0.5, True, "", "GiB", "1XB", "-1MB", np.nan, np.inf, [1], "0"]
)
@pytest.mark.parametrize("cls", [AutoClassifier, aggro.TextClassifier])
def test_invalid_sizes_are_rejected(cls, given):
    X, y = (["a b", "c d"], [0, 1]) if cls is aggro.TextClassifier else (np.eye(2), [0, 1])
    with pytest.raises(ValueError, match=r"memory=.*512MiB"):
        cls(memory=given).fit(X, y)


def test_the_limit_has_a_default_and_is_stored_in_model_files(tmp_path):
    assert 0 < memory_limit(None) <= DEFAULT_MEMORY
    X, y = rows(40)
    model = AutoClassifier(memory="800kB").partial_fit(X, y)
    aggro.save(model, tmp_path / "model.aggro")
    loaded = aggro.load(tmp_path / "model.aggro")
    assert loaded.memory == "800kB" and names(loaded) == names(model)
    assert (
        aggro.TextClassifier(memory="1MB").fit(["a b", "c d"], [0, 1])._learner.settings.memory
        == "1MB"
    )
