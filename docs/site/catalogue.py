"""Write the catalogue page: each published variant with its problem, paper and picture.

The problem that a variant solves is derived from its keywords in ``aggro.variants``.
"""

import inspect
from pathlib import Path
from typing import Any

import numpy as np

import aggro
from aggro.variants import Variant

PENALTY = {
    "hard": "", "hinge": " + C·ξ", "squared_hinge": " + C·ξ²", "least_squares": " + C·ξ²",
    "epsilon_insensitive": " + C·ξ", "squared_epsilon_insensitive": " + C·ξ²",
}  # fmt: skip
CONSTRAINT = {
    "support": "s_y − s_v ≥ 1{xi} for every wrong class v",
    "top": "s_y − s_v ≥ 1{xi} for the best wrong class v",
    "ovr": "y·f(x) ≥ 1{xi}",
}
OWN = {  # problems that are not combinations of axes
    "Perceptron": "none: a fixed step after a mistake",
    "AROW": "minimise KL(N(w, Σ) ‖ N(w_t, Σ_t)) + (ξ² + x'Σx)/2r, ξ = max(0, 1 − y·f(x))",
    "AROWR": "minimise KL(N(w, Σ) ‖ N(w_t, Σ_t)) + (ξ² + x'Σx)/2r, ξ = max(0, |y − f(x)| − ε)",
    "CW": "minimise KL(N(w, Σ) ‖ N(w_t, Σ_t)) subject to y·f(x) ≥ φ·x'Σx",
    "CW-stdev": "minimise KL(N(w, Σ) ‖ N(w_t, Σ_t)) subject to y·f(x) ≥ φ·√(x'Σx)",
    "SCW-I": "minimise KL(N(w, Σ) ‖ N(w_t, Σ_t)) + C·ξ subject to y·f(x) ≥ φ·√(x'Σx) − ξ",
    "SCW-II": "minimise KL(N(w, Σ) ‖ N(w_t, Σ_t)) + C·ξ² subject to y·f(x) ≥ φ·√(x'Σx) − ξ",
}
COEFFICIENTS = ("C", "r", "eta", "epsilon", "class_mean", "queue", "batch_size", "kernel", "gamma",
          "degree", "coef0", "budget", "budget_strategy", "metric")  # fmt: skip
BLUE, ORANGE, YELLOW, GREY = "#0072B2", "#D55E00", "#E69F00", "#777777"
GREEN = "#009E73"


def problem(row: Variant) -> str:
    """Return the optimisation problem of one example (or one batch) as text.

    >>> from aggro.variants import find
    >>> problem(find("PA-II"))
    'minimise ½‖w − w_t‖² + C·ξ² subject to s_y − s_v ≥ 1 − ξ for the best wrong class v'
    """
    if row.name in OWN:
        return OWN[row.name]
    params: dict[str, Any] = {**defaults(row), **row.params}
    metric = "_Σ⁻¹" if params.get("metric", "euclidean") != "euclidean" else ""
    distance = f"½‖w − w_t‖²{metric}"
    if params.get("class_mean"):
        distance += " + (γ/2)‖w − m‖²"
    xi = "" if params["loss"] == "hard" else " − ξ"
    if row.estimator.endswith("Regressor"):
        constraint = f"|y − f(x)| ≤ ε{xi.replace('−', '+')}"
    elif params["loss"] == "least_squares":
        constraint = "y·f(x) = 1 − ξ"
    else:
        constraint = CONSTRAINT[params["multiclass"]].format(xi=xi)
    batch = ", for each example of the batch" if params.get("batch_size", 1) > 1 else ""
    if params.get("queue", 1) > 1:
        batch += "; w_t is the mean of the last Q classifiers"
    return f"minimise {distance}{PENALTY[params['loss']]} subject to {constraint}{batch}"


def defaults(row: Variant) -> dict[str, Any]:
    """Return the defaults of the estimator of a variant."""
    parameters = inspect.signature(getattr(aggro, row.estimator)).parameters.values()
    return {each.name: each.default for each in parameters}


def text_of(value: Any) -> str:
    """Return the value of a keyword as Python source."""
    return f'"{value}"' if isinstance(value, str) else str(value)


def entry(row: Variant) -> str:
    """Return the section of one variant."""
    keywords = ", ".join(f"{name}={text_of(value)}" for name, value in row.params.items())
    given = f" with `{keywords}`" if keywords else ""
    free = [name for name in COEFFICIENTS if name in defaults(row) and name not in row.params]
    free_names = ", ".join(f"`{name}`" for name in free) or "nothing"
    return f"""
### {row.name}

::::{{grid}} 1 1 2 2
:gutter: 2

:::{{grid-item}}
:columns: 12 12 4 4
![{row.name} after one pass over noisy data](images/variants/{row.name}.png)
:::

:::{{grid-item}}
:columns: 12 12 8 8
- **Problem:** {problem(row)}
- **Equation:** {row.rule}
- **Paper:** {row.paper}
- **Estimator:** [`{row.estimator}`](reference/aggro.{row.estimator}.rst){given}
- **Free parameters:** {free_names}
- **Name:** `aggro.from_name("{row.name}")`
:::
::::
"""


def page() -> str:
    """Return the page: one section per paper, in the order of the table."""
    parts = [
        "# Catalogue of variants\n",
        f"This page lists the {len(aggro.catalogue())} published variants. `aggro.catalogue()` "
        'returns the same table, and `aggro.from_name("SPA-II", C=0.1)` makes an estimator. Each '
        "picture shows a model after one pass over noisy data: two classes, three classes for "
        "multiclass variants, or a regression. [The algorithms](algorithms.md) describes the "
        "methods.\n",
    ]
    for paper in dict.fromkeys(row.paper for row in aggro.catalogue()):
        parts.append(f"\n## {paper}\n")
        parts += [entry(row) for row in aggro.catalogue() if row.paper == paper]
    return "\n".join(parts)


# -- pictures ------------------------------------------------------------------------------------


def clouds(classes: int, count: int = 150, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return noisy clouds: two of different scale, or three around a circle."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, count)
    angle = 2 * np.pi * y / classes + 0.5
    X = 1.6 * np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(size=(count, 2)) * 0.8
    noisy = rng.random(count) < 0.05
    y[noisy] = rng.integers(0, classes, noisy.sum())
    return X, y


def rings(count: int = 150, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return a cloud inside of a ring."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, count)
    angle, radius = rng.uniform(0, 2 * np.pi, count), 0.8 + 1.6 * y + 0.35 * rng.normal(size=count)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), y


def draw_regions(axes: Any, model: Any, X: np.ndarray, y: np.ndarray) -> None:
    """Show the regions of the classes after one pass, and the examples."""
    model.partial_fit(X, y)
    side = np.linspace(-3.5, 3.5, 80)
    grid = np.stack(np.meshgrid(side, side), axis=-1)
    predicted = model.predict(grid.reshape(-1, 2)).reshape(80, 80)
    colours = [BLUE, ORANGE, GREEN]
    axes.contourf(side, side, predicted, levels=[-0.5, 0.5, 1.5, 2.5], colors=colours, alpha=0.25)
    for label, marker in zip(np.unique(y), "o^s", strict=False):
        axes.plot(*X[y == label].T, marker, color=colours[label], ms=2.5)
    axes.set(xlim=(-3.5, 3.5), ylim=(-3.5, 3.5))


def draw_line(axes: Any, model: Any) -> None:
    """Show the line that a regressor learns in one pass, with its tube."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, 120)
    y = 1.5 * x + 0.4 + 0.25 * rng.normal(size=120)
    model.partial_fit(x[:, None], y)
    across = np.array([-1.0, 1.0])
    predicted = model.predict(across[:, None])
    axes.plot(x, y, "o", color=GREY, ms=2.5)
    axes.plot(across, predicted, color=ORANGE, lw=2)
    axes.fill_between(across, predicted - 0.1, predicted + 0.1, color=ORANGE, alpha=0.3, lw=0)


def draw_variant(axes: Any, row: Variant) -> None:
    """Draw the picture of one variant."""
    params = {"C": 0.5} if "C" in defaults(row) else {}
    model = row.make(**params)
    if row.estimator.endswith("Regressor"):
        draw_line(axes, model)
    elif row.estimator.startswith("Kernel"):
        draw_regions(axes, model, *rings())
    else:
        several = row.name.startswith(("MPA", "SPA"))
        draw_regions(axes, model, *clouds(3 if several else 2))
    axes.set(xticks=[], yticks=[])


def draw(folder: Path) -> None:
    """Write missing pictures."""
    from matplotlib.figure import Figure

    folder.mkdir(parents=True, exist_ok=True)
    for row in aggro.catalogue():
        path = folder / f"{row.name}.png"
        if not path.exists():
            figure = Figure(figsize=(2.4, 1.8), layout="constrained")
            draw_variant(figure.subplots(), row)
            figure.savefig(path, dpi=100)
