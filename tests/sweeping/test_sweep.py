"""Swept settings equal settings learned alone."""

import doctest

import numpy as np
import pytest
import scipy.sparse as sp
from closeness import assert_close
from numpy.testing import assert_allclose

import aggro
from aggro.learner import Learner, rows_of
from aggro.selection.learners import select
from aggro.settings import Settings, shared_layout
from aggro.variants import ROWS


def problem(classes=3, n=300, d=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.5)
    y = (X @ rng.normal(size=(d, classes)) + 0.3 * rng.normal(size=(n, classes))).argmax(axis=1)
    return X, y


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize(
    "fixed",
    [
        {},
        {"multiclass": "ovr"},
        {"metric": "diagonal"},
        {"metric": "full"},
        {"average": True},
        {"class_mean": 0.2},
        {"queue": 3},
        {"batch_size": 4},
        {"average": "reservoir"},
    ],
    ids=str,
)
def test_swept_setting_equals_the_setting_learned_alone(classes, storage, fixed):
    X, y = problem(classes)
    X = storage(X)
    result = aggro.sweep(X, y, C=[0.01, 0.1, 1.0], loss=["hinge", "squared_hinge"], **fixed)
    for row in result.rows:
        model = result.model(row)
        alone = aggro.PassiveAggressiveClassifier(
            random_state=0, **{"average": False, **row.params}
        )
        alone.partial_fit(X, y, classes=np.unique(y))
        if fixed.get("average") != "reservoir":  # a sweep draws other random numbers
            assert_close(model.coef_, alone.coef_, rtol=1e-12)
            assert_close(model.intercept_, alone.intercept_, rtol=1e-12)
        assert row.updates == [alone.n_updates_]
        assert_close(row.losses[0] * len(y), alone.cumulative_loss_)
        if "average" not in fixed:
            assert row.error == pytest.approx(alone.n_mistakes_ / len(y))


def test_extracted_model_continues_like_one_learned_alone():
    X, y = problem()
    model = aggro.sweep(X[:200], y[:200], C=[0.03, 0.3], metric="diagonal", average=True).model(1)
    alone = aggro.PassiveAggressiveClassifier(C=0.3, metric="diagonal", average=True)
    alone.partial_fit(X[:200], y[:200], classes=[0, 1, 2])
    for one in (model, alone):
        one.partial_fit(X[200:], y[200:])
    assert_close(model.coef_, alone.coef_, rtol=1e-12)
    assert model.t_ == alone.t_


def test_settings_of_different_layouts_are_swept():
    X, y = problem()
    result = aggro.sweep(X, y, metric=["euclidean", "diagonal"], average=[False, True], C=0.1)
    assert len(result.rows) == 4
    assert len({shared_layout(row.settings) for row in result.rows}) == 4
    assert all(0 < row.error < 0.7 for row in result.rows)


def test_orders_give_mean_and_spread():
    X, y = problem()
    result = aggro.sweep(X, y, C=[0.1], orders=5, random_state=1)
    (row,) = result.rows
    assert len(row.errors) == 5 and row.spread > 0
    assert row.error == pytest.approx(np.mean(row.errors))
    again = aggro.sweep(X, y, C=[0.1], orders=5, random_state=1)
    assert again.rows[0].errors == row.errors


def test_algorithms_can_be_swept():
    X, y = problem()
    result = aggro.sweep(X, y, algorithm=["PA-I", "SPA-II", "AROW", "PAm-1"], C=[0.1, 1.0])
    assert [row.name for row in result.rows if "AROW" in row.name] == ["algorithm=AROW"]
    assert type(result.model(result.rows[4])).__name__ == "AROWClassifier"
    table = str(result)
    assert table.count("\n") == len(result.rows) and "*" in table


def test_regression_is_swept():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    y = X @ np.arange(5.0) + 0.1 * rng.normal(size=400)
    result = aggro.sweep(X, y, C=[1e-4, 1.0], epsilon=0.05)
    assert result.best.params["C"] == 1.0
    assert result.model().score(X, y) > 0.9
    assert result.best.curve[-1][1] == pytest.approx(result.best.error)


LINEAR = [row for row in ROWS if not row.estimator.startswith("Kernel")]


@pytest.mark.parametrize("variant", LINEAR, ids=lambda variant: variant.name)
def test_each_variant_has_its_own_row(variant):
    """Alone and with others, a variant equals its estimator."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 5))
    y = X @ np.arange(5.0)
    if not variant.estimator.endswith("Regressor"):
        y = np.digitize(y, [-2.0, 2.0])
    others = ["PAR-II", "AROWR"] if y.dtype.kind == "f" else ["SPA-II", "PAm-1"]
    result = aggro.sweep(X, y, algorithm=[variant.name, *others])
    assert result.rows[0].params == {"algorithm": variant.name}
    model, alone = result.model(0), variant.make().partial_fit(X, y)
    assert type(model) is type(alone) and model.get_params() == alone.get_params()
    assert result.rows[0].settings == alone._learner.settings
    assert_allclose(model.coef_, alone.coef_, rtol=1e-9, atol=1e-12)
    assert result.rows[0].updates == [alone.n_updates_]


def test_regression_variants_differ():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    y = X @ np.arange(5.0) + rng.normal(size=200)
    result = aggro.sweep(X, y, algorithm=["PAR", "PAR-I", "PAR-II", "AROWR"], C=0.01)
    assert len({row.error for row in result.rows}) == 4
    assert [row.settings.loss for row in result.rows] == [
        "hard",
        "epsilon_insensitive",
        "squared_epsilon_insensitive",
        "arow",
    ]


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([1000.0, 1001.0], ["C=1000", "C=1001"]),
        ([0.1, 0.1 + 1e-15], ["C=0.1", "C=0.100000000000001"]),
        ([1 / 3, 2 / 3], ["C=0.333", "C=0.667"]),
        ([1, 1.0, np.float32(1)], ["C=1"]),
        (np.array([0.5, 2.0], np.float32), ["C=0.5", "C=2"]),
        (np.float64(0.25), ["C=0.25"]),
        (np.array(0.25), ["C=0.25"]),
        (range(1, 3), ["C=1", "C=2"]),
        ((10.0**k for k in (-1, 0)), ["C=0.1", "C=1"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_each_setting_has_a_row_with_a_unique_name(values, names):
    result = aggro.sweep(*problem(), C=values)
    assert [row.name for row in result.rows] == names
    for row in result.rows:
        assert row.params["C"] == result.model(row).C


def test_ties_go_to_the_lower_loss_and_then_to_the_first_row():
    result = aggro.sweep(*problem(), C=[0.1, 0.2, 0.3, 0.4])
    standings = [(0.25, 3.0), (0.2, 2.0), (0.2, 1.0), (0.2, 1.0)]
    for row, (error, loss) in zip(result.rows, standings, strict=True):
        row.errors, row.losses = [error], [loss]
    assert result.best is result.rows[2]
    assert [line.endswith("*") for line in str(result).splitlines()[1:]] == [
        False,
        False,
        True,
        False,
    ]


def test_spellings_of_a_variant_share_one_row():
    result = aggro.sweep(*problem(), algorithm=["spa-i", "SPA-I", "SPA_I"], C=0.1)
    assert [row.name for row in result.rows] == ["algorithm=SPA-I, C=0.1"]


def test_extracted_model_keeps_feature_names_and_passes():
    pandas = pytest.importorskip("pandas")
    X, y = problem()
    frame = pandas.DataFrame(X, columns=[f"column {j}" for j in range(X.shape[1])])
    result = aggro.sweep(frame, y, C=[0.1, 1.0], passes=3)
    model, array_model = result.model(), aggro.sweep(X, y, C=[0.1, 1.0]).model()
    assert model.feature_names_in_.tolist() == list(frame.columns)
    assert (model.n_iter_, array_model.n_iter_) == (3, 1)
    assert not hasattr(array_model, "feature_names_in_")
    model.predict(frame)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[frame.columns[::-1]])


def test_example_in_the_docstring_holds():
    import aggro.sweeping.sweep

    failed, tried = doctest.testmod(aggro.sweeping.sweep)
    assert failed == 0 and tried > 0


def test_plot_is_saved(tmp_path):
    X, y = problem()
    aggro.sweep(X, y, C=[0.1, 1.0], loss=["hinge", "hard"]).plot(tmp_path / "sweep.png")
    assert (tmp_path / "sweep.png").stat().st_size > 10_000


def legend_of(axes):
    """Return the names in the legend of a figure."""
    legend = axes.get_legend()
    return [] if legend is None else [text.get_text() for text in legend.get_texts()]


def test_plot_labels_its_lines():
    X, y = problem()
    result = aggro.sweep(X, y, C=[0.1, 1.0], loss=["hinge", "hard"])
    left, right = result.plot().axes
    assert legend_of(left) == ["loss=hinge", "loss=hard"] and left.get_xlabel() == "C"
    assert left.get_xscale() == "log" and [len(line.get_xdata()) for line in left.lines] == [2, 2]
    ranked = sorted(result.rows, key=lambda row: row.error)
    assert legend_of(right) == [row.name for row in ranked] and "seen" in right.get_xlabel()
    for axes in (left, right):
        assert "%" in axes.get_ylabel()
    left, right = aggro.sweep(X, y, C=[0.1, 1.0]).plot().axes  # a single line has no legend
    assert legend_of(left) == [] and len(legend_of(right)) == 2


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"c": [1.0]}, "no axis 'c'"),
        ({"C": [-1.0]}, "C=-1.0 is not valid"),
        ({"algorithm": ["KPA"]}, "kernel learner"),
        ({"algorithm": ["nonsense"]}, "no variant"),
        ({"algorithm": ["PA-I", "PAR-I"]}, "PAR-I learns numbers, and y holds classes"),
        ({"algorithm": "AROW", "C": [0.1, 1.0]}, "AROWClassifier has no C"),
        ({"r": [1.0, 2.0]}, "PassiveAggressiveClassifier has no r"),
        ({"C": []}, "C has no values"),
        ({"C": np.array([])}, "C has no values"),
        ({"algorithm": []}, "algorithm has no values"),
        ({"passes": 0}, "passes=0 is not valid; give a whole number of at least 1"),
        ({"passes": 1.5}, "passes=1.5"),
        ({"orders": 0}, "orders=0"),
        ({"orders": True}, "orders=True"),
        ({"random_state": -1}, "random_state=-1"),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"task": "classification"}, "task='classification' is not valid"),
        ({"task": "binary"}, r"task='binary', but y is multiclass \(3 classes\)"),
        ({"task": "multilabel"}, "task='multilabel', but y is multiclass"),
    ],
    ids=str,
)
def test_invalid_axes_are_rejected(wrong, message, monkeypatch):
    monkeypatch.setattr(Learner, "learn", None)  # errors are raised before learning
    with pytest.raises((TypeError, ValueError), match=message):
        aggro.sweep(*problem(), **wrong)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"algorithm": ["PAR-I", "SPA-I"]}, "SPA-I learns classes, and y holds numbers"),
        ({"class_mean": [0.0, 0.1]}, "PassiveAggressiveRegressor has no class_mean"),
        ({"loss": "hinge"}, "loss='hinge' is not valid"),
    ],
    ids=str,
)
def test_invalid_axes_of_a_regression_are_rejected(wrong, message, monkeypatch):
    monkeypatch.setattr(Learner, "learn", None)
    X, _ = problem()
    with pytest.raises((TypeError, ValueError), match=message):
        aggro.sweep(X, X[:, 0] + 0.25, **wrong)


def test_selection_can_copy_a_model_twice():
    X, y = problem(2)
    settings = [Settings(task="binary", C=c, class_mean=0.1) for c in (0.1, 1.0)]
    learner = Learner(settings, X.shape[1], 2)
    learner.learn(rows_of(X), labels=y)
    twice = select(learner, [1, 1, 0], [settings[1], settings[1], settings[0]])
    for place, source in enumerate((1, 1, 0)):
        assert_close(twice.coef(place), learner.coef(source))
        assert twice.progress_of(place) == learner.progress_of(source)
