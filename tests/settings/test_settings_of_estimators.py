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
