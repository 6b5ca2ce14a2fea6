"""The server ``aggro serve``, which predicts and learns over HTTP, and its client.

``pip install 'aggro[serve]'``. docs/serve.md describes its guarantees and their tests.
"""

from importlib import import_module
from typing import Any

_HOMES = {"Client": "aggro.serve.client", "ServerError": "aggro.serve.client"}

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'aggro.serve' has no attribute {name!r}")
    try:
        return getattr(import_module(_HOMES[name]), name)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"aggro.serve.{name} needs {error.name}: pip install 'aggro[serve]'", name=error.name
        ) from error


def __dir__() -> list[str]:
    return sorted(__all__)
