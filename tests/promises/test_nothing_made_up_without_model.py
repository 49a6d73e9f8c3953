"""A deployment where no model is set: nothing is made up, and what is said is somebody's own words."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.support.deployment import ROOT
from tests.support.terminal import Terminal

PROMPT, WORDS = "A limerick about a baker from Ghent", "A baker who hailed from old Ghent\nBuilt a loaf.  "
SET_ONE = "MEMSHARE_MODEL=openai:qwen3"


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path_factory.mktemp("up")).without_model()
    terminal.environment["MEMSHARE_CONCEPTS"] = "true"
    with terminal.working():
        yield terminal


@pytest.fixture(scope="module")
def memory(terminal: Terminal) -> str:
    words = ("memories", "add", WORDS, "--pool", "poem", "--prompt", PROMPT, "--submitter", "eve")
    return str(terminal.json(*words)["id"])


def test_an_answer_is_a_memorys_word_for_word_and_everywhere_it_is_said_whose(terminal: Terminal, memory: str) -> None:
    whose = f"{memory[:8]} by eve"
    before = terminal.json("memories", "stats")["by_pool"]

    submitted = terminal.run("submit", "poem", "A limerick about a sailor from Ghent", "--kind", "limerick", "--wait")
    told = terminal.json("submit", "poem", "A limerick about a miller from Ghent", "--kind", "limerick", "--wait")
    journey = terminal.settled(told["task_id"])

    assert submitted.stdout == f"{WORDS}\n"
    assert whose in submitted.stderr
    assert (told["answer"], told["model"]) == (WORDS, "offline")
    assert told["quoted"] == journey["quoted"]
    assert (told["quoted"]["id"], told["quoted"]["submitter"]) == (memory, "eve")
    assert told["quoted"]["similarity"] == pytest.approx(told["memories"][0]["similarity"])
    assert (journey["outcome"], journey["score"], journey["memory_id"]) == ("not graded", None, None)
    assert SET_ONE in journey["reason"]
    result, trace = terminal.run("result", told["task_id"]), terminal.run("trace", told["task_id"]).stdout
    assert result.stdout == f"{WORDS}\n"
    assert whose in result.stderr
    assert whose in trace
    assert "not graded: no model" in trace
    assert terminal.json("memories", "stats")["by_pool"] == before
    assert terminal.json("dead", "list") == []


def test_the_reasoning_agent_quotes_too_and_takes_no_steps(terminal: Terminal) -> None:
    terminal.run("memories", "add", "Herons wade through shallow water.", "--pool", "reasoning", "--submitter", "ada")

    told = terminal.json("submit", "reasoning", "Where do herons wade?", "--wait")

    assert (told["answer"], told["quoted"]["submitter"]) == ("Herons wade through shallow water.", "ada")
    assert told["steps"] == []
    assert terminal.settled(told["task_id"])["outcome"] == "not graded"


def test_without_a_memory_a_task_is_given_up_once_and_says_what_to_set(terminal: Terminal) -> None:
    refused = terminal.run("submit", "plan", "A plan to learn chess", "--kind", "study", "--wait", code=1).stderr

    assert "There is no chat model" in refused
    assert SET_ONE in refused
    assert "`memshare dead retry" in refused
    [letter] = terminal.json("dead", "list")
    assert (letter["reason"], letter["tries"]) == ("no model", 1)
    terminal.run("dead", "drop", letter["id"])


def test_what_needs_a_model_is_refused_before_anything_is_submitted(terminal: Terminal, memory: str) -> None:
    answers = terminal.data / "answers.jsonl"
    answers.write_text(json.dumps({"answer": "A lamp.", "prompt": "What shines?"}))
    alone = terminal.data / "alone.jsonl"
    alone.write_text(json.dumps({"answer": "A lamp."}))

    for words in (
        ("seed", str(answers), "--agent", "logic", "--kind", "riddle"),
        ("learn", str(alone), "--agent", "logic", "--kind", "riddle"),
        ("concepts", "extract", "--pool", "poem", "--yes"),
        ("memories", "edit", memory, "--answer", "Another.", "--grade"),
    ):
        assert "needs a chat model, and none is set" in terminal.run(*words, code=2).stderr

    assert terminal.json("dead", "list") == []
    shown = terminal.json("memories", "show", memory)["memory"]
    assert (shown["answer"], shown["concepts"]) == (WORDS, {})


def test_up_says_in_its_first_lines_what_it_does_without_a_model(terminal: Terminal) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "memshare", "up", "--flower-port", "0", "--port", "0", "--agents", "1"],
        cwd=ROOT, env=terminal.environment | {"MEMSHARE_DATA": f"{terminal.data}-2"},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    told = itertools.dropwhile(lambda line: line.startswith("Starting …"), iter(process.stdout.readline, ""))
    first = "".join(itertools.islice(told, 8))
    process.send_signal(signal.SIGINT)
    process.communicate()

    assert "none (offline). Nothing is made up" in first
    assert "answer of the memory nearest to a task, word for word" in first
    assert "Only programs grade" in first
    assert SET_ONE in first
