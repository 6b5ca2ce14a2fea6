"""Documentation and source files use the field's words, not the project's former vocabulary.

Code, links and names of files are left out of a page; in source files all text counts.
Add a folder to ``FOLDERS`` to check it too.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = {  # folder: endings of file names
    "docs": (".md",),
    ".": ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "Makefile", "pyproject.toml"),
    "examples": (".py",),
    "qa": (".py", ".md", ".toml"),
    "studies": (".py", ".md"),
    "benchmarks": (".py",),
    "src/aggro": (".py",),
    "core": (".hpp", ".cpp"),
    "tests": (".py",),
}
EXCEPT = ("core/rows/", "tests/docs/test_language.py")  # lanes of vectors; the words themselves
WORDS = {  # what not to write: what to write
    r"rac(e|es|ed|ing)": "model selection",
    r"lanes?": "candidate, output, setting",
    r"runners?|first_candidates?": "candidate",
    r"leaders?|who leads": "best candidate",
    r"look(s|ed|ing)?": "checkpoint, evaluation step; examine, check",
    r"settl(e|es|ed|ing)": "keep, final; flush, commit, resolve, converge",
    r"joint answers?": "ensemble prediction",
    r"lessons?": "batch, update",
    r"teach(es|ing)?|taught": "learn, train, update",
    r"told": "reported, returned",
    r"twins?": "reference implementation, copy, clone",
    r"pric(e|es|ed|ing)|dear(er|est)?": "C, cost, expensive",
    r"news": "update counts",
    r"courses?": "drift detection",
    r"anew": "again, from scratch",
    r"typical (row|example)s?": "reference row",
    r"faces?": "interface, adapter",
    r"rooms?": "package, module",
    r"suffer(s|ed|ing)?": "incur, evaluate the loss",
    r"refus(e|es|ed|ing)": "reject, raise",
    r"kept back|keeps? back|hold(s)? back|held back": "held out",
    r"so many|manieth": "n, every n-th",
    r"whoever": "name the thing",
    r"troubles?|clean hour": "fault injection, one hour without failures",
}
ALLOWED = (  # terms of the papers, of hardware and of programming
    r"suffer(s|ed|ing)? (a|no|the) loss(es)?",
    r"SIMD lanes?",
    r"race conditions?",
    r"20 ?news ?groups",
    r"import (digest, )?report, runner",  # a module
    r"looks? like",
    r"who whoever whole",  # stop words
    r"""(?<=["',=])prices?\b|(?<=--label )price""",  # a column of tables in examples
)
CODE = re.compile(r"^```.*?^```$|`[^`\n]+`|<!--.*?-->|\]\([^)\n]*\)|<[^>\s]+>", re.M | re.S)
# part of a longer name, such as webkb-course, race.py or candidates_, is not a word
PATTERN = re.compile(rf"(?<![\w./-])({'|'.join(WORDS)})(?![\w-]|\.\w)", re.IGNORECASE)
ALLOW = re.compile("|".join(ALLOWED), re.IGNORECASE)


def files():
    """Return every file to check."""
    return sorted(
        path
        for folder, endings in FOLDERS.items()
        for path in (ROOT / folder).glob("*" if folder == "." else "**/*")
        if path.name.endswith(endings) and not path.relative_to(ROOT).as_posix().startswith(EXCEPT)
    )


def blank(match):
    """Return as many line ends as a piece of text has, so that lines keep their numbers."""
    return "\n" * match[0].count("\n") + " "


def found_in(path):
    """Return the line and the word of everything that should be written differently."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        text = CODE.sub(blank, text)
    text = ALLOW.sub(blank, text)
    return [(text.count("\n", 0, m.start()) + 1, m[0]) for m in PATTERN.finditer(text)]


@pytest.mark.parametrize("path", files(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_words_are_those_of_the_field(path):
    found = [f"{path.name}:{line}: {word}" for line, word in found_in(path)]
    advice = "; ".join(f"{old}: {new}" for old, new in WORDS.items())
    assert not found, "\n".join([*found, f"Write instead: {advice}"])


def test_the_check_finds_words_but_not_names(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "The race\nof `candidates_` on webkb-course suffers a loss, [x](race.md).\nTold!\n"
    )
    assert found_in(page) == [(1, "race"), (3, "Told")]
