"""Text files to models: parsing, learning while parsing, and the binary cache."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from aggro import PassiveAggressiveClassifier, io
from benchmarks.data import split, texts
from benchmarks.peers import error_of, peer, vw_run
from benchmarks.work import Rival, Work

WORDS = 47_000


def works(effort):
    """Write one data set as svmlight and as VW text, and read it in several ways."""
    X, y, *test = split(*texts(effort.rows(50_000), WORDS, 75), test=0.05)
    with tempfile.TemporaryDirectory() as folder:
        svm, vw = Path(folder, "data.svm"), Path(folder, "data.vw")
        write(X, y, svm, vw)
        yield parse(svm, len(y))
        yield learn(svm, vw, len(y), test)
        yield learn_from_cache(svm, vw, X, y, test)


def write(X, y, svm, vw):
    """Write the rows in both formats, with six digits."""
    with svm.open("w") as out, vw.open("w") as other:
        for i, label in enumerate(2 * y - 1):
            line = entries(X, i)
            out.write(f"{label} {line}\n")
            other.write(f"{label} | {line}\n")


def entries(X, i):
    """Return the features of a row as text."""
    part = slice(X.indptr[i], X.indptr[i + 1])
    pairs = zip(X.indices[part] + 1, X.data[part], strict=True)
    return " ".join(f"{index}:{value:.6f}" for index, value in pairs)


def error(test):
    """Return a function for the error rate of a model on held-out rows."""
    return error_of(test[0], 2 * test[1] - 1)


def vw_error(test):
    """Return the same for Vowpal Wabbit."""
    X, y = test

    def measure(model):
        scores = [model.predict(f"| {entries(X, i)}") for i in range(len(y))]
        return float(np.mean((np.array(scores) > 0) != (y > 0)))

    return measure


def learn_file(path, **options):
    """Make one pass over a file."""
    model = PassiveAggressiveClassifier(average=False)
    for X, y, _ in io.read(path, n_features=WORDS, **options):
        model.partial_fit(X, y, classes=[-1, 1])
    return model


def floor_of(path):
    """Read the bytes and count the lines."""
    return lambda: path.read_bytes().count(b"\n")


def rivals(path, arguments, at_least, test):
    """Return Vowpal Wabbit on its format, with as many weights as words."""
    if peer("vowpalwabbit") is None:
        return {}
    run = f"-d {path} --loss_function hinge -b 18 --noconstant {arguments}"
    return {"Vowpal Wabbit": Rival(lambda: vw_run(run), at_least, vw_error(test))}


def parse(svm, rows):
    """Return text to CSR."""
    from sklearn.datasets import load_svmlight_file

    return Work(
        "svmlight text to CSR",
        rows,
        lambda: io.load_svmlight(svm),
        floor=floor_of(svm),
        floor_name="read, count lines",
        at_most=4,
        peers={"scikit-learn": Rival(lambda: load_svmlight_file(str(svm)), 15)},
        memory=True,
    )


def learn(svm, vw, rows, test):
    """Return text to a model, in batches of bounded memory."""
    return Work(
        "svmlight text to model",
        rows,
        lambda: learn_file(svm),
        error=error(test),
        floor=floor_of(svm),
        floor_name="read, count lines",
        at_most=4,
        peers=rivals(vw, "", 2, test),
        memory=True,
    )


def learn_from_cache(svm, vw, X, y, test):
    """Return the same from cached batches."""
    cache, vw_cache = Path(f"{svm}.cache"), Path(f"{vw}.cache")
    learn_file(svm, cache=cache)
    labels = 2 * y - 1
    if others := rivals(vw, f"--cache_file {vw_cache}", 1, test):
        others["Vowpal Wabbit"].run()

    def from_memory():
        return PassiveAggressiveClassifier(average=False).partial_fit(
            X, labels, classes=np.array([-1, 1])
        )

    return Work(
        "binary cache to model",
        len(y),
        lambda: learn_file(svm, cache=cache),
        error=error(test),
        floor=from_memory,
        floor_name="from memory",
        at_most=1.5,
        peers=others,
        memory=True,
    )
