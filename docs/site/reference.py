"""Write the API reference: a page per public name, from its docstring and signature."""

import inspect
from importlib import import_module
from typing import Any

MODULES = (
    *("aggro", "aggro.text", "aggro.io", "aggro.datasets", "aggro.serve", "aggro.reference"),
)
GROUPS = {  # groups of names in aggro; others are listed at the end
    "Automatic model selection": ("AutoClassifier", "AutoRegressor"),
    "Classifiers": (
        "PassiveAggressiveClassifier", "KernelPassiveAggressiveClassifier", "AROWClassifier",
        "ConfidenceWeightedClassifier", "SoftConfidenceWeightedClassifier", "Perceptron",
    ),
    "Regressors": (
        "PassiveAggressiveRegressor", "KernelPassiveAggressiveRegressor", "AROWRegressor",
    ),
    "Tables": ("FeatureMap",),
    "Text": ("TextClassifier", "TextRegressor"),
    "Streams": ("StreamClassifier", "StreamRegressor"),
    "Sweeps and published variants": ("sweep", "catalogue", "from_name"),
    "Model files and export": (
        "save", "load", "merge", "to_sklearn", "to_onnx", "ModelFileError",
    ),
}  # fmt: skip
PAGES = {  # related pages, by group or name
    "Automatic model selection": ("tuning", "which-algorithm", "drift", "studies/tuning"),
    "Classifiers": ("algorithms", "which-algorithm", "tuning", "probabilities"),
    "Regressors": ("algorithms", "tuning"),
    "Tables": ("tables",),
    "Text": ("text", "from-tfidf"),
    "Streams": ("drift", "migrating"),
    "Sweeps and published variants": ("tuning", "catalogue"),
    "Model files and export": ("guide",),
    "aggro.text": ("text", "from-tfidf"),
    "aggro.io": ("guide",),
    "aggro.datasets": ("performance",),
    "aggro.serve": ("serve",),
    "aggro.reference": ("algorithms", "errata"),
}
FROM_SKLEARN = ("get_params", "set_params", "score")
HEADINGS = {
    "aggro.text": "Text features",
    "aggro.serve": "Client of the server",
    "aggro.io": "Readers of files larger than memory",
    "aggro.datasets": "Public data sets",
    "aggro.reference": "Reference implementations in NumPy",
}


def public(module: str) -> list[str]:
    """Return the public names of a module, without modules and the version."""
    home = import_module(module)
    names = [name for name in home.__all__ if not name.startswith("_")]
    return [name for name in names if not inspect.ismodule(getattr(home, name))]


def members(kind: type) -> list[str]:
    """Return the documented methods and properties of a class.

    >>> import aggro
    >>> members(aggro.io.Reader)[:2]
    ['bad_lines', 'columns']
    """
    found = []
    for name in dir(kind):
        owner = next((base for base in kind.__mro__ if name in vars(base)), object)
        ours = owner.__module__.startswith("aggro") and not name.startswith("_")
        if ours or name in FROM_SKLEARN:
            member = inspect.getattr_static(kind, name)
            documented = inspect.getdoc(getattr(kind, name, None)) or inspect.getdoc(member)
            if name in FROM_SKLEARN or (documented and not name.startswith("set_")):
                found.append(name)
    return found


def see_also(module: str, name: str) -> list[str]:
    """Return links to names of the same group and to related pages."""
    own = GROUPS if module == "aggro" else {}
    group = next((key for key, names in own.items() if name in names), module)
    kin = GROUPS.get(group, public(module))
    links = [f":doc:`{other} <{module}.{other}>`" for other in kin if other != name]
    links += [f":doc:`/{page}`" for page in PAGES.get(group, ())]
    return [".. seealso::", "", f"   {', '.join(links)}", ""]


def page(module: str, name: str, thing: Any) -> str:
    """Return the page of one name."""
    title = f"{module}.{name}".removeprefix("aggro.")
    lines = [title, "=" * len(title), "", f".. currentmodule:: {module}", ""]
    if inspect.isclass(thing):
        lines += [f".. autoclass:: {name}"]
        if not issubclass(thing, Exception):
            lines += [f"   :members: {', '.join(members(thing))}"]
    else:
        lines += [f".. autofunction:: {name}"]
    return "\n".join([*lines, "", *see_also(module, name)])


def summary(thing: Any) -> str:
    """Return the first sentence of a docstring."""
    return (inspect.getdoc(thing) or "").partition("\n")[0].replace("|", r"\|")


def listing(module: str, names: list[str]) -> list[str]:
    """Return a table of names with summaries."""
    home = import_module(module)
    lines = [".. list-table::", "   :widths: 40 60", ""]
    for name in names:
        lines += [
            f"   * - :doc:`{name} <{module}.{name}>`",
            f"     - {summary(getattr(home, name))}",
        ]
    return [*lines, ""]


def index() -> str:
    """Return the index of the reference."""
    title = "Reference"
    lines = [
        title,
        "=" * len(title),
        "",
        "Every public name of aggro. The tests run all examples.",
        "",
    ]
    rest = [name for name in public("aggro") if not any(name in group for group in GROUPS.values())]
    for heading, names in {**GROUPS, "Other names": tuple(rest)}.items():
        present = [name for name in names if name in public("aggro")]
        if present:
            lines += [heading, "-" * len(heading), "", *listing("aggro", present)]
    for module in MODULES[1:]:
        heading = f"{module}: {HEADINGS[module][0].lower()}{HEADINGS[module][1:]}"
        lines += [heading, "-" * len(heading), "", *listing(module, public(module))]
    entries = [f"   {module}.{name}" for module in MODULES for name in public(module)]
    return "\n".join([*lines, ".. toctree::", "   :hidden:", "", *entries, ""])


def pages() -> dict[str, str]:
    """Return the pages of the reference by name."""
    made = {
        f"{module}.{name}": page(module, name, getattr(import_module(module), name))
        for module in MODULES
        for name in public(module)
    }
    return made | {"index": index()}
