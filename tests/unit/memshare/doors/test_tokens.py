"""Who is served: with which token, from where, and nothing of a pool that is not the token's, by any route."""

from __future__ import annotations

import hashlib
import json
import logging
import re
from typing import Any
from uuid import UUID, uuid4

import pytest
import redis
from fastapi.testclient import TestClient

from memshare.client.journey import begun_with
from memshare.doors.server import rest_app
from memshare.operations.backend import Backend
from memshare.operations.caller import TOKENS
from memshare_agents.reasoning.sources.documents import SUBMITTER
from memshare_broker.errors import BadInput
from memshare_broker.observe.safe_text import masked
from memshare_broker.wire.messages import AgentTask
from memshare_broker.wire.spaces import RESERVED
from memshare_memory.belief.trust import GROUPS
from memshare_memory.curate.requests import Forget, RestoreForgotten
from tests.unit.memshare.doors.conftest import Tokened, bury
from tests.unit.memshare.doors.described import OPERATIONS

SECRET = "secret"
"""A word that stands in all that is of the pool `poem`, and in nothing else."""

FREE = {("GET", "/v1/pools"), ("GET", "/v1/agents"), ("GET", "/v1/rubrics"), ("GET", "/v1/dead-letters"),
        ("GET", "/v1/stats"), ("GET", "/v1/memories"), ("GET", "/v1/conflicts"), ("GET", "/v1/trash"),
        ("GET", "/v1/budgets"), ("GET", "/v1/journeys"), ("GET", "/v1/status"), ("GET", "/v1/needs"),
        ("GET", "/v1/promotions"),
        ("GET", "/v1/retrievers"), ("GET", "/v1/memories/counts"), ("GET", "/v1/jobs")}  # fmt: skip
"""What names nothing: it is answered, without anything of another pool."""

OF_ALL_POOLS = {("POST", "/v1/memories/import"), ("POST", "/v1/budgets")} | {
    (method, path) for method, path in OPERATIONS if path.startswith(("/v1/tokens", "/v1/backups"))
}
"""What only a token of all pools may do."""


def body_of(path: str, shelf: dict[str, str], recall_id: str, pool: dict[str, str]) -> dict[str, Any]:
    """A request in the right form, for the pool or the agent that is named."""
    return {
        "/v1/recall": {"prompt": "red lamp", **pool},
        "/v1/pairs": {"prompt": "red lamp", "answer": "x", **pool},
        "/v1/tasks": {"prompt": "red lamp", "agent": "poem"},
        "/v1/feedback": {"recall_id": recall_id, "memories": {shelf["poem"]: 0.0}},
        "/v1/memories/search": {"text": "red lamp", "pool": "poem"},
        "/v1/memories": {"answer": "x", "pool": "poem"},
        "/v1/rubrics/{name}/approval": {"version": "x"},
        "/v1/conflicts": {"memories": [shelf["poem"], shelf["logic"]], "contradict": True},
        "/v1/memories/{memory_id}": {"answer": "x"},
        "/v1/tokens": {"name": "mallory", "may": ["admin"]},
        "/v1/reviews": {"pool": "poem", "memory_id": shelf["poem"], "grade": "good"},
        "/v1/memories/import": {"lines": '{"prompt": "x", "answer": "y"}', "pool": "poem"},
        "/v1/budgets": {"kind": "agent", "name": "poem", "tokens": 1},
        "/v1/concepts/{pool}": {"apart": ["Photon", "Light"]},
        "/v1/concepts/{pool}/answer": {"question": "red lamp"},
        "/v1/concepts/{pool}/question": {"question": "asked:none", "do": "drop"},
        "/v1/rubrics/{name}/trial": {"agent": "poem"},
        "/v1/duplicates/{pool}": {"memories": [shelf["poem"], shelf["logic"]]},
        "/v1/submitters/{pool}": {"submitter": "eve"},
        "/v1/jobs": {"kind": "concepts", "pool": "poem"},
        "/v1/views": {"memory": shelf["poem"]} if "agent" in pool else {"question": "red lamp", "pool": "poem"},
    }.get(path, {})


@pytest.fixture
def of_poem(here: TestClient, shelf: dict[str, str], backend: Backend) -> dict[str, str]:
    """What there is of the pool `poem`: a memory, a recall, a journey and a dead letter."""
    recall_id = here.post("/v1/recall", json={"pool": "poem", "prompt": f"a {SECRET}"}).json()["recall_id"]
    pair = {"agent": "poem", "prompt": f"a {SECRET}", "answer": SECRET, "recall_id": recall_id}
    journey = here.post("/v1/pairs", json=pair).json()["id"]
    return {"memory": shelf["poem"], "recall": recall_id, "journey": journey, "letter": bury(backend, "poem", SECRET)}


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_a_token_is_given_nothing_of_another_pool(
    method: str,
    path: str,
    tokened: Tokened,
    shelf: dict[str, str],
    of_poem: dict[str, str],
    memory: Any,
    backend: Backend,
) -> None:
    eve = tokened("eve", "recall", "offer", "submit", "curate", "admin", pools=("logic",))
    named = {"memory_id": of_poem["memory"], "journey_id": of_poem["journey"], "letter_id": of_poem["letter"]}
    if "/trash" in path:
        memory.forget(Forget(ids=(UUID(of_poem["memory"]),)))
    place = path.format(**named, name="poem", pool="poem", token_name="eve")
    named_pool = (method, path) in (("GET", "/v1/memories"), ("GET", "/v1/conflicts"))
    queries = [{"pool": "poem"}, {}] if named_pool else [{"pool": "poem"}] if path == "/v1/reviews" else [{}]

    for pool in ({"pool": "poem"}, {"agent": "poem"}):
        for query in queries:
            body = body_of(path, shelf, of_poem["recall"], pool) if method in ("POST", "PATCH") else None
            response = eve.request(method, place, json=body, params=query, headers={"If-Match": "x"})

            free = (method, path) in FREE and not query
            refused = 403 if (method, path) in OF_ALL_POOLS else 404
            assert response.status_code == (200 if free else refused), response.text
            assert SECRET not in response.text
            assert of_poem["memory"] not in response.text.replace(place, "").replace(f"'{of_poem['memory']}'", "")
            if free:
                assert "poem" not in response.text
    if "/trash" in path:
        memory.restore_forgotten(RestoreForgotten(ids=(UUID(of_poem["memory"]),)))
    assert memory.get(UUID(of_poem["memory"])).answer == "A secret poem."
    assert of_poem["letter"] in backend.client.dead_letters


def test_without_a_token_nobody_elsewhere_is_served(backend: Backend) -> None:
    elsewhere = TestClient(rest_app(backend), base_url="http://127.0.0.1", client=("192.0.2.7", 50_000))
    shelf = dict.fromkeys(("poem", "logic"), str(uuid4()))

    for method, path in OPERATIONS:
        place = re.sub(r"{\w+}", str(uuid4()), path)
        response = elsewhere.request(method, place, json=body_of(path, shelf, str(uuid4()), {"pool": "x"}))

        assert response.status_code == 401, (method, path)
        assert response.headers["www-authenticate"] == "Bearer"
        assert "only its user on this machine is served" in response.json()["detail"]


def test_once_there_is_a_token_this_machine_needs_one_too(here: TestClient, tokened: Tokened, backend: Backend) -> None:
    ada = tokened("ada", "recall")
    assert here.get("/v1/stats").status_code == 401
    assert ada.get("/v1/stats").status_code == 200

    backend.tokens.revoke("ada")

    assert ada.get("/v1/stats").status_code == 401
    assert here.get("/v1/stats").status_code == 200


RIGHTS_NEEDED = {
    "recall": ("POST", "/v1/recall", {"pool": "logic", "prompt": "x"}),
    "offer": ("POST", "/v1/pairs", {"pool": "logic", "prompt": "x", "answer": "y"}),
    "submit": ("POST", "/v1/tasks", {"agent": "logic", "prompt": "x"}),
    "curate": ("POST", "/v1/memories", {"pool": "logic", "answer": "x"}),
    "admin": ("GET", "/v1/dead-letters", None),
}


@pytest.mark.parametrize("right", RIGHTS_NEEDED)
def test_a_right_is_needed_and_enough(right: str, tokened: Tokened) -> None:
    method, path, body = RIGHTS_NEEDED[right]
    others = tuple(one for one in RIGHTS_NEEDED if one not in (right, "admin"))

    allowed = tokened("has", right).request(method, path, json=body)
    refused = tokened("lacks", *others).request(method, path, json=body)
    boss = tokened("boss", "admin").request(method, path, json=body)

    assert allowed.is_success, allowed.text
    assert boss.is_success
    assert refused.status_code == 403
    assert f"'{right}'" in refused.json()["detail"]


def test_a_curator_sees_what_others_did_in_its_pools(tokened: Tokened) -> None:
    ada = tokened("ada", "offer")
    journey = ada.post("/v1/pairs", json={"agent": "logic", "prompt": "x", "answer": "y"}).json()["journey"]

    assert tokened("cleo", "curate").get(journey).status_code == 200
    assert tokened("dora", "recall", "offer", "submit").get(journey).status_code == 404


def test_redis_has_no_token_and_a_token_that_is_almost_right_is_refused(
    backend: Backend, redis_client: redis.Redis
) -> None:
    text = backend.tokens.create("ada", ("recall",), ("logic",))

    assert text.rpartition("_")[2] not in str(redis_client.hgetall(TOKENS))
    found = backend.tokens.find(text)
    assert found is not None
    assert found.caller.pools == frozenset({"logic"})
    for wrong in (text[:-1], text + "0", text.replace("ada", "bea"), "", "msh_ada_", "ö", text.upper()):
        assert backend.tokens.find(wrong) is None
    with pytest.raises(BadInput, match="There is a token 'ada' already"):
        backend.tokens.create("ada", ("admin",), None)
    for name, may, pools in (
        ("a b", ("recall",), None),
        ("a", ("fly",), None),
        ("a", (), None),
        ("a", ("recall",), ()),
    ):
        with pytest.raises(BadInput, match="The token"):
            backend.tokens.create(name, may, pools)


@pytest.mark.parametrize("name", sorted(RESERVED | {"Anonymous"}))
def test_a_name_that_stands_for_nobody_is_refused_for_a_new_token_and_for_one_from_before(
    name: str, backend: Backend, tokened: Tokened, redis_client: redis.Redis
) -> None:
    with pytest.raises(BadInput, match=f"The name '{name}' is reserved"):
        backend.tokens.create(name, ("recall",), None)
    ada = tokened("ada", "recall")
    assert ada.get("/v1/stats").status_code == 200

    # As an earlier release made it.
    text = ada.headers["authorization"].removeprefix("Bearer ").replace("ada", name)
    kept = json.loads(redis_client.hget(TOKENS, "ada"))
    digest = hashlib.sha256(text.encode()).hexdigest()
    redis_client.hset(TOKENS, name, json.dumps(kept | {"name": name, "digest": digest}))
    refused = ada.get("/v1/stats", headers={"Authorization": f"Bearer {text}"})

    assert refused.status_code == 401
    assert f"memshare token revoke {name}" in refused.json()["detail"]
    backend.tokens.revoke(name)


def test_submitters_who_are_nobody_have_reserved_names() -> None:
    unreadable = begun_with(None, None, None).submitter

    assert {AgentTask(prompt="x").submitter, unreadable, SUBMITTER} == RESERVED


def test_a_token_is_masked_in_logs(backend: Backend) -> None:
    text = backend.tokens.create("ada", ("recall",), None)

    assert text.rpartition("_")[2] not in masked(f"refused {text} here")


def test_every_write_leaves_a_line_with_who_did_it(
    tokened: Tokened, caplog: pytest.LogCaptureFixture, shelf: dict[str, str], backend: Backend
) -> None:
    ada = tokened("ada", "admin")
    with caplog.at_level(logging.INFO, "memshare.audit"):
        recall_id = ada.post("/v1/recall", json={"pool": "logic", "prompt": "lamp"}).json()["recall_id"]
        pair = {"pool": "logic", "prompt": "x", "answer": "y", "recall_id": recall_id}
        offered = ada.post("/v1/pairs", json=pair).json()["id"]
        ada.post("/v1/feedback", json={"recall_id": recall_id, "reward": 1})
        task = ada.post("/v1/tasks", json={"agent": "logic", "prompt": "x"}).json()
        ada.delete(task["journey"])
        ada.post("/v1/memories", json={"pool": "logic", "answer": "x"})
        place = f"/v1/memories/{shelf['logic']}"
        ada.patch(place, json={"status": "hidden"}, headers={"If-Match": ada.get(place).headers["etag"]})
        ada.delete(place)
        for finish in ("post", "delete"):
            letter = bury(backend, "logic", "x")
            getattr(ada, finish)(f"/v1/dead-letters/{letter}" + ("/retry" if finish == "post" else ""))

    lines = [record.ids for record in caplog.records if record.name == "memshare.audit"]  # type: ignore[attr-defined]
    assert [line["action"] for line in lines] == [
        "offer", "feedback", "submit", "cancel", "add", "edit", "forget", "retry", "drop",
    ]  # fmt: skip
    assert {line["caller"] for line in lines} == {"ada"}
    assert lines[0]["journey"] == offered
    assert lines[-3]["memory_id"] == shelf["logic"]


def test_a_token_says_its_group_which_outlives_it(tokened: Tokened, redis_client: redis.Redis) -> None:
    root = tokened("root", "admin", pools=None)

    made = root.post("/v1/tokens", json={"name": "ada", "may": ["recall"], "group": "shop"})

    assert made.status_code == 201
    assert {one["name"]: one["group"] for one in root.get("/v1/tokens").json()} == {"ada": "shop", "root": None}
    root.delete("/v1/tokens/ada")
    assert redis_client.hgetall(GROUPS) == {"ada": "shop"}
