"""Texts to rows: a vectoriser in the core, document frequencies that learn, names of columns."""

from importlib import import_module
from typing import Any

_HOMES = {"HashingVectorizer": "aggro.text.vectorizer"}

__all__ = ["HashingVectorizer"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'aggro.text' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
