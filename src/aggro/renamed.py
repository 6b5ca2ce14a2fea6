"""Names that have changed: the old ones still work, and say what to write instead."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

Class = TypeVar("Class", bound=type)


@dataclass(frozen=True)
class Name:
    """What a keyword is called now; its values may have new names, too."""

    now: str
    values: dict[str, str] = field(default_factory=dict)


KEYWORDS: dict[str, dict[str, Name]] = {
    "ConfidenceWeightedClassifier": {
        "form": Name("loss", {"variance": "cw", "stdev": "cw_stdev"}),
    },
    "SoftConfidenceWeightedClassifier": {"kind": Name("loss", {"I": "scw1", "II": "scw2"})},
    "TextClassifier": {"passes": Name("max_iter")},
    "TextRegressor": {"passes": Name("max_iter")},
}
PROPERTIES = {"classes": "classes_", "n_features": "n_features_in_"}  # of stream learners
METHODS = {"coef": "coef_", "intercept": "intercept_"}  # which are properties now


def today(owner: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return keywords under the names that they have now.

    >>> today("SoftConfidenceWeightedClassifier", {"kind": "II", "C": 0.1})
    {'loss': 'scw2', 'C': 0.1}
    """
    names = KEYWORDS.get(owner, {})
    told = {}
    for name, value in given.items():
        known = names.get(name, Name(name))
        if known.now != name and known.now in given:
            raise TypeError(f"{name} is the old name of {known.now}; give {known.now} alone.")
        told[known.now] = known.values.get(value, value) if known.values else value
    return told


def old_keywords(cls: Class) -> Class:
    """Let a class take the old names of its keywords, with a warning."""
    made: Any = cls
    owner, init, set_params = made.__name__, made.__init__, made.set_params

    def told(given: dict[str, Any]) -> dict[str, Any]:
        now = today(owner, given)
        for old in given.keys() - now.keys():
            new = KEYWORDS[owner][old].now
            _warn(f"{owner}({old}={given[old]!r})", f"{new}={now[new]!r}")
        return now

    @functools.wraps(init)
    def __init__(self: Any, *args: Any, **given: Any) -> None:
        init(self, *args, **told(given))

    @functools.wraps(set_params)
    def set_params_(self: Any, **given: Any) -> Any:
        return set_params(self, **told(given))

    made.__init__, made.set_params = __init__, set_params_
    return cls


def old_attributes(cls: Class) -> Class:
    """Let a class be asked for its attributes by their old names, with a warning."""
    for old, new in PROPERTIES.items():
        if hasattr(cls, new):
            setattr(cls, old, property(_asking(old, new)))
    for old, new in METHODS.items():
        setattr(cls, old, _asking(f"{old}()", new))
    return cls


def _asking(old: str, new: str) -> Callable[[Any], Any]:
    def ask(self: Any) -> Any:
        _warn(f"{type(self).__name__}.{old}", new, frames=3)
        return getattr(self, new)

    ask.__doc__ = f"Old name of ``{new}``."
    return ask


def _warn(old: str, new: str, frames: int = 4) -> None:
    warnings.warn(f"{old} has another name now; write {new}.", FutureWarning, stacklevel=frames)
