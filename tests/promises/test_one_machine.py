"""`memshare up` runs a process for each part; each is revived alone, and one Redis is for one pool."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import packages_distributions
from itertools import takewhile
from pathlib import Path
from urllib.request import urlopen

import httpx
import psutil
import pytest

from memshare_broker.redis_server import socket_url
from tests.support.chat_server import ChatServer, serving
from tests.support.deployment import wait_for
from tests.support.terminal import Terminal, end

AGENTS = 2


def processes(up: subprocess.Popen[str]) -> dict[str, list[int]]:
    """The process ids of the children of `memshare up`, by what they serve."""
    found: dict[str, list[int]] = {}
    for child in psutil.Process(up.pid).children():
        try:
            if child.status() == psutil.STATUS_ZOMBIE:  # ended, and not yet missed
                continue
            words = child.cmdline()
        except psutil.NoSuchProcess:
            continue
        after = words[words.index("worker") + 1 :] if "worker" in words else []
        name = " ".join(takewhile(lambda word: not word.startswith("--"), after)) or (
            "serve" if "serve" in words else "redis"
        )
        found.setdefault(name, []).append(child.pid)
    return found


def has_another(up: subprocess.Popen[str], name: str, killed: list[int]) -> bool:
    """Whether there are as many of them as before, and the first one is gone."""
    now = processes(up).get(name, [])
    return len(now) == len(killed) and killed[0] not in now


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


@dataclass(frozen=True)
class Small:
    """A `memshare up` with a model, that neither learns nor names concepts."""

    terminal: Terminal
    up: subprocess.Popen[str]
    chat: ChatServer


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Small]:
    terminal = Terminal(tmp_path_factory.mktemp("small"))
    with serving() as chat:
        terminal.environment |= {"OPENAI_BASE_URL": chat.url, "MEMSHARE_MODEL": "openai:scripted"}
        terminal.environment["MEMSHARE_LEARN"] = "false"
        up = terminal.up()
        yield Small(terminal, up, chat)
        end(up)


def test_each_part_is_a_process_and_is_revived_alone(tmp_path: Path) -> None:
    terminal, port = Terminal(tmp_path / "data"), free_port()
    terminal.environment["MEMSHARE_CONCEPTS"] = "true"
    up = terminal.up("--port", str(port), agents=AGENTS)
    before = processes(up)
    agents = "logic plan poem reasoning"
    assert {name: len(ids) for name, ids in before.items()} == {
        "redis": 1, "memory": 1, agents: AGENTS, "scorer concepts": 1, "trainer": 1, "serve": 1,
    }  # fmt: skip

    for name in ("memory", "scorer concepts", "trainer", "serve", agents):
        killed = before[name][0]
        os.kill(killed, signal.SIGKILL)

        wait_for(lambda: has_another(up, name, before[name]), 60, f"{name} to be started again")  # noqa: B023
        after = processes(up)
        assert {other: ids for other, ids in after.items() if other != name} == {
            other: ids for other, ids in before.items() if other != name
        }
        before = after

    [task_id] = terminal.run("submit", "poem", "A limerick about a heron", "--kind", "limerick").stdout.split()
    assert terminal.settled(task_id)["state"] == "settled"
    [statement] = terminal.run(
        "memories", "add", "Herons wade through shallow water.", "--pool", "reasoning"
    ).stdout.split()
    memory = ("memories", "show", statement)
    wait_for(lambda: terminal.json(*memory)["memory"]["concepts"], 20, "its concepts to be named")
    with urlopen(f"http://127.0.0.1:{port}/v1/journeys/{task_id}") as response:
        assert json.load(response)["state"] == "settled"
    end(up)


def test_no_child_imports_what_lies_in_the_folder_in_which_it_was_started(tmp_path: Path) -> None:
    there, ran = tmp_path / "project", tmp_path / "ran"
    there.mkdir()
    for package in filter(str.isidentifier, packages_distributions()):
        text = f"open({str(ran)!r}, 'a').write(__name__)\nraise ImportError('a file of the project')\n"
        (there / f"{package}.py").write_text(text)
    terminal = Terminal(tmp_path / "data")
    terminal.environment["MEMSHARE_CONCEPTS"] = "true"
    port, flower = str(free_port()), str(free_port())
    options = ("--port", port, "--flower-port", flower, "--agents", "1", "--json")
    command = [str(Path(sys.executable).with_name("memshare")), "up", *options]
    up = subprocess.Popen(
        command, cwd=there, env=terminal.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert up.stdout is not None

    told = json.loads(up.stdout.readline() or str(up.communicate()))
    [task_id] = terminal.run("submit", "poem", "A limerick about a heron", "--kind", "limerick").stdout.split()

    assert terminal.settled(task_id)["state"] == "settled"
    with urlopen(f"http://127.0.0.1:{port}/v1/journeys/{task_id}") as response:
        assert json.load(response)["state"] == "settled"
    assert not ran.exists(), ran.read_text()
    tasks = f"{told['flower']}/api/tasks"
    wait_for(lambda: answers(tasks) == 401, 30, "Flower to refuse a stranger")
    assert answers(tasks, told["flower_auth"]) == 200
    end(up)


def answers(url: str, auth: str = "") -> int:
    """Status of an address, for who has this user and password; 0 where nothing answers yet."""
    try:
        return httpx.get(url, auth=tuple(auth.split(":", 1)) if auth else None).status_code
    except httpx.ConnectError:
        return 0


def test_neither_trainer_nor_concepts_run_where_they_have_nothing_to_do(small: Small) -> None:
    there = processes(small.up)

    assert "scorer" in there
    assert "trainer" not in there
    assert "scorer concepts" not in there
    small.terminal.run("memories", "add", "Herons wade through shallow water.", "--pool", "reasoning")
    refused = small.terminal.run("concepts", "extract", "--yes", code=1)
    assert "`memshare worker concepts`" in refused.stderr


def test_a_second_embedded_pool_on_one_redis_is_refused_with_both_addresses(small: Small, tmp_path: Path) -> None:
    terminal = small.terminal
    other = Terminal(tmp_path / "other")
    other.environment["MEMSHARE_REDIS_URL"] = socket_url(terminal.data)
    other.environment["MEMSHARE_SECRET_FILE"] = str(terminal.data / "secret")

    refused = other.run("worker", "memory", code=2)

    assert str(terminal.data) in refused.stderr
    assert str(other.data) in refused.stderr
    assert "MEMSHARE_DATA" in refused.stderr


def test_a_second_memory_worker_of_a_folder_is_refused_and_leaves_the_first_as_it_was(small: Small) -> None:
    terminal, before = small.terminal, small.terminal.json("memories", "stats")["by_pool"]

    refused = terminal.run("worker", "memory", code=1)

    assert "is open already" in refused.stderr
    assert terminal.json("memories", "stats")["by_pool"] == before
    assert "belongs to the pool" not in (terminal.data / "logs" / "memory.log").read_text()


def test_a_second_terminal_asks_the_model_of_the_deployment(small: Small) -> None:
    question = "Which lamp is red?"
    second = Terminal(small.terminal.data)
    for name in ("MEMSHARE_MODEL", "OPENAI_BASE_URL"):
        del second.environment[name]

    second.run("memories", "add", "The lamp by the sea.", "--pool", "poem")
    second.run("answer", question, "--pool", "poem", code=None)  # what the script replies may cite nothing

    asked = [body["model"] for body in small.chat.requests if question in json.dumps(body)]
    assert set(asked) == {"scripted"}
