"""A model that has learned, for the tests of text models."""

import pytest
from text_support import texts

from aggro import TextClassifier


@pytest.fixture(scope="module")
def learned():
    X, y = texts(1500)
    return TextClassifier(probability=True).partial_fit(X[:1200], y[:1200])
