"""The command line as a person uses it: `memshare up` in one terminal, everything else in another."""

import json
from pathlib import Path

import pytest

from tests.support.deployment import wait_for
from tests.support.terminal import Terminal, children_of, end


def test_a_task_can_be_followed_from_submission_to_memory(terminal: Terminal) -> None:
    seed = {"pool": "poem", "kind": "limerick", "prompt": "A limerick about a baker from Ghent", "answer": LIMERICK}
    file = terminal.data / "seed.jsonl"
    file.write_text(json.dumps(seed))
    assert terminal.json("memories", "import", str(file)) == {"imported": 1, "new": 1, "there": 0}

    task_id = terminal.run(
        "submit", "poem", "A limerick about a sailor from Ghent", "--kind", "limerick", "--submitter", "ada"
    ).stdout.strip()
    journey = terminal.settled(task_id)

    assert journey["model"] == "openai:scripted"
    assert journey["submitter"] == "ada"
    assert set(journey["score"]) >= {"total", "threshold", "accepted", "criteria", "rubric_version"}
    [criterion, *_] = journey["score"]["criteria"].values()
    assert set(criterion) == {"low", "high", "points"}
    ranges = journey["score"]["criteria"].values()
    halves = (sum(one["low"] for one in ranges) + sum(one["high"] for one in ranges)) / 2
    assert journey["score"]["total"] == pytest.approx(halves)
    assert journey["memories"][0]["similarity"] > 0.5
    assert "sailor" in terminal.run("trace", task_id).stdout
    assert terminal.run("result", task_id).stdout.strip() == journey["answer"].strip()


LIMERICK = """A baker who hailed from old Ghent
Built a loaf that was ten metres bent;
It got stuck in the door,
So he baked seven more,
And now lives in a bread-crusted tent."""


def test_submit_waits_for_the_answer(terminal: Terminal) -> None:
    answer = terminal.json("submit", "logic", "A riddle about a shadow", "--kind", "riddle", "--wait")

    assert {"task_id", "agent", "kind", "answer", "model", "memories", "retriever_version", "usage", "seconds"} <= set(
        answer
    )
    assert answer["kind"] == "riddle"


def test_a_file_of_tasks_gives_one_result_a_line_and_names_those_that_are_left_out(terminal: Terminal) -> None:
    lines = ['{"agent": "plan", "prompt": "A plan to learn chess", "kind": "study"}', "{not json", '{"prompt": "x"}',
             '{"agent": "poem", "prompt": "A sonnet about rust", "kind": "sonnet"}']  # fmt: skip
    tasks, out = terminal.data / "tasks.jsonl", terminal.data / "results.jsonl"
    tasks.write_text("\n".join(lines))

    done = terminal.run("submit", "--file", str(tasks), "--wait", "--out", str(out), "--skip-bad")

    results = [json.loads(line) for line in out.read_text().splitlines()]
    assert sorted((result["line"], result["agent"]) for result in results) == [(1, "plan"), (4, "poem")]
    assert f"Left out: {tasks}:2: no JSON" in done.stderr
    assert f"Left out: {tasks}:3: no agent" in done.stderr
    assert "2 of 2 lines answered" in done.stderr


def test_memories_are_added_found_edited_hidden_exported_and_forgotten(terminal: Terminal) -> None:
    added = terminal.json("memories", "add", "An echo.", "--pool", "logic", "--prompt", "What answers in every tongue?")
    memory = added["id"]
    again = terminal.json("memories", "add", "An echo.", "--pool", "logic", "--prompt", "What answers in every tongue?")
    assert again == added

    def found() -> list[str]:
        hits = terminal.json("memories", "search", "what answers in every language", "--pool", "logic", "-k", "3")
        return [hit["memory"]["id"] for hit in hits["memories"]]

    assert memory in found()
    terminal.run("memories", "edit", memory, "--status", "hidden")
    assert memory not in found()
    changed = terminal.json("memories", "edit", memory, "--status", "active", "--answer", "The echo.")
    assert (changed["id"], changed["answer"]) == (memory, "The echo.")

    file = terminal.data / "pool.jsonl"
    terminal.run("memories", "export", str(file))
    before = terminal.json("memories", "stats")
    assert before["memories"] == sum(before["by_pool"].values()) == len(file.read_text().splitlines())
    assert terminal.json("memories", "forget", memory, "--yes")["forgotten"] == [memory]
    assert memory not in found()
    terminal.run("memories", "import", str(file))
    terminal.run("memories", "import", str(file))
    assert terminal.json("memories", "stats")["by_pool"] == before["by_pool"]
    assert terminal.json("memories", "show", memory)["memory"]["answer"] == "The echo."


def test_two_opposite_statements_are_a_conflict_that_a_person_decides(terminal: Terminal) -> None:
    about = "When is the castle closed?"
    added = [
        terminal.json("memories", "add", f"The castle is closed on {day}.", "--about", about, "--pool", "logic")["id"]
        for day in ("Mondays", "Tuesdays")
    ]
    pairs = wait_for(lambda: terminal.json("memories", "conflicts", "--pool", "logic"), 20, "the conflict")
    assert {one["memory"]["id"] for one in pairs[0]["memories"]} == set(added)
    assert "castle" in terminal.run("memories", "show", added[0]).stdout.split("Contradicted")[1]

    terminal.run("memories", "conflicts", "--confirm", *(one[:8] for one in added))
    assert len(terminal.json("memories", "conflicts", "--pool", "logic")) == 1
    terminal.run("memories", "conflicts", "--right", added[1], added[0])
    assert [one["right"] for one in terminal.json("memories", "conflicts")] == [added[1]]
    assert terminal.json("memories", "conflicts", "--dismiss", *added)["contradict"] is False
    assert terminal.json("memories", "conflicts", "--pool", "logic") == []
    for one in added:
        terminal.run("memories", "forget", one, "--yes")


def test_a_conversation_is_submitted_from_a_file_and_shown_whole(terminal: Terminal) -> None:
    talk = [("user", "A riddle"), ("assistant", "About what?"), ("user", "A well")]
    turns = [{"role": role, "content": text} for role, text in talk]
    file = terminal.data / "talk.json"
    file.write_text(json.dumps({"messages": turns}))

    task_id = terminal.run("submit", "logic", "--messages", str(file), "--no-remember").stdout.strip()
    piped = terminal.run("submit", "logic", "--messages", "-", "--no-remember", stdin=json.dumps(turns)).stdout.strip()

    journey = terminal.settled(task_id)
    assert journey["prompt"] == "User: A riddle\nAssistant: About what?\nUser: A well"
    assert terminal.settled(piped)["prompt"] == journey["prompt"]
    file.write_text('["a"]')
    assert "is no conversation" in terminal.run("submit", "logic", "--messages", str(file), code=2).stderr
    file.write_text(json.dumps(turns[:2]))
    assert (
        "must end with a turn of role 'user'" in terminal.run("submit", "logic", "--messages", str(file), code=2).stderr
    )


def test_knowledge_is_added_changed_explained_and_deleted(terminal: Terminal) -> None:
    about = "When is the lamp museum open?"
    known = terminal.json("memories", "add", "It opens at nine.", "--about", about, "--pool", "logic")["id"]

    def found() -> list[str]:
        hits = terminal.json("memories", "search", about, "--pool", "logic", "-k", "1")
        return [hit["memory"]["answer"] for hit in hits["memories"]]

    assert found() == ["It opens at nine."]
    changed = terminal.json("memories", "edit", known, "--answer", "It opens at ten.")
    assert (changed["id"], found()) == (known, ["It opens at ten."])
    why = terminal.json("memories", "show", known)
    assert [revision["answer"] for revision in why["memory"]["history"]] == ["It opens at nine."]
    assert (why["credibility"], why["credits"]) == (pytest.approx(1), 0)
    assert "until" in terminal.run("memories", "show", known).stdout

    handbook = terminal.data / "handbook.txt"
    handbook.write_text("Lamps are cleaned\non Fridays.\n\nShoes are not.\n")
    assert terminal.json("memories", "import", str(handbook), "--pool", "logic")["new"] == 2
    assert terminal.json("memories", "import", str(handbook), "--pool", "logic")["new"] == 0
    page = terminal.data / "page.html"
    page.write_text("<html><body><nav>Home</nav><article><p>Brass lamps are polished with lemon, every other week."
                    "</p></article></body></html>")  # fmt: skip
    assert terminal.json("memories", "import", str(page), "--pool", "logic")["imported"] == 1
    assert {one["answer"] for one in terminal.json("memories", "list", "--pool", "logic", "--kind", "knowledge")} == {
        "Brass lamps are polished with lemon, every other week.",
        "It opens at ten.",
        "Lamps are cleaned on Fridays.",
        "Shoes are not.",
    }
    best = terminal.json("memories", "list", "--pool", "logic", "--sort", "credibility", "--limit", "2")
    assert [len(best), best[0]["credibility"]["p"]] == [2, pytest.approx(1)]
    assert terminal.json("memories", "conflicts") == []

    assert terminal.json("memories", "forget", known, "--yes")["forgotten"] == [known]
    assert found() != ["It opens at ten."]


def test_a_wrong_line_imports_nothing(terminal: Terminal) -> None:
    before = terminal.json("memories", "stats")["by_pool"]
    file = terminal.data / "wrong.jsonl"
    file.write_text('{"pool": "poem", "answer": "fine"}\n{"pool": "poem"}\n')

    done = terminal.run("memories", "import", str(file), code=2)

    assert f"{file}:2" in done.stderr
    assert terminal.json("memories", "stats")["by_pool"] == before


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["submit", "poet", "x"], "poem"),
        (["submit", "poem", "x", "--kind", "haiku"], "limerick"),
        (["submit", "poem", "  "], "empty"),
        (["submit", "poem", "x" * 20_001], "20,000"),
        (["submit", "poem", "x", "--memories", "21"], "20"),
        (["worker", "poet"], "scorer"),
        (["memories", "search", "x", "--pool", "nowhere"], "poem"),
        (["trace", "no-such-task"], "no-such-task"),
        (["dead", "show", "no-such-letter"], "dead list"),
        (["submit", "--file", "no-such-file"], "no-such-file"),
        (["submit", "poem", "x", "--out", "results.jsonl"], "--file"),
        (["memories", "search", " ", "--pool", "poem"], "empty"),
        (["memories", "add", " ", "--pool", "poem"], "empty"),
        (["memories", "import", "no-such-file.txt", "--pool", "poem"], "no-such-file"),
        (["memories", "conflicts", "--pool", "nowhere"], "poem"),
        (["memories", "list", "--pool", "nowhere"], "poem"),
        (["memories", "export", "x.jsonl", "--pool", "nowhere"], "poem"),
    ],
)
def test_bad_input_is_one_clear_line(terminal: Terminal, words: list[str], expected: str) -> None:
    done = terminal.run(*words, code=2)

    assert expected in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_an_unknown_word_of_an_option_is_refused_with_those_that_there_are(terminal: Terminal) -> None:
    done = terminal.run("memories", "list", "--sort", "colour", code=2)

    assert "--sort" in done.stderr
    assert all(word in done.stderr for word in ("colour", "id", "time", "score", "credibility"))
    assert done.stdout == ""


def test_a_second_up_is_told_where_the_first_one_runs(terminal: Terminal) -> None:
    refused = terminal.run("up", "--flower-port", "0", "--port", "0", code=1).stderr

    assert str(terminal.data) in refused


def test_everything_is_there_after_up_was_started_again_and_no_process_once_it_was_ended_or_killed(
    tmp_path: Path,
) -> None:
    terminal = Terminal(tmp_path)
    process = terminal.up()
    memory = terminal.json("memories", "add", "Ink.", "--pool", "logic", "--prompt", "What is dark when it works?")[
        "id"
    ]
    task_id = terminal.run("submit", "logic", "A riddle about ink", "--kind", "riddle").stdout.strip()
    before = terminal.settled(task_id)
    end(process)
    assert children_of(tmp_path) == []

    process = terminal.up()

    assert terminal.json("trace", task_id) == before
    assert terminal.json("memories", "show", memory)["memory"]["answer"] == "Ink."
    assert len(children_of(tmp_path)) >= 3

    process.kill()
    process.communicate()

    wait_for(lambda: not children_of(tmp_path), 20, "the children to end")


def test_without_anything_running_the_message_says_what_to_start(tmp_path: Path) -> None:
    done = Terminal(tmp_path).run("submit", "poem", "x", code=1)

    assert "Start `memshare up`" in done.stderr
    assert str(tmp_path) in done.stderr


def test_results_that_cannot_be_written_are_known_before_anything_is_submitted(terminal: Terminal) -> None:
    tasks = terminal.data / "one.jsonl"
    tasks.write_text('{"agent": "poem", "prompt": "A limerick that nobody may read"}')
    before = terminal.json("dead", "list"), terminal.json("memories", "stats")["by_pool"]

    done = terminal.run("submit", "--file", str(tasks), "--wait", "--out", "/no/such/folder/o.jsonl", code=2)

    assert "/no/such/folder/o.jsonl" in done.stderr
    assert "submitted" not in done.stderr
    assert (terminal.json("dead", "list"), terminal.json("memories", "stats")["by_pool"]) == before


@pytest.mark.parametrize(
    ("name", "value", "code", "expected"),
    [
        ("MEMSHARE_REDIS_URL", "nonsense", 2, "redis://HOST"),
        ("MEMSHARE_MODEL", "parrot", 2, "openai:NAME"),
        ("MEMSHARE_MODEL", "openai:gpt-x", 2, "OPENAI_API_KEY"),
        ("MEMSHARE_AGENTS_DIR", "/no/such/folder", 2, "/no/such/folder"),
    ],
)
def test_up_says_at_once_what_it_cannot_work_with(
    tmp_path: Path, name: str, value: str, code: int, expected: str
) -> None:
    terminal = Terminal(tmp_path).without_model()
    terminal.environment[name] = value

    done = terminal.run("up", "--flower-port", "0", "--port", "0", code=code)

    assert expected in done.stderr
    assert children_of(tmp_path) == []
