"""Six subsets of 20 Newsgroups, rebuilt by the recipe of UCD's Machine Learning Group.

The recipe draws documents at random from each group, removes stop words, takes Porter's stems,
drops terms in fewer than three documents, and counts. It specifies neither the headers to use nor
what a word is. Of 192 ways to prepare the texts (headers: all, From and Subject, Subject, none;
words: letters and digits, letters, letters with hyphens joined; with and without stems and stop
words; terms in at least 2, 3, 4 or 5 documents) none gives all six printed numbers of terms. The
closest one is used: From and Subject, letters and digits, stems, no stop words, 3 documents.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aggro.datasets.files import files_of, find, unpack
from studies.papers.support_classes.stems import stem

GROUPS = {
    "atheism": "alt.atheism",
    "autos": "rec.autos",
    "baseball": "rec.sport.baseball",
    "christian": "soc.religion.christian",
    "crypt": "sci.crypt",
    "electronics": "sci.electronics",
    "forsale": "misc.forsale",
    "graphics": "comp.graphics",
    "hockey": "rec.sport.hockey",
    "mac": "comp.sys.mac.hardware",
    "med": "sci.med",
    "mideast": "talk.politics.mideast",
    "motor": "rec.motorcycles",
    "politics": "talk.politics.misc",
    "space": "sci.space",
    "windows": "comp.os.ms-windows.misc",
}
_OVERLAPPING_8 = "autos baseball graphics mac med motor politics space"
_OVERLAPPING_7 = "autos baseball electronics med motor politics space"
SUBSETS = {
    "sb-8-1": "autos christian crypt hockey mac mideast space windows",
    "sb-7-1": "atheism autos crypt forsale hockey space windows",
    "ol-8-1": _OVERLAPPING_8,
    "ol-7-1": _OVERLAPPING_7,
    "ob-8-1": _OVERLAPPING_8,
    "ob-7-1": _OVERLAPPING_7,
}
BALANCED = 500  # documents of each class
UNBALANCED = {"ol-8-1": 2388, "ol-7-1": 2586}  # documents in all, as printed
LEAST_DOCUMENTS = 3

ESCAPE = re.compile(r"\\(.)")
MEANT = {"n": "\n", "t": "\t", "r": "\r"}
WORD = re.compile(r"[a-z0-9]{2,}")


def load(name: str) -> tuple[Any, NDArray[np.int64]]:
    """Return the term counts and classes of one subset."""
    groups = [GROUPS[short] for short in SUBSETS[name].split()]
    random = np.random.default_rng(0)
    documents: list[list[str]] = []
    classes: list[int] = []
    for k, (group, size) in enumerate(zip(groups, sizes(name, groups), strict=True)):
        texts = newsgroups()[group]
        documents += [words(texts[i]) for i in random.permutation(len(texts))[:size]]
        classes += [k] * size
    return counts(documents), np.array(classes)


def sizes(name: str, groups: list[str]) -> list[int]:
    """Return the number of documents of each class.

    In the unbalanced sets one class is large. The largest groups hold fewer than 1000 documents,
    so the large class is a whole group, and the others share what remains of the printed total.
    """
    if name not in UNBALANCED:
        return [BALANCED] * len(groups)
    large = max(range(len(groups)), key=lambda k: len(newsgroups()[groups[k]]))
    rest = UNBALANCED[name] - len(newsgroups()[groups[large]])
    share, more = divmod(rest, len(groups) - 1)
    small = iter([share + (i < more) for i in range(len(groups) - 1)])
    return [len(newsgroups()[g]) if k == large else next(small) for k, g in enumerate(groups)]


@lru_cache(maxsize=1)
def newsgroups() -> dict[str, list[str]]:
    """Return the messages of each group, the older ones first."""
    found: dict[str, list[str]] = {group: [] for group in GROUPS.values()}
    for source in sorted(files_of("20news"), key=lambda source: source.part, reverse=True):
        for line in unpack(find(source).read_bytes()).decode("utf-8").split("\n"):
            group, _, text = line.partition("\t")
            if group in found:
                found[group].append(ESCAPE.sub(lambda m: MEANT.get(m[1], m[1]), text))
    return found


@cache
def words(message: str) -> list[str]:
    """Return the stems of a message, in order."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    head, _, body = message.partition("\n\n")
    kept = [line for line in head.split("\n") if line.startswith(("From:", "Subject:"))]
    found = WORD.findall(" ".join([*kept, body]).lower())
    return [stem(word) for word in found if word not in ENGLISH_STOP_WORDS]


def counts(documents: list[list[str]], least: int = LEAST_DOCUMENTS) -> Any:
    """Return the counts of terms that occur in at least ``least`` documents."""
    from scipy.sparse import csr_array

    known = Counter(word for words in documents for word in set(words))
    column = {w: i for i, w in enumerate(sorted(w for w, n in known.items() if n >= least))}
    bags = [Counter(w for w in words if w in column) for words in documents]
    starts = np.cumsum([0, *map(len, bags)])
    indices = np.array([column[w] for bag in bags for w in sorted(bag)], dtype=np.int32)
    data = np.array([bag[w] for bag in bags for w in sorted(bag)], dtype=np.float32)
    return csr_array((data, indices, starts.astype(np.int32)), shape=(len(bags), len(column)))
