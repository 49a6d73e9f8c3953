"""`memshare demo`, whole."""

from pathlib import Path

from tests.support.terminal import Terminal, children_of


def test_the_demo_shows_that_memories_help_and_leaves_no_process_behind(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path / "unused")
    folder = tmp_path / "demo"

    demo = terminal.json("demo", "--data", str(folder))

    tasks, summary = demo["tasks"], demo["summary"]
    assert demo["model"] == "offline"
    assert len({task["prompt"] for task in tasks}) >= 36
    assert len({(task["agent"], task["kind"]) for task in tasks}) == 9
    assert all(task["score"] is not None and task["answer"] for task in tasks)
    assert summary["with_memories"]["mean_score"] > summary["without"]["mean_score"]
    assert summary["again"]["mean_score"] > summary["first"]["mean_score"]
    assert any(name.startswith("task ") for task in tasks for name, _ in task["shown"])
    assert 0 < sum(task["accepted"] for task in tasks) < len(tasks)
    assert children_of(folder) == []
    again = terminal.run("demo", "--data", str(folder), code=2)
    assert "name a new folder" in again.stderr
