"""Masking: what looks like a secret is not shown."""

import pytest

from broker.app import REPR_LENGTH
from broker.masking import masked, shortened


@pytest.mark.parametrize(
    "secret",
    [
        "sk-proj-abcdefgh12345678",
        "ghp_abcdefgh12345678",
        "AKIAABCDEFGHIJKLMNOP",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdef",
    ],
)
def test_a_key_is_masked_wherever_it_stands(secret: str) -> None:
    assert masked(f"Write a poem about {secret}, please") == "Write a poem about …, please"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("password=hunter2 and more", "password=… and more"),
        ('{"api_key": "abc123", "kind": "x"}', '{"api_key": "…", "kind": "x"}'),
        ("Authorization: Bearer abcdef123456", "Authorization: Bearer …"),
        ("redis://me:secret@host:6379/0", "redis://…@host:6379/0"),
    ],
)
def test_a_value_that_is_named_as_a_secret_is_masked(text: str, shown: str) -> None:
    assert masked(text) == shown


def test_plain_words_stay_as_they_are() -> None:
    text = "A limerick about 3 basic tokens, a skeleton key and a secretary: task-12 at 10:30"

    assert masked(text) == text


def test_a_key_that_would_be_cut_in_the_middle_is_masked_too() -> None:
    shown = shortened({"prompt": "x" * (REPR_LENGTH - 20) + " sk-abcdefgh12345678"})

    assert "sk-" not in shown
    assert len(shown) <= REPR_LENGTH


def test_vectors_are_left_out_at_any_depth() -> None:
    pair = {"prompt": "a lamp", "embedding": {"encoder": "e", "data": "AAAA"}}

    assert shortened({"task": pair, "candidates": [pair]}) == "{'task': {'prompt': 'a lamp'}}"
