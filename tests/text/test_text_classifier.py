"""Strings in, labels out: cuts, copies, files, refusals, classes, columns, explanations."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
from closeness import assert_close

import aggro
from aggro import TextClassifier, TextRegressor
from aggro.models import ModelFileError
from aggro.models.texts import decode_text_learner, encode_text_learner
from aggro.text.bars import draw_bars
from aggro.text.learner import TextLearner

WORDS = {
    "spam": ["free", "money", "win", "cash", "now", "click", "offer", "prize", "buy", "cheap"],
    "ham": [
        "lunch",
        "meeting",
        "tomorrow",
        "report",
        "thanks",
        "home",
        "friend",
        "late",
        "call",
        "dinner",
    ],
    "news": [
        "election",
        "minister",
        "market",
        "weather",
        "police",
        "court",
        "budget",
        "storm",
        "vote",
        "city",
    ],
}
SHARED = ["the", "a", "of", "and", "to", "in", "is", "you", "that", "it"]


def texts(count, classes=("ham", "spam"), seed=0):
    rng = np.random.default_rng(seed)
    y = rng.choice(classes, count)
    X = []
    for label in y:
        own = rng.choice(WORDS[str(label)], rng.integers(1, 4))
        other = rng.choice(WORDS[str(rng.choice(classes))], 1)
        X.append(" ".join(rng.permutation([*own, *other, *rng.choice(SHARED, 6)])))
    return X, y


def same(a, b, X):
    return (
        np.array_equal(a.decision_function(X), b.decision_function(X))
        and np.array_equal(a.predict_proba(X), b.predict_proba(X))
        and a.n_mistakes_ == b.n_mistakes_
        and a.choice_ == b.choice_
        and all(a.top_words(label) == b.top_words(label) for label in a.classes_.tolist())
    )


@pytest.fixture(scope="module")
def learned():
    X, y = texts(1500)
    return TextClassifier().partial_fit(X[:1200], y[:1200])


@pytest.mark.parametrize("classes", [("ham", "spam"), ("ham", "news", "spam")])
def test_cuts_copies_and_files_change_nothing(classes, tmp_path):
    X, y = texts(1300, classes)
    whole = TextClassifier().partial_fit(X, y, classes=classes)
    cut, rng, start = TextClassifier(), np.random.default_rng(1), 0
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


def test_counts_of_words_that_were_never_met_are_refused(learned):
    """Each count belongs to a column that was met; one more would be that of a word to come."""
    encoder = copy.deepcopy(learned._learner.encoder)
    known = encoder.state()
    more = np.append(known["text0_with_0"], 1.0)
    assert len(more) == len(known["text0_columns_0"]) + 1
    with pytest.raises(ValueError, match="documents of the vectoriser"):
        encoder.load_state({**known, "text0_with_0": more})
    for name, array in encoder.state().items():
        np.testing.assert_array_equal(array, known[name])


@pytest.mark.parametrize("count", [0, 65, 1000])
def test_a_file_of_no_runners_or_of_too_many_makes_no_sense(learned, count):
    arrays = {}
    facts = encode_text_learner(learned._learner, "learner", arrays)
    runners = (facts["runners"] * count)[:count]
    with pytest.raises(ModelFileError, match="no learner of texts that makes sense"):
        decode_text_learner({**facts, "runners": runners}, "learner", arrays)


def test_threads_change_nothing():
    X, y = texts(600)
    one, two = TextClassifier().partial_fit(X, y), TextClassifier(n_jobs=2).partial_fit(X, y)
    assert same(one, two, X)


def test_it_learns_and_settles(learned, tmp_path):
    X, y = texts(1500)
    assert learned.score(X[1200:], y[1200:]) > 0.9
    alone = copy.deepcopy(learned).settle()
    np.testing.assert_allclose(
        alone.decision_function(X), learned.decision_function(X), rtol=1e-4, atol=1e-5
    )
    assert alone.n_mistakes_ == learned.n_mistakes_
    assert alone.choice_["ngram_range"] == learned.choice_["ngram_range"]
    alone.save(tmp_path / "alone.aggro")
    again = aggro.load(tmp_path / "alone.aggro")
    for model in (alone, again):
        model.partial_fit(X[1200:], y[1200:])
    assert same(alone, again, X)


def test_fit_is_one_pass_over_shuffled_texts_and_ends_the_race():
    X, y = texts(800)
    order = np.argsort(y, kind="stable")  # sorted by class: only shuffling helps
    model = TextClassifier().fit([X[i] for i in order], y[order])
    assert model.score(X, y) > 0.9
    assert model.lanes_ == []
    assert TextClassifier(max_iter=3).fit(X, y).score(X, y) > 0.9
    a, b = (TextClassifier(random_state=3).fit(X, y).decision_function(X) for _ in range(2))
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


def test_without_probabilities_the_model_is_the_same(tmp_path):
    X, y = texts(300)
    plain, known = TextClassifier(probability=False), TextClassifier()
    for model in (plain, known):
        model.partial_fit(X, y)
    assert np.array_equal(plain.decision_function(X), known.decision_function(X))
    plain.save(tmp_path / "plain.aggro")
    for model in (plain, aggro.load(tmp_path / "plain.aggro")):
        with pytest.raises(AttributeError, match="probability=True"):
            model.predict_proba(X)
    plain.partial_fit(["storm vote"], ["news"])
    assert len(plain.classes_) == 3


def test_one_text_at_a_time():
    X, y = texts(60)
    one, batch = TextClassifier(), TextClassifier().partial_fit(X, y)
    for text, label in zip(X, y, strict=True):
        assert one.learn_one(text, label) is one
    assert same(one, batch, X)
    assert one.predict_one(X[0]) in ("ham", "spam")
    assert sum(one.predict_proba_one(X[0]).values()) == pytest.approx(1.0)


def test_classes_appear_in_the_middle_of_a_stream():
    X, y = texts(900, ("ham", "news", "spam"))
    first = y != "news"
    model = TextClassifier()
    few = [X[i] for i in np.flatnonzero(first)[:300]]
    model.partial_fit(few[:1], y[first][:1])  # one class
    model.partial_fit(few[1:], y[first][1:300])
    assert model.classes_.tolist() == ["ham", "spam"]
    model.partial_fit(X, y)
    assert model.classes_.tolist() == ["ham", "news", "spam"]
    assert model.score(X, y) > 0.85
    assert model.predict_proba(X).shape == (900, 3)


def test_rows_without_weight_were_never_there():
    X, y = texts(200)
    weights = np.ones(200)
    weights[::3] = 0.0
    kept = np.flatnonzero(weights)
    one = TextClassifier().partial_fit(X, y, sample_weight=weights)
    two = TextClassifier().partial_fit([X[i] for i in kept], y[kept])
    assert same(one, two, X)


# -- refusals ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda m, X, y: m.partial_fit([*X, None], [*y, "ham"]), "document 1500 is None"),
        (lambda m, X, y: m.partial_fit([*X, 1.5], [*y, "ham"]), "document 1500 is 1.5"),
        (lambda m, X, y: m.partial_fit(X, y[:-1]), "1500 texts but y has 1499"),
        (lambda m, X, y: m.partial_fit("text", ["ham"]), "one string"),
        (lambda m, X, y: m.partial_fit(X, [None] * len(X)), "missing label"),
        (lambda m, X, y: m.partial_fit(X, np.arange(len(X))), "of one kind"),
        (lambda m, X, y: m.partial_fit(X, y, sample_weight=[1.0]), "sample_weight has shape"),
        (lambda m, X, y: m.partial_fit(X, y, sample_weight=-np.ones(1500)), "zero or more"),
        (lambda m, X, y: m.partial_fit(X, y, classes=["a", "b"]), "not those of the model"),
        (lambda m, X, y: m.set_params(c=1), "no parameter"),
        (lambda m, X, y: m.top_words("eggs"), "not one of the classes"),
        (lambda m, X, y: m.fit(X, ["ham"] * len(X)), "two classes"),
    ],
)
def test_a_refused_call_leaves_the_model_as_it_was(learned, call, said):
    X, y = texts(1500)
    before = pickle.dumps(learned)
    with pytest.raises(ValueError, match=said):
        call(learned, X, y)
    assert pickle.dumps(learned) == before


@pytest.mark.parametrize("when", [1, 3])
def test_what_fails_in_the_middle_of_a_block_leaves_all_at_one_example(learned, monkeypatch, when):
    X, y = texts(1500)
    model, calls = copy.deepcopy(learned), []
    before = model.decision_function(X)
    learn = aggro.learn.race.AutoLearner.learn

    def broken(self, *args, **kwargs):
        calls.append(self)
        learn(self, *args, **kwargs)
        if len(calls) == when:
            raise KeyboardInterrupt

    monkeypatch.setattr(aggro.learn.race.AutoLearner, "learn", broken)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X[1200:1205], y[1200:1205])
    monkeypatch.undo()
    assert np.array_equal(model.decision_function(X), before)
    assert model.n_mistakes_ == learned.n_mistakes_
    assert model.t_ == learned.t_
    for each in (model, untroubled := copy.deepcopy(learned)):
        each.partial_fit(X[1200:], y[1200:])
    assert same(model, untroubled, X)


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"idf": "yes"}, "idf='yes'"),
        ({"idf": 2}, "idf=2"),
        ({"ngram_range": "all"}, "ngram_range='all'"),
        ({"ngram_range": (0, 1)}, "ngram_range"),
        ({"C": 0}, "C=0"),
        ({"metric": "round"}, "metric='round'"),
        ({"columns": ["a"]}, "columns="),
        ({"columns": {"a": "word"}}, "a column is 'text'"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"memory": 0}, "memory=0"),
        ({"n_features": 1.5}, "n_features=1.5"),
        ({"analyzer": "sentence"}, "analyzer='sentence'"),
    ],
)
def test_wrong_parameters_are_told(params, said):
    X, y = texts(20)
    model = TextClassifier(**params)
    with pytest.raises(ValueError, match=said):
        model.fit(X, y)
    assert not hasattr(model, "classes_")


def test_a_model_that_knows_nothing_says_so():
    with pytest.raises(ValueError, match="has learned nothing yet"):
        TextClassifier().predict(["text"])


# -- the race ---------------------------------------------------------------------------------


def test_all_representations_race_and_the_leader_has_the_best_record(learned):
    lanes = learned.lanes_
    raced = {(lane["ngram_range"], lane["idf"], lane["metric"]) for lane in lanes}
    assert len(raced) == 12
    assert [lane["chosen"] for lane in lanes].count(True) == 1
    chosen = next(lane for lane in lanes if lane["chosen"])
    assert chosen["recent_error"] == min(lane["recent_error"] for lane in lanes)


def test_little_memory_makes_a_short_race():
    X, y = texts(400)
    model = TextClassifier(memory=200_000).partial_fit(X, y)
    assert 0 < len(model.lanes_) < 128
    assert model.score(X, y) > 0.85
    one = TextClassifier(memory=1).partial_fit(X, y)
    assert len({(lane["ngram_range"], lane["idf"]) for lane in one.lanes_}) == 1


def test_nothing_raced_is_one_learner():
    X, y = texts(300)
    fixed = {"ngram_range": (1, 2), "idf": True, "C": 1.0, "metric": "diagonal", "average": False}
    model = TextClassifier(**fixed).partial_fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.choice_ == {"ngram_range": (1, 2), "idf": True}


def test_a_model_moves_to_scikit_learns_vectoriser():
    from sklearn.feature_extraction.text import HashingVectorizer

    X, y = texts(300)
    fixed = {"ngram_range": (1, 2), "idf": False, "C": 1.0, "metric": "euclidean"}
    model = TextClassifier(**fixed, average=False).fit(X, y)
    rows = HashingVectorizer(ngram_range=(1, 2)).transform(X)
    scores = rows @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(scores.ravel(), model.decision_function(X), atol=1e-5)


# -- columns ----------------------------------------------------------------------------------

COLUMNS = {"title": "text", "body": "text", "price": "number", "shop": "category"}


def table(count, seed=0):
    X, y = texts(count, seed=seed)
    rng = np.random.default_rng(seed)
    price = np.where(y == "spam", 10.0, 100.0) * rng.uniform(0.5, 2.0, count)
    shop = np.where(y == "spam", "the bazaar", "corner").tolist()
    titles = [" ".join(text.split()[:3]) for text in X]
    return {"title": titles, "body": X, "price": price, "shop": shop}, y


def test_frames_dicts_and_columns_are_one(tmp_path):
    pd = pytest.importorskip("pandas")
    columns, y = table(500)
    frame = pd.DataFrame(columns)
    dicts = frame.to_dict("records")
    models = [TextClassifier(columns=COLUMNS).partial_fit(X, y) for X in (columns, frame, dicts)]
    assert all(same(models[0], other, dicts) for other in models[1:])
    models[1].save(tmp_path / "frame.aggro")
    assert same(models[0], aggro.load(tmp_path / "frame.aggro"), frame)
    cut = TextClassifier(columns=COLUMNS)
    for start in range(0, 500, 77):
        cut.partial_fit(dicts[start : start + 77], y[start : start + 77])
    assert same(models[0], cut, dicts)
    told = models[0].explain(dicts[0])[y[0]]
    assert any("shop=" in word for word, _ in told.words)
    assert any(word == "price" for word, _ in told.words)
    alone = copy.deepcopy(models[0]).settle()
    np.testing.assert_allclose(
        alone.decision_function(dicts), models[0].decision_function(dicts), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"price": [1.0] * 19 + [np.nan]}, "column 'price', row 19"),
        ({"price": ["x"] * 20}, "column 'price' must hold numbers"),
        ({"title": ["x"] * 19 + [None]}, "column 'title': document 19 is None"),
    ],
)
def test_wrong_columns_are_told(change, said):
    columns, y = table(20)
    with pytest.raises(ValueError, match=said):
        TextClassifier(columns=COLUMNS).fit({**columns, **change}, y)
    with pytest.raises(ValueError, match="no column 'shop'"):
        TextClassifier(columns=COLUMNS).fit({k: v for k, v in columns.items() if k != "shop"}, y)


# -- explanations -----------------------------------------------------------------------------


def test_what_words_say_adds_up_to_the_score(learned):
    X, _ = texts(20, seed=9)
    for text in X:
        told = learned.explain(text)
        assert told["spam"].total == pytest.approx(learned.decision_function([text])[0], abs=1e-4)
        assert told["ham"].total == pytest.approx(-told["spam"].total)
        assert sum(abs(share) for _, share in told["spam"].shares()) <= 1.0 + 1e-9
        for word, _ in told["spam"].words:
            assert all(part in text.split() for part in word.split(" | ")[0].split())
    assert learned.explain("words never met")["spam"].words == []


def test_top_words_are_those_of_the_class(learned):
    for label in ("ham", "spam"):
        best = [word.split(" | ")[0] for word, weight in learned.top_words(label, 5)]
        assert len(best) == 5
        assert sum(any(part in WORDS[label] for part in word.split()) for word in best) >= 4


def test_pictures(learned, tmp_path):
    learned.explain("free money for lunch")["spam"].plot(tmp_path / "why.png")
    learned.plot_words("spam", tmp_path / "words.svg")
    assert (tmp_path / "why.png").stat().st_size > 5000
    assert (tmp_path / "words.svg").stat().st_size > 5000


@pytest.mark.parametrize(("shares", "unit"), [(True, 100.0), (False, 1.0)])
def test_bars_are_as_long_as_what_they_stand_for(shares, unit):
    words = [("money", 0.5), ("lunch", -0.25), ("the", 0.0)]
    (axes,) = draw_bars(words, "why", shares=shares).axes
    assert [bar.get_width() for bar in axes.patches] == [unit * value for _, value in words]
    assert [label.get_text() for label in axes.get_yticklabels()] == [word for word, _ in words]
    colours = [bar.get_facecolor() for bar in axes.patches]
    assert colours[0] == colours[2] != colours[1]


# -- scikit-learn and without it --------------------------------------------------------------


def test_scikit_learns_tools_take_it():
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
        "m = T().fit(['free money', 'lunch at noon'] * 9, ['spam', 'ham'] * 9)\n"
        "print(m.predict_one('money'), m.predict_proba(['lunch']).shape)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["spam", "(1,", "2)"]


# -- numbers ----------------------------------------------------------------------------------


def test_numbers(tmp_path):
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


def test_a_learner_is_not_changed_by_predicting(learned):
    assert isinstance(learned._learner, TextLearner)
    before = pickle.dumps(learned)
    learned.predict_proba(["free money", "äöü ΣΑΣ"])
    learned.explain("free money")
    after = pickle.loads(pickle.dumps(learned))
    assert same(learned, after, ["free lunch"])
    assert pickle.loads(before).n_mistakes_ == learned.n_mistakes_
