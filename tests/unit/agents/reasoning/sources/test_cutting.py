from __future__ import annotations

import pytest

from memshare_agents.reasoning.sources.extract_text import pieces


def test_a_short_text_is_one_piece_and_an_empty_one_none() -> None:
    assert pieces("One sentence.", 100) == ["One sentence."]
    assert pieces(" \n ", 100) == []


def test_a_text_is_cut_between_paragraphs_before_sentences_and_words() -> None:
    assert pieces("One two three.\n\nFour. Five six.", 25) == ["One two three.", "Four. Five six."]
    assert pieces("One two three. Four five six.", 25) == ["One two three.", "Four five six."]
    assert pieces("one two three four five six", 15) == ["one two three", "four five six"]


def test_chinese_sentences_are_cut_after_their_full_stop() -> None:
    assert pieces("灯塔高四十一米。灯每晚都亮。", 10) == ["灯塔高四十一米。", "灯每晚都亮。"]


def test_a_word_that_is_too_long_is_cut_within() -> None:
    assert pieces("a" * 25, 10) == ["a" * 10, "a" * 10, "a" * 5]


def test_nothing_is_lost_and_no_piece_is_too_long() -> None:
    text = " ".join(f"Sentence {number} says {'word ' * (number % 9)}end.\n" for number in range(300))

    cut = pieces(text, 120)

    assert " ".join(" ".join(cut).split()) == " ".join(text.split())
    assert max(map(len, cut)) <= 120
    assert all(len(one) > 40 for one in cut[:-1])


@pytest.mark.timeout(20)
def test_a_text_without_any_border_is_cut_in_good_time() -> None:
    assert len(pieces("x" * 1_000_000, 800)) == 1250
    assert len(pieces("\n \n" * 300_000, 800)) == 0


def test_a_piece_has_at_least_one_character() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        pieces("x", 0)


def test_a_border_near_the_start_does_not_make_a_tiny_piece() -> None:
    cut = pieces("Hi.\n\n" + "word " * 30, 60)

    assert all(len(one) >= 29 for one in cut)
