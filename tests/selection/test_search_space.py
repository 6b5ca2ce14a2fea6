"""The grid of C: its unit, its moves, and the removal of candidates."""

import numpy as np
import pytest
from closeness import assert_close
from linear_support import make_problem, train
from scipy.sparse import csr_matrix

from aggro import PassiveAggressiveClassifier, PassiveAggressiveRegressor, StreamRegressor
from aggro.learner import Learner
from aggro.selection.candidates import is_hopeless, remaining
from aggro.selection.learners import move_grid
from aggro.selection.search_space import (
    CLASSIFICATION_PAIRS,
    DEFAULT_SEARCH_SPACE,
    FAR,
    FIRST_REMOVAL,
    INTERVAL,
    NEAR,
    C_at,
    first_steps,
    grid_of,
    halving,
    is_test_due,
    next_checkpoint,
    off_edge,
    off_unit,
    steps_of,
)
from aggro.selection.selection import ModelSelection
from aggro.settings import METRICS, Settings, memory_of

STEP = np.log(10) / 2
CAPPED = Settings(task="regression", loss="epsilon_insensitive")
SQUARED = Settings(task="regression", loss="squared_epsilon_insensitive")
BINARY = Settings(task="binary")


def test_values_of_C_are_half_powers_of_ten():
    assert grid_of(BINARY, 0) == pytest.approx(10.0 ** np.arange(-5, 1.5, 0.5))
    assert grid_of(Settings(task="binary", metric="diagonal"), 2) == pytest.approx(
        10.0 ** np.arange(-2, 4.5, 0.5)
    )
    assert {name: len(each.grid) for name, each in METRICS.items()} == dict.fromkeys(METRICS, 13)
    assert C_at(-3) == 10**-1.5


@pytest.mark.parametrize(
    ("settings", "unit", "steps"),
    [
        (BINARY, [4, 4 * 6 * STEP, 1024, 0, 0], -6),  # 1 / the squared length
        (Settings(task="binary", metric="diagonal"), [4, 4 * 6 * STEP, 1024, 0, 0], 0),
        (Settings(task="binary", metric="full"), [4, 4 * 6 * STEP, 1024, 0, 0], 0),
        (CAPPED, [2, 2 * 6 * STEP, 5, 5 * 3 * STEP, 9], -3),  # times the target
        (SQUARED, [2, 2 * 6 * STEP, 5, 5 * 3 * STEP, 9], -6),
        (CAPPED, [0, 0, 5, -5 * 3 * STEP, 0], -3),
        (CAPPED, [0, 0, 0, 0, 0], 0),
        (BINARY, [1, -1e300, 0, 0, 0], 550),
        (BINARY, [1, 1e300, 0, 0, 0], -550),
    ],
)
def test_the_unit_of_C_follows_the_data(settings, unit, steps):
    assert steps_of(settings, unit) == pytest.approx(steps)


def test_the_first_example_sets_the_unit_of_C():
    assert first_steps(BINARY, 999.0, 1.0) == -6
    assert first_steps(Settings(task="binary", fit_intercept=False), 1000.0, 1.0) == -6
    assert first_steps(CAPPED, 0.0, 100.0) == 4
    assert first_steps(Settings(task="binary", fit_intercept=False), 0.0, 1.0) == 0
    for odd in (np.nan, np.inf):
        assert first_steps(CAPPED, odd, odd) == 0


def test_a_grid_follows_its_unit_only_beyond_a_threshold():
    for away, steps in ((0.0, 0), (NEAR - 0.01, 0), (NEAR + 0.01, 1), (1.4, 1), (7.6, 8)):
        for sign in (1, -1):
            unit = [1, -sign * (away + sign * 3) * STEP, 0, 0, 3]
            assert off_unit(BINARY, unit) == sign * steps


def test_a_grid_moves_off_either_edge_but_not_too_far():
    grid, unit = grid_of(BINARY, 5), [1, 0, 0, 0, 5]
    assert [off_edge(grid, candidate, unit) for candidate in range(13)] == [-1, *[0] * 11, 1]
    for high in (FAR - 1, FAR):
        assert off_edge([C_at(high - 1 + 5), C_at(high + 5)], 1, unit) == int(high < FAR)
        assert off_edge([C_at(5 - high), C_at(6 - high)], 0, unit) == -int(high < FAR)


def test_checkpoints_depend_on_the_number_of_examples_alone():
    checkpoints = [0]
    while checkpoints[-1] < 3 * 2**14:
        checkpoints.append(next_checkpoint(checkpoints[-1]))
    assert checkpoints[:36] == [*range(33), 34, 36, 38]
    gaps = dict(zip(checkpoints, np.diff(checkpoints), strict=False))
    assert [gaps[at] for at in (62, 64, 128, 1024, 2048, 16384, 32768)] == [
        *(2, 4, 8, 64, 128, INTERVAL, INTERVAL)
    ]
    assert set(range(INTERVAL, checkpoints[-1], INTERVAL)) < set(checkpoints)
    for examples in (5, 100, 5000, 40000):  # at whichever example a stream was stored
        assert next_checkpoint(examples) == min(
            checkpoint for checkpoint in checkpoints if checkpoint > examples
        )


def test_tests_are_due_at_powers_of_two_and_then_once_in_an_interval():
    due = [n for n in range(1, 6 * INTERVAL) if is_test_due(n, n)]
    assert due == [256, 512, 1024, 2048, 3072, 4096, 5120]
    assert is_test_due(261, 200) and is_test_due(1500, 1000)  # the batch passed the due example
    assert not is_test_due(261, 257) and not is_test_due(1500, 1025)


def test_the_memory_of_recent_errors_follows_forgetting():
    assert memory_of(BINARY) == 1 - 1 / 5000
    assert memory_of(Settings(task="binary", forgetting=0.01)) == 0.99


# -- moves of the grid ------------------------------------------------------------------------


def candidates_learner(count=5, chosen=2, lead=6.0, **axes):
    """Return a trained learner whose candidates are ``lead`` mistakes apart."""
    settings = [Settings(**{"task": "binary", "C": C_at(k), **axes}) for k in range(count)]
    X, y = make_problem("binary", 1, np.random.default_rng(0), 60, 4)
    learner = train(Learner(settings, 4, 2), X, y)
    learner.model.set_memory(0.75)
    state = learner.state()
    state["recent_mistakes"][:] = lead * np.abs(np.arange(count) - chosen) + 25.0
    state["model_mistakes"][:] = np.arange(count) + 10.0
    state["unit"][:] = [1024, 0, 1024, 0, 0]
    learner.load_state(state)
    assert learner.model.chosen == chosen
    return learner


def weights_of(learner):
    return [
        (learner.coef(i).tobytes(), learner.intercept(i).tobytes()) for i in range(learner.models)
    ]


@pytest.mark.parametrize(("steps", "sources"), [(1, [1, 2, 3, 4, 2]), (-1, [2, 0, 1, 2, 3])])
def test_a_grid_that_moves_by_a_step_keeps_candidates_and_copies_the_best_one(steps, sources):
    learner = candidates_learner()
    state = learner.state()
    state["unit"][1] = -steps * 1024 * STEP
    learner.load_state(state)
    moved = move_grid(learner, tested=False)
    assert [candidate.C for candidate in moved.all_settings] == pytest.approx(
        [C_at(k + steps) for k in range(5)]
    )
    assert weights_of(moved) == [weights_of(learner)[place] for place in sources]
    records = learner.model.records
    assert moved.model.records == [records[place] for place in sources]
    assert moved.model.unit == [1024, state["unit"][1], 1024, 0, steps]
    assert moved.model.memory == 0.75
    assert move_grid(moved, tested=False) is moved


@pytest.mark.parametrize(
    ("chosen", "sources", "steps"), [(4, [1, 2, 3, 4, 4], 1), (0, [0, 0, 1, 2, 3], -1)]
)
def test_a_best_candidate_at_the_edge_moves_the_grid_at_tests(chosen, sources, steps):
    learner = candidates_learner(chosen=chosen)
    assert move_grid(learner, tested=False) is learner
    moved = move_grid(learner, tested=True)
    assert [candidate.C for candidate in moved.all_settings] == pytest.approx(
        [C_at(k + steps) for k in range(5)]
    )
    assert weights_of(moved) == [weights_of(learner)[place] for place in sources]
    assert moved.model.unit[-1] == 0  # the unit stays where it was


def test_a_grid_does_not_move_if_its_edge_is_best_by_chance():
    """A difference of 5 mistakes at 25 is not significant."""
    for chosen in (0, 4):
        learner = candidates_learner(chosen=chosen, lead=5.0)
        assert move_grid(learner, tested=True) is learner


def test_a_grid_does_not_move_if_its_inside_is_best_or_C_is_given():
    learner = candidates_learner()
    assert move_grid(learner, tested=True) is learner
    single = Learner(BINARY, 4, 2)
    assert move_grid(single, tested=True) is single


@pytest.mark.parametrize("away", [2, -5])
def test_a_grid_that_moves_by_several_steps_restarts_its_candidates(away):
    learner = candidates_learner(average=True)
    state = learner.state()
    state["unit"][1] = -away * 1024 * STEP
    learner.load_state(state)
    moved = move_grid(learner, tested=False)
    assert not any(moved.coef(i).any() or moved.intercept(i).any() for i in range(5))
    assert [candidate.C for candidate in moved.all_settings] == pytest.approx(
        [C_at(k + away) for k in range(5)]
    )
    assert moved.model.unit[-1] == away
    assert set(moved.model.records) == {learner.model.records[2]}
    assert moved.examples == learner.examples and moved.model.averaged == learner.model.averaged


@pytest.mark.parametrize("sign", [1, -1])
def test_a_grid_moves_up_with_the_targets_and_down_with_the_rows(sign, monkeypatch):
    monkeypatch.setattr(ModelSelection, "_restart_if_due", lambda *_: None)
    rng = np.random.default_rng(1)
    X, noise = rng.normal(size=(7 * INTERVAL, 2)), rng.normal(size=7 * INTERVAL)
    later = np.arange(len(X)) >= 2 * INTERVAL
    still = slice(2 * INTERVAL - 1)
    y = X @ [1.0, -1.0] * np.where(later, 1e6, 1.0)
    if sign < 0:
        X, y = X * np.where(later, 1e3, 1e-6)[:, None], noise * later
    params = {"C": "auto", "epsilon": 0.0, "fit_intercept": False}
    model, stream = PassiveAggressiveRegressor(**params), StreamRegressor("PAR-I", **params)
    model.partial_fit(X[still], y[still])
    before = np.array([candidate["C"] for candidate in model.candidates_])
    model.partial_fit(X[still.stop :], y[still.stop :])
    for row, target in zip(X.tolist(), y.tolist(), strict=True):
        stream.learn_one(dict(enumerate(row)), target)
    after = [candidate["C"] for candidate in model.candidates_]
    assert len(after) == 2 * halving(len(X))[1] + 1
    edge = -1 if sign > 0 else 0
    steps = np.log(after[edge] / before[edge]) / STEP
    assert sign * steps > 4 and steps == pytest.approx(round(steps))
    assert [candidate["C"] for candidate in stream.candidates_] == pytest.approx(
        [candidate["C"] for candidate in model.candidates_]
    )


# -- removal of candidates --------------------------------------------------------------------


def learner_with_record(task, mistakes, loss):
    learner = Learner(Settings(task=task, loss="hinge" if task == "binary" else CAPPED.loss), 1, 2)
    state = learner.state()
    state["recent_mistakes"][:], state["recent_loss"][:] = mistakes, loss
    learner.load_state(state)
    return learner


@pytest.mark.parametrize(
    ("mistakes", "removed"), [(100, False), (120, False), (165, False), (175, True), (400, True)]
)
def test_a_classifier_is_removed_when_it_makes_significantly_more_mistakes(mistakes, removed):
    """The threshold is 1.2 times the best one's plus three deviations: 120 + 3 √(m + 100)."""
    best, other = (
        learner_with_record("binary", 100, 1.0),
        learner_with_record("binary", mistakes, 1e9),
    )
    assert is_hopeless(other, best, regression=False) == removed
    assert not is_hopeless(best, best, regression=False)


@pytest.mark.parametrize(("loss", "removed"), [(100, False), (119.9, False), (120.1, True)])
def test_a_regressor_is_removed_when_its_error_is_much_larger(loss, removed):
    learners = learner_with_record("regression", 0, loss), learner_with_record("regression", 0, 100)
    assert is_hopeless(*learners, regression=True) == removed


def test_no_candidate_is_removed_before_the_first_test():
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(2 * FIRST_REMOVAL, 3)) + 5) * [1e-4, 1.0, 1e4]
    y = ((X / [1e-4, 1.0, 1e4] - 5) @ [1.0, -1.0, 1.0] > 0).astype(int)
    model = PassiveAggressiveClassifier(C="auto", metric="auto", scale="auto")
    model.partial_fit(X[: FIRST_REMOVAL - 1], y[: FIRST_REMOVAL - 1])
    assert len(model._learner.learners) == len(CLASSIFICATION_PAIRS)
    model.partial_fit(X[FIRST_REMOVAL - 1 : FIRST_REMOVAL], y[FIRST_REMOVAL - 1 : FIRST_REMOVAL])
    assert len(model._learner.learners) < len(CLASSIFICATION_PAIRS)  # some are far behind
    best = min(candidate["recent_error"] for candidate in model.candidates_)
    assert (
        min(candidate["recent_error"] for candidate in model.candidates_ if candidate["chosen"])
        == best
    )


def test_successive_halving_keeps_the_best_learners():
    """The number that remains depends on the number of examples only, also at equal errors."""
    learners = [
        learner_with_record("binary", mistakes, 1.0) for mistakes in (101, 104, 100, 103, 102, 105)
    ]
    for examples, stay in ((256, 6), (512, 4), (1024, 3), (4096, 2), (8192, 1), (10**6, 1)):
        kept = remaining(learners, examples, False, DEFAULT_SEARCH_SPACE)
        assert kept == [each for each in learners if learners.index(each) in ORDER[:stay]]
        assert halving(examples)[0] == stay


ORDER = (2, 0, 4, 3, 1, 5)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_a_long_selection_removes_candidates_and_frees_memory(kind):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(17000, 4))
    y = (X @ [1.0, -1.0, 0.5, 2.0] + rng.normal(size=len(X)) > 0).astype(int)
    model = PassiveAggressiveClassifier(C="auto", metric="auto", scale="auto")
    sizes = []
    for start in range(0, len(X), 1000):
        part = X[start : start + 1000]
        part = csr_matrix(part) if kind == "sparse" else part
        model.partial_fit(part, y[start : start + 1000])
        arrays = [learner.state() for learner in model._learner.learners]
        sizes.append(sum(array.nbytes for state in arrays for array in state.values()))
        learners, neighbours = halving(start + len(y[start : start + 1000]))
        assert len(arrays) <= learners
        assert len(model.candidates_) <= learners * (2 * neighbours + 1)
    assert sizes == sorted(sizes, reverse=True) and sizes[-1] < sizes[0] / 5


def test_halving_keeps_the_neighbours_of_the_best_C():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(FIRST_REMOVAL + INTERVAL, 4))
    y = (X @ [1.0, -1.0, 0.5, 2.0] + 0.5 * rng.normal(size=len(X)) > 0).astype(int)
    model = PassiveAggressiveClassifier(C="auto")
    model.partial_fit(X[: FIRST_REMOVAL - 1], y[: FIRST_REMOVAL - 1])
    before = [candidate["C"] for candidate in model.candidates_]
    best = model.C_
    model.partial_fit(X[FIRST_REMOVAL - 1 : FIRST_REMOVAL], y[FIRST_REMOVAL - 1 : FIRST_REMOVAL])
    kept = [candidate["C"] for candidate in model.candidates_]
    assert len(before) == 13 and len(kept) == 2 * halving(FIRST_REMOVAL)[1] + 1
    assert best in kept and set(kept) <= set(before)
    alone = PassiveAggressiveClassifier(C=model.C_).partial_fit(
        X[:FIRST_REMOVAL], y[:FIRST_REMOVAL]
    )
    assert_close(model.coef_, alone.coef_, rtol=1e-9)
