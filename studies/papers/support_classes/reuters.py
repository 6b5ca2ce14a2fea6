"""The 20 topics of Reuters-21578 that the paper names.

ModApte has exactly the printed 7800 documents with one topic, a title and a body, and the 20 topics
are the most frequent ones among them. The paper does not describe its features; stems and numbers
of title and body, in lower case, give 34532 of them (printed: 34488).
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aggro.datasets import DataError
from aggro.datasets.files import Source, find, unpack
from studies.papers.support_classes.newsgroups import ESCAPE, MEANT, counts
from studies.papers.support_classes.stems import stem

TOPICS = [
    "acq",
    "alum",
    "cocoa",
    "coffee",
    "copper",
    "cpi",
    "crude",
    "earn",
    "gnp",
    "gold",
    "grain",
    "interest",
    "jobs",
    "money-fx",
    "money-supply",
    "reserves",
    "rubber",
    "ship",
    "sugar",
    "trade",
]
TERM = re.compile(r"[0-9][0-9.,]*|[a-z]+")
SOURCE = Source(
    name="reuters21578",
    part="train",
    task="multiclass",
    order="time",
    kind="escaped text",
    rows=21578,
    features=0,
    file="reuters21578/reuters21578.tsv.xz",
    sha256="9bcd31c12aef17ce707ffe06abc70878041b8ae33ac62b808f931719475a890d",
    unpacked_sha256="0332b79429c321d2fedd124bdd00c957feb3527f8ffa57af98c8918fa7d37407",
    address="-",
)


def is_here() -> bool:
    """Return whether the file is available."""
    try:
        find(SOURCE)
    except DataError:
        return False
    return True


def load() -> tuple[Any, NDArray[np.int64]]:
    """Return the term counts and topics."""
    chosen = [row for row in _rows() if _counts_here(row)]
    documents = [_terms(f"{row['title']}\n{row['body']}") for row in chosen]
    return counts(documents, least=1), np.array([TOPICS.index(row["topics"]) for row in chosen])


def _counts_here(row: dict[str, str]) -> bool:
    """Return whether a document of ModApte has one of the topics, a title and a body."""
    apte = row["lewissplit"] in ("TRAIN", "TEST") and row["topics_attr"] == "YES"
    return apte and row["topics"] in TOPICS and bool(row["title"].strip() and row["body"].strip())


def _terms(text: str) -> list[str]:
    return [stem(term) if term.isalpha() else term for term in TERM.findall(text.lower())]


def _rows() -> list[dict[str, str]]:
    head, *lines = unpack(find(SOURCE).read_bytes()).decode("utf-8").rstrip("\n").split("\n")
    names = head.split("\t")
    return [dict(zip(names, map(_plain, line.split("\t")), strict=True)) for line in lines]


def _plain(text: str) -> str:
    return ESCAPE.sub(lambda m: MEANT.get(m[1], m[1]), text)
