"""Ids of tasks as people type them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from uuid import UUID

import pytest
import redis

from memshare.client.client import Client
from memshare.terminal.ids import find_letter, find_task, short_id, whose_answer
from memshare_broker.delivery.dead_letters import letter_for
from memshare_broker.delivery.schema import Entry
from memshare_broker.errors import BadInput, GiveUp
from memshare_broker.settings import Settings
from memshare_broker.wire.messages import Quoted

FIRST = "1c6fa3b2-9d10-4e57-8f6e-0d2b7a9c4e11"
SECOND = "1c6fa3b2-9d10-4e57-8f6e-0d2b7a9c4e12"
LETTER = "5e5e0000-9d10-4e57-8f6e-0d2b7a9c4e11"
OTHER = "93ab0000-9d10-4e57-8f6e-0d2b7a9c4e11"


@pytest.fixture
def client(settings: Settings, redis_client: redis.Redis) -> Iterator[Client]:
    assert redis_client.dbsize() == 0
    with closing(Client(settings)) as client:
        for task_id in (FIRST, SECOND, OTHER, "lamp-1", "deadbeef"):
            client.submit_task("poem", {"prompt": task_id}, task_id=task_id)
        yield client


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (OTHER, OTHER),
        ("93ab0000", OTHER),
        ("93AB0000", OTHER),
        ("93ab0000…", OTHER),
        ("93ab0000-9d10-4e57", OTHER),
        (FIRST, FIRST),
        ("lamp-1", "lamp-1"),
        ("deadbeef", "deadbeef"),
        ("93ab000", "93ab000"),  # too short to be a beginning
        ("lamp", "lamp"),
        ("0badcafe", "0badcafe"),
        ("*9d10-4e57*", "*9d10-4e57*"),
    ],
)
def test_a_task_is_found_by_the_beginning_of_its_id(client: Client, typed: str, meant: str) -> None:
    assert find_task(client, typed) == meant


def test_a_beginning_that_may_mean_several_is_refused_with_all_of_them(client: Client) -> None:
    with pytest.raises(BadInput, match=f"'1c6fa3b2' may mean several ids, give more of it: {FIRST}, {SECOND}"):
        find_task(client, "1c6fa3b2")


def test_a_dead_letter_is_found_among_dead_letters(client: Client) -> None:
    entry = Entry(id=LETTER, task="agents.poem", queue="poem", body={}, journey=LETTER, stage="answer", begins=True)
    client.dead_letters.add(letter_for(entry, GiveUp("It refuses."), tries=1))

    assert find_letter(client, "5e5e0000") == LETTER
    assert find_letter(client, "93ab0000") == "93ab0000"


def test_a_task_is_found_by_the_id_of_its_dead_letter(client: Client) -> None:
    entry = Entry(id=LETTER, task="scorer.score", queue="scorer", body={}, journey=OTHER, stage="score")
    client.dead_letters.add(letter_for(entry, GiveUp("It refuses."), tries=1))

    assert (find_task(client, LETTER), find_task(client, LETTER[:8])) == (OTHER, OTHER)


def test_tables_show_the_beginning_of_an_id_of_ours_and_the_whole_of_others() -> None:
    assert short_id(FIRST) == "1c6fa3b2"
    assert short_id("unreadable-12345678-1c6f") == "unreadable-12345678-1c6f"


def test_a_quoted_answer_is_told_with_who_called_it_wrong() -> None:
    told = whose_answer(Quoted(id=UUID(FIRST), submitter="eve", similarity=0.7), [f"ada called it wrong ({OTHER})."])

    assert told.endswith("word for word: 1c6fa3b2 by eve (similarity 0.70). ada called it wrong (93ab0000).")
