"""Packages that not everybody needs: what they are called, and which extra brings each."""

from importlib import import_module
from typing import Any

PACKAGES = {  # module: the package that holds it, the extra that brings it
    "sklearn": ("scikit-learn", "sklearn"),
    "scipy": ("scipy", "files"),
    "pyarrow": ("pyarrow", "files"),
    "zstandard": ("zstandard", "files"),
    "matplotlib": ("matplotlib", "plot"),
    "onnx": ("onnx", "onnx"),
}


def lacking(module: str, purpose: str) -> ModuleNotFoundError:
    """Return the error that says what is missing and how to get it.

    >>> str(lacking("sklearn.base", "aggro.sweep"))
    "aggro.sweep needs the package scikit-learn: pip install scikit-learn, or 'aggro[sklearn]'"
    """
    top = module.partition(".")[0]
    package, extra = PACKAGES[top]
    return ModuleNotFoundError(
        f"{purpose} needs the package {package}: pip install {package}, or 'aggro[{extra}]'",
        name=top,
    )


def optional(module: str, purpose: str) -> Any:
    """Import a module of an optional package, or say how to get it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise lacking(module, purpose) from error
