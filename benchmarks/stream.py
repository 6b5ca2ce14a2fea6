"""Streams: dicts of 20 named features, learned and predicted one at a time.

Contenders take alternating turns, and the best turn counts, so that other load affects all equally.
``python benchmarks/stream.py``
"""

import time
import warnings

import numpy as np
from river.linear_model import PAClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDClassifier

from aggro.stream.learners import StreamClassifier

ROWS, FEATURES, TURNS, SLOW_ROWS = 1000, 20, 60, 20


def make_stream(shared_names):
    """Return dicts and targets; names are shared objects, or new ones in each dict."""
    random = np.random.default_rng(0)
    names = [f"feature_{j}" for j in range(FEATURES)]
    values = random.normal(size=(ROWS, FEATURES)).tolist()
    answers = (random.random(ROWS) < 0.5).tolist()
    if shared_names:
        return [dict(zip(names, row, strict=True)) for row in values], answers
    return [{f"feature_{j}": v for j, v in enumerate(row)} for row in values], answers


def learns(model, xs, ys):
    """Return a function that learns the stream once."""

    def run():
        for x, y in zip(xs, ys, strict=True):
            model.learn_one(x, y)

    return run


def predicts(model, xs):
    """Return a function that predicts the stream once."""

    def run():
        for x in xs:
            model.predict_one(x)

    return run


def sums(xs):
    """Return a function that sums the values of each dict in plain Python."""

    def run():
        for x in xs:
            total = 0.0
            for value in x.values():
                total += value

    return run


def learns_arrays(xs, ys):
    """Return a function that learns a few rows by scikit-learn's partial_fit, one at a time."""
    rows = [np.array([list(x.values())]) for x in xs[:SLOW_ROWS]]
    model = SGDClassifier(loss="hinge", penalty=None, learning_rate="pa1", eta0=0.01)
    model.partial_fit(rows[0], ys[:1], classes=[False, True])

    def run():
        for x, y in zip(rows, ys[:SLOW_ROWS], strict=True):
            model.partial_fit(x, [y])

    return run


def best_of_turns(runs):
    """Return the best time of each function, in microseconds per example."""
    best = dict.fromkeys(runs, np.inf)
    for _ in range(TURNS):
        for name, (run, rows) in runs.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], (time.perf_counter() - start) / rows * 1e6)
    return best


def main():
    """Print the times and their ratios to aggro's."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    xs, ys = make_stream(shared_names=True)
    copied, _ = make_stream(shared_names=False)
    ours, rivers = StreamClassifier("PA-I", C=0.01), PAClassifier(C=0.01)
    several = StreamClassifier("SPA-I", C=0.01)
    for label in range(10):
        several.learn_one(xs[label], label)
    runs = {
        "aggro learn_one": (learns(ours, xs, ys), ROWS),
        "aggro predict_one": (predicts(ours, xs), ROWS),
        "aggro learn_one, new name objects": (learns(ours, copied, ys), ROWS),
        "aggro predict_one, new name objects": (predicts(ours, copied), ROWS),
        "aggro learn_one, 10 classes": (learns(several, xs, [i % 10 for i in range(ROWS)]), ROWS),
        "plain Python sum of the values": (sums(xs), ROWS),
        "river learn_one": (learns(rivers, xs, ys), ROWS),
        "river predict_one": (predicts(rivers, xs), ROWS),
        "scikit-learn partial_fit, one row": (learns_arrays(xs, ys), SLOW_ROWS),
    }
    best = best_of_turns(runs)
    for name, time_taken in best.items():
        base = best["aggro predict_one" if "predict" in name else "aggro learn_one"]
        print(f"{name:38} {time_taken:9.3f} µs {time_taken / base:9.2f} x")


if __name__ == "__main__":
    main()
