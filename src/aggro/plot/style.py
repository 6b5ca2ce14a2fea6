"""Figures, colours, and atomic picture files."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

from aggro.atomic import check_writable, replacing
from aggro.extras import optional

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
MARKERS = "osD^vP*"


def check_picture(path: str | os.PathLike[str]) -> None:
    """Raise unless a figure can be written to the path; call this before long work."""
    _matplotlib()
    _format(path)
    check_writable(path)


def with_unit(measured: str) -> str:
    """Return the name of an error as the label of an axis."""
    return "mistakes, %" if measured == "mistakes" else f"mean {measured}"


def open_figure(
    path: str | os.PathLike[str] | None,
    columns: int = 1,
    figsize: tuple[float, float] = (7.0, 4.2),
) -> tuple[Any, list[Any]]:
    """Return an empty figure and its axes; a figure for a file needs no display."""
    _matplotlib()
    if path is None:
        from matplotlib.pyplot import figure as make
    else:
        check_picture(path)
        from matplotlib.figure import Figure as make  # type: ignore[assignment]  # a class for a function
    figure: Any = make(figsize=figsize, layout="constrained")
    (axes,) = figure.subplots(1, columns, squeeze=False)
    for each in axes:
        each.grid(alpha=0.25)
        each.spines[["top", "right"]].set_visible(False)
    return figure, list(axes)


def close_figure(figure: Any, path: str | os.PathLike[str] | None) -> Any:
    """Save the figure when a path is given; return it."""
    if path is not None:
        drawn = io.BytesIO()
        figure.savefig(drawn, format=_format(path), dpi=150)
        with replacing(path) as stream:
            stream.write(drawn.getbuffer())
    return figure


def _matplotlib() -> None:
    optional("matplotlib", "A picture")


def _format(path: str | os.PathLike[str]) -> str:
    """Return the format of a file name; PNG if it has no suffix."""
    from matplotlib.backend_bases import FigureCanvasBase

    known = FigureCanvasBase.get_supported_filetypes()
    kind = Path(path).suffix[1:].lower() or "png"
    if kind not in known:
        listed = ", ".join(f".{each}" for each in sorted(known))
        raise ValueError(
            f"{os.fspath(path)}: there are no pictures of this kind; a name may end in {listed}."
        )
    return kind
