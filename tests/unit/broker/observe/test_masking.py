"""Masking: what looks like a secret is not shown."""

from collections.abc import Callable

import pytest

from memshare_broker.observe.safe_text import READ, REPR_LENGTH, cut, masked, shortened


@pytest.mark.parametrize(
    "secret",
    [
        "sk-proj-abcdefgh12345678",
        "ghp_abcdefgh12345678",
        "AKIAABCDEFGHIJKLMNOP",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdef",
        "AIzaSyA1234567890abcdefghijklmnopqrstuv",
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


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("key_sk-abcdefgh12345678", "key_…"),
        ("Authorization: Basic dXNlcjpwYXNzd29yZA==", "Authorization: Basic …"),
        ("{'Authorization': 'Basic dXNlcjpwYXNz', 'x': 1}", "{'Authorization': 'Basic …', 'x': 1}"),
        ("authorization=dXNlcjpwYXNz", "authorization=…"),
        ("redis://:pa/ss@w@host:6379/0", "redis://…@host:6379/0"),
        ("password='two words' and more", "password='…' and more"),
        ('{"password": "two words", "kind": "x"}', '{"password": "…", "kind": "x"}'),
        (r"""{'prompt': 'my password=\'two words\' it is'}""", r"""{'prompt': 'my password=\'…\' it is'}"""),
        (r"""{'password': 'it\'s two words', 'kind': 'x'}""", "{'password': '…', 'kind': 'x'}"),
        (r"""{\"api_key\": \"two words\", \"kind\": 1}""", r"""{\"api_key\": \"…\", \"kind\": 1}"""),
        ("password='two words without an end", "password='…"),
    ],
)
def test_the_whole_of_a_secret_is_masked_and_what_follows_is_not(text: str, shown: str) -> None:
    assert masked(text) == shown
    assert masked(shown) == shown, "an argument is masked by the client and by the worker"


WORDS = ("password", "passwd", "secret", "api_key", "api-key", "apikey", "access_key", "accesskey", "token")
FOLDED = str.maketrans({"s": "ſ", "k": "\N{KELVIN SIGN}", "i": "ı"})  # other letters that case makes the same


@pytest.mark.parametrize("written", [str.lower, str.upper, str.title, lambda word: word.translate(FOLDED)])
@pytest.mark.parametrize("word", [*WORDS, "authorization"])
def test_a_name_of_a_secret_is_known_however_it_is_written(word: str, written: Callable[[str], str]) -> None:
    assert masked(f"my {written(word)}: hunter2") == f"my {written(word)}: …"


@pytest.mark.parametrize(
    "prefix", ["sk", "pk", "hf", "ghp", "gho", "ghu", "ghs", "ghr", "glpat", "xoxa", "xoxb", "xoxp"]
)
@pytest.mark.parametrize("separator", "-_")
def test_a_key_is_known_by_its_prefix(prefix: str, separator: str) -> None:
    assert masked(f"it is {prefix}{separator}abcdefgh12345678.") == "it is …."


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "part",
    ["a-", "eyJ-", "eyJ", "token-", "token ", "token='", "token\\'", "sk-", "AIza", "://", "a://b", "Bearer ",
     "password: ", "authorization: basic ", "x"],
)  # fmt: skip
def test_a_text_made_to_be_slow_is_masked_in_time_that_grows_with_its_length_only(part: str) -> None:
    hostile = part * (1_000_000 // len(part))  # at the square of its length this would take hours

    assert len(masked(hostile)) <= len(hostile)


def test_of_a_long_text_only_the_beginning_is_read() -> None:
    assert cut("sk-" + "a" * READ + " and more") == "…"


@pytest.mark.parametrize("secret", ["sk-abcdefgh12345678", "redis://:hunter2@host", "Authorization: Basic dXNlcjpw"])
@pytest.mark.parametrize("seen", range(1, 24))
def test_a_secret_that_begins_where_the_reading_ends_is_not_shown_in_part(secret: str, seen: int) -> None:
    long = "sk-" + "a" * (READ - 4 - seen)

    shown = cut(f"{long} {secret} more")

    for part in ("sk-", "hunter", "dXN"):
        assert part not in shown


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
