"""What goes wrong with a file, said so that it can be mended, in the words of whoever asked."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

LIBRARIES = ("pyarrow", "zlib", "_lzma", "lzma", "zstandard", "compression")
OPTION = re.compile(r"\{(\w+)(?:=(\w+))?\}")


def advise(text: str, face: Mapping[str, str] | None = None) -> str:
    """Fill in the options that an advice names in braces: as Python's keywords, or as a face does.

    A face spells ``name=value`` its own way; what names an option it does not have is left out.

    >>> advise("is missing; pass {missing=zero} to count it as zero")
    "is missing; pass missing='zero' to count it as zero"
    >>> advise("is missing; pass {missing=zero}", {"missing=zero": "--missing-zero"})
    'is missing; pass --missing-zero'
    >>> advise("is missing; pass {missing=zero}", {})
    'is missing'
    """
    clauses = text.split("; ")
    if face is not None:
        known = {option.group() for option in OPTION.finditer(text) if option.group()[1:-1] in face}
        clauses = [
            clause
            for clause in clauses
            if all(option.group() in known for option in OPTION.finditer(clause))
        ]
    spelled = _in_python if face is None else lambda option: face[option.group()[1:-1]]
    return OPTION.sub(spelled, "; ".join(clauses))


def _in_python(option: re.Match[str]) -> str:
    name, value = option.groups()
    if value is None:
        return str(name)
    return f"{name}={value}" if value in ("True", "False") else f"{name}={value!r}"


class ReadingError(ValueError):
    """A file that cannot be read: where, what is wrong (as the file has it), and what to do.

    >>> from aggro.io import ReadingError
    >>> error = ReadingError("data.csv", "column 'a' is missing", "; pass {missing=zero}")
    >>> str(error)
    "data.csv: column 'a' is missing; pass missing='zero'"
    >>> error.told({"missing=zero": "--missing-zero"})
    "data.csv: column 'a' is missing; pass --missing-zero"
    """

    def __init__(self, place: str, message: str, advice: str = "") -> None:
        self.place, self.message, self.advice = place, message, advice
        super().__init__(self.told(None))

    def told(self, face: Mapping[str, str] | None) -> str:
        """Return the whole message, options spelled as a face does."""
        return f"{self.place}: {self.message}{advise(self.advice, face)}"

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
        self.unit = unit  # rows of Parquet and Arrow files have no lines
        place = f"{file}, {unit} {line}" + (f", column {column}" if column is not None else "")
        super().__init__(place, message, advice)

    def parts(self) -> list[Any]:
        """Return what `rebuilt` makes the same error of, as JSON holds it."""
        return [self.file, self.line, self.message, self.advice, self.column, self.unit]

    @classmethod
    def rebuilt(cls, *parts: Any) -> BadLine:
        """Return the error that gave these parts."""
        *places, column, unit = parts
        return cls(*places, column=column, unit=unit)

    def __reduce__(self) -> tuple[Any, ...]:
        return BadLine.rebuilt, tuple(self.parts())


@contextlib.contextmanager
def naming(file: str) -> Iterator[None]:
    """Name the file in errors of the libraries that decompress and decode, which do not know it.

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
