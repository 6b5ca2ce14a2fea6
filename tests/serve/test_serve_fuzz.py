"""A few hundred requests generated from the description; ``make fuzz-serve`` sends ten thousand."""

import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the server is forked")
pytest.importorskip("schemathesis", reason="pip install schemathesis")


# hypothesis and jsonschema warn about things of their own
@pytest.mark.filterwarnings("ignore")
def test_generated_requests_conform_to_the_description(tmp_path):
    from fuzz import GROWTH, fuzz

    count, growth = fuzz(150, tmp_path)
    assert count >= 150
    assert growth < GROWTH
