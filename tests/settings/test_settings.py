"""Settings: numbers of the losses, bounds, incompatible axes."""

from dataclasses import replace
from math import inf, nan
from statistics import NormalDist

import numpy as np
import pytest

from aggro import _core
from aggro.checks import check_choice, check_count, check_number, near
from aggro.settings import (
    AXES,
    CLASSIFIER_LOSSES,
    INCOMPATIBLE,
    LOSSES,
    MAX_BATCH,
    REGRESSOR_LOSSES,
    Settings,
    check_same_layout,
    check_settings,
    selected_axes,
)

ALL = tuple(LOSSES)


def settings(**axes):
    return Settings(**{"task": "binary", **axes})


# -- losses as numbers -----------------------------------------------------------------------

PHI = NormalDist().inv_cdf(0.8)
NUMBERS = {
    "hard": {},
    "hinge": {"cap": 0.25},
    "squared_hinge": {"ridge": 2.0},
    "least_squares": {"lo": -inf, "ridge": 2.0},
    "epsilon_insensitive": {"cap": 0.25},
    "squared_epsilon_insensitive": {"ridge": 2.0},
    "perceptron": {"lo": 1.0, "cap": 1.0, "margin": 0.0},
    "arow": {"ridge": 4.0, "kappa": 0.25, "weigh_kappa": True},
    "cw": {"uncertainty": _core.Uncertainty.variance, "phi": PHI},
    "cw_stdev": {"uncertainty": _core.Uncertainty.deviation, "phi": PHI},
    "scw1": {"uncertainty": _core.Uncertainty.deviation, "phi": PHI, "cap": 0.25},
    "scw2": {"uncertainty": _core.Uncertainty.deviation, "phi": PHI, "ridge": 2.0},
}


@pytest.mark.parametrize("loss", LOSSES)
def test_each_loss_has_three_numbers(loss):
    assert LOSSES[loss](settings(loss=loss, C=0.25, r=4.0, eta=0.8)) == NUMBERS[loss]


@pytest.mark.parametrize(("loss", "width"), [("hinge", 0.3), ("least_squares", 0.0)])
def test_least_squares_has_no_epsilon(loss, width, monkeypatch):
    given = {}
    monkeypatch.setattr(_core, "Rule", lambda **numbers: given.update(numbers))
    settings(loss=loss, epsilon=0.3).rule()
    assert given["epsilon"] == width


# -- bounds ----------------------------------------------------------------------------------

BOUNDS = {  # the last values that are valid, and the first that are not
    "C": ([5e-324, 1, inf, "auto", np.float32(2)], [0, 0.0, -1, nan, True, "1", None]),
    "epsilon": ([0, 0.0, 2.5], [-1e-9, nan, None]),
    "class_mean": ([0, 0.5, 1e300], [-1e-9, inf, nan]),
    "queue": ([1, 2, np.int64(3)], [0, 1.0, True, "1"]),
    "batch_size": ([1, MAX_BATCH], [0, MAX_BATCH + 1]),
    "reservoir_size": ([1], [0]),
    "r": ([1e-9, inf], [0, -1]),
    "eta": ([0.5, 0.999], [0.4999, 1, 1.5]),
    "forgetting": ([0, 0.999], [-1e-9, 1, 1.0, nan]),
    "average": ([False, True, 0, 7, "reservoir", "auto"], [-1, 1.5, "mean", None]),
    "metric": (["euclidean", "diagonal", "adagrad", "newton", "full", "auto"], ["round", None]),
    "scale": (["none", "online", "standard", "auto"], ["robust", True]),
    "trigger": (["loss", "always"], ["never"]),
    "multiclass": (["support", "top", "predicted", "ovr"], ["ovo"]),
    "loss": (list(CLASSIFIER_LOSSES), ["log", "epsilon_insensitive"]),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_numbers_outside_their_bounds_are_rejected(name):
    valid, wrong = BOUNDS[name]
    for value in valid:
        check_settings(settings(**{name: value}), CLASSIFIER_LOSSES)
    for value in wrong:
        with pytest.raises(ValueError, match=name):
            check_settings(settings(**{name: value}), CLASSIFIER_LOSSES)


def test_batch_size_has_an_upper_bound():
    assert MAX_BATCH == 256
    assert len(CLASSIFIER_LOSSES) == 4 and len(REGRESSOR_LOSSES) == 3
    assert not set(REGRESSOR_LOSSES) & {"hinge", "least_squares"}


def test_parameters_that_are_not_numbers_are_rejected():
    for good in (1, 1.5, np.float64(2), np.array(3.0), np.uint8(1)):
        check_number("x", good, above=0)
    check_number("x", 0, above=0, strict=False)
    for bad in (0, True, np.bool_(True), "1", 1j, np.ones(1), None, nan):
        with pytest.raises(ValueError, match=r"x=.*greater than 0\.$"):
            check_number("x", bad, above=0)
    with pytest.raises(ValueError, match=r"at least 2\.$"):
        check_number("x", 1, above=2, strict=False)
    with pytest.raises(ValueError, match=r"greater than 0, or 'auto'\.$"):
        AXES["C"].kind.check("C", 0)


def test_parameters_that_are_not_counts_are_rejected():
    check_count("x", 3, least=3, most=3)
    check_count("x", 10**9)
    for bad in (2, 4, 3.0, True, None, "3"):
        with pytest.raises(ValueError, match=r"x=.*at least 3 and at most 3\.$"):
            check_count("x", bad, least=3, most=3)
    with pytest.raises(ValueError, match=r"at least 1\.$"):
        check_count("x", 0)


def test_invalid_averages_are_rejected():
    for good in (False, True, 0, 5, "reservoir", "auto"):
        AXES["average"].kind.check("average", good)
    for bad in (-1, 0.5, "last", None):
        with pytest.raises(ValueError, match="average="):
            AXES["average"].kind.check("average", bad)


def test_unknown_choice_suggests_the_nearest_name():
    check_choice("x", "one", ("one", "two"))
    with pytest.raises(ValueError, match=r"choose one of 'one', 'two'\. Did you mean 'two'\?$"):
        check_choice("x", "twoo", iter(("one", "two")))
    with pytest.raises(ValueError, match=r"choose one of 'one', 'two'\.$"):
        check_choice("x", 3, ("one", "two"))
    assert near("diagnal", ["full", "diagonal"]) == " Did you mean 'diagonal'?"
    assert near("xyz", ["full", "diagonal"]) == ""


# -- incompatible axes ---------------------------------------------------------------------------

SEVERAL = {"task": "multiclass", "multiclass": "support"}
CONFLICTS = [  # incompatible settings, a valid change, a word of the reason
    ({**SEVERAL, "loss": "least_squares"}, {"multiclass": "top"}, "shared slack"),
    ({**SEVERAL, "loss": "least_squares"}, {"task": "binary"}, "shared slack"),
    *(
        ({"task": "multiclass", "multiclass": way, "loss": loss}, {"multiclass": "ovr"}, "ovr")
        for loss in ("cw", "cw_stdev", "scw1", "scw2")
        for way in ("support", "top", "predicted")
    ),
    ({**SEVERAL, "loss": "perceptron"}, {"multiclass": "top"}, "fixed step"),
    ({"task": "regression", "class_mean": 0.1}, {"class_mean": 0}, "regression has none"),
    ({"batch_size": 2, "loss": "perceptron"}, {"batch_size": 1}, "mini-batch"),
    ({"batch_size": 2, "loss": "cw"}, {"loss": "arow"}, "mini-batch"),
    ({"class_mean": 0.1, "loss": "scw1"}, {"class_mean": 0.0}, "class means cannot pull"),
    ({"class_mean": 0.1, "loss": "perceptron"}, {"loss": "arow"}, "class means cannot pull"),
    *(
        ({"metric": "newton", "loss": loss}, {"metric": "diagonal"}, "how its metric grows")
        for loss in ("arow", "perceptron", "cw", "scw1")
    ),
    ({"metric": "newton", "loss": "hard"}, {"loss": "hinge"}, "a hard margin has none"),
    ({"metric": "newton", "C": np.inf}, {"C": 10.0}, "a hard margin has none"),
    ({"metric": "full", "forgetting": 0.1}, {"metric": "diagonal"}, "cannot forget"),
    ({"metric": "full", "forgetting": 0.1}, {"forgetting": 0.0}, "cannot forget"),
    ({"features": "both", "scale": "standard"}, {"scale": "none"}, "standardise the columns"),
    ({"features": "bins", "scale": "online"}, {"features": "linear"}, "standardise the columns"),
    ({"features": "both", "mergeable": True}, {"features": "auto"}, "maps of their own"),
    ({"features": "bins", "metric": "full"}, {"features": "fourier"}, "thousands of cells"),
    ({"queue": 2, "mergeable": True}, {"mergeable": False}, "no last classifiers in common"),
    ({"average": "reservoir", "mergeable": True}, {"average": True}, "cannot be merged"),
    ({"queue": 2, "loss": "scw2"}, {"queue": 1}, "no queue"),
    ({"queue": 2, "loss": "perceptron"}, {"loss": "arow"}, "no queue"),
]


@pytest.mark.parametrize(("axes", "remedy", "why"), CONFLICTS, ids=str)
def test_incompatible_parameters_are_rejected(axes, remedy, why):
    with pytest.raises(ValueError, match=why) as caught:
        check_settings(settings(**axes), ALL)
    assert str(caught.value)[0].isupper() and str(caught.value).endswith(".")
    check_settings(settings(**{**axes, **remedy}), ALL)
    (found,) = (each for each in INCOMPATIBLE if each.when(settings(**axes)))
    assert set(found.axes) <= {*axes, "multiclass", "loss"}


def test_every_incompatible_combination_is_tested():
    met = {each for axes, _, _ in CONFLICTS for each in INCOMPATIBLE if each.when(settings(**axes))}
    assert met == set(INCOMPATIBLE)


# -- changes and selection -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [{"fit_intercept": False}, {"metric": "full"}, {"queue": 2}, {"average": True},
     {"scale": "online"}, {"relative_epsilon": True}, {"forgetting": 0.1}, {"class_mean": 0.1}],
    ids=str,
)  # fmt: skip
def test_parameters_that_determine_the_layout_cannot_change(change):
    (name,) = change
    old = settings()
    new = replace(old, **change)
    for before, after in ((old, new), (new, old)):
        with pytest.raises(ValueError, match=f"^{name} cannot change"):
            check_same_layout(before, after)
    check_same_layout(new, new)


def test_C_may_change_between_calls():
    old = settings(class_mean=0.1, C=1.0)
    more = {"class_mean": 0.2, "C": 2.0, "r": 3.0, "epsilon": 0.3, "loss": "hard"}
    check_same_layout(old, replace(old, **more, batch_size=4, trigger="always", reservoir_size=3))


def test_reservoir_size_cannot_change():
    old = settings(average="reservoir", reservoir_size=3)
    with pytest.raises(ValueError, match="reservoir_size cannot change from 3 to 4"):
        check_same_layout(old, replace(old, reservoir_size=4))


def test_independent_outputs_cannot_become_multiclass():
    for task, stays in (("multiclass", True), ("binary", False)):
        old = settings(task=task, multiclass="ovr")
        new = replace(old, multiclass="top")
        for before, after in ((old, new), (new, old)):
            if stays:
                with pytest.raises(ValueError, match="multiclass cannot change"):
                    check_same_layout(before, after)
            else:
                check_same_layout(before, after)
    check_same_layout(settings(**SEVERAL), settings(**{**SEVERAL, "multiclass": "top"}))


def test_auto_parameters_are_found():
    assert selected_axes(settings()) == []
    assert selected_axes(settings(C="auto", metric="auto", scale="auto", average="auto")) == [
        *("C", "metric", "scale")  # the average is chosen inside each learner
    ]
    assert selected_axes(settings(scale="auto", average="reservoir")) == ["scale"]
