"""`memshare demo`, whole."""

import json
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from memshare.cli.begin.demo_gain import own_folder
from memshare.demo.gain import PEOPLE
from memshare_concepts.flashcards import flashcards
from tests.support.deployment import ROOT, patient
from tests.support.terminal import Terminal, children_of, end


@pytest.mark.timeout(600)
def test_a_shared_pool_answers_unseen_questions_without_a_key_and_stays(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path / "home").without_model()
    folder = tmp_path / "home-demo"

    done = terminal.run("demo", "--tasks", "40", "--json", within=400)

    demo = json.loads(done.stdout)
    assert demo["right"]["alone"] == 0 < demo["right"]["shared"]
    assert [(stage["kind"], stage["asked"], stage["graded"]) for stage in demo["stages"]] == [
        ("alone", 20, 20), ("shared", 20, 20), *[("task", 10, 10)] * 4, ("off", 20, 20), ("learnt", 20, 20),
        *([] if demo["not_consolidated"] else [("consolidated", 20, 20)]),
    ]  # fmt: skip
    over_alone = demo["gains"]["learnt"]["alone"]
    assert over_alone["share"] == demo["right"]["learnt"]
    assert over_alone["low"] < over_alone["share"] < over_alone["high"]
    assert {"alone", "shared", "off"} == demo["gains"]["learnt"].keys()
    learnt = sum(stage["right"] for stage in demo["stages"] if stage["kind"] == "task")
    assert learnt > 0
    assert demo["memories"] == 40 + learnt, "each right answer was remembered, and nothing else"
    assert demo["helped"]["questions"]
    assert demo["data"] == str(folder)
    assert children_of(folder) == []

    kept = Terminal(folder).without_model()
    kept.environment["MEMSHARE_AGENTS_DIR"] = demo["agents"]
    up = kept.up()
    try:
        paired = kept.json("memories", "stats")["helps"][0]
        assert (paired["way"], paired["agent"], paired["unit"]) == ("same questions", None, "right")
        last = demo["right"].get("consolidated", demo["right"]["learnt"])
        assert (paired["mean"], paired["mean_without"], paired["tasks"]) == (100 * last, 0, 20)
        found = kept.json("memories", "list", "--pool", "sql")
        assert {one["submitter"] for one in found} == set(PEOPLE)
        assert f"memshare runs already on {str(folder)!r}" in terminal.run("demo", code=1).stderr
    finally:
        end(up)


def test_a_demo_that_is_ended_says_what_stays(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path / "home").without_model()
    command = [sys.executable, "-m", "memshare", "demo", "--tasks", "20", "--seed", "3"]
    demo = subprocess.Popen(command, cwd=ROOT, env=terminal.environment, stdout=subprocess.PIPE, text=True)
    assert demo.stdout is not None
    while "starting Redis" not in demo.stdout.readline():
        assert demo.poll() is None

    demo.terminate()

    said = " ".join(demo.communicate(timeout=patient(60))[0].split())
    assert demo.returncode == 130
    assert "Ended early. Measured: nothing yet." in said
    assert f"MEMSHARE_AGENTS_DIR={tmp_path / 'home-demo' / 'agents'} memshare up" in said
    assert f"{str(tmp_path / 'home-demo')!r} stays; the next demo begins anew." in said


def test_a_folder_of_somebody_else_is_left_as_it_is(tmp_path: Path) -> None:
    own = tmp_path / "home-demo" / "thesis.txt"
    own.parent.mkdir()
    own.write_text("mine")

    own.chmod(0o644)
    terminal = Terminal(tmp_path / "home").without_model()

    assert str(own.parent) in terminal.run("demo", code=2).stderr
    assert "is not empty" in terminal.run("demo", "--data", str(own.parent), code=2).stderr
    assert own.read_text() == "mine"
    assert stat.S_IMODE(own.stat().st_mode) == 0o644
    assert list(own.parent.iterdir()) == [own]


def test_readmes_lines_before_any_demo_leave_its_folder_to_the_demo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal(tmp_path / "home-demo").without_model()
    terminal.environment["MEMSHARE_AGENTS_DIR"] = str(tmp_path / "home-demo" / "agents")

    assert "is no folder" in terminal.run("up", code=2).stderr

    monkeypatch.setenv("MEMSHARE_DATA", str(tmp_path / "home-demo"))
    assert own_folder() == tmp_path / "home-demo"


def test_the_demo_of_agents_shows_that_memories_help_and_leaves_no_process_behind(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path / "unused")
    folder = tmp_path / "demo"

    demo = terminal.json("demo", "--agents", "--data", str(folder))

    tasks, summary = demo["tasks"], demo["summary"]
    assert demo["model"] == "openai:scripted"
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

    assert (demo["model"], demo["cards"]) == ("openai:scripted", len(flashcards()))
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


@pytest.mark.parametrize("option", ["--agents", "--concepts", "--agent reasoning"])
def test_demos_that_need_a_model_say_so_at_once_and_how_to_set_one(tmp_path: Path, option: str) -> None:
    terminal = Terminal(tmp_path / "unused").without_model()

    refused = terminal.run("demo", *option.split(), "--data", str(tmp_path / "demo"), code=2).stderr

    assert f"`memshare demo {option}` needs a chat model" in refused
    assert "OPENAI_API_KEY" in refused
    assert not (tmp_path / "demo").exists()
