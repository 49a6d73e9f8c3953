"""What `memshare status` and `up` say of a deployment. The real command line and Redis."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, suppress
from pathlib import Path

import httpx
import pytest
import redis

import memshare_scorer
from memshare.cli.begin.up import SILENT, _Troubles
from memshare.client.client import Client
from memshare.client.pools import failing_models, model_doubts
from memshare.client.replies import StatusReply
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller
from memshare.operations.listings import status
from memshare_broker.app import MOST_LESSONS, lists_of
from memshare_broker.delivery.dead_letters import letter_for
from memshare_broker.delivery.schema import Entry, open_key
from memshare_broker.errors import GiveUp, NotYet, TryAgain, Unreachable
from memshare_broker.observe.metrics import DEAD_REASONS
from memshare_broker.presence import Presence, announce
from memshare_broker.settings import Settings
from memshare_broker.wire.messages import Turn, Usage
from memshare_llm.build import open_limited
from memshare_llm.doubts import Doubts
from memshare_llm.limits.concurrency import Outcome, Permit, ServerLimit, last_calls
from memshare_llm.limits.usage import UsageLog
from tests.support.chat_script import Answer, in_turn
from tests.support.chat_server import serving
from tests.support.deployment import ROOT, wait_for
from tests.support.full_redis import full_disk, full_memory
from tests.support.terminal import Terminal


def entry(name: str) -> Entry:
    return Entry(id=name, task="agents.poem", queue="poem", body={}, journey=name, stage="answer", begins=True)


def end_calls(client: redis.Redis, outcome: Outcome, number: int) -> None:
    """Let so many calls of a model end like this."""
    limit = ServerLimit(client, "http://127.0.0.1:8099/v1", "openai:small", "answers", timeout=10)
    for _ in range(number):
        limit.leave(Permit("call", "openai:small\x1fanswers\x1ftext", 1, overdue=False, joined=0), outcome, 0)


def test_a_task_that_is_nowhere_is_told_until_it_is_sent_again(terminal: Terminal, redis_client: redis.Redis) -> None:
    task = terminal.run("submit", "poem", "red lamp").stdout.split()[-1]
    assert "It waits in a queue" in terminal.run("trace", task).stdout

    redis_client.delete(*lists_of("poem"))
    redis_client.zadd(open_key("poem"), {task: time.time() - 30})

    assert "sent again at" in terminal.run("trace", task).stdout
    assert "sent again at" in terminal.run("status").stdout


def test_a_file_of_an_agent_that_cannot_be_used_is_told_and_stops_no_other_command(
    terminal: Terminal, redis_client: redis.Redis, tmp_path: Path
) -> None:
    announce(redis_client, Presence(node="one", pid=7, incarnation="x", queues=("poem",)))
    (tmp_path / "orders.toml").write_text("x = = 1")
    terminal.environment["MEMSHARE_AGENTS_DIR"] = str(tmp_path)

    task = terminal.run("submit", "poem", "red lamp").stdout.split()[-1]
    terminal.run("cancel", task)
    terminal.run("budget", "show")
    assert "this is not valid TOML" in terminal.run("status").stdout.replace("\n", " ")


def test_who_waits_is_told_that_calls_of_the_model_time_out(terminal: Terminal, redis_client: redis.Redis) -> None:
    terminal.environment["MEMSHARE_MODEL"] = "openai:small"
    end_calls(redis_client, "slow", 3)

    said = terminal.run("submit", "poem", "red lamp", "--wait", "--timeout", "4", code=None).stderr

    assert "3 of the last 3 calls of openai:small timed out" in said


@pytest.mark.parametrize(("full_of", "why"), [(full_memory, "used memory > 'maxmemory'"), (full_disk, "MISCONF")])
def test_a_redis_without_room_is_said_and_what_is_there_is_read(
    full_of: Callable[[redis.Redis], AbstractContextManager[None]],
    why: str,
    terminal: Terminal,
    redis_client: redis.Redis,
) -> None:
    task = terminal.run("submit", "poem", "red lamp").stdout.split()[-1]
    with full_of(redis_client):
        said = terminal.run("status").stdout
        trace = terminal.run("trace", task).stdout
        terminal.run("dead", "list")

    assert "Redis takes no writes" in said
    assert why in said
    assert "red lamp" in trace


@pytest.mark.parametrize("outcome", ["slow", "refused", "misfit", "away", "other"])
def test_a_model_whose_calls_fail_is_said_at_once_and_no_more_soon_after_they_go_well(
    terminal: Terminal, redis_client: redis.Redis, outcome: Outcome
) -> None:
    def told() -> list[str]:
        return [*failing_models(last_calls(redis_client)).values()]

    end_calls(redis_client, "fit", 200)
    end_calls(redis_client, outcome, 2)
    assert told() == []

    end_calls(redis_client, outcome, 1)
    assert told()[0].startswith("3 of the last 6 calls of openai:small ")
    end_calls(redis_client, outcome, 5)
    if outcome == "other":
        assert "6 of the last 6 calls of openai:small failed." in terminal.run("status").stdout

    end_calls(redis_client, "fit", 4)
    assert told() == []


def test_calls_that_reached_no_server_count_until_one_does(redis_client: redis.Redis) -> None:
    end_calls(redis_client, "away", 6)
    assert [*failing_models(last_calls(redis_client)).values()] == [
        "6 of the last 6 calls of openai:small found no server."
    ]

    end_calls(redis_client, "slow", 1)

    assert failing_models(last_calls(redis_client)) == {}


def test_a_model_that_no_worker_asks_any_more_is_not_said_to_fail(
    terminal: Terminal, redis_client: redis.Redis
) -> None:
    said = "6 of the last 6 calls of openai:small timed out."
    worker = Presence(node="one", pid=7, incarnation="x", queues=("scorer",), scorer_model="openai:small")
    end_calls(redis_client, "slow", 6)
    announce(redis_client, worker)
    assert said in terminal.run("status").stdout

    announce(redis_client, worker.model_copy(update={"scorer_model": "openai:small2"}))

    assert said not in terminal.run("status").stdout


@pytest.mark.parametrize(
    ("refusal", "how"),
    [
        (Answer(status=400, code="content_filter"), "were refused: content filter"),
        (Answer(finish_reason="content_filter"), "were refused: content filter"),
        (Answer(status=422), "were refused by its server"),
        (Answer(status=401), "were refused: the key, or its account (credentials or quota)"),
        (Answer(status=500), "met an error of its server"),
    ],
)
def test_a_model_that_refuses_all_prompts_is_said_with_the_reason_and_one_refusal_is_not(
    settings: Settings, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch, refusal: Answer, how: str
) -> None:
    with serving(in_turn(refusal, *[Answer()] * 5, refusal)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        chat = open_limited(settings, "openai:scripted", "answers", connections=1)
        for _ in range(6):
            with suppress(GiveUp, TryAgain):
                chat.reply([Turn(role="user", content="A riddle about rain")])
        assert failing_models(last_calls(redis_client)) == {}

        for _ in range(6):
            with pytest.raises((GiveUp, TryAgain)):
                chat.reply([Turn(role="user", content="A riddle about rain")])

    assert [*failing_models(last_calls(redis_client)).values()] == [f"6 of the last 6 calls of openai:scripted {how}."]


def test_of_calls_that_fail_in_several_ways_the_latest_is_told(redis_client: redis.Redis) -> None:
    end_calls(redis_client, "slow", 5)
    end_calls(redis_client, "refused", 1)

    said = "6 of the last 6 calls of openai:small failed; the latest was over its rate limit."
    assert [*failing_models(last_calls(redis_client)).values()] == [said]


def test_a_doubt_of_a_model_ends_when_no_worker_asks_it(redis_client: redis.Redis) -> None:
    Doubts(redis_client, "grades").note("openai:small", "logic", doubtful=50, times=50)
    worker = Presence(node="scorer-7@here", pid=7, incarnation="x", queues=("scorer",), scorer_model="openai:small")
    other = worker.model_copy(update={"scorer_model": "openai:large"})

    assert ["openai:small" in one for one in model_doubts(redis_client, [worker, other])] == [True]
    assert model_doubts(redis_client, [other]) == ()


def test_lessons_that_a_model_does_not_label_are_said_once_so_many_wait_that_no_more_are_made(
    redis_client: redis.Redis,
) -> None:
    redis_client.zadd(open_key("trainer"), {str(number): 1.0 for number in range(MOST_LESSONS - 1)})
    assert model_doubts(redis_client, []) == ()

    redis_client.zadd(open_key("trainer"), {"one more": 1.0})

    [said] = model_doubts(redis_client, [])
    assert said.startswith("1,000 lessons or more wait for the trainer")


def test_an_up_whose_port_is_taken_does_not_speak_of_tasks_that_may_finish(terminal: Terminal) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        said = terminal.run("up", "--port", str(taken.getsockname()[1]), "--flower-port", "0", code=2).stderr

    assert "cannot listen on" in said
    assert "Ending" not in said


def test_up_says_a_trouble_once_and_that_it_is_over(
    settings: Settings, redis_client: redis.Redis, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]

    def told(after: float) -> str:
        now[0] += after
        troubles.tell()
        return capsys.readouterr().out

    away = "openai:small could not be reached at http://127.0.0.1:1."
    with closing(Client(settings)) as client:
        troubles = _Troubles(client, clock=lambda: now[0])
        assert told(0) == ""
        client.ledger.open(entry("t1"))
        client.ledger.park(entry("t1"), NotYet(away, 60, hold="model away"))
        end_calls(redis_client, "away", 4)
        assert told(1) == f"1 wait: {away}\n"
        assert told(1) == ""

        client.ledger.parked.wake(["t1"])
        assert len(client.ledger.parked.release(1)) == 1
        assert told(60) == "", "it is tried again, and nothing is known yet"
        end_calls(redis_client, "fit", 1)
        assert told(1) == f"No longer so: {away}\n"
        assert told(60) == ""


def test_what_waits_in_a_queue_that_is_switched_off_is_not_said_to_be_tried_again(
    terminal: Terminal, settings: Settings, redis_client: redis.Redis, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, wait in (("t1", 60.0), ("t2", -60.0)):
        waiting = entry(name).model_copy(update={"queue": "concepts"})
        with closing(Client(settings)) as client:
            client.ledger.open(waiting)
            client.ledger.park(waiting, NotYet("One call tries again.", wait, hold="misfits openai:small"))

    with closing(Client(settings.model_copy(update={"concepts": False}))) as client:
        _Troubles(client).tell()
        assert capsys.readouterr().out == (
            "2 wait: No worker serves the queue 'concepts': MEMSHARE_CONCEPTS is false.\n"
        )
        assert "concepts waits 2: no worker serves this queue." in terminal.run("status").stdout

        announce(redis_client, Presence(node="one", pid=7, incarnation="x", queues=("concepts",)))
        _Troubles(client).tell()
    assert capsys.readouterr().out == "2 wait: One call tries again.\n"
    assert "no worker serves" not in terminal.run("status").stdout


def test_up_says_that_calls_of_a_model_fail_and_that_redis_has_no_room(
    settings: Settings, redis_client: redis.Redis, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]
    end_calls(redis_client, "other", 3)
    with closing(Client(settings)) as client:
        troubles = _Troubles(client, as_json=True, clock=lambda: now[0])
        redis_client.config_set("maxmemory", 1)
        try:
            troubles.tell()
        finally:
            redis_client.config_set("maxmemory", 0)
        end_calls(redis_client, "other", 1)
        end_calls(redis_client, "fit", 5)
        now[0] = 60
        troubles.tell()

    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    full, failed = said[0]["why"], "3 of the last 3 calls of openai:small failed."
    assert "maxmemory" in full
    assert said == [{"waiting": 0, "why": full}, {"waiting": 0, "why": failed}, {"over": full}, {"over": failed}]


def test_a_model_that_fails_for_another_reason_is_not_over_until_its_calls_go_well(
    settings: Settings, redis_client: redis.Redis, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]
    misfit = "3 of the last 3 calls of openai:small were of no use."
    slow = "6 of the last 6 calls of openai:small timed out."

    def told(after: float) -> list[str]:
        now[0] += after
        troubles.tell()
        return capsys.readouterr().out.splitlines()

    with closing(Client(settings)) as client:
        troubles = _Troubles(client, clock=lambda: now[0])
        end_calls(redis_client, "misfit", 3)
        assert told(0) == [misfit]
        end_calls(redis_client, "slow", 6)
        assert told(1) == [slow]
        assert told(60) == [], "it fails in another way by now"
        assert told(60) == []
        end_calls(redis_client, "fit", 6)
        assert told(60) == [f"No longer so: {slow}"]
        assert told(60) == []


@pytest.mark.usefixtures("redis_client")
@pytest.mark.parametrize("later", [Answer(status=404), Answer("")])
def test_a_model_that_fails_in_another_way_is_not_over(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, later: Answer, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]
    with (
        serving(in_turn(*[Answer(finish_reason="content_filter")] * 6, later)) as server,
        closing(Client(settings)) as client,
    ):
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        chat = open_limited(settings, "openai:scripted", "answers", connections=1)
        troubles = _Troubles(client, clock=lambda: now[0])
        for _ in range(4):
            for _ in range(6):
                with suppress(GiveUp, TryAgain, NotYet):
                    chat.reply([Turn(role="user", content="A riddle about rain")])
            troubles.tell()
            now[0] += 15
        said = capsys.readouterr().out.splitlines()

    assert said[0] == "6 of the last 6 calls of openai:scripted were refused: content filter."
    assert len(said) == 2
    assert "No longer so" not in said[1]


def test_up_says_a_trouble_again_when_it_is_ten_times_as_large(
    settings: Settings, redis_client: redis.Redis, capsys: pytest.CaptureFixture[str]
) -> None:
    now, away = [0.0], "openai:small could not be reached at http://127.0.0.1:1."
    end_calls(redis_client, "slow", 3)
    with closing(Client(settings)) as client:
        troubles = _Troubles(client, as_json=True, clock=lambda: now[0])
        said: list[tuple[float, int, str]] = []
        for number in range(60):
            now[0] = float(number)
            if number == 30:
                end_calls(redis_client, "slow", 3)
            one = entry(f"t{number}").model_copy(update={"queue": "scorer"})
            client.ledger.open(one)
            client.ledger.park(one, NotYet(away.replace("small", "large"), 60, hold="model away"))
            troubles.tell()
            lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
            said += [(now[0], one["waiting"], one["why"].split()[0]) for one in lines]
            assert all(one.get("instead_of") is not None for one in lines) or number == 0

    waits = [(at, waiting) for at, waiting, _ in said if waiting]
    assert waits == [(0, 1), (9, 10)]
    assert [(at, word) for at, waiting, word in said if not waiting] == [(0, "3")]


def test_up_says_once_that_calls_fail_in_turns_for_several_reasons(
    settings: Settings, redis_client: redis.Redis, capsys: pytest.CaptureFixture[str]
) -> None:
    said = []
    with closing(Client(settings)) as client:
        troubles = _Troubles(client)
        end_calls(redis_client, "slow", 4)
        for outcome in ("refused", "slow", "refused"):
            end_calls(redis_client, outcome, 1)
            troubles.tell()
            said += capsys.readouterr().out.splitlines()

    assert said == ["5 of the last 5 calls of openai:small failed; the latest was over its rate limit."]


@pytest.mark.usefixtures("redis_client")
def test_up_says_that_tasks_were_given_up_and_why_until_somebody_has_decided(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    now, letters = [0.0], []
    with closing(Client(settings)) as client:
        troubles = _Troubles(client, clock=lambda: now[0])
        for name in ("t1", "t2"):
            client.ledger.open(entry(name))
            letters.append(letter_for(entry(name), GiveUp("The check of 'right' broke.", "check"), tries=1))
            client.dead_letters.add(letters[-1])
        troubles.tell()
        for letter in letters:
            client.dead_letters.drop(letter)
        now[0] = 60
        troubles.tell()

    said = "2 tasks were given up (check): The check of 'right' broke. See `memshare dead list`."
    assert " ".join(capsys.readouterr().out.split()) == f"{said} No longer so: {said}"


@pytest.mark.usefixtures("redis_client")
def test_up_says_how_many_were_given_up_in_the_end(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    now, said = [0.0], dict[float, str]()
    with closing(Client(settings)) as client:
        troubles = _Troubles(client, clock=lambda: now[0])
        for name in range(7):
            client.ledger.open(entry(f"t{name}"))
            client.dead_letters.add(letter_for(entry(f"t{name}"), GiveUp("It refuses.", "content filter"), tries=1))
            now[0] = name * 10
            troubles.tell()
        for now[0] in (61, 85, 120):
            troubles.tell()
            said[now[0]] = " ".join(capsys.readouterr().out.split())

    told = "{} given up (content filter): It refuses. See `memshare dead list`."
    assert said == {61: told.format("1 task was"), 85: told.format("7 tasks were"), 120: ""}


def test_the_reasons_of_dead_letters_are_read_anew_only_when_their_number_has_changed(
    settings: Settings, redis_client: redis.Redis, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(Client(settings)) as client, redis_client.monitor() as seen:
        troubles = _Troubles(client)
        for name in ("t1", "t2"):
            client.ledger.open(entry(name))
            client.dead_letters.add(letter_for(entry(name), GiveUp("It broke.", "check"), tries=1))
            for _ in range(3):
                troubles.tell()
        redis_client.echo("end")
        read = 0
        while (said := seen.next_command()["command"]) != "ECHO end":
            read += said == f"HGETALL {DEAD_REASONS}"

    assert read == 2
    assert "given up" in capsys.readouterr().out


@pytest.mark.usefixtures("redis_client")
def test_up_says_that_an_edited_rubric_is_not_approved_any_more(
    settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]
    bundled = Path(memshare_scorer.__file__).parent / "rubrics" / "poem.toml"
    with closing(Client(settings.model_copy(update={"agents_dir": tmp_path}))) as client:
        troubles = _Troubles(client, clock=lambda: now[0])
        troubles.tell()
        assert capsys.readouterr().out == ""

        edited = tmp_path / "poem.rubric.toml"
        edited.write_text(bundled.read_text().replace("Short poems", "Short and merry poems"))
        now[0] = 60
        troubles.tell()
        said = " ".join(capsys.readouterr().out.split())
        assert said.startswith("Agent 'poem': nobody has approved its rubric")

        edited.unlink()
        for at in (120, 180):
            now[0] = at
            troubles.tell()
        assert " ".join(capsys.readouterr().out.split()) == f"No longer so: {said}"


def test_what_a_content_filter_refused_in_the_background_is_a_count_of_the_day(
    terminal: Terminal, settings: Settings, redis_client: redis.Redis, capsys: pytest.CaptureFixture[str]
) -> None:
    scorer = Presence(node="s", pid=7, incarnation="x", queues=("scorer",), scorer_model="openai:small")
    usage = UsageLog(redis_client)
    for lane, outcome in (("concepts", "filtered"), ("labels", "filtered"), ("answers", "filtered"), ("labels", "fit")):
        usage.ended("openai:small", lane, outcome, 1.0, Usage())
    usage.flush()
    announce(redis_client, scorer)
    with closing(Client(settings)) as client:
        troubles = _Troubles(client)
        for _ in range(2):
            troubles.tell()

    told = (
        "2 refused by the content filter of openai:small today (UTC), of calls for concepts and labels. What it "
        "refuses goes without; the answer of the task stands."
    )
    assert " ".join(capsys.readouterr().out.split()) == told
    announce(redis_client, scorer)
    assert terminal.json("status")["doubts"] == [told]


def test_a_redis_that_is_frozen_is_told_by_up_and_ends_a_command_soon(
    settings: Settings, redis_client: redis.Redis, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("cli.begin.up", "client.client", "operations.backend"):
        monkeypatch.setattr(f"memshare.{module}.PATIENCE", 0.2)
    now, server = [0.0], int(redis_client.info("server")["process_id"])
    with closing(Client(settings)) as client, closing(Backend(settings)) as backend:
        troubles = _Troubles(client, clock=lambda: now[0])
        troubles.tell()
        os.kill(server, signal.SIGSTOP)
        try:
            began = time.monotonic()
            for at in (1.0, SILENT, SILENT + 1):
                now[0] = at
                with pytest.raises(Unreachable):
                    troubles.tell()
            with pytest.raises(Unreachable):
                status(backend, Caller("ada", frozenset({"admin"})))
            assert time.monotonic() - began < 20
        finally:
            os.kill(server, signal.SIGCONT)
        said = " ".join(capsys.readouterr().out.split())
        assert said.startswith("Redis does not answer at ")
        assert "It is there, but stopped or busy" in said
        assert "Start `memshare up`" not in said
        assert said.count("does not answer") == 1
        now[0] = 90
        troubles.tell()

    assert " ".join(capsys.readouterr().out.split()) == f"No longer so: {said}"


@pytest.mark.usefixtures("redis_client")
def test_status_says_set_aside_where_no_open_task_is_under_way(terminal: Terminal, settings: Settings) -> None:
    with closing(Client(settings)) as client:
        client.ledger.open(entry("t1"))
        client.ledger.park(entry("t1"), NotYet("The cap is used up.", 60, hold="agent poem"))

    assert "set aside" in terminal.run("status").stdout
    assert "0 s" not in terminal.run("status").stdout


def test_workers_that_share_a_name_are_told(terminal: Terminal, redis_client: redis.Redis) -> None:
    about = {"node": "agents@here", "pid": 7, "incarnation": "x", "queues": ("poem",)}
    announce(redis_client, Presence.model_validate({**about, "shares_name": True}))

    assert "Two workers are called agents@here" in terminal.run("status").stdout


def test_the_model_that_says_which_memories_mislead_is_told(terminal: Terminal, redis_client: redis.Redis) -> None:
    about = {"node": "trainer-7@here", "pid": 7, "incarnation": "x", "queues": ("trainer",)}
    announce(redis_client, Presence.model_validate({**about, "trainer_model": "openai:labels"}))

    assert terminal.json("status")["workers"][0]["models"] == ["openai:labels"]


def test_status_says_that_tasks_wait_for_a_memory_service_that_is_not_there_yet(
    terminal: Terminal, redis_client: redis.Redis
) -> None:
    announce(redis_client, Presence(node="poem-7@here", pid=7, incarnation="x", queues=("poem",)))
    assert "Tasks wait for the memory service" in terminal.run("status").stdout

    announce(redis_client, Presence(node="memory-8@here", pid=8, incarnation="y", queues=("memory",)))
    assert "memory service" not in terminal.run("status").stdout


def test_what_is_due_waits_for_a_worker_and_not_until_a_time_that_is_past(
    terminal: Terminal, settings: Settings
) -> None:
    with closing(Client(settings)) as client:
        for name, wait in (("t1", 60.0), ("t2", -60.0)):
            client.ledger.open(entry(name))
            client.ledger.park(entry(name), NotYet(f"The cap of {name} is used up.", wait, hold="agent poem"))
        wait_for(lambda: client.ledger.parked.why("t2"), 5, "it to be parked")
        said = terminal.run("status").stdout
        assert "poem waits 1 until a worker takes it up: The cap of t2 is used up." in said
        assert "poem waits 1 until 20" in said

        client.ledger.parked.lift("agent poem")

    assert "until a worker takes it up: The cap of t1" in terminal.run("status").stdout
    assert "until a worker takes it up: The cap of t1" in terminal.run("trace", "t1").stdout


def test_status_says_who_is_there_what_waits_and_why_and_what_was_given_up(
    terminal: Terminal, settings: Settings, redis_client: redis.Redis
) -> None:
    assert "No worker is there." in terminal.run("status").stdout
    with closing(Client(settings)) as client:
        client.ledger.open(entry("t1"))
        client.ledger.park(entry("t1"), NotYet("The cap is used up.", 60, hold="agent poem"))
        client.ledger.open(entry("t2"))
        client.dead_letters.add(letter_for(entry("t2"), GiveUp("It refuses."), tries=1))
    announce(redis_client, Presence(node="poem-7@here", pid=7, incarnation="x", queues=("poem",), agents=()))

    said, told = terminal.run("status").stdout, StatusReply.model_validate(terminal.json("status"))

    lines = [" ".join(line.split()) for line in said.splitlines()]
    assert "poem-7@here poem –" in lines
    assert any(line.startswith("poem 1 0 ") and line.endswith(" 1") for line in lines), said
    assert any(line.startswith("poem waits 1 until ") and line.endswith(": The cap is used up.") for line in lines)
    assert "1 dead letter: `memshare dead list` shows them." in said
    assert (told.dead_letters, [one.name for one in told.workers]) == (1, ["poem-7@here"])


def test_a_page_that_is_started_while_the_disk_is_full_is_served_and_says_what_is_wrong(
    terminal: Terminal, redis_client: redis.Redis
) -> None:
    terminal.environment["MEMSHARE_SECRET"] = "s" * 40
    words = [sys.executable, "-m", "memshare", "serve", "--port", "0", "--json"]
    with (
        full_disk(redis_client),
        subprocess.Popen(
            words, cwd=ROOT, env=terminal.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process,
    ):
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        health = httpx.get(f"{url}/health", timeout=30)
        process.terminate()
        _, said = process.communicate(timeout=60)

    assert health.text.startswith("Degraded: what is there can be read")
    assert "Make room for it" in said
    assert "Waiting for it" not in said
