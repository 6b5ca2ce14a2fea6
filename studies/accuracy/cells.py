"""The cells of the study, one JSON file each, so that a run continues where it was stopped."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import product
from pathlib import Path
from typing import Any

from studies.accuracy import ours, peers
from studies.accuracy.data import ORDERS, listed, problem

ROOT = Path(__file__).resolve().parents[2]
METHODS = ours.METHODS | peers.METHODS
FEWER = ours.ORDERS | peers.ORDERS


def path_of(folder: str | Path, name: str, method: str, order: int) -> Path:
    """Return the file of a cell."""
    return Path(folder) / name / f"{method.replace(' ', '-').replace('=', '')}.{order}.json"


def read(folder: str | Path, name: str, method: str) -> list[dict[str, Any]]:
    """Return the results of all orders that were run."""
    paths = [path_of(folder, name, method, order) for order in range(ORDERS)]
    return [json.loads(path.read_text()) for path in paths if path.exists()]


def forget(folder: str | Path, names: list[str], methods: list[str]) -> None:
    """Remove the cells of some sets and methods, to be run again."""
    for name, method, order in product(names, methods, range(ORDERS)):
        path_of(folder, name, method, order).unlink(missing_ok=True)


def run_set(
    folder: str | Path, name: str, methods: list[str], orders: Iterable[int]
) -> tuple[str, int]:
    """Run the missing cells of one set for some orders."""
    missing = [
        (method, order)
        for order in orders
        for method in methods
        if order < FEWER.get(method, ORDERS) and not path_of(folder, name, method, order).exists()
    ]
    for method, order in missing:
        p = problem(name)
        if order >= len(p.orders):
            continue
        begin = time.perf_counter()
        result = METHODS[method](p, order) | {"seconds": 0.0}
        result["seconds"] = round(time.perf_counter() - begin, 3)
        path = path_of(folder, name, method, order)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(result))
    if missing:
        p = problem(name)
        about = {"rows": p.rows, "features": p.X.shape[1], "classes": p.classes, "task": p.task}
        about["ordered"] = len(p.orders) == 1
        (Path(folder) / name / "about.json").write_text(json.dumps(about))
    return name, len(missing)


def run(
    folder: str | Path, names: list[str], methods: list[str], orders: Iterable[int], jobs: int = 2
) -> None:
    """Run all missing cells over some processes: the first order of all sets first."""
    with ProcessPoolExecutor(jobs) as pool:
        work = {
            pool.submit(run_set, folder, name, methods, [order]): (order, name)
            for order in orders
            for name in names
        }
        for done in as_completed(work):
            order, name = work[done]
            try:
                count = done.result()[1]
            except OSError as error:
                print(f"left out: {error}", flush=True)
                continue
            if count:
                print(f"order {order}: {name} ({count} cells)", flush=True)


__all__ = ["METHODS", "listed", "read", "run"]
