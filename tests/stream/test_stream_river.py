"""river's checks, pipelines, ensembles and evaluation with aggro's models."""

import inspect
import re
import subprocess
import sys

import numpy as np
import pytest

river = pytest.importorskip("river", reason="river is not installed: its checks cannot be run")

from river import (  # noqa: E402
    base,
    compose,
    datasets,
    drift,
    ensemble,
    evaluate,
    feature_extraction,
    imblearn,
    linear_model,
    metrics,
    model_selection,
    multiclass,
    preprocessing,
    stream,
    tree,
)
from river.checks import clf, common, yield_checks  # noqa: E402
from river.datasets import synth  # noqa: E402

from aggro import AutoClassifier, StreamClassifier, StreamRegressor, TextClassifier, TextRegressor  # noqa: E402

MODELS = [
    StreamClassifier(),
    StreamClassifier(features="linear"),
    StreamClassifier("PA-I", features="both"),
    StreamClassifier("AROW"),
    StreamClassifier("SPA-II", average=True, class_mean=0.1),
    StreamClassifier("PAM-I-diag", max_features=30),
    StreamClassifier("PA-I", max_features=64, overflow="hash"),
    StreamClassifier("PA-I", average="reservoir", queue=2),
    StreamRegressor(),
    StreamRegressor("AROWR", metric="full"),
]
CHECKS = [
    (model, check)
    for model in MODELS
    for check in yield_checks(model)
    if check.__name__ not in model._unit_test_skips()
]


@pytest.mark.filterwarnings("ignore")  # river's own datasets and helpers warn
@pytest.mark.parametrize(("model", "check"), CHECKS, ids=lambda v: getattr(v, "__name__", repr(v)))
def test_stream_learners_pass_rivers_checks(model, check):
    check(model.clone())


MESSAGES = [("free money now", "spam"), ("lunch at noon", "ham"), ("money money", "spam")] * 20
LENGTHS = [(text, float(len(text))) for text, _ in MESSAGES]
COLUMNS = {"subject": "text", "hour": "number"}
MAILS = [({"subject": text, "hour": 1.0}, label) for text, label in MESSAGES]
TEXT_MODELS = [
    (TextClassifier(), MESSAGES),
    (TextClassifier(C=0.1, metric="diagonal", idf=True, ngram_range=(1, 1)), MESSAGES),
    (TextClassifier(columns=COLUMNS), MAILS),
    (TextRegressor(), LENGTHS),
    (TextRegressor(C=1.0, metric="euclidean", average=False), LENGTHS),
]
NEED_DICTS_OF_NUMBERS = {  # texts have no features to drop or to shuffle
    "check_shuffle_features_no_impact",
    "check_emerging_features",
    "check_disappearing_features",
    "check_radically_disappearing_features",
}


def text_checks():
    """Yield river's checks for each text learner; those of data get texts instead of dicts."""
    for model, data in TEXT_MODELS:
        for check in yield_checks(model):
            name = check.__name__
            on_data = getattr(common, name, None) or getattr(clf, name)
            if "dataset" not in inspect.signature(on_data).parameters:
                yield model, data, check
            elif name not in NEED_DICTS_OF_NUMBERS and (
                name != "check_no_state_aliasing_with_input" or model.columns
            ):
                yield model, data, on_data


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("model", "data", "check"),
    list({(id(m), c.__name__): (m, d, c) for m, d, c in text_checks()}.values()),
    ids=lambda v: getattr(v, "__name__", None) or (repr(v) if not isinstance(v, list) else ""),
)
def test_text_learners_pass_rivers_checks(model, data, check):
    model = model.clone()
    on_data = "dataset" in inspect.signature(check).parameters
    check(model, data) if on_data else check(model)


ALL = [StreamClassifier, StreamRegressor, TextClassifier, TextRegressor]


@pytest.mark.parametrize("kind", ALL)
def test_methods_have_signatures(kind):
    for owner, first in ((kind, ["self"]), (kind(), [])):
        learn, predict = (
            inspect.signature(getattr(owner, m)) for m in ("learn_one", "predict_one")
        )
        assert list(learn.parameters) == [*first, "x", "y", "w"]
        assert learn.parameters["w"].default == 1.0
        assert list(predict.parameters) == [*first, "x"]
    for name in (name for name in dir(kind) if not name.startswith("_")):
        if callable(getattr(kind, name)):
            assert inspect.signature(getattr(kind, name))
            if name != "predict_proba":  # there with probability=True alone
                assert inspect.signature(getattr(kind(), name))
    assert kind.learn_one.__doc__
    assert kind.predict_one.__doc__


def test_a_method_with_a_signature_takes_arguments_as_before():
    named, placed = StreamClassifier(), StreamClassifier()
    named.learn_one(w=2.0, y=1, x={"a": 1.0})
    placed.learn_one({"a": 1.0}, 1, 2.0)
    assert named.coef_ == placed.coef_
    assert named.predict_one(x={}) == 1
    for wrong in (
        lambda: named.learn_one(),
        lambda: named.learn_one({}, 1, 1.0, *range(20)),
        lambda: named.learn_one({}, 1, weight=2.0),
        lambda: StreamClassifier.learn_one(3, {}, 1),
    ):
        with pytest.raises(TypeError):
            wrong()


@pytest.mark.parametrize(
    ("kind", "x", "y"),
    [
        (StreamClassifier, {"a": 1.0}, "x"),
        (StreamRegressor, {"a": 1.0}, 2.0),
        (TextClassifier, "some words", "x"),
        (TextRegressor, "some words", 2.0),
    ],
)
def test_first_predictions_and_return_values(kind, x, y):
    model = kind()
    classifies = hasattr(model, "predict_proba_one")
    assert model.predict_one(x) == (None if classifies else 0.0)
    assert model.learn_one(x, y) is None
    assert model.learn_one(x, y, w=2.0) is None
    if classifies:
        assert kind().predict_proba_one(x) == {}
        assert model.predict_one(x) == y
        assert model.predict_proba_one(x) == {y: 1.0}


def test_probabilities_of_unlearned_classes_are_uniform():
    model = TextClassifier().partial_fit([], [], classes=["a", "b", "c"])
    assert model.predict_proba_one("some words") == pytest.approx(dict.fromkeys("abc", 1 / 3))


def test_weights_of_texts_multiply_c():
    heavy, twice = (TextRegressor(C=C, metric="euclidean", average=False) for C in (0.1, 0.3))
    heavy.learn_one("a b", 9.0, w=3.0)
    twice.learn_one("a b", 9.0)
    assert heavy.predict_one("a") == pytest.approx(twice.predict_one("a"))


def test_models_are_instances_of_rivers_classes():
    assert isinstance(StreamClassifier(), base.MiniBatchClassifier)
    assert isinstance(StreamRegressor(), base.MiniBatchRegressor)
    assert not isinstance(StreamRegressor(), base.Classifier)
    assert isinstance(TextClassifier(), base.Classifier)
    assert isinstance(TextRegressor(), base.Regressor)
    assert not isinstance(TextClassifier(), base.Regressor)


def test_river_may_be_imported_after_the_model_is_made():
    code = (
        "import aggro; models = aggro.StreamClassifier(), aggro.TextClassifier()\n"
        "from river import base; assert all(isinstance(m, base.Classifier) for m in models)"
    )
    path = [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}\n{code}"]
    subprocess.run(path, check=True)


def classifier():
    return StreamClassifier(C=0.1)


def scaled(model):
    return preprocessing.StandardScaler() | model


PHISHING_MODELS = {
    "alone": classifier,
    "selection": StreamClassifier,
    "scaled selection": lambda: scaled(StreamClassifier()),
    "bagged selections": lambda: ensemble.BaggingClassifier(StreamClassifier(), n_models=2, seed=1),
    "C='auto'": lambda: StreamClassifier(C="auto"),
    "probability=True": lambda: StreamClassifier(probability=True),
    "Select": lambda: compose.Select("popup_window", "age_of_domain") | scaled(classifier()),
    "union": lambda: (
        (compose.Select("popup_window") | preprocessing.StandardScaler())
        + compose.Discard("popup_window")
        | classifier()
    ),
    "Bagging": lambda: ensemble.BaggingClassifier(scaled(classifier()), n_models=3, seed=1),
    "ADWINBagging": lambda: ensemble.ADWINBaggingClassifier(classifier(), n_models=3, seed=1),
    "LeveragingBagging": lambda: ensemble.LeveragingBaggingClassifier(
        classifier(), n_models=3, seed=1
    ),
    "AdaBoost": lambda: ensemble.AdaBoostClassifier(classifier(), n_models=3, seed=1),
    "SRP": lambda: ensemble.SRPClassifier(classifier(), n_models=3, seed=1),
    "Stacking": lambda: ensemble.StackingClassifier(
        [classifier(), scaled(classifier())], meta_classifier=linear_model.LogisticRegression()
    ),
    "DriftRetraining": lambda: drift.DriftRetrainingClassifier(classifier()),
    "RandomOverSampler": lambda: imblearn.RandomOverSampler(classifier(), {0: 0.5, 1: 0.5}, seed=1),
    "SuccessiveHalving": lambda: model_selection.SuccessiveHalvingClassifier(
        [classifier(), StreamClassifier(), scaled(classifier())],
        metric=metrics.Accuracy(),
        budget=200,
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("make", PHISHING_MODELS.values(), ids=PHISHING_MODELS)
def test_classifiers_in_rivers_evaluation(make):
    for metric in (metrics.LogLoss(), metrics.Accuracy() + metrics.F1()):
        evaluate.progressive_val_score(datasets.Phishing().take(300), make(), metric)
    assert metric[0].get() > 0.7
    delayed = evaluate.progressive_val_score(
        datasets.Phishing().take(300), make(), metrics.Accuracy(), delay=5
    )
    assert delayed.get() > 0.65


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "make",
    [
        classifier,
        lambda: multiclass.OneVsRestClassifier(scaled(classifier())),
        lambda: multiclass.OneVsOneClassifier(scaled(classifier())),
        lambda: ensemble.VotingClassifier([scaled(classifier()), scaled(StreamClassifier())]),
    ],
)
def test_several_classes_in_rivers_evaluation(make):
    rows = datasets.ImageSegments().take(300)
    assert evaluate.progressive_val_score(rows, make(), metrics.Accuracy()).get() > 0.25


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "make",
    [
        StreamRegressor,
        lambda: StreamRegressor(C="auto"),
        lambda: scaled(preprocessing.TargetStandardScaler(StreamRegressor())),
        lambda: ensemble.BaggingRegressor(StreamRegressor(), n_models=3, seed=1),
        lambda: tree.HoeffdingTreeRegressor(leaf_model=StreamRegressor(), leaf_prediction="model"),
        lambda: model_selection.GreedyRegressor([StreamRegressor(), scaled(StreamRegressor())]),
    ],
)
def test_regressors_in_rivers_evaluation(make):
    rows = datasets.TrumpApproval().take(300)
    assert evaluate.progressive_val_score(rows, make(), metrics.MAE()).get() < 2.0


@pytest.mark.parametrize(
    "make",
    [
        TextClassifier,
        lambda: compose.FuncTransformer(str.upper) | TextClassifier(),
        lambda: feature_extraction.BagOfWords() | StreamClassifier(),
        lambda: ensemble.VotingClassifier([TextClassifier(), TextClassifier(idf=True)]),
        lambda: ensemble.BaggingClassifier(TextClassifier(), n_models=2, seed=5),
    ],
)
def test_texts_in_rivers_evaluation(make):
    assert evaluate.progressive_val_score(MESSAGES, make(), metrics.Accuracy()).get() > 0.85


def test_columns_of_texts_in_a_pipeline():
    rows = [({**x, "id": i}, y) for i, (x, y) in enumerate(MAILS)]
    pipeline = compose.Select("subject", "hour") | TextClassifier(columns=COLUMNS)
    metric = evaluate.progressive_val_score(rows, pipeline, metrics.Accuracy() + metrics.LogLoss())
    assert metric[0].get() > 0.85


def test_numbers_of_texts_in_rivers_evaluation():
    metric = evaluate.progressive_val_score(LENGTHS, TextRegressor(), metrics.MAE())
    assert metric.get() < 5


def test_weights_of_a_stream_reach_the_learner():
    rows = [(x, y, {"w": 0.0}) for x, y in stream.shuffle(datasets.Phishing().take(20), 5, seed=1)]
    model = classifier()
    evaluate.progressive_val_score(rows, model, metrics.Accuracy())
    assert model.examples == 0


def test_a_classifier_in_a_pipeline():
    pipeline = preprocessing.StandardScaler() | StreamClassifier("PA-I", C=0.01)
    assert isinstance(pipeline, compose.Pipeline)
    metric = evaluate.progressive_val_score(datasets.Phishing(), pipeline, metrics.Accuracy())
    assert metric.get() > 0.87
    assert "StreamClassifier" in repr(pipeline)
    assert pipeline.clone()["StreamClassifier"].examples == 0


def test_probabilities_in_a_pipeline():
    pipeline = preprocessing.StandardScaler() | StreamClassifier("AROW")
    metric = evaluate.progressive_val_score(datasets.Phishing(), pipeline, metrics.ROCAUC())
    assert metric.get() > 0.9


def test_a_regressor_in_a_pipeline():
    pipeline = preprocessing.StandardScaler() | StreamRegressor("AROWR")
    metric = evaluate.progressive_val_score(datasets.TrumpApproval(), pipeline, metrics.MAE())
    assert metric.get() < 2.0


def test_several_classes_and_show_memory(capsys):
    pipeline = preprocessing.StandardScaler() | StreamClassifier("SPA-I")
    metric = evaluate.progressive_val_score(
        datasets.ImageSegments(), pipeline, metrics.Accuracy(), print_every=1000, show_memory=True
    )
    assert metric.get() > 0.75
    assert re.search(r"\d Ki?B", capsys.readouterr().out)


def test_clone_with_other_parameters():
    model = StreamClassifier("SPA-I", C=0.5, average=True)
    model.learn_one({"a": 1.0}, "x")
    fresh = model.clone({"C": 2.0})
    assert (fresh.examples, fresh.C, fresh.params) == (0, 2.0, {"average": True})
    assert model.clone(include_attributes=True).examples == 1
    with pytest.raises(ValueError, match="not a mutable attribute"):
        model.mutate({"C": 3.0})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("metric", [metrics.LogLoss, metrics.ROCAUC, metrics.CrossEntropy])
@pytest.mark.parametrize(
    ("make", "positive"),
    [
        (StreamClassifier, True),
        (lambda: StreamClassifier(probability=True), True),
        (TextClassifier, "spam"),
        (lambda: scaled(StreamClassifier()), True),
    ],
)
def test_metrics_of_probabilities(make, positive, metric):
    rows = MESSAGES if positive == "spam" else datasets.Phishing().take(200)
    rows = [(x, y == positive) for x, y in rows]
    found = evaluate.progressive_val_score(rows, make(), metric()).get()
    assert found > 0.6 if metric is metrics.ROCAUC else found < 0.8


GENERATORS = {
    "SEA": lambda: synth.SEA(seed=1),
    "Agrawal": lambda: synth.Agrawal(seed=1),
    "Hyperplane": lambda: synth.Hyperplane(seed=1, n_features=6),
    "RandomRBF": lambda: synth.RandomRBF(seed_model=1, seed_sample=1),
    "LED": lambda: synth.LED(seed=1),
    "Waveform": lambda: synth.Waveform(seed=1),
    "STAGGER": lambda: synth.STAGGER(seed=1),
    "Sine": lambda: synth.Sine(seed=1),
    "Mixed": lambda: synth.Mixed(seed=1),
}


@pytest.mark.parametrize("make", GENERATORS.values(), ids=GENERATORS)
@pytest.mark.parametrize("features", ["auto", "linear"])
def test_generated_streams_are_predicted_as_by_arrays(make, features):
    stream = StreamClassifier(features=features)
    arrays = AutoClassifier(features=features, random_state=0)
    for i, (x, y) in enumerate(make().take(300)):
        row = np.array([[float(value) for value in x.values()]])
        if i:
            assert stream.predict_one(x) == arrays.predict(row)[0]
        stream.learn_one(x, y)
        arrays.partial_fit(row, [y])
    assert stream.best_params_ == arrays.best_params_
    assert stream.n_mistakes_ == arrays.n_mistakes_
