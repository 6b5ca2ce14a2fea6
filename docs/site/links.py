"""Turn links between files of the repository into links between pages of the site."""

import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = "https://github.com/aggro-learn/aggro"
STAGED = {  # files outside of docs/ that have a page
    "studies/papers/REPORT.md": "studies/papers/REPORT",
    "CHANGELOG.md": "project/CHANGELOG",
    "CONTRIBUTING.md": "project/CONTRIBUTING",
    "SECURITY.md": "project/SECURITY",
    "CODE_OF_CONDUCT.md": "project/CODE_OF_CONDUCT",
}
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)")
ANCHOR = re.compile(r'^<a id="([\w-]+)"></a>$', re.MULTILINE)
CODE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.MULTILINE | re.DOTALL)


def staged(path: Path) -> str | None:
    """Return the path of a file of the repository in the source of the site.

    >>> staged(ROOT / "docs/tuning.md"), staged(ROOT / "CHANGELOG.md"), staged(ROOT / "core")
    ('tuning.md', 'project/CHANGELOG.md', None)
    """
    inside = path.relative_to(ROOT).as_posix()
    if inside in STAGED:
        return f"{STAGED[inside]}.md"
    if inside == "README.md":
        return "index.md"
    if inside.startswith("docs/") and path.suffix in (".md", ".png"):
        return inside.removeprefix("docs/")
    if inside.startswith("studies/papers/images/"):
        return inside
    return None


def address(target: str, anchor: str, file: Path, page: str) -> str:
    """Return the target of a link of a file on its page."""
    path = (file.parent / target).resolve()
    home = staged(path)
    if home is None:
        kind = "tree" if path.is_dir() else "blob"
        return f"{SOURCE}/{kind}/main/{path.relative_to(ROOT).as_posix()}{anchor}"
    return os.path.relpath(home, Path(page).parent).replace(os.sep, "/") + anchor


def rewrite(text: str, file: Path, page: str) -> str:
    """Return the text of a file with links and anchors of the site; code is unchanged."""
    text = ANCHOR.sub(r"(\1)=", text)
    pieces = CODE.split(text)
    for k in range(0, len(pieces), 2):
        pieces[k] = LINK.sub(
            lambda link: f"]({address(link[1], link[2] or '', file, page)})", pieces[k]
        )
    return "".join(pieces)
