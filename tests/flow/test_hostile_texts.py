"""Texts that would command a terminal, through every command that prints what others wrote, on a real terminal."""

from __future__ import annotations

import json
import re
from contextlib import closing

import pytest

from memshare.client.client import Client
from memshare_broker.delivery.dead_letters import letter_for
from memshare_broker.delivery.schema import Entry
from memshare_broker.errors import GiveUp
from memshare_broker.settings import Settings
from tests.support.terminal import Terminal

HOSTILE = "[/] [red]lamp[/red] \x1b]0;owned\x07\x1b[2J\x9b31m\u202egpj.exe\u200b\x00\x7f café → 🍸"
SHOWN = r"\x1b]0;owned\x07\x1b[2J\x9b31m\u202egpj.exe\u200b\x00\x7f"
NAME = "[/] [red]ada"  # names hold nothing that is not printable, and markup is


@pytest.fixture(scope="module")
def ids(terminal: Terminal) -> dict[str, str]:
    """Hostile texts wherever a text can be: a memory and its parent, a statement, a task, a dead letter, a cap."""
    file = terminal.data / "hostile.jsonl"
    pair = {"pool": "poem", "prompt": HOSTILE, "answer": f"{HOSTILE}\nsecond", "submitter": NAME, "kind": "limerick"}
    file.write_text(json.dumps(pair))
    terminal.run("memories", "import", str(file))
    terminal.run("budget", "set", "--submitter", NAME, "--tokens", "1000000")
    known = terminal.run(
        "memories", "add", "\u202eClosed on [/] Mondays.\x9b", "--about", "[/]\x1b[2J", "--pool", "reasoning"
    )
    task = terminal.run("submit", "poem", "-", "--submitter", NAME, stdin=f"{HOSTILE} again").stdout.strip()
    terminal.settled(task)
    [memory] = [one["id"] for one in terminal.json("memories", "list", "--pool", "poem") if one["prompt"] == HOSTILE]
    with closing(Client(Settings(data=terminal.data, model="offline"))) as client:
        entry = Entry(
            id="0badcafe-0000-4000-8000-000000000000", task=f"agents.{HOSTILE}", queue=HOSTILE,
            body={"prompt": HOSTILE, "submitter": NAME}, journey="0badcafe-0000-4000-8000-000000000000",
            stage="answer", begins=True,
        )  # fmt: skip
        client.ledger.open(entry)
        assert client.dead_letters.add(letter_for(entry, GiveUp(f"It refuses: {HOSTILE}"), tries=1))
    return {"memory": memory, "task": task, "known": known.stdout.strip(), "dead": "0badcafe"}


COMMANDS = {
    "memories list": (["memories", "list", "--pool", "poem"], "[/] [red]lamp[/red]"),
    "memories list by credibility": (
        ["memories", "list", "--pool", "poem", "--sort", "credibility"],
        "[/] [red]lamp[/red]",
    ),
    "memories search": (
        ["memories", "search", f"{HOSTILE}".replace("\x00", ""), "--pool", "poem"],
        "[/] [red]lamp[/red]",
    ),
    "memories show": (["memories", "show", "{memory}"], SHOWN),
    "memories conflicts": (["memories", "conflicts"], ""),
    "memories stats": (["memories", "stats"], "poem"),
    "memories forget": (["memories", "forget", "{memory}", "--dry-run"], NAME),
    "memories check": (["memories", "check"], ""),
    "memories list of statements": (["memories", "list", "--kind", "knowledge"], r"\u202eClosed on [/] Mondays."),
    "memories show of a statement": (["memories", "show", "{known}"], r"\u202eClosed on [/] Mondays.\x9b"),
    "trace": (["trace", "{task}"], SHOWN),
    "result": (["result", "{task}"], ""),
    "trace of a dead letter": (["trace", "{dead}"], f"It refuses: [/] [red]lamp[/red] {SHOWN}"[:30]),
    "dead list": (["dead", "list"], "It refuses: [/] [red]lamp"),
    "dead show": (["dead", "show", "{dead}"], f"It refuses: [/] [red]lamp[/red] {SHOWN}"),
    "budget show": (["budget", "show"], NAME),
    "agents": (["agents"], "poem"),
    "retriever status": (["retriever", "status"], ""),
    "submit": (["submit", "poem", HOSTILE.replace("\x00", ""), "--submitter", NAME, "--wait"], ""),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_shows_a_hostile_text_and_sends_none_of_it(
    terminal: Terminal, ids: dict[str, str], name: str
) -> None:
    words, expected = COMMANDS[name]

    shown = terminal.see(*(re.sub(r"^\{(\w+)\}$", lambda found: ids[found[1]], word) for word in words))

    assert expected in shown
    hostile = {one for one in shown if not one.isprintable()} - set("\n\t")
    assert hostile == set()


WITH_JSON = ("memories list", "memories search", "memories show", "trace", "result", "dead list", "dead show", "agents",
             "budget show", "retriever status")  # fmt: skip


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_a_command_shows_what_an_encoding_has_and_its_json_is_exact(
    terminal: Terminal, ids: dict[str, str], encoding: str
) -> None:
    shown = {}
    for name, (words, _) in COMMANDS.items():
        named = [re.sub(r"^\{(\w+)\}$", lambda found: ids[found[1]], word) for word in words]
        shown[name] = terminal.encoded(encoding, *named).stdout
        if name in WITH_JSON and encoding == "cp1252":
            text = terminal.encoded(encoding, *named, "--json").stdout
            assert text.isascii(), name
            assert json.loads(text), name

    assert ("caf? > ?" if encoding == "ascii" else "café > ?") in shown["memories show"]
    assert {one for text in shown.values() for one in text if not one.isprintable()} - set("\n\t") == set()


ERRORS = (
    ["trace", "[/]\x1b[2J"],
    ["memories", "show", "[/]\x1b[2J"],
    ["dead", "show", "[/]\x9b"],
    ["submit", "[/]\x1b[2J", "x"],
    ["memories", "list", "--pool", "[/]\x1b]0;x\x07"],
    ["submit", "poem", "x", "--kind", "[/]\u202e"],
    ["memories", "list", "--limit", "[/]\x1b[2J"],
    ["[/]\x1b[2J"],
)


@pytest.mark.parametrize("words", ERRORS)
def test_an_error_that_quotes_a_hostile_text_sends_none_of_it(terminal: Terminal, words: list[str]) -> None:
    shown = terminal.see(*words, code=2)

    assert {one for one in shown if not one.isprintable()} - set("\n\t") == set()


def test_json_is_exact_and_sends_none_of_it(terminal: Terminal, ids: dict[str, str]) -> None:
    shown = terminal.see("memories", "show", ids["memory"], "--json")

    assert shown.strip().isprintable()
    memory = json.loads(shown)["memory"]
    assert memory["prompt"] == HOSTILE
    assert memory["answer"] == f"{HOSTILE}\nsecond"


def test_tables_can_be_read_on_a_terminal_of_eighty_columns(terminal: Terminal, ids: dict[str, str]) -> None:
    narrow = Terminal(terminal.data)
    narrow.environment["COLUMNS"] = "80"

    for words in (["dead", "list"], ["memories", "list", "--pool", "poem"], ["budget", "show"]):
        lines = narrow.see(*words).splitlines()
        assert max(map(len, lines)) <= 80
    lines = narrow.see("dead", "list").splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith(ids["dead"]))
    assert lines[at - 1].split() == ["id", "task", "reason", "tries", "died", "(UTC)", "error"]
