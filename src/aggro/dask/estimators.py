"""scikit-learn's interface on a cluster: the estimators of aggro for data in partitions."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import is_regressor
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

import aggro
from aggro.checks import check_count
from aggro.dask.inputs import Partition, partitions_of
from aggro.dask.lazy import lazily, scored
from aggro.dask.progress import Progress
from aggro.dask.rounds import Rounds
from aggro.estimators.linear import LinearModel
from aggro.estimators.passes import Patience
from aggro.merging.parts import without_news
from aggro.merging.text_shards import counting
from aggro.sklearn_api import store_parameters
from aggro.text.table import check_columns

OWN = {"client": None, "rounds": "auto", "mix_every": None}
UNSAVED = ("client", "history_")


class OnCluster:
    """What all estimators do alike on a cluster."""

    _local: type
    client: Any
    rounds: Any
    mix_every: int | None

    @property
    def client_(self) -> Any:
        """The client in use: the one that was given, or the current one."""
        from distributed import default_client

        if self.client is not None:
            return self.client
        try:
            return default_client()
        except ValueError as error:
            raise ValueError(
                "There is no Dask client; make one by dask.distributed.Client(), or give client=."
            ) from error

    def _of(self: Any, model: Any, parts: list[Partition], shuffle: bool) -> Rounds:
        """Return the rounds to come, of a model that counts what merging needs."""
        if self.rounds != "auto":
            check_count("rounds", self.rounds)
        if self.mix_every is not None:
            check_count("mix_every", self.mix_every)
        client = self.client_
        seed = check_random_state(self.random_state).randint(2**31 - 1) if shuffle else None
        progress = Progress(int(self.verbose), is_regressor(self))
        return Rounds(client, model, parts, seed, self.rounds, self.mix_every, progress)

    def _plain_params(self: Any) -> dict[str, Any]:
        given = self.get_params(deep=False)
        plain = inspect.signature(self._local).parameters
        return {name: value for name, value in given.items() if name in plain}

    def partial_fit(
        self: Any,
        X: Any,
        y: Any = None,
        classes: Any = None,
        sample_weight: Any = None,
        **reading: Any,
    ) -> Any:
        """Learn from all partitions once, going on from the model as it is.

        Parameters
        ----------
        X, y, sample_weight, **reading
            As in ``fit``.
        classes : array, optional
            All classes that may ever appear; without it, classes may appear in any partition.
        """
        fresh = not hasattr(self, "_learner")
        rounds = self._rounds(X, y, sample_weight, reading, fresh, False)
        rounds.begin(classes)
        rounds.one_pass(0)
        return self._take_over(rounds, passes=1)

    # -- predicting --------------------------------------------------------------------------

    def predict(self, X: Any) -> Any:
        """Return the answers, as lazily as X: an array for an array, a series for a frame."""
        return lazily(self.to_local(), "predict", X)

    def decision_function(self, X: Any) -> Any:
        """Return the scores, as lazily as X."""
        return lazily(self.to_local(), "decision_function", X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Return the accuracy, or R² of a regressor: a dask array of one number, or a float."""
        return scored(self.to_local(), X, y, sample_weight)

    def to_local(self) -> Any:
        """Return the plain estimator, which needs no cluster."""
        check_is_fitted(self)
        local = self._local(**self._plain_params())
        local.__dict__.update(self._fitted_attributes())
        return local

    def _fitted_attributes(self: Any) -> dict[str, Any]:
        """Return what was learned, which a plain estimator has as well."""
        own = set(self.get_params(deep=False)) | set(UNSAVED)
        return {name: value for name, value in vars(self).items() if name not in own}


class DaskEstimator(OnCluster, LinearModel):
    """What an estimator of rows does differently on a cluster."""

    def fit(  # type: ignore[override]  # a cluster has no weights to start from
        self, X: Any, y: Any = None, sample_weight: Any = None, **reading: Any
    ) -> Any:
        """Learn from X and y in up to ``max_iter`` passes; return the estimator.

        Parameters
        ----------
        X : dask array, data frame or bag, list of delayed, or pattern of files
            Rows in partitions; a bag of dicts is hashed, a bag of pairs holds its own targets.
        y : the same, in as many partitions
            Targets.
        sample_weight : the same, optional
            How many times each row counts.
        **reading
            How files are read, as in ``aggro.io.read``: ``label=``, ``text=`` ...
        """
        with self._lock.take():
            return self._fit_partitions(X, y, sample_weight, reading)

    def _fit_partitions(self, X: Any, y: Any, weights: Any, reading: dict[str, Any]) -> Any:
        passes = self._checked_passes()
        fresh = not (self.warm_start and hasattr(self, "_learner"))
        rounds = self._rounds(X, y, weights, reading, fresh, self.shuffle)
        rounds.begin()
        patience = Patience(-np.inf, self.n_iter_no_change)
        for number in range(self.max_iter):
            model = rounds.model
            before = model._learner.progress.loss
            rounds.one_pass(number)
            model._learner.freeze_means(number + 1 < self.max_iter)
            loss = model._learner.progress.loss - before
            rows = sum(each["rows"] for each in rounds.progress.history if each["pass"] == number)
            if number == 0:
                tol = -np.inf if self.tol is None else self.tol * rows
                patience = Patience(tol, self.n_iter_no_change)
            if patience.ends_with(-loss) and self.tol is not None:
                break
        else:
            if self.tol is not None:
                passes.warn_not_converged(stacklevel=4)
        rounds.model._learner.freeze_means(False)
        return self._take_over(rounds, number + 1)

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: Any = None,
        sample_weight: Any = None,
        **reading: Any,
    ) -> Any:
        """Learn from all partitions once, going on from the model as it is.

        Parameters
        ----------
        X, y, sample_weight, **reading
            As in ``fit``.
        classes : array, optional
            All classes that may ever appear; without it, classes may appear in any partition.
        """
        with self._lock.take():
            return OnCluster.partial_fit(self, X, y, classes, sample_weight, **reading)

    def _rounds(
        self, X: Any, y: Any, weights: Any, reading: dict[str, Any], fresh: bool, shuffle: bool
    ) -> Rounds:
        """Return the rounds to come, with a model that counts what merging needs."""
        if self.early_stopping and self.early_stopping != "auto":
            raise ValueError(
                "early_stopping=True holds rows out on one machine; on a cluster use tol, which "
                "judges passes by their loss."
            )
        return self._of(self._working(fresh), partitions_of(X, y, weights, reading), shuffle)

    def _working(self, fresh: bool) -> Any:
        """Return a plain estimator to learn with; one that goes on is a copy."""
        params = self._plain_params() | {"early_stopping": False, "verbose": 0}
        if "mergeable" in params:
            params["mergeable"] = True
        model = self._local(**params)
        if not fresh:
            model._fitted = copy.deepcopy(self._fitted)
            model._learner = without_news(model._learner, mergeable=True)
            model._learner.configure(model._checked_settings(model._learner.settings.task))
            model._fitted = model._fitted.changed(parameters=model._parameters())
        return model

    def _take_over(self, rounds: Rounds, passes: int) -> Any:
        """Take over what was learned."""
        fitted = rounds.model._fitted
        learner = without_news(fitted.learner, bool(self._wants_news()))
        fitted = fitted.changed(learner=learner, n_iter=passes, parameters=self._parameters())
        vars(self).update(_fitted=fitted, history_=rounds.progress.history)
        return self

    def _wants_news(self) -> bool:
        return bool(getattr(self, "mergeable", False))

    def to_local(self) -> Any:
        """Return the plain estimator, which needs no cluster."""
        local = super().to_local()
        local._fitted = local._fitted.changed(parameters=local._parameters())
        return local

    def __getstate__(self) -> dict[str, Any]:
        state = {**vars(self), "client": None}
        if "_fitted" in state:
            state["_fitted"] = self._fitted.changed(parameters=None)  # which name the client
        return state


class DaskText(OnCluster):
    """What an estimator of texts does differently on a cluster."""

    def fit(self: Any, X: Any, y: Any = None, sample_weight: Any = None, **reading: Any) -> Any:
        """Learn from texts and their targets, beginning anew; return the estimator.

        Parameters
        ----------
        X : dask series, array or bag of texts, list of delayed, or pattern of files
            Texts in partitions; a frame or a bag of dicts where ``columns`` is given. A bag of
            pairs holds its own targets.
        y : the same, in as many partitions
            Targets.
        sample_weight : the same, optional
            How many times each text counts.
        **reading
            How files are read, as in ``aggro.io.read``: ``label=``, ``text=`` ...
        """
        check_count("max_iter", self.max_iter)
        rounds = self._rounds(X, y, sample_weight, reading, True, self.shuffle)
        rounds.begin()
        for number in range(self.max_iter):
            rounds.one_pass(number)
            if number == 0:
                rounds.model.keep_best()
        return self._take_over(rounds, self.max_iter)

    def _rounds(
        self: Any, X: Any, y: Any, weights: Any, reading: Any, fresh: bool, shuffle: bool
    ) -> Rounds:
        """Return the rounds to come, of a plain estimator to learn with."""
        if self.forgetting:
            raise ValueError(
                f"forgetting={self.forgetting} goes by the order of the texts, which partitions "
                "learned side by side do not have; use forgetting=0."
            )
        check_columns(self.columns)
        parts = partitions_of(X, y, weights, reading, dict(self.columns or {}))
        model = self._local(**self._plain_params() | {"mergeable": True})
        if not fresh:
            model.__dict__.update(self._fitted_attributes())
            model._learner = counting(copy.deepcopy(self._learner), mergeable=True)
        rounds: Rounds = self._of(model, parts, shuffle)
        return rounds

    def _take_over(self: Any, rounds: Rounds, passes: int) -> Any:
        """Become what was learned."""
        params = rounds.model.get_params()
        fitted = {k: v for k, v in vars(rounds.model).items() if k not in params}
        fitted["_learner"] = counting(fitted["_learner"], bool(self.mergeable))
        self.__dict__.update(fitted, history_=rounds.progress.history)
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "client": None}


class Chances(OnCluster):
    """A classifier on a cluster."""

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class, as lazily as X."""
        return lazily(self.to_local(), "predict_proba", X)


def on_dask(name: str, base: type = DaskEstimator, more: Mapping[str, Any] | None = None) -> Any:
    """Return an estimator of aggro as it is on a cluster: with ``client``, ``rounds`` and such."""
    local, mine = getattr(aggro, name), {**OWN, **(more or {})}
    bases = (base,) if is_regressor(local()) else (Chances, base)
    signature = inspect.signature(local.__init__)
    own = [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=d) for n, d in mine.items()]

    def __init__(self: Any, **params: Any) -> None:
        bound = signature_of.bind(self, **params)
        bound.apply_defaults()
        store_parameters(self, dict(bound.arguments))

    signature_of = signature.replace(parameters=[*signature.parameters.values(), *own])
    __init__.__signature__ = signature_of  # type: ignore[attr-defined]  # scikit-learn reads it
    doc = f"""{name} on a Dask cluster: the same parameters, and these.

    Parameters
    ----------
    client : distributed.Client, optional
        The cluster; the current client by default.
    rounds : int or "auto", default="auto"
        How often models are merged in a pass. "auto" is 4 for dense rows and 16 for sparse ones,
        and up to 64 where partitions and models are small; 64 large partitions or more are read
        once each, 16 to a round.
    mix_every : int, optional
        Merge after so many rows of each partition instead.
    **params
        As in ``aggro.{name}``.
    """
    namespace = {"__init__": __init__, "__doc__": doc, "_local": local, "__module__": __name__}
    return type(name, (*bases, local), namespace)


AutoClassifier = on_dask("AutoClassifier")
AutoRegressor = on_dask("AutoRegressor")
PassiveAggressiveClassifier = on_dask("PassiveAggressiveClassifier")
PassiveAggressiveRegressor = on_dask("PassiveAggressiveRegressor")
AROWClassifier = on_dask("AROWClassifier")
AROWRegressor = on_dask("AROWRegressor")
ConfidenceWeightedClassifier = on_dask("ConfidenceWeightedClassifier")
SoftConfidenceWeightedClassifier = on_dask("SoftConfidenceWeightedClassifier")
Perceptron = on_dask("Perceptron")
TextClassifier = on_dask("TextClassifier", DaskText, {"verbose": 0})
TextRegressor = on_dask("TextRegressor", DaskText, {"verbose": 0})
