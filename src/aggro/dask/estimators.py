"""scikit-learn's interface on a cluster: the estimators of aggro for data in partitions."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping
from typing import Any

from sklearn.base import is_regressor
from sklearn.utils.validation import check_is_fitted

import aggro
from aggro.checks import check_count
from aggro.dask.engine import DaskEngine
from aggro.dask.inputs import partitions_of
from aggro.dask.lazy import lazily, scored
from aggro.estimators.linear import LinearModel
from aggro.merging.training import Training
from aggro.sklearn_api import store_parameters
from aggro.text.table import check_columns

OWN = {"client": None, "rounds": "auto", "mix_every": None}
UNSAVED = ("client", "history_")


class OnCluster:
    """What all estimators have in common on a cluster."""

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

    def fit(self: Any, X: Any, y: Any = None, sample_weight: Any = None, **reading: Any) -> Any:
        """Learn from X and y in up to ``max_iter`` passes; return the estimator.

        Parameters
        ----------
        X : dask array, data frame, series or bag, list of delayed, or pattern of files
            Rows in partitions; a bag of dicts is hashed, a bag of pairs holds its own targets. For
            texts: texts, or a frame or dicts where ``columns`` is given.
        y : the same, in as many partitions
            Targets.
        sample_weight : the same, optional
            How many times each row counts.
        **reading
            How files are read, as in ``aggro.io.read``: ``label=``, ``text=`` ...
        """
        self._check_schedule()
        fresh = not (getattr(self, "warm_start", False) and hasattr(self, "_learner"))
        training = self._training((X, y, sample_weight, reading), fresh, self.shuffle)
        training.fit()
        return self._take_over(training)

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
        training = self._training((X, y, sample_weight, reading), fresh, False)
        training.partial_fit(classes)
        return self._take_over(training)

    def _training(
        self: Any, data: tuple[Any, Any, Any, Any], fresh: bool, shuffle: bool
    ) -> Training:
        """Return the training to come, of a plain estimator; one that goes on is a copy."""
        engine = DaskEngine(self.client_, partitions_of(*data, texts=self._columns()))
        model = self._local(**self._plain_params())
        if not fresh:
            model.__dict__.update(copy.deepcopy(self._fitted_attributes()))
        return Training(engine, model, shuffle, self.rounds, self.mix_every, self.verbose)

    def _check_schedule(self: Any) -> None:
        """Raise where a parameter of the passes is not valid."""
        check_count("max_iter", self.max_iter)

    def _columns(self) -> Any:
        """Return what is in each column of texts; None where rows are learned."""
        return None

    def _take_over(self: Any, training: Training) -> Any:
        """Take over what was learned."""
        params = training.model.get_params(deep=False)
        fitted = {k: v for k, v in vars(training.model).items() if k not in params}
        self.__dict__.update(fitted, history_=training.progress.history)
        return self

    def _plain_params(self: Any) -> dict[str, Any]:
        given = self.get_params(deep=False)
        plain = inspect.signature(self._local).parameters
        return {name: value for name, value in given.items() if name in plain}

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

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "client": None}


class DaskEstimator(OnCluster, LinearModel):  # type: ignore[misc]  # fit takes partitions
    """What an estimator of rows does differently on a cluster."""

    def _check_schedule(self) -> None:
        self._checked_passes()

    def _take_over(self, training: Training) -> Any:
        super()._take_over(training)
        self._fitted = self._fitted.changed(parameters=self._parameters())
        return self

    def to_local(self) -> Any:
        """Return the plain estimator, which needs no cluster."""
        local = super().to_local()
        local._fitted = local._fitted.changed(parameters=local._parameters())
        return local

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        if "_fitted" in state:
            state["_fitted"] = self._fitted.changed(parameters=None)  # which name the client
        return state


class DaskText(OnCluster):
    """What an estimator of texts does differently on a cluster."""

    def _columns(self: Any) -> Any:
        if self.forgetting:
            raise ValueError(
                f"forgetting={self.forgetting} goes by the order of the texts, which partitions "
                "learned side by side do not have; use forgetting=0."
            )
        check_columns(self.columns)
        return dict(self.columns or {})


class WithProbabilities(OnCluster):
    """A classifier on a cluster."""

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class, as lazily as X."""
        return lazily(self.to_local(), "predict_proba", X)


def on_dask(name: str, base: type = DaskEstimator, more: Mapping[str, Any] | None = None) -> Any:
    """Return an estimator of aggro as it is on a cluster: with ``client``, ``rounds`` and such."""
    local, mine = getattr(aggro, name), {**OWN, **(more or {})}
    bases = (base,) if is_regressor(local()) else (WithProbabilities, base)
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
        How often models are merged in a pass. "auto" follows from the size of the data and of the
        model: no round for up to 200,000 rows in 64 MiB, which one worker learns as one machine
        would, and from 4 to 16 rounds for more (64 in the Euclidean metric).
    mix_every : int, optional
        Merge after this number of rows of each partition instead.
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
