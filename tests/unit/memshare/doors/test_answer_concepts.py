"""The concepts of a question are shown with its answer, and the memories that they brought."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest
import redis

from memshare.cli.ask.answer import print_answer
from memshare.client.answering import answer_from
from memshare.client.rest.calls.concepts import AnsweredReply, CitedMemory
from memshare.doors.pages.render import ENVIRONMENT
from memshare.operations.backend import Backend
from memshare_memory.door.client import MemoryClient
from memshare_memory.memory import Memory
from memshare_memory.people import WrongAnswer, note_wrong
from tests.unit.memshare.doors.pages.journey_records import text_of
from tests.unit.memshare.doors.test_deep_answer import scripted

QUESTION = "Which machine could the daughter of a poet have programmed?"
ENGINE = {"0": ("Analytical Engine",), "-1": ("Charles Babbage", "Mechanical Computer")}
SEWING = {"0": ("Sewing Machine",), "-1": ("Needle", "Thread")}
NAMED = {
    "memory_1": {
        "topic": "Analytical Engines",
        "subjects": ["Charles Babbage", "Ada Lovelace"],
        **{f"general_{level}": ["Science"] for level in range(1, 5)},
    }
}


def kept(prompt: str, concepts: dict[str, tuple[str, ...]]) -> Memory:
    return Memory(id=uuid4(), pool="plan", prompt=prompt, answer="A lever.", created=1.0, concepts=concepts)


@pytest.mark.parametrize("cited", [("memory_1", "memory_4"), ("memory_4",)])
def test_what_its_concepts_brought_is_told_in_json_at_the_terminal_and_on_the_page(
    backend: Backend,
    memory: MemoryClient,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    cited: tuple[str, ...],
) -> None:
    far = kept("What drove its columns?", ENGINE)
    near = [kept(f"Which machine could the daughter of {name} have {did}?", SEWING) for name in "ab" for did in "cde"]
    memory.restore([far, *near])
    cites = [{"memory": name, "why": "It says so."} for name in cited]
    said = {"cites": cites, "suffices": True, "answer": "That one.", "own_knowledge": "", "questions": []}

    with scripted(backend, monkeypatch, NAMED, said) as (settings, _):
        reply = answer_from(settings, QUESTION, "plan", 4, False, "ada")
    print_answer(reply, "plan", QUESTION)
    template = ENVIRONMENT.get_template("answered.html.j2")
    context = template.new_context({"reply": reply, "pool": "plan", "question": QUESTION, "only_memories": False})
    page, terminal = text_of("".join(template.blocks["main"](context))), " ".join(capsys.readouterr().out.split())

    told = reply.model_dump(mode="json")
    assert told["brought"] == {str(far.id): ["Charles Babbage", "Analytical Engines"]}
    assert (told["concepts"]["0"], told["concepts"]["-1"][1]) == (["Analytical Engines"], "Ada Lovelace")
    for shown in (page, terminal):
        assert "Concepts of the question: " in shown
        assert shown.count("Lovelace") == 1
        assert shown.count("Babbage") == 2, "of the question, and beside the memory that it brought"
        assert ("not cited" in shown) == (len(cited) == 1)


def test_without_concepts_nothing_is_said_of_them(
    backend: Backend, memory: MemoryClient, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    memory.restore([kept("Which machine?", {})])
    cites = [{"memory": "memory_1", "why": "It says so."}]
    said = {"cites": cites, "suffices": True, "answer": "That one.", "own_knowledge": "", "questions": []}

    with scripted(backend, monkeypatch, said) as (settings, _):
        reply = answer_from(settings, QUESTION, "plan", 4, False, "ada")
    print_answer(reply, "plan", QUESTION)

    assert (reply.concepts, reply.brought) == ({}, {})
    shown = capsys.readouterr().out
    assert ("It rests on" in shown, "oncepts" in shown, "found by" in shown) == (True, False, False)


def test_without_a_model_it_is_said_who_called_the_nearest_answer_wrong(
    backend: Backend, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    nearest = kept(QUESTION, {})
    memory.restore([nearest])
    word = WrongAnswer(
        memory=UUID(int=1), pool="plan", prompt=QUESTION, submitter="ada", curated=True, by="cora", journey="t1"
    )
    note_wrong(redis_client, nearest.answer, word)

    reply = answer_from(backend.settings.model_copy(update={"model": "offline"}), QUESTION, "plan", 4, False, "ada")

    assert [one.why for one in reply.cites] == [
        "It is the nearest. No model has read it. cora called this answer to this prompt wrong (journey t1)."
    ]


@pytest.mark.parametrize("far", ["", "Nothing near enough (nearest: 0.25; it takes 0.40)."])
def test_an_answer_from_what_is_not_near_enough_is_folded(far: str) -> None:
    cited = CitedMemory(id=UUID(int=1), why="It says so.", similarity=0.07, prompt=None, answer="A light.")
    reply = AnsweredReply(answer="That one.", cites=(cited,), own_knowledge="", questions=(), model="scripted", far=far)
    template = ENVIRONMENT.get_template("answered.html.j2")
    context = template.new_context({"reply": reply, "pool": "plan", "question": QUESTION, "only_memories": False})

    page = "".join(template.blocks["main"](context))

    assert ("<details" in page) == bool(far)
    assert page.find("<details") < page.index("That one.") < page.index("A light.")
    assert page.count("<details") == page.count("</details>")
