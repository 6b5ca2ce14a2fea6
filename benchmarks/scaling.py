"""Growth of time with each size, compared with the expected power."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.sparse as sp

from benchmarks.linear import fit
from benchmarks.work import Effort, best_times


@dataclass
class Curve:
    """Time of a pass over ``rows`` rows against one size."""

    name: str
    power: int  # the expected exponent
    sizes: list[int]
    seconds: list[float]

    def slope(self):
        """Return the exponent over the last decade."""
        last = [i for i, size in enumerate(self.sizes) if size * 10 >= self.sizes[-1]]
        x, y = np.log(self.sizes)[last], np.log(self.seconds)[last]
        return float(np.polyfit(x, y, 1)[0])


def sparse_rows(rows, features, nonzeros, classes=2, seed=0):
    """Return rows with one entry in each of ``nonzeros`` stretches of the features, and classes."""
    rng = np.random.default_rng(seed)
    width = features // nonzeros
    indices = rng.integers(0, width, (rows, nonzeros), np.int32)
    indices += np.arange(nonzeros, dtype=np.int32) * width
    starts = np.arange(rows + 1) * nonzeros
    values = rng.standard_normal(rows * nonzeros) / np.sqrt(nonzeros)
    X = sp.csr_matrix((values, indices.ravel(), starts), shape=(rows, features))
    X.has_sorted_indices = X.has_canonical_format = True
    return X, rng.integers(0, classes, rows)


def kernel_fit(X, y, budget):
    """Make one pass with an rbf kernel."""
    from aggro import KernelPassiveAggressiveClassifier

    model = KernelPassiveAggressiveClassifier(
        budget=budget, gamma=0.1, max_iter=1, tol=None, shuffle=False
    )
    return model.fit(X, y)


def dense_rows(rows, features):
    """Return dense noise, which causes many updates."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((rows, features)), rng.integers(0, 2, rows)


# Sizes: name, expected power, values, and the pass for one value.
AXES = (
    ("rows", 1, (1_000, 10_000, 100_000, 1_000_000), lambda n: (fit, sparse_rows(n, 20_000, 20))),
    (
        "features",
        0,
        (10_000, 100_000, 1_000_000, 10_000_000),
        lambda n: (fit, sparse_rows(100_000, n, 20)),
    ),
    (
        "non-zeros per row",
        1,
        (10, 100, 1_000, 10_000),
        lambda n: (fit, sparse_rows(2_000, 10 * n, n)),
    ),
    ("classes", 1, (3, 30, 300, 3_000), lambda n: (fit, sparse_rows(3_000, 5_000, 20, n))),
    (
        "batch size",
        1,
        (2, 8, 32, 128),
        lambda n: (lambda X, y: fit(X, y, batch_size=n), sparse_rows(4_096, 20_000, 50)),
    ),
    (
        "budget of a kernel",
        1,
        (10, 100, 1_000, 5_000),
        lambda n: (lambda X, y: kernel_fit(X, y, n), dense_rows(10_000, 20)),
    ),
    (
        "features, full metric",
        2,
        (10, 100, 300, 1_000),
        lambda n: (lambda X, y: fit(X, y, metric="full"), dense_rows(50, n)),
    ),
)


def measure(name, power, sizes, make, effort):
    """Time one curve."""
    seconds = []
    for size in sizes:
        learn, (X, y) = make(size)
        best, _ = best_times({"run": partial(learn, X, y)}, effort)
        seconds.append(best["run"])
    return Curve(name, power, list(sizes), seconds)


def plot(curves, path):
    """Draw small multiples with the expected power as a dashed line."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    columns = 4
    figure, grid = plt.subplots(2, columns, figsize=(11, 5), layout="constrained")
    for axes, curve in zip(grid.flat, curves, strict=False):
        sizes, seconds = np.array(curve.sizes), np.array(curve.seconds)
        expected = seconds[-2] * (sizes / sizes[-2]) ** curve.power
        axes.loglog(sizes, expected, "--", color="#999999", label=f"power {curve.power}")
        axes.loglog(sizes, seconds, "o-", color="#0072B2", label="measured")
        axes.set_ylim(seconds.min() / 3, seconds.max() * 3)
        axes.set_title(curve.name, fontsize=10)
        axes.legend(fontsize=7, frameon=False)
        axes.tick_params(which="both", labelsize=7)
    for axes in grid.flat[len(curves) :]:
        axes.set_visible(False)
    for axes in grid[:, 0]:
        axes.set_ylabel("seconds of one pass", fontsize=8)
    figure.savefig(path, dpi=150)


def main(options):
    """Measure, print and draw all curves."""
    effort = Effort(quick=True)
    curves = []
    for name, power, sizes, make in AXES:
        try:
            curve = measure(name, power, sizes, make, effort)
        except ImportError as error:
            print(f"{name}: left out ({error})")
            continue
        curves.append(curve)
        times = "  ".join(
            f"{n}: {t:.3g} s" for n, t in zip(curve.sizes, curve.seconds, strict=True)
        )
        print(f"{name:22} power {curve.slope():.2f} (expected {power})  {times}")
    if options.plot:
        plot(curves, options.plot)
