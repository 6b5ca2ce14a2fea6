"""Predictions, scores, weights and batches of stream learners."""

import collections
import subprocess
import sys
import types

import numpy as np
import pytest
from closeness import assert_close
from stream_problems import CLASSIFIERS, REGRESSORS, everything, learn_rows, sparse_stream

from aggro import PassiveAggressiveClassifier
from aggro.stream.learners import StreamClassifier, StreamRegressor


def test_predictions_before_the_first_class():
    model = StreamClassifier()
    assert model.predict_one({"a": 1.0}) is None
    assert model.predict_proba_one({"a": 1.0}) == {}
    assert model.score_one({}) == {}
    assert (model.classes_, model.coef_, model.n_features_in_, model.examples) == ([], {}, 0, 0)


def test_predictions_with_one_class():
    model = StreamClassifier("SPA-I")
    model.learn_one({"a": 1.0}, "only")
    assert model.predict_one({"b": 1.0}) == "only"
    assert model.predict_proba_one({}) == {"only": 1.0}
    found = {"only": pytest.approx(0.04 / 1.04)}  # against the unknown second class
    assert model.score_one({}) == found


def test_two_classes_have_one_margin():
    model = StreamClassifier("PA", fit_intercept=False)
    model.learn_one({"a": 0.0}, "no")
    model.learn_one({"a": 2.0}, "yes")
    assert model.score_one({"a": 2.0}) == 1.0
    assert model.coef_ == {"yes": {"a": 0.5}}
    assert model.predict_proba_one({"a": 2.0}) == pytest.approx(
        {"no": 1 / (1 + np.e), "yes": np.e / (1 + np.e)}
    )


def test_several_classes_have_a_margin_each():
    model = StreamClassifier("SPA", fit_intercept=False)
    for label in "cab":
        model.learn_one({label: 1.0}, label)
    assert model.classes_ == ["a", "b", "c"]
    margins = model.score_one({"b": 1.0})
    assert margins["b"] - max(margins["a"], margins["c"]) == pytest.approx(1.0)
    assert sum(model.predict_proba_one({"b": 1.0}).values()) == pytest.approx(1.0)
    assert set(model.coef_) == set(model.intercept_) == {"a", "b", "c"}


def test_classes_without_an_order_keep_that_of_appearance():
    model = StreamClassifier()
    for label in ("b", 1, "a", (2,)):
        model.learn_one({"a": 1.0}, label)
    assert model.classes_ == ["b", 1, "a", (2,)]


def test_regressor_predicts_and_counts():
    model = StreamRegressor("PAR", epsilon=0.0, fit_intercept=False)
    assert model.predict_one({"a": 1.0}) == 0.0
    model.learn_one({"a": 2.0}, 6)
    assert model.predict_one({"a": 1.0}) == model.score_one({"a": 1}) == 3.0
    assert (model.coef_, model.intercept_) == ({"a": 3.0}, 0.0)


@pytest.mark.parametrize(
    "value",
    [2, 2.0, np.float32(2), np.int64(2), np.float64(2), np.uint8(2)],
    ids=lambda v: type(v).__name__,
)
def test_numbers_of_every_kind(value):
    models = [StreamRegressor(), StreamRegressor()]
    models[0].learn_one({"a": value}, 1.0)
    models[1].learn_one({"a": 2.0}, 1.0)
    assert everything(models[0]) == everything(models[1])


@pytest.mark.parametrize("value", [True, np.bool_(True)])
def test_bool_values_are_zero_and_one(value):
    model = StreamRegressor("PAR", epsilon=0.0, fit_intercept=False)
    model.learn_one({"a": value}, 5.0)
    assert model.coef_ == {"a": 5.0}


def test_string_value_is_a_feature():
    model = StreamRegressor("PAR", epsilon=0.0, fit_intercept=False)
    model.learn_one({"colour": "red"}, 1.0)
    model.learn_one({"colour": "blue"}, 2.0)
    assert model.coef_ == {("colour", "red"): 1.0, ("colour", "blue"): 2.0}
    assert model.predict_one({"colour": "blue"}) == 2.0
    model.learn_one({"colour": "blue", ("colour", "blue"): 1.0}, 8.0)  # the same feature twice
    assert model.coef_["colour", "blue"] == pytest.approx(4.0)


def test_names_may_be_any_hashable():
    names = ["a", 3, 2.5, ("a", 1), b"x", None, frozenset({1}), np.str_("b"), object()]
    model = StreamRegressor()
    model.learn_one(dict.fromkeys(names, 1.0), 1.0)
    assert list(model.coef_) == names
    model.learn_one({np.int64(3): 1.0, "b": 1.0}, 1.0)  # equal names are one feature
    assert model.n_features_in_ == len(names)


@pytest.mark.parametrize("letters", ["ab", "éü", "語文"])
def test_names_of_all_lengths_are_found_in_new_objects(letters):
    """Names that differ in one character are different features, wherever that is."""
    kept, other = letters
    names = [kept * size for size in range(20)]
    names += [kept * at + other + kept * (8 - at) for at in range(9)]
    names += [kept * at + other + kept * (16 - at) for at in range(17)]
    model = StreamRegressor("PAR", epsilon=0.0, fit_intercept=False)
    for target, name in enumerate(names):
        model.learn_one({"".join(name): 1.0}, float(target))
    again = ["".join(list(name)) for name in names]
    assert [model.predict_one({name: 1.0}) for name in again] == list(range(len(names)))
    assert list(model.coef_) == names


def test_integers_are_learned_as_floats():
    first, second = StreamRegressor(), StreamRegressor()
    for size in (1, -3, 0, 2**70):
        first.learn_one({"a": size, "b": 1.5}, 2.0)
        second.learn_one({"a": float(size), "b": 1.5}, 2.0)
    assert everything(first) == everything(second)


@pytest.mark.parametrize(
    "kind", [dict, collections.Counter, collections.OrderedDict, types.MappingProxyType]
)
def test_examples_may_be_any_mapping(kind):
    model = StreamRegressor("PAR", epsilon=0.0)
    model.learn_one(kind({"a": 1.0}), 1.0)
    assert model.n_features_in_ == 1


def test_empty_dict_updates_the_intercept():
    model = StreamRegressor("PAR", epsilon=0.0)
    model.learn_one({}, 4.0)
    assert (model.intercept_, model.predict_one({})) == (4.0, 4.0)


def test_weights_multiply_c():
    heavy, costly = StreamRegressor(C=0.1), StreamRegressor(C=0.3)
    heavy.learn_one({"a": 1.0}, 9.0, w=np.float32(3))
    costly.learn_one(x={"a": 1.0}, y=9.0)
    assert heavy.coef_ == pytest.approx(costly.coef_)
    before = everything(heavy)
    heavy.learn_one({"b": 1.0}, 9.0, 0.0)
    assert everything(heavy) == before


def test_predicting_changes_nothing():
    X, y, _ = sparse_stream()
    model = learn_rows(StreamClassifier("PAM-I-diag", average=True), X, y.tolist())
    before = everything(model)
    for x in ({"f0": 1.0, "new": 2.0}, {}, {"f1": "text"}):
        model.predict_one(x)
        model.predict_proba_one(x)
        model.score_one(x)
    assert everything(model) == before


def test_a_batch_waits_until_it_is_full():
    model = StreamClassifier("BPAI", batch_size=3)
    for i in range(5):
        model.learn_one({"a": 1.0, "b": float(i)}, i % 2)
    assert model.examples == 3
    before = model.predict_proba_one({"a": 1.0})
    model.learn_one({"a": 1.0, "b": 2.0}, "new class", 0.0)
    assert model.predict_proba_one({"a": 1.0}) == before
    model.flush()
    assert model.examples == 5
    model.flush()
    assert model.examples == 5


def test_a_class_may_appear_while_a_batch_waits():
    slow, quick = StreamClassifier("BPAI", batch_size=4), StreamClassifier("BPAI", batch_size=4)
    stream = [({"a": 1.0}, "m"), ({"b": 2.0}, "z"), ({"c": 1.0, "a": 1.0}, "a"), ({"b": 1.0}, "k")]
    for x, y in stream:
        slow.learn_one(x, y)
    for label in "akmz":  # the classes are known beforehand, but nothing was learned
        quick._add_class(label)
    for x, y in stream:
        quick.learn_one(x, y)
    assert slow.coef_ == quick.coef_
    assert slow.classes_ == ["a", "k", "m", "z"]


def test_repr_names_what_was_given():
    assert repr(StreamClassifier()) == "StreamClassifier()"
    assert repr(StreamClassifier("SPA-I", C=1.0)) == "StreamClassifier('SPA-I', C=1.0)"
    model = StreamRegressor("PAR-II", C=0.5, max_features=9, overflow="hash", epsilon=0.2)
    assert (
        eval(repr(model), {"StreamRegressor": StreamRegressor})._get_params() == model._get_params()
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: StreamClassifier("PA-V"), "no variant 'PA-V'"),
        (lambda: StreamClassifier("PAR-I"), "not a linear variant of classification"),
        (lambda: StreamClassifier("KPA"), "KernelPassiveAggressiveClassifier"),
        (lambda: StreamRegressor("PA-I"), "not a linear variant of regression"),
        (lambda: StreamClassifier(C=-1), "C=-1"),
        (lambda: StreamClassifier(metric="diag"), "Did you mean 'diagonal'"),
        (lambda: StreamClassifier(max_features=0), "max_features=0"),
        (lambda: StreamClassifier(overflow="hashes"), "Did you mean 'hash'"),
        (lambda: StreamClassifier(random_state=-1), "random_state=-1"),
        (lambda: StreamRegressor(loss="cw"), "loss='cw' is not valid"),
    ],
)
def test_invalid_settings_raise(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_unknown_settings_raise():
    with pytest.raises(TypeError, match="Did you mean 'batch_size'"):
        StreamClassifier(batchsize=3)


def test_each_row_of_the_catalogue_makes_a_stream():
    assert len(CLASSIFIERS) > 25
    assert len(REGRESSORS) > 3


def test_neither_river_nor_scikit_learn_is_imported():
    code = (
        "import sys; from aggro.stream.learners import StreamClassifier; m = StreamClassifier()\n"
        "m.learn_one({'a': 1}, 1); m.learn_one({'a': 1}, 2); m.learn_one({'a': 1}, 3)\n"
        "assert not {'river', 'sklearn', 'pandas', 'scipy'} & set(sys.modules), sys.modules.keys()"
    )
    path = [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}\n{code}"]
    subprocess.run(path, check=True)


def test_the_default_rule_is_that_of_the_estimator():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 4)), rng.integers(0, 3, 60)
    stream = StreamClassifier(C=1.0, average="auto")
    estimator = PassiveAggressiveClassifier()
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        stream.learn_one(dict(enumerate(row)), label)
        estimator.partial_fit([row], [label])
    assert stream._settings(3) == estimator._learner.settings
    weights = [list(stream.coef_[label].values()) for label in range(3)]
    assert_close(weights, estimator.coef_, rtol=1e-12)
