from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memshare_broker.errors import BadInput
from memshare_broker.wire.forms import loads

leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3))


@given(values)
def test_a_value_is_read_as_it_was_written(value: Any) -> None:
    assert loads(json.dumps(value)) == value
    assert loads(json.dumps(value).encode()) == value


@given(st.text(max_size=20), values, values, st.lists(st.sampled_from(["[%s]", '{"x": %s}', "[1, %s, 2]"]), max_size=5))
def test_a_key_that_an_object_has_twice_is_named_however_deep_it_is(
    key: str, one: Any, other: Any, around: list[str]
) -> None:
    text = f'{{{json.dumps(key)}: {json.dumps(one)}, "_": 0, {json.dumps(key)}: {json.dumps(other)}}}'
    for outside in around:
        text = outside % text

    with pytest.raises(BadInput) as caught:
        loads(text)

    assert repr(key)[1:-1] in str(caught.value) or not key.isprintable()
    assert str(caught.value).isprintable()


def test_a_key_that_is_written_in_two_ways_is_one_key() -> None:
    with pytest.raises(BadInput, match="'answer'"):
        loads(r'{"answer": 1, "\u0061nswer": 2}')


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "[Infinity]"])
def test_a_number_that_json_has_not_is_refused(number: str) -> None:
    with pytest.raises(BadInput, match=number.strip("[]")):
        loads(number)


@pytest.mark.parametrize(("text", "error"), [("{", ValueError), ("", ValueError), ("[" * 100_000, RecursionError)])
def test_what_is_no_json_at_all_is_as_with_the_standard_library(text: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        loads(text)
