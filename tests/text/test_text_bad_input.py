"""Invalid texts, labels, parameters, columns and files are rejected and change nothing."""

import copy
import pickle

import numpy as np
import pytest
from text_support import COLUMNS, same, table, texts

import aggro
from aggro import TextClassifier
from aggro.persistence import ModelFileError
from aggro.persistence.values import decode, encode
from aggro.selection.selection import ModelSelection


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
        (lambda m, X, y: m.set_params(c=1), "not a parameter"),
        (lambda m, X, y: m.top_words("eggs"), "not one of the classes"),
        (lambda m, X, y: m.fit(X, ["ham"] * len(X)), "two classes"),
    ],
)
def test_a_rejected_call_leaves_the_model_unchanged(learned, call, said):
    X, y = texts(1500)
    before = pickle.dumps(learned)
    with pytest.raises(ValueError, match=said):
        call(learned, X, y)
    assert pickle.dumps(learned) == before


@pytest.mark.parametrize("when", [1, 3])
def test_an_interrupt_in_the_middle_of_a_block_undoes_the_block(learned, monkeypatch, when):
    X, y = texts(1500)
    model, calls = copy.deepcopy(learned), []
    before = model.decision_function(X)
    learn = aggro._core.learn_together

    def broken(*args, **kwargs):
        calls.append(args)
        learn(*args, **kwargs)
        if len(calls) == when:
            raise KeyboardInterrupt

    monkeypatch.setattr(aggro._core, "learn_together", broken)
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
        ({"idf": []}, r"idf=\[\]"),
        ({"lowercase": "no"}, "lowercase='no'"),
        ({"binary": 1}, "binary=1"),
        ({"sublinear_tf": None}, "sublinear_tf=None"),
        ({"token_pattern": []}, "token_pattern="),
        ({"stop_words": 3}, "stop_words=3"),
        ({"min_df": 10**400}, "min_df="),
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
def test_invalid_parameters_raise(params, said):
    X, y = texts(20)
    model = TextClassifier(probability=True, **params)
    with pytest.raises(ValueError, match=said):
        model.fit(X, y)
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"cost": [1.0] * 19 + [np.inf]}, "column 'cost', row 19"),
        ({"cost": ["x"] * 20}, "column 'cost' must hold numbers"),
        ({"cost": [1.0] * 19 + [10**400]}, "column 'cost' must hold numbers"),
        ({"title": ["x"] * 19 + [3]}, "column 'title': document 19 is 3"),
    ],
)
def test_invalid_columns_raise(change, said):
    columns, y = table(20)
    with pytest.raises(ValueError, match=said):
        TextClassifier(probability=True, columns=COLUMNS).fit({**columns, **change}, y)
    with pytest.raises(ValueError, match="no column 'shop'"):
        TextClassifier(probability=True, columns=COLUMNS).fit(
            {k: v for k, v in columns.items() if k != "shop"}, y
        )


def test_predict_before_fit_raises():
    with pytest.raises(ValueError, match="is not fitted yet"):
        TextClassifier(probability=True).predict(["text"])


def test_counts_of_unknown_words_are_rejected(learned):
    """Each count belongs to a known column; one more would be that of a future word."""
    encoder = copy.deepcopy(learned._learner.encoder)
    known = encoder.state()
    more = np.append(known["text0_with_0"], 1.0)
    assert len(more) == len(known["text0_columns_0"]) + 1
    with pytest.raises(ValueError, match="document counts of the vectoriser"):
        encoder.load_state({**known, "text0_with_0": more})
    for name, array in encoder.state().items():
        np.testing.assert_array_equal(array, known[name])


@pytest.mark.parametrize("count", [0, 65, 1000])
def test_file_with_invalid_number_of_ranges_is_rejected(learned, count):
    arrays = {}
    facts = encode(learned._learner, "learner", arrays)
    encoder = facts["TextLearner"]["selection"]["ModelSelection"]["representations"]["Encoder"]
    encoder["ranges"] = {"list": (encoder["ranges"]["list"] * count)[:count]}
    with pytest.raises(ModelFileError, match="invalid number of columns or of ranges"):
        decode(facts, arrays)


def test_new_words_of_a_failed_call_are_removed(monkeypatch):
    """Copies and pickles made afterwards have counts of known words only."""
    model = TextClassifier(probability=True, idf=True, C=1.0).partial_fit(
        ["a b", "c d"], ["x", "y"]
    )
    other = copy.deepcopy(model)

    def broken(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(aggro._core, "learn_together", broken)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(["e f g"], ["x"])
    monkeypatch.undo()
    clean = copy.deepcopy(other).partial_fit(["e a"], ["y"])
    expected = clean.decision_function(["e a", "f c"]).tolist()
    for each in (pickle.loads(pickle.dumps(model)), model, other):
        each.partial_fit(["e a"], ["y"])
        assert each.decision_function(["e a", "f c"]).tolist() == expected


def test_an_interrupt_while_learners_grow_leaves_a_usable_model(monkeypatch):
    X, y = texts(30)
    model = TextClassifier(probability=True, idf=True).partial_fit(X, y)
    other, more = copy.deepcopy(model), ["new words for everybody"]

    def interrupted(selection, *args):
        views = encode(selection, *args)
        selection.learners[-1].model.grow(views[0].features + 100)
        raise KeyboardInterrupt

    encode = ModelSelection._views
    monkeypatch.setattr(ModelSelection, "_views", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(more, ["ham"])
    monkeypatch.undo()
    for each in (model, copy.deepcopy(model)):
        assert np.array_equal(each.decision_function(X + more), other.decision_function(X + more))
        each.partial_fit(more, ["ham"])
    other.partial_fit(more, ["ham"])
    assert np.array_equal(model.decision_function(X + more), other.decision_function(X + more))
