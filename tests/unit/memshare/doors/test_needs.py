from __future__ import annotations

import json
import time
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import redis
from fastapi.testclient import TestClient

from memshare.client.rest.calls.concepts import ConceptsReply, SimilarReply
from memshare.doors.pages.needs import Needs
from memshare.operations.backend import Backend
from memshare.operations.caller import local_caller
from memshare.operations.needs import needs
from memshare_broker.delivery.dead_letters import letter_for
from memshare_broker.delivery.schema import Entry
from memshare_broker.errors import GiveUp
from memshare_broker.wire.grades import CriterionScore
from memshare_broker.wire.lessons import Compared
from memshare_broker.wire.messages import Usage
from memshare_memory.belief.promotions import note_used
from memshare_memory.contradictions import Conflicts
from memshare_memory.curate.requests import Edit, Forget, NewMemory
from memshare_memory.door.client import MemoryClient
from memshare_memory.memory import Cause, Memory, Verdict, memory_id
from memshare_scorer.recheck import RECHECKS, Recheck
from tests.unit.memshare.doors.conftest import Tokened, bodies, bury


def contradictory(memory: MemoryClient, client: redis.Redis) -> list[str]:
    """Two memories of which a model has said that they contradict each other."""
    one, other = memory.add(
        [NewMemory(pool="logic", answer=f"The lamp is {colour}.", new_pool=True) for colour in ("red", "green")]
    )
    compared = Compared(
        memory_id=one, contradicted={other: "Red or green."}, compared=1, model="scripted", usage=Usage()
    )
    Conflicts(client).note("logic", compared, [other])
    return [str(one), str(other)]


def test_a_contradiction_needs_somebody_until_a_person_has_decided(
    here: TestClient, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    ids = contradictory(memory, redis_client)

    [need] = here.get("/v1/needs").json()["needs"]
    assert need["kind"] == "conflict"
    assert need["claims"] == "Red or green."
    assert {one["memory"]["id"] for one in need["memories"]} == set(ids)

    here.post("/v1/conflicts", json={"memories": ids, "contradict": True})
    assert here.get("/v1/needs").json() == {"total": 0, "needs": [], "missing": []}
    assert [(one["confirmed"], one["right"]) for one in here.get("/v1/conflicts").json()] == [(True, None)]

    here.post("/v1/conflicts", json={"memories": ids, "right": ids[1]})
    assert [(one["confirmed"], one["right"]) for one in here.get("/v1/conflicts").json()] == [(True, ids[1])]
    nonsense = {"memories": ids, "contradict": False, "right": ids[1]}
    assert here.post("/v1/conflicts", json=nonsense).status_code == 422


def test_a_contradiction_of_a_hidden_memory_needs_nobody_until_that_is_shown_again(
    here: TestClient, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    hidden, _ = contradictory(memory, redis_client)

    counts = []
    for status in ("hidden", "active"):
        memory.edit(Edit(id=UUID(hidden), status=status))
        counts.append(here.get("/v1/needs").json()["total"])

    assert counts == [0, 1]


def test_a_check_that_broke_needs_somebody_until_it_was_mended(here: TestClient, redis_client: redis.Redis) -> None:
    for pool in ("logic", "poem"):
        here.post("/v1/memories", json={"pool": pool, "answer": "A light.", "new_pool": True})
    for pool, why in (("logic", "A check broke."), ("poem", None), ("gone", "A check broke.")):
        last = Recheck(pool=pool, at=7, watched="", why=why)
        redis_client.hset(RECHECKS, pool, last.model_dump_json())

    [need] = here.get("/v1/needs").json()["needs"]

    assert (need["kind"], need["pool"], need["since"], need["why"]) == ("recheck", "logic", 7, "A check broke.")
    page = here.get("/inbox").text
    assert "A check broke." in page
    assert '<a href="/agents/logic">' in page
    assert all(f'name="{name}" value="{value}"' in page for name, value in (("kind", "recheck"), ("pool", "logic")))
    assert "Check again" in page
    redis_client.hset(RECHECKS, "logic", Recheck(pool="logic", at=8, watched="").model_dump_json())
    assert here.get("/v1/needs").json()["total"] == 0


def test_what_is_used_in_vain_for_long_needs_somebody_until_a_person_speaks_for_it(
    here: TestClient, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    long, lately, hidden = memory.add(
        [NewMemory(pool="logic", prompt=f"A lamp {number}", answer="A light.", new_pool=True) for number in range(3)]
    )
    memory.edit(Edit(id=hidden, status="hidden"))
    now = time.time()
    note_used(redis_client, "logic", [long, hidden], now - 91 * 86_400, well=False)
    note_used(redis_client, "logic", [long, lately], now - 89 * 86_400, well=False)

    [need] = here.get("/v1/needs").json()["needs"]

    assert (need["kind"], [one["memory"]["id"] for one in need["memories"]]) == ("recheck", [str(long)])
    assert "Still right" in here.get("/inbox").text
    given = {"memory": str(long), "decision": "confirm"}
    done = here.post("/inbox/stale", data=given, headers={"origin": "http://127.0.0.1"})
    assert "Confirmed: 1 memory." in done.text
    assert here.get("/v1/needs").json()["total"] == 0
    assert memory.get(long).confirmed is not None
    assert f"{time.gmtime().tm_year}" in here.get(f"/memories/{long}").text.split("Last confirmed")[1][:200]

    note_used(redis_client, "logic", [long], 1, well=False)
    redis_client.hset(RECHECKS, "logic", Recheck(pool="logic", at=8, watched="").model_dump_json())
    assert here.get("/v1/needs").json()["total"] == 0, "a program checks what is not a statement"


def test_dead_letters_are_for_who_may_retry_them(here: TestClient, backend: Backend, tokened: Tokened) -> None:
    letter = bury(backend, "logic", "It went wrong.")

    [need] = here.get("/v1/needs").json()["needs"]
    assert need["letter"]["id"] == letter
    assert tokened("viewer", "recall").get("/v1/needs").json()["total"] == 0
    assert tokened("owner", "admin").get("/v1/needs").json()["total"] == 1
    assert tokened("other", "admin", pools=("poem",)).get("/v1/needs").json()["total"] == 0


def test_dead_letters_of_one_reason_are_one_thing_to_decide_on_whatever_their_stage(
    here: TestClient, backend: Backend
) -> None:
    first, *others = [bury(backend, agent, f"It went wrong: {at}.") for at, agent in enumerate(("logic", "poem") * 2)]
    elsewhere = Entry(id="e", task="agents.poem", queue="poem", body={"prompt": "x"}, journey="e", stage="answer")
    backend.client.dead_letters.add(letter_for(elsewhere, GiveUp("It is too long.", "too long"), tries=1))

    need, other = here.get("/v1/needs").json()["needs"]

    assert (need["letter"]["id"], [one["id"] for one in need["alike"]]) == (first, others)
    assert {one["task"] for one in (need["letter"], *need["alike"])} == {"agents.logic", "agents.poem"}
    assert (other["letter"]["id"], other["alike"]) == ("e", [])


def test_a_stale_memory_needs_somebody_and_a_hidden_one_does_not(
    here: TestClient, memory: MemoryClient, shelf: dict[str, str]
) -> None:
    for pool, status in (("logic", "stale"), ("poem", "hidden")):
        version = here.get(f"/v1/memories/{shelf[pool]}").json()["version"]
        here.patch(f"/v1/memories/{shelf[pool]}", json={"status": status}, headers={"If-Match": version})

    [need] = here.get("/v1/needs").json()["needs"]
    assert (need["kind"], need["memories"][0]["memory"]["id"]) == ("stale memory", shelf["logic"])
    assert memory.stats().total == 2


def test_the_status_names_open_messages_with_their_queue(here: TestClient, tokened: Tokened) -> None:
    here.post("/v1/tasks", json={"agent": "logic", "prompt": "What has keys?"})

    [queue] = here.get("/v1/status").json()["queues"]
    assert (queue["name"], queue["open"], queue["workers"], queue["waiting"]) == ("logic", 1, 0, [])
    assert tokened("other", "admin", pools=("poem",)).get("/v1/status").json()["queues"] == []


def test_what_can_be_read_is_told_while_the_memory_service_is_away(backend: Backend, tmp_path: Path) -> None:
    elsewhere = backend.settings.model_copy(update={"data": tmp_path / "elsewhere"})
    letter = bury(backend, "logic", "It went wrong.")

    with closing(Backend(elsewhere)) as alone:
        found = needs(alone, local_caller())
        counted = Needs(alone).count(local_caller())

    assert [one.letter.id for one in found.needs if one.letter] == [letter]
    [why] = found.missing
    assert "memory service" in why
    assert counted == (1, "Starting: the memory service has not answered yet.")


def test_twenty_pairs_of_names_of_a_pool_need_somebody_at_a_time(backend: Backend, here: TestClient) -> None:
    similar = tuple(SimilarReply(keep=f"lamp {at}", other=f"lamps {at}", similarity=0.9) for at in range(25))
    found = ConceptsReply(pool="logic", memories=50, without=0, similar=similar)
    backend.concepts["logic"] = (time.monotonic(), found)

    def shown() -> list[str]:
        needs = here.get("/v1/needs").json()["needs"]
        return [one["names"]["keep"] for one in sorted(needs, key=lambda one: int(one["names"]["keep"].split()[1]))]

    assert shown() == [f"lamp {at}" for at in range(20)]
    here.post("/v1/concepts/logic", json={"apart": ["lamp 3", "lamps 3"]})
    assert shown() == [f"lamp {at}" for at in range(21) if at != 3]


def test_what_was_decided_on_a_contradiction_can_be_taken_back(
    here: TestClient, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    ids = contradictory(memory, redis_client)

    def say(**what: bool) -> int:
        return here.post("/v1/conflicts", json={"memories": ids, **what}).status_code

    assert say(undecided=True) == 422  # nobody has decided
    for contradict in (True, False):
        assert say(contradict=contradict) == 200
        assert here.get("/v1/needs").json()["total"] == 0
        assert say(undecided=True) == 200
        [need] = here.get("/v1/needs").json()["needs"]
        assert need["claims"] == "Red or green."
    assert (say(), say(undecided=True, contradict=True)) == (422, 422)


def test_of_what_a_memory_contradicts_that_lost_to_another_nobody_is_asked(
    here: TestClient, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    ids = contradictory(memory, redis_client)
    [blue] = memory.add([NewMemory(pool="logic", answer="The lamp is blue.")])
    claims = {blue: "Red or blue."}
    also = Compared(memory_id=UUID(ids[0]), contradicted=claims, compared=1, model="scripted", usage=Usage())
    Conflicts(redis_client).note("logic", also, [blue])
    assert here.get("/v1/needs").json()["total"] == 2

    here.post("/v1/conflicts", json={"memories": ids, "contradict": True, "right": ids[1]})
    assert here.get("/v1/needs").json()["needs"] == []

    here.post("/v1/conflicts", json={"memories": ids, "undecided": True})
    assert here.get("/v1/needs").json()["total"] == 2


def test_what_is_nearly_the_same_needs_somebody_once_it_was_looked_for_until_it_is_decided(
    here: TestClient, tokened: Tokened, memory: MemoryClient
) -> None:
    one, other, _ = memory.add(
        [NewMemory(pool="logic", answer=answer, new_pool=True) for answer in ("red lamp", "red lamp red lamp", "shoe")]
    )
    place, two = "/v1/duplicates/logic", [str(one), str(other)]
    assert here.get("/v1/needs").json()["total"] == 0

    found = here.get(place).json()
    assert (found["looked_at"], found["found"]) == (3, 1)
    [need] = here.get("/v1/needs").json()["needs"]
    assert (need["kind"], {each["memory"]["id"] for each in need["memories"]}) == ("duplicate", set(two))
    assert need["cosine"] > 0.95

    for different, total in ((True, 0), (False, 1)):
        assert here.post(place, json={"memories": two, "different": different}).status_code == 200
        assert here.get("/v1/needs").json()["total"] == total
    here.delete(f"/v1/memories/{other}")
    assert here.get(place).json()["duplicates"] == []
    assert here.post(place, json={"memories": two}).status_code == 404
    assert tokened("viewer", "recall").post(place, json={"memories": two}).status_code == 403
    assert tokened("elsewhere", "recall", pools=("poem",)).get(place).status_code in (403, 404)


MONDAYS, TUESDAYS = "The museum is closed on Mondays.", "The museum is closed on Tuesdays."


def written_from(memory: MemoryClient, *statements: UUID, answer: str, prompt: str = "When is it open?") -> UUID:
    """An answer whose agent was shown these statements."""
    own = memory_id("logic", prompt, answer)
    made = Memory(id=own, pool="logic", prompt=prompt, answer=answer, parents=statements, created=time.time())
    return memory.restore([made])[0]


def stated(memory: MemoryClient, *texts: str) -> list[UUID]:
    return memory.add([NewMemory(pool="logic", answer=text, new_pool=True) for text in texts])


def stale(client: TestClient) -> list[dict[str, Any]]:
    found = client.get("/v1/needs").json()
    assert found["total"] == len(found["needs"])
    return [one for one in found["needs"] if one["kind"] == "stale memory"]


def ids_of(need: dict[str, Any]) -> set[str]:
    return {one["memory"]["id"] for one in need["memories"]}


def test_what_is_stale_of_one_cause_needs_somebody_once_with_what_its_source_said_then_and_says_now(
    here: TestClient, memory: MemoryClient
) -> None:
    museum, lamp = stated(memory, MONDAYS, "The lamp is red.")
    other = written_from(memory, museum, answer="On any day but the first of a week.")
    repeats = written_from(memory, museum, answer=f"{MONDAYS} Come on a Friday.")
    of_lamp = written_from(memory, lamp, answer="Red.")

    memory.edit(Edit(id=museum, answer=TUESDAYS))
    memory.forget(Forget(ids=(lamp,)))

    by_museum, by_lamp = stale(here)
    assert [one["memory"]["id"] for one in by_museum["memories"]] == [str(repeats), str(other)]
    assert by_museum["repeats"] == [str(repeats)]
    assert by_museum["source"] == {
        "id": str(museum), "became": "changed", "then": MONDAYS, "now": TUESDAYS, "right": [],
    }  # fmt: skip
    [cause] = by_museum["memories"][0]["memory"]["because"]
    assert (cause["memory"], cause["became"]) == (str(museum), "changed")
    assert ids_of(by_lamp) == {str(of_lamp)}
    assert (by_lamp["source"]["became"], by_lamp["source"]["then"], by_lamp["source"]["now"]) == (
        "forgotten", "The lamp is red.", None,
    )  # fmt: skip


def test_then_is_the_text_that_it_was_written_from_also_after_the_change_was_undone(
    here: TestClient, memory: MemoryClient
) -> None:
    [museum] = stated(memory, MONDAYS)
    memory.edit(Edit(id=museum, answer=TUESDAYS))
    late = written_from(memory, museum, answer=f"{MONDAYS} Come on a Friday.")
    cause = Cause(memory=museum, became="changed", at=time.time())
    stays = {"status": "stale", "because": (cause,), "created": time.time()}  # it was under way when that changed
    memory.restore([memory.get(late).model_copy(update=stays)])

    for answer in (MONDAYS, "It is never closed."):
        memory.edit(Edit(id=museum, answer=answer))

        [need] = stale(here)
        assert (need["source"]["then"], need["source"]["now"], need["repeats"]) == (MONDAYS, answer, [str(late)])


def test_a_forgotten_source_is_told_to_who_may_bring_it_back_and_one_that_was_purged_to_nobody(
    here: TestClient, tokened: Tokened, memory: MemoryClient
) -> None:
    lamp, purged, another = stated(memory, "The lamp is red.", "The door is blue.", "The wall is grey.")
    of_lamp = written_from(memory, lamp, purged, answer="The lamp is red.")
    of_purged = {str(written_from(memory, one, answer=f"It is {one}.")) for one in (purged, another)}
    memory.purge(Forget(ids=(purged, another)))
    memory.forget(Forget(ids=(lamp,)))

    by_lamp, gone = sorted(stale(here), key=lambda one: one["source"] is None)
    assert (ids_of(by_lamp), by_lamp["repeats"]) == ({str(of_lamp)}, [str(of_lamp)])
    assert (gone["source"], ids_of(gone)) == (None, of_purged)
    viewer = tokened("viewer", "recall")
    [source] = [one["source"] for one in stale(viewer) if one["source"]]
    assert (source["became"], source["then"]) == ("forgotten", None)
    assert stale(tokened("elsewhere", "recall", pools=("poem",))) == []


def test_what_was_written_from_what_was_found_wrong_needs_somebody_until_that_is_taken_back(
    here: TestClient, memory: MemoryClient
) -> None:
    wrong, right = stated(memory, MONDAYS, TUESDAYS)
    derived = written_from(memory, wrong, answer="Not on Mondays.")
    two = {"memories": [str(wrong), str(right)]}

    here.post("/v1/conflicts", json={**two, "contradict": True, "right": str(right)})
    [need] = stale(here)
    assert (need["source"]["became"], need["source"]["right"]) == ("found wrong", [str(right)])
    shown = here.get(f"/v1/memories/{wrong}").json(), here.get(f"/v1/memories/{right}").json()
    assert [(one["lost_to"], one["won_over"]) for one in shown] == [([str(right)], []), ([], [str(wrong)])]

    here.post("/v1/conflicts", json={**two, "undecided": True})
    assert (stale(here), memory.get(derived).status) == ([], "active")


def test_what_a_person_said_contradicts_its_source_is_not_stale_with_that(
    here: TestClient, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    wrong, right = stated(memory, MONDAYS, TUESDAYS)
    derived = written_from(memory, wrong, answer="It never closes.")
    Conflicts(redis_client).judge("logic", wrong, derived, "confirmed")

    here.post("/v1/conflicts", json={"memories": [str(wrong), str(right)], "contradict": True, "right": str(right)})

    assert (stale(here), memory.get(derived).status) == ([], "active")


def test_of_what_is_stale_as_its_source_was_found_wrong_nobody_is_asked_whether_it_contradicts_what_is_right(
    here: TestClient, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    wrong, right = stated(memory, MONDAYS, TUESDAYS)
    derived = written_from(memory, wrong, answer="On Mondays it is not.")
    here.post("/v1/conflicts", json={"memories": [str(wrong), str(right)], "contradict": True, "right": str(right)})

    Conflicts(redis_client).judge("logic", right, derived, "contradict")

    assert [one["kind"] for one in here.get("/v1/needs").json()["needs"]] == ["stale memory"]
    memory.edit(Edit(id=derived, status="active"))
    assert [one["kind"] for one in here.get("/v1/needs").json()["needs"]] == ["conflict"]


def test_who_is_wrong_and_what_an_answer_copies_is_no_more_word_for_one_of_two(
    here: TestClient, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    right, other = stated(memory, "12 euros.", "15 euros.")
    answers = (("ada", "14 euros."), ("bob", "14 euros"), ("cy", "14 euros!"))
    made = [
        Memory(id=memory_id("logic", who, said), pool="logic", prompt=who, answer=said, submitter=who, created=at + 1,
               task_id=who if at else None)
        for at, (who, said) in enumerate(answers)
    ]  # fmt: skip
    stood, *tasks = memory.restore(made)
    links = Conflicts(redis_client)
    for one in (stood, *tasks):
        links.judge("logic", right, one, "contradict")

    def speaks() -> set[str | None]:
        return {one["speaks"] for one in here.get("/v1/needs").json()["needs"]}

    assert speaks() == {"3 submitters say the same, and 1 the same as the other"}
    of_copy = {"parents": (tasks[0],), "submitter": "dee"}
    memory.restore([made[1].model_copy(update={"parents": (stood,)}), made[2].model_copy(update=of_copy)])
    assert speaks() == {None}, "they say what one person said, and a person gave the other, too"
    links.judge("logic", stood, other, "wrong")
    assert speaks() == {"a person gave it so, and a task made the other"}
    memory.restore(made[1:])
    assert speaks() == {"2 submitters say the same, and 1 the same as the other"}, "one of the three was found wrong"


def test_a_copy_of_a_copy_is_no_word_of_its_own_though_what_is_between_them_contradicts_nothing(
    here: TestClient, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    [right] = stated(memory, "12 euros.")
    first, between, last = (
        Memory(id=memory_id("logic", who, "14 euros."), pool="logic", prompt=who, answer="14 euros.", submitter=who,
               task_id=who, created=time.time())
        for who in ("ada", "bob", "cy")
    )  # fmt: skip
    copies = [one.model_copy(update={"parents": (of.id,)}) for one, of in ((between, first), (last, between))]
    memory.restore([first, *copies])
    for one in (first.id, last.id):
        Conflicts(redis_client).judge("logic", right, one, "contradict")

    for meanwhile in ((), (between.id,)):
        for one in meanwhile:
            memory.forget(Forget(ids=(one,)))
        [need] = here.get("/v1/needs").json()["needs"]
        assert need["speaks"] == "a person gave it so, and a task made the other"


def test_one_contradiction_is_one_card_whatever_was_asked_and_a_decision_on_it_counts_for_all_copies(
    here: TestClient, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    [stated_so] = stated(memory, "The ferry costs 14 euros.")
    [pair] = memory.add([NewMemory(pool="logic", prompt="What does the ferry cost?", answer="12")])
    copies = memory.restore(
        [
            Memory(id=memory_id("logic", prompt, "12"), pool="logic", prompt=prompt, answer="12", task_id=prompt,
                   parents=(pair,), created=time.time())
            for prompt in ("How much is the ferry?", "What is the price of the ferry?")
        ]
    )  # fmt: skip
    links = Conflicts(redis_client)
    for one in (pair, *copies):
        links.judge("logic", stated_so, one, "contradict")

    [need] = here.get("/v1/needs").json()["needs"]
    assert (ids_of(need), need["others"]) == ({str(stated_so), str(pair)}, [])
    assert (need["better"], need["speaks"]) == (None, None), "a person stands on both sides"

    memory.edit(Edit(id=pair, status="hidden"))
    [need] = here.get("/v1/needs").json()["needs"]
    assert need["better"] == str(stated_so), "nobody stands for what is hidden"

    two = {"memories": [one["memory"]["id"] for one in need["memories"]], "contradict": True}
    here.post("/v1/conflicts", json={**two, "right": str(stated_so)})
    assert links.wrong("logic", [pair, *copies]) == {pair, *copies}


def test_what_says_the_same_of_another_question_is_another_contradiction(
    here: TestClient, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    bus, ferry = (
        memory.add([NewMemory(pool="logic", prompt=asked, answer=said, new_pool=True) for said in ("Yes.", "No.")])
        for asked in ("Is the bus free?", "Is the ferry free?")
    )
    links = Conflicts(redis_client)
    for two in (bus, ferry):
        links.judge("logic", *two, "contradict")
    assert here.get("/v1/needs").json()["total"] == 2

    decided = {"memories": [str(one) for one in bus], "contradict": True, "right": str(bus[0])}
    here.post("/v1/conflicts", json=decided)

    assert links.wrong("logic", [*bus, *ferry]) == {bus[1]}
    assert [ids_of(one) for one in here.get("/v1/needs").json()["needs"]] == [{str(one) for one in ferry}]


def test_a_stale_memory_that_is_being_graded_needs_nobody_and_is_handed_in_once(
    here: TestClient, tokened: Tokened, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    museum, *_ = stated(memory, MONDAYS)
    derived, other = (written_from(memory, museum, answer=f"Answer {number}.") for number in range(2))
    memory.edit(Edit(id=museum, answer=TUESDAYS))
    place = f"/v1/memories/{derived}/grade"

    assert here.post(f"/v1/memories/{museum}/grade").status_code == 422  # a statement
    first, second = here.post(place), here.post(place)

    assert (first.status_code, second.json()) == (202, first.json())
    [need] = stale(here)
    assert ids_of(need) == {str(other)}
    assert sum(str(derived) in one for one in bodies(redis_client)) == 1
    here.delete(first.json()["journey"])
    assert ids_of(stale(here)[0]) == {str(derived), str(other)}
    assert here.post(place).json()["id"] != first.json()["id"]
    assert tokened("viewer", "recall").post(place).status_code == 403


def test_what_says_the_same_as_a_loser_is_graded_again_beside_the_winner_that_it_contradicts_too(
    here: TestClient, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    right, wrong, like, other = (
        written_from(memory, answer=answer, prompt=prompt)
        for answer, prompt in (
            ("On Mondays.", "When is it closed?"),
            ("On Tuesdays.", "When is it closed?"),
            ("on Tuesdays!", "When is it shut?"),
            ("On Fridays.", "When is it shut?"),
        )
    )
    links = Conflicts(redis_client)
    here.post("/v1/conflicts", json={"memories": [str(right), str(wrong)], "contradict": True, "right": str(right)})

    def known(one: UUID) -> list[str]:
        return graded_beside(here, redis_client, one)

    assert known(wrong) == ["On Mondays."]
    assert known(like) == [], "nobody said that these two contradict each other"
    for one in (like, other):
        links.judge("logic", right, one, "contradict")
    assert [known(one) for one in (like, other)] == [["On Mondays."], []]


def test_what_a_changed_source_says_now_is_not_what_is_right_where_another_memory_denies_it_and_nobody_decided(
    here: TestClient, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    museum, denying = stated(memory, MONDAYS, "On Wednesdays.")
    derived = written_from(memory, museum, answer="On Mondays.")
    memory.edit(Edit(id=museum, answer=TUESDAYS))
    assert graded_beside(here, redis_client, derived) == [TUESDAYS]

    Conflicts(redis_client).judge("logic", museum, denying, "contradict")
    assert graded_beside(here, redis_client, derived) == []


def graded_beside(client: TestClient, ledger: redis.Redis, memory: UUID) -> list[str]:
    """What a memory that is graded again is compared with; the grading is ended."""
    journey = client.post(f"/v1/memories/{memory}/grade").json()["id"]
    [sent] = [one for one in map(json.loads, bodies(ledger)) if one["body"].get("journey") == journey]
    client.delete(f"/v1/journeys/{journey}")
    known: list[str] = sent["body"].get("known", [])
    return known


def test_what_speaks_for_one_of_two_is_told_with_the_first_reason_that_tells_them_apart(
    here: TestClient, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    contradictory(memory, redis_client)
    typed, copy = (
        Memory(id=memory_id("logic", prompt, "It is red."), pool="logic", prompt=prompt, answer=f"It is red{end}",
               submitter=who, created=at)
        for prompt, who, end, at in (("The door?", "ada", ".", 1.0), ("And the door?", "bob", "", 2.0))
    )  # fmt: skip
    made = typed.model_copy(update={"id": memory_id("logic", "x", "Blue."), "answer": "It is blue.", "task_id": "t1"})
    memory.restore([typed, made])
    links = Conflicts(redis_client)
    links.judge("logic", typed.id, made.id, "contradict")

    def speaks() -> list[tuple[str | None, str | None]]:
        return [(one["better"], one["speaks"]) for one in here.get("/v1/needs").json()["needs"]]

    assert speaks() == [(str(typed.id), "a person gave it so, and a task made the other"), (None, None)]

    memory.edit(Edit(id=made.id, answer="It is green."))
    links.judge("logic", typed.id, made.id, "contradict")
    assert speaks()[0] == (None, None), "a person wrote both"
    memory.restore([copy, typed, made])
    links.judge("logic", typed.id, made.id, "contradict")
    links.judge("logic", copy.id, made.id, "contradict")
    why = "2 submitters say the same, and 1 the same as the other"
    assert (str(typed.id), why) in speaks()

    for low in (70, 90):  # a grade of 85, in a range that 80 is in, and one of 95
        grade = {"score": low / 2 + 50, "criteria": {"form": CriterionScore(low=low, high=100, points=100)}}
        memory.restore([typed.model_copy(update={"score": 80}), made.model_copy(update=grade)])
        told = (str(made.id), "its answer was graded 95 of 100, the other's 80")
        assert (told in speaks(), "graded" in str(speaks())) == (low == 90, low == 90)


def test_contradictions_of_one_question_are_one_thing_to_decide_on_and_none_is_lost(
    here: TestClient, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    red, green, blue, other = (
        memory.add([NewMemory(pool="logic", prompt=prompt, answer=answer, new_pool=True)])[0]
        for prompt, answer in (
            ("Which lamp?", "Red."),
            ("which lamp?", "Green."),
            ("Which lamp?", "Blue."),
            ("Who?", "I."),
        )
    )
    links = Conflicts(redis_client)
    for one, another in ((red, green), (red, blue), (green, blue), (green, other)):
        links.judge("logic", one, another, "contradict")

    found = here.get("/v1/needs").json()
    card = next(one for one in found["needs"] if one["others"])

    assert found["total"] == len(found["needs"]) == 2
    assert ids_of(card) == {str(red), str(green)}, "the oldest"
    assert [ids_of(one) for one in card["others"]] == [{str(red), str(blue)}, {str(green), str(blue)}]
    page = here.get("/inbox").text
    assert page.count('class="item card"') == 2
    assert "2 more contradictions of this question" in page
    for one in (card, *card["others"]):
        two = [each["memory"]["id"] for each in one["memories"]]
        assert f'name="one" value="{two[0]}"><input type="hidden" name="other" value="{two[1]}"' in page
    assert page.count('data-key="a"') == 2, "a key presses what stands first on its card"

    here.post("/v1/conflicts", json={"memories": [str(red), str(green)], "contradict": True, "right": str(red)})
    left = here.get("/v1/needs").json()["needs"]
    assert [(ids_of(one), one["others"]) for one in left] == [({str(red), str(blue)}, [])]


def answers(memory: MemoryClient, source: UUID, *submitters: str) -> list[UUID]:
    """The same answer of tasks of some submitters, written from a statement."""
    said = f"You can bathe: {memory.get(source).answer}"
    made = [
        Memory(id=memory_id("logic", f"{who} {said}", said), pool="logic", prompt=f"{who} {said}", answer=said,
               submitter=who, task_id=who, parents=(source,), created=time.time())
        for who in submitters
    ]  # fmt: skip
    return memory.restore(made)


def test_what_repeats_a_persons_memory_in_other_words_is_not_outdone_by_another_persons(
    here: TestClient, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    first, second = stated(memory, "The whirlpool is open until 22:00.", "The whirlpool is open until 23:00.")
    for source, other in ((first, second), (second, first)):
        [child] = answers(memory, source, "ada")
        Conflicts(redis_client).judge("logic", other, child, "contradict")

    found = here.get("/v1/needs").json()["needs"]
    assert [one["better"] for one in found] == [None, None, None]
    assert ids_of(found[0]) == {str(first), str(second)}, "that of the two that these were written from"


@pytest.mark.parametrize("what", ["contradict", "right"])
def test_two_that_contradict_as_what_was_written_from_one_does_are_decided_themselves(
    here: TestClient, memory: MemoryClient, redis_client: redis.Redis, what: Verdict
) -> None:
    first, second = stated(memory, "The whirlpool is open until 22:00.", "The whirlpool is open until 23:00.")
    Conflicts(redis_client).judge("logic", second, answers(memory, first, "ada")[0], what)
    two = {"memories": [str(first), str(second)]}

    def asked() -> list[set[str]]:
        return [ids_of(one) for one in here.get("/v1/needs").json()["needs"] if one["kind"] == "conflict"]

    assert set(two["memories"]) in asked()
    here.post("/v1/conflicts", json={**two, "contradict": False})
    assert set(two["memories"]) not in asked(), "both are right"
    here.post("/v1/conflicts", json={**two, "right": str(first)})
    assert asked() == []


def test_no_two_cards_recommend_what_speaks_against_each_other(
    here: TestClient, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    ten, eleven, noon = stated(memory, *(f"The whirlpool is open until {at}." for at in ("22:00", "23:00", "noon")))
    for source, other in ((ten, eleven), (eleven, ten), (noon, ten)):
        for child in answers(memory, source, "ada", "bob"):
            Conflicts(redis_client).judge("logic", other, child, "contradict")

    better = [one["better"] for one in here.get("/v1/needs").json()["needs"]]

    assert [memory.get(UUID(one)).answer for one in better if one] == [
        "You can bathe: The whirlpool is open until noon."
    ]
