"""Columns of files as tables of texts."""

import numpy as np
import pytest

from aggro.io.batch import RawRows
from aggro.text.sources import Laid
from aggro.text.table import table_of_rows

WORDS = ["one", "zwei", "", "three words here", "vier", "fünf", "six"]


def strings(words):
    """Return words as bytes with their offsets, and which are missing."""
    encoded = [b"" if word is None else word.encode() for word in words]
    offsets = np.cumsum([0, *map(len, encoded)])
    data = np.frombuffer(b"".join(encoded), np.uint8)
    return (data, offsets), np.array([word is None for word in words])


def documents(texts):
    """Return the texts of a column of any type."""
    if isinstance(texts, Laid):
        pairs = zip(texts.offsets, texts.offsets[1:], strict=False)
        texts = [texts.data[start:end].tobytes() for start, end in pairs]
    else:
        texts = texts.documents
    return [text if isinstance(text, str) else bytes(text).decode() for text in texts]


@pytest.mark.parametrize("gone", [None, 3])
@pytest.mark.parametrize(
    "order",
    [slice(None), slice(2, 5), [0], [3, 4, 5], [0, 2, 5], [6, 5, 4], [1, 3, 2], [2, 2, 2], []],
    ids=str,
)
def test_rows_of_a_file_are_taken_in_any_order(order, gone):
    words = [None if row == gone else word for row, word in enumerate(WORDS)]
    numbers = np.arange(14.0).reshape(7, 2)
    raw = RawRows(
        numbers, ("n", "m"), {"kind": strings(words)}, {"t": strings(words)}, np.arange(7)
    )
    order = order if isinstance(order, slice) else np.array(order, int)
    table, rows = table_of_rows(raw, order), np.arange(7)[order].tolist()
    assert len(table) == len(rows)
    assert documents(table.texts[0]) == [words[row] or "" for row in rows]
    assert np.array_equal(table.numbers, numbers[rows])
    shown = documents(table.categories)
    assert [each == "" for each in shown] == [words[row] is None for row in rows]
