"""What a command writes: looked at before it works for long, written whole."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from aggro.atomic import check_writable, replacing_text
from aggro.io.cache import path_for
from aggro.io.sources import STANDARD_INPUT, expand

STANDARD_OUTPUT = "-"


def check_outputs(outputs: Mapping[str, str | None], inputs: Sequence[str] = ()) -> None:
    """Raise unless every output, by its option, can be written and is not an input or another."""
    taken = {_place(path): "what is read" for path in inputs if path != STANDARD_INPUT}
    for option, path in outputs.items():
        if path is None or path == STANDARD_OUTPUT:
            continue
        if option == "--plot":
            from aggro.plot.style import check_picture

            check_picture(path)
        # A good cache is only read, wherever it stands.
        if not (option == "--cache" and Path(path).is_file()) and check_writable(path):
            continue
        place = _place(path)
        if place in taken:
            raise ValueError(
                f"{path} is {taken[place]}, and {option} would replace it; give another name."
            )
        taken[place] = f"written by {option}"


def check_files(
    outputs: Mapping[str, str | None], data: Sequence[str], cache: Any, *others: str
) -> None:
    """Raise unless the data are there and the outputs, the cache included, can be written."""
    files = expand(data)
    stored = None if STANDARD_INPUT in files else path_for(cache, files)
    check_outputs({**outputs, "--cache": stored}, [*files, *others])


def _place(path: str) -> Path:
    return Path(path).resolve()


@contextlib.contextmanager
def opened(path: str | None) -> Iterator[IO[str]]:
    """Open a file for text, or standard output."""
    if path is None or path == STANDARD_OUTPUT:
        yield sys.stdout
        sys.stdout.flush()
        return
    with replacing_text(path) as stream:
        yield stream


def write_report(path: str, report: Any) -> None:
    """Write a report as JSON."""
    with opened(path) as stream:
        stream.write(json.dumps(report, indent=2) + "\n")
