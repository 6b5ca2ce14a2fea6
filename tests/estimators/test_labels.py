"""Labels of any type give the same model; labels of another kind are rejected later."""

import pickle
from contextlib import nullcontext

import numpy as np
import pandas as pd
import polars as pl
import pytest
from closeness import assert_close
from estimator_support import CLASSES, CLASSIFIERS, LABELS, ROWS, knowledge
from sklearn.exceptions import NotFittedError

import aggro
from aggro import PassiveAggressiveClassifier
from aggro.classes import Classes, in_order
from aggro.estimators.targets import class_weights
from aggro.labels import plain_labels, united

Classifiers = [PassiveAggressiveClassifier, aggro.KernelPassiveAggressiveClassifier]
WORDS = np.array(["a", "bb", "ccc"])[CLASSES]
FAR = np.array([-100, 0, 100])[CLASSES]
BIG = np.array([0, 1, 2], dtype=np.uint64)[CLASSES] + np.uint64(2**63)
STRINGS = getattr(getattr(np, "dtypes", None), "StringDType", None)  # of NumPy 2

KINDS = {
    **{name: FAR.astype(name) for name in ("int8", "int16", "int32", "int64", ">i4")},
    **{name: (FAR + 100).astype(name) for name in ("uint8", "uint16", "uint32", "uint64")},
    **{name: FAR.astype(name) for name in ("float16", "float32", "float64")},
    "narrow and full": np.array([-128, 0, 127], dtype=np.int8)[CLASSES],
    "beyond int64": BIG,
    "at both ends": np.array([0, 1, 2**64 - 1], dtype=np.uint64)[CLASSES],
    "near 2**53": CLASSES + 2**60,
    "text": WORDS,
    "text as objects": WORDS.astype(object),
    **({"text of any width": WORDS.astype(STRINGS())} if STRINGS else {}),
    "numbers as objects": FAR.astype(object),
    "list of text": WORDS.tolist(),
    "list of numbers": FAR.tolist(),
    "a column": FAR[:, None],
    "Int64": pd.Series(FAR, dtype="Int64"),
    "UInt8": pd.Series(FAR + 100, dtype="UInt8"),
    "Float64": pd.Series(FAR, dtype="Float64"),
    "string": pd.Series(WORDS, dtype="string"),
    "category of text": pd.Series(WORDS, dtype="category"),
    "category of numbers": pd.Series(FAR, dtype="category"),
    "more categories than classes": pd.Series(
        pd.Categorical(WORDS, categories=["z", "ccc", "bb", "a"])
    ),
    "another index": pd.Series(FAR, index=range(500, 620)),
    "polars": pl.Series(FAR),
    "polars text": pl.Series(WORDS.tolist()),
    "polars category": pl.Series(WORDS.tolist()).cast(pl.Categorical),
}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("cls", Classifiers)
@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
def test_classes_keep_the_type_of_the_labels(name, cls, tmp_path):
    """fit and partial_fit learn the same as with 0, 1, 2; classes_ are the labels."""
    y = KINDS[name]
    axes = {"max_iter": 2, "tol": None, "shuffle": False}
    fitted, plain = cls(**axes).fit(ROWS, y), cls(**axes).fit(ROWS, CLASSES)
    streamed = cls().partial_fit(ROWS[:50], y[:50]).partial_fit(ROWS[50:], y[50:])
    stream = cls().partial_fit(ROWS[:50], CLASSES[:50]).partial_fit(ROWS[50:], CLASSES[50:])
    for model, wanted in ((fitted, plain), (streamed, stream)):
        assert model.classes_.tolist() == sorted(set(np.asarray(y).ravel().tolist()))
        scores = wanted.decision_function(ROWS)
        assert np.array_equal(model.decision_function(ROWS), scores)
        assert np.array_equal(model.predict(ROWS), model.classes_[wanted.predict(ROWS)])
    if isinstance(y, np.ndarray) and y.dtype.kind in "iufU" and name != "float16":
        assert fitted.classes_.dtype == streamed.classes_.dtype == y.dtype
    aggro.save(fitted, tmp_path / "model")
    for again in (pickle.loads(pickle.dumps(fitted)), aggro.load(tmp_path / "model")):
        assert np.array_equal(again.predict(ROWS), fitted.predict(ROWS))


@pytest.mark.parametrize("kind", ["bool", "boolean", "objects"])
def test_booleans_are_classes(kind):
    y = CLASSES > 0
    given = {"bool": y, "boolean": pd.Series(y, dtype="boolean"), "objects": y.astype(object)}[kind]
    model = PassiveAggressiveClassifier().fit(ROWS, given)
    assert model.classes_.dtype == bool
    assert model.score(ROWS, y) > 0.8


REJECTED = {
    "None": (["a", None] * 60, r"missing label, None \(row 1\)"),
    "nan among text": (["a", float("nan")] * 60, r"missing label, nan \(row 1\)"),
    "nan as object": (np.array([1, np.nan] * 60, dtype=object), r"missing label.*row 1"),
    "NA": (pd.Series(["a", pd.NA] * 60, dtype="string"), r"missing label, <NA> \(row 1\)"),
    "NA of numbers": (pd.Series([1, pd.NA] * 60, dtype="Int64"), "NaN|missing"),
    "missing category": (pd.Series(["a", None] * 60, dtype="category"), "missing label"),
    "mixed list": ([1, "a"] * 60, r"mixes numbers and text, such as 1 and 'a' \(row 1\)"),
    "mixed objects": (np.array([1, "a"] * 60, dtype=object), "mixes numbers and text"),
    "mixed truth": (np.array([True, 2] * 60, dtype=object), "mixes True and False and numbers"),
    "too large": ([2**70, 1] * 60, "64 bits"),
    "tuples": (pd.Series([("a",), ("b",)] * 60), "of type tuple"),
    "dates": (pd.Series(pd.to_datetime(["2020", "2021"] * 60)), "whole numbers"),
    "bytes": (np.array([b"a", b"b"] * 60), "of type .S1"),
    "complex": (CLASSES + 0j, "complex"),
    "ragged": ([[1], [1, 2]] * 60, "different lengths"),
    "strange indicators": (LABELS + 1, r"1\.0, 2\.0.*0 and 1"),
    "fractions": (np.linspace(0, 1, 120), "continuous"),
}


@pytest.mark.parametrize("name", REJECTED)
@pytest.mark.parametrize("cls", Classifiers)
def test_invalid_labels_are_rejected(name, cls):
    y, words = REJECTED[name]
    model = cls().partial_fit(ROWS, CLASSES)
    before = knowledge(model)
    for learn in (model.partial_fit, model.fit, cls().partial_fit):
        with pytest.raises(ValueError, match=words):
            learn(ROWS, y)
    assert knowledge(model) == before


OTHER_KINDS = {
    "text after numbers": ([0, 1], ["a"], "holds text, such as 'a'.*are numbers: 0, 1"),
    "digits after numbers": ([0, 1], ["1"], "holds text, such as '1'"),
    "numbers after text": (["a", "b"], [1], "holds numbers, such as 1.*are text: 'a', 'b'"),
    "truth after text": (["a", "b"], [True], "holds True and False"),
    "numbers after truth": ([False, True], [2], "holds numbers, such as 2.*True and False"),
    "truth after numbers": ([1, 2], [False], "holds True and False, such as False"),
    "signs and widths": (np.array([-1, 2]), np.array([2**63], np.uint64), r"below 2\*\*63"),
}


@pytest.mark.parametrize("name", OTHER_KINDS)
@pytest.mark.parametrize("cls", Classifiers)
def test_labels_of_another_kind_are_rejected_later(name, cls):
    first, later, words = OTHER_KINDS[name]
    for given in ({}, {"classes": first}):
        model = cls().partial_fit(ROWS[:2], first, **given)
        before = knowledge(model)
        with pytest.raises(ValueError, match="not one of" if given and "signs" in name else words):
            model.partial_fit(ROWS[:1], later)
        assert knowledge(model) == before


SAME_KIND = [
    (np.int8([1, 2]), np.int64([300]), [1, 2, 300], "i"),
    ([0, 1], [2.0], [0, 1, 2], "i"),
    ([0.0, 1.0], [2], [0, 1, 2], "f"),
    ([0, 1], [True, False], [0, 1], "i"),
    ([False, True], [0, 1], [False, True], "b"),
    (np.int64([1, 2]), np.uint64([2**63 + 1]), [1, 2, 2**63 + 1], "u"),
    (np.uint64([2**63, 2**63 + 1]), np.int64([5]), [5, 2**63, 2**63 + 1], "u"),
    (np.uint64([2**60, 2**60 + 1]), np.int64([2**60 + 1]), [2**60, 2**60 + 1], "u"),
    (np.int64([2**60, 2**60 + 1]), [float(2**61)], [2**60, 2**60 + 1, 2**61], "i"),
    (["a", "b"], np.array(["ccc"], dtype=object), ["a", "b", "ccc"], "U"),
    (np.array(["a", "b"], dtype=object), np.array(["ccc"]), ["a", "b", "ccc"], "O"),
]


@pytest.mark.parametrize(("first", "later", "classes", "kind"), SAME_KIND)
@pytest.mark.parametrize("cls", Classifiers)
def test_other_types_of_the_same_kind_are_accepted_later(first, later, classes, kind, cls):
    model = cls().partial_fit(ROWS[:2], first).partial_fit(ROWS[2 : 2 + len(later)], later)
    assert model.classes_.tolist() == classes
    assert model.classes_.dtype.kind == kind
    assert model.t_ == 3 + len(later)


def test_classes_can_be_given():
    for classes, words in (
        ([0, "a"], "classes mixes numbers and text"),
        ([], "classes is empty"),
        ([0.0, np.nan], "NaN"),
        (["a", None], "classes contains a missing label"),
    ):
        with pytest.raises(ValueError, match=words):
            PassiveAggressiveClassifier().partial_fit(ROWS[:2], [0, 1], classes=classes)
    series = pd.Series(["b", "a", "b"], dtype="category")
    model = PassiveAggressiveClassifier().partial_fit(ROWS[:1], ["a"], classes=series)
    assert model.classes_.tolist() == ["a", "b"]
    model.partial_fit(ROWS[:1], ["b"], classes=["b", "a"])
    with pytest.raises(ValueError, match=r"'c' \(row 1\).*leave classes out"):
        model.partial_fit(ROWS[:2], ["a", "c"])


# -- classes -------------------------------------------------------------------------------------


def test_classes_of_labels_are_unique():
    """Found by table or by sorting, including the limit between both."""
    rng = np.random.default_rng(3)
    for dtype in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i2", "f8"):
        info = np.iinfo(dtype) if dtype != "f8" else np.iinfo("i4")
        low, high = max(info.min, -(2**62)), min(info.max, 2**62)
        for start in (low, -3 if low < 0 else 0, high - 41):
            for width in (1, 39, 40, 41):
                end = min(start + width, high)
                y = np.append(rng.integers(start, end, 18, endpoint=True), [start, end])
                y = y.astype(dtype)
                known, index = Classes.numbered(y)
                classes = known.labels
                assert np.array_equal(classes, np.unique(y))
                assert classes.dtype == y.dtype
                assert np.array_equal(classes[index], y)
                assert index.dtype == np.int64


def test_united_keeps_order_and_type():
    assert united(np.int8([1, 5]), np.int8([3])).tolist() == [1, 3, 5]
    assert united(np.int8([1, 5]), np.int8([3])).dtype == np.int8
    assert united(np.int64([-5, 1]), np.uint64([2**62])).dtype == np.int64


def test_rows_of_weight_zero_are_encoded_as_zero():
    classes = Classes(np.array(["a", "b"]))
    y, present = np.array(["b", "z", "a"]), np.array([True, False, True])
    assert classes.encode(y, present).tolist() == [1, 0, 0]
    with pytest.raises(ValueError, match=r"'z' \(row 1\)"):
        classes.encode(y, ~present)


def test_given_classes_exclude_others():
    named, met = Classes.named(["b", "a", "b"]), Classes.of(np.array(["b", "a"]))
    new = np.array(["c", "a"])
    assert named.labels.tolist() == met.labels.tolist() == ["a", "b"]
    assert named.admit(new) is named
    assert met.admit(new).labels.tolist() == ["a", "b", "c"]
    assert met.strange(new).tolist() == ["c"]
    assert [met.task, met.admit(new).task] == ["binary", "multiclass"]


def test_labels_of_any_type_in_order():
    assert in_order([3, 1, 3, 2]) == [1, 2, 3]
    assert in_order(["b", 2, ("a",), 1]) == ["b", 2, ("a",), 1]


# -- weights ----------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_row_of_weight_zero_adds_no_class(cls):
    """This holds with and without given classes."""
    y = CLASSES.copy()
    y[::7] = 8  # a class of these rows only
    weights = (y != 8).astype(float)
    there = weights > 0
    for given in ({}, {"classes": [0, 1, 2]}):
        one, two = cls(), cls()
        one.partial_fit(ROWS[:60], y[:60], sample_weight=weights[:60], **given)
        one.partial_fit(ROWS[60:], y[60:], sample_weight=weights[60:])
        two.partial_fit(ROWS[:60][there[:60]], y[:60][there[:60]], **given)
        two.partial_fit(ROWS[60:][there[60:]], y[60:][there[60:]])
        assert one.classes_.tolist() == [0, 1, 2]
        assert one.t_ == two.t_
        assert np.array_equal(one.decision_function(ROWS), two.decision_function(ROWS))
        with pytest.raises(ValueError, match="label 8") if given else nullcontext():
            one.partial_fit(ROWS[:1], [8], sample_weight=[0.5])
        assert (8 in one.classes_) == (not given)


@pytest.mark.parametrize("cls", Classifiers)
def test_call_with_zero_weights_changes_nothing(cls):
    """A first call with such rows leaves the estimator unfitted; later ones are ignored."""
    blank = cls()
    assert blank.partial_fit(ROWS[:2], [5, 6], sample_weight=[0, 0]) is blank
    assert vars(blank) == vars(cls())  # even the number of features is unknown
    with pytest.raises(NotFittedError):
        blank.predict(ROWS)
    later = blank.partial_fit(ROWS[:, :2], CLASSES).decision_function(ROWS[:, :2])
    alone = cls().partial_fit(ROWS[:, :2], CLASSES).decision_function(ROWS[:, :2])
    assert np.array_equal(later, alone)
    with pytest.raises(ValueError, match="classes is empty"):
        cls().partial_fit(ROWS[:2], [0, 1], classes=[])
    for wrong in ({"y": [0.5, 1.5]}, {"sample_weight": [0, -1.0]}):
        with pytest.raises(ValueError, match=r"continuous|negative"):
            cls().partial_fit(**{"X": ROWS[:2], "y": [5, 6], "sample_weight": [0, 0], **wrong})
    with pytest.raises(ValueError, match="C=-1"):
        cls(C=-1).partial_fit(ROWS[:2], [5, 6], sample_weight=[0, 0])
    model = cls().partial_fit(ROWS[:2], [0, 1], sample_weight=[0, 0], classes=[0, 1])
    assert (model.t_, model.classes_.tolist()) == (1, [0, 1])
    with pytest.raises(ValueError, match="weights of all rows are zero"):
        cls().fit(ROWS[:2], [0, 1], sample_weight=[0, 0])
    fitted = cls().fit(ROWS, CLASSES, sample_weight=(CLASSES > 0).astype(float))
    assert fitted.classes_.tolist() == [0, 1, 2]  # as with scikit-learn


@pytest.mark.parametrize("cls", Classifiers)
def test_class_weight_may_name_a_later_class(cls):
    """Allowed if classes may still appear, and for folds; unknown ones are rejected."""
    table = {0: 0.5, 1: 2.0, 2: 0.01}
    early = CLASSES < 2
    model = cls(class_weight=table, C=0.05).partial_fit(ROWS[early], CLASSES[early])
    model.partial_fit(ROWS, CLASSES)
    by_hand = cls(C=0.05)
    weights = np.array([0.5, 2.0, 0.01])[CLASSES]
    by_hand.partial_fit(ROWS[early], CLASSES[early], sample_weight=weights[early])
    by_hand.partial_fit(ROWS, CLASSES, sample_weight=weights)
    assert np.array_equal(model.decision_function(ROWS), by_hand.decision_function(ROWS))
    some = cls(class_weight={2: 0.01}, C=0.05).partial_fit(ROWS[early], CLASSES[early])
    plain = cls(C=0.05).partial_fit(ROWS[early], CLASSES[early])
    assert np.array_equal(some.decision_function(ROWS), plain.decision_function(ROWS))
    cls(class_weight=table, max_iter=1, tol=None).fit(ROWS[early], CLASSES[early])
    with pytest.raises(ValueError, match=r"class_weight names 5.*0, 1, 2"):
        cls(class_weight={0: 1.0, 5: 2.0}).fit(ROWS, CLASSES)
    with pytest.raises(ValueError, match=r"class_weight names 5"):
        cls(class_weight={5: 2.0}).partial_fit(ROWS, CLASSES, classes=[0, 1, 2])
    with pytest.raises(ValueError, match=r"class_weight holds text, such as '0'.*numbers"):
        cls(class_weight={"0": 1.0}).partial_fit(ROWS, CLASSES)


def test_class_weights_equal_the_formula():
    classes, counts = np.array([0, 1, 2]), np.array([6.0, 2.0, 0.0])
    assert class_weights(None, classes, counts) is None
    balanced = class_weights("balanced", classes, counts)
    assert_close(balanced, [8 / 12, 8 / 4, 1.0])
    assert class_weights({1: 0}, classes, counts).tolist() == [1.0, 0.0, 1.0]
    for table, words in (
        ({0: "x"}, r"class_weight\[0\]='x'"),
        ({0: -0.5}, "at least 0"),
        ({0: np.inf}, "finite"),
        ({7: np.nan}, "nan"),
        ("even", "'balanced'"),
    ):
        with pytest.raises(ValueError, match=words):
            class_weights(table, classes, counts, growing=True)


def test_text_of_any_type_becomes_plain_text():
    if STRINGS is None:
        pytest.skip("this NumPy has no strings of any length")
    for y in (np.array(["b", "a"], dtype=STRINGS()), np.array([["b"], ["a"]], dtype=STRINGS())):
        found = plain_labels(y)
        assert found.dtype.kind == "U" and found.shape == y.shape
        assert found.ravel().tolist() == ["b", "a"]
