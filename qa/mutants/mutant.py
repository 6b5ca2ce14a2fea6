"""A fault: its location, its change and its stable id."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Mutant:
    """A fault that replaces the bytes from ``start`` to ``end`` of a file by ``text``."""

    file: str
    place: str  # the qualified name of its function
    start: int
    end: int
    text: str
    before: str  # the line without the fault, and with it
    after: str
    count: int = 0  # number of equal faults before it

    @property
    def id(self):
        """Return an id that depends on the line and its function, not on their position."""
        what = "|".join([self.file, self.place, self.before, self.after, str(self.count)])
        return hashlib.sha1(what.encode()).hexdigest()[:8]


def numbered(found):
    """Number equal faults in the order of the file."""
    seen = {}
    for each in found:
        key = (each.place, each.before, each.after)
        seen[key] = seen.get(key, -1) + 1
        yield Mutant(**{**vars(each), "count": seen[key]})


def line_with(source, start, end, text):
    """Return the lines with and without a change, with whitespace collapsed."""
    left = source.rfind(b"\n", 0, start) + 1
    right = source.find(b"\n", end)
    right = len(source) if right < 0 else right
    after = source[left:start] + text.encode() + source[end:right]
    return tuple(" ".join(part.decode().split()) for part in (source[left:right], after))
