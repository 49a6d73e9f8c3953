from __future__ import annotations

from typing import Any
from uuid import UUID

from rich.console import Console

from memshare.cli.ask.trace import draw
from memshare_broker.wire.messages import Step, Usage


def step(number: int, parent: int | None, operator: str, **more: Any) -> Step:
    fields = {"depth": 0, "arguments": "{}", "said": "Well."} | more
    return Step(number=number, parent=parent, operator=operator, **fields)


def drawn(*steps: Step) -> list[str]:
    console = Console(width=160, color_system=None)
    with console.capture() as captured:
        console.print(draw("Who built the mill?", steps))
    return captured.get().splitlines()


def test_a_step_stands_under_the_step_that_called_it() -> None:
    lines = drawn(
        step(1, None, "coordinator"), step(2, 1, "searcher"), step(3, 1, "coordinator"), step(4, 3, "responder")
    )

    titles = [line.rstrip() for line in lines if any(f"{number} " in line for number in range(1, 5))]
    indents = [len(line) - len(line.lstrip(" │├└─")) for line in titles]
    assert lines[0] == "Who built the mill?"
    assert indents == [4, 8, 8, 12]


def test_a_step_says_what_it_was_asked_what_it_read_and_said_and_what_it_took() -> None:
    asked = '{"query": "mill", "places": ["memory", "web"], "filters": {"agent": null, "words": ["oil"]}}'
    lines = drawn(
        step(
            1, None, "searcher", arguments=asked, read=("a", "b", "c", "d", "e"), left_out=("f",),
            said="[bold]2 found[/]", knowledge=(UUID(int=7),), model="offline",
            usage=Usage(prompt_tokens=1_200, completion_tokens=34), seconds=2.26,
        )
    )  # fmt: skip

    assert [line.strip(" └─") for line in lines[1:]] == [
        "1 searcher  2.3 s · 1,234 tokens · offline",
        "asked: query: mill, places: memory, web, filters: words ['oil']",
        "read: a; b; c; d; and 1 more",
        "left out for want of room: f",
        "said: [bold]2 found[/]",
        f"knowledge: {UUID(int=7)}",
    ]


def test_arguments_that_were_cut_are_shown_as_they_are() -> None:
    assert 'asked: {"query": "mi…' in drawn(step(1, None, "searcher", arguments='{"query": "mi…'))[2]
