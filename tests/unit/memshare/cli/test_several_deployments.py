"""The commands that find the deployment of an agent or of a task: two databases of a real Redis, two real doors."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
import redis

from memshare.client.client import Client
from memshare_broker.settings import Settings
from memshare_memory.pool.pool import Pool
from tests.support.doors import open_door
from tests.support.memories import remembered
from tests.support.terminal import Terminal

AGENTS = {"poems": ["poem"], "puzzles": ["logic", "plan"]}
NOBODY = "redis://127.0.0.1:1/0"


@pytest.fixture
def there(settings: Settings, redis_client: redis.Redis, pool: Pool, tmp_path: Path) -> Iterator[dict[str, Settings]]:
    """Two deployments; for once they share a pool, so that both count the same memory."""
    assert redis_client.dbsize() == 0
    found: dict[str, Settings] = {}
    with ExitStack() as stack:
        for number, name in enumerate(AGENTS):
            with socket.create_server(("127.0.0.1", 0)) as free:
                at = f"127.0.0.1:{free.getsockname()[1]}"
            found[name] = Settings(
                data=tmp_path,
                redis_url=settings.redis.replace("db=0", f"db={number}"),
                memory_listen=at,
                memory_url=f"http://{at}",
                memory_token="of both",
            )
            stack.enter_context(open_door(found[name], pool, redis_client))
        yield found


@pytest.fixture
def terminal(there: dict[str, Settings], tmp_path: Path) -> Terminal:
    return told_of(Terminal(tmp_path), there)


def told_of(terminal: Terminal, there: dict[str, Settings]) -> Terminal:
    """The terminal, with the file of these deployments."""
    file = terminal.data / "deployments.toml"
    tables = [
        f"[{name}]\nagents = {json.dumps(AGENTS[name])}\n"
        f"redis_url = {json.dumps(one.redis)}\nmemory_url = {json.dumps(one.memory_url)}\n"
        for name, one in there.items()
    ]
    file.write_text("\n".join(tables))
    terminal.environment |= {"MEMSHARE_DEPLOYMENTS": str(file), "MEMSHARE_MEMORY_TOKEN": "of both"}
    return terminal


def open_messages(settings: Settings) -> dict[str, int]:
    with closing(Client(settings)) as client:
        return client.ledger.open_messages()


def test_tasks_go_to_their_agents_deployments_and_are_found_there(
    terminal: Terminal, there: dict[str, Settings], tmp_path: Path
) -> None:
    lines = tmp_path / "tasks.jsonl"
    lines.write_text('{"agent": "plan", "prompt": "A party"}\n{"agent": "poem", "prompt": "A lamp"}\n')

    puzzle = terminal.json("submit", "logic", "Who owns the fish?")["task_id"]
    terminal.run("submit", "--file", str(lines))

    assert open_messages(there["poems"]) == {"poem": 1}
    assert open_messages(there["puzzles"]) == {"logic": 1, "plan": 1}
    assert terminal.json("trace", puzzle[:8])["prompt"] == "Who owns the fish?"
    assert "waits in the queue 'logic'" in " ".join(terminal.run("result", puzzle, code=None).stderr.split())
    assert terminal.json("cancel", puzzle[:8]) == {puzzle: "cancelled"}
    assert open_messages(there["puzzles"]) == {"logic": 0, "plan": 1}


def test_who_is_in_no_deployment_is_told_so(terminal: Terminal) -> None:
    said = terminal.run("submit", "reasoning", "Why?", code=None).stderr

    assert "No deployment has the agent 'reasoning'. There are: logic, plan, poem." in " ".join(said.split())
    assert "in any of 2 deployments" in " ".join(terminal.run("trace", "nobodys", code=None).stderr.split())


def test_the_memories_of_all_deployments_are_counted(terminal: Terminal, there: dict[str, Settings]) -> None:
    with closing(Client(there["poems"])) as client:
        client.memories.restore([remembered("lamp")[0]])

    assert terminal.json("memories", "stats")["by_pool"] == {"poem": 2}


def test_a_task_is_found_while_another_deployment_is_away(terminal: Terminal, there: dict[str, Settings]) -> None:
    puzzle = terminal.json("submit", "logic", "Who owns the fish?")["task_id"]
    away = Settings(redis_url=NOBODY, memory_url=there["poems"].memory_url)
    told_of(terminal, {"poems": away, "puzzles": there["puzzles"]})

    assert terminal.json("trace", puzzle[:8])["task_id"] == puzzle
    assert "127.0.0.1:1" in terminal.run("trace", "nobodys", code=None).stderr
