"""Names that were counted apart add up as in a plain dictionary."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from aggro.merging.words import Names

COUNTED = st.dictionaries(st.binary(max_size=5), st.integers(1, 9), max_size=30)


def names_of(counted):
    data = np.frombuffer(b"".join(counted), np.uint8)
    ends = np.cumsum([len(name) for name in counted], dtype=np.int64)
    return Names(data, ends, np.array(list(counted.values()), np.int64))


def counted_in(names):
    whole, parts = names.data.tobytes(), pairwise([0, *names.ends.tolist()])
    return {whole[i:j]: n for (i, j), n in zip(parts, names.counts.tolist(), strict=True)}


@given(st.lists(COUNTED, min_size=1, max_size=4))
def test_names_add_up_in_the_order_in_which_they_came(several):
    expected = {}
    for each in several:
        for name, count in each.items():
            expected[name] = expected.get(name, 0) + count
    found = counted_in(Names.all_of([names_of(each) for each in several]))
    assert list(found.items()) == list(expected.items())


@given(COUNTED, COUNTED)
def test_names_that_came_since(before, after):
    expected = {name: count - before.get(name, 0) for name, count in after.items()}
    expected = {name: count for name, count in expected.items() if count > 0}
    found = counted_in(names_of(after).less(names_of(before)))
    assert list(found.items()) == list(expected.items())


def test_names_are_told_apart():
    """Also where they are alike: by one byte, by their order, by zeros at the end, by length."""
    some = [b"a" * n for n in range(70)] + [b"\0" * n for n in range(1, 70)]
    some += [bytes([i, j]) for i in range(256) for j in range(256)]
    some += [b"word%05x" % i for i in range(100_000)]
    names = names_of(dict.fromkeys(some, 1))
    assert len(np.unique(names.hashes())) == len(set(some))
