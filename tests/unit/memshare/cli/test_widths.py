"""Tables of memories on terminals of two widths. The real command line, door and Redis."""

from __future__ import annotations

import pytest
import redis

from memshare_memory.contradictions import Conflicts
from memshare_memory.curate.requests import NewMemory
from memshare_memory.door.client import MemoryClient
from tests.support.memories import remembered
from tests.support.terminal import Terminal

PROMPT = "Which books were lent in May?"
QUERY = "SELECT title FROM books JOIN loans ON loans.book = books.id WHERE month = 5"
WIDTHS = pytest.mark.parametrize("width", [80, 200])


@pytest.fixture
def terminal(terminal: Terminal, memory: MemoryClient) -> Terminal:
    memory.add([NewMemory(pool="poem", prompt=PROMPT, answer=QUERY, kind="limerick", new_pool=True)])
    return terminal


def lines(terminal: Terminal, width: int, *words: str) -> list[str]:
    terminal.environment["COLUMNS"] = str(width)
    found = [line.rstrip() for line in terminal.run(*words).stdout.splitlines()]
    assert max(map(len, found)) <= width
    return found


@WIDTHS
@pytest.mark.parametrize("words", [("list",), ("search", "books in May", "--pool", "poem")])
def test_prompt_and_answer_have_what_the_terminal_has(terminal: Terminal, width: int, words: tuple[str, ...]) -> None:
    found = "\n".join(lines(terminal, width, "memories", *words))

    assert PROMPT in found
    assert (QUERY if width == 200 else "SELECT title FROM books JOIN") in found


@WIDTHS
def test_titles_stand_on_one_line_above_a_narrow_table(terminal: Terminal, width: int) -> None:
    found = lines(terminal, width, "memories", "untidy", "--pool", "poem")

    assert "In 30 days without a verdict: 0" in found


@WIDTHS
def test_memories_that_contradict_stand_side_by_side_with_their_claims(
    terminal: Terminal, memory: MemoryClient, redis_client: redis.Redis, width: int
) -> None:
    said = ["closed on Mondays.", "closed on Tuesdays."]
    one, other = memory.add([NewMemory(pool="poem", prompt="When?", answer=answer) for answer in said])
    claims = "One says Mondays, the other Tuesdays."
    Conflicts(redis_client).judge("poem", one, other, "contradict", claims)

    found = lines(terminal, width, "memories", "conflicts")

    assert [line for line in found if all(text in line for text in said)]
    assert f"claims: {claims}" in found
    assert terminal.json("memories", "conflicts")[0]["claims"] == claims


def test_the_only_pool_need_not_be_named(terminal: Terminal, memory: MemoryClient) -> None:
    found = terminal.json("memories", "search", "books in May", "--limit", "1")["memories"]
    terminal.run("memories", "add", "Four.", "--prompt", "How many books are there?")

    assert [one["memory"]["prompt"] for one in found] == [PROMPT]
    assert memory.stats().by_pool == {"poem": 2}
    memory.add([NewMemory(pool="plan", answer="Elsewhere.", new_pool=True)])
    refused = terminal.run("memories", "search", "books in May", code=2).stderr
    assert "plan, poem" in refused


def test_memories_are_listed_found_and_forgotten_by_their_model(terminal: Terminal, memory: MemoryClient) -> None:
    ours, _ = remembered("Which books are old?", model="openai:qwen3")
    theirs, _ = remembered("Which books are new?", model="mistral:large")
    memory.restore([ours, theirs])
    model = ("--model", "openai:qwen3")

    listed = terminal.json("memories", "list", *model)
    found = terminal.json("memories", "search", "Which books are new?", "--pool", "poem", *model)["memories"]
    forgotten = terminal.json("memories", "forget", *model, "--yes")["forgotten"]

    assert [one["id"] for one in listed] == [one["memory"]["id"] for one in found] == forgotten == [str(ours.id)]
    assert memory.stats().total == 2


def test_a_token_for_a_pool_that_nobody_has_is_told_which_there_are(terminal: Terminal) -> None:
    terminal.run("token", "create", "root", "--may", "admin", "--pools", "*")
    said = terminal.run("token", "create", "bob", "--may", "recall", "--pools", "poem,ecko").stderr

    assert "'ecko' yet. There are: " in said
    assert "'poem' yet" not in said
