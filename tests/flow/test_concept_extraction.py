"""Memories get their concepts by real workers, off the way of the answer; these do not wait for each other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from memshare_broker.connection import connect
from memshare_broker.settings import Settings
from memshare_broker.wire.messages import derived_id
from memshare_memory.curate.requests import Edit, Forget, NewMemory
from memshare_memory.memory import Memory
from memshare_memory.stores.store import Where
from tests.support.chat_script import Answer, well
from tests.support.chat_server import serving
from tests.support.deployment import Deployment, deployed, empty, wait_for
from tests.support.terminal import Terminal

REFUSED = "unspeakable"


def model(body: dict[str, Any]) -> Answer:
    """Names the last word of a memory's answer as its topic; of some texts it names none."""
    if "response_format" not in body:
        return Answer(text=f"Reply to: {body['messages'][-1]['content']}")
    asked = json.loads(body["messages"][-1]["content"]) if is_extraction(body) else {}
    if "memories" not in asked:
        return well(body)
    if REFUSED in json.dumps(asked["memories"]):
        return Answer(status=400, text="no", code="content_policy_violation")
    return Answer(text=json.dumps({name: names(one["answer"]) for name, one in asked["memories"].items()}))


def names(answer: str) -> dict[str, Any]:
    word = answer.split()[-1]
    named = {"subjects": ["Thing", word], "topic": word, "general_1": ["Word"], "general_2": [], "general_3": []}
    return named | {"general_4": ["Language"]}


def is_extraction(body: dict[str, Any]) -> bool:
    return bool(body.get("response_format", {}).get("json_schema", {}).get("name") == "Hierarchies")


def asked_about(deployment: Deployment, text: str) -> list[dict[str, Any]]:
    bodies = [json.loads(one["messages"][1]["content"]) for one in deployment.chat.requests if is_extraction(one)]
    return [body for body in bodies if text in json.dumps(body["memories"])]


@pytest.fixture(scope="module")
def deployment(redis_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    settings = Settings(data=redis_folder, model="openai:scripted")
    empty(redis_folder)
    logs = tmp_path_factory.mktemp("logs")
    workers = [["poem", "scorer", "memory"], ["concepts"]]
    more = {"MEMSHARE_CONCEPTS": "true", "MEMSHARE_LEARN": "false"}  # there is no trainer
    with serving(model) as chat, deployed(settings, chat, logs, workers, **more) as running:
        yield running


def add(deployment: Deployment, answer: str, pool: str, prompt: str | None = None, **fields: Any) -> UUID:
    return deployment.client.memories.add(
        [NewMemory(pool=pool, prompt=prompt, answer=answer, new_pool=True, **fields)]
    )[0]


def named(deployment: Deployment, memory: UUID) -> Memory:
    """The memory, once it has concepts."""

    def there() -> Memory | None:
        found = deployment.client.memories.get(memory)
        return found if found.concepts else None

    return wait_for(there, 20, "the memory to have concepts")


def usage_of(deployment: Deployment, submitter: str) -> int:
    """How many calls of models were counted for somebody, once a worker has written what it counted."""

    def calls() -> int:
        with connect(deployment.settings.redis) as client:
            days = [client.hgetall(key) for key in client.scan_iter("memshare:usage:????-??-??")]
        return sum(int(float(day.get(f"calls submitter {submitter}", 0))) for day in days)

    return wait_for(lambda: calls() if calls() >= 3 else None, 10, "what was used to be counted")


def test_an_answer_that_is_remembered_gets_its_concepts_and_its_trace_shows_them(deployment: Deployment) -> None:
    sent = deployment.client.submit("poem", "A verse about a tapir", kind="limerick", submitter="tapir-keeper")
    journey = deployment.settled(sent.id)
    assert journey.memory_id is not None

    memory = named(deployment, journey.memory_id)

    assert memory.concepts == {"-1": ("Thing", "Tapir"), "0": ("Tapir",), "1": ("Word",), "4": ("Language",)}
    assert len(asked_about(deployment, "A verse about a tapir")) == 1

    def ended() -> bool:
        return {"extract", "concepts"} <= deployment.client.ledger.journey(sent.id).keys()

    wait_for(ended, 10, "the journey to have both hops")
    shown = Terminal(deployment.settings.data).run("trace", sent.id).stdout
    assert "concepts: Tapir, Thing, Word, Language" in shown
    assert deployment.client.journey(sent.id).state == "settled"
    assert usage_of(deployment, "tapir-keeper") == 3, "answer, grade and concepts"


def test_what_people_bring_in_and_change_gets_its_concepts_from_the_nearest_examples(deployment: Deployment) -> None:
    first = add(deployment, "Mont Blanc is a mountain", "peaks")
    named(deployment, first)

    second = add(deployment, "The Eiger is a mountain", "peaks")
    named(deployment, second)

    [asked] = asked_about(deployment, "Eiger")
    assert [one["answer"] for one in asked["examples"]] == ["Mont Blanc is a mountain"]
    assert asked["examples"][0]["concepts"]["topic"] == "Mountain"
    deployment.client.memories.edit(Edit(id=second, answer="The Eiger is a wall"))
    assert named(deployment, second).concepts["0"] == ("Wall",)
    add(deployment, "The Eiger is a wall", "peaks")
    assert len(asked_about(deployment, "Eiger")) == 2


def test_a_memory_of_which_the_model_will_not_speak_is_stored_all_the_same(deployment: Deployment) -> None:
    prompt = f"A verse about something {REFUSED}"
    sent = deployment.client.submit("poem", prompt, kind="limerick")
    journey = deployment.settled(sent.id)
    wait_for(lambda: not any(deployment.client.ledger.open_messages().values()), 20, "its extraction to end")

    assert journey.memory_id is not None
    assert deployment.client.memories.get(journey.memory_id).concepts == {}
    assert deployment.client.journey(sent.id).state == "settled"
    assert str(derived_id(sent.id, "extract")) not in deployment.client.dead_letters


def test_concepts_of_what_was_there_before_are_named_by_a_command_that_can_be_repeated(deployment: Deployment) -> None:
    memories = [
        Memory(id=UUID(int=n), pool="old", prompt=None, answer=f"Old word number{n}", created=1) for n in (1, 2)
    ]
    # A passage of a document is not asked about by itself, and what the model refuses has no concepts.
    page = Memory(id=UUID(int=4), pool="old", prompt=None, answer="A page", parents=(UUID(int=5),), created=1)
    bad = Memory(id=UUID(int=3), pool="old", prompt=None, answer=f"Something {REFUSED}", created=1)
    deployment.client.memories.restore([*memories, page, bad])
    wait_for(lambda: not any(deployment.client.ledger.open_messages().values()), 20, "all to be done")
    bare = [one for one in deployment.client.memories.every(Where(pool="old")) if not one.concepts]
    assert {one.id for one in bare} == {page.id, bad.id}

    terminal = Terminal(deployment.settings.data)
    refused = terminal.run("concepts", "extract", "--pool", "old", code=2)
    assert "at most 24 where" in refused.stderr
    assert "--yes" in refused.stderr
    done = terminal.run("concepts", "extract", "--pool", "old", "--yes", "--json", code=1)

    assert json.loads(done.stdout) == {"pool": "old", "without": 2, "named": 1, "left": 1, "most_calls": 24}
    assert "memshare dead list" in done.stderr
    assert len(asked_about(deployment, "number1")) == 1
    again = terminal.run("concepts", "extract", "--pool", "old", "--yes", "--json", code=1)
    assert json.loads(again.stdout)["without"] == 1, "what has its concepts is not asked again"
    assert "All memories" in terminal.run("concepts", "extract", "--pool", "peaks").stdout


def test_a_cap_holds_concepts_and_what_is_forgotten_meanwhile_is_not_asked_about_until_it_is_restored(
    deployment: Deployment,
) -> None:
    terminal = Terminal(deployment.settings.data)
    terminal.run("budget", "set", "--submitter", "spender", "--tokens", "0")
    kept, gone = (add(deployment, f"A capped {word}", "capped", submitter="spender") for word in ("otter", "lynx"))

    def held() -> bool:
        return {one.hold for one in deployment.client.ledger.parked.all() if one.queue == "concepts"} == {
            "submitter spender"
        }

    wait_for(lambda: held() and len(deployment.client.ledger.parked.all()) == 2, 20, "both to be held back")
    assert asked_about(deployment, "capped") == []
    deployment.client.memories.forget(Forget(ids=(gone,)))
    terminal.run("budget", "set", "--submitter", "spender", "--none")

    assert named(deployment, kept).concepts["0"] == ("Otter",)
    wait_for(lambda: not deployment.client.ledger.open_messages().get("concepts"), 20, "the other one to end")
    assert len(asked_about(deployment, "capped")) == 1
    assert deployment.client.memories.stats().by_pool["capped"] == 1

    terminal.run("memories", "restore", str(gone))
    assert named(deployment, gone).concepts["0"] == ("Lynx",)
    assert len(asked_about(deployment, "capped")) == 2
