"""Labels of text lines: are they numbers or names, and as NumPy arrays."""

from __future__ import annotations

from itertools import islice, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

LOOKED_AT = 20


def guess(data: memoryview, is_vw: bool) -> str:
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
