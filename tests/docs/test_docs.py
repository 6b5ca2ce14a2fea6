"""The code of the documentation runs with the documented output, and its tables agree with the
code.

In README.md and docs/ every fenced ``python`` block is run, in order, with one directory per file.
An ``output`` block after it contains the expected output. A comment ``<!-- needs: river,
aggro.Perceptron -->`` before a block skips it if a name cannot be imported; ``scikit-learn
1.8-1.9`` requires a version.

``python tests/docs/test_docs.py`` prints the tables of docs/algorithms.md.
"""

import ast
import doctest
import io
import re
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import pytest

from aggro.settings import INCOMPATIBLE
from aggro.variants import ROWS

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")])
RUN = [page for page in PAGES if page.name != "guide.md"]  # tested with the command line
FENCE = re.compile(
    r"(?:<!-- needs: (?P<needs>[^>]*?) -->\n+)?"
    r"^```(?P<language>\w+)\n(?P<text>.*?)^```$"
    r"(?:\n+```output\n(?P<output>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)


@dataclass
class Block:
    """A block of code: position, requirements and expected output."""

    text: str
    line: int
    needs: list[str]
    output: str | None


def blocks_of(page):
    source = page.read_text(encoding="utf-8")
    for match in FENCE.finditer(source):
        if match["language"] == "python":
            line = source.count("\n", 0, match.start("text"))
            needs = [name.strip() for name in (match["needs"] or "").split(",") if name.strip()]
            yield Block(match["text"], line, needs, match["output"])


def is_met(need):
    """Return whether a module, a public name of aggro or a version is available."""
    if versions := re.fullmatch(r"scikit-learn (\d+)\.(\d+)-(\d+)\.(\d+)", need):
        low_major, low, high_major, high = map(int, versions.groups())
        here = tuple(map(int, import_module("sklearn").__version__.split(".")[:2]))
        return (low_major, low) <= here <= (high_major, high)
    module, _, name = need.partition(".")
    try:
        found = import_module(module)
    except ImportError:
        return False
    return not name or hasattr(found, name)


def run(block, page, names):
    """Run a block and return what it printed."""
    printed = io.StringIO()
    if block.text.lstrip().startswith(">>>"):
        test = doctest.DocTestParser().get_doctest(
            block.text, names, page.name, str(page), block.line
        )
        result = doctest.DocTestRunner().run(test, out=printed.write, clear_globs=False)
        names.update(test.globs)
        assert result.failed == 0, printed.getvalue()
        return printed.getvalue()
    code = compile("\n" * block.line + block.text, str(page), "exec")
    with redirect_stdout(printed):
        exec(code, names)
    return printed.getvalue()


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_code_runs_and_prints_the_documented_output(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)  # Spark would take the first on the path
    names = {"__name__": "__main__"}
    for block in blocks_of(page):
        if not all(map(is_met, block.needs)):
            continue
        printed = run(block, page, names)
        if block.output is not None:
            assert printed == block.output, f"{page.name}, line {block.line}"


def test_explained_words_in_the_readme_support_their_class(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = ROOT / "README.md"
    (block,) = [each for each in blocks_of(page) if ".explain(" in each.text]
    shares = ast.literal_eval(run(block, page, {}).splitlines()[-1])
    assert shares and all(share > 0 for _, share in shares)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_and_pictures_exist(page):
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if "://" not in target and not target.startswith("mailto:"):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_picture_has_its_script():
    scripts = {path.stem.replace("_", "-") for path in (ROOT / "docs/pictures").glob("*.py")}
    # the demo, benchmarks, studies, and the live page in two themes (pictures/serve.py)
    elsewhere = ("learning-curve", "benchmark", "tuning", "reliability", "drift", "text")
    elsewhere += ("serve-", "mixing", "tables")
    pictures = {path.stem for path in (ROOT / "docs/images").glob("*.png")}
    assert {name for name in pictures if not name.startswith(elsewhere)} <= scripts


# -- the tables of docs/algorithms.md -------------------------------------------------------------

CLASSIFIER, KERNEL = "PassiveAggressiveClassifier", "KernelPassiveAggressiveClassifier"
ESTIMATORS = {  # label: class, keywords
    "`PassiveAggressiveClassifier`, `hard`": (CLASSIFIER, {"loss": "hard"}),
    "… `hinge`": (CLASSIFIER, {"loss": "hinge"}),
    "… `squared_hinge`": (CLASSIFIER, {"loss": "squared_hinge"}),
    "… `least_squares`": (CLASSIFIER, {"loss": "least_squares"}),
    "`Perceptron`": ("Perceptron", {}),
    "`AROWClassifier`": ("AROWClassifier", {}),
    "`ConfidenceWeightedClassifier`": ("ConfidenceWeightedClassifier", {}),
    "`SoftConfidenceWeightedClassifier`": ("SoftConfidenceWeightedClassifier", {}),
    "`PassiveAggressiveRegressor`": ("PassiveAggressiveRegressor", {}),
    "`AROWRegressor`": ("AROWRegressor", {}),
    "`KernelPassiveAggressiveClassifier`": (KERNEL, {}),
    "… `least_squares` with a kernel": (KERNEL, {"loss": "least_squares"}),
    "`KernelPassiveAggressiveRegressor`": ("KernelPassiveAggressiveRegressor", {}),
}
AXES = {  # label: task, keywords
    "`support`": ("multiclass", {"multiclass": "support"}),
    "`top`": ("multiclass", {"multiclass": "top"}),
    "`predicted`": ("multiclass", {"multiclass": "predicted"}),
    "`ovr`": ("multiclass", {"multiclass": "ovr"}),
    "labels": ("multilabel", {}),
    "diagonal": ("binary", {"metric": "diagonal"}),
    "full": ("binary", {"metric": "full"}),
    "means": ("binary", {"class_mean": 0.1}),
    "queue": ("binary", {"queue": 5}),
    "batch": ("binary", {"batch_size": 8}),
    "average": ("binary", {"average": True}),
    "reservoir": ("binary", {"average": "reservoir"}),
}


def cell(estimator, keywords, task, choice):
    """Return yes, no (invalid) or a dot (no such keyword)."""
    home = "aggro.estimators.kernel" if estimator.startswith("Kernel") else "aggro"
    kind = getattr(import_module(home), estimator)
    regressor = estimator.endswith("Regressor")
    if regressor:
        if task != "binary":
            return "·"
        task = "regression"
    known = set(kind().get_params())
    fixed = {} if regressor else {"multiclass": kind()._settings(task).multiclass}
    if not all(name in known or fixed.get(name) == value for name, value in choice.items()):
        return "·"
    chosen = {name: value for name, value in choice.items() if name in known}
    try:
        kind(**keywords, **chosen)._checked_settings(task)
    except ValueError:
        return "no"
    return "yes"


def table(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(line) + " |" for line in lines]


def combinations():
    rows = [
        [label, *(cell(*estimator, *axis) for axis in AXES.values())]
        for label, estimator in ESTIMATORS.items()
    ]
    return table(["rule", *AXES], rows)


def clashes():
    rows = [[" × ".join(f"`{axis}`" for axis in clash.axes), clash.why] for clash in INCOMPATIBLE]
    return table(["axes", "why not"], rows)


def catalogue():
    rows = []
    for row in ROWS:
        given = {name: f'"{v}"' if isinstance(v, str) else v for name, v in row.params.items()}
        keywords = ", ".join(f"{name}={value}" for name, value in given.items())
        shown = f"`{keywords}`" if keywords else ""
        rows.append([f"`{row.name}`", f"`{row.estimator}`", shown, row.rule, row.paper])
    return table(["name", "estimator", "keywords", "rule", "from"], rows)


@pytest.mark.parametrize("expected", [combinations, clashes, catalogue])
def test_tables_agree_with_the_code(expected):
    lines = (ROOT / "docs/algorithms.md").read_text(encoding="utf-8").splitlines()
    wanted = expected()
    start = lines.index(wanted[0])
    shown = lines[start : start + len(wanted) + 1]
    assert shown == [*wanted, ""]


if __name__ == "__main__":
    for make in (combinations, clashes, catalogue):
        print("\n".join(make()), end="\n\n")
