"""The report of a small experiment, the committed one, and the printed numbers of all papers."""

import importlib
import io
import json
import re
import warnings
from contextlib import redirect_stdout
from dataclasses import replace

import pytest

from studies.papers import __main__ as command
from studies.papers import digest, report, runner, which
from studies.papers.claims import Part, evaluate_claims
from studies.papers.experiment import Results, read_published
from studies.papers.progress import Progress
from studies.papers.store import ROOT, Store
from studies.papers.summary import summary


def finish(module, store, quick=False):
    tasks = runner.unfinished([(module, store)], quick, ())
    with redirect_stdout(io.StringIO()), Progress(len(tasks)) as progress:
        runner.run(tasks, 1, progress)


@pytest.fixture
def written(toy, tmp_path):
    """Run the toy experiment; return its report."""
    module = toy.module
    store = Store(module, tmp_path / "build")
    finish(module, store)
    return report.write([(module, store)], False, tmp_path / "out").read_text()


def test_report_contains_all_results(written, tmp_path):
    lines = written.splitlines()
    total = next(line for line in lines if line.startswith("| **all**"))
    assert total == "| **all** | 2 | 0 | 1 | 1 | 0 | 0 | 1 |  |  |  |"
    assert "**inside for 0, clearly better for 1 and clearly worse for 1**" in written
    name = next(line for line in lines if "A toy paper" in line)
    assert name.endswith("| 1 | small, large | lost | the gap |")
    assert "half the error | 0 / 1 / 1 / 0 | 0 / 1 / 1 / 0 |" in written
    assert "# A toy paper" in lines
    assert "| A larger gap helps | Table 1 | seen | 2 / 0 / 0 | **holds** |" in lines
    small = next(line for line in lines if line.startswith("| small | 0.0010<br>"))
    assert small.endswith("▼ |")
    assert "0.1000 ± 0.02<br>–" in written
    assert "*1.50*" in written
    assert "- Table 1, small, PA: The gap is smaller here." in lines
    assert "not complete" not in written.lower()
    images = list((tmp_path / "out" / "images").iterdir())
    assert [image.name.endswith("-errors.png") for image in images] == [True]
    assert f"](images/{images[0].name})" in written


def test_summary_first_then_pages_then_tables(written):
    heads = [line for line in written.splitlines() if line.startswith("# ")]
    assert heads == ["# Reproduction of five papers", "# A toy paper", "# Tables and figures"]
    assert not re.search(r"\d+(\.\d+)? ?% (agree|or better)", written)


def test_summary_follows_from_saved_results(written, toy, tmp_path):
    module = toy.module
    name = module.__name__
    papers, facts = digest.read(tmp_path / "out" / "results.json", {name: module})
    assert written.startswith(summary(papers))
    assert facts == {}


# -- incomplete runs -----------------------------------------------------------------------------


@pytest.fixture
def alone(toy, tmp_path, monkeypatch):
    """Make the toy the only experiment of the command, in a separate folder."""
    module = toy.module
    store = Store(module, tmp_path / "build")
    (tmp_path / "studies" / "papers").mkdir(parents=True)
    (tmp_path / "docs").mkdir()
    monkeypatch.setattr(command, "ROOT", tmp_path)
    monkeypatch.setattr(command, "BUILD", tmp_path / "build")
    monkeypatch.setattr(command, "_present", lambda: [module.__name__])
    monkeypatch.setattr(command, "_load", lambda name: module)
    monkeypatch.setattr(command, "Store", lambda module: store)
    monkeypatch.setattr(
        which, "facts", lambda results: {"cells": str(sum(map(len, results.values())))}
    )
    monkeypatch.setattr(which, "page", lambda facts: f"{facts['cells']} cells")
    kept = {
        tmp_path / "studies" / "papers" / "REPORT.md": "old",
        tmp_path / "docs" / "which-algorithm.md": "old",
    }
    for path, text in kept.items():
        path.write_text(text)
    return module, store, kept


def test_without_results_nothing_is_written(alone, capsys, tmp_path):
    _, _, kept = alone
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert command.main(["--report-only"]) == 1
    assert "nothing to report" in capsys.readouterr().out
    assert all(path.read_text() == text for path, text in kept.items())
    assert not (tmp_path / "studies" / "papers" / "images").exists()
    assert not list(tmp_path.glob("build/*/REPORT.md"))


def test_an_incomplete_run_leaves_the_committed_report(alone, capsys, tmp_path):
    module, store, kept = alone
    store.keep(module.cells(False)[0], json.dumps({"error": 0.2}), 0.1)
    with warnings.catch_warnings(record=True) as leaked:
        warnings.simplefilter("always")
        assert command.main(["--report-only"]) == 1
    assert leaked == []  # although the mean of no runs is computed
    assert "Not complete (1 of 8 cells)" in capsys.readouterr().out
    assert all(path.read_text() == text for path, text in kept.items())
    assert "1 of 8 cells" in (tmp_path / "build" / "partial" / "REPORT.md").read_text()


def test_a_complete_run_replaces_all(alone, capsys, tmp_path):
    module, store, _ = alone
    finish(module, store)
    assert command.main(["--report-only"]) == 0
    assert (
        (tmp_path / "studies" / "papers" / "REPORT.md")
        .read_text()
        .startswith("# Reproduction of five papers")
    )
    assert (tmp_path / "studies" / "papers" / "results.json").exists()
    assert (tmp_path / "docs" / "which-algorithm.md").read_text() == "8 cells"


def test_error_in_claims_is_raised_after_all_runs(toy, tmp_path):
    module = toy.module
    store = Store(module, tmp_path / "build")
    for cell in module.cells(True):
        store.keep(cell, json.dumps({"wrong": 1}), 0.1)
    with pytest.raises(KeyError):
        report.write([(module, store)], True, tmp_path)


def test_a_module_with_a_section_writes_it_itself(toy, tmp_path):
    module = toy.module
    store = Store(module, tmp_path / "b")
    finish(module, store)
    module.section = lambda results: f"## Mine\n\n{len(results)} cells\n"
    text = report.write([(module, store)], False, tmp_path).read_text()
    assert "## Mine\n\n8 cells" in text


def test_unknown_names_are_rejected(capsys):
    with pytest.raises(SystemExit):
        command.main(["class_mean"])
    assert "class_means" in capsys.readouterr().err


PAPERS = [
    path.parent.name for path in sorted((ROOT / "studies" / "papers").glob("*/published.tsv"))
]


@pytest.mark.parametrize("name", PAPERS)
def test_every_printed_number_is_in_the_report(name):
    """Each is parsed, unique and answered, even without results."""
    module = importlib.import_module(f"studies.papers.{name}")
    published = read_published(ROOT / "studies" / "papers" / name / "published.tsv")
    assert all(entry.better in ("lower", "higher", "-") for entry in published)
    keys = [(*entry.place, entry.measure) for entry in published]
    assert len(set(keys)) == len(keys)
    for entry in published:
        values = module.reproduced(Results([]), entry)
        assert values is None or len(values) == 0
    assert set(getattr(module, "NOTES", {})) <= {entry.place for entry in published}


@pytest.mark.parametrize("name", PAPERS)
def test_every_cell_is_plain_and_unique(name):
    module = importlib.import_module(f"studies.papers.{name}")
    for quick in (True, False):
        texts = [json.dumps(cell, sort_keys=True) for cell in module.cells(quick)]
        assert len(set(texts)) == len(texts) > 0
    few, all_of_them = len(module.cells(True)), len(module.cells(False))
    assert few < all_of_them
    known = set(module.DATA)
    assert all(set(runner.needs(module, cell)) <= known for cell in module.cells(False))


# -- the committed report -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def committed():
    """Return the saved results of the last full run."""
    modules = {name: importlib.import_module(f"studies.papers.{name}") for name in PAPERS}
    return digest.read(ROOT / "studies" / "papers" / "results.json", modules)


def test_committed_summary_follows_from_saved_results(committed):
    papers, _ = committed
    assert (ROOT / "studies" / "papers" / "REPORT.md").read_text().startswith(summary(papers))


def words(text):
    """Count words with a letter, without tables."""
    return sum(bool(re.search(r"[^\W\d_]", word)) for word in text.replace("<br>", " ").split())


def test_committed_report_has_a_bounded_length(committed):
    papers, _ = committed
    report = (ROOT / "studies" / "papers" / "REPORT.md").read_text()
    assert words(summary(papers)) < 1000
    assert words(report.partition("# Tables and figures")[0]) < 4000
    assert words(report) < 6000


def test_report_has_exactly_the_expected_pictures():
    report = (ROOT / "studies" / "papers" / "REPORT.md").read_text()
    shown = re.findall(r"\]\(images/([^)]+)\)", report)
    kept = [path.name for path in (ROOT / "studies" / "papers" / "images").iterdir()]
    assert sorted(shown) == sorted(kept)


def test_page_of_advice_follows_from_saved_results(committed):
    _, facts = committed
    assert (ROOT / "docs" / "which-algorithm.md").read_text() == which.page(facts)


def test_measured_numbers_are_generated():
    """The text contains settings only; measurements come from the results."""
    words = re.sub(r"\{\w+\}|`[^`]*`|\]\([^)]*\)", "", which.TEMPLATE.read_text())
    settings = {"C near 1", "C from 0.1 to 1", "r = 1", "of 8"}
    for text in settings:
        assert text in words, text
        words = words.replace(text, "")
    assert re.findall(r"\d+", words.replace("News20", "")) == []


def test_every_printed_number_is_saved(committed):
    papers, _ = committed
    for paper in papers:
        assert [n.entry for n in paper.numbers] == digest.published(paper.module)
    judged = [j for paper in papers for j in paper.judged if j.entry.better != "-"]
    assert sum(j.mark != "not comparable" for j in judged) == 255


def turned(claim, favour, against):
    """Return a claim with these numbers of supporting and contradicting parts."""
    sides = [True] * favour + [False] * (len(claim.parts) - favour)
    sure = favour + against
    parts = [
        Part(side, None if part.p is None else 0.0 if k < sure else 1.0)
        for k, (part, side) in enumerate(zip(claim.parts, sides, strict=True))
    ]
    return replace(claim, parts=tuple(parts))


def test_every_claim_can_have_every_verdict(committed):
    """This includes the correction for the other tests of its paper."""
    papers, _ = committed
    for paper in papers:
        assert any(claim.says.startswith(paper.module.MAIN) for claim in paper.claims)
        for k, claim in enumerate(paper.claims):
            count = len(claim.parts)
            others = list(paper.claims)
            reached = set()
            for favour in (0, (count + 1) // 2, count) if count else ():
                others[k] = turned(claim, favour, count - favour)
                reached.add(evaluate_claims(others)[k].verdict)
            assert reached == ({"holds", "holds in part", "does not hold"} if count else set())
            if count and all(part.p is not None for part in claim.parts):
                others[k] = turned(claim, 0, 0)
                assert evaluate_claims(others)[k].verdict == "inconclusive"
