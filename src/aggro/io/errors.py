"""Errors of reading: the place, what is wrong, and what to do, spelled for each interface."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

LIBRARIES = ("pyarrow", "zlib", "_lzma", "lzma", "zstandard", "compression")
OPTION = re.compile(r"\{(\w+)(?:=(\w+))?\}")


def advise(text: str, spelling: Mapping[str, str] | None = None) -> str:
    """Fill in the options that stand in braces, as Python's keywords or by ``spelling``.

    ``spelling`` maps ``name=value`` to the option of an interface. Clauses with other options are
    omitted.

    >>> advise("is missing; pass {missing=zero} to count it as zero")
    "is missing; pass missing='zero' to count it as zero"
    >>> advise("is missing; pass {missing=zero}", {"missing=zero": "--missing-zero"})
    'is missing; pass --missing-zero'
    >>> advise("is missing; pass {missing=zero}", {})
    'is missing'
    """
    clauses = text.split("; ")
    if spelling is not None:
        known = {
            option.group() for option in OPTION.finditer(text) if option.group()[1:-1] in spelling
        }
        clauses = [
            clause
            for clause in clauses
            if all(option.group() in known for option in OPTION.finditer(clause))
        ]
    spelled = _in_python if spelling is None else lambda option: spelling[option.group()[1:-1]]
    return OPTION.sub(spelled, "; ".join(clauses))


def _in_python(option: re.Match[str]) -> str:
    name, value = option.groups()
    if value is None:
        return str(name)
    return f"{name}={value}" if value in ("True", "False") else f"{name}={value!r}"


class ReadingError(ValueError):
    """A file that cannot be read: the place, what is wrong, and what to do.

    >>> from aggro.io import ReadingError
    >>> error = ReadingError("data.csv", "column 'a' is missing", "; pass {missing=zero}")
    >>> str(error)
    "data.csv: column 'a' is missing; pass missing='zero'"
    >>> error.spelled({"missing=zero": "--missing-zero"})
    "data.csv: column 'a' is missing; pass --missing-zero"
    """

    def __init__(self, place: str, message: str, advice: str = "") -> None:
        self.place, self.message, self.advice = place, message, advice
        super().__init__(self.spelled(None))

    def spelled(self, spelling: Mapping[str, str] | None) -> str:
        """Return the message with the options of an interface; None means Python."""
        return f"{self.place}: {self.message}{advise(self.advice, spelling)}"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.place, self.message, self.advice)


class BadLine(ReadingError):
    """A line or row that cannot be read.

    >>> from aggro.io import BadLine
    >>> error = BadLine("data.svm", 3, "'x' is not a number", column=5)
    >>> str(error)
    "data.svm, line 3, column 5: 'x' is not a number"
    >>> error.line
    3
    """

    def __init__(
        self,
        file: str,
        line: int,
        message: str,
        advice: str = "",
        *,
        column: int | None = None,
        unit: str = "line",
    ) -> None:
        self.file = file
        self.line = line
        self.column = column
        self.unit = unit  # Parquet and Arrow files have rows, but no lines
        place = f"{file}, {unit} {line}" + (f", column {column}" if column is not None else "")
        super().__init__(place, message, advice)

    def parts(self) -> list[Any]:
        """Return the arguments of `from_parts`, which JSON can represent."""
        return [self.file, self.line, self.message, self.advice, self.column, self.unit]

    @classmethod
    def from_parts(cls, *parts: Any) -> BadLine:
        """Return the error with these parts."""
        *places, column, unit = parts
        return cls(*places, column=column, unit=unit)

    def __reduce__(self) -> tuple[Any, ...]:
        return BadLine.from_parts, tuple(self.parts())


@contextlib.contextmanager
def naming(file: str) -> Iterator[None]:
    """Add the name of the file to the errors of libraries that decompress and decode.

    >>> with naming("data.gz"):
    ...     raise EOFError("ended too early")
    Traceback (most recent call last):
    aggro.io.errors.ReadingError: data.gz: cannot be read: ended too early
    """
    try:
        yield
    except Exception as error:
        is_nameless = isinstance(error, OSError) and error.filename is None
        library = type(error).__module__.partition(".")[0]
        if not (is_nameless or isinstance(error, EOFError) or library in LIBRARIES):
            raise
        raise ReadingError(file, f"cannot be read: {error}") from error
