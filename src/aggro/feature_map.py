"""A transformer: non-linear features of numeric columns for linear models."""

from __future__ import annotations

from typing import Any

import numpy as np

from aggro import _core
from aggro.checks import check_count
from aggro.estimators.validation import read_columns
from aggro.learner import Array, rows_of
from aggro.sklearn_api import Estimator, check_fitted, check_seed, draw_seed, store_parameters

CELLS = 64  # hashed cells of a grid


class FeatureMap(Estimator):
    """Standardised columns, random Fourier features and random binnings of numeric columns.

    A linear model of these features has curved boundaries: ``fourier`` approximates a Gaussian
    kernel, ``bins`` a forest of random trees. Columns need no scaling, and NaN is a missing value.
    Features are computed row by row in one pass, so streams can be mapped, too.

    Fourier features use columns standardised by their running mean and deviation, and their running
    ranks. Binnings are grids over 2 to 4 random columns with cells of random width in ranks; each
    row is in one cell of each grid. Ranks come from a sample of 512 rows and are recomputed after
    1, 4, 16, 64, 256 ... rows.

    Parameters
    ----------
    fourier : int, default=256
        Number of Fourier features, rounded up to an even number; 0 for none.
    bins : int, default=128
        Number of grids; 0 for none. With grids, the features are a CSR matrix with 64 columns per
        grid, one of which is nonzero in a row; without, a dense array.
    random_state : int, RandomState or None, default=0
        Seed of the random directions and grids; None draws another one in each call.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : array
        Names of the columns, if X was a data frame.

    Examples
    --------
    >>> import numpy as np
    >>> from aggro import FeatureMap, PassiveAggressiveClassifier
    >>> X = np.random.default_rng(0).uniform(-1, 1, (2000, 2))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> features = FeatureMap()
    >>> model = PassiveAggressiveClassifier(C="auto")
    >>> model = model.fit(features.fit_transform(X[:1000]), y[:1000])
    >>> model.score(features.transform(X[1000:]), y[1000:]) > 0.95
    True
    """

    n_features_in_: int

    def __init__(self, *, fourier: int = 256, bins: int = 128, random_state: Any = 0) -> None:
        store_parameters(self, locals())

    def fit(self, X: Any, y: Any = None) -> FeatureMap:
        """Learn the distribution of the columns of X from scratch.

        Parameters
        ----------
        X : array, data frame or sparse matrix
            Rows.
        y : ignored
            For scikit-learn.
        """
        core = self._new_core()
        core.map(rows_of(self._read(X, first=True)), [], learn=True)
        self._core = core
        return self

    def partial_fit(self, X: Any, y: Any = None) -> FeatureMap:
        """Learn from more rows; the result does not depend on how rows are divided into calls.

        Parameters
        ----------
        X : array, data frame or sparse matrix
            Rows.
        y : ignored
            For scikit-learn.
        """
        self._map(X, [], learn=True)
        return self

    def partial_fit_transform(self, X: Any, y: Any = None) -> Any:
        """Update with each row, then map it, for streams.

        Parameters
        ----------
        X : array, data frame or sparse matrix
            Rows.
        y : ignored
            For scikit-learn.
        """
        (features,) = self._map(X, [0], learn=True)
        return features

    def transform(self, X: Any) -> Any:
        """Return the features of rows: an array, or a CSR matrix if there are grids.

        Parameters
        ----------
        X : array, data frame or sparse matrix
            Rows; nothing is learned from them.
        """
        check_fitted(self)
        (features,) = self._map(X, [0], learn=False)
        return features

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Learn from all rows, then map them.

        Parameters
        ----------
        X : array, data frame or sparse matrix
            Rows.
        y : ignored
            For scikit-learn.
        """
        return self.fit(X).transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the features: ``fourier3``, the columns, ``bin0_17``.

        Parameters
        ----------
        input_features : sequence of str, default=None
            Names of the columns, if the rows had none.
        """
        check_fitted(self)
        names = getattr(self, "feature_names_in_", input_features)
        names = [f"x{j}" for j in range(self.n_features_in_)] if names is None else list(names)
        ((fourier, grids),) = self._core.sizes
        waves = [f"fourier{k}" for k in range(fourier)]
        cells = [f"bin{grid}_{cell}" for grid in range(grids) for cell in range(CELLS)]
        return np.array([*waves, *names, *cells], dtype=object)

    # -- the core ---------------------------------------------------------------------------------

    def _new_core(self) -> _core.FeatureMap:
        check_count("fourier", self.fourier, least=0)
        check_count("bins", self.bins, least=0)
        check_seed(self.random_state)
        return _core.FeatureMap([(self.fourier, self.bins)], draw_seed(self.random_state))

    def _map(self, X: Any, layouts: list[int], *, learn: bool) -> list[Any]:
        first = not self.__sklearn_is_fitted__()
        core = self._new_core() if first else self._core
        X = self._read(X, first=first)
        mapped = core.map(rows_of(X), layouts, learn=learn, single=X.dtype == np.float32)
        self._core = core
        return [_matrix_of(arrays) for arrays in mapped]

    def _read(self, X: Any, *, first: bool) -> Any:
        """Return X in the format of the core; its columns must be those of the first call."""
        known = () if first else (self.n_features_in_, vars(self).get("feature_names_in_"))
        X, names = read_columns(type(self).__name__, X, *known)
        if first:
            self.n_features_in_ = X.shape[1]
            vars(self).pop("feature_names_in_", None)
            vars(self).update({} if names is None else {"feature_names_in_": names})
        return X

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_core")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import TransformerTags

        tags = super().__sklearn_tags__()
        tags.transformer_tags = TransformerTags(preserves_dtype=["float64", "float32"])
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        return tags


def _matrix_of(arrays: tuple[Any, ...]) -> Any:
    """Return features of the core as a NumPy or SciPy matrix."""
    if len(arrays) == 1:
        return arrays[0]
    from scipy.sparse import csr_matrix

    data, indices, indptr, width = arrays
    return csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, width))
