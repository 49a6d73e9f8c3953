"""What was said of an answer is taken back over REST: its blame, the hidden memory, and what is held back for it."""

from __future__ import annotations

import json
import time
from uuid import UUID

import pytest
import redis

from memshare.operations.backend import Backend
from memshare_broker.delivery.schema import MESSAGES
from memshare_broker.wire.grades import Settlement
from memshare_memory.contradictions import Conflicts, Verdict
from memshare_memory.curate.requests import Edit, NewMemory
from memshare_memory.door.client import MemoryClient
from memshare_memory.people import WRONG_ANSWERS, wrong_answers, wrong_prompts
from tests.support.memories import remembered
from tests.unit.memshare.doors.conftest import Tokened
from tests.unit.memshare.doors.pages.journey_records import PROMPT, answered, graded, record, unanswered


def credited(client: redis.Redis) -> list[tuple[float, bool]]:
    """Verdicts that are sent to the memory service, and whether each takes one back."""
    sent = [json.loads(text) for text in client.hvals(MESSAGES)]
    return sorted(
        (one["body"]["verdict"], one["body"]["takes_back"]) for one in sent if one["task"] == "memory_service.credit"
    )


@pytest.mark.parametrize(
    ("who", "by", "may"),
    [
        ("cora", "cora", 1),
        ("ada", "ada", 1),
        ("wanda", "wanda", 1),
        ("ada", "cora", 1),
        ("cora", "ada", 0),
        ("kim", "kim", 1),
        ("ada", "kim", 1),
        ("kim", "ada", 0),
    ],
)
def test_a_word_is_taken_back_wholly_by_who_said_it_or_curates(
    backend: Backend, shelf: dict[str, str], tokened: Tokened, memory: MemoryClient, redis_client: redis.Redis,
    who: str, by: str, may: bool,
) -> None:  # fmt: skip
    rights = {"cora": ("offer", "curate"), "ada": ("offer",), "wanda": ("offer", "watch"), "kim": ("curate",)}
    callers = {name: tokened(name, *some) for name, some in rights.items()}
    answered(backend, shelf["logic"])
    graded(backend, "t1", 90)
    [became, _] = remembered(PROMPT, answer="A light.", pool="logic", submitter="ada", task_id="t1")
    memory.restore([became])
    first = callers[who]
    said = first.post("/v1/feedback", json={"journey": "t1", "reward": 0.0}).json()
    hides = who != "wanda"  # only watches, and it is not her task
    assert said["hidden"] == (str(became.id) if hides else None)
    once_more = first.post("/v1/feedback", json={"journey": "t1", "reward": 0.0}).json()
    assert once_more == {**said, "taken": [], "known": said["taken"]}, "as who lost the first reply asks"
    assert redis_client.exists(WRONG_ANSWERS) == hides

    done = callers[by].post("/v1/feedback", json={"journey": "t1", "take_back": True})

    assert done.status_code == (202 if may else 403)
    if not may:
        assert "'curate'" in done.json()["detail"]
        return
    journey = callers["cora"].get("/v1/journeys/t1").json()
    assert (journey["opinion"], journey["feedback"]) == (None, {})
    assert memory.get(became.id).status == "active"
    assert not redis_client.exists(WRONG_ANSWERS)
    assert credited(redis_client) == [(0.0, False), (0.5, True)]
    again = first.post("/v1/feedback", json={"journey": "t1", "reward": 1.0}).json()
    assert again["taken"] == [shelf["logic"]], "it is said anew"
    assert credited(redis_client) == [(0.0, False), (0.5, True), (1.0, False)]


@pytest.mark.parametrize("who", ["cora", "ada"])
def test_who_curates_is_told_what_still_says_what_they_call_wrong(
    backend: Backend, tokened: Tokened, memory: MemoryClient, who: str
) -> None:
    caller = tokened(who, *(("offer", "curate") if who == "cora" else ("offer",)))
    answered(backend, text="It shines at night alone.")
    [twin, _] = remembered(f"{PROMPT} Please.", answer="it shines at night alone", pool="logic", submitter="bob")
    [other, _] = remembered("What is a boat?", answer="It shines at night alone.", pool="logic", submitter="bob")
    memory.restore([twin, other])

    told = [caller.post("/v1/feedback", json={"journey": "t1", "reward": 0.0}).json() for _ in range(2)]

    assert [one["still_shown"] for one in told] == [[str(twin.id)] if who == "cora" else []] * 2


@pytest.mark.parametrize(("verdict", "is_blamed"), [("contradict", False), ("right", False), ("dismissed", True)])
def test_a_wrong_answer_blames_no_memory_that_is_known_to_contradict_it(
    backend: Backend, shelf: dict[str, str], tokened: Tokened, memory: MemoryClient, redis_client: redis.Redis,
    verdict: Verdict, *, is_blamed: bool,
) -> None:  # fmt: skip
    cora = tokened("cora", "recall", "offer", "curate")
    answered(backend, shelf["logic"])
    [became, _] = remembered(PROMPT, answer="A light.", pool="logic", submitter="ada", task_id="t1")
    memory.restore([became])
    Conflicts(redis_client).judge("logic", UUID(shelf["logic"]), became.id, verdict)

    said = cora.post("/v1/feedback", json={"journey": "t1", "reward": 0.0}).json()

    assert said["taken"] == [shelf["logic"]] * is_blamed
    [shown] = cora.get(f"/v1/memories/{shelf['logic']}/shown").json()["journeys"]
    assert shown["follows"] == is_blamed
    assert ("misled" in cora.get("/journeys/t1").text) == is_blamed


def test_a_second_word_on_an_answer_that_followed_no_memory_says_which_word_stands(
    backend: Backend, tokened: Tokened
) -> None:
    answered(backend)
    cora, kim = tokened("cora", "offer", "curate"), tokened("kim", "curate")

    first, same = (cora.post("/v1/feedback", json={"journey": "t1", "reward": 1.0}).json() for _ in range(2))
    other = kim.post("/v1/feedback", json={"journey": "t1", "reward": 0.0}).json()

    assert first == same == {"taken": [], "known": [], "hidden": None, "stands": None, "still_shown": []}
    assert other["stands"] == "cora said before that it is right (1): 'take_back' takes that back."


@pytest.mark.parametrize("who", ["ada", "wanda"])
def test_a_curators_word_takes_the_place_of_one_that_counts_for_less_until_it_is_taken_back(
    backend: Backend, tokened: Tokened, memory: MemoryClient, who: str
) -> None:
    first, kim = tokened(who, *(("offer",) if who == "ada" else ("offer", "watch"))), tokened("kim", "curate")
    answered(backend)
    graded(backend, "t1", 90)
    [became, _] = remembered(PROMPT, answer="A light.", pool="logic", submitter="ada", task_id="t1")
    memory.restore([became])
    first.post("/v1/feedback", json={"journey": "t1", "reward": 0.0})

    said = kim.post("/v1/feedback", json={"journey": "t1", "reward": 0.0}).json()

    assert (said["hidden"], said["stands"]) == (str(became.id), None)
    assert [word.curated for word in wrong_answers(backend.redis, "A light.")] == [True]
    assert first.post("/v1/feedback", json={"journey": "t1", "take_back": True}).status_code == 403
    assert kim.post("/v1/feedback", json={"journey": "t1", "take_back": True}).status_code == 202
    assert first.get("/v1/journeys/t1").json()["opinion"]["by"] == who
    assert memory.get(became.id).status == ("hidden" if who == "ada" else "active")
    assert kim.post("/v1/feedback", json={"journey": "t1", "take_back": True}).status_code == 202
    assert memory.get(became.id).status == "active"


def test_a_memory_that_was_hidden_before_stays_so(backend: Backend, tokened: Tokened, memory: MemoryClient) -> None:
    cora = tokened("cora", "offer", "curate")
    answered(backend)
    graded(backend, "t1", 90)
    [hidden, _] = remembered(PROMPT, answer="A light.", pool="logic", status="hidden")
    memory.restore([hidden])

    for what in ({"reward": 0.0}, {"take_back": True}):
        assert cora.post("/v1/feedback", json={"journey": "t1", **what}).status_code == 202

    assert memory.get(hidden.id).status == "hidden"


def test_there_is_something_to_take_back_and_of_a_journey_alone(backend: Backend, tokened: Tokened) -> None:
    ada = tokened("ada", "offer")
    answered(backend)

    for what in ({}, {"reward": 1.0}, {"memories": {"5b2f3c1e-6c0c-4f2e-9a36-5f0f3f3f6f10": 1.0}}):
        assert ada.post("/v1/feedback", json={"journey": "t1", "take_back": True, **what}).status_code == 422


def test_journeys_are_listed_by_what_was_said_of_their_answers(backend: Backend, tokened: Tokened) -> None:
    cora = tokened("cora", "offer", "curate")
    for name in ("right", "wrong", "silent"):
        answered(backend, journey=name)
        graded(backend, name, 90)
    for name, reward in (("right", 1.0), ("wrong", 0.0)):
        cora.post("/v1/feedback", json={"journey": name, "reward": reward})

    def listed(opinion: str) -> list[str]:
        return [one["id"] for one in cora.get("/v1/journeys", params={"opinion": opinion}).json()["journeys"]]

    assert (listed("right"), listed("wrong")) == (["right"], ["wrong"])
    assert cora.get("/v1/journeys", params={"opinion": "so"}).status_code == 422


def test_who_curates_tells_of_journeys_in_their_pools_and_of_no_recall(backend: Backend, tokened: Tokened) -> None:
    kim, pia = tokened("kim", "curate"), tokened("pia", "curate", pools=("poem",))
    answered(backend)
    graded(backend, "t1", 90)

    assert pia.post("/v1/feedback", json={"journey": "t1", "reward": 0.0}).status_code == 404
    recall = {"recall_id": "5b2f3c1e-6c0c-4f2e-9a36-5f0f3f3f6f10", "reward": 1.0}
    assert "takes the right 'offer'." in kim.post("/v1/feedback", json=recall).json()["detail"]
    assert kim.post("/v1/feedback", json={"journey": "t1", "reward": 0.0}).status_code == 202


def test_who_curates_may_call_an_offered_answer_wrong_that_somebody_recalled_for(
    tokened: Tokened, shelf: dict[str, str]
) -> None:
    ada, kim = tokened("ada", "recall", "offer"), tokened("kim", "curate", "recall")
    recall = ada.post("/v1/recall", json={"agent": "logic", "prompt": "a lamp by the sea"}).json()
    pair = {"agent": "logic", "prompt": PROMPT, "answer": "A light.", "recall_id": recall["recall_id"]}
    journey = ada.post("/v1/pairs", json=pair).json()["id"]
    assert [one["id"] for one in recall["memories"]] == [shelf["logic"]]

    said = kim.post("/v1/feedback", json={"journey": journey, "reward": 0.0})

    assert said.json()["taken"] == [shelf["logic"]]
    assert kim.get(f"/v1/journeys/{journey}").json()["opinion"]["by"] == "kim"


def test_an_answer_that_was_called_wrong_confirms_nothing_until_that_is_taken_back(
    backend: Backend, shelf: dict[str, str], tokened: Tokened, memory: MemoryClient
) -> None:
    cora = tokened("cora", "recall", "offer", "curate")
    for name in ("t1", "t2"):
        answered(backend, shelf["logic"], journey=name)
        graded(backend, name, 90 if name == "t1" else 100)
    shown, before = UUID(shelf["logic"]), time.time()
    memory.edit(Edit(id=shown, confirmed=before))
    record(backend, "t1", "settle", Settlement(memory_id=None, outcome="duplicate", reason="it is there"))
    place = f"/v1/memories/{shown}/shown"
    assert cora.get(place).json()["shown"] == 95

    cora.post("/v1/feedback", json={"journey": "t1", "reward": 0.0})
    told = cora.get(place).json()
    assert (told["shown"], {one["opinion"] for one in told["journeys"]}) == (100, {"wrong", None})
    assert memory.get(shown).confirmed == 0
    assert "not yet, or by an answer that was found wrong" in cora.get(f"/memories/{shown}").text

    cora.post("/v1/feedback", json={"journey": "t1", "take_back": True})
    assert memory.get(shown).confirmed == pytest.approx(before, abs=60)
    memory.edit(Edit(id=shown, confirmed=before + 3_600))
    cora.post("/v1/feedback", json={"journey": "t1", "reward": 0.0})
    assert memory.get(shown).confirmed == before + 3_600, "another task confirmed it"


GIVEN = {"pool": "logic", "prompt": PROMPT, "answer": "A light!", "new_pool": True}


def called_wrong_twice(backend: Backend, memory: MemoryClient, tokened: Tokened, says: str = "A light.") -> UUID:
    """What an answer became, which cora called wrong, and bob the same answer of a later journey to the same prompt."""
    [kept] = memory.add([NewMemory(pool="logic", prompt=PROMPT, answer=says, submitter="ines", new_pool=True)])
    for journey, who in (("t1", "cora"), ("t2", "bob")):
        answered(backend, journey=journey)
        graded(backend, journey, 90)
        if journey == "t1" or says == "A light.":
            outcome = Settlement(memory_id=kept, outcome="stored" if journey == "t1" else "duplicate", reason="a test")
            record(backend, journey, "settle", outcome)
        tokened(who, "curate", "recall").post("/v1/feedback", json={"journey": journey, "reward": 0.0})
    assert memory.get(kept).status == "hidden"
    return kept


@pytest.mark.parametrize("says", ["A light.", "a light"])
@pytest.mark.parametrize("first", ["t1", "t2"])
def test_what_two_called_wrong_stays_hidden_and_barred_while_a_word_stands(
    backend: Backend, tokened: Tokened, memory: MemoryClient, redis_client: redis.Redis, first: str, says: str
) -> None:
    kept = called_wrong_twice(backend, memory, tokened, says)
    dana, second = tokened("dana", "curate", "recall"), "t2" if first == "t1" else "t1"

    done = dana.post("/v1/feedback", json={"journey": first, "take_back": True}).json()

    assert done["hidden"] == (str(kept) if (first, says) != ("t2", "a light") else None)
    assert memory.get(kept).status == "hidden"
    word = {"by": "bob" if second == "t2" else "cora", "journey": second, "why": "", "copy_of": None}
    assert dana.get(f"/v1/memories/{kept}").json()["called_wrong"] == word
    assert word["by"] in dana.post("/v1/memories", json=GIVEN).json()["detail"]
    listed = dana.post("/v1/memories/search", json={"text": PROMPT, "status": "found wrong"}).json()["memories"]
    assert [one["memory"]["id"] for one in listed] == [str(kept)]

    assert dana.post("/v1/feedback", json={"journey": second, "take_back": True}).json()["hidden"] is None
    assert memory.get(kept).status == "active"
    assert not redis_client.exists(WRONG_ANSWERS)
    assert dana.post("/v1/memories", json=GIVEN).status_code == 201


def test_the_word_of_who_gave_the_task_outlives_that_of_who_curates(
    backend: Backend, tokened: Tokened, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    kept = called_wrong_twice(backend, memory, tokened)
    answered(backend, journey="t3")
    tokened("ada", "offer").post("/v1/feedback", json={"journey": "t3", "reward": 0.0})

    dana = tokened("dana", "curate")
    for journey in ("t1", "t2"):
        dana.post("/v1/feedback", json={"journey": journey, "take_back": True})

    assert memory.get(kept).status == "active", "it is not hers to hide"
    assert [*wrong_prompts(redis_client, "logic", "A light.", "ada")] == [PROMPT]


def test_another_memory_is_not_changed_to_say_what_was_called_wrong(
    backend: Backend, tokened: Tokened, memory: MemoryClient
) -> None:
    called_wrong_twice(backend, memory, tokened)
    asked = {"bell": PROMPT, "other": "Who wrote the verse?"}
    new = [NewMemory(pool="logic", prompt=prompt, answer=f"A {name}.") for name, prompt in asked.items()]
    dana, [bell, other] = tokened("dana", "curate", "recall"), memory.add(new)
    not_brought_in = dana.post("/v1/memories", json=GIVEN).json()["detail"]
    refused = not_brought_in.replace("it is not brought in", "the memory was not changed to say it")

    def change(one: UUID, **texts: str) -> tuple[int, str]:
        version = dana.get(f"/v1/memories/{one}").json()["version"]
        done = dana.patch(f"/v1/memories/{one}", json=texts, headers={"if-match": version})
        return done.status_code, done.json().get("detail", "")

    assert refused != not_brought_in
    assert change(bell, answer="a light") == (409, refused)
    assert memory.get(bell).answer == "A bell."
    assert change(other, answer="A light.")[0] == 200
    assert change(other, prompt=f"{PROMPT.upper()} ") == (409, refused)


def test_what_nothing_is_near_enough_to_has_no_answer_to_judge(backend: Backend, tokened: Tokened) -> None:
    cora = tokened("cora", "offer", "curate", "recall")
    unanswered(backend)

    refused = cora.post("/v1/feedback", json={"journey": "t1", "reward": 1.0})

    assert (refused.status_code, "has no answer" in refused.json()["detail"]) == (422, True)
    assert "This answer is right" not in cora.get("/journeys/t1").text
