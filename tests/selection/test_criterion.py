"""``criterion`` names the error of a regression that is measured, and that selection minimises."""

import csv
import json
import pickle

import numpy as np
import pytest

import aggro
from aggro import AutoRegressor, PassiveAggressiveRegressor, StreamRegressor, TextRegressor
from aggro.cli import main
from aggro.settings import CRITERIA

POWERS = dict(zip(CRITERIA, (1, 2), strict=True))


def skewed(n=4000, d=3, seed=0):
    """Return rows whose targets have a mean far above their median."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, X @ np.arange(1.0, d + 1) + rng.exponential(3.0, n)


X, Y = skewed()
TRAIN, TEST = slice(0, 3000), slice(3000, None)


def mean_errors(predicted):
    """Return the mean absolute and squared error."""
    return {name: np.mean(np.abs(predicted - Y[TEST]) ** power) for name, power in POWERS.items()}


def of_arrays(criterion):
    model = AutoRegressor(criterion=criterion, random_state=0).partial_fit(X[TRAIN], Y[TRAIN])
    return model.predict(X[TEST])


def of_fit(criterion):
    model = AutoRegressor(criterion=criterion, random_state=0).fit(X[TRAIN], Y[TRAIN])
    return model.predict(X[TEST])


def dicts():
    return [dict(zip("abc", row, strict=True)) for row in X.tolist()]


def of_stream(criterion):
    model, rows = StreamRegressor(criterion=criterion), dicts()
    for x, y in zip(rows[TRAIN], Y[TRAIN].tolist(), strict=True):
        model.learn_one(x, y)
    return np.array([model.predict_one(x) for x in rows[TEST]])


def of_texts(criterion):
    texts = [" ".join(f"w{j}{int(np.clip(v, -2, 2) * 2)}" for j, v in enumerate(row)) for row in X]
    model = TextRegressor(criterion=criterion, shuffle=False).fit(texts[TRAIN], Y[TRAIN])
    return model.predict(texts[TEST])


@pytest.mark.parametrize("learn", [of_arrays, of_fit, of_stream, of_texts])
def test_each_criterion_has_the_least_error_of_its_kind(learn):
    absolute, squared = (mean_errors(learn(criterion)) for criterion in CRITERIA)
    assert absolute["absolute"] < squared["absolute"]
    assert squared["squared"] < absolute["squared"]


@pytest.mark.parametrize("criterion", CRITERIA)
def test_streams_select_what_arrays_select(criterion):
    model = AutoRegressor(criterion=criterion, features="linear", random_state=0)
    for row, y in zip(X[TRAIN], Y[TRAIN], strict=True):
        model.partial_fit(row[None], [y])
    np.testing.assert_allclose(of_stream(criterion), model.predict(X[TEST]), rtol=1e-6)


@pytest.mark.parametrize(("criterion", "loss"), zip(CRITERIA, ("PAR-I", "PAR-II"), strict=True))
def test_automatic_loss_is_that_of_the_criterion(criterion, loss):
    given = {"criterion": criterion, "epsilon": 0.0, "C": 0.1}
    model = PassiveAggressiveRegressor(loss="auto", **given).partial_fit(X, Y)
    same = aggro.from_name(loss, average="auto", **given).partial_fit(X, Y)
    np.testing.assert_array_equal(model.coef_, same.coef_)


def test_invalid_criterion_is_rejected():
    for model in (AutoRegressor(criterion="cubic"), PassiveAggressiveRegressor(criterion="cubic")):
        with pytest.raises(ValueError, match="criterion='cubic' is not valid"):
            model.fit(X, Y)
    with pytest.raises(ValueError, match="criterion='cubic' is not valid"):
        StreamRegressor(criterion="cubic")


@pytest.mark.parametrize("criterion", CRITERIA)
def test_recorded_errors_are_those_of_the_predictions(criterion):
    model, total = PassiveAggressiveRegressor(C="auto", criterion=criterion), 0.0
    model.partial_fit(X[:100], Y[:100])
    before = model._learner.distance
    for row, y in zip(X[100:400], Y[100:400], strict=True):
        total += abs(model.predict(row[None])[0] - y) ** POWERS[criterion]
        model.partial_fit(row[None], [y])
    assert model._learner.distance - before == pytest.approx(total)


def test_copies_and_files_keep_the_criterion(tmp_path):
    model = AutoRegressor(criterion="squared", random_state=0).partial_fit(X[:700], Y[:700])
    aggro.save(model, tmp_path / "model.aggro")
    copies = [pickle.loads(pickle.dumps(model)), aggro.load(tmp_path / "model.aggro")]
    model.partial_fit(X[700:], Y[700:])
    for copy in copies:
        copy.partial_fit(X[700:], Y[700:])
        assert copy.candidates_ == model.candidates_
        np.testing.assert_array_equal(copy.predict(X), model.predict(X))
        with pytest.raises(ValueError, match="criterion cannot change from 'squared'"):
            copy.set_params(criterion="absolute").partial_fit(X, Y)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_selection_restarts_after_drift(criterion):
    rng = np.random.default_rng(0)
    rows, truth = rng.normal(size=(8192, 6)), rng.normal(size=6)
    later = truth * [1, 1, 1, -1, -1, -1]
    y = np.where(np.arange(8192) < 4196, rows @ truth, rows @ later) + 0.1 * rng.normal(size=8192)
    model = AutoRegressor(criterion=criterion, features="linear", random_state=0)
    assert model.partial_fit(rows[:4096], y[:4096])._learner.drift.start == 0
    assert model.partial_fit(rows[4096:], y[4096:])._learner.drift.start == 5120


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_squares_of_extreme_targets_are_finite(size):
    model = AutoRegressor(criterion="squared", random_state=0).partial_fit(X[:900], size * Y[:900])
    assert np.isfinite([row["recent_loss"] for row in model.candidates_]).all()
    assert np.isfinite(model.predict(X)).all()


def test_sweeps_rank_by_the_criterion():
    result = aggro.sweep(X, Y, criterion="squared", C=[0.01, 1.0], epsilon=0.0, average=False)
    model = PassiveAggressiveRegressor(C=0.01, epsilon=0.0, average=False)
    errors = []
    for row, y in zip(X, Y, strict=True):
        errors.append((model.predict(row[None])[0] - y) ** 2 if errors else y**2)
        model.partial_fit(row[None], [y])
    assert result.rows[0].error == pytest.approx(np.mean(errors))
    assert result.constant_error == pytest.approx(Y.var())
    assert "error²" in str(result)
    with pytest.raises(ValueError, match="give one criterion"):
        aggro.sweep(X, Y, criterion=["absolute", "squared"])


def write(path, values, labels):
    with path.open("w", newline="") as stream:
        rows = [[y, *row] for y, row in zip(labels, values.tolist(), strict=True)]
        csv.writer(stream).writerows([["y", "a", "b", "c"], *rows])
    return str(path)


def test_command_line_measures_the_criterion(tmp_path, capsys):
    data = write(tmp_path / "train.csv", X[TRAIN], Y[TRAIN].tolist())
    test = write(tmp_path / "test.csv", X[TEST], Y[TEST].tolist())
    found = {}
    for criterion in CRITERIA:
        model, report = tmp_path / f"{criterion}.aggro", tmp_path / f"{criterion}.json"
        options = ["--criterion", criterion, "--test", test, "--json", str(report)]
        assert main(["train", data, "--label", "y", *options, "-o", str(model)]) == 0
        shown = capsys.readouterr().out
        assert f"{criterion} error of predictions made before learning" in shown
        found[criterion] = json.loads(report.read_text())
    assert found["absolute"]["algorithm"] == "PAR-I" and found["squared"]["algorithm"] == "PAR-II"
    assert found["squared"]["test"]["r2"] > found["absolute"]["test"]["r2"]
    assert found["squared"]["test"]["mae"] > found["absolute"]["test"]["mae"]
    last = found["squared"]["progress"][-1]
    assert last["baseline"] == pytest.approx(Y[TRAIN].var(), rel=0.15)


def test_criterion_of_classes_is_rejected(tmp_path, capsys):
    labels = np.where(np.median(Y) < Y, "yes", "no").tolist()
    data = write(tmp_path / "train.csv", X, labels)
    out = str(tmp_path / "model.aggro")
    assert main(["train", data, "--label", "y", "--criterion", "squared", "-o", out]) != 0
    assert "has no --criterion" in capsys.readouterr().err
