from __future__ import annotations

from memshare.memory_service.recall.select_shown import choose, used_up
from memshare.memory_service.stores.store import Hit
from tests.support.memories import prompts, remembered


def hit(prompt: str | None, submitter: str = "ada", status: str = "active", answer: str = "Yes.") -> Hit:
    return Hit(remembered(prompt, answer=answer, submitter=submitter, status=status)[0], 0, 0)


def test_of_those_with_the_same_prompt_the_first_is_chosen() -> None:
    hits = [hit("A lamp"), hit("a  LAMP", answer="No."), hit("A shoe")]

    assert prompts(choose(hits, 3, each=3)) == ["A lamp", "A shoe"]


def test_statements_without_a_prompt_are_told_apart_by_what_they_say() -> None:
    hits = [hit(None, answer=answer) for answer in ("Lamps are red.", "Shoes are blue.", "lamps are RED.")]

    assert [one.memory.answer for one in choose(hits, 3, each=3)] == ["Lamps are red.", "Shoes are blue."]


def test_one_newcomer_is_chosen_and_no_second() -> None:
    hits = [hit("one", status="probation"), hit("two", status="probation"), hit("three"), hit("four")]

    assert prompts(choose(hits, 3, each=3)) == ["one", "three", "four"]
    assert used_up(hits[:1], each=3) == ([], True)


def test_no_more_than_each_of_a_submitter_are_chosen() -> None:
    hits = [hit("one", "eve"), hit("two", "eve"), hit("three", "eve"), hit("four", "ada")]

    assert prompts(choose(hits, 3, each=2)) == ["one", "two", "four"]
    assert used_up(hits[:2], each=2) == (["eve"], False)
