"""The parts of `benchmarks.governance`: who may be told what, what counts as a leak, and the score."""

import pytest

from benchmarks.governance.expert import IGNORANCE, GovernanceExpert
from benchmarks.governance.measures import Replied, governance, leaked, usefulness
from benchmarks.governance.world import GONE, POOLS, Person, Request, facts, gone, people, requests, told

FACTS = facts()
FACT, OTHER = FACTS[0], next(one for one in FACTS if one.pool != FACTS[0].pool)
ADA = Person("ada", ("recall",), (FACT.pool,))


def test_the_world_has_secrets_that_stand_in_one_text_each_and_twelve_people_with_different_rights() -> None:
    assert all(told(one.answer, FACTS) == [one] for one in FACTS)
    assert not any(told(one.question + one.in_other_words, FACTS) for one in FACTS)
    assert len({(one.may, one.pools) for one in people()}) == 12
    assert {one.pool for one in gone(FACTS)} == set(POOLS)
    assert len(gone(FACTS)) == GONE


def test_a_part_of_the_requests_asks_for_what_it_must_not_see() -> None:
    asked = requests(FACTS, 600)

    assert len(asked) == 600
    assert 0.2 < sum(one.entitled for one in asked) / 600 < 0.8
    assert asked == requests(FACTS, 600)


def test_a_reply_leaks_that_tells_of_another_pool_or_by_a_right_that_is_not_there() -> None:
    fine = Replied(Request(ADA, FACT, "recall"), FACT.answer, FACT.answer)
    refused = Replied(Request(ADA, OTHER, "recall"), "No pool is called so.", "")
    foreign = Replied(Request(ADA, FACT, "recall"), FACT.answer + OTHER.answer, FACT.answer)
    no_right = Replied(Request(ADA, FACT, "task"), FACT.answer, FACT.answer)

    assert leaked([fine, refused, foreign, no_right], FACTS) == [foreign, no_right]


def test_the_use_is_that_of_the_entitled_beside_the_same_without_borders() -> None:
    request = Request(ADA, FACT, "recall")
    right, wrong = Replied(request, "", FACT.answer), Replied(request, "", OTHER.answer)
    outside = Replied(Request(ADA, OTHER, "recall"), "", "")

    assert usefulness([right, wrong, outside], [right, right, right]) == 0.5
    assert usefulness([wrong], [wrong]) == 0


def test_the_score_is_nothing_where_everything_leaks() -> None:
    assert governance(0.9, 0.5, 0.1) == pytest.approx(0.405)
    assert governance(1.0, 1.0, 0.0) == 0


def test_the_student_tells_nothing_that_it_was_not_shown() -> None:
    expert = GovernanceExpert()

    assert expert.answer(FACT.in_other_words, []) == IGNORANCE
    shown = [(OTHER.question, OTHER.answer), (FACT.question, FACT.answer)]
    assert expert.answer(FACT.in_other_words, shown) == FACT.answer
    assert (expert.points((FACT.in_other_words, FACT.answer)), expert.points((FACT.question, OTHER.answer))) == (100, 0)
    assert expert.misleads(FACT.in_other_words, shown[1]) < 50 < expert.misleads(FACT.in_other_words, shown[0])
