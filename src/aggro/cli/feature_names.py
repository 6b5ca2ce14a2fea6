"""Names of features as the data show them."""

from __future__ import annotations

from collections.abc import Iterable

from aggro.cli.reading import SVMLIGHT, Reading
from aggro.io.hashing import by_column


class FeatureNames:
    """The names of a model's features, by their columns in X.

    A hashed column is named by the categories that the model file keeps, such as "city=Oslo", and
    else by its number, such as "#4742".
    """

    def __init__(self, reading: Reading, width: int, names: Iterable[str] = ()) -> None:
        self.reading = reading
        self.numbers: list[str] = []
        if reading.columns is not None:
            self.numbers = [name for name, kind in reading.columns.items() if kind == "number"]
        elif reading.features is not None and len(reading.features) == width:
            self.numbers = list(reading.features)  # all of them are numbers
        self.hashed = by_column(names, reading.hash_bits, len(self.numbers))

    def __getitem__(self, column: int) -> str:
        if column < len(self.numbers):
            return self.numbers[column]
        if column in self.hashed:
            return self.hashed[column]
        reading = self.reading
        if reading.columns is not None or reading.made_by not in (SVMLIGHT, None):
            return f"#{column}"
        return str(column + (reading.zero_based is False))
