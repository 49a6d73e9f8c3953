"""The cards of a person in Redis."""

from __future__ import annotations

from uuid import UUID, uuid4

import redis

from memshare_concepts.reviews import CardStore, Review, Ungraded
from memshare_memory.people import drop_cards, forget_person

ONE, OTHER, THIRD = uuid4(), uuid4(), uuid4()


def typed(*memories: UUID) -> Ungraded:
    return Ungraded(pool="plan", memories=memories, question="Why?", answer="Because.")


def test_what_was_typed_is_kept_until_it_is_graded(redis_client: redis.Redis) -> None:
    shelf = CardStore(redis_client, "Ada")

    shelf.note_answer(typed(ONE, OTHER))

    assert CardStore(redis_client, "Ada").ungraded("plan") == [typed(ONE, OTHER)]
    shelf.review("plan", [ONE, OTHER], "hard", 5.0)
    assert shelf.ungraded("plan") == []
    assert CardStore(redis_client, "Ada").cards("plan")[OTHER].reviews == (Review(grade="hard", at=5.0),)


def test_a_grade_counts_for_all_memories_that_the_question_needed(redis_client: redis.Redis) -> None:
    shelf = CardStore(redis_client, "Ada")
    shelf.review("plan", [ONE], "again", 1.0)

    shelf.review("plan", [ONE, OTHER], "good", 2.0)

    grades = {one: [review.grade for review in card.reviews] for one, card in shelf.cards("plan").items()}
    assert grades == {ONE: ["again", "good"], OTHER: ["good"]}


def test_nobody_sees_the_cards_of_another_person_or_pool(redis_client: redis.Redis) -> None:
    CardStore(redis_client, "Ada").review("plan", [ONE], "good", 1.0)

    assert CardStore(redis_client, "Bob").cards() == {}
    assert CardStore(redis_client, "Ada").cards("poem") == {}


def test_cards_go_with_their_memories_and_with_their_person(redis_client: redis.Redis) -> None:
    for name in ("Ada", "Bob"):
        CardStore(redis_client, name).review("plan", [ONE, OTHER], "good", 1.0)
        CardStore(redis_client, name).note_answer(typed(OTHER, ONE))
        CardStore(redis_client, name).note_answer(typed(THIRD))

    drop_cards(redis_client, [ONE])
    forget_person(redis_client, "Ada")

    assert CardStore(redis_client, "Ada").cards() == {}
    assert CardStore(redis_client, "Ada").ungraded("plan") == []
    assert CardStore(redis_client, "Bob").ungraded("plan") == [typed(THIRD)]
    assert set(CardStore(redis_client, "Bob").cards()) == {OTHER}
