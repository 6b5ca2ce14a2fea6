"""What becomes of each column of a table: number, category, text, label or weight."""

from __future__ import annotations

import dataclasses
from typing import Any

from aggro.files.errors import optional
from aggro.files.options import Options


@dataclasses.dataclass(frozen=True)
class Plan:
    """What becomes of each column."""

    label: str | None
    weight: str | None
    numbers: tuple[str, ...]
    categories: tuple[str, ...]
    texts: tuple[str, ...]

    @property
    def is_hashed(self) -> bool:
        """Whether any column is."""
        return bool(self.categories or self.texts)

    def width(self, options: Options) -> int:
        """Columns of X: the numbers first, then the hashed ones."""
        return len(self.numbers) + (options.n_hashed if self.is_hashed else 0)

    @property
    def used(self) -> list[str]:
        """The columns that must be read."""
        wanted = [self.label, self.weight, *self.numbers, *self.categories, *self.texts]
        return [name for name in dict.fromkeys(wanted) if name is not None]


def make_plan(schema: Any, options: Options, path: str) -> Plan:
    """Sort the columns of an Arrow schema by what becomes of them."""
    types = optional("pyarrow", "Reading tables").types
    present = list(schema.names)
    features = options.features
    if features is None:
        features = tuple(name for name in present if name not in (options.label, options.weight))
    wanted = [
        name
        for name in (options.label, options.weight, *features, *options.text)
        if name is not None
    ]
    absent = [name for name in wanted if name not in present]
    if absent:
        raise ValueError(
            f"{path}: no column {absent[0]!r}; its columns are {', '.join(map(repr, present))}"
        )
    numbers, categories = [], []
    for name in features:
        kind = schema.field(name).type
        if name in options.text:
            continue
        if _is_number(types, kind):
            numbers.append(name)
        elif _is_string(types, kind):
            categories.append(name)
        else:
            raise ValueError(
                f"{path}: column {name!r} is of type {kind}; expected numbers or strings: "
                "leave it out by naming the others in features=[...]"
            )
    return Plan(options.label, options.weight, tuple(numbers), tuple(categories), options.text)


def _is_number(types: Any, kind: Any) -> bool:
    is_plain = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    return bool(is_plain or types.is_boolean(kind) or types.is_null(kind))


def _is_string(types: Any, kind: Any) -> bool:
    if types.is_dictionary(kind):
        kind = kind.value_type
    return bool(types.is_string(kind) or types.is_large_string(kind))
