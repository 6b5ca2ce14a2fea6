"""From the columns of a file to the tables that models of texts learn from."""

from __future__ import annotations

from urllib.parse import quote

import numpy as np

from aggro.io.batch import RawRows
from aggro.io.hashing import Buffers
from aggro.learner import Array
from aggro.text.sources import Laid, Listed, Texts
from aggro.text.table import Table


def table_of_rows(raw: RawRows, order: Array | slice = slice(None)) -> Table:
    """Return rows of a file, or some of them, as a table; a missing value is no word."""
    rows = raw.rows[order]
    whole = (
        len(rows) > 0 and len(rows) == rows[-1] - rows[0] + 1 and bool((np.diff(rows) > 0).all())
    )
    which = slice(int(rows[0]), int(rows[-1]) + 1) if whole else rows
    return Table(
        [_texts(*column, which) for column in raw.texts.values()],
        _categories(raw, rows) if raw.categories else None,
        raw.numbers[rows].astype(np.float64) if raw.numbers.shape[1] else None,
        len(rows),
    )


def _texts(strings: Buffers, missing: Array, which: Array | slice) -> Texts:
    data, offsets = strings
    texts = Laid(data, np.asarray(offsets, np.int64)).take(which)
    if not missing[which].any():
        return texts
    places = range(*which.indices(len(missing))) if isinstance(which, slice) else which
    listed = Laid(data, np.asarray(offsets, np.int64)).take(places)
    assert isinstance(listed, Listed)
    pairs = zip(listed.documents, missing[which].tolist(), strict=True)
    return Listed([b"" if gone else text for text, gone in pairs])


def _categories(raw: RawRows, rows: Array) -> Listed:
    columns = []
    for name, ((data, offsets), missing) in raw.categories.items():
        prefix, whole = quote(name, safe=""), data.tobytes()
        values = [whole[offsets[i] : offsets[i + 1]] for i in rows.tolist()]
        columns.append(
            [
                "" if gone else f"{prefix}={quote(value, safe='')}"
                for value, gone in zip(values, missing[rows].tolist(), strict=True)
            ]
        )
    return Listed([" ".join(row) for row in zip(*columns, strict=True)])
