"""A newcomer's first pool: 300 graded runs that another tool exported. The next task is shown the good ones."""

from __future__ import annotations

import json

from tests.support.terminal import Terminal

THINGS = ("lighthouse", "teapot", "ladder", "violin", "anchor", "candle")


def test_agents_are_shown_the_good_runs_of_an_export(terminal: Terminal) -> None:
    export = terminal.data / "traces.json"
    rows = [
        {
            "id": f"{number:032x}", "timestamp": "2026-11-27T09:00:00.000Z", "name": "riddle", "tags": ["riddles"],
            "input": {"question": f"A riddle about {THINGS[number % 6]} number {number}"},
            "output": f"What is number {number} of the {THINGS[number % 6]}s?", "correctness": [float(number % 3 > 0)],
        }
        for number in range(300)
    ]  # fmt: skip
    export.write_text(json.dumps(rows))

    found = terminal.json(
        "memories", "import", str(export), "--from", "langfuse", "--agent", "logic", "--kind", "field:name"
    )
    assert (found["new"], found["left_out"]) == (200, {"under the score": 100})

    task = terminal.json("submit", "logic", "A riddle about lighthouse number 299", "--kind", "riddle", "--wait")
    shown = terminal.json("memories", "show", task["memories"][0]["id"])["memory"]
    assert (shown["score"], shown["kind"], shown["agent"]) == (100, "riddle", "logic")
    assert int(shown["source"].split()[1].rstrip(","), 16) % 3 > 0

    graded = terminal.data / "graded.jsonl"
    terminal.run("memories", "export", str(graded), "--pool", "logic", "--score-from", "100")
    assert len(graded.read_text().splitlines()) >= 200  # which `memshare evaluate memories --data` takes
