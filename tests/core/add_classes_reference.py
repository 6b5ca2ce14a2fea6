"""Adding classes in NumPy: the reference of ``core/linear/add_classes.hpp``."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np

from aggro.classes import output_map
from aggro.learner import Array, Learner
from aggro.selection.learners import copy_intercept_scale
from aggro.settings import DIAGONAL, Settings

LINEAR = ("column", "slot", "output")  # kinds of arrays with values per output
BUT = (
    "update_counts",
    "bias_update_counts",
    "bias_prior",
    "bias_variance",
)  # no weights
SUMS = ("class_sum_rest", "class_weight_seen", "class_sum_norm", "class_sum_cross", "class_total")
COUNTED = ("mistakes", "updates", "loss")  # counters per group
State = dict[str, Array]


def grow_classes(
    old: Learner, settings: Settings | Sequence[Settings], position: Array, classes: int
) -> Learner:
    """Return a learner of ``classes`` classes that continues ``old``.

    ``position[c]`` is the new index of the old class c. If one class is known, the result is, to
    the last bit, the model that knew both from the beginning. Further classes start with zero
    weights (see ``output_map``).
    """
    new = Learner(settings, old.features, classes, old.dtype)
    new.model.set_memory(old.model.memory)
    if old.classes == 1 and classes == 2:
        state = _settled(old.state(), first=position[0] == 0)
        new.load_state(_turned(old, state) if position[0] == 0 else state)
        return new
    old = copy.deepcopy(old)  # the call may still fail
    old.model.fold()
    before, after = old.state(), new.state()
    if old.classes == 1:
        before = _settled(before, first=position[0] == 0)
    one = output_map(old.settings, new.settings, position, classes)
    change = np.kron(np.eye(old.models), one)
    for name, kind in _weights_of(old):
        if kind == "column":
            source, target = _by_feature(old, before[name]), _by_feature(new, after[name])
            target[:, : change.shape[0]] = source[:, : change.shape[1]] @ change.T
        else:  # several classifiers
            moved = before[name].reshape(-1, change.shape[1]) @ change.T
            after[name] = moved.ravel().astype(before[name].dtype)
    copy_intercept_scale(before, after)
    _move_variances(before, after, old, new, position)
    _move_update_counts(before, after, old, new, np.abs(change) > 0)
    if "class_weight_seen" in after:
        _move_sums(before, after, old, new, position)
    _move_histories(before, after, old, new, position)
    new.load_state(after)
    return new


# -- the second class ------------------------------------------------------------------------


def _settled(state: State, first: bool) -> State:
    """Return the state with the record for the final position of the known class.

    A score of zero predicts the first class: ties were mistakes, unless that class was known.
    """
    kept = {name: array for name, array in state.items() if not name.startswith("swapped_")}
    if first:
        kept["mistakes"] -= (state["model_mistakes"] - state["swapped_mistakes"]).astype(np.int64)
        kept["model_mistakes"] = state["swapped_mistakes"]
        kept["recent_mistakes"] = state["swapped_recent"]
        kept["drift"] = state["swapped_drift"]
        kept["record"][1:2] = state["swapped_chosen"]
    return kept


def _turned(old: Learner, state: State) -> State:
    """Return the state with the signs of all outputs flipped, which is exact.

    The class sum belongs to the positive class, which has no examples yet.
    """
    sums = state["weights"].reshape(old.features, -1)[:, old.models : old.model.columns].copy()
    variances = state["weights"].reshape(old.features, -1)[:, old.model.columns :].copy()
    for name, _ in _weights_of(old):
        state[name] = 0.0 - state[name]
    table = state["weights"].reshape(old.features, -1)
    table[:, old.models : old.model.columns], table[:, old.model.columns :] = sums, variances
    mixture = state["mixture"].reshape(-1, 2, 3)  # of the weights, and of their sums over rounds
    mixture[:, :, 1:] = 0.0 - mixture[:, :, :0:-1]
    if "class_weight_seen" in state:
        table[:, old.models] = 0.0
        if "class_sum_rest" in state:
            _by_feature(old, state["class_sum_rest"])[:, 0] = 0.0
        for name in ("class_weight_seen", "class_sum_norm", "class_sum_cross"):  # not the total
            state[name][:] = 0.0
    return state


# -- more than two ---------------------------------------------------------------------------


def _weights_of(learner: Learner) -> list[tuple[str, str]]:
    """Return the names and kinds of the arrays with weights of the outputs."""
    kinds = learner.model.layout()
    return [(n, kind) for n, kind in kinds.items() if kind in LINEAR and n not in BUT]


def _by_feature(learner: Learner, array: Array) -> Array:
    return array.reshape(learner.features, -1)


def _move_update_counts(
    before: State, after: State, old: Learner, new: Learner, source: Array
) -> None:
    """Copy the update counts of an output to all outputs that it becomes."""
    if "update_counts" in before:
        known = _by_feature(old, before["update_counts"])[:, : source.shape[1]] @ source.T
        _by_feature(new, after["update_counts"])[:, : source.shape[0]] = known
        after["bias_update_counts"] = (source @ before["bias_update_counts"]).astype(np.float64)


def _move_variances(
    before: State, after: State, old: Learner, new: Learner, position: Array
) -> None:
    """Copy a shared metric to every class, and that of independent outputs to their class."""
    one_vs_rest = new.settings.multiclass == "ovr"
    source = np.full(new.outputs, -1 if one_vs_rest and old.classes > 1 else 0)
    if one_vs_rest:
        source[position] = 0 if old.outputs == 1 else np.arange(old.outputs)
    to = [m * new.outputs + k for m in range(old.models) for k in np.flatnonzero(source >= 0)]
    of = [
        m * old.outputs + source[k] for m in range(old.models) for k in np.flatnonzero(source >= 0)
    ]
    after["bias_variance"][to] = before["bias_variance"][of]
    if new.settings.metric in DIAGONAL:
        variance = _by_feature(new, after["weights"])[:, new.model.columns :]
        variance[:, to] = _by_feature(old, before["weights"])[:, old.model.columns :][:, of]
    if new.settings.metric == "full":
        _move_matrices(before, after, old, source)


def _move_matrices(before: State, after: State, old: Learner, source: Array) -> None:
    groups_before, groups_after = (sum(n.startswith("full_") for n in s) for s in (before, after))
    each, was = groups_after // old.models, groups_before // old.models
    for model in range(old.models):
        for group in range(each):
            if source[group] >= 0:
                of = model * was + (0 if was == 1 else source[group])
                after[f"full_{model * each + group}"] = before[f"full_{of}"]


def _move_sums(before: State, after: State, old: Learner, new: Learner, position: Array) -> None:
    """Copy class sums and their norms in the order of the new classes."""
    table = _sums(before, old)
    sums, counts = table[:, : old.outputs], before["class_weight_seen"]
    if old.classes == 2:
        sums = np.column_stack([table[:, old.outputs] - table[:, 0], table[:, 0]])
        counts = np.array([before["class_total"][0] - counts[0], counts[0]])
    width = len(after["class_weight_seen"])
    everything, seen = np.zeros((old.features, width), dtype=np.float64), np.zeros(width)
    everything[:, position], seen[position] = sums, counts
    total = sums.sum(axis=1, dtype=np.float64)
    columns = _by_feature(new, after["weights"])
    first = new.outputs * new.models
    if new.model.keeps_total:
        everything = np.column_stack([everything, total])
    sums = columns[:, first : first + everything.shape[1]]
    sums[:] = everything
    if "class_sum_rest" in after:
        after["class_sum_rest"] = (everything - sums).astype(old.dtype).ravel()
    everything = everything[:, :width]
    after["class_weight_seen"] = seen
    after["class_sum_norm"] = (everything**2).sum(axis=0)
    after["class_sum_cross"] = total @ everything
    after["class_total"] = np.array([counts.sum(), total @ total])


def _sums(state: State, learner: Learner) -> Array:
    """Return the class sums and, if stored, their total, in full precision."""
    columns = _by_feature(learner, state["weights"])[:, learner.outputs * learner.models :]
    sums = columns[:, : learner.outputs + learner.model.keeps_total].astype(np.float64)
    if "class_sum_rest" in state:
        sums += _by_feature(learner, state["class_sum_rest"])
    return sums


def _move_histories(
    before: State, after: State, old: Learner, new: Learner, position: Array
) -> None:
    """Copy the other arrays by kind; the counters of a model move to its first group."""
    was, each = (len(state["updates"]) // old.models for state in (before, after))
    after["last_update"] = np.repeat(before["last_update"].reshape(-1, was).max(axis=1), each)
    source = np.zeros(each, int)  # groups of a model
    if each > 1 and old.classes > 1:
        source[:] = -1
        source[position] = 0 if was == 1 else np.arange(was)
    to = np.flatnonzero(np.tile(source >= 0, old.models))
    of = (np.arange(old.models)[:, None] * was + source[source >= 0]).ravel()
    for name, kind in new.model.layout().items():
        if name in COUNTED:
            after[name][::each] = before[name].reshape(old.models, -1).sum(axis=1)
        elif kind == "group":
            lines = before[name].reshape(was * old.models, -1)
            after[name].reshape(each * old.models, -1)[to] = lines[of]
        elif kind in ("model", "feature", "shared") and name not in SUMS:
            after[name] = before[name]
