"""Optional packages and the extras that install them."""

from importlib import import_module
from typing import Any

PACKAGES = {  # module: package that provides it, extra that installs it
    "sklearn": ("scikit-learn", "sklearn"),
    "scipy": ("scipy", "files"),
    "pyarrow": ("pyarrow", "files"),
    "zstandard": ("zstandard", "files"),
    "matplotlib": ("matplotlib", "plot"),
    "onnx": ("onnx", "onnx"),
}


def lacking(module: str, purpose: str) -> ModuleNotFoundError:
    """Return the error for a missing package, with the command that installs it.

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
    """Import a module of an optional package; raise with instructions if it is missing."""
    try:
        return import_module(module)
    except ImportError as error:
        raise lacking(module, purpose) from error
