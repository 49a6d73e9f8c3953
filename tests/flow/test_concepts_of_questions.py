"""A question to a pool gets concepts as memories do, and is answered from memories that have them, too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from memshare_broker.connection import connect
from memshare_broker.settings import Settings
from memshare_memory.curate.requests import Forget
from memshare_memory.memory import Memory
from memshare_memory.people import QUESTION_CONCEPTS
from tests.support import prepared_python
from tests.support.chat_script import Answer
from tests.support.chat_server import serving
from tests.support.deployment import ROOT, Deployment, deployed, empty
from tests.support.shelf import CHECK, RESPOND, answered, judged, planned

POOL = "plan"
QUESTION = "Which machine could a poet's daughter have programmed?"
HIDDEN = "What drove the columns of the Analytical Engine?"
ENGINE = {"0": ("Analytical Engine",), "-1": ("Charles Babbage", "Mechanical Computer"), "3": ("Science",)}
SEWING = {"0": ("Sewing Machine",), "-1": ("Needle", "Thread"), "3": ("Science",)}
NAMED = {
    "memory_1": {
        "topic": "Analytical Engines",
        "subjects": ["Charles Babbage", "Ada Lovelace"],
        **{f"general_{level}": ["Science"] for level in range(1, 5)},
    }
}
STEPS = {
    "Plan": planned(RESPOND, CHECK),
    "Response": answered("In steps.", "k1"),
    "AnswerJudgement": judged(True, k1=0.5),
}


class Model:
    """Answers by the name of the schema that it is asked for, and keeps what it was asked."""

    def __init__(self) -> None:
        self.named: Any = NAMED
        self.asked: list[tuple[str, Any]] = []

    def __call__(self, body: dict[str, Any]) -> Answer:
        schema = body["response_format"]["json_schema"]["name"]
        asked = json.loads(next(turn["content"] for turn in body["messages"] if turn["role"] == "user"))
        self.asked.append((schema, asked))
        if schema == "Hierarchies":
            return Answer(text=json.dumps(self.named))
        if schema in STEPS:
            return Answer(text=json.dumps(STEPS[schema]))
        cites = [{"memory": name, "why": "It says so."} for name in asked["memories"]]
        return Answer(
            text=json.dumps({"cites": cites, "suffices": True, "answer": "So.", "own_knowledge": "", "questions": []})
        )

    def asked_for(self, schema: str) -> list[Any]:
        return [asked for name, asked in self.asked if name == schema]


model = Model()


def memory(prompt: str, concepts: dict[str, tuple[str, ...]]) -> Memory:
    return Memory(id=uuid4(), pool=POOL, prompt=prompt, answer="A lever.", created=1.0, concepts=concepts)


@pytest.fixture(scope="module")
def running(redis_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    folder = tmp_path_factory.mktemp("questions")
    settings = Settings(data=folder, redis_url=Settings(data=redis_folder).redis, model="openai:scripted")
    empty(redis_folder)
    more = {"MEMSHARE_REDIS_URL": settings.redis, "MEMSHARE_CONCEPTS": "true"}
    with serving(model) as chat, deployed(settings, chat, folder, [("memory",)], **more) as deployment:
        near = [memory(f"Which machine could a poet's daughter {verb}?", SEWING) for verb in ("mend", "buy", "sell")]
        far = [memory(f"Which machine could daughter {number} have programmed?", SEWING) for number in range(4)]
        deployment.client.memories.restore([*near, *far, memory(HIDDEN, ENGINE)])
        yield deployment


@pytest.fixture
def deployment(running: Deployment) -> Deployment:
    model.named = NAMED
    model.asked.clear()
    with connect(running.settings.redis) as client:
        client.delete(*(client.keys(f"{QUESTION_CONCEPTS}*") or ["none"]))
    return running


def answer(deployment: Deployment, *options: str, **environment: str) -> dict[str, Any]:
    words = ["answer", QUESTION, "--pool", POOL, "--memories", "4", "--json", *options]
    done = prepared_python.run(words, deployment.environment | environment, 120)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def shown() -> list[str]:
    """The prompts of the memories that the last answer was written from, the most similar last."""
    return [one["prompt"] for one in model.asked_for("AnswerFromMemories")[-1]["memories"].values()]


def test_a_memory_is_found_by_the_concepts_of_a_question_where_its_vector_is_far_away(deployment: Deployment) -> None:
    answer(deployment, MEMSHARE_CONCEPTS="false")
    assert HIDDEN not in shown()
    by_vector = shown()

    told = answer(deployment)

    assert shown() == [HIDDEN, *by_vector[1:]]  # in place of the least similar one
    [asked] = model.asked_for("Hierarchies")
    assert asked["memories"] == {"memory_1": {"prompt": None, "answer": QUESTION}}
    assert [one["concepts"]["topic"] for one in asked["examples"]] == ["Sewing Machine"] * 3
    similarities = [one["similarity"] for one in told["cites"]]
    assert similarities[0] == min(similarities) < 0.5  # to the question, and not to the concepts


def test_the_same_question_is_named_once_and_what_was_named_ends_and_goes_with_a_purge(deployment: Deployment) -> None:
    gone = memory("Who is Ada Lovelace?", ENGINE)
    deployment.client.memories.restore([gone])

    answer(deployment)
    answer(deployment, "--only-memories")

    assert len(model.asked_for("Hierarchies")) == 1
    with connect(deployment.settings.redis) as client:
        [key] = client.keys(f"{QUESTION_CONCEPTS}*")
        assert 0 < client.ttl(key) <= 7 * 86_400
        assert "poet" not in f"{key} {client.get(key)}"
        deployment.client.memories.purge(Forget(ids=(gone.id,)))
        assert client.keys(f"{QUESTION_CONCEPTS}*") == []


def test_an_agents_file_turns_it_off_for_its_pool(deployment: Deployment, tmp_path: Path) -> None:
    bundled = ROOT / "agents" / "memshare_agents" / "roster" / "plan.toml"
    (tmp_path / "plan.toml").write_text(f"question_concepts = false\n{bundled.read_text()}")

    answer(deployment, MEMSHARE_AGENTS_DIR=str(tmp_path))

    assert model.asked_for("Hierarchies") == []
    assert HIDDEN not in shown()


def test_a_question_whose_concepts_cannot_be_named_is_answered_all_the_same(deployment: Deployment) -> None:
    model.named = {"memory_1": {"topic": "x" * 500}}

    told = answer(deployment)

    assert len(model.asked_for("Hierarchies")) == 2
    assert told["answer"] == "So."
    assert HIDDEN not in shown()


def test_a_question_is_answered_in_steps_where_that_is_asked_for(deployment: Deployment) -> None:
    told = answer(deployment, "--deep")
    drawn = prepared_python.run(["answer", QUESTION, "--pool", POOL, "--deep"], deployment.environment, 120).stdout

    assert (told["answer"], [one["why"] for one in told["cites"]]) == ("In steps.", ["Its share in the answer is 50%."])
    assert [one["operator"] for one in told["steps"]] == ["coordinator", "responder", "discriminator"]
    assert [one["text"] for one in model.asked_for("Plan")[0]["knowledge"]] == ["A lever."]  # the same answer, once
    assert model.asked_for("AnswerFromMemories") == []
    assert "1 coordinator" in drawn
    assert "said: Verified: So it is." in drawn
    assert "In steps." in drawn
