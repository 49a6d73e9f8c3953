"""A round of new questions is kept until it is over."""

from __future__ import annotations

import redis

from memshare_concepts.open_questions import Near, ProposedQuestion, Round, Rounds, Target, WantedQuestions
from memshare_memory.curate.requests import Forget
from memshare_memory.door.client import MemoryClient
from tests.support.memories import remembered

ONE, OTHER = ProposedQuestion.of("Is 1 a number?", ()), ProposedQuestion.of("Is 12 a number?", ())
ROUND = Round(
    wanted=WantedQuestions(target=Target(clusters=(1,), name="Numbers", topics=(), examples=()), count=2),
    proposals=(ONE, OTHER),
)


def test_a_decision_is_of_one_question_by_its_id_and_not_by_what_is_in_its_text(redis_client: redis.Redis) -> None:
    rounds = Rounds(redis_client, "plan", "Ada")

    rounds.keep(ROUND.with_one(OTHER.model_copy(update={"state": "kept"})))

    found = Rounds(redis_client, "plan", "Ada").read()
    assert found is not None
    assert ([one.id for one in found.those("open")], [one.id for one in found.those("kept")]) == ([ONE.id], [OTHER.id])


def test_a_round_is_its_persons_and_its_pools_until_it_ends(redis_client: redis.Redis) -> None:
    rounds = Rounds(redis_client, "plan", "Ada")
    rounds.keep(ROUND)

    assert Rounds(redis_client, "plan", "Bob").read() is None
    assert Rounds(redis_client, "poem", "Ada").read() is None
    rounds.end()
    assert rounds.read() is None


def test_of_two_decisions_on_a_question_the_first_stands(redis_client: redis.Redis) -> None:
    rounds = Rounds(redis_client, "plan", "Ada")
    rounds.keep(ROUND)

    said = [rounds.decide(ONE.model_copy(update={"state": state}), "open") for state in ("dropped", "submitted")]

    assert said == [True, False]
    found = rounds.read()
    assert found is not None
    assert [one.state for one in found.proposals] == ["dropped", "open"]


def test_others_come_in_place_of_what_is_open_and_what_was_kept_stays() -> None:
    kept = ROUND.with_one(ONE.model_copy(update={"state": "kept"}))

    found = kept.with_others([ProposedQuestion.of("Is 3 odd?", ()), OTHER])

    assert [(one.question, one.state) for one in found.proposals] == [
        ("Is 1 a number?", "kept"),
        ("Is 12 a number?", "dropped"),
        ("Is 3 odd?", "open"),
    ]


def test_what_a_person_wrote_is_kept_and_what_it_stands_for_is_dropped() -> None:
    found = ROUND.with_edited(ONE, ProposedQuestion.of("Is 0 a number?", ()))

    assert [one.question for one in found.those("kept")] == ["Is 0 a number?"]
    assert found.those("dropped") == [ONE.model_copy(update={"state": "dropped"})]
    assert found.those("open") == [OTHER]


def test_questions_beside_a_purged_memory_go_with_it_and_those_of_a_purged_person(
    memory: MemoryClient, redis_client: redis.Redis
) -> None:
    sail, mast = (remembered(prompt, pool="plan")[0] for prompt in ("What is a sail?", "What is a mast?"))
    memory.restore([sail, mast])
    for person, near in (("Ada", sail), ("Bob", mast), ("Cy", mast)):
        beside = ProposedQuestion.of("Why?", [Near(id=near.id, similarity=0.5)])
        Rounds(redis_client, "plan", person).keep(ROUND.model_copy(update={"proposals": (beside,)}))

    memory.purge(Forget(ids=(sail.id,)))
    memory.purge(Forget(submitter="Cy"))

    left = {person: Rounds(redis_client, "plan", person).read() is not None for person in ("Ada", "Bob", "Cy")}
    assert left == {"Ada": False, "Bob": True, "Cy": False}
