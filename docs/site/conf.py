"""Sphinx configuration. ``make docs`` writes the sources first (pages.py), without downloads."""

import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

import expand  # noqa: E402 -- the folder of the settings is on the path from here on

import aggro  # noqa: E402 -- after the path is set

project, author = "aggro", "The aggro developers"
copyright = author
version = release = aggro.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["gallery/**/*.md5", "gallery/**/*.ipynb", "gallery/sg_execution_times.rst"]
suppress_warnings = ["config.cache"]  # sphinx-gallery's own settings cannot be pickled

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4

autodoc_typehints = "none"  # the docstrings name the types in words
autodoc_member_order = "groupwise"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples/gallery"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "min_reported_time": 1000,
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "aggro"
html_static_path = ["static"]
html_favicon = "static/favicon.svg"
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "icon_links": [
        {
            "name": "Source",
            "url": "https://github.com/aggro-learn/aggro",
            "icon": "fa-brands fa-github",
        }
    ],
}
html_context = {"default_mode": "light"}
html_sidebars = {"index": []}


THUMBNAIL = re.compile(r"(thumb/sphx_glr_plot_\d+_(\w+)_thumb\.png\n\s+:alt:)$", re.MULTILINE)


def describe_thumbnails(app: object, page: str, source: list[str]) -> None:
    """Add alternative texts to the thumbnails of the gallery, from their file names."""
    if page == "gallery/index":
        source[0] = THUMBNAIL.sub(
            lambda found: f"{found[1]} {found[2].replace('_', ' ')}", source[0]
        )


def setup(app: Any) -> None:
    """Expand inherited entries before numpydoc reads docstrings; describe thumbnails."""
    app.connect("autodoc-process-docstring", expand.process, priority=100)
    app.connect("source-read", describe_thumbnails)
