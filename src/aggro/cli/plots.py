"""Learning curves as pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aggro.cli.watch import Line

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = "osD^vP*"


def draw_curves(curves: Mapping[str, Sequence[Line]], regression: bool, path: str) -> None:
    """Draw the loss so far of each learner against the examples seen."""
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError(
            "--plot needs the package matplotlib; install it with: pip install 'aggro[plot]'"
        ) from error
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7.5, 4.5), layout="constrained")
    scale = 1.0 if regression else 100.0
    for number, (name, lines) in enumerate(curves.items()):
        colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
        seen, losses = zip(*((line.examples, scale * line.so_far) for line in lines), strict=True)
        axes.plot(seen, losses, marker=marker, ms=4, color=colour, label=name)
    if lines:
        axes.axhline(scale * lines[-1].baseline, color="#999999", ls="--", label="constant")
    axes.set_xscale("log", base=2)
    axes.set_xlabel("examples seen (each predicted first, then learned)")
    axes.set_ylabel("mean loss so far" if regression else "mistakes so far, %")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)
    plt.close(figure)
