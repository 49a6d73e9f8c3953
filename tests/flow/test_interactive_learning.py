"""Interactive learning from the command line, on real workers and a model that follows a script."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from memshare.demo.student_server import comparisons
from memshare_broker.connection import connect
from memshare_broker.delivery.schema import journey_key
from memshare_broker.settings import Settings
from memshare_broker.wire.messages import derived_id
from memshare_memory.curate.requests import Forget, NewMemory
from memshare_scorer.rubric import BUNDLED
from tests.support import prepared_python
from tests.support.chat_script import Answer
from tests.support.chat_server import serving
from tests.support.deployment import ROOT, Deployment, deployed, empty, patient, wait_for
from tests.support.grades import AGREES

QUEUES = ("ada", "bob", "scorer", "memory")
AGENT = """
description = "{0}"
pool = "verse"
memories = 3
rubric = "verse"
instructions = "You are {0}."
[kinds.ode]
instructions = "You are {0}, and write an ode."
"""
WORTH = {"First": 95, "Second": 90, "Third": 85, "Fourth": 84, "Fifth": 70, "Sixth": 40}
ANSWERS = {name: f"{name} verse worth {worth}." for name, worth in WORTH.items()}


class Model:
    """Asks for a verse by its name, and gives a pair what its answer says that it is worth: ada's 89, bob's 88."""

    def __init__(self) -> None:
        self.refused = ""
        self.delay = 0.0

    def __call__(self, body: dict[str, Any]) -> Answer:
        system, said = body["messages"][0]["content"], body["messages"][-1]["content"]
        if self.refused and self.refused in said:
            return Answer(status=401, text="this key is revoked")
        if "response_format" not in body:
            worth = 89 if "ada" in system else 88
            return Answer(text=f"Reply of {worth} to {said}, worth {worth}.", delay=self.delay)
        asked = json.loads(said)
        if "pairs" in asked:  # which of these memories contradict each other
            return Answer(text=json.dumps(comparisons(asked, AGREES)))
        if "criteria" not in asked:
            return Answer(text=json.dumps({"question": f"Verse {asked['round']} on {asked['answer'].split()[0]}"}),
                          delay=self.delay)  # fmt: skip
        share = float(re.findall(r"worth (\d+)\.$", asked["answer"])[0]) / 100
        criteria = asked["criteria"].items()
        ranges = {name: dict.fromkeys(("low", "high"), share * points) for name, (points, _) in criteria}
        return Answer(text=json.dumps(ranges), delay=self.delay)


MODEL = Model()


@pytest.fixture(scope="module")
def deployment(redis_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    agents = tmp_path_factory.mktemp("agents")
    for name in ("ada", "bob"):
        (agents / f"{name}.toml").write_text(AGENT.format(name))
    rubric = (
        (BUNDLED / "plan.toml").read_text(encoding="utf-8").replace("threshold = 81", 'threshold = "mean-of-seeds"')
    )
    (agents / "verse.rubric.toml").write_text(rubric.replace('rubric = "plan"', 'rubric = "verse"'), encoding="utf-8")
    empty(redis_folder)
    settings = Settings(data=redis_folder, model="openai:scripted", agents_dir=agents)
    # A message that a killed worker had taken, and not yet noted, is missed after the lease alone.
    more = {"MEMSHARE_AGENTS_DIR": str(agents), "MEMSHARE_CONCURRENCY": "2", "MEMSHARE_LEASE": "20"}
    with serving(MODEL) as chat, deployed(settings, chat, agents, [QUEUES], **more) as running:
        yield running


@pytest.fixture(autouse=True)
def empty_pool(deployment: Deployment) -> Iterator[None]:
    """No memory, no journey, and no call of another test."""
    MODEL.refused, MODEL.delay = "", 0.0
    yield
    deployment.client.memories.forget(Forget(submitter="anonymous"))
    with connect(deployment.settings.redis) as client:
        client.delete("memshare:kept", *client.scan_iter("memshare:journey:*"))


def memshare(deployment: Deployment, *words: str, **more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "memshare", *words],
        cwd=ROOT, env=deployment.environment | more, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def figures(deployment: Deployment, *words: str, code: int = 0, **more: str) -> tuple[dict[str, Any], str]:
    """What a command says in JSON, and on stderr."""
    done = prepared_python.run([*words, "--json"], deployment.environment | more, patient(200))
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout), done.stderr


def answers_file(folder: Path) -> str:
    file = folder / "answers.jsonl"
    file.write_text("".join(json.dumps({"answer": answer}) + "\n" for answer in ANSWERS.values()))
    return str(file)


def question_id(answer: str, number: int = 1) -> str:
    return str(derived_id("learn", "verse", "ada", "ode", answer, str(number)))


def calls(deployment: Deployment) -> Counter[str]:
    """How often each call was made, by its whole conversation; memories that are near may be compared beside that."""
    return Counter(json.dumps(body["messages"]) for body in deployment.chat.requests if not compares(body))


def compares(body: dict[str, Any]) -> bool:
    return "response_format" in body and "pairs" in json.loads(body["messages"][-1]["content"])


LEARNT = {
    "lines": 6,
    "questions": 6,
    "accepted": {"pairs": 4, "mean_score": pytest.approx(88.5)},
    "rejected": {"pairs": 2, "mean_score": pytest.approx(55)},
    "not_graded": 0,
    "answers": {"pairs": 12, "mean_score": pytest.approx(88.5)},
    # 88.5 is the mean of the seeds: ada's 89 is enough now, and bob's 88 is not.
    "answers_accepted": 6,
    "answers_unverified": 0,
    "thresholds": [{"pool": "verse", "rubric": "verse", "threshold": pytest.approx(88.5), "mean_of_seeds": True}],
    "dead": [],
}


def test_learning_that_is_stopped_and_killed_goes_on_and_pays_for_nothing_twice(
    deployment: Deployment, tmp_path: Path
) -> None:
    MODEL.delay = 0.4
    words = ("learn", answers_file(tmp_path), "--agent", "ada", "--kind", "ode", "--rounds", "1")
    ids = {question_id(answer): answer for answer in ANSWERS.values()}

    # 1. Stopped and killed when some standard answers are settled and others are not.
    process = memshare(deployment, *words)
    wait_for(lambda: len(ended(deployment, ids)) >= 2, 60, "two standard answers to end")
    process.send_signal(signal.SIGINT)
    deployment.processes[QUEUES].kill()
    _, err = process.communicate(timeout=patient(30))
    deployment.processes[QUEUES].wait()
    done = ended(deployment, ids)
    assert process.returncode == 130
    assert "What is queued goes on by itself" in err
    assert 2 <= len(done) < 6, "it was not stopped in the middle"

    # 2. The same command goes on.
    deployment.start(QUEUES)
    found, _ = figures(deployment, *words)

    assert found.pop("before") == len(done)
    assert found == LEARNT
    assert deployment.client.memories.stats().by_pool["verse"] == 4 + 6, "the seeds, and ada's answers"
    made = calls(deployment)
    # Without the memories that were shown, and what an answer was graded beside.
    asked = {call: json.loads(call)[-1]["content"].partition('"known": [')[0] for call in made}
    of_what_had_ended = [call for call in made if any(ids[one] in asked[call] for one in done)]
    assert len(of_what_had_ended) == 2 * len(done), "one question and one grading for each"
    assert {made[call] for call in of_what_had_ended} == {1}
    assert len(made) == 6 * 2 + 12 * 2
    assert made.total() <= len(made) + 2, "only what the killed worker was doing may have been asked again"

    # 3. Once more, and nobody is asked anything.
    found, _ = figures(deployment, *words)
    assert found.pop("before") == 18
    assert found == LEARNT
    assert calls(deployment) == made


def ended(deployment: Deployment, ids: dict[str, str]) -> list[str]:
    return [name for name, one in deployment.client.outcomes(list(ids)).items() if one.ended]


def test_a_standard_answer_becomes_a_trusted_seed_of_no_task_and_its_journey_says_how(
    deployment: Deployment, tmp_path: Path
) -> None:
    figures(deployment, "learn", answers_file(tmp_path), "--agent", "ada", "--kind", "ode")

    journey = deployment.client.journey(question_id(ANSWERS["First"]))
    assert (journey.what, journey.state, journey.agent, journey.kind) == ("standard answer", "settled", "ada", "ode")
    assert (journey.prompt, journey.answer, journey.outcome) == ("Verse 1 on First", ANSWERS["First"], "stored")
    memory = deployment.client.memories.get(journey.memory_id).model_dump(mode="json")
    assert (memory["task_id"], memory["status"], memory["model"]) == (None, "active", None)
    assert memory["score"] == pytest.approx(95)
    queued = deployment.client.ledger.journey(journey.task_id)["task"]
    assert (queued["task"], queued["queue"], queued["priority"]) == ("agents.ada.question", "ada", 9)
    shown = memshare(deployment, "trace", journey.task_id).communicate(timeout=60)[0]
    assert "question · model: openai:scripted" in shown
    assert ANSWERS["First"] in shown


def test_agents_answer_with_the_memories_there_are_but_those_that_give_it_away_in_two_rounds(
    deployment: Deployment, tmp_path: Path
) -> None:
    before = len(deployment.chat.requests)

    figures(deployment, "learn", answers_file(tmp_path), "--agent", "ada", "--kind", "ode")

    def turns(prompt: str) -> list[list[str]]:
        bodies = [one for one in deployment.chat.requests[before:] if one["messages"][-1]["content"] == prompt]
        return [[turn["content"] for turn in body["messages"][1:-1]] for body in bodies]

    for number in (1, 2):
        asked = f"Verse {number} on First"
        shown = turns(asked)
        assert len(shown) == 2, "one of each agent"
        assert all(len(one) == 6 for one in shown), "three memories each"
        assert not any(text in one for one in shown for text in (asked, ANSWERS["First"]))
    assert not turns("Verse 3 on First")


def test_a_memory_that_has_the_standard_answer_to_another_question_is_not_shown(
    deployment: Deployment, tmp_path: Path
) -> None:
    given = {
        "Verse number 1 on First": ANSWERS["First"].upper(),
        "Verse 1 about First": "Snow, worth 80.",
    }
    ids = deployment.client.memories.add(
        [NewMemory(pool="verse", kind="ode", prompt=one, answer=given[one], new_pool=True) for one in given]
    )
    before = len(deployment.chat.requests)

    figures(deployment, "learn", answers_file(tmp_path), "--agent", "ada", "--kind", "ode", "--rounds", "1")

    bodies = [one for one in deployment.chat.requests[before:] if "response_format" not in one]
    shown = {turn["content"] for body in bodies for turn in body["messages"][1:-1]
             if body["messages"][-1]["content"] == "Verse 1 on First"}  # fmt: skip
    assert "Snow, worth 80." in shown
    assert ANSWERS["First"].upper() not in shown
    deployment.client.memories.forget(Forget(ids=tuple(ids)))


def test_the_second_round_is_told_the_question_of_the_first(deployment: Deployment, tmp_path: Path) -> None:
    before = len(deployment.chat.requests)

    figures(deployment, "learn", answers_file(tmp_path), "--agent", "ada", "--kind", "ode")

    asked = [json.loads(body["messages"][-1]["content"]) for body in deployment.chat.requests[before:]
             if "response_format" in body]  # fmt: skip
    told = {(one["round"], one["answer"]): one["earlier"] for one in asked if "round" in one}
    assert told[1, ANSWERS["First"]] == []
    assert told[2, ANSWERS["First"]] == ["Verse 1 on First"]


def test_what_was_given_up_is_named_and_goes_on_after_a_retry(deployment: Deployment, tmp_path: Path) -> None:
    words = ("learn", answers_file(tmp_path), "--agent", "ada", "--kind", "ode", "--rounds", "1")
    MODEL.refused = "Sixth"

    found, err = figures(deployment, *words, code=1)
    assert (found["questions"], len(found["dead"])) == (5, 1)
    assert "revoked" in err
    assert "`memshare dead list`" in err
    MODEL.refused = ""
    letters = deployment.client.dead_letters
    for letter in letters.all():
        letters.retry(deployment.client.app, letter)
    found, _ = figures(deployment, *words)

    assert found | {"before": 0} == LEARNT | {"before": 0}


def test_pairs_are_graded_by_a_fixed_threshold_once_however_full_the_queue(
    deployment: Deployment, tmp_path: Path
) -> None:
    file = tmp_path / "pairs.jsonl"
    pairs = [{"agent": "ada", "prompt": f"A verse, {name}", "answer": answer} for name, answer in ANSWERS.items()]
    file.write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    before = len(deployment.chat.requests)

    first, err = figures(deployment, "seed", str(file), MEMSHARE_QUEUE_LIMIT="1")
    again, _ = figures(deployment, "seed", str(file))

    assert "The queue 'scorer' is full" in err
    assert (first["before"], again["before"]) == (0, 6)
    # 84 is below the mean of those before it, and over the 81 by which all of them are judged.
    assert first | {"before": 6} == again
    assert first["accepted"] == {"pairs": 4, "mean_score": pytest.approx(88.5)}
    assert first["thresholds"][0]["threshold"] == pytest.approx(88.5)
    assert sum(not compares(body) for body in deployment.chat.requests[before:]) == 6


def test_what_became_of_a_pair_is_known_after_its_journey_is_forgotten(deployment: Deployment, tmp_path: Path) -> None:
    file = tmp_path / "pairs.jsonl"
    file.write_text(json.dumps({"agent": "ada", "prompt": "A verse", "answer": ANSWERS["First"]}))
    first, _ = figures(deployment, "seed", str(file))
    asked = calls(deployment)
    forget_journeys(deployment)

    again, _ = figures(deployment, "seed", str(file))

    assert again == first | {"before": 1}
    assert calls(deployment) == asked


def forget_journeys(deployment: Deployment) -> None:
    """As after MEMSHARE_KEEP_DAYS."""
    client: redis.Redis
    with connect(deployment.settings.redis) as client:
        keys = list(client.scan_iter(journey_key("*")))
        assert keys
        client.delete(*keys)
