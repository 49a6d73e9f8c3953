from __future__ import annotations

import pytest

from memshare_agents.reasoning.knowledge import DECAY, THRESHOLD, ShortTerm, ShortTermItem, cut, tokens_of


def item(text: str, **more: object) -> ShortTermItem:
    return ShortTermItem("memory", text, **more)  # type: ignore[arg-type]


def faded(memory: ShortTerm, steps: int) -> ShortTerm:
    for _ in range(steps):
        memory = memory.fade()
    return memory


def test_an_item_gets_a_label_and_keeps_it() -> None:
    memory = ShortTerm(1_000).hold([item("a"), item("b")]).fade().hold([item("c")])

    assert [(one.label, one.text) for one in memory.items] == [("k1", "a"), ("k2", "b"), ("k3", "c")]


def test_a_label_is_not_given_twice_though_its_item_is_gone() -> None:
    memory = faded(ShortTerm(1_000).hold([item("a")]), 20).hold([item("b")])

    assert [(one.label, one.text) for one in memory.items] == [("k2", "b")]


def test_strength_decays_by_the_step_until_the_item_is_dropped() -> None:
    memory = ShortTerm(1_000).hold([item("a")])

    strengths = []
    while memory.items:
        strengths.append(memory.items[0].strength)
        memory = memory.fade()

    assert strengths == pytest.approx([DECAY**step for step in range(len(strengths))])
    assert len(strengths) == 14
    assert strengths[-1] >= THRESHOLD > strengths[-1] * DECAY


def test_recall_restores_what_was_used_and_nothing_else() -> None:
    memory = faded(ShortTerm(1_000).hold([item("a"), item("b")]), 13).recall(["k2", "k99"]).fade()

    assert [(one.text, one.strength) for one in memory.items] == [("b", DECAY)]


def test_what_is_found_again_is_restored_and_not_held_twice() -> None:
    memory = faded(ShortTerm(1_000).hold([item("a")]), 5).hold([item("a")])

    assert [(one.label, one.strength) for one in memory.items] == [("k1", 1.0)]


def test_answers_to_sub_questions_and_failed_answers_do_not_fade() -> None:
    memory = faded(
        ShortTerm(1_000).hold([ShortTermItem("failed answer", "Paris"), item("a"), ShortTermItem("answer", "Rome")]), 30
    )

    assert [one.text for one in memory.items] == ["Paris", "Rome"]


def test_where_room_is_short_answers_are_shown_before_what_was_found_and_the_rest_is_named() -> None:
    found = [item(f"found {number} {'x' * 600}") for number in range(4)]
    memory = ShortTerm(1_000).hold([ShortTermItem("answer", "y" * 600, about="a part"), *found])

    shown = [one.text[:7] for one in memory.shown()]

    assert shown == ["yyyyyyy", "found 1", "found 2", "found 3"]
    assert [name[:10] for name in memory.left_out()] == ["k2 found 0"]


@pytest.mark.parametrize("letter", ["x", "字", "é"])
@pytest.mark.parametrize("room", [1_000, 1_001, 4_000])
def test_what_is_shown_fits_in_the_room_however_much_there_is(letter: str, room: int) -> None:
    many = [item(f"{number} " + letter * 40 * number, title=letter * number * 30) for number in range(80)]
    failed = [ShortTermItem("failed answer", f"{number}{letter * 5_000}", title=letter * 5_000) for number in range(9)]

    shown = ShortTerm(room).hold([*many, *failed]).shown()

    assert sum(one.tokens for one in shown) <= room
    assert sum(one.kind == "failed answer" for one in shown) == 9
    assert sum(one.kind == "memory" for one in shown) >= 2


def test_where_room_is_short_the_strongest_are_shown_in_the_order_they_came() -> None:
    old = [item(f"old {number} {'x' * 300}") for number in range(10)]
    new = [item(f"new {number} {'x' * 300}") for number in range(3)]
    memory = faded(ShortTerm(1_000).hold(old), 2).recall(["k4"]).fade().hold(new)

    shown = [one.text[:5] for one in memory.shown()]

    assert shown[0] == "old 3"
    assert shown[-3:] == ["new 0", "new 1", "new 2"]
    assert 4 <= len(shown) < 13


def test_one_long_item_is_cut_and_takes_a_quarter_of_the_room() -> None:
    (long,) = ShortTerm(1_000).hold([item("x" * 100_000, title="t" * 1_000)]).items

    assert long.tokens <= 250
    assert long.text.endswith("…")


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("abc", 1), ("abcd", 2), ("汉字", 2), ("é", 1)])
def test_tokens_are_estimated_upwards(text: str, tokens: int) -> None:
    assert tokens_of(text) == tokens


@pytest.mark.parametrize("text", ["x" * 50, "汉" * 50, "é" * 50])
def test_a_text_is_cut_to_its_tokens_and_between_characters(text: str) -> None:
    short = cut(text, 10)

    assert tokens_of(short) <= 10
    assert text.startswith(short.removesuffix("…"))
    assert short.endswith("…")
    assert cut(text, 50) == text
