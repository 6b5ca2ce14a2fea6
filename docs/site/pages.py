"""Lay out the source of the site: the pages of docs/, those made from the code, and the menu.

``python docs/site/pages.py build/site-source`` writes what Sphinx reads. A new page in docs/ is
found by itself; SECTIONS says where it stands if the end of the user guide is not its place.
"""

import re
import shutil
import sys
from pathlib import Path

import catalogue
import reference
from links import ROOT, STAGED, rewrite

SECTIONS = {  # page: title, what it is, its pages in order; a page that is not there is left out
    "user-guide": (
        "User guide",
        "How to do it, from the first model to a stream that never ends.",
        ["guide", "which-algorithm", "tuning", "text", "from-tfidf", "probabilities", "drift",
         "serve", "scale-out", "spark", "migrating", "performance"],
    ),
    "background": (
        "Algorithms",
        "What each variant solves, where it comes from, and whether the papers' claims hold.",
        ["algorithms", "catalogue", "studies/papers/REPORT", "errata"],
    ),
    "project/index": (
        "Project",
        "How aggro is made, and how to take part.",
        ["project/CHANGELOG", "design", "adding-a-variant", "project/CONTRIBUTING",
         "project/SECURITY", "project/CODE_OF_CONDUCT"],
    ),
}  # fmt: skip
TOP = ["getting-started", "user-guide", "gallery/index", "background", "reference/index",
       "project/index"]  # fmt: skip


def sources() -> dict[str, Path]:
    """Return the page of the site that each file of the repository becomes."""
    pages = {path.stem: path for path in sorted((ROOT / "docs").glob("*.md"))}
    return pages | {page: ROOT / path for path, page in STAGED.items()}


def title_and_opening(text: str) -> tuple[str, str]:
    r"""Return the title of a page and its first sentence.

    >>> title_and_opening("# Tuning\n\nOne number matters, *C*. The rest\nfollows.\n")
    ('Tuning', 'One number matters, *C*.')
    """
    title = re.search(r"^# (.+)$", text, re.MULTILINE)
    assert title, "a page begins with a title"
    rest = [part for part in text[title.end() :].split("\n\n") if part.strip()]
    opening = rest[0].strip() if rest and re.match(r"[\w*`]", rest[0].strip()) else ""
    sentence = re.split(r"(?<=[a-z)*`\d][.:])\s", opening.replace("\n", " "))[0]
    return title[1], re.sub(r"\]\([^)]*\)|\[", "", sentence).rstrip(":")


def toctree(pages: list[str], hidden: bool = True) -> str:
    """Return a menu of pages."""
    options = [":hidden:"] if hidden else []
    lines = ["```{toctree}", *options, "", *(f"/{page}" for page in pages), "```"]
    return "\n".join(lines) + "\n"


def section(title: str, what: str, pages: list[str], texts: dict[str, str]) -> str:
    """Return a page that leads to others."""
    parts = [f"# {title}\n", f"{what}\n"]
    for page in pages:
        name, opening = title_and_opening(texts[page])
        parts.append(f"**[{name}](/{page}.md)**\n: {opening or 'The whole of it.'}\n")
    return "\n".join([*parts, toctree(pages)])


def lay_out() -> dict[str, str]:
    """Return the text of every page that is written in Markdown."""
    texts = {
        page: rewrite(path.read_text(encoding="utf-8"), path, page)
        for page, path in sources().items()
    }
    texts["catalogue"] = catalogue.page()
    listed = {page for _, _, pages in SECTIONS.values() for page in pages} | {*TOP, "index"}
    others = sorted(set(texts) - listed)
    for page, (title, what, pages) in SECTIONS.items():
        there = [name for name in pages if name in texts]
        if page == "user-guide":
            there += others
        texts[page] = section(title, what, there, texts)
    made = {"gallery/index", "reference/index"}
    texts["index"] += "\n" + toctree([page for page in TOP if page in texts or page in made])
    return texts


def write(path: Path, content: str | bytes) -> None:
    """Write a file if it is not the same already, so that Sphinx rebuilds what changed."""
    data = content.encode() if isinstance(content, str) else content
    if not path.exists() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def main(out: Path) -> None:
    """Write the source of the site, and remove what is no longer part of it."""
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
