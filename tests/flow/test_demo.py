"""`memshare demo`, whole."""

from pathlib import Path

from memshare.concepts.flashcards import flashcards
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


def test_the_demo_of_concepts_ends_with_a_map_a_cluster_a_gap_and_a_new_memory(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path / "unused")
    terminal.environment["MEMSHARE_CONCEPTS"] = "true"
    folder = tmp_path / "demo"

    demo = terminal.json("demo", "--concepts", "--data", str(folder))

    assert (demo["model"], demo["cards"]) == ("offline", len(flashcards()))
    assert demo["cluster"]["memories"] > 1
    assert "none is about it" in demo["gap"]["reason"]
    map_file = Path(demo["map"])
    assert map_file.parent == folder
    assert demo["cluster"]["name"] in map_file.read_text()
    last, memory = demo["asked"][-1], demo["memory"]
    assert (memory["prompt"], memory["answer"], memory["score"]) == (last["question"], last["answer"], last["score"])
    assert last["question"] not in {card.prompt for card in flashcards()}
    assert memory["concepts"]["0"]
    assert children_of(folder) == []
