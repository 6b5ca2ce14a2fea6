"""The estimators of aggro with the interface of ``pyspark.ml``."""

from __future__ import annotations

import copy
import inspect
from typing import Any

from pyspark.ml.base import Estimator
from pyspark.ml.param import Param, Params

import aggro
from aggro.merging.training import Training
from aggro.spark.engine import SparkEngine
from aggro.spark.model import AggroModel, columns_of
from aggro.text.base import TextEstimator

COLUMNS: dict[str, tuple[Any, str]] = {
    "featuresCol": ("features", "vectors, arrays of numbers, or the names of several columns"),
    "labelCol": ("label", "classes, or numbers for a regressor"),
    "weightCol": (None, "how many times each row counts"),
    "predictionCol": ("prediction", "where predictions go"),
    "probabilityCol": (None, "where probabilities of the classes go"),
}
TEXTS = {"textCol": ("text", "texts; ignored if columns is given")}
ROUNDS = {"rounds": ("auto", "number of merges in a pass")}
WITHOUT = ("warm_start", "mergeable", "n_jobs")  # parameters that mean nothing here


class SparkEstimator(Estimator[AggroModel]):
    """Learns the partitions of a data frame side by side."""

    _local: type
    _defaults: dict[str, Any]
    _columns: tuple[str, ...]

    def __init__(self, **params: Any) -> None:
        super().__init__()
        self._setDefault(**self._defaults)
        self.setParams(**params)

    def setParams(self, **params: Any) -> Any:
        """Set some parameters; return the estimator."""
        unknown = sorted(params.keys() - self._defaults.keys())
        if unknown:
            raise TypeError(
                f"{type(self).__name__} has no parameter {unknown[0]!r}; it has "
                f"{', '.join(sorted(self._defaults))}."
            )
        return self._set(**params)

    def _fit(self, dataset: Any) -> AggroModel:
        local = self._plain()
        training = self._training(dataset, local, local.shuffle)
        training.fit()
        return self._fitted(training)

    def partialFit(
        self, dataset: Any, model: AggroModel | None = None, classes: Any = None
    ) -> AggroModel:
        """Return the model after one pass over a data frame, such as a batch of ``foreachBatch``.

        Parameters
        ----------
        dataset : DataFrame
            Rows to learn.
        model : AggroModel, optional
            The model to go on from, which stays as it is; without it, one begins.
        classes : list, optional
            All classes that may ever appear; without it, classes may appear at any time.
        """
        local = self._plain() if model is None else copy.deepcopy(model.local)
        training = self._training(dataset, local, False)
        training.partial_fit(classes)
        return self._fitted(training)

    def _training(self, dataset: Any, local: Any, shuffle: bool) -> Training:
        engine = SparkEngine(dataset, columns_of(self._chosen_columns(), local))
        rounds, verbose = self.getOrDefault("rounds"), getattr(local, "verbose", 0)
        return Training(engine, local, shuffle, rounds, verbose=verbose)

    def _fitted(self, training: Training) -> AggroModel:
        model = AggroModel(training.model, self._chosen_columns(), training.progress.history)
        model._resetUid(self.uid)
        return model

    def _plain(self) -> Any:
        """Return the plain estimator with these parameters."""
        own = {*self._columns, *ROUNDS}
        return self._local(
            **{name: self.getOrDefault(name) for name in self._defaults if name not in own}
        )

    def _chosen_columns(self) -> dict[str, Any]:
        return {name: self.getOrDefault(name) for name in self._columns}


def on_spark(name: str) -> Any:
    """Return an estimator of aggro as one of Spark."""
    local = getattr(aggro, name)
    columns = dict(COLUMNS)
    if issubclass(local, TextEstimator):
        del columns["featuresCol"]
        columns = TEXTS | columns
    given = inspect.signature(local.__init__).parameters.values()
    params = {each.name: each.default for each in given if each.name not in ("self", *WITHOUT)}
    own = columns | ROUNDS
    defaults = params | {key: default for key, (default, _) in own.items()}
    about = dict.fromkeys(params, f"as in aggro.{name}") | {k: doc for k, (_, doc) in own.items()}
    namespace: dict[str, Any] = {k: Param(Params._dummy(), k, doc) for k, doc in about.items()}
    described = "\n".join(f"    {key} : {doc}" for key, (_, doc) in own.items())
    doc = f"""{name} on Spark: the same parameters, and the columns to read and to write.

    Parameters
    ----------
{described}
    **params
        As in ``aggro.{name}``.
    """
    more = {"_local": local, "_defaults": defaults, "_columns": tuple(columns), "__doc__": doc}
    return type(name, (SparkEstimator,), {**namespace, **more, "__module__": "aggro.spark"})
