"""The whole journey, on real workers: all in one process on the embedded engine, and one process a queue."""

import gc
import json
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from uuid import uuid4

import pytest
from celery import Celery
from celery.result import AsyncResult

from memshare_broker.app import kombu_url
from memshare_broker.errors import BadInput, GiveUp
from memshare_broker.settings import Settings
from memshare_memory.curate.requests import Forget
from tests.support.chat_script import Answer
from tests.support.chat_server import serving
from tests.support.deployment import Deployment, deployed, empty, wait_for
from tests.support.grades import ranges
from tests.support.qdrant_server import emptied

QUEUES = ("poem", "logic", "plan", "scorer", "memory", "trainer")


class Chat:
    """What the model says: a test puts its own script in place."""

    def __init__(self) -> None:
        self.script: Callable[[dict], Answer] = lambda _: Answer()

    def __call__(self, body: dict) -> Answer:
        return self.script(body)


CHAT = Chat()


@pytest.fixture(scope="module", params=["one process, embedded engine", "a process a queue, Qdrant server"])
def deployment(
    request: pytest.FixtureRequest, redis_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Deployment]:
    one = request.param.startswith("one")
    empty(redis_folder)
    with serving(CHAT) as chat, nullcontext() if one else emptied() as qdrant_url:
        settings = Settings(data=redis_folder, model="openai:scripted", qdrant_url=qdrant_url)
        workers = [QUEUES] if one else [(queue,) for queue in QUEUES]
        with deployed(settings, chat, tmp_path_factory.mktemp("logs"), workers) as running:
            yield running


@pytest.fixture(autouse=True)
def good_model() -> None:
    CHAT.script = lambda _: Answer()


@pytest.fixture
def app(deployment: Deployment) -> Iterator[Celery]:
    """Another Celery client, whose results are gone before their Redis is: one that comes after it fails."""
    url = kombu_url(deployment.settings.redis)
    yield Celery("somebody-else", broker=url, backend=url, set_as_current=False)
    gc.collect()


def graded(share: float) -> Callable[[dict], Answer]:
    """A script whose grades are a share of the points."""

    def script(body: dict) -> Answer:
        if "response_format" not in body:
            return Answer()
        grades = ranges(body, share)
        return Answer(text=json.dumps(grades)) if grades else Answer()

    return script


def asked(deployment: Deployment, prompt: str) -> dict:
    """The request in which the model was given this task."""
    return next(
        body
        for body in deployment.chat.requests
        if "response_format" not in body and body["messages"][-1]["content"] == prompt
    )


def test_a_good_answer_becomes_a_memory_that_the_next_task_is_shown(deployment: Deployment) -> None:
    first = deployment.client.submit("poem", "A limerick about an astrolabe in the fog", kind="limerick")
    answer = first.get(timeout=30)
    journey = deployment.settled(first.id)
    assert journey.outcome == "stored"
    assert journey.answer == answer["answer"]
    assert journey.score.total == pytest.approx(90)

    prompt = "A limerick about an astrolabe in the snow"
    second = deployment.client.submit("poem", prompt, kind="limerick").get(timeout=30)

    assert str(journey.memory_id) in [one["id"] for one in second["memories"]]
    messages = asked(deployment, prompt)["messages"]
    assert messages[0]["role"] == "system"
    pairs = [(turn["role"], turn["content"]) for turn in messages]
    assert ("user", "A limerick about an astrolabe in the fog") in pairs
    assert ("assistant", answer["answer"]) in pairs
    assert pairs[-1] == ("user", prompt)


def test_what_is_stored_becomes_a_lesson_and_the_journey_says_what_of(deployment: Deployment) -> None:
    CHAT.script = lambda body: Answer(status=400, text="no log-probabilities") if "logprobs" in body else Answer()
    for number in range(3):
        last = deployment.client.submit("plan", f"A plan for harbour {number}", kind="travel").id
        assert deployment.settled(last).outcome == "stored"

    lesson = wait_for(lambda: deployment.client.journey(last).lesson, 30, "the lesson")

    assert (lesson.outcome, lesson.labelled_by) == ("no update", "json")  # this model finds no fault with any candidate
    assert lesson.reason == "2 of 2 candidates help and 0 mislead: none is better than another"


def test_what_is_stored_is_the_users_own_prompt_and_nothing_of_the_augmented_one(deployment: Deployment) -> None:
    prompt = "A riddle about an echo in a quarry"
    deployment.settled(deployment.client.submit("logic", "A riddle about an echo", kind="riddle").id)

    journey = deployment.settled(deployment.client.submit("logic", prompt, kind="riddle", submitter="ada").id)

    memory = deployment.client.memories.get(journey.memory_id).model_dump(mode="json")
    assert memory["prompt"] == prompt
    assert memory["submitter"] == "ada"
    assert memory["task_id"] == journey.task_id
    assert memory["parents"] == [str(one.id) for one in journey.memories] != []
    assert memory["rubric_version"] == journey.score.rubric_version


def test_a_poor_answer_is_not_remembered(deployment: Deployment) -> None:
    CHAT.script = graded(0.8)
    before = deployment.client.memories.stats().total

    journey = deployment.settled(deployment.client.submit("plan", "A plan to learn Latin", kind="study").id)

    assert journey.outcome == "rejected"
    assert journey.score.total == pytest.approx(80)
    assert journey.memory_id is None
    assert deployment.client.memories.stats().total == before


def test_the_same_pair_is_stored_once_with_its_better_score(deployment: Deployment) -> None:
    prompt = f"A pun about the number {uuid4()}"
    CHAT.script = graded(0.85)
    first = deployment.settled(deployment.client.submit("logic", prompt, kind="pun", memories=0).id)
    same = deployment.settled(deployment.client.submit("logic", prompt, kind="pun", memories=0).id)
    CHAT.script = graded(0.95)
    better = deployment.settled(deployment.client.submit("logic", prompt, kind="pun", memories=0).id)

    assert [first.outcome, same.outcome, better.outcome] == ["stored", "duplicate", "replaced"]
    assert first.memory_id == same.memory_id == better.memory_id
    assert deployment.client.memories.get(first.memory_id).score == pytest.approx(95)


def test_any_celery_client_can_submit(deployment: Deployment, app: Celery) -> None:
    body = {"prompt": "A sonnet about a canal", "kind": "sonnet"}

    answer = app.send_task("agents.poem", [body], queue="poem").get(timeout=30)

    assert {"task_id", "agent", "kind", "answer", "model", "memories", "retriever_version", "usage", "seconds"} <= set(
        answer
    )
    usage = {"prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens"}
    assert set(answer["usage"]) == usage
    assert deployment.settled(answer["task_id"]).outcome in ("stored", "duplicate")


def test_a_conversation_is_one_task_and_one_memory(deployment: Deployment) -> None:
    turns = [
        {"role": "user", "content": "Plan a day in Bergen."},
        {"role": "assistant", "content": "Morning: the fish market."},
        {"role": "user", "content": "Now for a rainy day."},
    ]

    journey = deployment.settled(deployment.client.submit("plan", messages=turns, kind="travel", memories=0).id)

    sent = asked(deployment, "Now for a rainy day.")["messages"]
    assert [turn["content"] for turn in sent[1:]] == [turn["content"] for turn in turns]
    memory = deployment.client.memories.get(journey.memory_id).model_dump(mode="json")
    assert memory["prompt"].endswith("User: Now for a rainy day.")
    assert "fish market" in memory["prompt"]


def test_a_forgotten_memory_is_shown_to_no_task(deployment: Deployment) -> None:
    prompt = "A limerick about a heron on the pier"
    journey = deployment.settled(deployment.client.submit("poem", prompt, kind="limerick").id)

    forgotten = deployment.client.memories.forget(Forget(ids=(journey.memory_id,)))

    assert forgotten == [journey.memory_id]
    after = deployment.client.submit("poem", prompt + "!", kind="limerick").get(timeout=30)
    assert str(journey.memory_id) not in [one["id"] for one in after["memories"]]


def test_a_rate_limited_task_is_tried_again(deployment: Deployment) -> None:
    refusals = iter([Answer(status=429, headers={"Retry-After": "1"}, text="slow down")])
    CHAT.script = lambda body: next(refusals, Answer()) if "response_format" not in body else Answer()

    answer = deployment.client.submit("poem", "A limerick about patience", kind="limerick").get(timeout=60)

    assert answer["answer"]
    assert next(refusals, None) is None


def test_what_the_provider_refuses_is_a_dead_letter_that_can_be_retried(deployment: Deployment) -> None:
    CHAT.script = lambda _: Answer(status=401, text="this key is revoked")
    submitted = deployment.client.submit("poem", "A limerick about a locksmith", kind="limerick")
    with pytest.raises(GiveUp, match="revoked"):
        submitted.get(timeout=30)
    letter = deployment.client.dead_letters.get(submitted.id)
    assert letter.kind == "gave-up"
    assert "Traceback" in letter.traceback

    CHAT.script = lambda _: Answer()
    assert deployment.client.dead_letters.retry(deployment.client.app, letter) is True
    assert deployment.client.dead_letters.retry(deployment.client.app, letter) is False

    assert deployment.settled(submitted.id).state == "settled"
    with pytest.raises(BadInput):
        deployment.client.dead_letters.get(submitted.id)


@pytest.mark.parametrize(
    ("task", "args", "serializer", "reason"),
    [
        ("agents.poem", [], "json", "one JSON object"),
        ("agents.poem", ["a text"], "json", "one JSON object"),
        ("agents.poem", [{"prompt": " "}], "json", "prompt is empty"),
        ("agents.poem", [{"prompt": "x", "colour": "red"}], "json", "colour"),
        ("agents.poem", [{"prompt": "x", "kind": "haiku"}], "json", "limerick"),
        ("agents.poem", [{"prompt": "x", "memories": 21}], "json", "memories"),
        ("agents.poem", [{"prompt": "x" * 20_001}], "json", "20,001"),
        ("agents.haiku", [{"prompt": "x"}], "json", "agents.poem"),
        ("agents.poem", [{"prompt": "x"}], "pickle", "pickle"),
    ],
)
def test_a_malformed_message_becomes_a_dead_letter(
    deployment: Deployment, app: Celery, task: str, args: list, serializer: str, reason: str
) -> None:
    submitted = app.send_task(task, args, queue="poem", serializer=serializer)

    letters = deployment.client.dead_letters
    letter = wait_for(
        lambda: next((one for one in letters.all() if one.entry.id == submitted.id), None), 20, "a dead letter"
    )
    assert letter.kind == "malformed"
    assert reason in letter.error
    still = deployment.client.submit("poem", "Still there?").get(timeout=30)
    assert still["answer"]


def test_a_redelivered_message_hands_on_the_answer_and_asks_nobody(deployment: Deployment, app: Celery) -> None:
    task_id = str(uuid4())
    prompt = f"A riddle about {task_id}"

    answers = []
    for _ in range(2):
        app.send_task("agents.logic", [{"prompt": prompt}], queue="logic", task_id=task_id)
        answers.append(AsyncResult(task_id, app=app).get(timeout=30))
        deployment.settled(task_id)
        app.backend.forget(task_id)

    assert answers[0] == answers[1]
    times = [body for body in deployment.chat.requests if body["messages"][-1]["content"] == prompt]
    assert len(times) == 1
