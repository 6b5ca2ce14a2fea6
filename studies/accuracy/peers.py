"""Other libraries with their defaults, evaluated progressively."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from studies.accuracy.data import Problem

CHUNK = 16  # rows per call of scikit-learn on long streams
ROW_BY_ROW = 2000  # longest stream learned row by row, apart from time-ordered ones
RIVER_ROWS = 5000
RIVER_ROWS_MANY_CLASSES = 2000
RIVER_COLUMNS = 1000  # wider rows omit zeros from dicts and are not scaled
SKLEARN_GRID = 10.0 ** np.arange(-3.0, 1.1, 1.0)


def errors_of(p: Problem, order: int, predicted: Any) -> float:
    """Return the error of predictions for the first rows of an order."""
    y = p.y[p.orders[order][: len(predicted)]]
    guess = np.clip(np.nan_to_num(np.asarray(predicted, float), nan=1e30), -1e30, 1e30)
    wrong = np.abs(guess - y) if p.is_regression else guess != y
    return float(wrong.sum() / p.scale(order, len(predicted)))


# -- scikit-learn -----------------------------------------------------------------------------


def sklearn_run(p: Problem, order: int, make: Any) -> float:
    """Predict and learn in chunks; the first chunk is predicted as the first class, or zero."""
    model, chosen = make(), p.orders[order]
    chunk = 1 if p.rows <= ROW_BY_ROW or len(p.orders) == 1 else CHUNK
    X, y = p.X[chosen].astype(np.float64), p.y[chosen]
    known = {} if p.is_regression else {"classes": np.arange(p.classes)}
    predicted = np.zeros(len(y))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for start in range(0, len(y), chunk):
            part = slice(start, start + chunk)
            try:
                if start:
                    predicted[part] = model.predict(X[part])
                model.partial_fit(X[part], y[part], **known)
            except ValueError:  # the weights overflowed
                predicted[start:] = np.nan
                break
    return errors_of(p, order, predicted)


def sklearn_pa(p: Problem, order: int, C: Any = 1.0) -> float:
    """Run scikit-learn's Passive-Aggressive rule."""
    from sklearn.linear_model import SGDClassifier, SGDRegressor

    shared = {"learning_rate": "pa1", "eta0": C, "penalty": None, "random_state": 0}
    if p.is_regression:
        loss = "epsilon_insensitive"
        return sklearn_run(p, order, lambda: SGDRegressor(loss=loss, epsilon=0.1, **shared))
    return sklearn_run(p, order, lambda: SGDClassifier(loss="hinge", **shared))


def sklearn_best(p: Problem, order: int) -> dict[str, Any]:
    """Run the same with each C of a grid in units of 1/|x|² (times the mean target)."""
    unit = p.unit() * (float(np.abs(p.y).mean()) if p.is_regression else 1.0)
    grid = [float(c * unit) for c in SKLEARN_GRID]
    return {"C": grid, "errors": [sklearn_pa(p, order, C) for C in grid]}


def sklearn_sgd(p: Problem, order: int) -> dict[str, Any]:
    """Run stochastic gradient descent with defaults."""
    from sklearn.linear_model import SGDClassifier, SGDRegressor

    kind = SGDRegressor if p.is_regression else SGDClassifier
    return {"error": sklearn_run(p, order, lambda: kind(random_state=0))}


# -- river ------------------------------------------------------------------------------------


def river_rows(p: Problem) -> int:
    """Return the number of rows for river."""
    return min(p.rows, RIVER_ROWS if p.classes <= 2 else RIVER_ROWS_MANY_CLASSES)


def river_run(p: Problem, order: int, model: Any) -> dict[str, Any]:
    """Predict and learn one dict at a time, with a running scaler unless rows are wide."""
    from river import preprocessing

    scaled, predicted = p.X.shape[1] <= RIVER_COLUMNS, []
    model = preprocessing.StandardScaler() | model if scaled else model
    for i in p.orders[order][: river_rows(p)]:
        x, target = _dict(p, i, zeros=scaled), p.y[i]
        target = float(target) if p.is_regression else int(target)
        target = bool(target) if p.classes == 2 else target
        guess = model.predict_one(x)
        predicted.append(0 if guess is None else guess)
        model.learn_one(x, target)
    return {"error": errors_of(p, order, predicted), "rows": len(predicted)}


def _dict(p: Problem, i: int, zeros: bool = False) -> dict[int, float]:
    if not p.sparse or zeros:
        row = p.X[i].toarray().ravel() if p.sparse else p.X[i]
        return dict(enumerate(row.tolist()))
    at = slice(p.X.indptr[i], p.X.indptr[i + 1])
    return dict(zip(p.X.indices[at].tolist(), p.X.data[at].tolist(), strict=True))


def river_pa(p: Problem, order: int) -> dict[str, Any]:
    """Run river's Passive-Aggressive learners, one-vs-rest for several classes."""
    from river import linear_model, multiclass

    if p.is_regression:
        return river_run(p, order, linear_model.PARegressor())
    model = linear_model.PAClassifier()
    return river_run(p, order, model if p.classes == 2 else multiclass.OneVsRestClassifier(model))


def river_logistic(p: Problem, order: int) -> dict[str, Any]:
    """Run river's logistic, softmax or linear regression."""
    from river import linear_model

    if p.is_regression:
        return river_run(p, order, linear_model.LinearRegression())
    two = p.classes == 2
    model = linear_model.LogisticRegression() if two else linear_model.SoftmaxRegression()
    return river_run(p, order, model)


# -- Vowpal Wabbit ----------------------------------------------------------------------------


def vw(p: Problem, order: int) -> dict[str, Any]:
    """Run Vowpal Wabbit's defaults with each suitable loss."""
    losses = ["squared"] if p.is_regression else ["squared", "logistic", "hinge"]
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "rows.vw")
        data.write_text("".join(_vw_lines(p, order)), encoding="utf-8")
        return {"losses": losses, "errors": [_vw_run(p, order, loss, data) for loss in losses]}


def _vw_lines(p: Problem, order: int) -> Iterator[str]:
    for i in p.orders[order]:
        label = p.y[i] if p.is_regression else p.y[i] * 2 - 1 if p.classes == 2 else p.y[i] + 1
        yield f"{label} | " + " ".join(f"{j}:{v:.7g}" for j, v in _dict(p, i).items()) + "\n"


def _vw_run(p: Problem, order: int, loss: str, data: Path) -> float:
    from vowpalwabbit import Workspace

    out = data.with_suffix(f".{loss}")
    task = f"--oaa {p.classes}" if p.classes > 2 else "" if p.is_regression else "--binary"
    wide = f"-b {max(18, int(np.ceil(np.log2(p.X.shape[1] + 2))))}"
    options = f"--quiet {wide} --loss_function {loss} {task} -d {data} -p {out} --no_stdin"
    Workspace(options).finish()
    predicted = np.array([float(line.split()[0]) for line in out.read_text().splitlines()])
    if not p.is_regression:
        predicted = (predicted > 0).astype(int) if p.classes == 2 else predicted - 1
    return errors_of(p, order, predicted)


METHODS = {
    "sklearn PA": lambda p, o: {"error": sklearn_pa(p, o)},
    "sklearn PA best C": sklearn_best,
    "sklearn SGD": sklearn_sgd,
    "river PA": river_pa,
    "river logistic": river_logistic,
    "Vowpal Wabbit": vw,
}
# Other methods learn all orders.
ORDERS = {"sklearn PA best C": 1, "sklearn PA": 2, "sklearn SGD": 2}
