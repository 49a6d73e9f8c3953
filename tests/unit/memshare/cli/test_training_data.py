"""`memories export --format`: the pool as data to train a model with. The real command line, door and Redis."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import redis

from memshare.client.pools import encoder_in_use
from memshare.files.pairs import NO_EXAMPLE
from memshare_broker.delivery.hops import OFFER
from memshare_broker.delivery.ledger import Ledger
from memshare_broker.delivery.schema import Entry
from memshare_broker.settings import Settings
from memshare_broker.wire.grades import OfferedPair, Score
from memshare_broker.wire.messages import Answer, Usage
from memshare_memory.belief.trust import Standing, Standings, standings_key
from memshare_memory.curate.requests import ConflictDecision
from memshare_memory.door.client import MemoryClient
from memshare_memory.stores.store import Where
from tests.support.memories import remembered
from tests.support.terminal import Terminal

TALK = "User: A poem, please.\nAssistant: What about?\nUser: A lamp."


@pytest.fixture
def terminal(terminal: Terminal, memory: MemoryClient) -> Terminal:
    """A terminal of the machine on which the memory service runs, whose pool has four memories."""
    memory.restore(
        [
            remembered("A lamp", answer="Red.", score=90)[0],
            remembered(TALK, answer="Bright.", score=95)[0],
            remembered("A shoe", answer="Old.", status="stale")[0],
            remembered(None, answer="Lamps are red.")[0],
        ]
    )
    return terminal


def exported(terminal: Terminal, file: Path, form: str, *more: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What the command says, and the lines of its file without the ids, longest conversation last."""
    said = terminal.json("memories", "export", str(file), "--pool", "poem", "--format", form, *more)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert all(line.pop("memory_id") for line in lines)
    return said, sorted(lines, key=lambda line: len(str(line)))


def answered(
    client: redis.Redis, task_id: str, prompt: str, answer: str, total: float, began: Entry | None = None
) -> None:
    """A task that was answered, and graded with a threshold of 81."""
    ledger = Ledger(client, keep_days=1)
    body = {"prompt": prompt}
    entry = Entry(id=task_id, task="agents.poem", queue="poem", body=body, journey=task_id, stage="answer", begins=True)
    ledger.open(began or entry)
    said = Answer(
        task_id=task_id, agent="poem", kind=None, answer=answer, model="m", memories=(), retriever_version=0,
        usage=Usage(), seconds=0,
    )  # fmt: skip
    ledger.commit(entry, said.model_dump(mode="json"))
    score = Score(
        total=total, threshold=81, accepted=total >= 81, criteria={}, rubric="poem", rubric_version="1", model="m",
        usage=Usage(),
    )  # fmt: skip
    scoring = Entry(id=f"{task_id}-score", task="scorer.score", queue="scorer", body={}, journey=task_id, stage="score")
    ledger.commit(scoring, score.model_dump(mode="json"))


def test_trusted_pairs_become_conversations_that_end_with_the_answer(terminal: Terminal, tmp_path: Path) -> None:
    said, (lamp, talk) = exported(terminal, tmp_path / "train.jsonl", "messages")

    assert (said["exported"], said["left_out"]) == (2, 2)
    assert lamp == {"messages": [{"role": "user", "content": "A lamp"}, {"role": "assistant", "content": "Red."}]}
    assert [(turn["role"], turn["content"]) for turn in talk["messages"]] == [
        ("user", "A poem, please."),
        ("assistant", "What about?"),
        ("user", "A lamp."),
        ("assistant", "Bright."),
    ]


def test_the_same_pairs_come_in_the_form_of_sharegpt(terminal: Terminal, tmp_path: Path) -> None:
    _, (lamp, talk) = exported(terminal, tmp_path / "train.jsonl", "sharegpt")

    assert lamp == {"conversations": [{"from": "human", "value": "A lamp"}, {"from": "gpt", "value": "Red."}]}
    assert [turn["from"] for turn in talk["conversations"]] == ["human", "gpt", "human", "gpt"]


def test_preferences_set_a_memory_against_what_was_rejected_of_the_same_prompt(
    terminal: Terminal, tmp_path: Path, redis_client: redis.Redis
) -> None:
    answered(redis_client, "t1", "a  lamp", "Blue, I guess.", 40)
    answered(redis_client, "t2", "A lamp", "Also good.", 85)
    answered(redis_client, "t3", "A shoe", "Odd.", 10)
    tried = OfferedPair(agent="poem", pool="poem", rubric="poem", prompt="A lamp", answer="Dark.", trial="strict")
    answered(redis_client, "t4", "A lamp", "Dark.", 10, OFFER.next(tried, "t4").entry())

    said, lines = exported(terminal, tmp_path / "train.jsonl", "preference")

    assert (said["exported"], said["left_out"]) == (1, 3)
    assert lines == [
        {
            "prompt": [{"role": "user", "content": "A lamp"}],
            "chosen": [{"role": "assistant", "content": "Red."}],
            "rejected": [{"role": "assistant", "content": "Blue, I guess."}],
            "chosen_score": 90,
            "rejected_score": 40,
            "rejected_prompt": "a  lamp",
            "rejected_task_id": "t1",
        }
    ]


def test_no_answer_is_set_against_one_that_a_person_found_right_beside_it(
    terminal: Terminal, tmp_path: Path, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    red, blue = memory.restore([remembered("A lamp", answer=answer, score=90)[0] for answer in ("Red.", "Blue.")])
    answered(redis_client, "t1", "A lamp", "blue!", 40)
    answered(redis_client, "t2", "A lamp", "Green.", 40)

    def chosen() -> set[tuple[str, str]]:
        _, lines = exported(terminal, tmp_path / "train.jsonl", "preference")
        return {(one["chosen"][0]["content"], one["rejected"][0]["content"]) for one in lines}

    against_green = {("Red.", "Green."), ("Blue.", "Green.")}
    memory.decide(ConflictDecision(memories=(red, blue), contradict=False))
    assert chosen() == against_green
    memory.decide(ConflictDecision(memories=(red, blue), right=red))
    assert chosen() == {("Red.", "Green."), ("Red.", "blue!")}


def test_prompts_that_say_the_same_in_other_words_make_preferences_too(
    terminal: Terminal, tmp_path: Path, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    asked = "a poem on the red lamp that stands by the window of the old house at night"
    memory.restore([remembered(asked, answer="Glow.", score=88)[0]])
    answered(redis_client, "near", asked.replace("stands", "stood"), "Dim.", 20)
    answered(redis_client, "far", "a poem on the sea", "Wet.", 20)

    _, lines = exported(terminal, tmp_path / "train.jsonl", "preference")

    assert [(one["chosen"][0]["content"], one["rejected"][0]["content"]) for one in lines] == [("Glow.", "Dim.")]


@pytest.mark.parametrize("form", ["messages", "sharegpt", "preference"])
def test_what_was_exported_is_brought_in_again_as_the_memories_that_it_was(
    terminal: Terminal, tmp_path: Path, memory: MemoryClient, redis_client: redis.Redis, form: str
) -> None:
    file, said = tmp_path / "train.jsonl", [("A lamp", "Red."), (TALK, "Bright.")]
    for at, (prompt, _) in enumerate(said):
        answered(redis_client, f"t{at}", prompt, "Blue, I guess.", 40)
    terminal.run("memories", "export", str(file), "--format", form)

    there = terminal.json("memories", "import", str(file), "--pool", "poem")
    new = terminal.json("memories", "import", str(file), "--pool", "other", "--new-pool")

    assert there == {"imported": 2, "new": 0, "there": 2}
    assert new == {"imported": 2, "new": 2, "there": 0}
    assert memory.stats().by_pool == {"poem": 4, "other": 2}
    others = list(memory.every(Where(pool="other")))
    assert sorted((one.prompt, one.answer) for one in others) == sorted(said)
    assert {one.score for one in others} == ({90, 95} if form == "preference" else {None})


def test_an_import_says_how_many_lines_are_no_examples(
    terminal: Terminal, tmp_path: Path, memory: MemoryClient
) -> None:
    turns = [{"role": "user", "content": "A bell"}, {"role": "assistant", "content": "Loud.", "weight": 0}]
    file = tmp_path / "train.jsonl"
    file.write_text(json.dumps({"messages": turns}) + "\n")
    words = ("memories", "import", str(file), "--pool", "poem")

    places = {NO_EXAMPLE: ["line 1"]}
    assert terminal.json(*words) == {"imported": 0, "new": 0, "there": 0, "left_out": 1, "places": places}
    assert f"1 left out: {NO_EXAMPLE} (line 1)." in " ".join(terminal.run(*words).stdout.split())
    assert memory.stats().total == 4


def test_training_data_are_chosen_by_status_score_and_worth(
    terminal: Terminal, tmp_path: Path, memory: MemoryClient, settings: Settings, redis_client: redis.Redis
) -> None:
    file, more = tmp_path / "train.jsonl", [remembered("A bell", answer="Loud.", score=99, submitter="eve")[0]]
    memory.restore(more)
    standing = Standing(worth=-0.2, error=0.01, words=9, proven=False)
    key = standings_key("poem", encoder_in_use(settings, redis_client))
    redis_client.set(key, Standings(submitters={"eve": standing}).model_dump_json())

    def answers(*options: str) -> set[str]:
        return {line["messages"][-1]["content"] for line in exported(terminal, file, "messages", *options)[1]}

    assert answers() == {"Red.", "Bright.", "Loud."}
    [quiet] = memory.restore([remembered("A bell", answer="Quiet.")[0]])
    assert "Quiet." in answers()
    memory.decide(ConflictDecision(memories=(quiet, more[0].id), contradict=True, right=more[0].id))
    assert answers("--status", "any") == {"Red.", "Bright.", "Loud.", "Old."}
    assert answers("--score-from", "93") == {"Bright.", "Loud."}
    assert answers("--worth-from", "-0.1") == {"Red.", "Bright."}
    assert terminal.json("memories", "export", str(file), "--score-from", "93")["exported"] == 2
