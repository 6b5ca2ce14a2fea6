"""Draw the README's picture: errors and speed relative to peers, from the tables in docs/."""

import re
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from style import BLUE, GREEN, GREY, ORANGE, YELLOW, quiet, save

DOCS = Path(__file__).resolve().parent.parent
PEERS = {  # as the table of docs/studies/tuning.md names them: as they are shown
    "sklearn PA": "scikit-learn PA",
    "sklearn PA, best C": "scikit-learn PA, best C in hindsight",
    "sklearn SGD": "scikit-learn SGD",
    "river PA": "river PA",
    "river logistic": "river logistic regression",
    "Vowpal Wabbit": "Vowpal Wabbit, best of three losses",
}
WORK = {  # as the table of docs/performance.md names it: as it is shown
    "PA-I, sparse, float64": "sparse rows",
    "svmlight text to model": "a text file",
    "SPA-I, sparse, 20 classes": "sparse rows, 20 classes",
    "PA-I, dense, float64": "dense rows",
    "16 values of C, sparse, float32": "16 values of C at once",
    "learn_one, 20 features, new name objects": "a dict (learn_one)",
    "partial_fit, one row of 20 features": "a row (partial_fit)",
}
COLOURS = {"scikit-learn": BLUE, "river": GREEN, "Vowpal Wabbit": YELLOW}


def rows_of(page: str) -> dict[str, list[str]]:
    """Return the rows of the tables of a page by their first cell."""
    lines = (DOCS / page).read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip(" *") for cell in line.split("|")[1:-1]] for line in lines if "|" in line]
    return {row[0]: row[1:] for row in cells if row}


def draw_mistakes(axes: Axes) -> None:
    """Show on how many data sets untuned aggro made fewer mistakes, and more."""
    table = rows_of("studies/tuning.md")
    for height, (peer, name) in enumerate(reversed(PEERS.items())):
        better, level, worse = (int(cell.split()[0]) for cell in table[peer][:3])
        for start, count, colour in (
            (0, better, ORANGE),
            (better, level, "#cccccc"),
            (better + level, worse, GREY),
        ):
            axes.barh(height, count, left=start, color=colour, height=0.62)
        axes.text(0.5, height, f"{better} of {better + level + worse}", color="white", va="center")
        axes.text(0, height + 0.36, name, fontsize=9)
    axes.set(
        yticks=[], xlabel="data sets, one pass", title="Untuned aggro makes fewer mistakes (orange)"
    )
    axes.spines["left"].set_visible(False)


def draw_times(axes: Axes) -> None:
    """Show how many times faster than the peer some kinds of work are."""
    table = rows_of("performance.md")
    ratios = {work: re.findall(r"^(.+?) \**([\d.]+)\**$", table[work][4])[0] for work in WORK}
    fastest_last = sorted(WORK, key=lambda work: float(ratios[work][1]))
    for height, work in enumerate(fastest_last):
        name, (peer, ratio) = WORK[work], ratios[work]
        axes.barh(height, float(ratio), color=COLOURS[peer], height=0.62)
        axes.text(float(ratio) * 1.06, height, f"{ratio}×", va="center")
        axes.text(1.0, height + 0.36, f"{name}, beside {peer}", fontsize=9)
    axes.set(yticks=[], xscale="log", xlim=(1, 90), title="One model learns faster")
    axes.set(xlabel="times faster, one thread")
    axes.set_xticks([1, 2, 5, 10, 20, 50], ["1×", "2×", "5×", "10×", "20×", "50×"])
    axes.minorticks_off()
    axes.spines["left"].set_visible(False)


def main() -> None:
    """Draw the picture."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
    draw_mistakes(quiet(left))
    draw_times(quiet(right))
    save(figure, "at-a-glance")


if __name__ == "__main__":
    main()
