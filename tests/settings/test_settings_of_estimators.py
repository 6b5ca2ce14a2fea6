"""The table of estimators agrees with the estimators: names, defaults and losses."""

import inspect

import numpy as np
import pytest

import aggro
from aggro.checks import Choice
from aggro.cli.options import READERS, options
from aggro.persistence.schema import PARAMETERS
from aggro.settings import AXES, DEFAULTS, LOSSES, Settings, check_settings
from aggro.variants import ESTIMATORS, LINEAR, ROWS, losses_of


@pytest.mark.parametrize("name", ESTIMATORS)
def test_constructor_has_the_parameters_and_defaults_of_the_table(name):
    kind, found = ESTIMATORS[name], inspect.signature(getattr(aggro, name).__init__).parameters
    assert {axis for axis in AXES if axis in found} == set(kind.names)
    shown = {axis: found[axis].default for axis in kind.names}
    assert shown == {axis: {**DEFAULTS, **kind.defaults}[axis] for axis in kind.names}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_default_settings_of_an_estimator_are_valid(name):
    estimator = getattr(aggro, name)()
    task = "regression" if ESTIMATORS[name].regression else "binary"
    settings = estimator._settings(task)
    assert settings.loss in ESTIMATORS[name].losses
    check_settings(settings, ESTIMATORS[name].losses)
    for loss in ESTIMATORS[name].losses if "loss" in ESTIMATORS[name].names else ():
        assert getattr(aggro, name)(loss=loss)._settings(task).loss == loss


def test_every_loss_and_variant_belongs_to_an_estimator():
    assert set(losses_of(False)) | set(losses_of(True)) == set(LOSSES)
    assert {row.estimator for row in ROWS} <= ESTIMATORS.keys()
    assert LINEAR.keys() == {name for name in ESTIMATORS if not name.startswith("Kernel")}


@pytest.mark.parametrize("name", AXES)
def test_parameter_is_validated_saved_and_parsed_by_its_type(name):
    axis = AXES[name]
    axis.kind.check(name, DEFAULTS[name])
    assert type(DEFAULTS[name]) in axis.kind.types
    assert set(axis.kind.types) <= set(PARAMETERS[name])
    with pytest.raises(ValueError, match=f"{name}="):
        axis.kind.check(
            name,
            np.array([1.0, 2.0]) if DEFAULTS[name] is None or axis.kind.types == (bool,) else None,
        )
    if isinstance(axis.kind, Choice):
        words = axis.kind.words if name != "loss" and axis.help else ()
        assert all(word in axis.help for word in words)
    assert name not in options() or axis.help
    assert name in ("average",) or name not in options() or type(axis.kind) in READERS


@pytest.mark.parametrize("name", AXES)
def test_models_side_by_side_share_one_layout(name):
    axis, plain = AXES[name], Settings("multiclass", metric="diagonal")
    if axis.layout is not None:
        assert axis.shared is None and axis.layout(plain) == axis.layout(plain)
    assert axis.selectable == (
        getattr(axis.kind, "auto", False) and name == "C"
    ) or "auto" in getattr(axis.kind, "words", ())


# -- one name and one default for each parameter -------------------------------------------------


# Settings define an estimator, and the vectoriser alone selects nothing; all else is the same.
DIFFER = {*AXES, "loss", "ngram_range", "idf", "keep_names"}
# Their passes end as in scikit-learn.
LIKE_SCIKIT_LEARN = {
    ("PassiveAggressiveRegressor", "early_stopping"),
    ("AROWRegressor", "early_stopping"),
}


def public_signatures():
    everything = {name: getattr(aggro, name) for name in aggro.__all__}
    everything["HashingVectorizer"] = aggro.text.HashingVectorizer
    clusters = pytest.importorskip("aggro.dask")
    everything |= {f"dask.{name}": getattr(clusters, name) for name in clusters.__all__}
    for name, each in everything.items():
        if callable(each):
            yield name, inspect.signature(each.__init__ if isinstance(each, type) else each)


def test_a_parameter_has_the_same_default_in_all_interfaces():
    found = {}
    for owner, signature in public_signatures():
        for name, each in signature.parameters.items():
            place = (owner.removeprefix("dask."), name)
            if each.default is each.empty or name in DIFFER or place in LIKE_SCIKIT_LEARN:
                continue
            found.setdefault(name, {}).setdefault(repr(each.default), []).append(owner)
    assert {name: owners for name, owners in found.items() if len(owners) > 1} == {}
    assert found["random_state"].keys() == {"0"}
    assert found["probability"].keys() == {"False"}
    assert {"TextClassifier", "StreamRegressor", "sweep", "FeatureMap"} < {
        *found["random_state"]["0"]
    }
