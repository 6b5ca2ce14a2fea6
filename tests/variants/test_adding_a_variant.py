"""The steps of docs/adding-a-variant.md, applied to a scratch copy.

``make variant-test`` also compiles the core, which takes some minutes.
"""

import re
import shutil
from pathlib import Path

import adding
import pytest

from aggro import _cpu

PAGE = (adding.ROOT / "docs" / "adding-a-variant.md").read_text()


def files_of(text):
    """Return the files in a section of the page."""
    return set(re.findall(r"`((?:core|src)/[\w/]+\.\w+)`", text))


def section(title):
    return PAGE.split(f"\n## {title}")[1].split("\n## ")[0]


def core(idea):
    return next(
        line for line in section("Change the core").splitlines() if line.startswith(f"| {idea} ")
    )


@pytest.mark.parametrize(
    "idea, named, most",
    [
        ("a loss", section("Add a loss"), 3),
        ("a constraint", core("a constraint"), 4),
        ("a removal strategy", core("a removal strategy"), 3),
    ],
)
def test_the_page_names_the_files_that_change(idea, named, most):
    changed = {name for name, _, _ in adding.ADDED[idea]}
    assert changed == files_of(named)
    assert len(changed) <= most


def test_additions_of_the_page_apply_and_a_loss_needs_no_compiler(tmp_path):
    adding.add_all(tmp_path)
    for module in Path(_cpu.__file__).parent.glob("_c*.so"):
        shutil.copy(module, tmp_path / "src" / "aggro")
    adding.check(tmp_path, adding.PYTHON_ONLY)
