"""What becomes of each column of a table or key of JSON objects, the same for all such formats.

number    a column of X of its own, before all others
category  one of the hashed columns, "name=value"
text      one hashed column for each word, "name=word"
hashed    a number in the hashed column "name", a string in "name=value"
ignored   nothing; as a label is where it is not wanted
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from aggro.io.batch import Findings
from aggro.io.contents import Contents
from aggro.io.errors import ReadingError
from aggro.io.options import KINDS, Options

OTHERS = "*"  # with "hashed": the columns that are not named, as JSON objects may have some


@dataclasses.dataclass(frozen=True)
class Plan:
    """What becomes of each column."""

    label: str | None
    weight: str | None
    numbers: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    hashed: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    is_open: bool = False  # other columns are hashed, and those named may be absent

    @classmethod
    def of(cls, kinds: Mapping[str, str], options: Options) -> Plan:
        """Return the plan of a mapping from names to kinds."""

        def those(kind: str) -> tuple[str, ...]:
            return tuple(n for n, k in kinds.items() if k == kind and (n, k) != (OTHERS, "hashed"))

        is_open = kinds.get(OTHERS) == "hashed"
        numbers, categories, texts, hashed, ignored = map(those, KINDS)
        ends = (options.label, options.weight)
        return cls(*ends, numbers, categories, texts, hashed, ignored, is_open)

    @property
    def is_hashed(self) -> bool:
        """Whether any column is."""
        return bool(self.categories or self.texts or self.hashed or self.is_open)

    def width(self, options: Options) -> int:
        """Columns of X: the numbers first, then the hashed ones."""
        return len(self.numbers) + (options.n_hashed if self.is_hashed else 0)

    @property
    def features(self) -> tuple[str, ...]:
        """All columns that are features."""
        return self.numbers + self.categories + self.texts + self.hashed

    @property
    def used(self) -> list[str]:
        """The columns that must be read."""
        wanted = [self.label, self.weight, *self.features]
        return [name for name in dict.fromkeys(wanted) if name is not None]

    def for_table(self, present: Iterable[str], path: str) -> Plan:
        """Return the plan for a table with these columns; one that must be there and is not tells.

        In an open plan, columns that are not named are hashed, and absent ones count as zero.
        """
        present = list(present)
        needed = [self.label, self.weight] if self.is_open else self.used
        absent = [name for name in needed if name is not None and name not in present]
        if absent:
            listed = ", ".join(map(repr, present))
            raise ReadingError(path, f"no column {absent[0]!r}; its columns are {listed}")
        if not self.is_open:
            return self

        def those(names: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(name for name in names if name in present)

        new = tuple(name for name in present if name not in (*self.used, *self.ignored))
        return dataclasses.replace(
            self,
            categories=those(self.categories),
            texts=those(self.texts),
            hashed=those(self.hashed) + new,
        )


def check_names(names: list[str], path: str) -> None:
    """Refuse a table two of whose columns have one name."""
    twice = [name for place, name in enumerate(names) if name in names[:place]]
    if twice:
        raise ReadingError(path, f"two columns are called {twice[0]!r}; rename one of them")


def chosen(
    contents: Mapping[str, Contents], options: Options, path: str, found: Findings
) -> dict[str, str]:
    """Return what becomes of the columns that were asked for, of all that a table has."""
    features: Iterable[str] | None = options.features
    if features is None:
        features = [name for name in contents if name not in (options.label, options.weight)]
    named = (*features, *options.text, *options.categorical)
    wanted: list[Any] = [options.label, options.weight, *named]
    absent = [name for name in wanted if name is not None and name not in contents]
    if absent:
        listed = ", ".join(map(repr, contents))
        raise ReadingError(path, f"no column {absent[0]!r}; its columns are {listed}")
    kinds = with_asked({name: contents[name].kind for name in features}, contents, options, found)
    for name, kind in kinds.items():
        if kind not in KINDS:
            raise ReadingError(
                path,
                f"column {name!r} is of type {kind}; expected numbers or strings",
                "; leave it out by naming the others in {features}",
            )
    return kinds


def with_asked(
    kinds: dict[str, str], contents: Mapping[str, Contents], options: Options, found: Findings
) -> dict[str, str]:
    """Return the kinds with those that were asked for, and note what is odd about the columns.

    Columns without information about a row are ignored if the options say so, unless they were
    named, or nothing else would be left.
    """
    kinds = {
        **kinds,
        **dict.fromkeys(options.text, "text"),
        **dict.fromkeys(options.categorical, "category"),
    }
    for name, each in contents.items():
        is_label = name == options.label
        is_asked_for = name in (*options.text, *options.categorical) or kinds.get(name) == "ignored"
        if name in kinds or (is_label and options.labels == "auto"):
            found.notes += each.remarks(name, is_asked_for=is_asked_for, is_label=is_label)
    if options.uninformative == "keep" or options.features is not None:
        return kinds
    reasons = {
        name: contents[name].reason_to_leave_out()
        for name in kinds
        if name in contents and name not in (*options.text, *options.categorical)
    }
    useless = {name: reason for name, reason in reasons.items() if reason is not None}
    if len(useless) == len([name for name in kinds if name != OTHERS]):
        return kinds
    for name, reason in useless.items():
        found.notes.append(
            f"column {name!r} {reason}; it is left out; name it in {{features}} to learn from it"
        )
    return {**kinds, **dict.fromkeys(useless, "ignored")}
