"""Text estimators: chunks, copies, files, classes, columns, scikit-learn."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
from closeness import assert_close
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from text_support import COLUMNS, same, table, texts

import aggro
from aggro import TextClassifier, TextRegressor
from aggro.selection import ensemble as joint
from aggro.selection.candidates import by_representation
from aggro.selection.learners import narrowed
from aggro.text.learner import TextLearner


@pytest.mark.parametrize("classes", [("ham", "spam"), ("ham", "report", "spam")])
def test_learning_is_chunk_invariant_through_copies_and_files(classes, tmp_path):
    X, y = texts(1300, classes)
    whole = TextClassifier(probability=True).partial_fit(X, y, classes=classes)
    cut, rng, start = TextClassifier(probability=True), np.random.default_rng(1), 0
    while start < len(X):
        end = start + int(rng.integers(1, 200))
        cut.partial_fit(X[start:end], y[start:end], classes=classes)
        how = rng.integers(4)
        if how == 0:
            cut = copy.deepcopy(cut)
        elif how == 1:
            cut = pickle.loads(pickle.dumps(cut))
        elif how == 2:
            cut.save(tmp_path / "model.aggro")
            cut = TextClassifier.load(tmp_path / "model.aggro")
        start = end
    assert same(whole, cut, X)


def test_learning_does_not_depend_on_threads():
    X, y = texts(600)
    one, two = (
        TextClassifier(probability=True).partial_fit(X, y),
        TextClassifier(probability=True, n_jobs=2).partial_fit(X, y),
    )
    assert same(one, two, X)


def test_it_learns_and_keeps_the_best_candidate(learned, tmp_path):
    X, y = texts(1500)
    assert learned.score(X[1200:], y[1200:]) > 0.9
    alone, selection = copy.deepcopy(learned).keep_best(), learned._learner.selection
    best = selection.best_learner()
    rows = selection.encoded(learned._table(X), learner=best)
    assert np.array_equal(alone.decision_function(X), best.scores(rows).ravel())
    assert alone.n_mistakes_ == learned.n_mistakes_
    assert alone.best_params_["ngram_range"] == learned.best_params_["ngram_range"]
    alone.save(tmp_path / "alone.aggro")
    again = aggro.load(tmp_path / "alone.aggro")
    for model in (alone, again):
        model.partial_fit(X[1200:], y[1200:])
    assert same(alone, again, X)


def test_an_ensemble_predicts_texts_of_two_classes_without_end():
    X, y = texts(1300)
    flipped = np.random.default_rng(0).random(1300) < 0.2
    y = np.where(flipped, np.where(y == "ham", "spam", "ham"), y)
    model = TextClassifier().partial_fit(X[:1150], y[:1150])
    made = model.n_mistakes_
    for text, label in zip(X[1150:], y[1150:], strict=True):
        made += model.predict_one(text) != label
        model.learn_one(text, label)
    assert model.n_mistakes_ == made
    learners = model._learner.selection.learners
    assert all(joint.predicts(group) for group in by_representation(learners).values())


def test_an_ensemble_that_is_ended_by_a_memory_limit_passes_on_its_unit_of_margins():
    selection = TextClassifier().partial_fit(*texts(1300))._learner.selection
    assert joint.predicts(selection.learners) and selection.margin_unit == 1.0
    unit = selection.best_unit
    best = selection.learners[selection.leading]
    selection.remove([narrowed(best, 1)], [each for each in selection.learners if each != best])
    assert not joint.predicts(selection.learners)
    assert selection.margin_unit == unit != 1.0


def test_fit_shuffles_texts_and_ends_selection():
    X, y = texts(800)
    order = np.argsort(y, kind="stable")  # sorted by class: only shuffling helps
    model = TextClassifier(probability=True).fit([X[i] for i in order], y[order])
    assert model.score(X, y) > 0.9
    assert model.candidates_ == []
    assert TextClassifier(max_iter=3, tol=None).fit(X, y).t_ == 3 * len(X) + 1
    a, b = (
        TextClassifier(probability=True, random_state=3).fit(X, y).decision_function(X)
        for _ in range(2)
    )
    assert np.array_equal(a, b)


def test_probabilities_are_calibrated(learned):
    X, y = texts(4000, seed=5)
    p = learned.predict_proba(X)
    assert_close(p.sum(axis=1), 1.0)
    sure = p.max(axis=1)
    right = learned.classes_[p.argmax(axis=1)] == y
    for low, high in ((0.5, 0.8), (0.8, 0.95), (0.95, 1.0)):
        some = (sure >= low) & (sure < high)
        if some.sum() > 100:
            assert abs(right[some].mean() - sure[some].mean()) < 0.12


def test_fit_learns_the_held_out_texts_after_the_best_pass():
    X, y = texts(3100)
    model = TextClassifier(max_iter=4, tol=1e-3, n_iter_no_change=9)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    learned, held_out = model.t_ - 1, 3100 // 20
    assert learned % (3100 - held_out) == held_out  # whole passes, then the held-out texts
    assert model.n_mistakes_ < 3100 - held_out
    one = TextClassifier(max_iter=1, tol=None).fit(X, y)
    assert one.t_ - 1 == 3100
    assert TextClassifier(max_iter=4, early_stopping=False, tol=None).fit(X, y).t_ - 1 == 4 * 3100


def test_probability_is_uncalibrated_unless_recorded():
    X, y = texts(300)
    model = TextClassifier().partial_fit(X, y)
    assert not hasattr(model, "predict_proba")
    (margin,) = model.decision_function(X[:1])
    assert model.predict_proba_one(X[0])["spam"] == pytest.approx(1 / (1 + np.exp(-margin)))
    sets = TextClassifier().partial_fit(X, [{each, "mail"} for each in y])
    shares, margins = sets.predict_proba_one(X[0]), sets.decision_function(X[:1])[0]
    assert list(shares.values()) == pytest.approx((1 / (1 + np.exp(-margins))).tolist())
    model.probability = True
    with pytest.raises(NotFittedError, match="learn it again"):
        model.predict_proba(X)


def test_probabilities_do_not_change_the_model(tmp_path):
    X, y = texts(300)
    plain, known = TextClassifier(), TextClassifier(probability=True)
    for model in (plain, known):
        model.partial_fit(X, y)
    assert np.array_equal(plain.decision_function(X), known.decision_function(X))
    plain.save(tmp_path / "plain.aggro")
    for model in (plain, aggro.load(tmp_path / "plain.aggro")):
        with pytest.raises(AttributeError, match="probability=True"):
            model.predict_proba(X)
    plain.partial_fit(["storm vote"], ["report"])
    assert len(plain.classes_) == 3


def test_learn_one_equals_partial_fit_of_one_text():
    X, y = texts(60)
    one, batch = (
        TextClassifier(probability=True),
        TextClassifier(probability=True).partial_fit(X, y),
    )
    for text, label in zip(X, y, strict=True):
        one.learn_one(text, label)
    assert same(one, batch, X)
    assert one.predict_one(X[0]) in ("ham", "spam")
    assert sum(one.predict_proba_one(X[0]).values()) == pytest.approx(1.0)


def test_classes_appear_in_the_middle_of_a_stream():
    X, y = texts(900, ("ham", "report", "spam"))
    first = y != "report"
    model = TextClassifier(probability=True)
    few = [X[i] for i in np.flatnonzero(first)[:300]]
    model.partial_fit(few[:1], y[first][:1])  # one class
    model.partial_fit(few[1:], y[first][1:300])
    assert model.classes_.tolist() == ["ham", "spam"]
    model.partial_fit(X, y)
    assert model.classes_.tolist() == ["ham", "report", "spam"]
    assert model.score(X, y) > 0.85
    assert model.predict_proba(X).shape == (900, 3)


def test_rows_of_weight_zero_are_ignored():
    X, y = texts(200)
    weights = np.ones(200)
    weights[::3] = 0.0
    kept = np.flatnonzero(weights)
    one = TextClassifier(probability=True).partial_fit(X, y, sample_weight=weights)
    two = TextClassifier(probability=True).partial_fit([X[i] for i in kept], y[kept])
    assert same(one, two, X)


def test_frames_and_dicts_give_the_same_model(tmp_path):
    pd = pytest.importorskip("pandas")
    columns, y = table(500)
    frame = pd.DataFrame(columns)
    dicts = frame.to_dict("records")
    models = [
        TextClassifier(probability=True, columns=COLUMNS).partial_fit(X, y)
        for X in (columns, frame, dicts)
    ]
    assert all(same(models[0], other, dicts) for other in models[1:])
    models[1].save(tmp_path / "frame.aggro")
    assert same(models[0], aggro.load(tmp_path / "frame.aggro"), frame)
    cut = TextClassifier(probability=True, columns=COLUMNS)
    for start in range(0, 500, 77):
        cut.partial_fit(dicts[start : start + 77], y[start : start + 77])
    assert same(models[0], cut, dicts)
    found = models[0].explain(dicts[0])[y[0]]
    assert any("shop=" in word for word, _ in found.words)
    assert any(word == "cost" for word, _ in found.words)
    joint.weight(models[0]._learner.selection.learners, predict=False)  # as after more texts
    alone = copy.deepcopy(models[0]).keep_best()
    np.testing.assert_allclose(
        alone.decision_function(dicts), models[0].decision_function(dicts), rtol=1e-4, atol=1e-5
    )


def test_only_the_first_pass_counts_errors(tmp_path):
    X, y = texts(300)
    values = np.where(y == "spam", 5.0, -3.0) + np.random.default_rng(0).normal(0, 2.0, 300)
    for estimator, answers, error in (
        (TextClassifier, y, "n_mistakes_"),
        (TextRegressor, values, "mean_error_"),
    ):
        one, many = (estimator(max_iter=k, tol=None).fit(X, answers) for k in (1, 4))
        assert getattr(many, error) == getattr(one, error) > 0
        assert many.t_ - 1 == 4 * len(X)
        many.save(tmp_path / "model.aggro")
        again = estimator.load(tmp_path / "model.aggro")
        assert getattr(again, error) == getattr(one, error)
        for model in (many, again):  # new texts are evaluated
            model.partial_fit(X[::-1], answers[::-1])
        assert getattr(again, error) == getattr(many, error) != getattr(one, error)


def test_regressor_learns_numbers(tmp_path):
    X, y = texts(600)
    values = np.where(y == "spam", 5.0, -3.0) + np.random.default_rng(0).normal(0, 0.1, 600)
    whole, cut = TextRegressor().partial_fit(X, values), TextRegressor()
    for start in range(0, 600, 91):
        cut.partial_fit(X[start : start + 91], values[start : start + 91])
    assert np.array_equal(whole.predict(X), cut.predict(X))
    whole.save(tmp_path / "numbers.aggro")
    again = TextRegressor.load(tmp_path / "numbers.aggro")
    assert np.array_equal(again.predict(X), whole.predict(X))
    assert again.mean_error_ == whole.mean_error_
    fitted = TextRegressor(random_state=1).fit(X, values)
    assert fitted.score(X, values) > 0.6
    assert fitted.explain(X[0])[None].total == pytest.approx(fitted.predict_one(X[0]), abs=1e-3)
    with pytest.raises(ValueError, match="y of row 1 is nan"):
        whole.partial_fit(X[:2], [1.0, np.nan])
    with pytest.raises(aggro.ModelFileError, match="holds a TextRegressor"):
        TextClassifier.load(tmp_path / "numbers.aggro")


def test_predicting_does_not_change_the_model(learned):
    assert isinstance(learned._learner, TextLearner)
    before = pickle.dumps(learned)
    learned.predict_proba(["free money", "äöü ΣΑΣ"])
    learned.explain("free money")
    after = pickle.loads(pickle.dumps(learned))
    assert same(learned, after, ["free lunch"])
    assert pickle.loads(before).n_mistakes_ == learned.n_mistakes_


# -- scikit-learn and without it --------------------------------------------------------------


def test_hashed_rows_equal_scikit_learns_vectoriser():
    from sklearn.feature_extraction.text import HashingVectorizer

    X, y = texts(300)
    fixed = {"ngram_range": (1, 2), "idf": False, "C": 1.0, "metric": "euclidean"}
    model = TextClassifier(probability=True, **fixed, average=False).fit(X, y)
    rows = HashingVectorizer(ngram_range=(1, 2)).transform(X)
    scores = rows @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(scores.ravel(), model.decision_function(X), atol=1e-5)


def test_scikit_learns_tools_accept_text_estimators():
    from sklearn.base import clone, is_classifier, is_regressor
    from sklearn.model_selection import cross_val_score
    from sklearn.utils import get_tags

    X, y = texts(120)
    model = TextClassifier(idf=False, stop_words=["the"])
    assert clone(model).get_params() == model.get_params()
    assert is_classifier(model)
    assert is_regressor(TextRegressor())
    for each in (model, TextRegressor()):
        tags = get_tags(each)
        assert tags.target_tags.required and tags.input_tags.string
        assert not tags.input_tags.two_d_array
    assert cross_val_score(model, X, y, cv=3).mean() > 0.7
    assert repr(model) == "TextClassifier(idf=False, stop_words=['the'])"


def test_scikit_learn_is_not_needed():
    code = (
        "import sys; sys.modules['sklearn'] = None; sys.modules['scipy'] = None\n"
        "from aggro import TextClassifier as T\n"
        "m = T(probability=True).fit(['free money', 'lunch at noon'] * 9, ['spam', 'ham'] * 9)\n"
        "print(m.predict_one('money'), m.predict_proba(['lunch']).shape)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["spam", "(1,", "2)"]


@pytest.mark.parametrize("max_iter", [1, 3])
def test_learning_after_fit_is_chunk_invariant(max_iter):
    """Probabilities are chunk invariant, too, although their reference row changes."""
    X, y = texts(90)
    at_once, singly = (
        TextClassifier(probability=True, max_iter=max_iter, tol=None).fit(X[:40], y[:40])
        for _ in range(2)
    )
    at_once.partial_fit(X[40:], y[40:])
    for x, label in zip(X[40:], y[40:], strict=True):
        singly.learn_one(x, label)
    assert same(at_once, singly, X)
