"""scikit-learn's estimator interface, implemented without importing scikit-learn.

Estimators need NumPy alone and import quickly. scikit-learn's tools accept them all the same:
parameters, tags, metadata routing, HTML representation and exceptions are those it expects.
"""

from __future__ import annotations

import copy
import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from aggro.checks import near

METADATA_METHODS = ("fit", "partial_fit", "predict", "score")


class Estimator:
    """Parameters, representation, tags and metadata routing of a scikit-learn estimator."""

    _estimator_kind: ClassVar[str | None] = None  # "classifier", "regressor" or None

    if TYPE_CHECKING:  # parameters and fitted attributes are set by name

        def __getattr__(self, name: str) -> Any: ...

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        for method in METADATA_METHODS:
            if names := cls._metadata_of(method):
                setattr(cls, f"set_{method}_request", _request_method(method, names))

    # -- parameters ---------------------------------------------------------------------------

    @classmethod
    @functools.cache
    def _defaults(cls) -> dict[str, Any]:
        """Return the default of each parameter, in the order of the constructor."""
        parameters = inspect.signature(cls.__init__).parameters
        return {name: each.default for name, each in parameters.items() if name != "self"}

    @classmethod
    def _parameter_names(cls) -> tuple[str, ...]:
        return tuple(cls._defaults())

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            For scikit-learn; no parameter is an estimator.
        """
        return {name: getattr(self, name) for name in self._defaults()}

    def set_params(self, **params: Any) -> Any:
        """Set parameters, which take effect when the model learns next; return the estimator.

        Parameters
        ----------
        **params : parameters by name
            New values.
        """
        unknown = next((name for name in params if name not in self._defaults()), None)
        if unknown is not None:
            raise ValueError(
                f"{unknown!r} is not a parameter of {type(self).__name__}."
                f"{near(unknown, self._defaults())} Its parameters are "
                f"{', '.join(self._defaults())}."
            )
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        changed = [
            f"{name}={getattr(self, name)!r}"
            for name, default in self._defaults().items()
            if not _same(getattr(self, name), default)
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    def _repr_html_(self) -> str | None:
        try:
            from sklearn.utils import estimator_html_repr
        except ModuleNotFoundError:
            return None
        html: str = estimator_html_repr(self)
        return html

    # -- tags ---------------------------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags

        kind = self._estimator_kind
        return Tags(
            estimator_type=kind,
            target_tags=TargetTags(required=kind is not None),
            classifier_tags=ClassifierTags() if kind == "classifier" else None,
            regressor_tags=RegressorTags() if kind == "regressor" else None,
            input_tags=InputTags(),
        )

    # -- metadata routing ---------------------------------------------------------------------

    def get_metadata_routing(self) -> Any:
        """Return which metadata each method requests, as scikit-learn's routing needs it."""
        if hasattr(self, "_metadata_request"):
            return copy.deepcopy(self._metadata_request)
        from sklearn.utils.metadata_routing import MetadataRequest

        requests = MetadataRequest(owner=self)
        for method in METADATA_METHODS:
            for name in self._metadata_of(method):
                getattr(requests, method).add_request(param=name, alias=None)
        return requests

    @classmethod
    def _metadata_of(cls, method: str) -> list[str]:
        """Return the arguments of a method that are metadata."""
        if not hasattr(cls, method):
            return []
        names = list(inspect.signature(getattr(cls, method)).parameters)
        return [name for name in names if name not in ("self", "X", "y")]


def _request_method(method: str, names: list[str]) -> Callable[..., Any]:
    """Return ``set_<method>_request``, which declares the metadata of a method."""

    def request(self: Any, **requests: bool | str | None) -> Any:
        from sklearn import get_config

        if not get_config()["enable_metadata_routing"]:
            raise RuntimeError(
                "Metadata routing is disabled; enable it with "
                "sklearn.set_config(enable_metadata_routing=True)."
            )
        unknown = [name for name in requests if name not in names]
        if unknown:
            raise TypeError(
                f"{method} of {type(self).__name__} takes no metadata {unknown[0]!r}; it takes "
                f"{', '.join(names)}."
            )
        routing = self.get_metadata_routing()
        for name, alias in requests.items():
            getattr(routing, method).add_request(param=name, alias=alias)
        self._metadata_request = routing
        return self

    keyword = inspect.Parameter.KEYWORD_ONLY
    arguments = [inspect.Parameter(name, keyword, default=None) for name in names]
    owner = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    request.__name__ = f"set_{method}_request"
    request.__signature__ = inspect.Signature([owner, *arguments])  # type: ignore[attr-defined]
    request.__doc__ = f"""Request metadata for ``{method}`` (scikit-learn's metadata routing).

        Parameters
        ----------
        {", ".join(names)} : bool, str or None, default=None
            True passes the argument on, False does not, None raises if it is given; a string is
            its name in the metadata.
        """
    return request


def store_parameters(estimator: Any, arguments: dict[str, Any]) -> None:
    """Store the arguments of a constructor unchanged."""
    for name, value in arguments.items():
        if name not in ("self", "__class__"):
            setattr(estimator, name, value)


def _same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and bool(value == default)


class _Available:
    """A method that exists only while a condition holds (see ``available_if``)."""

    def __init__(self, method: Callable[..., Any], check: Callable[[Any], None]) -> None:
        self.method, self.check = method, check
        functools.update_wrapper(self, method)  # type: ignore[arg-type]

    def __get__(self, estimator: Any, owner: type | None = None) -> Any:
        if estimator is None:
            return self.method
        self.check(estimator)
        return self.method.__get__(estimator, owner)


def available_if(check: Callable[[Any], None]) -> Callable[[Callable[..., Any]], Any]:
    """Hide a method (``hasattr`` is False) while ``check(estimator)`` raises AttributeError."""
    return lambda method: _Available(method, check)


# -- exceptions and warnings ------------------------------------------------------------------


class NotFittedError(ValueError, AttributeError):
    """Raised by an untrained model, if scikit-learn is not loaded."""


class ConvergenceWarning(UserWarning):
    """Warning that ``fit`` ended before convergence."""


class DataConversionWarning(UserWarning):
    """Warning that input was converted to the expected shape."""


def exception(name: str) -> Any:
    """Return scikit-learn's exception of this name if it is loaded, else the one defined here.

    Only code that has imported scikit-learn can catch its classes.
    """
    return getattr(sys.modules.get("sklearn.exceptions"), name, globals()[name])


def check_fitted(estimator: Any) -> None:
    """Raise ``NotFittedError`` unless the estimator has learned."""
    if not estimator.__sklearn_is_fitted__():
        raise exception("NotFittedError")(
            f"This {type(estimator).__name__} instance is not fitted yet; call fit or partial_fit "
            "first."
        )


# -- random numbers ---------------------------------------------------------------------------


def check_random_state(seed: Any) -> Any:
    """Return a ``numpy.random.RandomState``: the global one, of a seed, or the given one."""
    check_seed(seed)
    if seed is None or seed is np.random:
        return np.random.mtrand._rand
    return np.random.RandomState(seed) if _is_whole(seed) else seed  # scikit-learn's generator


def check_seed(seed: Any) -> None:
    """Raise ``ValueError`` unless ``seed`` is a valid ``random_state``."""
    generators = seed is None or seed is np.random or isinstance(seed, np.random.RandomState)
    if not (generators or (_is_whole(seed) and 0 <= seed < 2**32)):
        raise ValueError(
            f"random_state={seed!r} is not valid; give a whole number from 0 to {2**32 - 1}, a "
            "numpy.random.RandomState, or None."
        )


def _is_whole(seed: Any) -> bool:
    return isinstance(seed, (int, np.integer)) and not isinstance(seed, bool)


def random_seeds(seed: Any) -> Iterator[int]:
    """Yield the numbers that ``check_random_state(seed)`` draws below 2**31 - 1.

    Numbers of a seed are cached, since making a generator takes longer than learning some hundred
    rows.
    """
    if _is_whole(seed):
        yield from _first_seeds(int(seed))
    random = check_random_state(seed)
    if _is_whole(seed):
        random.randint(2**31 - 1, size=CACHED_SEEDS)
    while True:
        yield int(random.randint(2**31 - 1))


def draw_seed(seed: Any) -> int:
    """Return the first number that ``check_random_state(seed)`` draws below 2**31 - 1."""
    return next(random_seeds(seed))


CACHED_SEEDS = 64  # cached per random_state: more than most calls of fit draw


@functools.lru_cache(maxsize=64)
def _first_seeds(seed: int) -> tuple[int, ...]:
    return tuple(check_random_state(seed).randint(2**31 - 1, size=CACHED_SEEDS).tolist())
