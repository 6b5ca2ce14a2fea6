"""``aggro.merge`` on models of texts: what was counted adds up, whatever the order."""

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aggro
from aggro.cli import main
from aggro.merging.words import keys_of

WORDS = [f"w{i}" for i in range(40)]
FIXED = {"ngram_range": (1, 1), "idf": True, "C": 1.0, "metric": "diagonal", "average": False}
EUCLIDEAN = FIXED | {"metric": "euclidean", "mergeable": True}


def texts(seed, count, words=WORDS, classes=2):
    """Return texts of some words, and a class that follows from them."""
    random = np.random.default_rng(seed)
    picked = [random.choice(len(words), random.integers(1, 8)) for _ in range(count)]
    labels = [f"class {int(each.sum()) % (7 * classes) // 7}" for each in picked]
    return [" ".join(words[i] for i in each) for each in picked], labels


def learned(params, *batches):
    return [aggro.TextClassifier(probability=True, **params).partial_fit(*each) for each in batches]


def counted(model):
    """Return how many documents had each column, and how many there were."""
    state = model._learner.encoder.state()
    columns = state["text0_columns_0"].tolist()
    known = dict(zip(columns, state["text0_with_0"].tolist(), strict=True))
    return known, state["text0_documents_0"].tolist()


def names(model):
    state = model._learner.encoder.state()
    words = bytes(state["text0_names"])
    parts = np.split(np.arange(len(words)), state["text0_name_ends"][:-1])
    return {
        bytes(words[i] for i in part): count
        for part, count in zip(parts, state["text0_name_counts"].tolist(), strict=True)
    }


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 40), st.booleans())
def test_documents_and_names_add_up_in_any_order(seed, some, others, diagonal):
    params = FIXED if diagonal else EUCLIDEAN
    batches = [texts(seed, some, WORDS[:25]), texts(seed + 1, others, WORDS[15:])]
    models = learned(params, *batches)
    all_of_them, all_labels = (list(a) + list(b) for a, b in zip(*batches, strict=True))
    [whole] = learned(params, (all_of_them, all_labels))
    merged, turned = aggro.merge(models), aggro.merge(models[::-1])
    for each in (merged, turned):
        assert counted(each) == counted(whole)
        assert names(each) == names(whole)
        assert each.t_ == whole.t_
        if all(len(model.classes_) == 2 for model in models):  # else a score was another class'
            assert each.n_mistakes_ == sum(model.n_mistakes_ for model in models)
        assert each.classes_.tolist() == whole.classes_.tolist()
    tests = texts(seed + 2, 20)[0]
    np.testing.assert_allclose(
        merged.decision_function(tests), turned.decision_function(tests), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("params", [{"mergeable": True}, EUCLIDEAN, FIXED], ids=str)
def test_one_model_is_itself_and_equal_models_are_that_model(params):
    [model] = learned(params, texts(1, 200))
    tests = texts(2, 50)[0]
    expected = model.decision_function(tests)
    assert (aggro.merge([model]).decision_function(tests) == expected).all()
    copies = aggro.merge([model, copy.deepcopy(model)], start=model)  # which have learned nothing
    np.testing.assert_allclose(copies.decision_function(tests), expected, rtol=1e-6, atol=1e-6)
    assert copies.t_ == model.t_
    assert counted(copies) == counted(model) if params.get("idf") else True
    merged = aggro.merge([model, copy.deepcopy(model)])
    np.testing.assert_array_equal(merged.predict(tests), model.predict(tests))
    assert merged.t_ - 1 == 2 * (model.t_ - 1)


def test_a_word_that_one_model_has_met_keeps_its_weight():
    """In the Euclidean metric nobody else has a say in it."""
    models = learned(EUCLIDEAN, (["ant bee"], ["a"]), (["cat dog"], ["b"]))
    for model, batch in zip(models, (["bee ant"], ["dog"]), strict=True):
        model.partial_fit(batch, [{"a": "b", "b": "a"}[model.classes_[0]]])
    merged = aggro.merge(models)
    for model in models:
        learner, both = model._learner, merged._learner
        places = {key: i for i, key in enumerate(keys_of(both.encoder, 0).tolist())}
        own = [places[key] for key in keys_of(learner.encoder, 0).tolist()]
        weights = both.selection.coef()[:, own]
        np.testing.assert_allclose(weights, learner.selection.coef(), rtol=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
def test_merged_selections_continue(classes):
    batches = [texts(seed, 500, classes=classes) for seed in (1, 2)]
    models = learned({"mergeable": True}, *batches)
    merged, tests = aggro.merge(models), texts(3, 300, classes=classes)
    assert len(merged.candidates_) > 5
    assert merged.score(*tests) > min(each.score(*tests) for each in models) - 0.02
    assert merged.predict_proba(tests[0]).sum(axis=1) == pytest.approx(1.0)
    again = merged.partial_fit(*texts(4, 500, classes=classes))
    assert again.t_ - 1 == 1500


def test_models_that_go_on_from_a_start_count_it_once():
    [start] = learned({"mergeable": True}, texts(1, 300))
    models = [copy.deepcopy(start).partial_fit(*texts(seed, 100)) for seed in (2, 3)]
    merged = aggro.merge(models, start=start)
    assert merged.t_ - 1 == 500
    assert names(merged)[b"w1"] == sum(names(each)[b"w1"] for each in models) - names(start)[b"w1"]


def test_columns_and_regressors_merge():
    """Texts, categories and numbers have features of their own, of which some are never used."""
    random = np.random.default_rng(0)
    columns = {"title": "text", "shop": "category", "size": "number"}
    rows = [
        {"title": str(random.choice(WORDS)), "shop": f"s{random.integers(9)}", "size": float(i % 7)}
        for i in range(400)
    ]
    y = [row["size"] + int(row["shop"][1]) for row in rows]
    make = {"columns": columns, "mergeable": True}
    models = [
        aggro.TextRegressor(**make).partial_fit(rows[part], y[part])
        for part in (slice(0, 150), slice(150, 400))
    ]
    merged = aggro.merge(models)
    assert merged.score(rows, y) > 0.9
    sizes = [each._learner.encoder.numbers.squares for each in (*models, merged)]
    assert sizes[2] == sizes[0] + sizes[1]


def test_classes_of_some_are_classes_of_all():
    models = learned(FIXED, (["a b", "c"], ["x", "y"]), (["d", "e"], ["y", "z"]))
    assert aggro.merge(models).classes_.tolist() == ["x", "y", "z"]


def test_files_of_texts_merge(tmp_path):
    paths = []
    for number, batch in enumerate([texts(1, 80), texts(2, 80)]):
        lines = [f"{label},{text}" for text, label in zip(*batch, strict=True)]
        data, path = tmp_path / f"{number}.csv", tmp_path / f"{number}.aggro"
        data.write_text("\n".join(["label,text", *lines]))
        made = ["train", str(data), "--text", "text", "--label", "label", "-o", str(path)]
        made += [
            "--mergeable",
            "--ngrams",
            "1,1",
            "--idf",
            "no",
            "--C",
            "1",
            "--metric",
            "diagonal",
        ]
        assert main(made) == 0
        paths.append(str(path))
    target = tmp_path / "both.aggro"
    assert main(["merge", *paths, "-o", str(target)]) == 0
    assert aggro.load(target).t_ - 1 == 160


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ({}, {"analyzer": "char"}, "differ in analyzer"),
        ({"forgetting": 0.1}, {"forgetting": 0.1}, "order of the texts"),
        (FIXED | {"metric": "euclidean"}, FIXED | {"metric": "euclidean"}, "mergeable=True"),
    ],
)
def test_models_that_cannot_be_merged_raise(first, second, words):
    models = [learned(params, texts(1, 30))[0] for params in (first, second)]
    with pytest.raises(ValueError, match=words):
        aggro.merge(models)


def test_models_that_have_chosen_otherwise_say_so():
    models = [learned({"idf": "auto", **more}, texts(1, 30))[0] for more in ({}, {})]
    models[1].keep_best()
    with pytest.raises(ValueError, match="read texts in other ways"):
        aggro.merge(models)
