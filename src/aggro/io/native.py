"""The compiled core, imported when it is first needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def core() -> Any:
    """Import the compiled core.

    >>> core().parse_float(b"2.5")
    2.5
    """
    return import_module("aggro._core")
