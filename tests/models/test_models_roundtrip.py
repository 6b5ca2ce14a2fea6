"""Saved and loaded models continue identically."""

import numpy as np
import pytest
from model_helpers import ROWS, make, problem, same

import aggro
from aggro.persistence import ModelFileError, load, save


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("kind", ["strings", "two"])
def test_loaded_model_continues_exactly(name, kind, tmp_path):
    X, y = problem(name, kind)
    model = make(name, random_state=3).partial_fit(X[:25], y[:25])
    save(model, tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert same(model, loaded)
    assert same(model.partial_fit(X[25:], y[25:]), loaded.partial_fit(X[25:], y[25:]))
    assert model.n_mistakes_ == loaded.n_mistakes_
    assert model.cumulative_loss_ == loaded.cumulative_loss_


@pytest.mark.parametrize("kind", ["ints", "floats", "bools", "objects"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_labels_keep_their_type(kind, dtype, tmp_path):
    X, y = problem("SPA-I", kind)
    model = make("SPA-I").partial_fit(X.astype(dtype), y)
    save(model, tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert loaded.classes_.dtype == model.classes_.dtype
    assert loaded.predict(X).tolist() == model.predict(X).tolist()
    assert same(model, loaded)


@pytest.mark.parametrize(
    "params",
    [
        {"average": True},
        {"average": 20},
        {"average": "reservoir", "reservoir_size": 4},
        {"C": np.inf},
        {"C": "auto"},
        {"C": "auto", "average": "auto"},
        {"C": np.float32(0.5)},
        {"class_weight": {"ant": 2.0, "bee": 0.5}},
        {"class_weight": "balanced"},
        {"queue": 3, "class_mean": 0.2},
        {"metric": "full"},
        {"metric": "diagonal", "average": True},
        {"fit_intercept": False},
        {"batch_size": 4},
    ],
    ids=str,
)
def test_all_parameters_are_kept(params, tmp_path):
    X, y = problem("SPA-I")
    model = aggro.PassiveAggressiveClassifier(random_state=1, **params)
    model.partial_fit(X[:31], y[:31])
    save(model, tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert loaded.get_params() == model.get_params()
    assert same(model.partial_fit(X[31:], y[31:]), loaded.partial_fit(X[31:], y[31:]))


def test_a_changed_parameter_takes_effect_after_loading_too(tmp_path):
    X, y = problem("SPA-I")
    model = make("SPA-I").partial_fit(X[:31], y[:31]).set_params(C=0.01)
    save(model, tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert same(model.partial_fit(X[31:], y[31:]), loaded.partial_fit(X[31:], y[31:]))


def test_labels_outputs_names_and_sparsity_are_kept(tmp_path):
    pd = pytest.importorskip("pandas")
    X, _ = problem("PA-I")
    frame = pd.DataFrame(X, columns=list("abcdef"))
    labels = aggro.PassiveAggressiveClassifier().partial_fit(frame, (X[:, :3] > 0).astype(int))
    values = aggro.PassiveAggressiveRegressor().fit(frame, X[:, :2])
    for model in (labels, values, values.sparsify()):
        save(model, tmp_path / "m")
        loaded = load(tmp_path / "m")
        assert loaded.feature_names_in_.tolist() == list("abcdef")
        assert np.array_equal(loaded.predict(frame), model.predict(frame))
    assert hasattr(loaded.coef_, "toarray")


def test_unfitted_model_is_saved(tmp_path):
    save(make("AROW", r=0.5), tmp_path / "m")
    assert load(tmp_path / "m").get_params() == make("AROW", r=0.5).get_params()


def test_the_file_is_a_safetensors_file(tmp_path):
    safetensors = pytest.importorskip("safetensors")
    X, y = problem("PA-I", "two")
    model = make("PA-I").partial_fit(X, y)
    save(model, tmp_path / "m")
    with safetensors.safe_open(tmp_path / "m", "numpy") as file:
        weights = file.get_tensor("_learner.weights")
    assert np.array_equal(weights.T, model.coef_)


def test_values_that_cannot_be_saved_are_named(tmp_path):
    X, y = problem("PA-I")
    with pytest.raises(ModelFileError, match=r"random_state=.*integer"):
        save(make("PA-I", random_state=np.random.RandomState(0)), tmp_path / "m")
    with pytest.raises(ModelFileError, match="LogisticRegression cannot be saved"):
        save(pytest.importorskip("sklearn.linear_model").LogisticRegression(), tmp_path / "m")
    model = make("PA-I").partial_fit(X, y)
    model.diary = ["monday"]
    with pytest.raises(ModelFileError, match="diary"):
        save(model, tmp_path / "m")

    class Mine(aggro.PassiveAggressiveClassifier):
        pass

    with pytest.raises(ModelFileError, match="Mine"):
        save(Mine(), tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_saving_keeps_links_and_the_mode_of_new_files(tmp_path):
    (tmp_path / "link").symlink_to("target")
    save(make("PA"), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert load(tmp_path / "target").get_params() == make("PA").get_params()
    (tmp_path / "other").write_bytes(b"")
    assert (tmp_path / "target").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_error_counts_of_a_selection_are_restored_exactly(tmp_path):
    """Subtracting a part from a sum is inexact, so files contain the remainder."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(400, 3))
        y = X @ [1.0, 2.0, -1.0] + rng.normal(size=400)
        model = aggro.AutoRegressor().partial_fit(X[:300], y[:300])
        save(model, tmp_path / "m")
        loaded = load(tmp_path / "m")
        assert loaded._learner.counted == model._learner.counted
        for each in (model, loaded):
            each.partial_fit(X[300:], y[300:])
        assert loaded._learner.drift == model._learner.drift


def test_error_counts_of_texts_are_restored_exactly(tmp_path):
    """The same for representations of texts."""
    words = [f"w{i}" for i in range(40)]
    for seed in range(4):
        rng = np.random.default_rng(seed)
        drawn = rng.integers(0, 40, size=(300, 6))
        texts = [" ".join(words[i] for i in row) for row in drawn]
        y = drawn[:, 0] * 0.37 + abs(drawn[:, 1] - drawn[:, 2]) / 7 + rng.normal(size=300)
        model = aggro.TextRegressor().partial_fit(texts, y)
        save(model, tmp_path / "m")
        learner, loaded = (each._learner.selection for each in (model, load(tmp_path / "m")))
        assert loaded.counted == learner.counted
        assert loaded.drift == learner.drift
