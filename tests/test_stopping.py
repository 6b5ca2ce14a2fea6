"""When fit ends: the rule on chosen losses, R² on held-out rows, and where warnings point."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from estimator_support import CLASSES, KERNELS, LABELS, ROWS, VALUES, sklearn_pa, targets_for
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import r2_score

import aggro
from aggro import PassiveAggressiveClassifier, PassiveAggressiveRegressor
from aggro.estimators.judges import ByHeldOutRows, ByRowsKeptBack
from aggro.estimators.stopping import Determination, Patience


class Scripted:
    """A learner whose passes suffer the given losses."""

    def __init__(self, losses):
        self.losses, self.progress, self.examples = list(losses), SimpleNamespace(loss=0.0), 0

    def learn(self, *_, **__):
        self.progress.loss += self.losses.pop(0)

    learn_rows = learn

    def freeze_means(self, frozen=True):
        self.frozen = frozen


ESTIMATORS = [PassiveAggressiveClassifier, PassiveAggressiveRegressor, *KERNELS]
# Losses of passes over 4 rows, tol, n_iter_no_change, and the pass after which fit ends.
SCRIPTS = {
    "no pass improves by tol": ([8, 7, 6, 5, 4], 0.5, 2, 3),
    "exactly tol is an improvement": ([8, 6, 4, 2, 1.5, 1.5], 0.5, 2, 6),
    "just below tol is none": ([8, 6.01, 6, 5.9], 0.5, 3, 4),
    "measured from the best, not from the last": ([8, 4, 9, 3, 3.5], 0.5, 3, 5),
    "an improvement begins the count anew": ([8, 8, 4, 4, 2, 2, 2], 0.25, 2, 7),
    "one pass of patience": ([8, 7.9], 0.5, 1, 2),
    "equal losses with tol 0 improve": ([8, 8, 8, 9, 9], 0.0, 2, 5),
    "a negative tol allows a step back": ([8, 9, 10, 12.1, 12.1], -0.5, 2, 5),
}


@pytest.mark.parametrize("cls", ESTIMATORS)
@pytest.mark.parametrize("name", SCRIPTS)
def test_the_rule(cls, name):
    losses, tol, patience, last = SCRIPTS[name]
    model = cls(tol=tol, n_iter_no_change=patience, max_iter=50)
    assert model._run_epochs(Scripted([*losses, *[99] * 50]), ROWS[:4], {"weights": None}) == last


def test_the_rule_on_held_out_rows():
    """Quality counts, not loss; tol is not multiplied by the number of rows."""
    qualities = [0.5, 0.625, 0.75, 0.874, 0.86, 0.874]
    model = PassiveAggressiveClassifier(tol=0.125, n_iter_no_change=3, max_iter=50)
    judge = ByHeldOutRows(np.array([1]), lambda _: qualities.pop(0), 0.125, 3)
    assert model._run_epochs(Scripted([1] * 50), ROWS[:4], {"weights": None}, judge) == 6


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_without_tol_all_passes_are_made(cls):
    learner = Scripted([1] * 50)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cls(tol=None, max_iter=7)._run_epochs(learner, ROWS[:4], {"weights": None}) == 7
    if cls not in KERNELS:
        assert learner.frozen is False  # what comes later is new


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_the_last_pass_may_be_the_one_that_ends(cls):
    """No warning when patience ends with max_iter; one that points to the caller when not."""
    model = cls(tol=0.5, n_iter_no_change=2, max_iter=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model._run_epochs(Scripted([8] * 3), ROWS[:4], {"weights": None}) == 3
    with pytest.warns(ConvergenceWarning, match=r"\(2\).*max_iter.*tol=None") as found:
        cls(max_iter=2).fit(ROWS, targets_for(cls))
    assert found[0].filename == __file__


def test_what_is_not_a_number_is_no_improvement():
    for quality in (np.nan, -np.inf):
        patience = Patience(0.1, 3)
        assert [patience.ends_with(quality) for _ in range(3)] == [False, False, True]
    patience = Patience(0.5, 2)
    assert [patience.ends_with(q) for q in (1.0, np.nan, 1.5, np.nan, 1.9)] == [False] * 4 + [True]


@pytest.mark.parametrize("tol", [1e-3, 1e-1, None])
def test_passes_as_scikit_learn_makes_them(tol):
    common = {
        "tol": tol, "max_iter": 40, "shuffle": False, "fit_intercept": False, "n_iter_no_change": 3
    }  # fmt: skip
    theirs = sklearn_pa("Classifier", "pa1", 0.01, **common)
    ours = PassiveAggressiveClassifier(C=0.01, **common)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert ours.fit(ROWS, CLASSES > 0).n_iter_ == theirs.fit(ROWS, CLASSES > 0).n_iter_


# -- R² ---------------------------------------------------------------------------------------


def test_determination_is_r2():
    rng = np.random.default_rng(5)
    truth, scores = rng.standard_normal((2, 30, 1)) * 1e3
    assert Determination(truth, truth)(scores) == pytest.approx(r2_score(truth, scores))
    assert Determination(truth, truth)(truth) == 1.0
    assert Determination(truth, truth)(truth + 1) < 1.0  # better is larger
    both = rng.standard_normal((30, 2))
    weighted = r2_score(both, both * 0.5, multioutput="variance_weighted")
    assert Determination(both, both)(both * 0.5) == pytest.approx(weighted)


def test_determination_is_weighted():
    rng = np.random.default_rng(5)
    truth, scores = rng.standard_normal((2, 30, 1))
    weights = rng.integers(0, 3, 30).astype(float)
    quality = Determination(truth, truth, weights)
    assert quality(scores) == pytest.approx(r2_score(truth, scores, sample_weight=weights))
    there = weights > 0
    alike = np.where(there[:, None], 0.1, truth)  # the same wherever there is weight
    assert Determination(alike, alike, weights)(alike) == 1.0
    largest = np.abs(alike).max()
    assert Determination(alike, alike, weights).unit == pytest.approx(alike.var() / largest**2)
    zero = Determination(truth, truth, np.zeros(30))
    assert zero(scores) == pytest.approx(r2_score(truth, scores))


@pytest.mark.parametrize("value", [0.1, 1e-30, -3e200, 5e-324, 7.0])
def test_determination_without_variance(value):
    """The unit is the variance of all targets, else their square; never nearly zero."""
    truth = np.full((10, 1), value)
    quality = Determination(truth, truth)
    assert quality(truth) == 1.0
    assert quality(0 * truth) == pytest.approx(0.0)
    wide = np.vstack([truth, -truth])
    assert Determination(truth, wide)(0 * truth) == pytest.approx(0.0)
    zeros = Determination(np.zeros((5, 1)), np.zeros((9, 1)))
    assert zeros(np.zeros((5, 1))) == 1.0
    assert zeros(np.ones((5, 1))) == 0.0


@pytest.mark.parametrize("value", [0.0, 0.1, 5.0, -1e6])
@pytest.mark.parametrize("cls", [PassiveAggressiveRegressor, aggro.AROWRegressor])
def test_a_constant_target_ends_soon(value, cls):
    """Its R² is not defined, and nothing is gained by more passes."""
    model = cls(early_stopping=True, random_state=0, epsilon=0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model.fit(ROWS, np.full(len(ROWS), value))
    assert model.n_iter_ < 100


def test_few_held_out_rows_that_are_alike():
    y = np.where(np.arange(120) % 30 == 0, 1.0, 0.0)
    model = PassiveAggressiveRegressor(
        early_stopping=True, validation_fraction=0.02, random_state=3
    ).fit(ROWS, y)
    assert model.n_iter_ < 100


# -- held-out rows ----------------------------------------------------------------------------


def held_out_of(model, y):
    """Return the rows that a fitted model was judged by."""
    values = y.reshape(120, -1) if isinstance(model, PassiveAggressiveRegressor) else y
    return model._judge(None, ROWS, values, {}, None).held_out


@pytest.mark.parametrize("kind", ["classes", "labels", "values"])
def test_held_out_rows_judge_and_do_not_teach(kind):
    """n_iter_ follows the quality after each pass: accuracy, of all labels, or R²; weighted."""
    weights = np.random.default_rng(1).integers(0, 3, 120).astype(float)
    cls = PassiveAggressiveRegressor if kind == "values" else PassiveAggressiveClassifier
    y = {"classes": CLASSES, "labels": LABELS, "values": VALUES}[kind]
    axes = {"validation_fraction": 0.25, "random_state": 2, "C": 0.01, "shuffle": False}
    model = cls(early_stopping=True, n_iter_no_change=2, tol=0.01, **axes)
    model.fit(ROWS, y, sample_weight=weights)
    held_out = held_out_of(model, y)
    assert np.array_equal(held_out, np.unique(held_out))
    rest, best, idle = np.setdiff1d(np.arange(120), held_out), -np.inf, 0
    for passes in range(1, model.n_iter_ + 1):
        by_hand = cls(max_iter=passes, tol=None, shuffle=False, C=0.01)
        by_hand.fit(ROWS[rest], y[rest], sample_weight=weights[rest])
        quality = by_hand.score(ROWS[held_out], y[held_out], weights[held_out])
        idle = idle + 1 if quality < best + 0.01 else 0
        best = max(best, quality)
        assert (idle == 2) == (passes == model.n_iter_)
    assert np.array_equal(by_hand.coef_, model.coef_)


@pytest.mark.parametrize("cls", [PassiveAggressiveClassifier, PassiveAggressiveRegressor])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_bad_row_is_named_as_the_caller_counts(cls, sparse):
    y = targets_for(cls)
    model = cls(early_stopping=True, random_state=2)
    held_out = held_out_of(model.fit(ROWS, y), y)
    for row in (int(held_out[-1]), int(np.setdiff1d(np.arange(120), held_out)[-1])):
        bad = ROWS.copy()
        bad[row, 2] = np.nan
        if sparse:
            import scipy.sparse as sp

            bad = sp.csr_matrix(bad)
        with pytest.raises(ValueError, match=rf"row {row}: feature 2 is NaN"):
            model.fit(bad, y)


@pytest.mark.parametrize("kind", ["two", "classes", "labels"])
def test_even_scores_of_held_out_rows(kind):
    """They are judged as predict answers: the first class, or no label."""
    y = {"two": (CLASSES > 0).astype(int), "classes": CLASSES, "labels": LABELS}[kind]
    model = PassiveAggressiveClassifier(early_stopping=True, random_state=0).fit(ROWS, y)
    judge = model._judge(None, ROWS, y, {}, None)
    outputs = 1 if kind == "two" else y.max() + 1 if kind == "classes" else 2
    even = SimpleNamespace(scores=lambda _: np.zeros((len(judge.held_out), outputs)))
    right = y[judge.held_out] == 0
    assert judge.quality(even) == (right.all(axis=1) if kind == "labels" else right).mean()


# -- rows kept back -----------------------------------------------------------------------------

MANY = 3000  # rows from which some are kept back


def noisy_rows(count=MANY, features=1000, seed=3):
    """Texts of frequent and of rare words; their classes are right eight times in ten."""
    random, rare = np.random.default_rng(seed), 8 / np.arange(1, features + 1)
    X = (random.random((count, features)) < np.minimum(rare, 0.3)).astype(float)
    truth = X @ np.random.default_rng(0).standard_normal(features) > 0
    return X, np.where(random.random(count) < 0.8, truth, ~truth).astype(int), truth.astype(int)


def test_the_passes_end_before_noise_is_learned():
    X, y, _ = noisy_rows(6000, 4000)
    new, _, truth = noisy_rows(2000, 4000, seed=4)
    plain = PassiveAggressiveClassifier(early_stopping=False, random_state=0).fit(X, y)
    model = PassiveAggressiveClassifier(random_state=0).fit(X, y)
    assert model.n_iter_ < plain.n_iter_ / 2
    assert model.score(new, truth) > plain.score(new, truth) + 0.01


# Qualities on the rows kept back, and losses; the passes after which they join, and which end it.
FALLING = [9, 8, 7, 6, 5, 4, 3, 2, 1]
KEPT_BACK = {
    "it falls twice": ([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.4, 0.3], FALLING, 8, 8),
    "it falls, and recovers": ([0.1, 0.2, 0.1, 0.3, 0.2, 0.4, 0.5, 0.4, 0.4], FALLING, 9, 9),
    "it falls early": ([0.5, 0.4, 0.3], FALLING, 3, 6),
    "it rests twice, and is learned": ([0.5, 0.6, 0.6, 0.6], FALLING, 4, 7),
    "the loss ends it first": ([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [9, 8, 8, 8, 8, 8, 8], 7, 7),
    "the loss ends it when they have joined": ([0.1, 0.2, 0.2, 0.2], [9, 9, 9, 9, 9, 9], 4, 6),
}


@pytest.mark.parametrize("name", KEPT_BACK)
def test_the_rule_of_rows_kept_back(name):
    qualities, losses, joined, last = KEPT_BACK[name]
    qualities = iter([*qualities, *np.arange(0.7, 9, 0.1)])
    judge = ByRowsKeptBack(np.array([1, 3]), lambda _: next(qualities), 0.05, 5)
    taught = []

    class Told(Scripted):
        frozen = False

        def learn(self, rows, order, **_):
            taught.append((sorted(order), self.frozen))
            if len(order) != 2 or sorted(order) != [1, 3]:
                self.progress.loss += self.losses.pop(0) * len(order)

    model = PassiveAggressiveClassifier(tol=0.05, max_iter=50, random_state=0)
    assert model._run_epochs(Told(losses), ROWS[:6], {"weights": None}, judge) == last
    before = [([0, 2, 4, 5], i > 0) for i in range(joined)]
    after = [([0, 1, 2, 3, 4, 5], True)] * (last - joined)
    assert taught == [*before, ([1, 3], False), *after]  # they are new when they come


@pytest.mark.parametrize(
    "axes",
    [
        {"average": False},
        {"average": True},
        {"tol": None, "max_iter": 4},
        {"max_iter": 1, "tol": 1e-3},
        {"early_stopping": False},
    ],
)
def test_otherwise_no_row_is_kept_back(axes):
    """The rows are learned in the order, and as often, as without it."""
    X, y, _ = noisy_rows()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        one = PassiveAggressiveClassifier(random_state=0, **axes).fit(X, y)
        two = PassiveAggressiveClassifier(random_state=0, **axes | {"early_stopping": False})
        assert np.array_equal(one.coef_, two.fit(X, y).coef_)
    assert one.t_ - 1 == one.n_iter_ * MANY


def test_few_rows_and_models_that_go_on_keep_nothing_back():
    X, y, _ = noisy_rows()
    few = PassiveAggressiveClassifier(random_state=0).fit(X[:-1], y[:-1])
    assert few.t_ - 1 == few.n_iter_ * (MANY - 1)
    warm = PassiveAggressiveClassifier(random_state=0, warm_start=True).fit(X, y)
    before = warm.t_
    warm.fit(X, y)
    assert warm.t_ - before == warm.n_iter_ * MANY


@pytest.mark.parametrize("kind", ["two", "classes", "labels", "auto", "means"])
def test_every_row_is_learned(kind):
    """Rows kept back join later; class means are those of all rows, and few classes lose none."""
    X, y, _ = noisy_rows()
    truth = {"classes": np.where(np.arange(MANY) % 400 == 0, 2, y), "labels": np.c_[y, 1 - y]}
    cls = aggro.AutoClassifier if kind == "auto" else PassiveAggressiveClassifier
    model = cls(random_state=0, **({"class_mean": 0.1} if kind == "means" else {}))
    model.fit(X, truth.get(kind, y))
    kept = MANY // 20
    passes = (model.t_ - 1) / MANY
    assert model.n_iter_ - 1 < passes < model.n_iter_  # some passes were shorter
    assert (model.t_ - 1) % (MANY - kept) % kept == 0
    if kind == "means":
        plain = PassiveAggressiveClassifier(class_mean=0.1, early_stopping=False).fit(X, y)
        seen = [each._learner.state()["class_weight_seen"] for each in (model, plain)]
        assert np.array_equal(*seen)


def test_rows_kept_back_are_weighed_and_named():
    X, y, _ = noisy_rows()
    weights = np.ones(MANY)
    model = PassiveAggressiveClassifier(random_state=0)
    one = model.fit(X, y).coef_.copy()
    assert np.array_equal(model.fit(X, y, sample_weight=weights).coef_, one)
    kept = model._judge(
        SimpleNamespace(examples=0, settings=model._learner.settings), X, y,
        {"labels": y, "weights": None}, None,
    ).held_out  # fmt: skip
    assert len(kept) == MANY // 20
    bad = X.copy()
    bad[kept[-1], 2] = np.nan
    with pytest.raises(ValueError, match=rf"row {kept[-1]}: feature 2 is NaN"):
        model.fit(bad, y)
    assert np.array_equal(model.coef_, one)


@pytest.mark.parametrize("cls", [PassiveAggressiveClassifier, PassiveAggressiveRegressor])
def test_a_word_that_early_stopping_cannot_be(cls):
    with pytest.raises(ValueError, match="early_stopping='yes'"):
        cls(early_stopping="yes").fit(ROWS, targets_for(cls))
    if cls is PassiveAggressiveRegressor:
        with pytest.raises(ValueError, match="early_stopping='auto'"):
            cls(early_stopping="auto").fit(ROWS, targets_for(cls))
