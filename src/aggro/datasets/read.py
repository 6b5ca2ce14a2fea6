"""Reading files as arrays: svmlight, or texts as hashed bags of words."""

from __future__ import annotations

import io
import re
from array import array
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aggro.datasets.files import Source, files_of, find, unpack
from aggro.io.batch import SparseRows
from aggro.io.strings import hash_names
from aggro.io.svmlight import load_svmlight

BITS = 18  # texts become rows of 2**18 columns
DENSE = 0.5  # rows at least this dense become an ordinary array
WORD = re.compile(r"\w+")
ESCAPE = re.compile(r"\\(.)", re.DOTALL)
MEANT = {"n": "\n", "t": "\t", "r": "\r"}


@dataclass
class Dataset:
    """A data set in memory.

    ``X`` is an array if at least half of the values are nonzero, else a CSR matrix. ``ordered``:
    the rows are in time order and should not be shuffled. Sets without a test part have ``X_test``
    and ``y_test`` None.

    Examples
    --------
    >>> import numpy as np
    >>> from aggro.datasets import Dataset
    >>> Dataset("mine", np.ones((3, 2)), np.array([0, 1, 0]), "binary", ordered=False)
    Dataset('mine', binary, 3 rows x 2 features, dense)
    """

    name: str
    X: Any
    y: NDArray[Any]
    task: str
    ordered: bool
    X_test: Any = None
    y_test: NDArray[Any] | None = None

    @property
    def n_features(self) -> int:
        """Number of columns of X."""
        return int(self.X.shape[1])

    def __repr__(self) -> str:
        rows, test = self.X.shape[0], "" if self.y_test is None else f" + {len(self.y_test)}"
        kind = "dense" if isinstance(self.X, np.ndarray) else "sparse"
        return (
            f"Dataset({self.name!r}, {self.task}, {rows}{test} rows x {self.n_features} features, "
            f"{kind}{', in time order' if self.ordered else ''})"
        )


def load(name: str, *, dtype: Any = np.float64) -> Dataset:
    """Return a data set by name, from AGGRO_DATA, the cache or its public address.

    Texts become bags of words: lower case, each word hashed to one of 2**18 columns,
    log(1 + count), rows of length one.

    Parameters
    ----------
    name : str
        One of ``names()``.
    dtype : float64 or float32
        Type of the features.

    Raises
    ------
    ValueError
        There is no set with this name.
    DataError
        Its files are missing and cannot be downloaded, or have a wrong checksum.

    Examples
    --------
    >>> from aggro import datasets
    >>> datasets.load("irises")
    Traceback (most recent call last):
        ...
    ValueError: There is no data set 'irises'. datasets.names() lists them all.
    >>> "covtype" in datasets.names("multiclass")  # datasets.load("covtype") fetches it
    True
    """
    parts: dict[str, list[tuple[Any, NDArray[Any]]]] = {}
    for source in files_of(name):  # a validation part continues the training part
        part = "test" if source.part == "test" else "train"
        parts.setdefault(part, []).append(read(find(source), source, dtype))
    source = files_of(name)[0]
    (X, y), (X_test, y_test) = _join(parts["train"]), _join(parts.get("test", []))
    if X.nnz >= DENSE * X.shape[0] * X.shape[1]:
        X, X_test = X.toarray(), None if X_test is None else X_test.toarray()
    return Dataset(name, X, y, source.task, source.order == "time", X_test, y_test)


def load_texts(name: str) -> tuple[list[str], NDArray[Any]]:
    """Return the original texts of a set, and their labels; a test part comes last.

    Parameters
    ----------
    name : str
        One of ``names()`` whose files are texts: ``describe(name).kind`` says so.

    Raises
    ------
    ValueError
        There is no set of this name, or it has no texts.
    DataError
        Its files are missing and cannot be downloaded, or have a wrong checksum.

    Examples
    --------
    >>> from aggro import datasets
    >>> datasets.load_texts("a9a")
    Traceback (most recent call last):
        ...
    ValueError: 'a9a' has numbers, not texts; load it with datasets.load.
    >>> datasets.describe("sms-spam").kind  # datasets.load_texts("sms-spam") fetches them
    'text'
    """
    texts: list[str] = []
    labels = []
    for source in files_of(name):
        if source.kind == "svmlight":
            raise ValueError(f"{name!r} has numbers, not texts; load it with datasets.load.")
        contents = unpack(find(source).read_bytes())
        more, theirs = split_texts(contents, escaped=source.kind.startswith("escaped"))
        texts += more
        labels.append(theirs)
    return texts, np.concatenate(labels)


def _join(parts: list[tuple[Any, NDArray[Any]]]) -> tuple[Any, Any]:
    if len(parts) < 2:
        return parts[0] if parts else (None, None)
    from scipy.sparse import vstack

    rows, targets = zip(*parts, strict=True)
    return vstack(rows, format="csr"), np.concatenate(targets)


def read(path: Path, source: Source, dtype: Any = np.float64) -> tuple[Any, NDArray[Any]]:
    """Return the rows and targets of one file."""
    contents = unpack(path.read_bytes())
    if source.kind != "svmlight":
        return read_texts(contents, escaped=source.kind.startswith("escaped"), dtype=dtype)
    stream = io.BytesIO(contents)
    X, y = load_svmlight(stream, n_features=source.features, dtype=dtype, zero_based=False)
    if source.task != "regression" and not np.any(y % 1):
        y = y.astype(np.int64)
    return X, y


def read_texts(
    contents: bytes, *, escaped: bool = False, dtype: Any = np.float64
) -> tuple[Any, NDArray[Any]]:
    r"""Return lines of label, tab, text as hashed bags of words and an array of labels.

    >>> X, y = read_texts(b"ham\tthe cat, the hat\nspam\tA cat wins\n")
    >>> X.shape, y.tolist(), X.nnz
    ((2, 262144), ['ham', 'spam'], 6)
    """
    texts, labels = split_texts(contents, escaped=escaped)
    return bag_of_words(texts, dtype), labels


def split_texts(contents: bytes, *, escaped: bool = False) -> tuple[list[str], NDArray[Any]]:
    r"""Return the texts and the labels of lines of label, tab, text.

    >>> split_texts(b"ham\tthe cat\nspam\tA cat wins\n")[0]
    ['the cat', 'A cat wins']
    """
    labels, texts = [], []
    for line in contents.decode("utf-8").removesuffix("\n").split("\n"):
        label, _, text = line.partition("\t")
        labels.append(label)
        texts.append(ESCAPE.sub(lambda m: MEANT.get(m[1], m[1]), text) if escaped else text)
    return texts, np.array(labels)


def bag_of_words(texts: list[str], dtype: Any = np.float64) -> Any:
    """Return one CSR row of length one per text: log(1 + count) of each hashed word."""
    known: dict[str, int] = {}
    words, ends = array("q"), [0]
    for text in texts:
        words.extend(known.setdefault(word, len(known)) for word in WORD.findall(text.lower()))
        ends.append(len(words))
    indices = np.zeros(0, np.int32)
    if known:
        indices = hash_names(list(known), BITS)[np.frombuffer(words, np.int64)]
    values = np.ones(len(indices), dtype)
    X = SparseRows(values, indices, np.array(ends), (len(ends) - 1, 2**BITS)).to_scipy()
    X.sum_duplicates()
    X.data = np.log1p(X.data)
    rows = np.repeat(np.arange(len(texts)), np.diff(X.indptr))
    lengths = np.sqrt(np.bincount(rows, X.data.astype(np.float64) ** 2, minlength=len(texts)))
    X.data /= lengths[rows].astype(dtype)
    return X
