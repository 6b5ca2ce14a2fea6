"""Print the oldest versions that pyproject.toml allows, as requirements for pip.

What the library needs (its dependencies and extras) is pinned to the lower bound; the tools of the
tests keep their ranges. ``make test-oldest`` installs the result.
"""

import re
import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    from pip._vendor import tomli as tomllib

FRAMES = ("polars",)  # scikit-learn 1.6 reads them by a protocol that later versions have dropped
COMPANIONS = ("pyparsing<3.1",)  # later ones warn of how matplotlib 3.7 calls them
LEFT_OUT = ("schemathesis",)  # wants a newer rich; its tests are skipped
PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def oldest(requirement: str) -> str:
    """Turn ``numpy>=1.24; marker`` into ``numpy==1.24.*; marker``, and ``>=2`` into ``==2.0.*``."""
    whole = re.sub(r">=\s*(\d+)(?![\d.])", r">=\1.0", requirement)
    return re.sub(r">=\s*([\d.]+)", r"==\1.*", whole)


def group(data: dict[str, Any], name: str) -> list[str]:
    """Return the needs of a dependency group, with those of the groups that it includes."""
    found: list[str] = []
    for need in data["dependency-groups"][name]:
        found += [need] if isinstance(need, str) else group(data, need["include-group"])
    return found


def requirements(text: str) -> list[str]:
    """Return the pinned needs of the library, then those of its tests."""
    data = tomllib.loads(text)
    project = data["project"]
    extras = project["optional-dependencies"].values()
    needed = [*project["dependencies"], *(need for extra in extras for need in extra)]
    tools = [need for need in group(data, "test") if not need.startswith(("aggro[", *LEFT_OUT))]
    pinned = dict.fromkeys(oldest(need) for need in needed if not need.startswith("aggro["))
    return [
        *pinned,
        *COMPANIONS,
        *(oldest(need) if need.startswith(FRAMES) else need for need in tools),
    ]


if __name__ == "__main__":
    print("\n".join(requirements(PROJECT.read_text(encoding="utf-8"))))
