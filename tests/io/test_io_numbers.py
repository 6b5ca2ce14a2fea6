"""Numbers are read to the same bits as Python's float()."""

import struct

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aggro import _core

digits = st.text("0123456789", max_size=25)
decimals = st.builds(
    "{}{}{}{}{}".format,
    st.sampled_from(["", "-", "+"]),
    digits,
    st.sampled_from(["", "."]),
    digits,
    st.one_of(
        st.just(""),
        st.integers(-400, 400).map("e{}".format),
        st.integers(-30, 30).map("E{:+d}".format),
    ),
)


def expected(text):
    try:
        return float(text)
    except ValueError:
        return None


def same_bits(a, b):
    return a is b is None or (None not in (a, b) and struct.pack("d", a) == struct.pack("d", b))


@given(decimals)
@example("9007199254740993")
@example("0." + "0" * 400 + "1")
@example("1" + "0" * 400 + "e-400")
@example("2.2250738585072011e-308")
@example("2.4703282292062328e-324")
@example("18446744073709551616")
@example("0e99999999999999999999")
@example("1e99999999999999999999")
@example("-0")
def test_decimal_text_is_rounded_correctly(text):
    assert same_bits(_core.parse_float(text.encode()), expected(text))


@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["{!r}", "{:.6g}", "{:.17g}", "{:.20f}", "{:.16e}"]),
)
def test_formatted_doubles_are_read_exactly(value, pattern):
    text = pattern.format(value)
    assert same_bits(_core.parse_float(text.encode()), float(text))


@pytest.mark.parametrize(
    "text",
    ["", "-", ".", "e5", "1e", "1e+", "nan", "inf", "1_000", "0x10", "1 ", "--1", "+-1", "1\0"],
)
def test_text_that_is_no_number_is_rejected(text):
    assert _core.parse_float(text.encode()) is None
