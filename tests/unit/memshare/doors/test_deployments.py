"""One `serve` for two deployments: two databases of a real Redis, two memory services with pools of their own."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import httpx
import pytest
import redis

from memshare.client.client import Client
from memshare.doors.backend import check_all, open_backends
from memshare.doors.server import server_of
from memshare_broker.connection import connect
from memshare_broker.settings import Settings
from memshare_memory.curate.requests import NewMemory
from memshare_memory.pool.pool import Pool
from memshare_memory.recall.recall import Recall
from memshare_memory.recall.retriever import Retriever
from memshare_memory.stores.edge.edge_store import EdgeStore
from memshare_memory.stores.store import Layout
from tests.support.doors import open_door
from tests.support.served import running
from tests.support.word_encoder import WordEncoder

AGENTS = {"poems": ["poem"], "puzzles": ["logic", "plan"]}
NOBODY = "redis://127.0.0.1:1/0"
TOOLS = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
There = dict[str, Settings]


@pytest.fixture
def there(settings: Settings, redis_client: redis.Redis, encoder: WordEncoder, tmp_path: Path) -> Iterator[There]:
    """Two deployments, each with a memory in the pool of its first agent."""
    assert redis_client.dbsize() == 0
    found: There = {}
    with ExitStack() as held:
        for number, (name, agents) in enumerate(AGENTS.items()):
            url = settings.redis.replace("db=0", f"db={number}")
            with socket.create_server(("127.0.0.1", 0)) as free:
                at = f"127.0.0.1:{free.getsockname()[1]}"
            own = Settings(data=tmp_path, redis_url=url, memory_listen=at, memory_url=f"http://{at}", memory_token=name)
            layout = Layout(encoder.name, encoder.dimension)
            store = held.enter_context(closing(EdgeStore.open(tmp_path / name, layout, "a test")))
            client = held.enter_context(connect(url))
            recall = Recall(store, encoder, Retriever(client, encoder))
            memories = held.enter_context(open_door(own, Pool(client, recall, lambda _, only=recall: only), client))
            memories.add([NewMemory(pool=agents[0], prompt="red lamp", answer=f"Of {agents[0]}.", new_pool=True)])
            found[name] = own
        yield found


@pytest.fixture
def file(there: There, tmp_path: Path) -> Callable[..., Path]:
    """Writes the file of both; what is given is another address of the Redis of one."""

    def write(**away: str) -> Path:
        written = tmp_path / "deployments.toml"
        tables = [
            f"[{name}]\nagents = {json.dumps(AGENTS[name])}\n"
            f"redis_url = {json.dumps(away.get(name, one.redis))}\nmemory_url = {json.dumps(one.memory_url)}\n"
            f"memory_token = {json.dumps(name)}\nsecret = {json.dumps(name * 8)}\n"
            for name, one in there.items()
        ]
        written.write_text("\n".join(tables))
        return written

    return write


@contextmanager
def serving(file: Path, **headers: str) -> Iterator[httpx.Client]:
    """`memshare serve` of the deployments in a file, and who asks it from this machine."""
    backends = open_backends(Settings(data=file.parent, deployments=file))
    with ExitStack() as held:
        for one in backends:
            held.callback(one.close)
        check_all(backends)
        url = held.enter_context(running(server_of(*backends)))
        yield held.enter_context(httpx.Client(base_url=url, headers=headers, timeout=30))


def submit(asked: httpx.Client, agent: str) -> str:
    answer = asked.post("/v1/tasks", json={"agent": agent, "prompt": f"For {agent}"})
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


def open_messages(own: Settings) -> dict[str, int]:
    with closing(Client(own)) as client:
        return client.ledger.open_messages()


def test_a_task_goes_to_its_agents_deployment_and_its_journey_is_found_there(
    there: There, file: Callable[..., Path]
) -> None:
    with serving(file()) as asked:
        ids = {agent: submit(asked, agent) for agent in ("poem", "logic", "plan")}

        found = {agent: asked.get(f"/v1/journeys/{task}") for agent, task in ids.items()}
        listed = asked.get("/v1/journeys").json()["journeys"]
        cancelled = asked.delete(f"/v1/journeys/{ids['plan']}").json()

    assert {agent: one.json()["prompt"] for agent, one in found.items()} == {one: f"For {one}" for one in ids}
    assert [one.headers["memshare-deployment"] for one in found.values()] == ["poems", "puzzles", "puzzles"]
    assert [one["id"] for one in listed] == [ids["plan"], ids["logic"], ids["poem"]]
    assert cancelled["outcome"] == "cancelled"
    assert open_messages(there["poems"]) == {"poem": 1}
    assert open_messages(there["puzzles"]) == {"logic": 1, "plan": 0}


def test_a_path_with_a_slash_at_its_end_answers_as_the_one_without(file: Callable[..., Path]) -> None:
    with serving(file()) as asked:
        for path in ("/health", "/alive", "/v1/pools", "/v1/agents/logic", "/v1/nothing", "/mcp", "/docs", "/inbox"):
            for asking in (asked.get, asked.post):
                without, with_slash = asking(path), asking(f"{path}/")

                assert (with_slash.status_code, "location" in with_slash.headers) == (without.status_code, False)
                assert with_slash.headers.get("memshare-deployment") == without.headers.get("memshare-deployment")
        tools = asked.post(
            "/mcp/?deployment=poems", json=TOOLS, headers={"Accept": "application/json, text/event-stream"}
        )
        twice = asked.post("/v1/tasks", content=b'{"agent": "poem", "agent": "logic", "prompt": "x"}')

    assert (tools.status_code, "search_memories" in tools.text) == (200, True)
    assert (twice.status_code, "the key 'agent' stands twice" in twice.json()["detail"]) == (422, True)


def test_memories_of_each_pool_are_recalled_found_and_counted(file: Callable[..., Path]) -> None:
    with serving(file()) as asked:
        recalled = {
            pool: asked.post("/v1/recall", json={"prompt": "red lamp", "pool": pool}).json()
            for pool in ("poem", "logic")
        }
        one = recalled["logic"]["memories"][0]["id"]
        worth = asked.post("/v1/feedback", json={"recall_id": recalled["logic"]["recall_id"], "reward": 1.0})
        searched = asked.post("/v1/memories/search", json={"text": "red lamp", "pool": "logic"}).json()["memories"]
        read = asked.get(f"/v1/memories/{one}").json()
        counted = asked.get("/v1/memories/counts").json()
        pools = asked.get("/v1/pools").json()
        agents = asked.get("/v1/agents").json()

    assert {pool: [row["answer"] for row in found["memories"]] for pool, found in recalled.items()} == {
        "poem": ["Of poem."], "logic": ["Of logic."],
    }  # fmt: skip
    assert worth.status_code == 202
    assert worth.headers["memshare-deployment"] == "puzzles"
    assert [row["memory"]["id"] for row in searched] == [one] == [read["memory"]["id"]]
    assert counted["total"] == 2
    assert counted["pool"] == {"logic": 1, "poem": 1}
    assert [(row["name"], row["memories"]) for row in pools] == [("logic", 1), ("plan", 0), ("poem", 1)]
    assert [row["name"] for row in agents] == ["logic", "plan", "poem"]


def test_an_agent_of_no_deployment_is_refused_with_those_that_there_are(file: Callable[..., Path]) -> None:
    with serving(file()) as asked:
        refused = asked.post("/v1/tasks", json={"agent": "reasoning", "prompt": "Why?"})

    assert refused.status_code == 404
    assert "'reasoning'" in refused.json()["detail"]
    assert "logic, plan, poem" in refused.json()["detail"]


def test_while_a_deployment_is_away_the_other_goes_on_and_its_requests_say_so(file: Callable[..., Path]) -> None:
    for away, its, name, others in ((NOBODY, "poem", "poems", "logic"), (NOBODY, "logic", "puzzles", "poem")):
        with serving(file(**{name: away})) as asked:
            task = submit(asked, others)
            went_on = asked.get(f"/v1/journeys/{task}")
            refused = asked.post("/v1/tasks", json={"agent": its, "prompt": "Away"})
            recalled = asked.post("/v1/recall", json={"prompt": "red lamp", "pool": others})
            listed = asked.get("/v1/journeys")
            health = asked.get("/health")

        assert went_on.json()["prompt"] == f"For {others}"
        assert recalled.status_code == 200, recalled.text
        assert (refused.status_code, refused.headers["memshare-deployment"]) == (503, name)
        assert (listed.status_code, listed.headers["memshare-deployment"]) == (503, name)
        assert health.status_code == 200
        assert f"{name}: Redis does not answer.\n" in health.text
        assert health.text.count(": ok\n") == 1


def test_health_is_bad_when_no_deployment_is_well(file: Callable[..., Path]) -> None:
    with serving(file(poems=NOBODY, puzzles=NOBODY)) as asked:
        assert asked.get("/health").status_code == 503
        assert asked.get("/alive").text == "ok"


def test_what_one_deployment_alone_answers_takes_its_name(file: Callable[..., Path]) -> None:
    with serving(file()) as asked:
        unnamed = [asked.get("/v1/budgets"), asked.post("/v1/tokens", json={}), asked.post("/mcp", json={})]
        named = asked.get("/v1/memories?deployment=puzzles&limit=5")
        tools = asked.post(
            "/mcp?deployment=puzzles", json=TOOLS, headers={"Accept": "application/json, text/event-stream"}
        )
        unknown = asked.get("/v1/budgets?deployment=other")

    for one in unnamed:
        assert one.status_code == 422 or one.json()["error"]
        assert "?deployment=NAME" in one.text
        assert "poems, puzzles" in one.text
    assert [row["answer"] for row in named.json()["memories"]] == ["Of logic."]
    assert '"ask_agent"' in tools.text
    assert tools.headers["memshare-deployment"] == "puzzles"
    assert unknown.status_code == 404


def test_a_token_holds_in_the_deployment_that_it_was_made_in(there: There, file: Callable[..., Path]) -> None:
    [poems, puzzles] = open_backends(Settings(data=file().parent, deployments=file()))
    texts = {one.name: one.tokens.create("ada", ("submit", "recall"), None) for one in (poems, puzzles)}
    poems.close()
    puzzles.close()

    with serving(file(), Authorization=f"Bearer {texts['puzzles']}") as asked:
        task = submit(asked, "logic")
        listed = asked.get("/v1/journeys").json()["journeys"]
        elsewhere = asked.post("/v1/tasks", json={"agent": "poem", "prompt": "A lamp"})
        nowhere = asked.get("/v1/journeys/nobodys")
    with serving(file(), Authorization="Bearer msh_ada_wrong") as asked:
        unknown = asked.post("/v1/tasks", json={"agent": "logic", "prompt": "A lamp"})

    assert [one["id"] for one in listed] == [task]
    assert (elsewhere.status_code, elsewhere.headers["memshare-deployment"]) == (401, "poems")
    assert nowhere.status_code == 404
    assert unknown.status_code == 401
    assert set(there) == {"poems", "puzzles"}


def test_a_token_is_told_nothing_of_pools_and_agents_that_are_not_its_own(file: Callable[..., Path]) -> None:
    written = file()
    backends = open_backends(Settings(data=written.parent, deployments=written))
    text = backends[1].tokens.create("ada", ("recall", "submit"), ("logic",))
    for one in backends:
        one.close()

    with serving(written, Authorization=f"Bearer {text}") as asked:
        there, nowhere = (
            asked.post("/v1/recall", json={"prompt": "red lamp", "pool": pool}) for pool in ("poem", "nobodys")
        )
        own = asked.post("/v1/recall", json={"prompt": "red lamp", "pool": "logic"})
        unknown = asked.post("/v1/tasks", json={"agent": "reasoning", "prompt": "Why?"})

    assert (there.status_code, own.status_code) == (404, 200)
    assert there.json()["detail"].replace("poem", "nobodys") == nowhere.json()["detail"]
    assert "plan" not in unknown.json()["detail"]


def test_the_page_is_of_one_deployment_and_leads_to_the_others(file: Callable[..., Path]) -> None:
    with serving(file()) as asked:
        first = asked.get("/")
        chosen = asked.get("/?deployment=puzzles", follow_redirects=True)

    assert 'href="/?deployment=poems" aria-current="true"' in first.text
    assert 'href="/?deployment=puzzles" aria-current="true"' in chosen.text
