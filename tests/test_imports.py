"""What is said where an optional package is missing."""

import subprocess
import sys

import pytest

CODE = """
import sys
sys.modules[{missing!r}] = None
import aggro
try:
    aggro.{name}
except ModuleNotFoundError as error:
    print(error.name, error)
else:
    print("there")
"""


def said(missing, name):
    code = CODE.format(missing=missing, name=name)
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.mark.parametrize(
    "name", ["PassiveAggressiveClassifier", "KernelPassiveAggressiveRegressor"]
)
@pytest.mark.parametrize("missing", ["sklearn", "sklearn.base"])
def test_estimators_say_that_they_need_scikit_learn(name, missing):
    words = f"sklearn aggro.{name} needs scikit-learn: pip install 'aggro[sklearn]'"
    assert said(missing, name) == words


def test_another_missing_package_is_told_as_it_is():
    assert said("numpy.linalg", "PassiveAggressiveClassifier").startswith("numpy.linalg ")
    assert said("sklearn", "StreamClassifier") == "there"


def test_every_public_name_has_a_home():
    import aggro

    for name in aggro.__all__:
        assert getattr(aggro, name) is not None
    assert dir(aggro) == sorted(aggro.__all__)
