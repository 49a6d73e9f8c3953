"""`memshare retriever` as a person uses it: while agents answer, and while nothing runs."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest
import redis
from numpy.typing import NDArray

from memshare.client.client import Client
from memshare.operate.data_folder import connected
from memshare_broker.settings import Settings
from memshare_broker.wire.lessons import Candidate, LessonTask
from memshare_broker.wire.messages import Embedding
from memshare_memory.curate.requests import NewMemory
from memshare_memory.door.messages import RecallRequest
from memshare_memory.encoders.encoder import BUNDLED, bundled_folder
from memshare_memory.encoders.sentence_encoder import SentenceTransformerEncoder
from memshare_memory.memory import Memory, memory_id
from memshare_memory.recall.recall import vectors_of
from memshare_memory.stores.open_store import layout_in_use, open_store
from memshare_memory.stores.store import Layout, Where
from memshare_trainer.consolidation.consolidation import TRAINED
from memshare_trainer.learn import LearnStage
from tests.support.deployment import ROOT, wait_for
from tests.support.lessons import FormLabeller
from tests.support.terminal import Terminal, children_of, end

FORMS = (
    "Haiku of three short lines on",
    "Recipe with ingredients and steps inspired by",
    "Riddle for children whose solution is",
    "Letter to an old friend about",
    "Slogan that a poster could have for",
    "Quiz question with four options on",
)
TOPICS = ("whales", "trams", "bread", "snow", "comets", "tulips", "violins", "boxing", "passwords", "castles", "bees",
          "dentists", "honey", "ferries", "owls")  # fmt: skip
PROMPTS = [f"{form} {topic}." for form in FORMS for topic in TOPICS]
TAUGHT_POEM, TAUGHT_LOGIC = 45, 60


def lessons(pool: str, count: int, vectors: NDArray[np.float32]) -> list[LessonTask]:
    """For some memories four of their form on other topics, which help, and four of their topic in other forms."""
    chance = random.Random(pool)

    def candidate(place: int) -> Candidate:
        prompt, embedding = PROMPTS[place], Embedding.pack(BUNDLED, vectors[place])
        return Candidate(id=memory_id(pool, prompt, "Yes."), prompt=prompt, answer="Yes.", embedding=embedding)

    made = []
    for place in chance.sample(range(len(PROMPTS)), count):
        form, topic = divmod(place, len(TOPICS))
        of_form = [form * len(TOPICS) + other for other in range(len(TOPICS)) if other != topic]
        of_topic = [other * len(TOPICS) + topic for other in range(len(FORMS)) if other != form]
        new = candidate(place)
        made.append(
            LessonTask(
                journey=f"{pool} {place}",
                pool=pool,
                memory_id=new.id,
                prompt=PROMPTS[place],
                answer=new.answer,
                embedding=new.embedding,
                candidates=tuple(candidate(one) for one in (*chance.sample(of_form, 4), *chance.sample(of_topic, 4))),
            )
        )
    return made


def teach(client: redis.Redis, vectors: NDArray[np.float32]) -> None:
    """Both pools have learnt something."""
    learn = LearnStage(client, FormLabeller(), kept=2_000, keep_days=7)  # type: ignore[arg-type]
    for pool, count in (("poem", TAUGHT_POEM), ("logic", TAUGHT_LOGIC)):
        for task in lessons(pool, count, vectors):
            learn.run(task.journey, task)


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Terminal:
    """A data folder with memories and lessons, on which nothing runs."""
    settings = Settings(data=tmp_path_factory.mktemp("retriever"), model="offline")
    encoder = SentenceTransformerEncoder(None, device="cpu")
    memories = [
        Memory(id=memory_id(pool, prompt, "Yes."), pool=pool, prompt=prompt, answer="Yes.", created=1)
        for pool in ("logic", "poem")
        for prompt in PROMPTS
    ]
    vectors = vectors_of(encoder, memories)
    with closing(open_store(settings, Layout(encoder.name, encoder.dimension), "a test")) as store:
        store.put(list(zip(memories, vectors, strict=True)))
    with connected(settings) as client:
        teach(client, np.stack([vector.dense for vector in vectors[: len(PROMPTS)]]))
    terminal = Terminal(settings.data)
    terminal.environment["OMP_NUM_THREADS"] = "1"  # two processes compute at the same time
    return terminal


@pytest.fixture
def client(terminal: Terminal) -> Iterator[Client]:
    """A client of `memshare up`."""
    process = terminal.up()
    with closing(Client(Settings(data=terminal.data, model="offline"))) as client:
        yield client
    end(process)


def found(client: Client) -> list[str]:
    hits = client.memories.recall(RecallRequest(pool="logic", text=PROMPTS[0], k=3)).found
    return [hit.memory.prompt for hit in hits]


def added(client: Client, prompt: str) -> UUID:
    return client.memories.add([NewMemory(pool="logic", prompt=prompt, answer="Foam.")])[0]


def answered(client: Client, prompt: str) -> None:
    task_id = client.submit("plan", prompt).id
    wait_for(lambda: client.journey(task_id).answer, 60, "an answer")


def consolidating(terminal: Terminal, *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "memshare", "retriever", "consolidate", "--pool", "logic", "--json", *more]
    return subprocess.Popen(
        command, cwd=ROOT, env=terminal.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def said(process: subprocess.Popen[str]) -> Any:
    found, errors = process.communicate()
    assert process.returncode == 0, errors
    assert "Traceback" not in errors
    return json.loads(found)


def test_a_version_is_gone_back_to_while_nothing_runs(terminal: Terminal) -> None:
    before = terminal.json("retriever", "status")["pools"]["poem"]
    assert before["version"] == before["versions"][-1]["version"] > 1
    assert before["held_out_accuracy"]["in_use"] >= before["held_out_accuracy"]["untrained"]
    assert (before["lessons"]["learnt"] + before["lessons"]["refused"], before["lessons"]["held_out"]) == (41, 4)

    back = terminal.json("retriever", "rollback", "--pool", "poem")

    after = terminal.json("retriever", "status", "--pool", "poem")["pools"]["poem"]
    assert after["version"] == back["version"] == before["versions"][-2]["version"]
    assert children_of(terminal.data) == []


def test_what_was_learnt_from_forgotten_memories_can_be_unlearnt(terminal: Terminal) -> None:
    with terminal.working():
        before = terminal.json("retriever", "status", "--pool", "poem")["pools"]["poem"]
        memory = str(memory_id("poem", PROMPTS[0], "Yes."))
        assert terminal.json("memories", "show", memory)["memory"]["prompt"] == PROMPTS[0]

        kept = terminal.json("memories", "forget", memory, "--yes")
        assert [(one["pool"], one["rolled_back"]) for one in kept["retrievers"]] == [("poem", False)]
        second = str(memory_id("poem", PROMPTS[1], "Yes."))
        undone = terminal.json("memories", "forget", second, "--roll-back", "--yes")["retrievers"]

        after = terminal.json("retriever", "status", "--pool", "poem")["pools"]["poem"]

    assert [(one["pool"], one["rolled_back"]) for one in undone] == [("poem", True)]
    assert undone[0]["lessons"] > 0
    assert after["version"] == undone[0]["version"] != before["version"]


def test_a_trial_says_what_consolidation_brings_and_agents_answer_while_the_encoder_is_changed(
    terminal: Terminal, client: Client, tmp_path: Path
) -> None:
    before = terminal.json("retriever", "status")
    encoders = terminal.data / "encoders"
    trying = consolidating(terminal, "--dry-run")
    trained = wait_for(lambda: next(encoders.glob(f"{TRAINED}*"), None), 240, "the trial to have trained")
    copy = shutil.copytree(trained, tmp_path / trained.name)
    trial = said(trying)
    tried = terminal.json("retriever", "status")
    assert tried.pop("consolidation") == before.pop("consolidation") | {"trial": trial}
    assert tried == before
    assert [one.name for one in encoders.iterdir()] == ["lock"]

    # What a consolidation leaves that is killed once it has trained: the next one goes on from there.
    shutil.move(copy, encoders)
    process = consolidating(terminal)
    late = added(client, "Riddle about the tide, please.")
    answers = 0
    while process.poll() is None:
        answered(client, f"A plan for day {answers}")
        answers += 1
        time.sleep(1)  # the pool is encoded on the same processor

    done = said(process)
    assert done["encoder"].startswith(f"{BUNDLED}@")
    for figure in (done["first_helps"], done["held_out_ndcg"]):
        assert figure["after"] >= figure["before"] - figure["error"]
    assert trial["accepted"]
    for name in ("lessons", "held_out", "first_helps", "held_out_ndcg", "probe_ndcg"):
        assert trial[name] == pytest.approx(done[name], abs=1e-3), name
    assert answers > 3
    assert found(client)[0] == PROMPTS[0]
    assert client.memories.get(late).answer == "Foam."
    status = terminal.json("retriever", "status")
    assert (status["encoder"], status["encoder_before"]) == (done["encoder"], BUNDLED)
    assert status["consolidation"]["trial"] is None
    assert status["pools"]["logic"]["lessons"]["carried_over"] == TAUGHT_LOGIC

    later = added(client, "Riddle about the sea, please.")
    back = terminal.json("retriever", "rollback", "--encoder")

    assert (back["encoder_before"], back["encoder"]) == (done["encoder"], BUNDLED)
    assert found(client)[0] == PROMPTS[0]
    assert client.memories.get(later).answer == "Foam."
    answered(client, "A plan for the day after")
    status = terminal.json("retriever", "status")
    assert (status["encoder"], status["encoder_before"]) == (BUNDLED, done["encoder"])
    assert status["pools"]["poem"]["version"] > 0


def test_another_encoder_takes_over_while_nothing_runs(terminal: Terminal, tmp_path: Path) -> None:
    other = tmp_path / "encoder"
    shutil.copytree(bundled_folder(), other)
    terminal.environment["MEMSHARE_ENCODER"] = str(other)
    settings = Settings(data=terminal.data, encoder=str(other))

    done = terminal.json("retriever", "consolidate")

    assert (done["encoder_before"], done["encoder"], done["lessons"]) == (BUNDLED, str(other), 0)
    layout = layout_in_use(settings)
    assert layout is not None
    assert layout.encoder == str(other)
    with closing(open_store(settings, layout, "a test")) as store:
        assert sum(store.count(Where()).values()) >= 2 * len(PROMPTS)
    status = terminal.json("retriever", "status")
    assert status["encoder"] == str(other)
    assert status["pools"]["logic"]["lessons"]["carried_over"] == TAUGHT_LOGIC
    assert children_of(terminal.data) == []
