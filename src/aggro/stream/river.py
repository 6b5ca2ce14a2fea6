"""River's protocol beyond learning and predicting. river is never imported here."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator
from typing import Any, TypeVar

Model = TypeVar("Model", bound="RiverProtocol")


class RiverProtocol:
    """Parameters, clones and the flags that river's pipelines and checks use."""

    _river_base = ""
    _supervised = True
    _multiclass = True
    _is_stochastic = False

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """Return the class; river's abstract classes ask for it in each isinstance check.

        It is registered with them here, so river may be imported before or after aggro, and before
        or after the model is made.
        """
        river, own = sys.modules.get("river.base"), type(self)
        if river is not None and hasattr(river, own._river_base):
            getattr(river, own._river_base).register(own)
        return own

    def _get_params(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        raise NotImplementedError

    def clone(
        self: Model, new_params: dict[str, Any] | None = None, include_attributes: bool = False
    ) -> Model:
        """Return a fresh model with the same parameters.

        Parameters
        ----------
        new_params : dict, optional
            Parameters to change.
        include_attributes : bool, default=False
            Keep what was learned.
        """
        if include_attributes and not new_params:
            return copy.deepcopy(self)
        return type(self)(**copy.deepcopy({**self._get_params(), **(new_params or {})}))

    def mutate(self, new_attrs: dict[str, Any]) -> None:
        """Raise: parameters cannot change in the middle of a stream."""
        for name in new_attrs:
            raise ValueError(f"{name!r} is not a mutable attribute of {type(self).__name__}.")

    def __or__(self, other: Any) -> Any:
        from river import compose

        return compose.Pipeline(self, other)

    def __ror__(self, other: Any) -> Any:
        from river import compose

        return compose.Pipeline(other, self)

    @property
    def _mutable_attributes(self) -> set[str]:
        return set()

    @property
    def _tags(self) -> set[str]:
        return set()

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}

    def _unit_test_skips(self) -> set[str]:
        return set()

    @property
    def _raw_memory_usage(self) -> int:
        """Return the bytes of all that was learned."""
        raise NotImplementedError

    @property
    def _memory_usage(self) -> str:
        return f"{self._raw_memory_usage / 2**10:.1f} KiB"
