"""Raw rows of a table: parts are joined and rows selected."""

import numpy as np
import pytest

from aggro.io.batch import RawRows, joined_rows


def strings(words):
    """Words as bytes with their offsets, after some bytes of other rows, and which are missing."""
    encoded = [b"" if word is None else word.encode() for word in words]
    data = np.frombuffer(b"##" + b"".join(encoded), np.uint8)
    offsets = 2 + np.cumsum([0, *map(len, encoded)])
    return (data, offsets), np.array([word is None for word in words])


def part(numbers, words):
    table = np.array(numbers, dtype=float).reshape(-1, 1)
    kept = np.arange(len(numbers))
    return RawRows(table, {"n": "number"}, {"c": strings(words)}, {"t": strings(words[::-1])}, kept)


def shown(raw):
    """Each row as its number, its category and its text."""
    rows = []
    for row in raw.rows.tolist():
        found = [raw.numbers[row, 0]]
        for (data, offsets), missing in (raw.categories["c"], raw.texts["t"]):
            word = data[offsets[row] : offsets[row + 1]].tobytes().decode()
            found.append(None if missing[row] else word)
        rows.append(tuple(found))
    return rows


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_joined_parts_have_the_rows_of_each_in_their_order(count):
    words = ["red", "", None, "grün", "blue"]
    rng = np.random.default_rng(count)
    parts = [part(rng.normal(size=5), list(rng.permutation(words))) for _ in range(count)]
    parts = [each[rng.integers(0, 5, 4)] for each in parts]
    joined = joined_rows(parts)
    assert shown(joined) == [row for each in parts for row in shown(each)]
    assert joined.shape == (4 * count, 3) and joined.kinds == {"n": "number"}
    assert shown(joined[::-2]) == shown(joined)[::-2]
