"""Names that were counted separately add up as in a plain dictionary."""

from hypothesis import given
from hypothesis import strategies as st

from aggro.merging.words import names_in, since, state_of_names, together

COUNTED = st.dictionaries(st.binary(max_size=5), st.integers(1, 9), max_size=30)


@given(st.lists(COUNTED, min_size=1, max_size=4))
def test_names_add_up_in_the_order_of_their_first_appearance(several):
    expected = {}
    for each in several:
        for name, count in each.items():
            expected[name] = expected.get(name, 0) + count
    total = together([state_of_names("text0", each) for each in several])
    assert list(names_in(total, "text0").items()) == list(expected.items())


@given(COUNTED, COUNTED)
def test_names_since_a_state_are_those_counted_more_often(before, after):
    expected = {name: count - before.get(name, 0) for name, count in after.items()}
    expected = {name: count for name, count in expected.items() if count > 0}
    states = (state_of_names("text0", each) for each in (before, after))
    assert list(names_in(since(*states), "text0").items()) == list(expected.items())
