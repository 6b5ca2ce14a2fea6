"""river's own checks, and its pipelines around our models."""

import re

import pytest

river = pytest.importorskip("river", reason="river is not installed: its checks cannot be run")

from river import base, compose, datasets, evaluate, metrics, preprocessing  # noqa: E402
from river.checks import yield_checks  # noqa: E402

from aggro.stream.learners import StreamClassifier, StreamRegressor  # noqa: E402

MODELS = [
    StreamClassifier(),
    StreamClassifier("AROW"),
    StreamClassifier("SPA-II", average=True, class_mean=0.1),
    StreamClassifier("PAM-I-diag", max_features=30),
    StreamClassifier("PA-I", max_features=64, overflow="hash"),
    StreamClassifier("PA-I", average="reservoir", queue=2),
    StreamRegressor(),
    StreamRegressor("AROWR", metric="full"),
]
CHECKS = [(model, check) for model in MODELS for check in yield_checks(model)]


@pytest.mark.filterwarnings("ignore")  # river's own datasets and helpers warn
@pytest.mark.parametrize(("model", "check"), CHECKS, ids=lambda v: getattr(v, "__name__", repr(v)))
def test_rivers_checks(model, check):
    check(model.clone())


def test_river_knows_our_classes():
    assert isinstance(StreamClassifier(), base.MiniBatchClassifier)
    assert isinstance(StreamRegressor(), base.MiniBatchRegressor)
    assert not isinstance(StreamRegressor(), base.Classifier)


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
