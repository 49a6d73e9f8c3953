"""Sentences on a terminal of 80 columns: they break between words, and what people copy stays whole."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from memshare.cli.begin import demo_gain, up
from memshare.cli.curate.find_memories import print_helps
from memshare.cli.main import _fail
from memshare.client.help_replies import HelpReply, StatsReply
from memshare.demo.gain import DemoStage, GainQuestion
from memshare.demo.text_to_sql import read_questions
from memshare.terminal import console as console_module
from memshare.terminal.console import TextConsole, table, turned_table, waiting
from memshare_broker.errors import BadInput
from memshare_broker.settings import Settings
from tests.support.deployment import wait_for
from tests.support.terminal import COLOURS

WIDTH = 80
WRONG = (
    "/home/ada/memories/pairs.jsonl:1: it is no object. Each record is expected to have a prompt and an answer, or an "
    "answer alone; run `memshare memories import pairs.jsonl --pool logic --skip-bad` to leave such lines out."
)
Screen = Callable[[], str]


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """A terminal of 80 columns in place of both outputs; the function tells what it shows."""
    said = io.StringIO()
    monkeypatch.setenv("TERM", "xterm")
    for one in (console_module.console, console_module.errors):
        for name, value in (("_file", said), ("width", WIDTH), ("_force_terminal", True), ("is_interactive", True)):
            monkeypatch.setattr(one, name, value)
    return lambda: COLOURS.sub("", said.getvalue())


def ready(data: Path, model: str) -> None:
    settings = Settings(data=data, model=model)
    supervisor: Any = SimpleNamespace(
        settings=settings,
        serve_url="http://127.0.0.1:8780",
        flower_url="http://127.0.0.1:5555",
        flower_auth="ada:secret",
    )
    up._say_ready(supervisor, as_json=False)


def failed() -> None:
    with pytest.raises(SystemExit):
        _fail(BadInput(WRONG))


SENTENCES: dict[str, Callable[[Path], object]] = {
    "up": lambda data: ready(data, "openai:qwen2.5-coder-1.5b"),
    "up without a model": lambda data: ready(data, "offline"),
    "the demo": lambda data: demo_gain.print_next(data, data / "agents", 1, has_model=False, stays=False),
    "an error": lambda _: failed(),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_sentences_break_between_words_and_commands_stay_whole(name: str, tmp_path: Path, screen: Screen) -> None:
    SENTENCES[name](tmp_path)

    said = screen()
    lines = said.splitlines()
    wide = [line for line in lines if len(line) > WIDTH]
    assert all(re.fullmatch(r" *(Try +)?((memshare:|export|\.) )?\S+(memshare-?\S*)?", line) for line in wide), wide
    assert len(lines) > 2
    for command in re.findall(r"`memshare [^`]*`", WRONG if name == "an error" else ""):
        assert command in said
    assert name != "an error" or said.split() == f"memshare: {WRONG}".split()
    assert 'memshare submit poem "A limerick about a lighthouse" --wait' in said or name != "up"


def test_lines_go_on_below_the_first_word_of_a_list(screen: Screen) -> None:
    console_module.console.print("    - " + "word " * 30)

    assert [line[:8] for line in screen().splitlines()] == ["    - wo", "      wo"]


def test_the_chart_and_the_table_of_the_demo_fit(screen: Screen) -> None:
    asked = [GainQuestion(read_questions().of("train")[0], True, (), None)] * 100
    stages = [
        DemoStage("alone", "alone, no memories", 100, list(asked)),
        DemoStage("task", "graded tasks 151 to 200", 100, list(asked)),
        DemoStage("off", "later, retriever off", 100, list(asked)),
    ]
    in_table: dict[demo_gain.Exam, DemoStage] = {one.kind: one for one in stages if one.kind != "task"}

    console_module.console.print(demo_gain.chart(stages))
    demo_gain.print_paired(in_table, 2)

    lines = screen().splitlines()
    assert len(lines) == 3 + 1 + 2 + 3
    assert "+0 0:0" in lines[-4]
    told = " ".join(" ".join(lines[-3:]).split())
    assert "how many became right:wrong" in told
    assert "--seed 3 makes another." in told
    assert max(map(len, lines)) <= WIDTH


def test_what_is_up_and_how_it_ends_comes_first(tmp_path: Path, screen: Screen) -> None:
    ready(tmp_path, "offline")

    assert screen().startswith("memshare is up. Ctrl-C ends it. Data in")


def test_what_the_demo_does_just_now_fits_on_one_line(screen: Screen) -> None:
    view = demo_gain.DemoView(console_module.console, plain=False)
    view.say("word " * 40)
    view._began -= 12_345

    console_module.console.print(view._drawn())

    assert all(len(line) <= WIDTH for line in screen().splitlines())
    assert sum("word" in line for line in screen().splitlines()) == 1


def test_what_is_waited_for_is_cut_to_one_line_and_its_seconds_stay(screen: Screen) -> None:
    what = "Asking poem (openai:qwen2.5-coder-1.5b-instruct), up to 120 s a call, 6 tries, 420 s in all"

    with waiting(what):
        wait_for(lambda: "… 0 s" in screen(), 10, "it to be shown")

    assert len(screen().strip().splitlines()) == 1


def test_a_line_with_a_spinner_is_one_line(screen: Screen) -> None:
    with console_module.errors.status("Which of the books that were lent in May came back before June was over? " * 2):
        wait_for(lambda: "…" in screen(), 10, "it to be shown")

    assert len(screen().strip().splitlines()) == 1


def of_letters(number: int) -> list[list[str]]:
    error = "openai:qwen2.5-coder-1.5b answered 500: the model runner has ended"
    tasks = ["retriever_trainer.learn", "memory_service.settle", "agents.poem"]
    return [["1c6fa3b2", tasks[at % 3], "invalid reply", "3", "11-28 01:20", error] for at in range(number)]


TABLES: dict[str, tuple[list[str], list[list[str]]]] = {
    "dead letters": (["id", "task", "reason", "tries", "died (UTC)", "error"], of_letters(3)),
    "agents": (
        ["agent", "kinds", "pool", "model", "workers"],
        [["reasoning", "question, comparison, calculation", "reasoning", "openai:qwen2.5-coder-1.5b", "none"]] * 2,
    ),
    "tokens": (
        ["name", "group", "may", "pools", "created"],
        [["continuous-integration", "platform", "recall, offer, curate", "logic, plan", "2026-11-28 01:20:00 UTC"]],
    ),
    "queues": (["queue", "open", "a minute", "oldest", "workers"], [["memory", "3", "12", "40 s", "1"]]),
    "what fits only as a list": (
        ["submitter", "prompt tokens", "completion tokens", "model", "money", "journey"],
        [["continuous-integration", "1,234,567", "2,345,678", "openai:qwen2.5-coder-1.5b", "0.1234", "a" * 36]],
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_words_in_tables_stay_whole_and_lines_are_no_longer_than_the_terminal(name: str, screen: Screen) -> None:
    columns, rows = TABLES[name]

    console_module.console.print(table(*columns, rows=rows))

    said = screen()
    assert max(map(len, said.splitlines())) <= WIDTH
    shown = said.split()
    assert {cell for row in rows for cell in row if " " not in cell} <= {*shown}
    long = console_module.NARROWEST
    assert {word for row in rows for cell in row for word in cell.split() if len(word) <= long} <= {*shown}


def test_where_no_terminal_is_a_sentence_is_one_line() -> None:
    console = TextConsole()
    console.file = said = io.StringIO()

    console.print(WRONG)

    assert said.getvalue() == f"{WRONG}\n"


def test_a_log_is_told_now_and_then_how_far_a_bar_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console_module, "SAY_EVERY", 0.0)
    monkeypatch.setattr(console_module, "TELL_EVERY", 0.0)
    monkeypatch.setattr(console_module.errors, "_file", said := io.StringIO())

    with console_module.bars() as bar:
        task = bar.add_task("Answered", total=3)
        bar.advance(task)
        bar.update(task, completed=2)

    assert said.getvalue().splitlines()[:2] == ["Answered 1 of 3 … 0 s", "Answered 2 of 3 … 0 s"]


def test_a_difference_says_of_how_many_tasks_it_is(screen: Screen) -> None:
    known = {"unit": "points", "mean": 72.0, "mean_without": 65.9, "difference": 6.1, "low": 1.9, "high": 10.3}
    of = {"way": "all withheld", "agent": None, "kind": None, "model": None, "tasks": 1_212, "tasks_without": 24}

    print_helps(StatsReply(memories=1, by_pool={}, helps=(HelpReply.model_validate(known | of),), open={}))

    assert "+6.1 points (+1.9 to +10.3), of 1,212 with and 24 without." in " ".join(screen().split())


COUNTED = (
    "tries|lines|messages|tasks|steps|questions|answers|passages|files|clusters|keys|concepts|lessons|characters|calls"
)


def test_one_of_anything_is_not_called_several() -> None:
    """Numbers in sentences of commands go through `counted`, but for those that are never 1."""
    source = Path(console_module.__file__).parents[1]
    of_demo = ("stage.size", "len(parts.exam)", "len(exam)", "len(parts.shared)", "parts.asked")
    never_one = (*of_demo, "FIRST_VERSION", "FEWEST_LESSONS", "state.next_at")
    found = [
        f"{file.name}: {number}"
        for folder in ("cli", "demo", "terminal")
        for file in (source / folder).rglob("*.py")
        for number in re.findall(rf"\{{([^{{}}]*)\}} (?:{COUNTED})\b", file.read_text("utf-8"))
        if number not in never_one
    ]

    assert found == []


def test_a_table_of_an_experiment_that_is_too_wide_stands_on_its_side_with_its_words_whole(screen: Screen) -> None:
    heads = ["condition", "phase", "items", "score [95%]", "gain", "p", "accepted", "BERTScore F1", "says so", "shown"]
    rows = [
        [
            f"{k} memories",
            "before",
            "5 (2 failed)",
            "32.2 [-11.5, 76.0]",
            "-6.7",
            "0.750",
            "20%",
            "0.255",
            "0.60",
            "0.67",
        ]
        for k in range(6)
    ]

    console_module.console.print(turned_table(*heads, rows=rows, title="Side by side"))

    said = screen().splitlines()
    assert max(map(len, said)) <= WIDTH
    words = {word for line in said for word in line.split()}
    assert words >= {word for cells in (heads, *rows) for cell in cells for word in cell.split()}
    assert [line.split()[0] for line in said if line.startswith(("condition", "gain"))] == ["condition", "gain"]


def test_a_table_of_an_experiment_that_fits_stays_as_it_is(screen: Screen) -> None:
    console_module.console.print(turned_table("condition", "items", rows=[["0 memories", "5"], ["3 memories", "5"]]))

    assert [line.split() for line in screen().splitlines()] == [
        ["condition", "items"],
        ["0", "memories", "5"],
        ["3", "memories", "5"],
    ]
