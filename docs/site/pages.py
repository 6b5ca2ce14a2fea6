"""Write the source of the site: the pages of docs/, generated pages and the menu.

``python docs/site/pages.py build/site-source`` writes the input of Sphinx. SECTIONS lists every
page.
"""

import re
import shutil
import sys
from pathlib import Path

import catalogue
import reference
from links import ROOT, STAGED, rewrite

SECTIONS = {  # page: title, introduction, its pages with descriptions
    "user-guide": (
        "User guide",
        "How to train, select, apply, distribute and serve models.",
        {
            "guide": "Train, test, apply, resume and merge models from files of any size.",
            "which-algorithm": "Choose an estimator and its parameters for your data.",
            "tuning": "Select C, metric and scale while learning, or set them yourself.",
            "tables": "Learn curved boundaries from numeric columns.",
            "text": "Classify strings, explain predictions, and combine text with other columns.",
            "from-tfidf": "Replace `TfidfVectorizer` and a classifier by one object.",
            "probabilities": "Predict calibrated probabilities.",
            "drift": "Detect drift, and forget old examples.",
            "serve": "Run an HTTP server that predicts and learns, and recover it after a crash.",
            "scale-out": "Merge models, and train on a Dask cluster.",
            "spark": "Train on a Spark cluster.",
            "migrating": "Replace scikit-learn, river or Vowpal Wabbit, and see what differs.",
            "performance": "Measured speed, how it scales, and what limits it.",
        },
    ),
    "background": (
        "Algorithms",
        "The problem that each variant solves, its step, and its source.",
        {
            "algorithms": "Every variant with its problem, step, cost and use.",
            "catalogue": "All published variants with their papers and a picture of each.",
            "errata": "Errors in the papers' formulas, with the correct ones.",
        },
    ),
    "studies/index": (
        "Studies",
        "Measurements behind the defaults and the guides, and the reproduction of the papers.",
        {
            "studies/tuning": "Model selection on 70 data sets, compared with other libraries.",
            "studies/tables": "Curved boundaries compared with forests and boosted trees.",
            "studies/defaults": "The defaults compared with scikit-learn's.",
            "studies/text": "`TextClassifier` compared with Vowpal Wabbit and scikit-learn.",
            "studies/probabilities": "Calibration compared with `CalibratedClassifierCV`.",
            "studies/drift": "Drift detection and forgetting on four streams.",
            "studies/papers/REPORT": "Every number, figure and claim of five papers, repeated.",
        },
    ),
    "project/index": (
        "Project",
        "How aggro is built, and how to contribute.",
        {
            "project/CHANGELOG": "What each version adds, changes and fixes.",
            "design": "The layout of the code, and the reasons for its main decisions.",
            "adding-a-variant": "Add a name, a loss, a constraint, a strategy or a kernel.",
            "project/CONTRIBUTING": "Set up a development environment, and run the checks.",
            "project/SECURITY": "Guarantees, and how to report a vulnerability.",
            "project/CODE_OF_CONDUCT": "The rules for taking part in the project.",
        },
    ),
}
TOP = ["getting-started", "user-guide", "gallery/index", "background", "studies/index",
       "reference/index", "project/index"]  # fmt: skip


def sources() -> dict[str, Path]:
    """Return the page of the site for each file of the repository."""
    docs = ROOT / "docs"
    pages = {
        path.relative_to(docs).with_suffix("").as_posix(): path
        for path in sorted(docs.glob("**/*.md"))
    }
    return pages | {page: ROOT / path for path, page in STAGED.items()}


def title_of(text: str) -> str:
    r"""Return the title of a page.

    >>> title_of("# Model selection\n\nC matters most.\n")
    'Model selection'
    """
    title = re.search(r"^# (.+)$", text, re.MULTILINE)
    assert title, "a page begins with a title"
    return title[1]


def toctree(pages: list[str], hidden: bool = True) -> str:
    """Return a menu of pages."""
    options = [":hidden:"] if hidden else []
    lines = ["```{toctree}", *options, "", *(f"/{page}" for page in pages), "```"]
    return "\n".join(lines) + "\n"


def section(title: str, what: str, pages: dict[str, str], texts: dict[str, str]) -> str:
    """Return a page that lists other pages."""
    parts = [f"# {title}\n", f"{what}\n"]
    parts += [f"**[{title_of(texts[page])}](/{page}.md)**\n: {pages[page]}\n" for page in pages]
    return "\n".join([*parts, toctree(list(pages))])


def lay_out() -> dict[str, str]:
    """Return the text of every Markdown page."""
    texts = {
        page: rewrite(path.read_text(encoding="utf-8"), path, page)
        for page, path in sources().items()
    }
    texts["catalogue"] = catalogue.page()
    listed = {page for _, _, pages in SECTIONS.values() for page in pages} | {*TOP, "index"}
    if unlisted := sorted(set(texts) - listed):
        raise ValueError(f"pages without a place: {unlisted}; add them to SECTIONS in {__file__}")
    for page, (title, what, pages) in SECTIONS.items():
        texts[page] = section(title, what, pages, texts)
    made = {"gallery/index", "reference/index"}
    texts["index"] += "\n" + toctree([page for page in TOP if page in texts or page in made])
    return texts


def write(path: Path, content: str | bytes) -> None:
    """Write a file if it changes, so that Sphinx rebuilds only changed pages."""
    data = content.encode() if isinstance(content, str) else content
    if not path.exists() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def main(out: Path) -> None:
    """Write the source of the site, and remove obsolete pages."""
    files: dict[str, str | bytes] = {f"{page}.md": text for page, text in lay_out().items()}
    files |= {f"reference/{name}.rst": text for name, text in reference.pages().items()}
    for folder, home in (
        ("docs/images", "images"),
        ("studies/papers/images", "studies/papers/images"),
    ):
        for path in (ROOT / folder).glob("*.png"):
            files[f"{home}/{path.name}"] = path.read_bytes()
    for name, text in files.items():
        write(out / name, text)
    catalogue.draw(out / "images" / "variants")
    kept = {out / name for name in files}
    for path in out.rglob("*.md"):
        if path not in kept and "gallery" not in path.parts:
            path.unlink()


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[2] == "--fresh":
        shutil.rmtree(sys.argv[1], ignore_errors=True)
    main(Path(sys.argv[1]))
