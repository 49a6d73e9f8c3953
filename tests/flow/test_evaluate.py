"""`memshare evaluate` as a process: real queues, and a chat server on loopback in place of the models."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.chat_server import ChatServer, serving
from tests.support.deployment import patient
from tests.support.evaluate_process import CONCURRENCY, PROCESSORS, WITHIN, command, consistent, ended_with

pytestmark = pytest.mark.timeout(1_200)

MODEL = "mistral:scripted"
"""On OpenAI's client `test_evaluate_all` runs every experiment."""


def wait_until(true: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + patient(WITHIN)
    while not true():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline, "it did not get so far"
        time.sleep(0.02)


def asked(chat: ChatServer) -> Counter[str]:
    """How often each request was made; grades and answers of the same text may come in several conditions."""
    return Counter(json.dumps(body, sort_keys=True) for body in chat.requests)


@dataclass(frozen=True)
class Straight:
    """A run that nothing broke off: where it is, what it found and how often it made each request."""

    folder: Path
    found: dict[str, Any]
    asked: Counter[str]


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory, exports: Path) -> Straight:  # noqa: ARG001
    folder = tmp_path_factory.mktemp("straight")
    with serving(consistent) as chat:
        process = command(chat, folder, "out", MODEL)
        found, said = ended_with(process, WITHIN)
        assert process.returncode == 0, said
        return Straight(folder, json.loads(found), asked(chat))


def test_a_run_that_was_broken_off_twice_comes_to_the_same_table_and_pays_for_nothing_twice(
    straight: Straight, tmp_path: Path
) -> None:
    wanted = straight.asked

    with serving(consistent) as chat:
        first = command(chat, tmp_path, "broken", MODEL)
        wait_until(lambda: len(chat.requests) > 20, first)
        first.send_signal(signal.SIGINT)
        _, said = ended_with(first, WITHIN)
        assert first.returncode == 130, said
        assert "Stopped" in said
        assert not asked(chat) - wanted, "ended gently, it had asked for nothing twice"

        second = command(chat, tmp_path, "broken", MODEL)
        already = len(chat.requests)
        wait_until(lambda: len(chat.requests) > already + 20, second)
        second.kill()
        ended_with(second, WITHIN)

        third = command(chat, tmp_path, "broken", MODEL)
        again, said = ended_with(third, WITHIN)
        assert third.returncode == 0, said
        twice = asked(chat) - wanted
        assert not wanted - asked(chat)

    # What was under way when they were killed is the most that can be asked for again: agents, scorer and trainer ask.
    assert sum(twice.values()) <= CONCURRENCY * (PROCESSORS + 2)
    assert json.loads(again) == straight.found
    for name in ("table.md", "chart.svg"):
        at_once = (straight.folder / "out/memories" / name).read_text()
        assert (tmp_path / "broken/memories" / name).read_text() == at_once


def test_it_runs_on_mistrals_client_too_and_shows_every_item(straight: Straight) -> None:
    folder = straight.folder / "out" / "memories"
    run = json.loads((folder / "run.json").read_text())
    items = [json.loads(line) for line in (folder / "items.jsonl").read_text().splitlines()]

    assert straight.found["models"] == straight.found["graded_by"] == [MODEL]
    assert run["calls"] == {MODEL: straight.asked.total()}
    # Ten riddles and five limericks: a fifth is seeds, two fifths are queries, and the others the test.
    assert straight.found["parts"] == {"seeds": 3, "queries": 6, "test": 6}
    assert Counter(item["condition"] for item in items) == {f"{k} memor{'y' if k == 1 else 'ies'}": 6 for k in range(4)}
    assert {len(item["shown"]) for item in items if item["condition"] == "0 memories"} == {0}
    # The server cites the first example that it was shown, which is the least similar one: the texts are those shown.
    with_memories = [item for item in items if item["shown"]]
    assert with_memories
    assert all(item["answer"].endswith(f" is like {item['memories'][-1][1]}") for item in with_memories)
    by_hand = sum(item["score"] for item in items if item["condition"] == "2 memories") / 6
    [row] = [row for row in straight.found["rows"] if (row["condition"], row["kind"]) == ("2 memories", "all")]
    assert row["score"]["mean"] == pytest.approx(by_hand)


def test_own_and_foreign_memories_are_compared_where_two_models_write(tmp_path: Path) -> None:
    with serving(consistent) as chat:
        models = ("openai:one", "openai:two")
        words = ("--models", ",".join(models), "--items", "5")
        process = command(chat, tmp_path, "out", models[0], *words, what="balance")
        found, said = ended_with(process, WITHIN)
        assert process.returncode == 0, said

    result = json.loads(found)
    there = {(row["condition"], row["model"]) for row in result["rows"]}
    conditions = ("0 memories", "own only", "foreign only", "mixed", "mixed, after practice")
    assert there == {(condition, model) for condition in conditions for model in models}


def test_a_folder_with_another_run_is_not_touched(straight: Straight) -> None:
    with serving(consistent) as chat:
        other = command(chat, straight.folder, "out", MODEL, "--seed", "8")
        _, said = ended_with(other, WITHIN)
        finished = command(chat, straight.folder, "out", MODEL)
        found, _ = ended_with(finished, WITHIN)

        assert (other.returncode, chat.requests) == (2, [])
    assert "Give another --out" in said
    assert json.loads(found) == straight.found


def test_models_that_will_not_do_are_refused_before_anything_is_begun(tmp_path: Path) -> None:
    with serving(consistent) as chat:
        process = command(chat, tmp_path, "out", "openai:scripted", "--models", "parrot")
        _, said = ended_with(process, WITHIN)

        assert (process.returncode, chat.requests) == (2, [])
    assert "Unknown chat model 'parrot'" in said
    assert not (tmp_path / "out").exists()
