"""Helpers of the text tests: texts, a table, comparison of models."""

import numpy as np

WORDS = {
    "spam": ["free", "money", "win", "cash", "now", "click", "offer", "prize", "buy", "cheap"],
    "ham": [
        "lunch",
        "meeting",
        "tomorrow",
        "report",
        "thanks",
        "home",
        "friend",
        "late",
        "call",
        "dinner",
    ],
    "report": [
        "election",
        "minister",
        "market",
        "weather",
        "police",
        "court",
        "budget",
        "storm",
        "vote",
        "city",
    ],
}
SHARED = ["the", "a", "of", "and", "to", "in", "is", "you", "that", "it"]


def texts(count, classes=("ham", "spam"), seed=0):
    rng = np.random.default_rng(seed)
    y = rng.choice(classes, count)
    X = []
    for label in y:
        own = rng.choice(WORDS[str(label)], rng.integers(1, 4))
        other = rng.choice(WORDS[str(rng.choice(classes))], 1)
        X.append(" ".join(rng.permutation([*own, *other, *rng.choice(SHARED, 6)])))
    return X, y


def same(a, b, X):
    return (
        np.array_equal(a.decision_function(X), b.decision_function(X))
        and np.array_equal(a.predict_proba(X), b.predict_proba(X))
        and a.n_mistakes_ == b.n_mistakes_
        and a.best_params_ == b.best_params_
        and all(a.top_words(label) == b.top_words(label) for label in a.classes_.tolist())
    )


COLUMNS = {"title": "text", "body": "text", "cost": "number", "shop": "category"}


def table(count, seed=0):
    X, y = texts(count, seed=seed)
    rng = np.random.default_rng(seed)
    cost = np.where(y == "spam", 10.0, 100.0) * rng.uniform(0.5, 2.0, count)
    shop = np.where(y == "spam", "the bazaar", "corner").tolist()
    titles = [" ".join(text.split()[:3]) for text in X]
    return {"title": titles, "body": X, "cost": cost, "shop": shop}, y
