"""Cases of model selection: quality requirements with generous bounds.

Weights must affect the selection, outliers must not; stationary streams must not be detected as
drift; probabilities must be better than frequencies. Bounds are generous, so that only defects
exceed them.
"""

from dataclasses import dataclass

import numpy as np

import aggro
from qa.stress.runs import Difference

FIXED = (0.001, 0.01, 0.1, 1.0)  # values of C to compare with


@dataclass
class Selection:
    """A scenario, its size, and the estimator."""

    seed: int
    scenario: str
    estimator: str
    params: dict
    rows: int
    plan = ()

    def __str__(self):
        shown = ", ".join(f"{name}={value!r}" for name, value in self.params.items())
        return f"seed {self.seed}\n{self.scenario}: {self.estimator}({shown}), {self.rows} rows"

    def check(self):
        SCENARIOS[self.scenario][0](self, np.random.default_rng(self.seed))

    def make(self, **params):
        return getattr(aggro, self.estimator)(**{**self.params, **params})

    def fixed(self, C, **params):
        """Return the estimator of the same task with one value of C."""
        regression = self.estimator.endswith("Regressor")
        if regression:
            return aggro.PassiveAggressiveRegressor(C=C, epsilon=0.0, **params)
        return aggro.PassiveAggressiveClassifier(C=C, **params)

    def learn(self, model, X, y, weights=None):
        """Learn rows in calls of a few hundred; a stream learner one by one."""
        if self.estimator.startswith("Stream"):
            weights = np.ones(len(y)) if weights is None else weights
            for row, target, weight in zip(X, y.tolist(), weights.tolist(), strict=True):
                model.learn_one(_as_dict(row), target, weight)
            return model
        known = {} if self.estimator.endswith("Regressor") else {"classes": [0, 1]}
        for start in range(0, len(y), 256):
            some = slice(start, start + 256)
            given = {} if weights is None else {"sample_weight": weights[some]}
            model.partial_fit(X[some], y[some], **known, **given)
        return model

    def predict(self, model, X):
        if self.estimator.startswith("Stream"):
            return np.array([model.predict_one(_as_dict(row)) for row in X])
        return model.predict(X)


def _as_dict(row):
    return {f"f{j}": float(v) for j, v in enumerate(row)}


def _linear(rng, rows, columns=6):
    X = rng.normal(size=(rows, columns))
    w = rng.normal(size=columns)
    return X, X @ w / np.linalg.norm(w)


# -- scenarios -------------------------------------------------------------------------------


def light_rows_decide_nothing(case, rng):
    """Many contradictory rows of weight 0.001 have little effect."""
    X, truth = _linear(rng, 2 * case.rows)
    light = rng.random(case.rows) < 0.7
    weights = np.where(light, 1e-3, 1.0)
    if case.estimator.endswith("Regressor"):
        y = truth + 0.1 * rng.normal(size=len(truth))
        y[: case.rows][light] = 100 * np.sign(X[: case.rows][light, 0])
    else:
        y = (truth + 0.2 * rng.normal(size=len(truth)) > 0).astype(int)
        y[: case.rows][light] ^= 1
    train, test = slice(case.rows), slice(case.rows, None)
    model = case.learn(case.make(), X[train], y[train], weights)
    heavy = case.learn(case.make(), X[train][~light], y[train][~light])
    if case.estimator.endswith("Regressor"):
        far, expected = (
            np.median(np.abs(case.predict(each, X[test]) - truth[test])) for each in (model, heavy)
        )
        wrong = far > 5 * expected + 0.2
    else:
        far, expected = (np.mean(case.predict(each, X[test]) != y[test]) for each in (model, heavy))
        wrong = far > expected + 0.1
    if wrong:
        text = f"an error of {far:.3f} with light rows that are wrong, {expected:.3f} without them"
        raise Difference(text)


def rare_class_is_learned(case, rng):
    """Balanced class weights learn the rare class about as well as the best fixed C."""
    X, truth = _linear(rng, 2 * case.rows)
    scores = truth + 0.5 * rng.normal(size=len(truth))
    y = (scores > np.quantile(scores, rng.choice([0.93, 0.97]))).astype(int)
    weights = np.where(y == 1, (1 - y.mean()) / y.mean(), 1.0)
    train, test = slice(case.rows), slice(case.rows, None)

    def quality(model):
        right = case.predict(model, X[test]) == y[test]
        return (right[y[test] == 1].mean() + right[y[test] == 0].mean()) / 2

    found = quality(case.learn(case.make(), X[train], y[train], weights[train]))
    rivals = [case.fixed(C).partial_fit(X[train], y[train], [0, 1], weights[train]) for C in FIXED]
    best = max(
        np.mean([np.mean((each.predict(X[test]) == y[test])[y[test] == k]) for k in (0, 1)])
        for each in rivals
    )
    if found < best - 0.15:
        raise Difference(f"balanced accuracy {found:.3f}, {best:.3f} with one fixed C")


def outliers_are_no_drift(case, rng):
    """A stationary stream with outliers does not restart the selection."""
    X, truth = _linear(rng, case.rows)
    outlier = rng.random(case.rows) < rng.choice([0.001, 0.01])
    y = np.where(outlier, 1000 * rng.normal(size=case.rows), truth + 0.1 * rng.normal(size=len(X)))
    if rng.random() < 0.3:
        y = truth + 0.1 * rng.standard_cauchy(case.rows)
    _check_restarts(case, case.learn(case.make(), X[:1024], y[:1024]), X, y, 1024, most=1)


def fit_is_no_drift(case, rng):
    """``fit`` and then ``partial_fit`` of the same stream do not restart the selection."""
    X, truth = _linear(rng, case.rows + 2500)
    y = truth + rng.normal(size=len(truth))
    if not case.estimator.endswith("Regressor"):
        y = (y > 0).astype(int)
    fitted = int(rng.integers(1500, 2500))
    model = case.make(tol=None, max_iter=int(rng.integers(2, 6))).fit(X[:fitted], y[:fitted])
    _check_restarts(case, model, X, y, fitted, most=0)


def _check_restarts(case, model, X, y, start, most):
    restarts, last = 0, _candidates(model)
    for begin in range(start, len(y), 256):
        case.learn(model, X[begin : begin + 256], y[begin : begin + 256])
        now = _candidates(model)
        restarts, last = restarts + (now > 1.5 * last), now
    if restarts > most:
        raise Difference(f"the selection restarted {restarts} times in a steady stream")


def _candidates(model):
    return len(model.candidates_)


def mistakes_are_those_of_predict(case, rng):
    """Mistakes include the row at which the selection restarts after drift."""
    rows, columns = case.rows, 6
    X = rng.normal(size=(rows, columns))
    scores = X @ rng.normal(size=(columns, 3)) + 0.3 * rng.normal(size=(rows, 3))
    scores[-500:] *= -1
    y = scores.argmax(axis=1)
    model, found = case.make(), 0
    model.partial_fit(X[:-500], y[:-500], range(3))
    before = model.n_mistakes_
    for i in range(rows - 500, rows):
        found += model.predict(X[i : i + 1])[0] != y[i]
        model.partial_fit(X[i : i + 1], y[i : i + 1])
    counted = model.n_mistakes_ - before
    if counted != found:
        raise Difference(f"{counted} mistakes are counted, predict made {found}")


def probabilities_beat_frequencies(case, rng):
    """If predictions are good, probabilities have a smaller log loss than frequencies."""
    X, truth = _linear(rng, case.rows + 400)
    y = (truth + 0.4 * rng.normal(size=len(truth)) > 0).astype(int)
    train, test = slice(case.rows), slice(case.rows, None)
    model = case.learn(case.make(probability=True), X[train], y[train])
    share = y[train].mean()
    error = np.mean(model.predict(X[test]) != y[test])
    losses = [
        -np.log(np.clip(p, 1e-12, 1)[np.arange(400), y[test]]).mean()
        for p in (model.predict_proba(X[test]), np.tile([1 - share, share], (400, 1)))
    ]
    if error < 0.25 and losses[0] > 0.95 * losses[1]:
        raise Difference(
            f"log loss {losses[0]:.3f} with {error:.1%} errors; that of frequencies {losses[1]:.3f}"
        )


def scores_change_gradually(case, rng):
    """One example does not change the mean size of the scores a thousandfold."""
    X, truth = _linear(rng, 300)
    y = (truth + 0.4 * rng.normal(size=300) > 0).astype(int)
    X *= 10.0 ** rng.integers(-1, 3, X.shape[1])  # features of several scales
    model, sizes = case.make(), []
    for i in range(200):
        model.partial_fit(X[i : i + 1], y[i : i + 1], [0, 1])
        if i >= 50:
            sizes.append(np.abs(model.decision_function(X[200:])).mean())
    jump = np.exp(np.abs(np.diff(np.log(sizes))).max())
    if not jump < 1000:
        raise Difference(f"one example changes the size of the scores by a factor of {jump:.0f}")


def fit_learns_as_much_as_one_pass(case, rng):
    """``fit`` in several passes is not much worse than one pass of ``partial_fit``."""
    X, truth = _linear(rng, 2 * case.rows)
    regression = case.estimator.endswith("Regressor")
    noise = rng.choice([0.1, 0.5]) * rng.normal(size=len(truth))
    y = truth + noise if regression else (truth + noise > 0).astype(int)
    train, test = slice(case.rows), slice(case.rows, None)
    fitted = case.make(random_state=0).fit(X[train], y[train])
    once = case.learn(case.make(random_state=0), X[train], y[train])
    if regression:
        far, expected = (np.abs(each.predict(X[test]) - truth[test]).mean() for each in
                         (fitted, once))  # fmt: skip
        wrong = far > 2 * expected + 0.1
    else:
        far, expected = (np.mean(each.predict(X[test]) != y[test]) for each in (fitted, once))
        wrong = far > expected + 0.07
    if wrong:
        raise Difference(f"an error of {far:.3f} after fit, {expected:.3f} after one pass")


CLASSIFIERS = (
    ("AutoClassifier", {}),
    ("PassiveAggressiveClassifier", {"C": "auto"}),
    ("PassiveAggressiveClassifier", {"C": "auto", "metric": "auto", "loss": "squared_hinge"}),
)
REGRESSORS = (
    ("AutoRegressor", {}),
    ("PassiveAggressiveRegressor", {"C": "auto", "epsilon": 0.0}),
)
STREAMS = (("StreamClassifier", {"C": "auto"}), ("StreamRegressor", {"C": "auto"}))
MAPPED = (
    ("AutoClassifier", {"features": "both"}),
    ("AutoClassifier", {"features": "auto"}),
    ("AutoRegressor", {"features": "auto"}),
)
EVERY = (*CLASSIFIERS, *REGRESSORS, *MAPPED)
# name: (check, estimators, rows at least and at most)
SCENARIOS = {
    "light rows": (light_rows_decide_nothing, (*EVERY, *STREAMS), (800, 2000)),
    "a rare class": (rare_class_is_learned, (*CLASSIFIERS, MAPPED[1], STREAMS[0]), (1500, 3000)),
    "outliers": (outliers_are_no_drift, REGRESSORS, (6000, 12_000)),
    "fit, then a stream": (fit_is_no_drift, EVERY, (1500, 3000)),
    "mistakes": (mistakes_are_those_of_predict, CLASSIFIERS[1:], (2800, 3400)),
    "probabilities": (probabilities_beat_frequencies, (*CLASSIFIERS, *MAPPED[:2]), (150, 400)),
    # without an ensemble, scores have the size of the C that was selected last
    "scores": (scores_change_gradually, CLASSIFIERS[::2], (200, 201)),
    "passes": (fit_learns_as_much_as_one_pass, EVERY, (300, 1000)),
}


def compose(seed, rng):
    """Return a case of model selection."""
    scenario = list(SCENARIOS)[rng.integers(len(SCENARIOS))]
    _, estimators, (fewest, most) = SCENARIOS[scenario]
    name, params = estimators[rng.integers(len(estimators))]
    return Selection(seed, scenario, name, dict(params), int(rng.integers(fewest, most)))
