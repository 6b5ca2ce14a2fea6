"""What the stream learners share: settings, tables, growth, copies."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from aggro import _core
from aggro.checks import check_count, check_number
from aggro.learner import Array, Learner
from aggro.settings import Settings
from aggro.stream.frames import column_like, rows_of_frame, values_of
from aggro.stream.race import RacingStream
from aggro.stream.river import RiverProtocol
from aggro.stream.settings import check_bounds, keywords_of, refuse_races, settings_of

Stream = TypeVar("Stream", bound="StreamLearner")


class StreamLearner(RacingStream, RiverProtocol):
    """A stream learner; ``learn_one`` and ``predict_one`` are the compiled core's own."""

    _regression = False

    def __init__(
        self,
        algorithm: str,
        C: float | str,
        max_features: int | None,
        overflow: str,
        seed: int,
        params: dict[str, Any],
    ) -> None:
        check_bounds(max_features, overflow)
        refuse_races(params)
        check_count("seed", seed, least=0)
        self.algorithm, self.C, self.params = algorithm, C, params
        self.max_features, self.overflow, self.seed = max_features, overflow, seed
        self._keywords = keywords_of(algorithm, self._regression, {"C": C, **params})
        settings = settings_of(self._keywords, self._regression)
        self._buckets = max_features or 0 if overflow == "hash" else 0
        super().__init__(
            self._regression, settings.batch_size, max_features or 0, self._buckets > 0
        )
        self._enter(settings)
        blank = Learner(self._first_lanes(), self._buckets or 1, 1, seed=seed)
        self._install([], blank, -1 if self._races else 0)

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn the rows of a table one after another; all of them, or none if one is bad.

        Parameters
        ----------
        X : pandas or polars DataFrame
            One example per row; the columns are the features.
        y : Series, array or list
            The answer for each row.
        w : Series, array or list, optional
            How many times each row counts.
        """
        answers = values_of(y, "y", len(X))
        weights = [1.0] * len(X) if w is None else values_of(w, "w", len(X))
        with self._lock:
            before = self._remember()
            i = 0
            try:
                for i, x in enumerate(rows_of_frame(X)):
                    self.learn_one(x, answers[i], weights[i])
            except BaseException as error:
                self._recall(before)
                if type(error) in (TypeError, ValueError):
                    raise type(error)(f"row {i}: {error}") from None
                raise

    def predict_many(self, X: Any) -> Any:
        """Predict the answer for each row of a table, as a column of the same kind."""
        return column_like(X, map(self.predict_one, rows_of_frame(X)))

    # -- what was learned -------------------------------------------------------------------

    @property
    def n_features_in_(self) -> int:
        """Number of features met so far; the number of buckets if names are hashed."""
        return self._buckets or len(self._names())

    @property
    def n_mistakes_(self) -> int:
        """Wrong predictions, each made before its example was learned, whatever its weight."""
        return int(self._progress()[0])

    @property
    def n_updates_(self) -> int:
        """Examples that moved the model (for independent outputs: summed over outputs)."""
        return int(self._progress()[1])

    @property
    def cumulative_loss_(self) -> float:
        """Sum of the losses, each progressive_loss before its example was learned."""
        return float(self._progress()[2])

    def _columns(self) -> tuple[list[Any], list[dict[Any, float]], list[float]]:
        """Return the classes, and for every output weights by name and an intercept."""
        known, classes, weights, intercepts = self._weights()
        names = range(self._buckets) if self._buckets else known
        columns = [dict(zip(names, column, strict=False)) for column in weights.T.tolist()]
        return classes, columns, intercepts.tolist()

    # -- models of another shape ------------------------------------------------------------

    def _settings(self, classes: int) -> Settings:
        return settings_of(self._keywords, self._regression, classes)

    def _blueprint(
        self, learner: Learner, features: int
    ) -> tuple[_core.Shape, list[_core.Group], list[int], int, float]:
        """Return what the core makes a model of: that of a learner, with so many features."""
        shape, own_sum = learner._shape(features)
        return shape, learner._groups(), own_sum, learner._average_from(), self._memory

    def _install(self, classes: list[Any], learner: Learner, look: int | None = None) -> None:
        """Continue with what this learner knows; the next evaluation is due then, or as before."""
        blueprint = self._blueprint(learner, learner.features)
        prices = [float(lane.C) for lane in learner.all_settings]
        look = self._next_look if look is None else look
        self._rebuild(classes, *blueprint, learner.state(), prices, look)

    def _learner(self, classes: int) -> Learner:
        """Return a learner that knows what this one knows."""
        learner = Learner(self._lanes(classes), self._slots, max(classes, 1))
        learner.load_state(self._dump()[2])
        return learner

    # -- copies and files -------------------------------------------------------------------

    def _get_params(self) -> dict[str, Any]:
        names = ("algorithm", "C", "max_features", "overflow", "seed")
        return {**{name: getattr(self, name) for name in names}, **self.params}

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return all that was learned: a description that JSON can hold, and arrays by name."""
        names, classes, arrays = self._pieces()
        description = {
            "model": type(self).__name__,
            "params": self._get_params(),
            "names": list(map(to_json, names)),
            "classes": list(map(to_json, classes)),
        }
        return description, arrays

    @classmethod
    def from_state(
        cls: type[Stream], description: dict[str, Any], arrays: dict[str, Array]
    ) -> Stream:
        """Return the model that gave this state."""
        names, classes = (list(map(from_json, description[key])) for key in ("names", "classes"))
        return _revive(cls, description["params"], names, classes, arrays)

    def __reduce__(self) -> Any:
        return _revive, (type(self), self._get_params(), *self._pieces()), self.__dict__

    def _pieces(self) -> tuple[list[Any], list[Any], dict[str, Array]]:
        """Return names, classes and arrays; of a model selection its grid and next evaluation too.

        An evaluation step that was interrupted is overdue, which the number of examples alone
        would not tell.
        """
        with self._lock:
            names, classes, arrays = self._dump()
            if self._races:
                arrays["prices"] = np.array(self._prices)
                arrays["next_look"] = np.array([self._next_look])
        return names, classes, arrays

    def __repr__(self) -> str:
        given = self._get_params()
        plain = {"max_features": None, "overflow": "drop", "seed": 0, "probability": False}
        shown = [repr(given.pop("algorithm"))]
        shown += [f"{k}={v!r}" for k, v in given.items() if k not in plain or v != plain[k]]
        return f"{type(self).__name__}({', '.join(shown)})"

    @property
    def _raw_memory_usage(self) -> int:
        names, _, arrays = self._dump()
        size = sum(array.nbytes for array in arrays.values())
        return int(size) + 100 * len(names)  # about the size of a name and its place in the table


def _revive(
    cls: type[Stream],
    params: dict[str, Any],
    names: list[Any],
    classes: list[Any],
    arrays: dict[str, Array],
) -> Stream:
    """Return the model that was put apart in these pieces."""
    model = cls(**params)
    prices = arrays["prices"].tolist() if model._races else model._prices
    for C in prices:
        check_number("C", C, above=0)
    lanes = model._lanes(len(classes), prices)
    learner = Learner(lanes, max(len(names), model._slots), max(len(classes), 1))
    learner.load_state(arrays)
    model._install(classes, learner)
    model._resume(names, arrays)
    if model._races:
        model._next_look = int(arrays["next_look"][0])
    return model


def to_json(name: Any) -> Any:
    """Return a name as JSON holds it: tuples and bytes are marked."""
    if isinstance(name, np.generic):
        name = name.item()
    if isinstance(name, tuple):
        return {"tuple": [to_json(part) for part in name]}
    if isinstance(name, bytes):
        return {"bytes": name.hex()}
    if name is None or isinstance(name, (str, int, float)):
        return name
    raise TypeError(f"{name!r} cannot be written to a file; name features and classes by text.")


def from_json(name: Any) -> Any:
    """Return the name that ``to_json`` was given."""
    if not isinstance(name, dict):
        return name
    ((kind, inner),) = name.items()
    return tuple(map(from_json, inner)) if kind == "tuple" else bytes.fromhex(inner)
