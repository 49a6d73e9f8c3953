"""Tokens and weights of the BM25 vectors."""

from __future__ import annotations

import zlib

import pytest

from memshare_memory.stores import bm25


def test_words_are_told_apart_by_anything_but_letters_and_digits_whatever_their_case() -> None:
    assert bm25.tokens("Straße 42, don't SHOUT!") == ["strasse", "42", "don", "t", "shout"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("春眠不觉晓", ["春眠", "眠不", "不觉", "觉晓"]),
        ("月", ["月"]),
        ("ひらがなカナ", ["ひら", "らが", "がな", "なカ", "カナ"]),
        ("한국어 시", ["한국", "국어", "시"]),
        ("𠮷野家", ["𠮷野", "野家"]),
        ("写一首limerick关于GPU", ["写一", "一首", "limerick", "关于", "gpu"]),
    ],
)
def test_runs_of_cjk_characters_become_bigrams(text: str, expected: list[str]) -> None:
    assert bm25.tokens(text) == expected


def test_one_text_in_two_unicode_forms_has_one_vector() -> None:
    assert bm25.document("cafe\u0301 ＡＢＣ ｶﾞ") == bm25.document("café abc ガ")


def test_a_document_weighs_each_token_by_the_formula() -> None:
    vector = dict(zip(*bm25.document("moon moon tide"), strict=True))

    length_part = 1.2 * (1 - 0.75 + 0.75 * 3 / bm25.AVERAGE_LENGTH)
    assert vector[zlib.crc32(b"moon")] == pytest.approx(2 * 2.2 / (2 + length_part))
    assert vector[zlib.crc32(b"tide")] == pytest.approx(2.2 / (1 + length_part))


def test_a_word_weighs_less_in_a_longer_text() -> None:
    short = dict(zip(*bm25.document("moon"), strict=True))
    long = dict(zip(*bm25.document("moon " + " ".join(map(str, range(300)))), strict=True))

    assert long[zlib.crc32(b"moon")] < short[zlib.crc32(b"moon")]


def test_a_query_counts_a_repeated_word_once() -> None:
    assert bm25.query("moon Moon tide") == bm25.query("tide moon")
    assert set(bm25.query("moon moon").values) == {1.0}


def test_indices_ascend_fit_32_bits_and_are_the_same_in_every_process() -> None:
    indices = bm25.document(" ".join(f"word{i}" for i in range(500))).indices

    assert indices == sorted(set(indices))
    assert 0 <= indices[0] <= indices[-1] < 2**32
    assert bm25.query("moon").indices == [3823912936]


def test_tokens_that_collide_count_as_one() -> None:
    assert zlib.crc32(b"plumless") == zlib.crc32(b"buckeroo")

    assert bm25.query("plumless buckeroo") == ([zlib.crc32(b"plumless")], [1.0])
    assert bm25.document("plumless buckeroo") == bm25.document("plumless plumless")


@pytest.mark.parametrize("text", ["", " \n", "?!…。、"])
def test_a_text_without_words_has_an_empty_vector(text: str) -> None:
    assert bm25.document(text) == bm25.query(text) == ([], [])


def test_a_text_in_plain_ascii_has_the_vector_of_its_tokens() -> None:
    text = "The CAT_9 sat;  the-cat's\tmat!\n(Really, the mat?) x2 2x __ " + "tide " * 7
    tokens = {zlib.crc32(token.encode()) for token in bm25.tokens(text)}

    assert bm25.document(text).indices == bm25.query(text).indices == sorted(tokens)
    assert set(bm25.document(f"{text} é").indices) - tokens == {zlib.crc32("é".encode())}
