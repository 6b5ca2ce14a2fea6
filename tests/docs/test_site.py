"""Sources of the site: menu, links, catalogue and metadata."""

import ast
import doctest
import posixpath
import re
import sys
from pathlib import Path

import pytest

import aggro

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "docs/site"), str(ROOT / "packaging")]
import catalogue  # noqa: E402 -- in the folders of the site and of the packaging
import expand  # noqa: E402
import links  # noqa: E402
import oldest  # noqa: E402
import pages  # noqa: E402
import reference  # noqa: E402

if sys.version_info >= (3, 11):
    import tomllib
else:
    from pip._vendor import tomli as tomllib

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXAMPLES = sorted((ROOT / "examples/gallery").glob("plot_*.py"))
ENTRIES = re.compile(r"```\{toctree\}\n(?::hidden:\n)?\n(.*?)```", re.DOTALL)


@pytest.fixture(scope="module")
def texts():
    return pages.lay_out()


@pytest.mark.parametrize("module", [catalogue, expand, links, pages, reference])
def test_examples_in_the_tools_of_the_site(module):
    failed, tried = doctest.testmod(module)
    assert tried > 0 and failed == 0


def test_every_page_is_in_the_menu_once(texts):
    listed = [
        entry.strip("/ \n")
        for text in texts.values()
        for menu in ENTRIES.findall(text)
        for entry in menu.split("\n")
        if entry.strip()
    ]
    made = {"gallery/index", "reference/index"}
    assert len(listed) == len(set(listed))
    assert set(listed) == (set(texts) - {"index"}) | made


def test_links_between_pages_are_valid(texts):
    there = {f"{page}.md" for page in texts} | {
        f"reference/{name}.rst" for name in reference.pages()
    }
    pictures = {f"images/{path.name}" for path in (ROOT / "docs/images").iterdir()}
    pictures |= {
        f"studies/papers/images/{path.name}" for path in (ROOT / "studies/papers/images").iterdir()
    }
    pictures |= {f"images/variants/{row.name}.png" for row in aggro.catalogue()}
    for page, text in texts.items():
        prose = "".join(links.CODE.split(text)[::2])
        for target, _ in links.LINK.findall(prose):
            home = "" if target.startswith("/") else Path(page).parent.as_posix()
            path = posixpath.normpath(posixpath.join(home, target.lstrip("/")))
            assert path in there | pictures, f"{page} links to {target}"


def test_files_without_a_page_are_linked_in_the_repository():
    rewritten = links.rewrite(
        "[x](../core/losses/slack.hpp) `[y](z.md)`", ROOT / "docs/design.md", "design"
    )
    assert rewritten == f"[x]({links.SOURCE}/blob/main/core/losses/slack.hpp) `[y](z.md)`"


def test_every_variant_is_in_the_catalogue_with_its_problem(texts):
    for row in aggro.catalogue():
        assert f"\n### {row.name}\n" in texts["catalogue"]
        assert catalogue.problem(row).startswith(("minimise", "none"))
    assert texts["catalogue"].count("**Problem:**") == len(aggro.catalogue())


def test_every_path_of_the_home_page_ends_with_a_model_in_ten_lines(texts):
    home = texts["index"]
    assert home.count(":::{tab-item}") == 4
    for block in re.findall(r"```python\n(.*?)```", home, re.DOTALL):
        lines = [line for line in block.split("\n") if line.strip()]
        assert len(lines) <= 10 and "from aggro import" in block
        assert re.search(r"\.(score|predict|predict_one)\(", lines[-1])
    assert "aggro train" in home and "aggro predict" in home


def test_the_gallery_has_a_title_a_picture_and_words_for_each():
    assert len(EXAMPLES) >= 10
    for path in EXAMPLES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        title, rule, empty, *words = ast.get_docstring(tree).split("\n")
        assert len(title) == len(rule) and not empty and len(" ".join(words)) > 100
        assert "plt.show()" in ast.unparse(tree) and "aggro" in ast.unparse(tree)


# -- metadata of the package ---------------------------------------------------------------------


def test_one_version_everywhere():
    version = PROJECT["project"]["version"]
    assert version == aggro.__version__
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    recipe = (ROOT / "packaging/conda/meta.yaml").read_text(encoding="utf-8")
    assert f'version = "{version}"' in recipe
    for need in PROJECT["project"]["dependencies"]:
        assert need.replace(">=", " >=") in recipe


def test_every_supported_python_is_declared_and_tested():
    named = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["project"]["classifiers"]))
    assert PROJECT["project"]["requires-python"] == f">={named[0]}"
    tests = (ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8")
    assert all(f'"{version}"' in tests for version in named)


def test_the_oldest_versions_are_those_of_the_project():
    pinned = oldest.requirements((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert oldest.oldest("numpy>=1.24; x < '3'") == "numpy==1.24.*; x < '3'"
    bounds = [
        need for extra in PROJECT["project"]["optional-dependencies"].values() for need in extra
    ]
    for need in [*PROJECT["project"]["dependencies"], *bounds]:
        if not need.startswith("aggro["):
            assert oldest.oldest(need) in pinned
    assert "pytest>=8" in pinned and not [need for need in pinned if need.startswith("aggro")]


def test_workflows_use_targets_that_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for path in (ROOT / ".github/workflows").glob("*.yml"):
        for target in re.findall(r"run: make ([a-z-]+)", path.read_text(encoding="utf-8")):
            assert target in targets, f"{path.name}: make {target}"
