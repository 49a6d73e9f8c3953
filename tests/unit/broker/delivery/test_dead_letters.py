"""Dead letters, on a real Redis with a real queue and no worker."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
import redis
from celery import Celery

from memshare_broker.app import lists_of, make_app
from memshare_broker.delivery.dead_letters import UNREADABLE, DeadLetter, DeadLetters, Kind, letter_for, unreadable
from memshare_broker.delivery.ledger import Ledger
from memshare_broker.delivery.schema import Entry
from memshare_broker.errors import BadInput, GiveUp, TryAgain
from memshare_broker.settings import Settings


@pytest.fixture
def app(settings: Settings) -> Iterator[Celery]:
    app = make_app(settings=settings)
    yield app
    app.close()


@pytest.fixture
def ledger(redis_client: redis.Redis) -> Ledger:
    return Ledger(redis_client, keep_days=1)


@pytest.fixture
def dead_letters(redis_client: redis.Redis, ledger: Ledger) -> DeadLetters:
    return DeadLetters(redis_client, ledger)


def entry(name: str = "t1") -> Entry:
    return Entry(
        id=name, task="agents.poem", queue="poem", body={"prompt": "x"}, journey=name, stage="answer", priority=6
    )


def letter(name: str = "t1", error: Exception | None = None, died: float | None = None) -> DeadLetter:
    made = letter_for(entry(name), error or GiveUp("It will not work."), tries=1)
    return made if died is None else made.model_copy(update={"died": died})


def waiting(client: redis.Redis) -> list[str]:
    return [json.loads(text)["headers"]["id"] for name in lists_of("poem") for text in client.lrange(name, 0, -1)]


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (GiveUp("The key is wrong."), "gave-up", "The key is wrong."),
        (TryAgain("The model is busy."), "tries", "The model is busy."),
        (ZeroDivisionError("division by zero"), "bug", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_letter_says_what_kind_of_end_it_was(error: Exception, kind: Kind, text: str) -> None:
    made = letter_for(entry(), error, tries=3)

    assert (made.kind, made.error, made.tries) == (kind, text, 3)
    assert made.entry == entry()


def test_a_kind_that_is_given_wins() -> None:
    made = letter_for(entry(), BadInput("No agent has this kind."), tries=1, kind="malformed")

    assert (made.kind, made.error) == ("malformed", "No agent has this kind.")


def test_a_letter_has_the_traceback_of_its_error_and_of_what_caused_it() -> None:
    try:
        try:
            raise KeyError("cause")
        except KeyError as cause:
            raise GiveUp("It will not work.") from cause
    except GiveUp as error:
        made = letter("t1", error)

    assert "KeyError: 'cause'" in made.traceback
    assert "test_dead_letters.py" in made.traceback


def test_letters_are_listed_oldest_first(dead_letters: DeadLetters) -> None:
    letters = {name: letter(name, died=died) for name, died in (("t2", 20.0), ("t3", 30.0), ("t1", 10.0))}
    for one in letters.values():
        dead_letters.add(one)

    assert dead_letters.all() == [letters["t1"], letters["t2"], letters["t3"]]
    assert dead_letters.get("t2") == letters["t2"]


def test_an_unknown_letter_is_refused(dead_letters: DeadLetters) -> None:
    with pytest.raises(BadInput, match=r"No dead letter has the id 't9'\. `memshare dead list` shows them"):
        dead_letters.get("t9")


def test_a_dead_message_is_no_longer_open_and_its_journey_tells_why(dead_letters: DeadLetters, ledger: Ledger) -> None:
    ledger.open(entry())

    dead_letters.add(letter())

    assert ledger.open_messages() == {"poem": 0}
    assert ledger.journey("t1")["dead"]["error"] == "It will not work."


def test_a_letter_keeps_the_vectors_of_its_message_and_its_journey_does_not(
    dead_letters: DeadLetters, ledger: Ledger
) -> None:
    body = {"prompt": "x", "embedding": {"encoder": "e", "data": "A" * 2_000}}
    died = letter().model_copy(update={"entry": entry().model_copy(update={"body": body})})

    dead_letters.add(died)

    assert dead_letters.get("t1").entry.body == body
    assert ledger.journey("t1")["dead"]["entry"]["body"] == {"prompt": "x"}


def test_a_letter_that_is_retried_goes_back_to_its_queue_once_under_its_id(
    app: Celery, dead_letters: DeadLetters, ledger: Ledger, redis_client: redis.Redis
) -> None:
    dead_letters.add(letter())

    assert dead_letters.retry(app, letter()) is True
    assert dead_letters.retry(app, letter()) is False

    assert waiting(redis_client) == ["t1"]
    assert dead_letters.all() == []
    assert ledger.open_messages() == {"poem": 1}
    assert "dead" not in ledger.journey("t1")


def test_a_letter_that_is_dropped_is_gone_and_its_journey_keeps_the_reason(
    app: Celery, dead_letters: DeadLetters, ledger: Ledger, redis_client: redis.Redis
) -> None:
    dead_letters.add(letter())

    dead_letters.drop(letter())

    assert dead_letters.all() == []
    assert ledger.journey("t1")["dead"]["error"] == "It will not work."
    assert dead_letters.retry(app, letter()) is False
    assert waiting(redis_client) == []


def test_a_message_that_is_none_of_ours_is_kept_and_cannot_be_retried(
    app: Celery, dead_letters: DeadLetters, redis_client: redis.Redis
) -> None:
    strange = letter_for(unreadable({"args": (1, object)}, "poem", "t7"), GiveUp("No task."), tries=1)
    dead_letters.add(strange)

    found = dead_letters.get("t7")

    assert (found.entry.task, found.entry.queue, found.retriable) == (UNREADABLE, "poem", False)
    with pytest.raises(BadInput, match=r"Dead letter t7 cannot be retried: No task\. Submit the task again"):
        dead_letters.retry(app, found)
    assert [one.entry.id for one in dead_letters.all()] == ["t7"]
    assert waiting(redis_client) == []


def test_a_huge_message_that_is_none_of_ours_is_kept_in_part() -> None:
    body = unreadable("x" * 1_000_000, "poem", "t7").body

    assert isinstance(body, str)
    assert len(body) == 100_000
