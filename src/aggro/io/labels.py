"""Labels: are they numbers or names, classes or values; and as NumPy arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice, pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from aggro.io.batch import Batch

LOOKED_AT = 20  # lines, for numbers or names
MOST_LOOKED_AT = 10_000  # labels, for classes or values
MOST_BYTES_HELD = 64 << 20  # of rows, while their labels are looked at
FEW_CLASSES = 20
ROWS_PER_CLASS = 10


# -- classes or values -----------------------------------------------------------------------


def looks_continuous(y: NDArray[Any]) -> bool:
    """Tell targets of a regression from classes: fractions, or whole numbers that rarely repeat.

    >>> looks_continuous(np.array([1.0, 2.0, 1.0])), looks_continuous(np.array([1.0, 2.5]))
    (False, True)
    >>> looks_continuous(np.arange(150) % 15), looks_continuous(np.arange(150))
    (False, True)
    """
    y = np.asarray(y)[:MOST_LOOKED_AT]
    if y.dtype.kind not in "iuf" or not np.isfinite(y).all():
        return False
    if y.dtype.kind == "f" and bool(np.any(y % 1 != 0)):
        return True
    return len(np.unique(y)) > max(FEW_CLASSES, len(y) // ROWS_PER_CLASS)


def first_labels(batches: Iterable[Batch]) -> tuple[NDArray[Any] | None, Iterator[Batch]]:
    """Return the labels to tell a task by, and all the batches; None where rows have several.

    The same labels are looked at for any size of the batches, unless rows are very large.

    >>> batch = Batch(np.ones((2, 1)), np.array([1.0, 0.0]), None)
    >>> y, batches = first_labels(iter([batch, batch]))
    >>> y, sum(batch.n_rows for batch in batches)
    (array([1., 0., 1., 0.]), 4)
    """
    rest = iter(batches)
    held: list[Batch] = []
    labels: list[NDArray[Any]] = []
    count = size = 0
    for batch in rest:
        held.append(batch)
        if not isinstance(batch.y, np.ndarray):  # no labels, or several in a row
            return None, chain(held, rest)
        labels.append(batch.y)
        count += batch.n_rows
        size += sum(getattr(batch.X, name, batch.X).nbytes for name in ("data", "indices"))
        if count >= MOST_LOOKED_AT or size >= MOST_BYTES_HELD:
            break
    together = np.concatenate(labels)[:MOST_LOOKED_AT] if labels else None
    return together, chain(held, rest)


# -- lines of text ---------------------------------------------------------------------------


def guess(data: memoryview, is_vw: bool) -> Literal["number", "text"]:
    r"""Say "text" when none of the first labels is a number, else "number".

    >>> guess(memoryview(b"spam 1:2\nham 3:4\n"), is_vw=False)
    'text'
    """
    found = list(
        islice(filter(None, (_first_label(line, is_vw) for line in _lines(data))), LOOKED_AT)
    )
    return "text" if found and not any(_is_number(label) for label in found) else "number"


def _lines(data: memoryview) -> list[bytes]:
    return bytes(data[: 1 << 16]).split(b"\n")


def _first_label(line: bytes, is_vw: bool) -> bytes:
    if is_vw:
        head, bar, _ = line.partition(b"|")
        head = head.partition(b"\t")[2] if b"\t" in head else head
        words = head.split()
        is_label = (
            bar
            and words
            and not words[0].startswith(b"'")
            and (len(words) > 1 or head[-1:].isspace())
        )
        return words[0] if is_label else b""
    words = line.partition(b"#")[0].split(maxsplit=1)
    return words[0] if words and b":" not in words[0] else b""


def _is_number(label: bytes) -> bool:
    try:
        return bool(np.isfinite([float(part) for part in label.split(b",")]).all())
    except ValueError:
        return False


def as_array(parsed: dict[str, Any]) -> Any:
    """Turn a parser's labels into floats, strings, or a list of tuples where rows have several.

    >>> as_array({"labels": np.array([0, 1, 0]), "names": [b"a", b"b"], "label_begin": None})
    array(['a', 'b', 'a'], dtype='<U1')
    """
    flat: NDArray[Any] = parsed["labels"]
    if flat.dtype != np.float64:
        names = [name.decode("utf-8", "backslashreplace") for name in parsed["names"]]
        flat = np.array(names or [""], dtype=np.str_)[flat]
    begin = parsed["label_begin"]
    if begin is None:
        return flat
    values = flat.tolist()
    return [tuple(sorted(values[start:stop])) for start, stop in pairwise(begin.tolist())]
