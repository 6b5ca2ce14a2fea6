"""Digest of all results, small enough to commit: ``studies/papers/results.json``.

It holds for every printed number our value in each run, for every claim its parts with their
p-values, and the facts that ``docs/which-algorithm.md`` quotes. The summary of the report and that
page are made from it alone.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from studies.papers.claims import Claim, Part, TestedClaim, evaluate_claims
from studies.papers.experiment import Published, Values, read_published
from studies.papers.verdict import Judged, judge

DIGITS = 6


@dataclass(frozen=True)
class Number:
    """A printed number with our values as shown, and under the plain reading where there is one."""

    entry: Published
    values: Values | None
    plain: Values | None = None


@dataclass
class Paper:
    """What was found for one paper."""

    module: ModuleType
    minutes: float = 0.0
    numbers: list[Number] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The folder of the experiment."""
        return self.module.__name__.rpartition(".")[2]

    @property
    def judged(self) -> list[Judged]:
        """The verdicts on all printed numbers."""
        return [self._judge(number.entry, number.values) for number in self.numbers]

    @property
    def judged_plainly(self) -> list[Judged]:
        """The verdicts under the plain reading; numbers that have none keep their values."""
        return [
            self._judge(n.entry, n.values if n.plain is None else n.plain) for n in self.numbers
        ]

    @property
    def tested(self) -> list[TestedClaim]:
        """The verdicts on all claims."""
        return evaluate_claims(self.claims)

    def _judge(self, entry: Published, values: Values | None) -> Judged:
        error = getattr(self.module, "printed_error", lambda entry, values: 0.0)(entry, values)
        other = getattr(self.module, "other_data", lambda entry: False)(entry)
        return judge(entry, values, error, other)


def published(module: ModuleType) -> list[Published]:
    """Return the printed numbers of a paper."""
    return read_published(Path(str(module.__file__)).with_name("published.tsv"))


# -- to and from JSON ---------------------------------------------------------------------------


def write(papers: list[Paper], facts: dict[str, str], path: Path) -> None:
    """Keep what was found, a line for each number and claim, so that changes can be read."""
    head = {paper.name: {"minutes": round(paper.minutes, 1)} for paper in papers}
    lines = [_line({"papers": head})]
    for paper in papers:
        lines += [_line({"paper": paper.name, **_number(number)}) for number in paper.numbers]
        lines += [_line({"paper": paper.name, **_claim(claim)}) for claim in paper.claims]
    lines.append(_line({"facts": facts}))
    path.write_text("\n".join(["[", ",\n".join(lines), "]", ""]), encoding="utf-8")


def read(path: Path, modules: dict[str, ModuleType]) -> tuple[list[Paper], dict[str, str]]:
    """Return what was kept."""
    head, *rows, last = json.loads(path.read_text(encoding="utf-8"))
    papers = {
        name: Paper(modules[name], minutes=about["minutes"])
        for name, about in head["papers"].items()
    }
    entries = {
        (name, *entry.place, entry.measure): entry
        for name, module in modules.items()
        for entry in published(module)
    }
    for row in rows:
        paper = papers[row["paper"]]
        if "says" in row:
            parts = tuple(Part(towards, p) for towards, p in row["parts"])
            paper.claims.append(Claim(row["says"], row["where"], parts, row["found"]))
        else:
            entry = entries[(row["paper"], *row["place"], row["measure"])]
            values, plain = _array(row["values"]), _array(row.get("plain"))
            paper.numbers.append(Number(entry, values, plain))
    return list(papers.values()), last["facts"]


def kept(value: float) -> float:
    """Return a number with the digits that are kept."""
    return float(f"{value:.{DIGITS}g}")


def rounded(number: Number) -> Number:
    """Return a number as it will be read again, so that both give the same report."""
    values, plain = (None if v is None else np.vectorize(kept)(v) if len(v) else v
                     for v in (number.values, number.plain))  # fmt: skip
    return Number(number.entry, values, plain)


def _number(number: Number) -> dict[str, Any]:
    found = {"place": number.entry.place, "measure": number.entry.measure}
    found["values"] = None if number.values is None else number.values.tolist()
    return found if number.plain is None else {**found, "plain": number.plain.tolist()}


def _claim(claim: Claim) -> dict[str, Any]:
    parts = [[part.towards, part.p] for part in claim.parts]
    return {"says": claim.says, "where": claim.where, "found": claim.found, "parts": parts}


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _array(values: list[float] | None) -> Values | None:
    return None if values is None else np.array(values, float)
