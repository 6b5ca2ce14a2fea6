"""The report of a small experiment, and the printed numbers of all papers."""

import importlib
import io
import json
from contextlib import redirect_stdout

import pytest

from papers import __main__ as command
from papers import report, runner
from papers.experiment import Results, read_published
from papers.progress import Progress
from papers.store import ROOT, Store


@pytest.fixture
def written(toy, tmp_path):
    """Run the toy end to end; return its report."""
    module = toy.module
    store = Store(module, tmp_path / "build")
    tasks = runner.unfinished([(module, store)], False, ())
    with redirect_stdout(io.StringIO()), Progress(len(tasks)) as progress:
        runner.run(tasks, 1, progress)
    return report.write([(module, store)], False, tmp_path / "out").read_text()


def test_the_report_says_all(written, tmp_path):
    lines = written.splitlines()
    summary = next(line for line in lines if line.startswith("| **all**"))
    assert summary == "| **all** | 2 | 0 | 1 | 1 | 50.0% | 1 |"
    assert "Claims — holds: 1." in lines
    assert "## A toy paper" in lines
    small = next(line for line in lines if line.startswith("| small | 0.0010<br>"))
    assert small.endswith("▼ |")
    assert "0.1000 ± 0.02<br>n/a" in written
    assert "*1.50*" in written
    assert "- Table 1, small, PA: The gap is smaller here." in lines
    assert "- A larger gap helps (Table 1) — **holds.** seen" in lines
    assert "not complete" not in written.lower()
    images = list((tmp_path / "out" / "images").iterdir())
    assert [image.name.endswith("-errors.png") for image in images] == [True]
    assert f"](images/{images[0].name})" in written


def test_an_error_in_claims_is_not_swallowed_when_all_is_finished(toy, tmp_path):
    module = toy.module
    store = Store(module, tmp_path / "build")
    for cell in module.cells(True):
        store.keep(cell, json.dumps({"wrong": 1}), 0.1)
    with pytest.raises(KeyError):
        report.write([(module, store)], True, tmp_path)


def test_a_module_with_a_section_writes_it_itself(toy, tmp_path):
    module = toy.module
    module.section = lambda results: f"## Mine\n\n{len(results)} cells\n"
    text = report.write([(module, Store(module, tmp_path / "b"))], False, tmp_path).read_text()
    assert "## Mine\n\n0 cells" in text


def test_unknown_names_are_refused(capsys):
    with pytest.raises(SystemExit):
        command.main(["class_mean"])
    assert "class_means" in capsys.readouterr().err


PAPERS = [path.parent.name for path in sorted((ROOT / "papers").glob("*/published.tsv"))]


@pytest.mark.parametrize("name", PAPERS)
def test_every_printed_number_has_a_place(name):
    """Each parses, stands once, and is answered, also when nothing was run."""
    module = importlib.import_module(f"papers.{name}")
    published = read_published(ROOT / "papers" / name / "published.tsv")
    assert all(entry.better in ("lower", "higher", "-") for entry in published)
    keys = [(*entry.place, entry.measure) for entry in published]
    assert len(set(keys)) == len(keys)
    for entry in published:
        values = module.reproduced(Results([]), entry)
        assert values is None or len(values) == 0
    assert set(module.NOTES) <= {entry.place for entry in published}


@pytest.mark.parametrize("name", PAPERS)
def test_every_cell_is_plain_and_stands_once(name):
    module = importlib.import_module(f"papers.{name}")
    for quick in (True, False):
        texts = [json.dumps(cell, sort_keys=True) for cell in module.cells(quick)]
        assert len(set(texts)) == len(texts) > 0
    few, all_of_them = len(module.cells(True)), len(module.cells(False))
    assert few < all_of_them
    known = set(module.DATA)
    assert all(set(runner.needs(module, cell)) <= known for cell in module.cells(False))
