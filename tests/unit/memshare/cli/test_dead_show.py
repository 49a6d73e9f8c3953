"""What `memshare dead list` and `show` say to a person. The real command line and Redis."""

from __future__ import annotations

import base64
import subprocess
import sys
from contextlib import closing

import redis

from memshare.client.client import Client
from memshare_broker.app import lists_of
from memshare_broker.delivery.dead_letters import letter_for
from memshare_broker.delivery.schema import Entry
from memshare_broker.errors import GiveUp
from memshare_broker.settings import Settings
from tests.support.deployment import ROOT
from tests.support.terminal import Terminal

VECTOR = base64.b64encode(bytes(range(256)) * 6).decode()


def test_many_letters_are_told_by_reason_with_what_to_run_and_each_when_that_is_asked(
    settings: Settings, terminal: Terminal
) -> None:
    with closing(Client(settings)) as client:
        for number in range(12):
            name, reason = (f"late-{number}", "rate limit") if number < 10 else (f"bad-{number}", "signature")
            entry = Entry(id=name, task="agents.poem", queue="poem", body={}, journey=name, stage="answer", begins=True)
            client.ledger.open(entry)
            client.dead_letters.add(letter_for(entry, GiveUp("Slow down.", reason), tries=1))  # type: ignore[arg-type]

    few, each = terminal.run("dead", "list"), terminal.run("dead", "list", "--all").stdout
    of_one = terminal.run("dead", "list", "--reason", "rate limit").stdout

    limited, retry, drop, other, drop_other = few.stdout.splitlines()
    assert limited.startswith("rate limit: 10 dead letters, the newest of ")
    assert [retry, drop] == [f"  memshare dead {do} --reason 'rate limit'" for do in ("retry", "drop")]
    assert other.startswith("signature: 2 dead letters")
    assert drop_other == "  memshare dead drop --reason signature", "what proved nothing is not tried again"
    assert "`memshare dead list --all`" in few.stderr
    assert each.startswith(few.stdout)
    assert [each.count(name) for name in ("late-", "bad-")] == [10, 2]
    assert [of_one.count(name) for name in ("late-", "signature", "bad-")] == [10, 0, 0]
    assert len(terminal.json("dead", "list")) == 12


STOPPED = """
import signal
from memshare_broker.delivery import dead_letters
def stop_and_publish(app, entry, *, publish=dead_letters.publish):
    signal.raise_signal(signal.SIGINT)
    publish(app, entry)
dead_letters.publish = stop_and_publish
from memshare.cli.main import main
main()
"""
"""Ctrl-C that finds a letter between the ledger and its queue."""


def test_who_stops_what_is_done_with_many_letters_is_told_with_how_many_it_is_done_and_none_is_half_done(
    settings: Settings, terminal: Terminal, redis_client: redis.Redis
) -> None:
    with closing(Client(settings)) as client:
        for name in ("a", "b", "c"):
            entry = Entry(id=name, task="agents.poem", queue="poem", body={}, journey=name, stage="answer", begins=True)
            client.ledger.open(entry)
            client.dead_letters.add(letter_for(entry, GiveUp("Slow down.", "rate limit"), tries=1))

        ended = subprocess.run(
            [sys.executable, "-c", STOPPED, "dead", "retry", "--all"],
            cwd=ROOT, env=terminal.environment, capture_output=True, text=True, check=False,
        )  # fmt: skip

        [tried] = {"a", "b", "c"} - set(client.dead_letters.ids())
    assert (ended.returncode, ended.stdout) == (130, "")
    assert ended.stderr == "\nStopped after 1 of 3 dead letters. The others are as they were.\n"
    assert sum(redis_client.llen(place) for place in lists_of("poem")) == 1
    assert "chosen with 2 others" in terminal.run("trace", tried).stdout


def test_a_letter_says_what_to_do_and_leaves_out_vectors_and_the_traceback(
    settings: Settings, terminal: Terminal
) -> None:
    body = {"prompt": "lamp", "embedding": {"encoder": "small", "vector": VECTOR}}
    entry = Entry(id="t1", task="scorer.score", queue="scorer", body=body, journey="t1", stage="score", begins=True)
    with closing(Client(settings)) as client:
        client.ledger.open(entry)
        try:
            raise GiveUp("The reply is no JSON.", "invalid reply")
        except GiveUp as error:
            client.dead_letters.add(letter_for(entry, error, tries=1))

    said, whole = terminal.run("dead", "show", "t1").stdout, terminal.run("dead", "show", "t1", "--traceback").stdout

    assert "1 try" in said
    assert "name a larger model" in said
    assert "`memshare dead retry t1`" in said
    assert '"encoder": "small"' in said
    assert VECTOR not in said
    assert "Traceback" not in said
    assert "Traceback" in whole
    assert VECTOR in str(terminal.json("dead", "show", "t1"))


def test_a_letter_of_a_key_names_the_key(settings: Settings, terminal: Terminal) -> None:
    entry = Entry(id="t2", task="agents.poem", queue="poem", body={}, journey="t2", stage="answer", begins=True)
    with closing(Client(settings)) as client:
        client.ledger.open(entry)
        client.dead_letters.add(letter_for(entry, GiveUp("Incorrect API key.", "credentials"), tries=1))

    said = terminal.run("dead", "show", "t2").stdout

    assert "Mend the key (OPENAI_API_KEY or MISTRAL_API_KEY)" in said
    assert "replace the model" not in said
