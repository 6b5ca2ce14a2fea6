"""Search for the preparation of the newsgroup sets.

``python -m studies.papers.support_classes.preparations`` prints the number of terms in the six
sets for 192 ways to extract features, next to the printed numbers, the closest first. It also
prints the effect of other random documents and, in the unbalanced sets, of another large class. It
is not part of ``make papers``; it only justifies ``newsgroups.words``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np

from studies.papers.experiment import read_published
from studies.papers.support_classes.newsgroups import (
    GROUPS,
    LEAST_DOCUMENTS,
    SUBSETS,
    UNBALANCED,
    newsgroups,
    sizes,
)
from studies.papers.support_classes.stems import stem

Document = tuple[str, int]
HEADERS: dict[str, Callable[[str], bool]] = {
    "all headers": lambda line: True,
    "From, Subject": lambda line: line.startswith(("From:", "Subject:")),
    "Subject": lambda line: line.startswith("Subject:"),
    "no headers": lambda line: False,
}
WORDS: dict[str, Callable[[str], list[str]]] = {
    "letters, digits": lambda text: re.findall(r"[a-z0-9]{2,}", text),
    "letters": lambda text: re.findall(r"[a-z]{2,}", text),
    "letters, hyphens joined": lambda text: _joined(text),
}
LEAST = (2, 3, 4, 5)
DRAWS = 6


def _joined(text: str) -> list[str]:
    pieces = re.split(r"[^a-z0-9.'-]+", text)
    joined = (re.sub(r"[^a-z]", "", p) for p in pieces if not re.search(r"[0-9]", p))
    return [word for word in joined if len(word) > 1]


@cache
def terms(document: Document, headers: str, words: str) -> frozenset[str]:
    """Return the words of a message."""
    group, number = document
    head, _, body = newsgroups()[group][number].partition("\n\n")
    kept = [line for line in head.split("\n") if HEADERS[headers](line)]
    return frozenset(WORDS[words](" ".join([*kept, body]).lower()))


def drawn(name: str, seed: int = 0, counts: list[int] | None = None) -> list[Document]:
    """Return documents of a set; seed 0 without ``counts`` gives those that are learned."""
    groups, random = [GROUPS[short] for short in SUBSETS[name].split()], np.random.default_rng(seed)
    found: list[Document] = []
    for group, size in zip(groups, counts or sizes(name, groups), strict=True):
        rows = random.permutation(len(newsgroups()[group]))[:size]
        found += [(group, int(row)) for row in rows]
    return found


def with_large(name: str, large: int) -> list[int]:
    """Return the class sizes of an unbalanced set of which one class is a whole group."""
    groups = [GROUPS[short] for short in SUBSETS[name].split()]
    whole = len(newsgroups()[groups[large]])
    share, more = divmod(UNBALANCED[name] - whole, len(groups) - 1)
    others = iter([share + (i < more) for i in range(len(groups) - 1)])
    return [whole if k == large else next(others) for k in range(len(groups))]


def numbers(bags: list[frozenset[str]], stems: bool, stop: bool) -> dict[int, int]:
    """Return the numbers of terms that occur in at least 2, 3, 4 and 5 documents."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    count: Counter[str] = Counter()
    for bag in bags:
        words = (w for w in bag if not (stop and w in ENGLISH_STOP_WORDS))
        count.update({stem(w) if stems else w for w in words})
    return {least: sum(n >= least for n in count.values()) for least in LEAST}


def tried(printed: dict[str, int]) -> Iterator[tuple[float, str, list[float]]]:
    """Yield each preparation with its deviations from the printed numbers, mean and per set."""
    documents = {name: drawn(name) for name in printed}
    for headers, words, stems, stop in product(HEADERS, WORDS, (True, False), (True, False)):
        found = {
            name: numbers([terms(d, headers, words) for d in documents[name]], stems, stop)
            for name in printed
        }
        for least in LEAST:
            off = [found[name][least] / printed[name] - 1 for name in printed]
            way = [headers, words, "stems" if stems else "words"]
            way += ["no stop words" if stop else "all words", f"in {least} documents"]
            yield float(np.mean(np.abs(off))), "; ".join(way), off


def as_learned(documents: list[Document]) -> int:
    """Return the number of terms with the preparation of ``newsgroups.words``."""
    bags = [terms(document, "From, Subject", "letters, digits") for document in documents]
    return numbers(bags, stems=True, stop=True)[LEAST_DOCUMENTS]


def main() -> None:
    """Print all preparations, then other draws, then other large classes."""
    published = read_published(Path(__file__).with_name("published.tsv"))
    printed = {
        e.row: int(e.value) for e in published if e.column == "features" and e.row in SUBSETS
    }
    print("mean", *printed, sep="\t")
    for mean, way, off in sorted(tried(printed)):
        print(f"{mean:.1%}", *(f"{o:+.1%}" for o in off), way, sep="\t")
    for name, number in printed.items():
        off = [as_learned(drawn(name, seed)) / number - 1 for seed in range(DRAWS)]
        print(f"{name}, {DRAWS} draws: {np.mean(off):+.1%}, deviation {np.std(off, ddof=1):.1%}")
    for name in UNBALANCED:
        for large, group in enumerate(SUBSETS[name].split()):
            count = as_learned(drawn(name, counts=with_large(name, large)))
            print(f"{name}, {group} large: {count / printed[name] - 1:+.1%}")


if __name__ == "__main__":
    main()
