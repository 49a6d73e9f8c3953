"""A document is imported as minimal facts: each with its passage, none twice, and none lost when it is stopped."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from memshare.operate.data_folder import connected
from memshare_broker.settings import Settings
from memshare_memory.curate.requests import NewMemory
from memshare_memory.memory import Memory
from memshare_memory.people import WrongAnswer, note_wrong
from memshare_memory.stores.store import Where
from tests.support import prepared_python
from tests.support.chat_script import Answer
from tests.support.chat_server import serving
from tests.support.deployment import ROOT, Deployment, deployed, empty, patient, wait_for

POOL = "reasoning"
KNOWN = "The mill of Brenmoor turns once."


class Model:
    """Finds one fact in each passage, and one more that the first passage of a call shares with no other."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.answer: Callable[[dict[str, Any]], Answer] = self.facts

    def __call__(self, body: dict[str, Any]) -> Answer:
        asked = json.loads(next(turn["content"] for turn in body["messages"] if turn["role"] == "user"))
        self.asked.append(asked)
        return self.answer(asked)

    def facts(self, asked: dict[str, Any]) -> Answer:
        said = [
            {"passage": name, "statement": text.replace("It", "The mill of Brenmoor")}
            for name, text in asked["passages"].items()
        ]
        return Answer(text=json.dumps({"facts": [*said, said[0]]}))


model = Model()


@pytest.fixture(scope="module")
def running(redis_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    folder = tmp_path_factory.mktemp("facts")
    settings = Settings(data=folder, redis_url=Settings(data=redis_folder).redis, model="openai:scripted")
    empty(redis_folder)
    more = {"MEMSHARE_REDIS_URL": settings.redis}
    with serving(model) as chat, deployed(settings, chat, folder, [("memory",)], **more) as deployment:
        yield deployment


@pytest.fixture
def deployment(running: Deployment) -> Deployment:
    model.asked.clear()
    model.answer = model.facts
    return running


def run(deployment: Deployment, file: Path, *options: str, code: int = 0) -> tuple[str, str]:
    words = ("memories", "import", str(file), "--pool", POOL, "--facts", *options)
    done = prepared_python.run(words, deployment.environment | {"COLUMNS": "200"}, patient(120))
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout, done.stderr


def document(folder: Path, name: str, *times: str) -> Path:
    file = folder / name
    file.write_text("\n\n".join(f"It turns {time}." for time in times))
    return file


def of(deployment: Deployment, title: str) -> tuple[list[Memory], list[Memory]]:
    """The facts and the passages of a document."""
    every = list(deployment.client.memories.every(Where(pool=POOL)))
    passages = [one for one in every if one.answer.startswith(f"{title}\n")]
    return [one for one in every if one.source == title], passages


def test_each_fact_has_its_passage_and_what_the_pool_knows_stays_as_it_is(
    deployment: Deployment, tmp_path: Path
) -> None:
    deployment.client.memories.add([NewMemory(pool=POOL, answer=KNOWN, submitter="Ada", new_pool=True)])
    file = document(tmp_path, "mill.txt", "once", *(f"{number} times" for number in range(2, 13)))
    refused = run(deployment, file, code=2)[1]
    assert model.asked == []

    said, errors = run(deployment, file, "--yes", "--submitter", "Bo")

    for line in (refused, errors):
        assert "12 passages, 0 of which are done. The others take 2 calls of openai:scripted" in line
    assert [len(asked["passages"]) for asked in model.asked] == [10, 2]
    assert "Imported 11 memories from 12 passages" in said
    facts, passages = of(deployment, "mill.txt")
    assert {one.answer for one in facts} == {f"The mill of Brenmoor turns {number} times." for number in range(2, 13)}
    text = {one.id: one.answer for one in passages}
    for fact in facts:
        [parent] = fact.parents
        assert text[parent] == f"mill.txt\n\n{fact.answer.replace('The mill of Brenmoor', 'It')}"
        assert (fact.status, fact.kind, fact.submitter, fact.model) == ("active", "knowledge", "Bo", "openai:scripted")
    assert {one.status for one in passages} == {"hidden"}
    [known] = [one for one in deployment.client.memories.every(Where(pool=POOL)) if one.answer == KNOWN]
    assert (known.submitter, known.source) == ("Ada", None)

    again = run(deployment, file)[0]  # nothing is left that would be paid for

    assert len(model.asked) == 2
    assert "Imported 0 memories from 0 passages" in again


def test_after_ctrl_c_the_passages_that_are_left_are_asked_about_alone(deployment: Deployment, tmp_path: Path) -> None:
    file = document(tmp_path, "clock.txt", *(f"at {number}" for number in range(12)))
    model.answer = lambda asked: model.facts(asked) if len(asked["passages"]) == 10 else Answer(delay=60)
    command = [sys.executable, "-m", "memshare", "memories", "import", str(file), "--pool", POOL, "--facts", "--yes"]
    process = subprocess.Popen(command, cwd=ROOT, env=deployment.environment, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: len(model.asked) == 2, 60, "the second call")
    process.send_signal(signal.SIGINT)
    errors = process.communicate(timeout=patient(60))[1]
    assert process.returncode == 130, errors
    assert len(of(deployment, "clock.txt")[0]) == 10
    model.answer = model.facts

    run(deployment, file, "--yes")

    assert [len(asked["passages"]) for asked in model.asked] == [10, 2, 2]
    assert [len(some) for some in of(deployment, "clock.txt")] == [12, 12]


def test_passages_whose_replies_do_not_fit_are_left_out_and_named(deployment: Deployment, tmp_path: Path) -> None:
    file = document(tmp_path, "bell.txt", *(f"on day {number}" for number in range(12)))
    model.answer = lambda asked: (
        model.facts(asked) if len(asked["passages"]) == 10 else Answer(text='{"facts": [{"passage": "passage_9"}]}')
    )

    errors = run(deployment, file, "--yes", code=1)[1]

    assert "2 passages are left out" in errors
    assert [len(some) for some in of(deployment, "bell.txt")] == [10, 10]


def test_a_fact_that_was_called_wrong_is_left_out_and_named_and_its_passage_is_done(
    running: Deployment, deployment: Deployment, tmp_path: Path
) -> None:
    word = WrongAnswer(memory=UUID(int=1), pool=POOL, prompt="How often?", submitter="bob", curated=True, by="cora")
    with connected(running.client.settings) as client:
        note_wrong(client, "the mill of Brenmoor turns in snow", word)
    file = document(tmp_path, "night.txt", "in rain", "in snow")

    said, errors = run(deployment, file, "--yes")

    assert (
        "Left out: night.txt, 'The mill of Brenmoor turns in snow.': This answer was called wrong by 'cora'" in errors
    )
    assert "Imported 1 memory from 2 passages" in said
    facts, passages = of(deployment, "night.txt")
    assert ([one.answer for one in facts], len(passages)) == (["The mill of Brenmoor turns in rain."], 2)


def test_facts_are_of_documents_alone(deployment: Deployment, tmp_path: Path) -> None:
    file = tmp_path / "pairs.jsonl"
    file.write_text('{"pool": "reasoning", "prompt": "a", "answer": "b"}\n')

    assert "--facts takes a document" in run(deployment, file, "--yes", code=2)[1]
