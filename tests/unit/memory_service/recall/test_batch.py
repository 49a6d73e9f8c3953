from __future__ import annotations

import pytest

from memshare_memory.recall.batch import choose, used_up
from memshare_memory.stores.store import Hit
from tests.support.memories import prompts, remembered


def hit(prompt: str | None, submitter: str = "ada", answer: str = "Yes.", *, proven: bool = True) -> Hit:
    return Hit(remembered(prompt, answer=answer, submitter=submitter)[0], 0, 0, proven=proven)


def test_of_those_with_the_same_prompt_the_first_is_chosen() -> None:
    hits = [hit("A lamp"), hit("a  LAMP", answer="No."), hit("A shoe")]

    assert prompts(choose(hits, 3, each=3)) == ["A lamp", "A shoe"]


def test_statements_without_a_prompt_are_told_apart_by_what_they_say() -> None:
    hits = [hit(None, answer=answer) for answer in ("Lamps are red.", "Shoes are blue.", "lamps are RED.")]

    assert [one.memory.answer for one in choose(hits, 3, each=3)] == ["Lamps are red.", "Shoes are blue."]


def test_beside_proven_ones_one_unproven_is_chosen_and_no_second() -> None:
    hits = [hit("one", proven=False), hit("two", proven=False), hit("three"), hit("four")]

    assert prompts(choose(hits, 3, each=3)) == ["one", "three", "four"]
    assert prompts(choose(hits[:3], 3, each=3)) == ["one", "three"]


def test_where_none_is_proven_what_there_is_is_chosen() -> None:
    hits = [hit(prompt, proven=False) for prompt in ("one", "two", "One", "three")]

    assert prompts(choose(hits, 3, each=3)) == ["one", "two", "three"]


def test_no_unproven_one_is_chosen_in_place_of_a_proven_one_with_the_same_prompt() -> None:
    hits = [hit("A lamp", answer="No.", proven=False), hit("A shoe"), hit("a  LAMP")]

    assert prompts(choose(hits, 1, each=1)) == ["A shoe"]
    assert prompts(choose(hits, 3, each=3)) == ["A shoe", "a  LAMP"]


@pytest.mark.parametrize("prompt", ["A lamp?", "Ａ lamp", "a-lamp…", "A la\u00admp", "A la\u115fmp"])
def test_an_unproven_look_alike_of_a_proven_prompt_counts_as_the_same_prompt(prompt: str) -> None:
    hits = [hit(prompt, answer="No.", proven=False), hit("A shoe"), hit("A lamp")]
    near = choose(hits, 3, each=3, cosine=lambda *_: 0.98)
    far = choose(hits, 3, each=3, cosine=lambda *_: 0.97)

    assert prompts(near) == ["A shoe", "A lamp"]
    same = prompt == "A la\u00admp"  # this one is no look-alike: it is the prompt
    assert prompts(far) == (["A shoe", "A lamp"] if same else [prompt, "A shoe", "A lamp"])


def test_look_alikes_that_are_all_proven_or_all_unproven_are_told_apart() -> None:
    for proven in (True, False):
        assert len(choose([hit("A lamp?", proven=proven), hit("A lamp", proven=proven)], 3, each=3)) == 2


def test_prompts_without_a_letter_are_no_look_alikes() -> None:
    hits = [hit("🦊", proven=False), hit("🐰"), hit("🐻")]

    assert len(choose(hits, 3, each=3)) == 3


def test_no_more_than_each_of_a_submitter_are_chosen() -> None:
    hits = [hit("one", "eve"), hit("two", "eve"), hit("three", "eve"), hit("four", "ada")]

    assert prompts(choose(hits, 3, each=2)) == ["one", "two", "four"]
    assert used_up(hits[:2], each=2) == ["eve"]


def both_right(one: Hit, other: Hit) -> list[Hit]:
    """Two hits of which a person said that both are right."""
    return [one._replace(both_right=(other.memory.id,)), other._replace(both_right=(one.memory.id,))]


def test_those_that_a_person_found_both_right_are_chosen_together_and_a_third_is_not() -> None:
    hits = [*both_right(hit("A lamp", answer="Red."), hit("a LAMP", answer="Blue.")), hit("A lamp", answer="Green.")]

    assert [one.memory.answer for one in choose(hits, 3, each=3)] == ["Red.", "Blue."]
    assert len(choose(hits, 1, each=1)) == 1


def test_a_copy_of_what_was_found_right_stands_for_it_and_not_beside_it() -> None:
    red, blue = both_right(hit("A lamp", answer="Red."), hit("A lamp", answer="Blue."))
    copy = Hit(remembered("A lamp", answer="Red.", pool="mine")[0], 0, 0)

    assert [one.memory.pool for one in choose([copy, red, blue], 3, each=3)] == ["mine", "poem"]
    assert [one.memory.answer for one in choose([blue, copy, red], 3, each=3)] == ["Blue.", "Red."]
    assert len(choose(both_right(red, copy), 3, each=3)) == 1


def test_an_unproven_one_stands_beside_a_proven_one_if_a_person_found_both_right() -> None:
    for prompt in ("a  LAMP", "A lamp?"):
        hits = both_right(hit("A lamp", answer="Red."), hit(prompt, answer="Blue.", proven=False))
        assert len(choose(hits, 3, each=3)) == 2
        assert len(choose(hits[::-1], 3, each=3)) == 2
