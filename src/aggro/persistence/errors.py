"""What goes wrong with a model file."""

from __future__ import annotations


class ModelFileError(ValueError):
    """A model that cannot be saved, or a file that holds none.

    >>> import aggro
    >>> issubclass(aggro.ModelFileError, ValueError)
    True
    """
