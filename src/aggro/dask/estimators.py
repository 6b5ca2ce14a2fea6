"""scikit-learn's interface on a cluster: the estimators of aggro for data in partitions."""

from __future__ import annotations

import copy
import inspect
from typing import Any

from sklearn.base import is_regressor
from sklearn.utils.validation import check_is_fitted

import aggro
from aggro.checks import check_count
from aggro.dask.engine import DaskEngine
from aggro.dask.inputs import partitions_of
from aggro.dask.lazy import lazily, scored
from aggro.merging.training import Training
from aggro.sklearn_api import store_parameters
from aggro.text.base import TextEstimator
from aggro.text.table import check_columns

OWN = {"client": None, "rounds": "auto", "mix_every": None}
UNSAVED = ("client", "history_")


class OnCluster:
    """The part of an estimator that uses a cluster."""

    _local: type
    client: Any
    rounds: Any
    mix_every: int | None

    @property
    def client_(self) -> Any:
        """The client in use: the given one, or the current one."""
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
            Rows in partitions; a bag of dicts is hashed, a bag of pairs contains its own targets.
            For texts: texts, or a frame or dicts where ``columns`` is given.
        y : the same, in as many partitions
            Targets.
        sample_weight : the same, optional
            How many times each row counts.
        **reading
            How files are read, as in ``aggro.io.read``: ``label=``, ``text=`` ...
        """
        if isinstance(self, TextEstimator):
            check_count("max_iter", self.max_iter)
        else:
            self._checked_passes()
        fresh = not (getattr(self, "warm_start", False) and hasattr(self, "_learner"))
        data = (X, y, sample_weight, reading, self._texts())
        training = self._training(data, fresh, self.shuffle)
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
        """Learn from all partitions once, continuing from the present model.

        Parameters
        ----------
        X, y, sample_weight, **reading
            As in ``fit``.
        classes : array, optional
            All classes that may ever appear; without it, classes may appear in any partition.
        """
        fresh = not hasattr(self, "_learner")
        data = (X, y, sample_weight, reading, self._texts())
        training = self._training(data, fresh, False)
        training.partial_fit(classes)
        return self._take_over(training)

    def _training(self: Any, data: tuple[Any, ...], fresh: bool, shuffle: bool) -> Training:
        """Return the training of a plain estimator, which continues from a copy of this one."""
        engine = DaskEngine(self.client_, partitions_of(*data))
        model = self._local(**self._plain_params())
        if not fresh:
            model.__dict__.update(copy.deepcopy(self._fitted_attributes()))
        return Training(engine, model, shuffle, self.rounds, self.mix_every, self.verbose)

    def _texts(self: Any) -> dict[str, str] | None:
        """Return the kinds of the columns of texts; None where rows are learned."""
        if not isinstance(self, TextEstimator):
            return None
        if self.forgetting:
            raise ValueError(
                f"forgetting={self.forgetting} depends on the order of the texts, which partitions "
                "learned in parallel do not have; use forgetting=0."
            )
        check_columns(self.columns)
        return dict(self.columns or {})

    def _take_over(self: Any, training: Training) -> Any:
        """Continue with the trained model."""
        params = training.model.get_params(deep=False)
        fitted = {k: v for k, v in vars(training.model).items() if k not in params}
        self.__dict__.update(fitted, history_=training.progress.history)
        return _with_parameters(self)

    def _plain_params(self: Any) -> dict[str, Any]:
        plain = inspect.signature(self._local).parameters
        return {k: v for k, v in self.get_params(deep=False).items() if k in plain}

    # -- predicting --------------------------------------------------------------------------------

    def predict(self, X: Any) -> Any:
        """Return the predictions, as lazily as X: an array for an array, a series for a frame."""
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
        return _with_parameters(local)

    def _fitted_attributes(self: Any) -> dict[str, Any]:
        """Return the fitted attributes of the plain estimator."""
        own = set(self.get_params(deep=False)) | set(UNSAVED)
        return {name: value for name, value in vars(self).items() if name not in own}

    def __getstate__(self) -> dict[str, Any]:
        state = {**vars(self), "client": None}
        if "_fitted" in state:
            state["_fitted"] = state["_fitted"].changed(parameters=None)  # these include the client
        return state


def _with_parameters(model: Any) -> Any:
    """Return an estimator whose learner is configured with its parameters."""
    if "_fitted" in vars(model):  # an estimator of rows
        model._fitted = model._fitted.changed(parameters=model._parameters())
    return model


def predict_proba(self: Any, X: Any) -> Any:
    """Return the probability of each class, as lazily as X."""
    return lazily(self.to_local(), "predict_proba", X)


def on_dask(name: str) -> Any:
    """Return an estimator of aggro for a cluster, with ``client`` and ``rounds``."""
    local = getattr(aggro, name)
    signature = inspect.signature(local.__init__)
    mine = OWN if "verbose" in signature.parameters else {**OWN, "verbose": 0}
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
        How often models are merged in a pass. "auto" depends on the size of the data and of the
        model: no round for up to 200,000 rows in 64 MiB, which one worker learns as one machine
        would, and from 4 to 16 rounds for more (64 in the Euclidean metric).
    mix_every : int, optional
        Merge after this number of rows of each partition instead.
    **params
        As in ``aggro.{name}``.
    """
    namespace = {"__init__": __init__, "__doc__": doc, "_local": local, "__module__": "aggro.dask"}
    if not is_regressor(local()):
        namespace["predict_proba"] = predict_proba
    return type(name, (OnCluster, local), namespace)
