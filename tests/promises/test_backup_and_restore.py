"""Backup and restore of a deployment, as a person does it: under load, into an empty folder, and with a broken file."""

from __future__ import annotations

import json
import random
import re
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest
import redis

from memshare.client.client import Client
from memshare.client.rest.calls.operating import LastBackup
from memshare.operate.backup.archive import POOL, open_archive
from memshare.operate.data_folder import connected
from memshare.operations.operating import read_last_backup
from memshare_broker.connection import connect
from memshare_broker.settings import Settings
from memshare_memory.door.messages import RecallRequest
from memshare_memory.encoders.encoder import BUNDLED
from memshare_memory.memory import Memory
from memshare_memory.pool.known_pools import RESTORING
from memshare_memory.recall.retriever import PublishedAdapter, adapter_key, version_key
from memshare_memory.stores.store import Where
from tests.faults.count import count
from tests.support.deployment import wait_for
from tests.support.terminal import Terminal, end

VERSION, SEEDS, TASKS = 3, 300, 40


@dataclass(frozen=True)
class Backed:
    """A deployment that went on after its backup, and what is known of that."""

    terminal: Terminal
    file: Path
    said: dict[str, Any]
    before: dict[str, Memory]
    """The memories that were there before the backup was begun."""
    credits: dict[str, int]
    """How often each of them had been credited by then, at the least."""
    later: list[str]
    """Tasks that were submitted when it was done."""
    noted: LastBackup
    """What the deployment has noted of it."""


def settings_of(terminal: Terminal) -> Settings:
    return Settings(data=terminal.data, model="offline")


def memories_of(client: Client) -> dict[str, Memory]:
    return {str(memory.id): memory for memory in client.memories.every(Where())}


def credits_of(client: Client, ids: list[str]) -> dict[str, int]:
    judged = client.memories.judge([UUID(one) for one in ids])
    return {str(one.memory.id): one.credibility.credits for one in judged}


def submit(client: Client, count: int, begin: int) -> list[str]:
    texts = [f"A limerick about lighthouse number {number * 7919}" for number in range(begin, begin + count)]
    return [str(client.submit("poem", text, kind="limerick").id) for text in texts]


@contextmanager
def submitting(client: Client) -> Iterator[list[str]]:
    """Tasks come one after the other while the block runs."""
    sent: list[str] = []
    over = threading.Event()

    def work() -> None:
        while not over.wait(0.02):
            sent.extend(submit(client, 1, 10_000 + len(sent)))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield sent
    finally:
        over.set()
        thread.join()


def until_all_ended(client: Client) -> None:
    wait_for(lambda: sum(client.ledger.open_messages().values()) == 0, 120, "every message to end")


@pytest.fixture(scope="module")
def backed(tmp_path_factory: pytest.TempPathFactory) -> Backed:
    terminal = Terminal(tmp_path_factory.mktemp("first"))
    folder = tmp_path_factory.mktemp("data") / "missing" / "backups"
    seeds = terminal.data.parent / "seeds.jsonl"
    pairs = [
        {
            "pool": "poem",
            "kind": "limerick",
            "prompt": f"A limerick about tower {n}",
            "answer": f"Tower {n}.",
            "score": 90,
        }
        for n in range(SEEDS)
    ]
    seeds.write_text("\n".join(map(json.dumps, pairs)))
    process = terminal.up(agents=2)
    with closing(Client(settings_of(terminal))) as client, closing(connect(client.settings.redis)) as direct:
        terminal.run("memories", "import", str(seeds))
        published = PublishedAdapter.pack(VERSION, BUNDLED, np.zeros((384, 384), np.float32))
        direct.set(adapter_key("poem", BUNDLED, VERSION), published.model_dump_json())
        direct.set(version_key("poem", BUNDLED), VERSION)
        submit(client, TASKS, 0)
        until_all_ended(client)
        before = memories_of(client)
        credited = credits_of(client, list(before))
        with submitting(client) as sent:
            wait_for(lambda: len(sent) > 10, 60, "some load")
            said = terminal.json("backup", str(folder))
            noted = read_last_backup(direct)
            assert noted is not None
            there = len(sent)
            wait_for(lambda: len(sent) > there + 10, 60, "more load")
        later = submit(client, 5, 50_000)
        until_all_ended(client)
    end(process)
    return Backed(terminal, Path(said["file"]), said, before, credited, later, noted)


@pytest.fixture
def second(tmp_path: Path) -> Terminal:
    return Terminal(tmp_path / "second")


def archived(file: Path) -> dict[str, Memory]:
    with open_archive(file) as archive:
        found = [Memory.model_validate_json(json.loads(line)["text"]) for line in archive.lines(POOL)]
    return {str(memory.id): memory for memory in found}


def test_a_backup_under_load_is_restored_whole_and_nothing_of_it_counts_twice(backed: Backed, second: Terminal) -> None:
    restored = second.json("restore", str(backed.file))

    with (
        second.working(),
        closing(Client(settings_of(second))) as client,
        closing(connect(client.settings.redis)) as direct,
    ):
        until_all_ended(client)
        found, kept = memories_of(client), archived(backed.file)
        texts = {one: (memory.prompt, memory.answer) for one, memory in kept.items()}
        assert restored["memories"] == backed.said["memories"] == len(kept)
        assert {one: (memory.prompt, memory.answer) for one, memory in backed.before.items()}.items() <= texts.items()
        assert kept.keys() <= found.keys()
        credited = credits_of(client, list(backed.before))
        assert all(credited[one] >= known for one, known in backed.credits.items())
        assert sum(backed.credits.values()) > 0
        asked = client.memories.recall(RecallRequest(pool="poem", text="A limerick about tower 7", k=3))
        assert asked.retriever_version == VERSION
        assert asked.found[0].similarity > 0.9

        journeys = [name.rpartition(":")[2] for name in map(str, direct.scan_iter("memshare:journey:*", count=1000))]
        compared = {one for one in journeys if client.ledger.journey(one).keys() & {"compare", "answer"} == {"compare"}}
        known = [one for one in journeys if one not in compared]  # what was imported is compared, and no task
        told = count(client, direct, known, list(found.values()))
        assert not set(known) & set(backed.later)
        assert told.submitted > TASKS
        assert (told.unended, told.lost, told.open, told.dead, told.miscounted) == (0, 0, 0, {}, {})
        assert (told.duplicates, told.missing, told.unknown, told.credits_amiss) == (0, 0, 0, 0)

        task = submit(client, 1, 90_000)[0]
        assert client.wait(task, 60).ended


def test_writers_wait_for_a_moment_only(backed: Backed) -> None:
    assert 0 < backed.said["redis_waited"] <= backed.said["pool_waited"] < 1


def test_a_backup_is_for_its_owner_alone_and_takes_the_place_of_nothing(backed: Backed) -> None:
    assert backed.file.stat().st_mode & 0o777 == 0o600
    assert "is there already" in backed.terminal.run("backup", str(backed.file), code=2).stderr


def test_a_folder_for_backups_is_made_and_the_file_in_it_is_dated(backed: Backed, tmp_path: Path) -> None:
    assert re.fullmatch(r"memshare-\d{8}-\d{6}\.zip", backed.file.name)
    assert backed.file.parent.name == "backups"
    with open_archive(backed.file) as archive:
        assert backed.noted.at == archive.manifest.made
    assert (Path(backed.noted.file), backed.noted.size) == (backed.file, backed.file.stat().st_size)

    (tmp_path / "notes").write_text("mine")
    refused = backed.terminal.run("backup", str(tmp_path / "notes"), code=2).stderr
    assert str(tmp_path / "notes") in refused
    assert (tmp_path / "notes").read_text() == "mine"


def test_a_deployment_with_memories_is_replaced_only_when_told_to_and_the_old_pool_is_kept(
    backed: Backed, second: Terminal
) -> None:
    with second.working(), closing(Client(settings_of(second))) as client:
        second.run("memories", "add", "An echo.", "--pool", "logic")
        [mine] = memories_of(client).values()
        running = second.run("restore", str(backed.file), "--replace", "--yes", code=2).stderr
        assert "Workers of this deployment are there" in running

    refused = second.run("restore", str(backed.file), code=2).stderr
    asked = second.run("restore", str(backed.file), "--replace", code=2).stderr
    restore = ("restore", str(backed.file), "--replace", "--yes", "--json")
    # A worker that had no time to say that it ends counts as there for a while.
    done = wait_for(
        lambda: (said := second.run(*restore, code=None)).returncode == 0 and said, 60, "the last worker to go"
    )
    replaced = json.loads(done.stdout)

    assert "--replace" in refused
    assert "--yes" in asked
    assert (Path(replaced["aside"]) / "pool" / "engine").is_dir()
    with second.working(), closing(Client(settings_of(second))) as client:
        found = memories_of(client)
    assert archived(backed.file).keys() <= found.keys()
    assert str(mine.id) not in found


@pytest.mark.parametrize("seed", range(4))
def test_a_broken_file_changes_nothing(backed: Backed, second: Terminal, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    content = bytearray(backed.file.read_bytes())
    if seed == 0:
        content = content[: len(content) // 2]
    else:
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    broken = tmp_path / "broken.zip"
    broken.write_bytes(content)

    said = second.run("restore", str(broken), code=2).stderr

    assert str(broken) in said
    assert not (second.data / "pool").exists()


def test_a_restore_that_was_broken_off_keeps_the_deployment_from_starting_until_it_is_run_again(
    backed: Backed, second: Terminal
) -> None:
    second.run("restore", str(backed.file))
    with redis_of(second) as direct:
        direct.set(RESTORING, str(backed.file))

    failed = second.run("up", "--flower-port", "0", "--port", "0", code=1).stderr
    second.run("restore", str(backed.file))

    assert "was broken off" in failed or "ended at once" in failed
    with redis_of(second) as direct:
        assert direct.get(RESTORING) is None


@contextmanager
def redis_of(terminal: Terminal) -> Iterator[redis.Redis]:
    with connected(settings_of(terminal)) as direct:
        yield direct
