from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import redis
from typer.testing import CliRunner, Result

from memshare.cli.run.budget import app
from memshare_broker.delivery.ledger import Ledger
from memshare_broker.delivery.schema import Entry
from memshare_broker.errors import BadInput, MemshareError, NotYet
from memshare_broker.wire.messages import Usage
from memshare_llm.limits.budget import Budget, Holder
from memshare_llm.limits.usage import Charge, UsageLog

PRICES = """\
currency = "USD"

[offline]
prompt = 1
completion = 2
"""


@pytest.fixture(autouse=True)
def environment(redis_folder: Path, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001
    monkeypatch.setenv("MEMSHARE_DATA", str(redis_folder))
    monkeypatch.setenv("MEMSHARE_MODEL", "offline")
    monkeypatch.setenv("COLUMNS", "120")


@pytest.fixture
def prices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "prices.toml").write_text(PRICES)
    monkeypatch.setenv("MEMSHARE_PRICES", str(tmp_path / "prices.toml"))


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(app, list(arguments))
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def shown() -> dict:
    return json.loads(run("show", "--json").stdout)


def refusal(*arguments: str) -> str:
    with pytest.raises(MemshareError) as caught:
        run(*arguments)
    assert isinstance(caught.value, BadInput)
    return str(caught.value)


def park(client: redis.Redis, number: int, hold: str) -> Entry:
    entry = Entry(id=f"task-{number}", task="agents.poem", queue="poem", body={}, journey="", stage="answer")
    ledger = Ledger(client, keep_days=1)
    ledger.open(entry)
    ledger.park(entry, NotYet("The cap is reached.", 3_600, hold))
    return entry


def test_a_cap_that_is_set_is_what_the_agents_check(redis_client: redis.Redis) -> None:
    result = run("set", "--agent", "poem", "--tokens", "10000")

    assert result.stdout == "Agent 'poem' may use 10,000 tokens in a UTC day. Tasks that go on now: 0.\n"
    usage = UsageLog(redis_client)
    usage.add(Charge("poem", "ada", "offline", Usage(prompt_tokens=10_000), 0))
    with pytest.raises(NotYet, match=r"The cap of agent 'poem' for today, 10,000 tokens, is used up \(10,000\)"):
        Budget(redis_client, usage).check("poem", "ada")


def test_raising_a_cap_lets_the_tasks_that_wait_for_it_go_on_and_no_others(redis_client: redis.Redis) -> None:
    holds = ["agent poem", "agent poem", "submitter ada"]
    for number, hold in enumerate(holds):
        park(redis_client, number, hold)
    run("set", "--agent", "plan", "--tokens", "1")
    ledger = Ledger(redis_client, keep_days=1)
    assert ledger.parked.release(10) == []

    result = run("set", "--agent", "poem", "--tokens", "20000", "--json")

    assert json.loads(result.stdout) == {
        "kind": "agent",
        "name": "poem",
        "tokens": 20_000,
        "money": None,
        "go_on": 2,
        "unpriced": [],
    }
    assert {entry.id for entry in ledger.parked.release(10)} == {"task-0", "task-1"}


@pytest.mark.usefixtures("prices")
def test_what_is_not_named_stays_as_it_was_and_none_takes_all_away() -> None:
    run("set", "--submitter", "Ada Lovelace", "--tokens", "500")

    result = run("set", "--submitter", "Ada Lovelace", "--money", "2.5")

    assert "Submitter 'Ada Lovelace' may use 500 tokens and 2.50 USD in a UTC day." in result.stdout
    assert "Submitter 'Ada Lovelace' has no cap." in run("set", "--submitter", "Ada Lovelace", "--none").stdout
    assert shown()["caps"] == []


@pytest.mark.usefixtures("prices")
def test_show_tells_caps_what_is_left_and_who_waits(redis_client: redis.Redis) -> None:
    run("set", "--agent", "poem", "--tokens", "20")
    run("set", "--submitter", "ada", "--tokens", "100", "--money", "3")
    usage = UsageLog(redis_client)
    usage.add(Charge("poem", "ada", "offline", Usage(prompt_tokens=20, completion_tokens=5), 0.75))
    usage.add(Charge("plan", "bob", "mistral:small", Usage(prompt_tokens=1), 0))
    usage.flush()
    park(redis_client, 1, "agent poem")

    found, text = shown(), run("show").stdout

    poem, ada = found["caps"]
    assert poem == {
        "kind": "agent", "name": "poem", "tokens": 20, "money": None, "tokens_used": 25, "money_used": 0.75,
        "tokens_left": 0, "money_left": None, "waiting": 1,
    }  # fmt: skip
    assert (ada["tokens_left"], ada["money_left"], ada["waiting"]) == (75, 2.25, 0)
    assert found["currency"] == "USD"
    assert found["agents"].keys() == {"poem", "plan"}
    assert found["submitters"]["ada"]["calls"] == 1
    assert [found["models"][name]["priced"] for name in ("offline", "mistral:small")] == [True, False]
    for row in (r"agent poem +20 tokens +25 +0 +1", r"submitter ada +3\.00 USD +0\.7500 USD +2\.25 USD +0"):
        assert any(re.match(row, line) for line in text.splitlines()), text
    assert "no price" in text
    assert "counts as free" in text


def test_show_without_caps_says_how_to_set_one() -> None:
    assert "No caps. Set one: memshare budget set" in run("show").stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--tokens 5", "--agent NAME or --submitter NAME"),
        ("--agent poem --submitter ada --tokens 5", "--agent NAME or --submitter NAME"),
        ("--agent poem", "--tokens N or --money X"),
        ("--agent poem --tokens 5 --none", "--tokens N or --money X"),
        ("--agent haiku --tokens 5", "No agent is called 'haiku'. There are: logic, plan, poem, reasoning."),
        (
            "--agent poem --money 5",
            "'offline' has none. Write one into a TOML file, and name the file in MEMSHARE_PRICES",
        ),
        ("--submitter ada --money 5", "'offline' has none"),
    ],
)
def test_a_cap_that_makes_no_sense_is_refused(arguments: str, words: str) -> None:
    assert words in refusal("set", *arguments.split())
    assert shown()["caps"] == []


def test_the_cap_of_an_agent_that_is_gone_can_be_taken_away(redis_client: redis.Redis) -> None:
    redis_client.hset("memshare:caps", "agent haiku", '{"tokens": 5}')

    run("set", "--agent", "haiku", "--none")

    assert Holder("agent", "haiku") not in Budget(redis_client, UsageLog(redis_client)).caps()


@pytest.mark.usefixtures("prices")
def test_a_cap_in_money_names_the_models_that_count_as_free(monkeypatch: pytest.MonkeyPatch) -> None:
    assert json.loads(run("set", "--agent", "poem", "--money", "2", "--json").stdout)["unpriced"] == []

    monkeypatch.setenv("MEMSHARE_MODEL_SCORER", "openai:judge")
    monkeypatch.setenv("MEMSHARE_MODEL_TRAINER", "mistral:small")
    said = run("set", "--agent", "poem", "--money", "2").stderr

    assert "no price" in said
    assert "'mistral:small', 'openai:judge'." in said
    assert "poem" not in said
    assert run("set", "--agent", "poem", "--tokens", "5").stderr == ""
