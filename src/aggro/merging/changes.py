"""What models have learned since a common start, as numbers that add up.

The change of a weight is weighted by its *update count*: the number of steps that moved it, or the
precision that it gained. A model that never met a feature then has no influence on its weight. The
core has the rule of each array (``Kind`` of ``core/linear/model.hpp``) and the sums
(``core/linear/merge.hpp``); full metrics are merged here.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from aggro import _core
from aggro.learner import Array, Learner


@dataclass(frozen=True)
class Change:
    """What one or several models add to their common start.

    Parameters
    ----------
    outputs, averages, rules, shared_rules
        What the numbers of a line, and the shared ones, are: see ``ChangeLayout`` of the core.
    models, examples, averaged : float
        The number of models, and what they learned since the start: the number of examples, and the
        weight of the rounds that joined the average.
    touched : array
        The features that changed, in rising order; -1 is the intercept.
    lines : array
        The numbers of each of them, one feature after the other.
    shared : array
        The numbers that belong to no feature.
    summed : bool
        Whether lines have the form of a sum, which takes more than twice as many bytes.
    weight : float
        The influence of one model.
    matrices : tuple of tuples of arrays
        For each group of a full metric, the precision gained, the change of the weights multiplied
        by it, and their plain change.
    """

    outputs: int
    averages: bool
    rules: str
    shared_rules: str
    models: float
    examples: float
    averaged: float
    touched: Array
    lines: Array
    shared: Array
    summed: bool = False
    weight: float = 1.0
    matrices: tuple[tuple[Array, ...], ...] = field(default=())

    @property
    def nbytes(self) -> int:
        """The size when sent."""
        matrices = (array for group in self.matrices for array in group)
        return sum(each.nbytes for each in (self.touched, self.lines, self.shared, *matrices))

    def renumbered(self, new: Callable[[Array], Array]) -> Change:
        """Return the same change where features have other numbers; the intercept keeps -1."""
        touched = new(self.touched)
        order = np.argsort(touched, kind="stable")
        lines = self.lines.reshape(len(touched), -1)[order].ravel()
        return replace(self, touched=touched[order], lines=lines)


@dataclass(frozen=True)
class Blend:
    """How weighted changes are applied.

    Parameters
    ----------
    prior : float
        Share of the precision at the start that counts as evidence, too: 0 is the mean by update
        counts, 1 the information form, which adds independent samples and suits one merge from an
        untrained start.
    damping : float
        Shortens the change of weights that few models have updated: by their share, to this power.
    relaxation : float
        Extends the change of weights that r models have updated: by r (1 - 1 / n).
    """

    prior: float = 0.0
    damping: float = 0.0
    relaxation: float = 0.0


MEAN = Blend()


def check_mergeable(learner: Learner) -> None:
    """Raise if a part of a learner cannot be merged, or its updates were not counted."""
    s = learner.settings
    why = None
    if s.queue > 1:
        why = (
            f"queue={s.queue} starts each step from the last classifiers of one stream, and models "
            "trained separately have no last ones in common; use queue=1"
        )
    elif s.average == "reservoir":
        why = (
            "average='reservoir' draws classifiers by how long each survived in one stream; use "
            "average=True"
        )
    elif s.forgetting and any(each.class_mean > 0 for each in learner.all_settings):
        why = (
            f"forgetting={s.forgetting} lets the class means forget by the order of the examples, "
            "which models trained separately do not have in common; use forgetting=0 or "
            "class_mean=0"
        )
    if why is not None:
        raise ValueError(f"Such models cannot be merged: {why}.")
    if s.metric == "euclidean" and not s.mergeable:
        raise ValueError(
            "These models did not count the updates of each weight, and a plain mean of weights "
            "learns little from many models; make them with mergeable=True."
        )


def change_of(start: Learner, end: Learner, weight: float = 1.0) -> Change:
    """Return what a learner has learned since the start, as one model of this influence.

    The weights of both become explicit: see ``fold`` of the core.
    """
    check_mergeable(end)
    before: Any = start.model  # of the same precision
    found: dict[str, Any] = end.model.change_since(before)
    pairs = zip(_groups(start), _groups(end), strict=True)
    return Change(**found, weight=weight, matrices=tuple(_gained(*pair, weight) for pair in pairs))


def add(*changes: Change) -> Change:
    """Return changes since the same start as one, added in pairs."""
    found: dict[str, Any] = _core.add_changes(list(changes))
    groups = zip(*(each.matrices for each in changes), strict=True)
    matrices = tuple(
        tuple(np.sum(arrays, axis=0) for arrays in zip(*of_one, strict=True)) for of_one in groups
    )
    return replace(changes[0], **found, matrices=matrices)


def apply(start: Learner, change: Change, blend: Blend = MEAN) -> Learner:
    """Return the start with the changes of all models."""
    new = copy.deepcopy(start)
    new.model.apply_change(change, blend.prior, blend.damping, blend.relaxation)
    if change.matrices:
        _apply_matrices(new, _groups(start), change, blend.prior or 1.0 / change.models)
    return new


# -- the full metric -----------------------------------------------------------------------------


def _groups(learner: Learner) -> Iterator[tuple[Array, Array]]:
    """Return the weights, with the intercept, and the precision of each group of a full metric."""
    if learner.settings.metric != "full":
        return
    learner.model.fold()
    state, outputs = learner.state(), learner.outputs * learner.models
    table = state["weights"].reshape(learner.features, -1)[:, :outputs]
    weights = np.vstack([table, state["bias"]])
    matrices = [square(array) for name, array in state.items() if name.startswith("full_")]
    for own, matrix in zip(np.split(weights, len(matrices), axis=1), matrices, strict=True):
        information = np.linalg.inv(matrix)
        _add_prior(information, 1.0 - 1.0 / _bias_prior(state), learner)
        yield own[: len(matrix)], information


def _gained(start: tuple[Array, Array], end: tuple[Array, Array], weight: float) -> Any:
    """Return the precision gained, and the change of the weights with and without it."""
    moved, gained = end[0] - start[0], weight * (end[1] - start[1])
    return gained, gained @ moved, weight * moved


def _apply_matrices(new: Learner, groups: Any, change: Change, share: float) -> None:
    """Apply the change that fits all models best, each measured by the precision it gained.

    In directions without updates, a share of the precision at the start is the prior.
    """
    state = new.state()
    table = state["weights"].reshape(new.features, -1)
    first = 0
    for number, ((own, precision), arrays) in enumerate(zip(groups, change.matrices, strict=True)):
        gained, voted, plain = arrays
        known = share * precision
        moved = np.linalg.solve(known + gained, voted + known @ plain)
        outputs = slice(first, first := first + own.shape[1])
        table[:, outputs] += moved[: new.features]
        if len(moved) > new.features:
            state["bias"][outputs] += moved[new.features]
        information = precision + gained
        _add_prior(information, 1.0 / _bias_prior(state) - 1.0, new)
        triangle = np.linalg.inv(information)[np.tril_indices(len(information))]
        state[f"full_{number}"] = triangle.astype(new.dtype)
    new.load_state(state)


def _bias_prior(state: dict[str, Array]) -> float:
    """Return the prior variance of the intercept, where it depends on the first row.

    Precisions are those for a prior of one: each model had a first row of its own, and the prior
    must not be counted once for each of them.
    """
    return float(state.get("bias_prior", np.zeros(1))[0]) or 1.0


def _add_prior(information: Array, precision: float, learner: Learner) -> None:
    if learner.settings.fit_intercept:
        information[-1, -1] += precision


def square(lower: Array) -> Array:
    """Return the symmetric matrix with this lower triangle, given row by row."""
    size = int((8 * len(lower) + 1) ** 0.5) // 2
    matrix = np.zeros((size, size))
    matrix[np.tril_indices(size)] = lower
    return np.asarray(matrix + np.tril(matrix, -1).T)
