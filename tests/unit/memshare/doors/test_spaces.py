"""An agent with a pool for each submitter, a team's and one for all, over HTTP: who sees what, and what is promoted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from uuid import UUID

import pytest
import redis
from fastapi.testclient import TestClient

from memshare.client.rest.calls.decisions import SubmitterCalls
from memshare.operations.backend import Backend
from memshare_broker.delivery.schema import MESSAGES
from memshare_broker.settings import Settings
from memshare_broker.wire.signing import open_signer
from memshare_broker.wire.spaces import Spaces
from memshare_memory.belief.promotions import Promotions
from memshare_memory.curate.requests import Edit, Forget, RestoreForgotten
from memshare_memory.door.client import MemoryClient
from memshare_memory.memory import Memory, memory_id
from memshare_memory.stores.store import Where
from tests.unit.memshare.doors.conftest import Tokened

AGENT = """description = "Knows lamps."
instructions = "Say where the lamp is."
pools = ["mine/{submitter}", "team", "shared"]
rubric = "logic"
"""
TASK = "new lamp by the sea"
FROM_PAGE = {"origin": "http://127.0.0.1"}


@pytest.fixture
def backend(settings: Settings, memory: MemoryClient, tmp_path: Path) -> Iterator[Backend]:  # noqa: ARG001
    agents = tmp_path / "agents"
    agents.mkdir()
    (agents / "keeper.toml").write_text(AGENT)
    own = settings.model_copy(update={"redis_url": settings.redis, "data": tmp_path, "agents_dir": agents})
    open_signer(own, make=True)
    with closing(Backend(own)) as made:
        yield made


@pytest.fixture
def ada(tokened: Tokened) -> TestClient:
    return tokened("ada", "recall", "submit", "offer", "curate", pools=("team", "shared"))


@pytest.fixture
def bob(tokened: Tokened) -> TestClient:
    return tokened("bob", "recall", "submit", "offer", "curate", pools=("team", "shared"))


def memory_of(pool: str, answer: str, submitter: str = "ada", **more: object) -> Memory:
    name = memory_id(pool, "red lamp by the sea", answer)
    return Memory(
        id=name, pool=pool, prompt="red lamp by the sea", answer=answer, submitter=submitter, created=1.0,
        task_id=f"task in {pool}", score=90, **more,
    )  # fmt: skip


@pytest.fixture
def shelf(memory: MemoryClient) -> dict[str, UUID]:
    """A memory in each pool, by the pool."""
    pools = ("mine/ada", "mine/bob", "team", "shared")
    made = [memory_of(pool, f"Of {pool}.", pool.partition("/")[2] or "keeper") for pool in pools]
    return dict(zip(pools, memory.restore(made), strict=True))


def answers(client: TestClient, **asked: object) -> set[str]:
    response = client.post("/v1/recall", json={"prompt": TASK, "k": 10, **asked})
    return {one["answer"] for one in response.json()["memories"]} if response.status_code == 200 else set()


def propose(client: redis.Redis, memory: Memory) -> None:
    spaces = Spaces(pools=("mine/ada", "team", "shared"), helped=1)
    assert Promotions(client).note(memory, spaces, "ada", "another lamp", checked=False)


def body(client: redis.Redis, journey: str) -> dict:
    [found] = [one for text in client.hvals(MESSAGES) if (one := json.loads(text))["journey"] == journey]
    return found["body"]


def test_everybody_recalls_from_their_own_pool_and_from_those_that_are_shared(
    ada: TestClient, bob: TestClient, tokened: Tokened, shelf: dict[str, UUID]
) -> None:
    assert shelf
    # Of several with one prompt the best one is shown, so each pool is asked for, too.
    assert answers(ada, agent="keeper") <= {"Of mine/ada.", "Of team.", "Of shared."}
    assert answers(ada, pool="mine/ada") == {"Of mine/ada."}
    assert answers(bob, pool="mine/bob") == {"Of mine/bob."}
    assert answers(bob, pool="mine/ada") == set()
    assert answers(tokened("cleo", "recall", pools=("shared",)), agent="keeper") == {"Of shared."}
    assert (
        tokened("dan", "recall", pools=("poem",))
        .post("/v1/recall", json={"agent": "keeper", "prompt": TASK})
        .status_code
        == 404
    )


def test_what_says_the_same_as_a_wrong_answer_is_named_in_every_pool_that_the_agent_reads(
    ada: TestClient, shelf: dict[str, UUID]
) -> None:
    pair = ada.post("/v1/pairs", json={"agent": "keeper", "prompt": "red lamp by the sea", "answer": "of TEAM"}).json()

    told = ada.post("/v1/feedback", json={"journey": pair["journey"], "reward": 0.0}).json()

    assert told["still_shown"] == [str(shelf["team"])]


def test_another_ones_pool_is_nowhere(ada: TestClient, bob: TestClient, shelf: dict[str, UUID]) -> None:
    own, other = str(shelf["mine/bob"]), str(shelf["mine/ada"])

    assert bob.get(f"/v1/memories/{own}").status_code == 200
    assert bob.get(f"/v1/memories/{other}").status_code == 404
    assert bob.delete(f"/v1/memories/{other}").status_code == 404
    for asked in ("/v1/pools", "/v1/stats", "/v1/agents", "/v1/needs", "/v1/journeys", "/v1/status", "/v1/conflicts"):
        reply = bob.get(asked)
        assert reply.status_code == 200
        assert "mine/ada" not in reply.text
    assert bob.get("/v1/memories", params={"pool": "mine/ada"}).status_code == 404
    assert bob.post("/v1/memories/search", json={"text": TASK, "pool": "mine/ada"}).status_code == 404
    assert {one["name"] for one in bob.get("/v1/pools").json()} == {"mine/bob", "team", "shared"}
    assert ada.get(f"/v1/memories/{other}").status_code == 200


def test_calls_that_name_no_pool_look_in_all_of_the_callers(bob: TestClient, shelf: dict[str, UUID]) -> None:
    own = {"mine/bob", "team", "shared"}
    assert shelf

    listed = bob.get("/v1/memories").json()["memories"]
    first = bob.get("/v1/memories", params={"order": "created"}).json()["memories"]
    found = bob.post("/v1/memories/search", json={"text": TASK}).json()["memories"]

    assert {one["pool"] for one in listed} == {one["pool"] for one in first} == own
    assert {one["memory"]["pool"] for one in found} == own
    assert bob.get("/v1/memories/counts").json()["pool"] == dict.fromkeys(own, 1)


def test_a_pool_of_ones_own_is_a_part_of_a_path(ada: TestClient, bob: TestClient, shelf: dict[str, UUID]) -> None:
    assert shelf
    assert ada.get("/v1/submitters/mine%2Fada").status_code == ada.get("/v1/submitters/mine%2fada/").status_code == 200
    assert bob.get("/v1/submitters/mine%2Fada").status_code == ada.get("/v1/submitters/mine/ada").status_code == 404
    assert SubmitterCalls.list.call.request("mine/ada").target == "/v1/submitters/mine%2Fada"
    told = ada.post("/v1/submitters/mine%2Fada", json={"submitter": "ada"})
    assert (told.status_code, told.json()["said"]) == (200, "trust")


def test_the_page_offers_nobody_an_agent_that_needs_a_name(here: TestClient) -> None:
    page = here.get("/").text

    group = page[page.index('<optgroup label="keeper') :]
    assert "for who signs in with a token" in group[: group.index(">")]
    assert group[: group.index(">")].endswith(" disabled")
    assert '<optgroup label="logic (no worker)">' in page


def test_what_is_forgotten_of_ones_own_comes_back(ada: TestClient, bob: TestClient, shelf: dict[str, UUID]) -> None:
    name = str(shelf["mine/ada"])

    assert ada.delete(f"/v1/memories/{name}").status_code == 200

    assert ada.get("/v1/trash").json()["total"] == 1
    assert bob.get("/v1/trash").json()["total"] == 0
    assert bob.post(f"/v1/trash/{name}/restore").status_code == 404
    assert ada.post(f"/v1/trash/{name}/restore").status_code == 200


def test_a_task_looks_only_where_its_token_does(tokened: Tokened, here: TestClient, redis_client: redis.Redis) -> None:
    cleo = tokened("cleo", "recall", "submit", pools=("shared",))

    task = cleo.post("/v1/tasks", json={"agent": "keeper", "prompt": TASK}).json()["id"]

    sent = body(redis_client, task)
    assert (sent["submitter"], sent["pools"]) == ("cleo", ["mine/cleo", "shared"])
    assert here.post("/v1/tasks", json={"agent": "keeper", "prompt": TASK}).status_code == 401  # there is a token now


def test_who_gives_no_name_has_no_pool_of_their_own(here: TestClient) -> None:
    reply = here.post("/v1/tasks", json={"agent": "keeper", "prompt": TASK})

    assert reply.status_code == 422
    assert "anonymous" in reply.json()["detail"]


def test_an_offer_lands_in_the_own_pool_and_speaks_for_what_was_shown_of_others(
    ada: TestClient, shelf: dict[str, UUID], redis_client: redis.Redis
) -> None:
    recall = ada.post("/v1/recall", json={"agent": "keeper", "prompt": TASK, "k": 3}).json()
    assert shelf
    offer = {"agent": "keeper", "prompt": TASK, "answer": "A buoy.", "recall_id": recall["recall_id"]}

    journey = ada.post("/v1/pairs", json=offer).json()["id"]

    assert recall["pool"] == "mine/ada"
    assert body(redis_client, journey)["pool"] == "mine/ada"
    assert ada.get(f"/v1/journeys/{journey}").json()["pool"] == "mine/ada"
    assert ada.post("/v1/pairs", json={**offer, "pool": "mine/bob", "agent": None}).status_code == 404
    told = ada.post("/v1/feedback", json={"recall_id": recall["recall_id"], "reward": 1.0})
    assert told.status_code == 202


def test_a_journey_of_ones_own_is_not_watched_by_others(ada: TestClient, bob: TestClient, tokened: Tokened) -> None:
    journey = ada.post("/v1/tasks", json={"agent": "keeper", "prompt": TASK}).json()["id"]
    watcher = tokened("wim", "recall", "watch", "admin", pools=("team", "shared"))

    assert ada.get(f"/v1/journeys/{journey}").status_code == 200
    for other in (bob, watcher):
        assert other.get(f"/v1/journeys/{journey}").status_code == 404
        assert other.get("/v1/journeys").json()["journeys"] == []


def test_a_proposal_is_approved_by_who_sees_both_pools_and_keeps_where_it_is_from(
    ada: TestClient, bob: TestClient, shelf: dict[str, UUID], memory: MemoryClient, redis_client: redis.Redis
) -> None:
    own = memory.get(shelf["mine/ada"])
    propose(redis_client, own)

    assert bob.get("/v1/promotions").json() == []
    assert bob.get("/v1/needs").json()["needs"] == []
    assert bob.post(f"/v1/promotions/{own.id}", json={}).status_code == 404
    [need] = ada.get("/v1/needs").json()["needs"]
    assert (need["kind"], need["promotion"]["to"], need["memories"][0]["memory"]["id"]) == (
        "promotion", "team", str(own.id),
    )  # fmt: skip

    done = ada.post(f"/v1/promotions/{own.id}", json={"decision": "promote"}).json()

    became = done["proposal"]["became"]
    found = bob.get(f"/v1/memories/{became}").json()["memory"]
    assert (found["answer"], found["submitter"], found["pool"]) == (own.answer, "ada", "team")
    assert (found["origin"]["memory"], found["origin"]["pool"], found["origin"]["approved_by"]) == (
        str(own.id), "mine/ada", "ada",
    )  # fmt: skip
    assert ada.get("/v1/needs").json()["needs"] == []
    assert ada.post(f"/v1/promotions/{own.id}", json={"decision": "promote"}).status_code == 409


def test_what_is_taken_back_goes_with_what_was_written_from_it(
    ada: TestClient, bob: TestClient, tokened: Tokened, shelf: dict[str, UUID], memory: MemoryClient,
    redis_client: redis.Redis,
) -> None:  # fmt: skip
    own = memory.get(shelf["mine/ada"])
    propose(redis_client, own)
    became = UUID(ada.post(f"/v1/promotions/{own.id}", json={}).json()["proposal"]["became"])
    [written] = memory.restore([memory_of("mine/bob", "Like ada.", "bob", parents=(became,))])

    done = ada.post(f"/v1/promotions/{own.id}", json={"decision": "take back"}).json()

    assert set(done["forgotten"]) == {str(became), str(written)}
    assert bob.get(f"/v1/memories/{became}").status_code == 404
    assert ada.get(f"/v1/memories/{own.id}").status_code == 200
    assert done["proposal"]["said"] == "taken back"
    again = [one.post(f"/v1/promotions/{own.id}", json={}) for one in (ada, tokened("cleo", "curate", pools=None))]
    assert [one.status_code for one in again] == [409, 409]
    assert [one.json()["detail"].partition(":")[0] for one in again] == [
        "It is taken back by you", "It is taken back by ada",
    ]  # fmt: skip
    assert (
        Promotions(redis_client).note(own, Spaces(pools=("mine/ada", "team"), helped=1), "ada", "x", checked=True)
        is None
    )


@pytest.mark.parametrize("what", ["edited", "forgotten", "restored"])
def test_a_promotion_is_taken_back_also_where_its_original_was_edited_or_forgotten(
    ada: TestClient, shelf: dict[str, UUID], memory: MemoryClient, redis_client: redis.Redis, what: str
) -> None:
    own = memory.get(shelf["mine/ada"])
    propose(redis_client, own)
    became = ada.post(f"/v1/promotions/{own.id}", json={}).json()["proposal"]["became"]
    if what == "edited":
        memory.edit(Edit(id=own.id, answer="It says something else by now."))
    else:
        memory.forget(Forget(ids=(own.id,)))
    if what == "restored":
        memory.restore_forgotten(RestoreForgotten(ids=(own.id,)))

    done = ada.post(f"/v1/promotions/{own.id}", json={"decision": "take back"})

    assert done.json()["forgotten"] == [became]


def test_the_pages_of_the_original_and_of_what_it_became_take_a_promotion_back(
    here: TestClient, shelf: dict[str, UUID], memory: MemoryClient, redis_client: redis.Redis
) -> None:
    own = memory.get(shelf["mine/ada"])
    propose(redis_client, own)
    here.post("/inbox/promotion", data={"memory": str(own.id), "decision": "promote"}, headers=FROM_PAGE)
    [became] = [one for one in memory.page(Where(pool="team")).memories if one.origin]
    memory.edit(Edit(id=own.id, answer="It says something else by now."))

    assert all("Take the promotion back" in here.get(f"/memories/{one}").text for one in (own.id, became.id))
    data = {"memory": str(own.id), "decision": "take back"}
    here.post("/inbox/promotion", data=data, headers=FROM_PAGE)
    assert "Take the promotion back" not in here.get(f"/memories/{own.id}").text


def test_what_the_pool_had_before_is_not_taken_back(
    ada: TestClient, shelf: dict[str, UUID], memory: MemoryClient, redis_client: redis.Redis
) -> None:
    own = memory.get(shelf["mine/ada"])
    [there] = memory.restore([memory_of("team", own.answer, "bob")])
    propose(redis_client, own)

    ada.post(f"/v1/promotions/{own.id}", json={})
    done = ada.post(f"/v1/promotions/{own.id}", json={"decision": "take back"}).json()

    assert done["forgotten"] == []
    assert memory.get(there).submitter == "bob"


def test_the_page_promotes_refuses_and_undoes(
    here: TestClient, shelf: dict[str, UUID], memory: MemoryClient, redis_client: redis.Redis
) -> None:
    own = memory.get(shelf["mine/ada"])
    propose(redis_client, own)
    card = here.get("/inbox").text
    assert "Shall others be shown this, too?" in card
    assert "It helped with" not in card

    def said(decision: str) -> str | None:
        data = {"memory": str(own.id), "decision": decision}
        assert here.post("/inbox/promotion", data=data, headers=FROM_PAGE, follow_redirects=False).status_code == 303
        return Promotions(redis_client).every()[0].said

    assert [said(one) for one in ("refuse", "undecided", "promote")] == ["refused", None, "promoted"]
    [became] = [one for one in memory.page(Where(pool="team")).memories if one.origin]
    assert "promoted from" in here.get(f"/memories/{became.id}").text
    assert said("take back") == "taken back"
