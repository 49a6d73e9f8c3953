"""Submitters over REST: what is known of them, and a person's word, by which recall goes."""

from __future__ import annotations

from uuid import uuid4

import redis
from fastapi.testclient import TestClient

from memshare.operations.backend import Backend
from memshare_memory.belief.trust import Standing, Standings, standings_key, standings_number_key
from memshare_memory.curate.requests import NewMemory
from memshare_memory.door.client import MemoryClient
from memshare_memory.encoders.encoder import ENCODER
from tests.unit.memshare.doors.conftest import Tokened

PATH = "/v1/submitters/logic"
WORDS = "tests/words"


def stand(client: redis.Redis, **words: int) -> None:
    """Note standings of submitters of whom so much was said, none of whom it proved."""
    known = {name: Standing(worth=-0.1, error=0.05, words=count, proven=False) for name, count in words.items()}
    client.set(ENCODER, WORDS)
    client.set(standings_key("logic", WORDS), Standings(submitters=known).model_dump_json())
    client.incr(standings_number_key("logic", WORDS))


def by_agent(memory: MemoryClient, submitter: str) -> None:
    """Let a memory of the pool be what a submitter's task made."""
    [made] = memory.add([NewMemory(pool="logic", prompt="red lamp?", answer=f"By {submitter}.", new_pool=True)])
    memory.restore([memory.get(made).model_copy(update={"submitter": submitter, "task_id": str(uuid4())})])


def why(here: TestClient) -> str:
    [found] = here.post("/v1/recall", json={"pool": "logic", "prompt": "red lamp?"}).json()["memories"]
    return str(found["why"])


def test_whom_a_person_trusts_is_proven_until_that_is_taken_back(
    here: TestClient, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    by_agent(memory, "mo")
    assert here.get(PATH).json() == []
    assert "unproven" in why(here)

    trusted = here.post(PATH, json={"submitter": "mo"}).json()
    assert (trusted["proven"], trusted["said"], trusted["by"], trusted["words"]) == (True, "trust", "anonymous", 0)
    assert "unproven" not in why(here)
    stand(redis_client, mo=3)  # a lesson changes nothing of it
    assert "unproven" not in why(here)

    for said in ("undecided", "leave"):
        assert here.post(PATH, json={"submitter": "mo", "said": said}).json()["proven"] is False
        assert "unproven" in why(here)
    [known] = here.get(PATH).json()
    assert (known["name"], known["worth"], known["words"], known["said"]) == ("mo", -0.1, 3, "leave")


def test_a_submitter_whom_many_words_have_not_proven_needs_somebody_until_it_is_decided(
    here: TestClient, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    by_agent(memory, "mo")
    stand(redis_client, mo=10, new=9)

    [need] = here.get("/v1/needs").json()["needs"]
    assert (need["kind"], need["pool"], need["submitter"]["name"]) == ("submitter", "logic", "mo")

    for said, total in (("leave", 0), ("undecided", 1), ("trust", 0)):
        here.post(PATH, json={"submitter": "mo", "said": said})
        assert here.get("/v1/needs").json()["total"] == total


def test_only_who_curates_a_pool_says_whom_to_trust(tokened: Tokened, shelf: dict[str, str], backend: Backend) -> None:
    assert shelf
    assert tokened("viewer", "recall").post(PATH, json={"submitter": "mo"}).status_code == 403
    assert tokened("other", "curate", pools=("poem",)).post(PATH, json={"submitter": "mo"}).status_code in (403, 404)
    assert tokened("reader", "recall", pools=("poem",)).get(PATH).status_code in (403, 404)
    assert backend.redis.exists("memshare:trust") == 0
