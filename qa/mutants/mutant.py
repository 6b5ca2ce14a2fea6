"""A fault: where it is, what it changes, and a name that lasts."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Mutant:
    """The bytes from ``start`` to ``end`` of a file become ``text``."""

    file: str
    place: str  # the function it is in
    start: int
    end: int
    text: str
    before: str  # the line as it is, and as it would be
    after: str
    count: int = 0  # how many like it come before

    @property
    def id(self):
        """A name that stays the same while the line and its function do, wherever they move."""
        what = "|".join([self.file, self.place, self.before, self.after, str(self.count)])
        return hashlib.sha1(what.encode()).hexdigest()[:8]


def numbered(found):
    """Number faults with equal text in the order of the file."""
    seen = {}
    for each in found:
        key = (each.place, each.before, each.after)
        seen[key] = seen.get(key, -1) + 1
        yield Mutant(**{**vars(each), "count": seen[key]})


def line_with(source, start, end, text):
    """Return the whole lines around a change, before and after it, squeezed."""
    left = source.rfind(b"\n", 0, start) + 1
    right = source.find(b"\n", end)
    right = len(source) if right < 0 else right
    after = source[left:start] + text.encode() + source[end:right]
    return tuple(" ".join(part.decode().split()) for part in (source[left:right], after))
