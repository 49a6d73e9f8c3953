"""What becomes of messages that have no right to be there, on a real Redis, and of those that only seem so."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis
from celery import Celery
from celery.exceptions import Ignore

from memshare_broker.app import lists_of, make_app
from memshare_broker.delivery.dead_letters import DeadLetters, letter_for, unreadable
from memshare_broker.delivery.hops import OFFER, Hop
from memshare_broker.delivery.incoming import is_replayed, may_come
from memshare_broker.delivery.ledger import Ledger
from memshare_broker.delivery.schema import Entry
from memshare_broker.delivery.stage import Outcome, Stage, StageServices, add_stage
from memshare_broker.delivery.sweeper import sweep
from memshare_broker.errors import BadInput, GiveUp, IdTaken
from memshare_broker.presence import Presence, announce, require_same_secret, withdraw
from memshare_broker.settings import Settings
from memshare_broker.wire import signing
from memshare_broker.wire.grades import MemoriesCredited
from memshare_broker.wire.signing import SIGNATURE, Signer

OURS, THEIRS = Signer((b"ours",)), Signer((b"theirs",))
TASK = "tests.count"
BODY = {"memories": 3}


def inner(signer: Signer) -> Entry:
    """A message between workers, signed."""
    signature = signer.sign(TASK, "t2", "t2", BODY)
    return Entry(id="t2", task=TASK, queue="memory", body=BODY, journey="t2", stage="count", signature=signature)


@pytest.fixture
def ledger(redis_client: redis.Redis) -> Ledger:
    return Ledger(redis_client, keep_days=1)


@pytest.fixture
def letters(redis_client: redis.Redis, ledger: Ledger) -> DeadLetters:
    return DeadLetters(redis_client, ledger)


@pytest.fixture
def app(settings: Settings) -> Iterator[Celery]:
    app = make_app(lambda _: ("memory",), settings)
    yield app
    app.close()


@pytest.fixture
def taken(app: Celery, ledger: Ledger, letters: DeadLetters) -> Callable[[Signer, Entry], Any]:
    """Takes a message as a worker with these keys does."""

    def take(signer: Signer, entry: Entry) -> Any:
        services = StageServices(ledger, letters, tries=3, retry_seconds=60, signer=signer)
        stage = Stage(
            Hop("count", "counted", TASK, "memory", MemoriesCredited, MemoriesCredited, ()),
            lambda _, message: Outcome(message),
        )
        app.tasks.pop(TASK, None)
        add_stage(app, stage, lambda: services)
        task = app.tasks[TASK]
        where = {"exchange": "", "routing_key": "memory", "priority": 3}
        proof = {SIGNATURE: entry.signature} if entry.signature else {}
        task.push_request(id=entry.id, args=[entry.body], kwargs={}, delivery_info=where, retries=0, **proof)
        try:
            return task.run(entry.body)
        finally:
            task.pop_request()

    return take


def test_a_message_of_ours_that_a_worker_with_another_secret_refused_is_sent_again_and_done_when_it_has_ours(
    app: Celery, redis_client: redis.Redis, ledger: Ledger, letters: DeadLetters, taken: Callable[[Signer, Entry], Any]
) -> None:
    entry = inner(OURS)
    ledger.open(entry)

    with pytest.raises(Ignore):
        taken(THEIRS, entry)
    (letter,) = letters.all()
    assert (letter.reason, letter.retriable) == ("signature", False)
    assert ledger.open_messages() == {"memory": 1}

    assert sweep(app, redis_client, lease=0) == ["t2"]
    (text,) = (text for name in lists_of("memory") for text in redis_client.lrange(name, 0, -1))
    assert str(entry.signature) in text, "it keeps its signature"

    taken(Signer((*THEIRS.keys, *OURS.keys)), entry)
    assert ledger.journey("t2")["count"] == BODY
    assert ledger.open_messages() == {"memory": 0}


def test_a_message_that_nobody_opened_and_nobody_signed_leaves_only_its_letter(
    ledger: Ledger, letters: DeadLetters, taken: Callable[[Signer, Entry], Any]
) -> None:
    forged = inner(OURS).model_copy(update={"signature": None})

    for _ in range(2):
        with pytest.raises(Ignore):
            taken(OURS, forged)

    assert [letter.reason for letter in letters.all()] == ["signature"], "one, however often it comes"
    assert sum(ledger.open_messages().values()) == 0
    assert ledger.journey("t2") == {}


@pytest.mark.parametrize("is_open", [False, True])
def test_a_message_that_was_signed_before_the_oldest_record_is_run_only_while_it_is_open(
    ledger: Ledger,
    letters: DeadLetters,
    taken: Callable[[Signer, Entry], Any],
    is_open: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as before:
        long_ago = time.time() - 1.1 * 86_400
        before.setattr(signing.time, "time", lambda: long_ago)
        entry = inner(OURS)
    if is_open:
        ledger.open(entry)
        taken(OURS, entry)
        assert ledger.journey("t2")["count"] == BODY
        return

    with pytest.raises(Ignore):
        taken(OURS, entry)
    [letter] = letters.all()
    assert "longer ago than records are kept" in letter.error
    assert ledger.journey("t2") == {}


@pytest.mark.parametrize("signature", [None, "no.signature", "x", 7])
def test_what_anybody_may_begin_may_have_any_signature(ledger: Ledger, signature: object) -> None:
    task = Entry.model_construct(
        id="t1", task=OFFER.task, queue="scorer", body={}, journey="t1", stage="score", signature=signature
    )

    assert may_come(task, OFFER, OURS)
    assert not is_replayed(task, OFFER, ledger)


def test_the_same_task_again_is_the_same_task_and_another_one_under_its_id_is_not(ledger: Ledger) -> None:
    task = Entry(
        id="t1",
        task="agents.poem",
        queue="poem",
        body={"prompt": "x", "k": 1},
        journey="t1",
        stage="answer",
        begins=True,
    )
    ledger.begin(task, "a")

    assert ledger.begin(task.model_copy(update={"body": {"k": 1, "prompt": "x"}}), "b") == (2, None)
    with pytest.raises(IdTaken, match="'t1' is that of another task"):
        ledger.begin(task.model_copy(update={"body": {"prompt": "y"}}), "b")
    ledger.commit(task, {"answer": "a"})
    assert ledger.begin(task, "b") == (0, {"answer": "a"})
    with pytest.raises(IdTaken):
        ledger.begin(task.model_copy(update={"body": {"prompt": "y"}}), "b")


def test_a_message_between_workers_is_not_ended_by_what_came_under_its_id_before(
    ledger: Ledger, letters: DeadLetters
) -> None:
    squatter = unreadable("rubbish", "poem", "t2")
    letters.add(letter_for(squatter, GiveUp("No."), tries=1, kind="malformed"))
    message = inner(OURS).model_copy(update={"journey": "t1"})
    ledger.open(message)

    assert ledger.begin(message, "a") == (1, None)


def test_rubbish_under_the_id_of_an_open_message_strikes_nothing_off(ledger: Ledger, letters: DeadLetters) -> None:
    message = inner(OURS).model_copy(update={"journey": "t1"})
    ledger.open(message)

    letters.add(letter_for(unreadable("rubbish", "memory", "t2"), GiveUp("No."), tries=1, kind="malformed"))

    (letter,) = letters.all()
    assert letter.entry.id != "t2"
    assert ledger.begin(message, "a") == (1, None)


def test_a_worker_with_another_secret_than_one_that_is_there_does_not_start(redis_client: redis.Redis) -> None:
    there = Presence(node="poem@far", pid=1, incarnation="l", queues=("poem",), secrets=THEIRS.fingerprints)
    announce(redis_client, there)

    with pytest.raises(BadInput, match=r"'poem@far'.*MEMSHARE_SECRET"):
        require_same_secret(redis_client, OURS)

    withdraw(redis_client, there)
    require_same_secret(redis_client, OURS)


@pytest.mark.parametrize(
    ("there", "starting", "fits"),
    [
        ("old", "old,new", True),
        ("old,new", "new,old", True),
        ("new,old", "old,new", True),
        ("new,old", "new", True),
        ("old", "new,old", False),  # who is there would refuse what it signs
        ("new,old", "old", False),  # it would refuse what is there
        ("old,new", "new", False),
        ("new", "old,new", False),
    ],
)
def test_a_secret_is_replaced_in_an_order_in_which_nobody_refuses_another(
    redis_client: redis.Redis, there: str, starting: str, *, fits: bool
) -> None:
    running, own = (Signer(tuple(key.encode() for key in keys.split(","))) for keys in (there, starting))
    announce(
        redis_client, Presence(node="poem@far", pid=1, incarnation="l", queues=("poem",), secrets=running.fingerprints)
    )

    if fits:
        require_same_secret(redis_client, own)
    else:
        with pytest.raises(BadInput, match=r"'poem@far'.*OLD,NEW.*NEW,OLD"):
            require_same_secret(redis_client, own)
