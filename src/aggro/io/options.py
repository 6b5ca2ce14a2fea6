"""The options of a reader, and its errors, whose advice names options."""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import DTypeLike

from aggro.checks import check_choice, check_count
from aggro.io.strings import MOST_HASH_BITS

Format = Literal["svmlight", "vw", "csv", "tsv", "parquet", "arrow", "jsonl"]
FORMATS: tuple[str, ...] = get_args(Format)
UNLIMITED = 2**62
MOST_FEATURES = 2**31 - 1  # of a linear model
KINDS = ("number", "category", "text", "hashed", "ignored", "date", "cycle")  # see columns.py
CHOICES: dict[str, tuple[object, ...]] = {
    "format": (None, *FORMATS),
    "labels": ("auto", "number", "text"),
    "zero_based": ("auto", True, False),
    "missing": ("error", "zero"),
    "unseen": ("error", "ignore"),
    "unlabelled": ("keep", "error"),
    "uninformative": ("keep", "ignore"),
}
COUNTS = ("batch_rows", "batch_bytes", "longest_line", "n_features", "widest")


@dataclasses.dataclass(frozen=True)
class Options:
    """The arguments of `read`.

    >>> Options(hash_bits=20).n_hashed
    1048576
    """

    format: Format | None = None
    label: str | None = None
    weight: str | None = None
    columns: tuple[str, ...] | None = None
    kinds: tuple[tuple[str, str], ...] | None = None
    text: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    uninformative: Literal["keep", "ignore"] = "keep"
    labels: Literal["auto", "number", "text"] = "auto"
    multilabel: bool = False
    header: bool = True
    batch_rows: int | None = None
    batch_bytes: int = 4 << 20
    longest_line: int = 256 << 20
    dtype: np.dtype[Any] = dataclasses.field(default_factory=lambda: np.dtype(np.float64))
    n_features: int | None = None
    unseen: Literal["error", "ignore"] = "error"
    zero_based: bool | Literal["auto"] = "auto"
    hash_bits: int = 18
    missing: Literal["error", "zero"] = "error"
    unlabelled: Literal["keep", "error"] = "keep"
    widest: int | None = None
    skip_bad: bool = False
    raw: bool = False  # X is `RawRows`

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            check_choice(name, getattr(self, name), choices)
        self._check_columns()
        for name, kind in self.kinds or ():
            check_choice(f"columns[{name!r}]", kind, KINDS)
        for name in COUNTS:
            value = getattr(self, name)
            if value is not None:
                check_count(name, value)
        check_count("hash_bits", self.hash_bits, most=MOST_HASH_BITS)
        if self.dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
            raise ValueError(f"dtype={self.dtype}: expected float32 or float64")

    def _check_columns(self) -> None:
        """Raise if a column has two incompatible uses."""
        kinds = dict(self.kinds or ())
        learned = [name for name, kind in kinds.items() if kind != "ignored"]
        uses = {
            "columns": self.columns if self.kinds is None else learned,
            "text": self.text,
            "categorical": self.categorical,
        }
        for use, columns in uses.items():
            if self.label is not None and self.label in (columns or ()):
                raise ValueError(
                    f"{use}={self.label!r} is the column of the label (label={self.label!r}), "
                    "which must not be learned from; leave it out"
                )
        if self.label is not None and self.label == self.weight:
            raise ValueError(
                f"label={self.label!r} and weight={self.weight!r} are one column; name two"
            )
        both = [name for name in self.categorical if name in self.text]
        if both:
            raise ValueError(
                f"categorical={both[0]!r} and text={both[0]!r} are one column; give one of them"
            )

    @classmethod
    def of(
        cls,
        columns: Sequence[str] | Mapping[str, str] | None,
        text: str | Sequence[str],
        categorical: str | Sequence[str],
        dtype: DTypeLike,
        **others: Any,
    ) -> Options:
        """Return the options of arguments of `read`."""

        def several(value: Any) -> Any:
            return (value,) if isinstance(value, str) else None if value is None else tuple(value)

        kinds = tuple(columns.items()) if isinstance(columns, Mapping) else None
        return cls(
            columns=several(columns) if kinds is None else None,
            kinds=kinds,
            text=several(text),
            categorical=several(categorical),
            dtype=np.dtype(dtype),
            **others,
        )

    @property
    def n_hashed(self) -> int:
        """The number of hashed columns."""
        return 1 << self.hash_bits


# -- errors --------------------------------------------------------------------------------------

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
    aggro.io.options.ReadingError: data.gz: cannot be read: ended too early
    """
    try:
        yield
    except Exception as error:
        is_nameless = isinstance(error, OSError) and error.filename is None
        library = type(error).__module__.partition(".")[0]
        if not (is_nameless or isinstance(error, EOFError) or library in LIBRARIES):
            raise
        raise ReadingError(file, f"cannot be read: {error}") from error
