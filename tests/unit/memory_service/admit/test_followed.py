from __future__ import annotations

import pytest

from memshare_memory.admit.followed import followed

ADAS = "SELECT name FROM authors WHERE country = 'Norway' ORDER BY name"
BOBS = "SELECT count(*) FROM loans JOIN members USING (member_id) GROUP BY town"


@pytest.mark.parametrize("order", [[ADAS, BOBS], [BOBS, ADAS]])
def test_an_answer_followed_the_memory_that_it_copied(order: list[str]) -> None:
    answer = "SELECT name FROM authors WHERE country = 'Peru' ORDER BY name"

    assert followed(answer, order) == order.index(ADAS)


def test_how_much_of_the_memory_is_in_the_answer_counts_and_not_how_long_it_is() -> None:
    long = f"{ADAS} and then a great deal more that nobody asked for, over and over and over again"

    assert followed(ADAS, [long, ADAS]) == 1


def test_an_answer_unlike_all_that_was_shown_followed_none() -> None:
    assert followed("DELETE FROM shelves WHERE floor > 3", [ADAS, BOBS]) is None
    assert followed("names of authors from Norway", [ADAS]) is None, "the words alone, in no order"


@pytest.mark.parametrize("answer", ["", "Yes."])
def test_where_nothing_was_shown_or_said_nothing_was_followed(answer: str) -> None:
    assert followed(answer, []) is None
    assert followed(answer, ["", ADAS]) is None


def test_of_equal_ones_the_first_was_followed() -> None:
    assert followed(ADAS, [BOBS, ADAS, ADAS.lower()]) == 1


def test_a_short_answer_is_followed_by_the_same_alone() -> None:
    assert followed("Forty two.", ["forty", "FORTY TWO"]) == 1


def test_chinese_is_compared_by_its_characters() -> None:
    assert followed("床前明月光，疑是地上霜。", ["春眠不觉晓，处处闻啼鸟。", "床前明月光，疑是地上雪。"]) == 1
    assert followed("红豆生南国", ["床前明月光"]) is None
