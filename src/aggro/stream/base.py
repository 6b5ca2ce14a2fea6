"""Stream learners: parameters, tables, growth, copies."""

from __future__ import annotations

import copy
import math
from collections.abc import Hashable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np

from aggro import _core
from aggro.checks import check_choice, check_count
from aggro.classes import label_outputs
from aggro.estimators.contributions import differences
from aggro.explanation import Explanation, explanations
from aggro.learner import Array, Learner
from aggro.selection.common import features_of, make_learner
from aggro.selection.feature_maps import MOST_COLUMNS, kinds_of
from aggro.settings import FEATURES, Settings, Task, check_settings, class_task, memory_of
from aggro.sklearn_api import check_seed, draw_seed
from aggro.stream.river import RiverProtocol
from aggro.stream.selecting import SelectingStream, StreamSelection
from aggro.variants import ESTIMATORS, PLAIN, SELECTED, keywords_of, losses_of

OVERFLOWS = ("drop", "hash")
DEFAULTS = {
    "algorithm": None,
    "C": None,
    "max_features": None,
    "overflow": "drop",
    "random_state": 0,
    "probability": False,
}

Stream = TypeVar("Stream", bound="StreamLearner")


def settings_given(
    regression: bool,
    algorithm: str | None,
    C: float | str | None,
    params: dict[str, Any],
    linear: bool,
) -> dict[str, Any]:
    """Return the settings of a variant, or of a model selection if none is named.

    ``linear``: feature maps are not possible (see ``is_narrow``).
    """
    given = dict(params) if C is None else {**params, "C": C}
    name = algorithm or PLAIN[regression]
    if selects_all(algorithm, C):
        name, given = SELECTED[regression], {**_selected(regression), **given}
    features = given.get("features")
    if linear and features in FEATURES[1:]:
        raise ValueError(
            f"features={features!r} needs columns that keep their meaning, and max_features "
            "replaces or mixes them; leave max_features out, or give features='linear'."
        )
    if linear and features == "auto":
        given["features"] = "linear"
    return keywords_of(name, regression, given)


def is_narrow(max_features: int | None, overflow: str) -> bool:
    """Return whether names share or replace columns that a feature map could have."""
    return max_features is not None and (overflow == "hash" or max_features <= MOST_COLUMNS)


def selects_all(algorithm: str | None, C: float | str | None) -> bool:
    """Return whether all settings that are not given are selected."""
    return algorithm is None and (C is None or isinstance(C, str))


def _selected(regression: bool) -> dict[str, Any]:
    kind = ESTIMATORS["AutoRegressor" if regression else "AutoClassifier"]
    return {**kind.defaults, **kind.fixed}


class StreamLearner(SelectingStream, RiverProtocol):
    """A stream learner; ``learn_one`` and ``predict_one`` are methods of the compiled core."""

    _regression = False

    def __init__(
        self,
        algorithm: str | None,
        C: float | str | None,
        max_features: int | None,
        overflow: str,
        random_state: Any,
        params: dict[str, Any],
    ) -> None:
        if max_features is not None:
            check_count("max_features", max_features, most=2**31 - 1)
        check_choice("overflow", overflow, OVERFLOWS)
        check_seed(random_state)
        self.algorithm, self.C, self.params = algorithm, C, params
        self.max_features, self.overflow, self.random_state = max_features, overflow, random_state
        narrow = is_narrow(max_features, overflow)
        self._keywords = settings_given(self._regression, algorithm, C, params, narrow)
        self._buckets = max_features or 0 if overflow == "hash" else 0
        settings = self._settings_of("regression" if self._regression else class_task(0))
        model = self._untrained(settings)  # before the core, which cannot be without a model
        super().__init__(
            self._regression, settings.batch_size, max_features or 0, self._buckets > 0, not narrow
        )
        self._continue_with([], model)

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn the rows of a table one after another; all of them, or none if one is invalid.

        Parameters
        ----------
        X : pandas or polars DataFrame
            One example per row; the columns are the features.
        y : Series, array or list
            The target of each row.
        w : Series, array or list, optional
            How many times each row counts.
        """
        targets = values_of(y, "y", len(X))
        weights = [1.0] * len(X) if w is None else values_of(w, "w", len(X))
        with self._lock:
            before = self._copy_state()
            i = 0
            try:
                for i, x in enumerate(rows_of_frame(X)):
                    self.learn_one(x, targets[i], weights[i])
            except BaseException as error:
                self._restore_state(before)
                if type(error) in (TypeError, ValueError):
                    raise type(error)(f"row {i}: {error}") from None
                raise

    def predict_many(self, X: Any) -> Any:
        """Predict the target of each row of a table; return a column of the same kind."""
        return column_like(X, map(self.predict_one, rows_of_frame(X)))

    def explain(self, x: Any) -> dict[Any, Explanation]:
        """Return the contribution of each feature of an example to the score of each class.

        In a linear model that is value times weight; the contributions of features that were never
        learned are zero. If the best candidate has non-linear features, it is the difference
        between the score and the mean score with the feature's values of other examples, a sample
        of which is stored in the model. A regressor has one explanation, with the key None.

        Parameters
        ----------
        x : dict
            The example to explain.
        """
        if not self.examples:
            raise ValueError("The model has learned nothing that explains a score; learn first.")
        with self._lock:
            names, parts, rest = self._contributions_to(dict(x))
            heads = [None] if self._regression else self._classes()
        outputs = len(heads) if self._several else len(parts)
        return explanations(heads, list(map(name_as_text, names)), parts[:outputs], rest[:outputs])

    def _contributions_to(self, x: dict[Any, Any]) -> tuple[list[Any], Array, Array]:
        """Return features, their contributions (outputs x features), and the rest of the scores."""
        selection = self._selection
        if selection is None or features_of(selection.learner) == "linear":
            parts = self._contributions(x).T
            return list(x), parts, np.array(self._margins(x)[1]) - parts.sum(axis=1)
        learner, names = selection.learner, self._names()
        slots = {name: slot for slot, name in enumerate(names[: learner.features])}
        row = np.zeros((1, learner.features))
        for name, value in numbers_of(x).items():
            if name in slots:
                row[0, slots[name]] = value
        ignored, scores = np.array(selection.ignored, np.int64), np.array(self._margins(x)[1])
        return differences(learner, row, ignored, lambda slot: name_as_text(names[slot]), scores)

    # -- fitted attributes -------------------------------------------------------------------

    @property
    def n_features_in_(self) -> int:
        """Number of features seen so far; the number of buckets if names are hashed."""
        return self._buckets or len(self._names())

    @property
    def n_mistakes_(self) -> int:
        """Wrong predictions, each made before its example was learned, whatever its weight."""
        return int(self._counts()[0])

    @property
    def n_updates_(self) -> int:
        """Examples that changed the model (for independent outputs: summed over outputs)."""
        return int(self._counts()[1])

    @property
    def cumulative_loss_(self) -> float:
        """Sum of the losses, each evaluated before its example was learned."""
        return float(self._counts()[2])

    def _columns(self) -> tuple[list[Any], list[dict[Any, float]], list[float]]:
        """Return the classes, and for each output weights by name and an intercept."""
        with self._lock:
            known, classes = self._names(), self._classes()
            weights, intercepts = self._coefficients()
        names = range(self._buckets) if self._buckets else known
        columns = [dict(zip(names, column, strict=False)) for column in weights.T.tolist()]
        return classes, columns, intercepts.tolist()

    # -- models of another shape -------------------------------------------------------------

    def _untrained(self, settings: Settings) -> Learner | StreamSelection:
        """Return a model that has learned nothing."""
        outputs = label_outputs(0) if settings.task == "multilabel" else 1
        seed, mapped = draw_seed(self.random_state), kinds_of(settings, 0) != ("linear",)
        model = make_learner(settings, self._buckets or int(not mapped), outputs, seed=seed)
        return model if isinstance(model, Learner) else StreamSelection.begin(model, self._buckets)

    def _continue_with(self, classes: list[Any], model: Learner | StreamSelection) -> None:
        """Continue with this model of these classes."""
        if isinstance(model, Learner):
            self._install(classes, model)
        else:
            self._select_models(classes, model)

    def _settings(self, classes: int) -> Settings:
        """Return the checked settings for this number of classes."""
        if self._several:
            return self._settings_of("multilabel")
        return self._settings_of("regression" if self._regression else class_task(classes))

    def _settings_of(self, task: Task) -> Settings:
        """Return the checked settings for a task."""
        settings = Settings(task=task, **self._keywords)
        check_settings(settings, losses_of(self._regression))
        return settings

    @property
    def _scales_rows(self) -> bool:
        """Whether all candidates divide rows by the scale of their features."""
        return self._settings(2).scale in ("online", "standard")

    def _blueprint(
        self, learner: Learner, features: int
    ) -> tuple[_core.Shape, list[_core.Group], list[int], int, float]:
        """Return what the core makes a model like that of a learner from."""
        shape, own_sum = learner._shape(features)
        memory = memory_of(learner.settings) if learner.settings.average == "auto" else 1.0
        return shape, learner._groups(), own_sum, learner._average_from(), memory

    def _install(self, classes: list[Any], learner: Learner) -> None:
        """Continue with the state of this learner."""
        self._rebuild(classes, *self._blueprint(learner, learner.features), learner.state())

    def _model(self) -> Learner | StreamSelection:
        """Return the model selection itself, or a copy of the single model as a learner."""
        if self._selection is not None:
            return self._selection
        classes, arrays = len(self._classes()), self._dump()[2]
        outputs = label_outputs(classes) if self._several else max(classes, 1)
        learner = Learner(self._settings(classes), self._slots, outputs)
        learner.load_state(arrays)
        return learner

    def _become(self, chosen: dict[str, Any], best: Learner | StreamSelection) -> None:
        """Continue with the best candidate alone, and with its parameters."""
        params, C = dict(self.params), chosen.get("C", self.C)
        algorithm = self.algorithm
        if selects_all(algorithm, self.C):
            algorithm = SELECTED[self._regression]
            params = {n: v for n, v in _selected(self._regression).items() if n != "C"} | params
        params |= {name: value for name, value in chosen.items() if name != "C"}
        keywords = {**self._keywords, **chosen}
        self._continue_with(self._classes(), best)
        self.__dict__.update(algorithm=algorithm, C=C, params=params, _keywords=keywords)

    # -- copies and files --------------------------------------------------------------------

    def _get_params(self) -> dict[str, Any]:
        names = ("algorithm", "C", "max_features", "overflow", "random_state")
        return {**{name: getattr(self, name) for name in names}, **self.params}

    def _pieces(self) -> tuple[list[Any], list[Any], Learner | StreamSelection, dict[str, Array]]:
        """Return names, classes, the model, and the arrays of what belongs to neither."""
        with self._lock:
            names, classes, arrays = self._dump(False)
            model = self._model() if self._selection is None else copy.deepcopy(self._selection)
            return names, classes, model, arrays

    def _restore(
        self,
        names: list[Any],
        classes: list[Any],
        model: Learner | StreamSelection,
        arrays: dict[str, Array],
    ) -> None:
        """Continue with what ``_pieces`` returned."""
        self._continue_with(classes, model)
        self._resume(names, arrays)

    def _unit_test_skips(self) -> set[str]:
        """Return river's checks that do not apply, as river's own random learners do.

        Random features are drawn for columns in the order of their first appearance.
        """
        linear = self._keywords.get("features", "linear") == "linear"
        return set() if linear else {"check_shuffle_features_no_impact"}

    def __reduce__(self) -> Any:
        return _revive, (type(self), self._get_params(), *self._pieces()), self.__dict__

    def __repr__(self) -> str:
        given = self._get_params()
        algorithm = given.pop("algorithm")
        shown = [] if algorithm is None else [repr(algorithm)]
        shown += [f"{k}={v!r}" for k, v in given.items() if k not in DEFAULTS or v != DEFAULTS[k]]
        return f"{type(self).__name__}({', '.join(shown)})"

    @property
    def _raw_memory_usage(self) -> int:
        names, _, arrays = self._dump()
        if self._selection is not None:
            for learner in self._selection.learner.learners:
                arrays |= {f"{id(learner)}.{n}": a for n, a in learner.state().items()}
        size = sum(array.nbytes for array in arrays.values())
        return int(size) + 100 * len(names)  # about the size of a name and its place in the table


def name_as_text(name: Any) -> str:
    """Return the name of a feature as text: a string value v of k is ``k=v``."""
    if isinstance(name, tuple):
        return "=".join(map(name_as_text, name))
    return str(name)


def numbers_of(x: Any) -> dict[Any, float]:
    """Return an example as the core reads it: a string value v of k is the feature (k, v)."""
    named = (((k, v), 1.0) if isinstance(v, str) else (k, float(v)) for k, v in x.items())
    return {name: value for name, value in named if value != 0 and math.isfinite(value)}


def _revive(
    cls: type[Stream],
    params: dict[str, Any],
    names: list[Any],
    classes: list[Any],
    model: Learner | StreamSelection,
    arrays: dict[str, Array],
) -> Stream:
    """Return the stream learner that was taken apart into these pieces."""
    stream = cls(**params)
    stream._restore(names, classes, model, arrays)
    return stream


# -- tables of pandas and polars -------------------------------------------------------------------


def _is_polars(X: Any) -> bool:
    return type(X).__module__.partition(".")[0] == "polars"


def rows_of_frame(X: Any) -> Iterator[dict[Hashable, Any]]:
    """Yield the rows of a table as dicts of column names to values."""
    if _is_polars(X):
        yield from X.iter_rows(named=True)
    elif hasattr(X, "columns") and hasattr(X, "iloc"):
        names = list(X.columns)
        columns = [X.iloc[:, j].tolist() for j in range(len(names))]
        for i in range(len(X)):
            yield {name: column[i] for name, column in zip(names, columns, strict=True)}
    else:
        raise TypeError(f"X is a {type(X).__name__}; give a table of pandas or polars.")


def values_of(column: Any, name: str, count: int) -> list[Any]:
    """Return a column, an array or any sequence as a list of ``count`` values."""
    if hasattr(column, "to_list"):
        values = column.to_list()
    else:
        values = column.tolist() if hasattr(column, "tolist") else list(column)
    if len(values) != count:
        raise ValueError(f"X has {count} rows but {name} has {len(values)}; give one for each row.")
    return list(values)


def column_like(X: Any, values: Iterable[Any]) -> Any:
    """Return values as a column that fits X."""
    if _is_polars(X):
        import polars

        return polars.Series(list(values))
    import pandas

    return pandas.Series(list(values), index=X.index)


def table_like(X: Any, rows: list[dict[Any, float]]) -> Any:
    """Return rows as a table that fits X; polars needs text for the names of columns."""
    if _is_polars(X):
        import polars

        return polars.DataFrame([{str(name): value for name, value in row.items()} for row in rows])
    import pandas

    return pandas.DataFrame(rows, index=X.index)
