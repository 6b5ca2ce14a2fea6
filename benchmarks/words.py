"""Strings to rows and to models: real or generated texts."""

from __future__ import annotations

import csv
import os
import re
import tempfile
from pathlib import Path

import numpy as np

import aggro
from aggro.text import HashingVectorizer
from benchmarks.peers import peer, vw_run
from benchmarks.work import Rival, Work

WORD = re.compile(r"(?u)\b\w\w+\b")
PLAIN = {"keep_names": False, "probability": False}
FIXED = {"ngram_range": (1, 1), "idf": False, "C": 1.0, "metric": "euclidean", "average": False}


def works(effort):
    """Yield the reviews of IMDB in AGGRO_DATA, or random texts."""
    X, y = reviews(effort.rows(25_000))
    cut = len(y) * 9 // 10
    train, test = (X[:cut], y[:cut]), (X[cut:], y[cut:])
    HashingVectorizer().transform(["é"])  # loads the properties of characters once
    yield vectorise(train[0])
    yield vectorise_once(train[0])
    yield learn(train, test)
    yield learn_with_defaults(train, test)
    yield learn_csv(train, test)


def reviews(count):
    """Return texts and their classes."""
    folder = os.environ.get("AGGRO_DATA")
    if folder and Path(folder, "imdb").is_dir():
        from studies.accuracy.texts import load

        X, y = load("imdb")
        order = np.random.default_rng(0).permutation(len(y))[:count]
        return [X[i] for i in order], y[order]
    rng = np.random.default_rng(0)
    words = np.array([f"w{i:x}" for i in rng.integers(0, 16**7, 50_000)])
    chance = 1.0 / np.arange(1, 50_001)
    y = rng.integers(0, 2, count)
    shift = rng.permutation(50_000)
    X = []
    for label in y:
        drawn = rng.choice(50_000, 230, p=chance / chance.sum())
        X.append(" ".join(words[shift[drawn] if label else drawn]))
    return X, y


def vectorise(X):
    """Return strings to CSR, with the columns and values of scikit-learn."""
    from sklearn.feature_extraction.text import HashingVectorizer as Theirs

    return Work(
        "texts to CSR",
        len(X),
        lambda: HashingVectorizer().transform(X),
        peers={"scikit-learn": Rival(lambda: Theirs().transform(X), 10)},
    )


def vectorise_once(X):
    """Return strings to rows weighted by idf in one pass; the recipe needs all texts first."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    def recipe():
        return TfidfVectorizer(stop_words="english", max_df=0.7).fit_transform(X)

    def ours():
        made = HashingVectorizer(stop_words="english", max_df=0.7, idf=True)
        return made.partial_fit_transform(X)

    peers = {"scikit-learn": Rival(recipe, 10)}
    return Work("texts to CSR, idf and stop words", len(X), ours, peers=peers)


def error(test):
    """Return a function for the error rate of a model on held-out texts."""
    return lambda model: float(np.mean(model.predict(test[0]) != test[1]))


def learn(train, test):
    """Return strings to one model: the same rule on the same rows."""
    from sklearn.feature_extraction.text import HashingVectorizer as Theirs
    from sklearn.linear_model import SGDClassifier
    from sklearn.pipeline import make_pipeline

    X, y = train

    def pipeline():
        rule = SGDClassifier(learning_rate="pa1", eta0=1.0, penalty=None, random_state=0)
        return make_pipeline(Theirs(), rule).fit(X, y)

    peers = {"scikit-learn": Rival(pipeline, 8, error(test))}
    if peer("vowpalwabbit") is not None:
        peers["Vowpal Wabbit"] = Rival(vw(X, y), 1)

    def run():
        return aggro.TextClassifier(**FIXED, **PLAIN, max_iter=1, tol=None).fit(X, y)

    return Work("texts to model", len(y), run, error(test), peers=peers, tolerance=0.05)


def vw(X, y):
    """Return Vowpal Wabbit on split words, from a file in memory."""
    folder = tempfile.TemporaryDirectory()  # kept alive by the returned function
    path = Path(folder.name, "words.vw")
    lines = (
        f"{2 * label - 1} | {' '.join(WORD.findall(text.lower()))}\n"
        for text, label in zip(X, y, strict=True)
    )
    path.write_text("".join(lines), encoding="utf-8")
    return lambda folder=folder: vw_run(f"-d {path} --loss_function hinge -b 20")


def learn_with_defaults(train, test):
    """Return strings to a model with default settings."""
    X, y = train
    return Work(
        "texts to model, default settings",
        len(y),
        lambda: aggro.TextClassifier(max_iter=1, tol=None).fit(X, y),
        error(test),
        memory=True,
    )


def learn_csv(train, test):
    """Return csv to one model, compared with the same texts in memory."""
    from aggro.cli import main

    X, y = train
    folder = tempfile.TemporaryDirectory()
    path, model = Path(folder.name, "reviews.csv"), Path(folder.name, "model.aggro")
    with path.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows([("label", "text"), *zip(y.tolist(), X, strict=True)])
    options = "--ngrams 1,1 --idf no --C 1 --metric euclidean --average 0 --quiet"
    line = f"train {path} --label label --text text -o {model} {options}"

    def run(folder=folder):
        main(line.split())

    def floor():
        aggro.TextClassifier(**FIXED).partial_fit(X, y)

    name = "from memory"
    return Work("csv of texts to model", len(y), run, floor=floor, floor_name=name, at_most=1.67)
