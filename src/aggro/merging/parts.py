"""The state of a learner taken apart into arrays that each merge by one rule, and put together.

The core keeps several things in one table, and weights as a mixture. Here every part has one
meaning: weights are written out, class sums carry their rest, variances are precisions.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from aggro.learner import Array, Learner
from aggro.merging.table import DERIVED
from aggro.settings import DIAGONAL

COUNTERS = ("examples", "averaged", "frozen", "random")
RECORD = ("recent_examples", "chosen_mistakes", "chosen_error")
NAMES = {"average_shift": "average", "bias_sum": "bias_average"}  # of arrays, as parts
LINES = ("slot", "feature")  # kinds of arrays with one line for each feature, as they are
MIXTURE = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0)  # of weights that are written out


@dataclass
class Parts:
    """The parts of a state by name: ``tables`` have one line per feature, ``rest`` is all else."""

    tables: dict[str, Array] = field(default_factory=dict)
    rest: dict[str, Array] = field(default_factory=dict)


def take_apart(learner: Learner) -> Parts:
    """Return the parts of what a learner knows; the learner stays as it is.

    What is kept in another form than it merges in comes first; all else goes by its kind.
    """
    learner = copy.deepcopy(learner)
    learner.model.fold()
    state, outputs, parts = learner.state(), learner.outputs * learner.models, Parts()
    lanes = state.pop("weights").reshape(learner.features, -1).astype(np.float64, copy=False)
    parts.tables["weights"] = lanes[:, :outputs]
    sums = _sums(learner)
    if sums:
        parts.tables["class_sums"] = _with_rest(lanes[:, outputs : outputs + sums], state)
    power, prior = DIAGONAL.get(learner.settings.metric, 1.0), _bias_prior(state)
    if learner.settings.metric in DIAGONAL:
        first = learner.model.columns
        parts.tables["precision"] = lanes[:, first : first + outputs] ** -power
    shrunk = state.pop("bias_variance") / prior
    parts.rest["bias_precision"] = (shrunk**-power - 1.0) / prior + 1.0
    _take_moments(state, parts)
    _take_numbers(state, parts)
    kinds = learner.model.layout()
    for name, array in state.items():
        part, kind = NAMES.get(name, name), kinds[name]
        if kind == "column":
            table = array.reshape(learner.features, -1)[:, :outputs]
            parts.tables[part] = table.astype(np.float64, copy=False)
        elif kind in LINES:
            parts.tables[part] = array.reshape(learner.features, *(-1,) * (kind == "slot"))
        elif kind == "matrix":
            parts.rest[part] = np.linalg.inv(square(array))
            _add_prior(parts.rest[part], 1.0 - 1.0 / prior[0], learner)
        elif name not in DERIVED:
            parts.rest[part] = array
    return parts


def put_together(learner: Learner, parts: Parts) -> Learner:
    """Return a learner like this one that knows what the parts tell."""
    new = Learner(learner.all_settings, learner.features, learner.classes, learner.dtype)
    new.representation = learner.representation
    new.model.set_memory(learner.model.memory)
    state, outputs = new.state(), learner.outputs * learner.models
    power = DIAGONAL.get(learner.settings.metric, 1.0)
    tables, rest = dict(parts.tables), dict(parts.rest)
    lanes = state["weights"].reshape(learner.features, -1)
    if "class_sums" in tables:
        _put_sums(state, lanes[:, outputs : outputs + _sums(learner)], tables.pop("class_sums"))
    if "precision" in tables:
        first = learner.model.columns
        lanes[:, first : first + outputs] = tables.pop("precision") ** (-1.0 / power)
    prior = _bias_prior(rest)
    grown = 1.0 + (rest.pop("bias_precision") - 1.0) * prior
    state["bias_variance"] = prior * grown ** (-1.0 / power)
    _put_moments(state, tables, rest)
    _put_numbers(state, rest)
    state["mixture"] = np.tile(MIXTURE, outputs)
    given = tables | rest
    for name, kind in new.model.layout().items():
        part = given.get(NAMES.get(name, name))
        if part is None:
            continue
        if kind == "column":
            state[name].reshape(learner.features, -1)[:, :outputs] = part
        elif kind == "matrix":
            information = part.copy()
            _add_prior(information, 1.0 / prior[0] - 1.0, learner)
            state[name] = triangle(np.linalg.inv(information)).astype(learner.dtype)
        else:
            state[name] = part.ravel()
    new.load_state(state)
    return new


def _bias_prior(numbers: dict[str, Array]) -> Array:
    """Return the variance that each intercept began with, where its first row told it.

    Precisions are taken apart as if it were one: each model has met a first row of its own, and the
    prior must not be counted once for each of them.
    """
    prior = numbers.get("bias_prior", np.ones(1))
    return np.asarray(np.where(prior > 0, prior, 1.0))


def _add_prior(information: Array, precision: float, learner: Learner) -> None:
    if learner.settings.fit_intercept:
        information[-1, -1] += precision


def square(lower: Array) -> Array:
    """Return the symmetric matrix of which the lower triangle is given, row after row."""
    size = int((8 * len(lower) + 1) ** 0.5) // 2
    matrix = np.zeros((size, size))
    matrix[np.tril_indices(size)] = lower
    return np.asarray(matrix + np.tril(matrix, -1).T)


def triangle(matrix: Array) -> Array:
    """Return the lower triangle of a matrix, row after row."""
    return np.asarray(matrix[np.tril_indices(len(matrix))])


def _sums(learner: Learner) -> int:
    """Return how many class sums there are, their total included."""
    if not any(each.class_mean > 0 for each in learner.all_settings):
        return 0
    return learner.outputs + learner.model.keeps_total


def _with_rest(sums: Array, state: dict[str, Array]) -> Array:
    if "class_sum_rest" not in state:
        return sums
    return sums + state.pop("class_sum_rest").reshape(len(sums), -1)


def _put_sums(state: dict[str, Array], lanes: Array, sums: Array) -> None:
    """Write the class sums, and what follows from them: norms, products, what rounding left out."""
    lanes[:] = sums
    if "class_sum_rest" in state:
        state["class_sum_rest"] = (sums - lanes).astype(lanes.dtype).ravel()
    classes = len(state["class_weight_seen"])
    own, total = sums[:, :classes], sums[:, -1]
    if sums.shape[1] == classes:
        total = own.sum(axis=1)
    state["class_sum_norm"] = (own**2).sum(axis=0)
    state["class_sum_cross"] = total @ own
    state["class_total"] = np.array([0.0, total @ total])  # the count comes with the numbers


def _take_moments(state: dict[str, Array], parts: Parts) -> None:
    """Rows, mean and squared distances side by side: they merge together."""
    for name, home in (("scale", parts.tables), ("target", parts.rest)):
        if f"{name}_rows" in state:
            rows, mean, spread = (state.pop(f"{name}_{p}") for p in ("rows", "mean", "spread"))
            home[f"{name}_moments"] = np.column_stack([np.full(len(mean), rows[0]), mean, spread])


def _put_moments(state: dict[str, Array], tables: dict[str, Array], rest: dict[str, Array]) -> None:
    for name, home in (("scale", tables), ("target", rest)):
        if f"{name}_moments" in home:
            rows, mean, spread = home.pop(f"{name}_moments").T.copy()
            state[f"{name}_rows"][:] = rows[:1]
            state[f"{name}_mean"], state[f"{name}_spread"] = mean, spread


def _take_numbers(state: dict[str, Array], parts: Parts) -> None:
    """Counters and records under names of their own."""
    for names, array in ((COUNTERS, state.pop("counters")), (RECORD, state.pop("record"))):
        parts.rest |= {name: array[i : i + 1] for i, name in enumerate(names)}
    unit = state.pop("unit", None)
    if unit is not None:
        parts.rest |= {"unit_seen": unit[:-1], "unit_place": unit[-1:]}
    drift = state.pop("drift")
    parts.rest |= {"drift_sums": drift[:-1], "drift_scale": drift[-1:]}
    total = state.pop("class_total")
    parts.rest["class_total_seen"] = total[:1]


def _put_numbers(state: dict[str, Array], rest: dict[str, Array]) -> None:
    state["counters"] = np.concatenate([rest.pop(name) for name in COUNTERS])
    state["record"] = np.concatenate([rest.pop(name) for name in RECORD])
    state["drift"] = np.concatenate([rest.pop("drift_sums"), rest.pop("drift_scale")])
    if "unit_seen" in rest:
        state["unit"] = np.concatenate([rest.pop("unit_seen"), rest.pop("unit_place")])
    state["class_total"][0] = rest.pop("class_total_seen")[0]


def widened(learner: Learner, places: Array, features: int) -> Learner:
    """Return the learner with more features, of which ``places[j]`` is its feature j.

    A feature of place -1 was never used, and is left out.
    """
    if features == learner.features and np.array_equal(places, np.arange(features)):
        return learner
    parts = take_apart(learner)
    wide = Learner(learner.all_settings, features, learner.classes, learner.dtype)
    wide.representation = learner.representation
    wide.model.set_memory(learner.model.memory)
    fresh, used = take_apart(wide), places >= 0
    for name, table in parts.tables.items():
        if name == "scale_moments":  # a feature that comes later was zero so far
            fresh.tables[name][:, 0] = table[:1, 0]
        fresh.tables[name][places[used]] = table[used]
    every = np.append(places, features)  # the intercept comes last
    for name in [name for name in parts.rest if name.startswith("full_")]:
        inner = every[: len(parts.rest[name])]
        old = np.flatnonzero(inner >= 0)
        fresh.rest[name][np.ix_(inner[old], inner[old])] = parts.rest[name][np.ix_(old, old)]
        parts.rest[name] = fresh.rest[name]
    return put_together(wide, Parts(fresh.tables, parts.rest))


def wider(learner: Any, places: Array, width: int) -> Any:
    """Return the learner, or race, with the features at these places among more."""
    if isinstance(learner, Learner):
        return widened(learner, places, width)
    race = copy.copy(learner)
    race.learners = [widened(each, places, width) for each in learner.learners]
    race.features = width
    return race


def without_news(learner: Any, mergeable: bool) -> Any:
    """Return the learner, or race, that counts news from here on, or no longer does."""
    if not isinstance(learner, Learner):
        race = copy.copy(learner)
        race.settings = replace(learner.settings, mergeable=mergeable)
        race.learners = [without_news(each, mergeable) for each in learner.learners]
        return race
    if learner.settings.mergeable == mergeable:
        return learner
    lanes = [replace(each, mergeable=mergeable) for each in learner.all_settings]
    new = Learner(lanes, learner.features, learner.classes, learner.dtype)
    new.representation = learner.representation
    new.model.set_memory(learner.model.memory)
    fresh, known = new.state(), learner.state()
    new.load_state({name: known.get(name, array) for name, array in fresh.items()})
    return new
