"""What goes wrong with a file, said so that it can be mended."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class BadLine(ValueError):
    """A line or row that cannot be read.

    >>> error = BadLine("data.svm", 3, "'x' is not a number", column=5)
    >>> str(error)
    "data.svm, line 3, column 5: 'x' is not a number"
    >>> error.line
    3
    """

    def __init__(
        self, file: str, line: int, message: str, *, column: int | None = None, unit: str = "line"
    ) -> None:
        self.file = file
        self.line = line
        self.column = column
        self.message = message
        self.unit = unit  # rows of a table are counted without its header
        place = f"{file}, {unit} {line}" + (f", column {column}" if column is not None else "")
        super().__init__(f"{place}: {message}")

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.file, self.line, self.message, self.column, self.unit)


def _rebuild(file: str, line: int, message: str, column: int | None, unit: str) -> BadLine:
    return BadLine(file, line, message, column=column, unit=unit)


def optional(module: str, purpose: str) -> Any:
    """Import an optional dependency, or say how to get it.

    >>> optional("json", "nothing").dumps(1)
    '1'
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        raise ImportError(
            f"{purpose} needs the package {package}; install it with: pip install 'aggro[files]'"
        ) from error
