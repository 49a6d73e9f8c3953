"""What a curator types: forget, trash, restore, purge, edit, know, import. The real command line, door and Redis."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from uuid import UUID

import pytest
import redis

from memshare.client.client import Client
from memshare_broker.delivery.dead_letters import letter_for
from memshare_broker.delivery.schema import Entry
from memshare_broker.errors import GiveUp
from memshare_broker.settings import Settings
from memshare_memory.curate.requests import Edit, NewMemory
from memshare_memory.door.client import MemoryClient
from memshare_memory.memory import Memory
from memshare_memory.people import WrongAnswer, note_wrong
from memshare_trainer.learn import LearnStage
from memshare_trainer.lesson_log import LessonLog
from tests.support import prepared_python
from tests.support.deployment import ROOT, patient, wait_for
from tests.support.lessons import ENCODER as FORMS
from tests.support.lessons import FormLabeller, lesson, let_wait, notice, word
from tests.support.memories import remembered
from tests.support.terminal import Terminal


@pytest.fixture
def terminal(terminal: Terminal, memory: MemoryClient) -> Terminal:
    """A terminal of the machine on which the memory service runs."""
    memory.stats()
    terminal.environment["COLUMNS"] = "80"
    return terminal


def add(memory: MemoryClient, answer: str, **fields: object) -> str:
    new = NewMemory.model_validate({"pool": "poem", "answer": answer, "new_pool": True, **fields})
    return str(memory.add([new])[0])


def typed(terminal: Terminal, tmp_path: Path, answer: str, *words: str) -> tuple[int, str]:
    """Run a command at a real terminal, where a person types an answer; returns exit code and what was said."""
    ours, theirs = pty.openpty()
    (said := tmp_path / "said").touch()
    os.write(ours, f"{answer}\n".encode())
    process = prepared_python.start(words, terminal.environment, [Path(os.ttyname(theirs)), said, said])
    code = process.wait(patient(60))
    os.close(theirs)
    os.close(ours)
    return code, said.read_text()


def test_forgetting_shows_what_would_go_and_does_nothing_without_a_yes(
    terminal: Terminal, memory: MemoryClient
) -> None:
    one = add(memory, "Red as a lamp.", prompt="A lamp", submitter="ada")
    add(memory, "Old as a shoe.", prompt="A shoe", submitter="bob")

    refused = terminal.run("memories", "forget", one[:8], code=2)
    looked = terminal.json("memories", "forget", "--submitter", "ada", "--dry-run")["would_forget"]

    assert "1 memory would be forgotten (poem 1)." in refused.stderr
    assert "Red as a lamp." in refused.stderr
    assert "--yes" in refused.stderr
    assert (looked["memories"], looked["examples"][0]["id"]) == (1, one)
    assert memory.stats().total == 2

    assert terminal.json("memories", "forget", one[:8], "--yes") == {"forgotten": [one], "retrievers": [], "stale": 0}
    assert memory.stats().total == 1


@pytest.mark.parametrize(("answer", "code", "left"), [("n", 1, 1), ("y", 0, 0)])
def test_a_person_at_a_terminal_is_asked(
    terminal: Terminal, memory: MemoryClient, tmp_path: Path, answer: str, code: int, left: int
) -> None:
    one = add(memory, "Red as a lamp.")

    ended, said = typed(terminal, tmp_path, answer, "memories", "forget", one)

    assert "Forget them? [y/N]" in said
    assert (ended, memory.stats().total) == (code, left)


def test_everybody_who_gave_no_name_is_not_forgotten_by_a_yes_alone(terminal: Terminal, memory: MemoryClient) -> None:
    add(memory, "Red as a lamp.")
    everybody = ("memories", "forget", "--submitter", "anonymous", "--yes")

    assert "--all-anonymous" in terminal.run(*everybody, code=2).stderr
    assert memory.stats().total == 1

    assert len(terminal.json(*everybody, "--all-anonymous")["forgotten"]) == 1


@pytest.mark.parametrize("memories", [0, 1])
def test_what_a_person_said_is_unlearnt_with_their_memories_and_without_any(
    terminal: Terminal, memory: MemoryClient, redis_client: redis.Redis, memories: int
) -> None:
    for number in range(memories):
        add(memory, f"Red as lamp {number}.", submitter="mallory")
    terminal.environment["MEMSHARE_ENCODER"] = FORMS
    stage = LearnStage(redis_client, FormLabeller(), kept=2_000, keep_days=1)  # type: ignore[arg-type]
    for number in range(12):
        by = "mallory" if number < 2 else "bob"
        stage.run(f"lesson {number}", lesson(number, by=by, whose=("ada",)))
    let_wait(redis_client, word("mallory", 70, of="ada"), word("bob", 70, of="ada"))
    stage.run("said", notice("said"))
    forget = ("memories", "forget", "--submitter", "mallory", "--yes")
    log = LessonLog(redis_client, "poem", FORMS, kept=2_000, keep_days=1)

    (kept,) = terminal.json(*forget, "--keep-retriever")["retrievers"]
    assert (kept["lessons"], kept["evidence"], kept["rolled_back"]) == (2, 1, False)
    assert len(log.said()) == 2
    done = terminal.json(*forget, "--roll-back")

    assert done["retrievers"] == [{"pool": "poem", "lessons": 2, "evidence": 1, "rolled_back": True, "version": 0}]
    assert [one.by for one in log.said()] == ["bob"]
    assert len([*log.lessons(), *log.held_out()]) == 10
    assert terminal.json(*forget, "--roll-back")["retrievers"] == []


def test_what_was_forgotten_is_listed_and_brought_back(terminal: Terminal, memory: MemoryClient) -> None:
    one = add(memory, "Red as a lamp.", prompt="A lamp", score=80)
    before = memory.get(UUID(one))
    terminal.run("memories", "forget", one, "--yes")

    assert [item["memory"]["id"] for item in terminal.json("memories", "trash")["memories"]] == [one]
    assert one[:8] in terminal.run("memories", "trash").stdout
    assert terminal.json("memories", "restore", one[:8]) == {"restored": [one], "there": []}
    assert memory.get(before.id) == before
    assert terminal.run("memories", "trash").stdout.strip() == "The trash is empty."
    assert "begins with 'ffffffff'" in terminal.run("memories", "restore", "ffffffff", code=2).stderr


def test_a_purge_leaves_exported_files_as_they_are_and_says_so(
    terminal: Terminal, memory: MemoryClient, tmp_path: Path
) -> None:
    one = add(memory, "A secret.", submitter="ada")
    file = tmp_path / "pool.jsonl"
    terminal.run("memories", "export", str(file))
    before = file.read_text()
    terminal.run("memories", "forget", one, "--yes")

    purged = terminal.run("memories", "purge", one[:8], "--yes")

    assert "exported files and other copies that people made are not touched" in " ".join(purged.stderr.split())
    assert file.read_text() == before
    assert terminal.json("memories", "trash")["total"] == 0
    assert terminal.run("memories", "restore", one, code=2).stderr


def test_an_edit_keeps_what_was_said_and_who_changed_it_and_clears_score_and_model(
    terminal: Terminal, memory: MemoryClient
) -> None:
    lamp: Memory = remembered("A lamp", answer="Red.", score=90, model="offline", rubric_version="1")[0]
    memory.restore([lamp])

    changed = terminal.json("memories", "edit", str(lamp.id)[:8], "--answer", "Green.", "--by", "eve")
    hidden = terminal.json("memories", "edit", str(lamp.id), "--status", "hidden")

    assert (changed["id"], changed["answer"]) == (str(lamp.id), "Green.")
    assert (changed["score"], changed["model"], changed["rubric_version"]) == (None, None, None)
    [revision] = changed["history"]
    assert (revision["answer"], revision["by"], revision["score"], revision["model"]) == ("Red.", "eve", 90, "offline")
    assert hidden["history"] == changed["history"], "the same text is no revision"
    shown = terminal.run("memories", "show", str(lamp.id)).stdout
    assert "when eve changed it" in shown
    assert "Red." in shown


def test_a_statement_about_a_question_is_found_by_it_and_listed_with_the_others(
    terminal: Terminal, memory: MemoryClient
) -> None:
    add(memory, "Red as a lamp.", prompt="A lamp")
    add(memory, "Shoes are old.")
    words = ("memories", "add", "It opens at nine.", "--pool", "poem", "--about", "When does it open?")

    statement = terminal.json(*words)["id"]

    [found] = terminal.json("memories", "search", "When does it open?", "--pool", "poem", "-k", "1")["memories"]
    assert found["memory"]["id"] == statement
    listed = terminal.json("memories", "list", "--kind", "knowledge")
    assert [one["answer"] for one in listed] == ["It opens at nine.", "Shoes are old."]
    assert "--about is for a statement" in terminal.run(*words, "--prompt", "A riddle", code=2).stderr


def derived(memory: MemoryClient, prompt: str, *parents: str) -> str:
    """An answer that was written from some memories."""
    pair = remembered(prompt, answer=f"{prompt}: closed on Mondays.", parents=tuple(map(UUID, parents)), task_id="t")[0]
    return str(memory.restore([pair])[0])


def test_changing_a_statement_reaches_what_was_written_from_it(terminal: Terminal, memory: MemoryClient) -> None:
    statement = add(memory, "The museum is closed on Mondays.", prompt="When?", kind="knowledge")
    child = derived(memory, "The museum", statement)
    grandchild = derived(memory, "The town", child)

    changed = terminal.run("memories", "edit", statement[:8], "--answer", "The museum is closed on Tuesdays.")

    assert "2 memories written from it: stale now" in changed.stderr
    assert {memory.get(UUID(one)).status for one in (child, grandchild)} == {"stale"}
    for more in ((), ("--sort", "credibility")):
        listed = terminal.run("memories", "list", "--pool", "poem", "--status", "stale", *more).stdout
        assert f"{statement[:8]} was changed" in " ".join(listed.split())
    assert "of which 1 are stale" in terminal.run("memories", "show", statement).stdout
    assert terminal.json("memories", "edit", statement[:8], "--status", "hidden")["stale"] == 0
    assert terminal.json("memories", "edit", statement[:8], "--answer", "On Fridays.")["stale"] == 2

    back = terminal.run("memories", "edit", statement[:8], "--answer", "The museum is closed on Mondays.")
    assert ("shown again: 2 memories." in back.stdout, "stale" in back.stderr) == (True, False)
    assert {memory.get(UUID(name)).status for name in (child, grandchild)} == {"active"}


def test_forgetting_a_statement_reaches_what_was_written_from_it(terminal: Terminal, memory: MemoryClient) -> None:
    statement = add(memory, "The museum is closed.", kind="knowledge")
    child = derived(memory, "The museum", statement)

    assert terminal.json("memories", "forget", statement, "--yes")["stale"] == 1

    assert memory.get(UUID(child)).status == "stale"
    terminal.run("memories", "restore", statement)
    assert memory.get(UUID(child)).status == "active"
    refused = terminal.run("memories", "forget", statement, "--with-children", code=2)
    assert "2 memories would be forgotten (poem 2); 1 of them derived" in refused.stderr
    gone = terminal.json("memories", "forget", statement, "--with-children", "--yes")
    assert set(gone["forgotten"]) == {statement, child}


def test_a_list_says_which_memory_a_person_found_wrong(terminal: Terminal, memory: MemoryClient) -> None:
    pair = [remembered("red lamp", answer=answer)[0] for answer in ("It is on.", "It is off.")]
    right, wrong = map(str, memory.restore(pair))
    assert "found wrong" not in terminal.run("memories", "list").stdout

    terminal.run("memories", "conflicts", "--right", right, wrong)

    [row] = [line for line in terminal.run("memories", "list").stdout.split("\n") if "found wrong" in line]
    assert row.startswith(wrong[:8])


def test_who_names_a_forgotten_memory_is_led_to_the_trash(terminal: Terminal, memory: MemoryClient) -> None:
    [lamp] = map(str, memory.restore([remembered("red lamp", answer="It is on.")[0]]))
    terminal.run("memories", "forget", lamp, "--yes")

    assert "`memshare memories trash`" in terminal.run("memories", "show", lamp[:8], code=2).stderr


def test_memories_are_listed_and_searched_by_conditions_and_sorted(terminal: Terminal, memory: MemoryClient) -> None:
    def put(prompt: str, created: float, score: float, **fields: object) -> str:
        made = remembered(prompt, answer=f"About {prompt}.", created=created, score=score, **fields)[0]
        return str(memory.restore([made])[0])

    may = put("red lamp", 1_777_593_600, 50, submitter="ada")
    july = put("blue lamp", 1_782_864_000, 90, submitter="bob", status="stale")
    hidden = put("old lamp", 1_782_864_000, 70, status="hidden")

    def listed(*words: str) -> list[str]:
        return [one["id"] for one in terminal.json("memories", "list", "--pool", "poem", *words)]

    assert listed("--sort", "score") == listed("--sort", "score", "--status", "any") == [july, hidden, may]
    heads = [terminal.run("memories", "list", *words).stdout.split("\n")[0] for words in ((), ("--pool", "poem"))]
    assert ["pool" in one for one in heads] == [True, False]
    assert listed("--sort", "time", "--ascending", "--limit", "1") == [may]
    assert listed("--since", "2026-06-01", "--status", "stale") == [july]
    refused = terminal.run("memories", "list", "--until", "2026-06-01T10:00", code=2).stderr
    assert "until: expected a day such as 2026-11-24 (UTC)" in refused
    assert listed("--score-from", "60", "--score-to", "80") == [hidden]
    assert set(listed("--word", "lamp", "--word", "ABOUT", "--until", "2026-07-01")) == {may, july, hidden}
    assert listed("--credibility-from", "1.1") == []
    assert len(terminal.json("memories", "list", "--sort", "credibility", "--limit", "2")) == 2
    found = terminal.json("memories", "search", "a lamp", "--pool", "poem", "--submitter", "ada", "--score-to", "50")
    assert [one["memory"]["id"] for one in found["memories"]] == [may]
    assert "At most 1,000" in terminal.run("memories", "list", "--sort", "score", "--limit", "2000", code=2).stderr


def test_an_import_counts_what_was_new_and_begins_no_pool_by_a_slip_of_the_pen(
    terminal: Terminal, memory: MemoryClient, tmp_path: Path
) -> None:
    add(memory, "There already.")
    file = tmp_path / "pairs.jsonl"
    lines = [{"pool": "poem", "answer": answer} for answer in ("There already.", "New.", "New.")]
    file.write_text("\n".join(map(json.dumps, [*lines, {"pool": "chess", "answer": "Castle early."}])))

    refused = terminal.run("memories", "import", str(file), code=2)

    assert "Nobody has the pool 'chess' (1 line)" in refused.stderr
    assert memory.stats().by_pool == {"poem": 1}
    imported = terminal.json("memories", "import", str(file), "--new-pool")
    doubled = {"doubled": 1, "places": {"the same pair again": ["line 3"]}}
    assert imported == {"imported": 3, "new": 2, "there": 1, **doubled}
    assert memory.stats().by_pool == {"chess": 1, "poem": 2}
    assert terminal.json("memories", "import", str(file)) == {"imported": 3, "new": 0, "there": 3, **doubled}


def test_an_import_that_is_stopped_says_how_many_are_in_and_that_the_same_command_goes_on(
    terminal: Terminal, memory: MemoryClient, tmp_path: Path
) -> None:
    file = tmp_path / "pairs.jsonl"
    file.write_text("\n".join(json.dumps({"pool": "poem", "answer": f"Lamp {number}."}) for number in range(20_000)))
    words = ("memories", "import", str(file), "--new-pool")
    process = subprocess.Popen(
        [sys.executable, "-m", "memshare", *words],
        cwd=ROOT, env=terminal.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    wait_for(lambda: memory.stats().total, 60, "the first memories")
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[1]

    assert process.returncode == 130, said
    assert "of 20,000 memories are in. Run the same command again to go on" in " ".join(said.split())
    assert memory.stats().total < 20_000


def test_a_second_import_of_a_document_says_that_nothing_was_new(terminal: Terminal, tmp_path: Path) -> None:
    file = tmp_path / "handbook.txt"
    file.write_text("Lamps are cleaned.\n\nShoes are not.\n")
    words = ("memories", "import", str(file), "--pool", "reasoning")

    assert terminal.json(*words) == {"imported": 2, "new": 2, "there": 0}
    assert terminal.json(*words) == {"imported": 2, "new": 0, "there": 2}


def test_who_forgets_nothing_is_not_told_how_to_bring_it_back(terminal: Terminal) -> None:
    said = terminal.run("memories", "forget", "--submitter", "nobody", "--yes").stdout

    assert "0 memories were forgotten" in said
    assert "restore" not in said


def test_the_only_pool_with_memories_need_not_be_named_to_find_what_is_untidy(
    terminal: Terminal, memory: MemoryClient
) -> None:
    one = add(memory, "Red as a lamp.")

    assert terminal.json("memories", "untidy", "--days", "0")["never_of_use"] == [one]


def test_dead_letters_of_a_reason_are_dropped_together_after_a_yes(terminal: Terminal, settings: Settings) -> None:
    with closing(Client(settings)) as client:
        for name, reason in (("t1", "refused"), ("t2", "refused"), ("t3", "credentials")):
            entry = Entry(id=name, task="agents.poem", queue="poem", body={}, journey=name, stage="answer", begins=True)
            client.ledger.open(entry)
            assert client.dead_letters.add(letter_for(entry, GiveUp("No.", reason=reason), tries=1))
    words = ("dead", "drop", "--reason", "refused")

    refused = terminal.run(*words, code=2).stderr

    assert "2 dead letters would be dropped" in refused
    assert len(terminal.json("dead", "list")) == 3
    assert sorted(terminal.json(*words, "--yes")["dropped"]) == ["t1", "t2"]
    assert [one["id"] for one in terminal.json("dead", "list")] == ["t3"]
    assert "Give the id of a dead letter, or --all" in terminal.run("dead", "drop", code=2).stderr
    assert terminal.json("dead", "drop", "--all", "--yes") == {"dropped": ["t3"]}
    assert re.search(r"dropped by \S+, [\d-]+ [\d:]+ UTC, chosen with 1 other\n", terminal.run("trace", "t1").stdout)
    assert re.search(r"dropped by \S+, [\d-]+ [\d:]+ UTC\n", terminal.run("trace", "t3").stdout)
    noted = (log := terminal.data / "logs" / "commands.log").read_text()
    assert [noted.count(f"message={one} ") for one in ("t1", "t2", "t3")] == [1, 1, 1]
    log.unlink()
    log.mkdir()
    told = terminal.run("token", "create", "ada", "--may", "admin", "--pools", "*").stderr
    assert (told.count("commands.log cannot be written"), told.count("create a token. caller=")) == (1, 1)
    assert "No pool" not in told
    assert (
        "No pool is called 'nopool' yet."
        in terminal.run("token", "create", "bea", "--may", "recall", "--pools", "poem,nopool").stderr
    )


@pytest.mark.parametrize("wrong", ["1c6f", "no id at all", "1c6fa3b2zz"])
def test_what_is_no_id_is_told_from_one_that_nobody_has(terminal: Terminal, wrong: str) -> None:
    assert "is no id of a memory" in terminal.run("memories", "show", wrong, code=2).stderr


def test_the_beginning_of_an_id_that_means_two_memories_is_refused_with_both(
    terminal: Terminal, memory: MemoryClient
) -> None:
    ids = [f"1c6fa3b2-0000-5000-8000-00000000000{number}" for number in (1, 2)]
    memory.restore([remembered(f"lamp {one}")[0].model_copy(update={"id": UUID(one)}) for one in ids])

    refused = terminal.run("memories", "show", "1C6FA3B2", code=2)

    assert all(one in refused.stderr for one in ids)
    assert ids[1] in terminal.run("memories", "show", ids[1]).stdout
    assert terminal.run("memories", "show", "1c6fa3b3", code=2)


def test_the_checks_are_run_again_and_a_memory_says_why_it_is_hidden_and_until_when_it_is_valid(
    terminal: Terminal, memory: MemoryClient, tmp_path: Path
) -> None:
    agents = tmp_path / "agents"
    agents.mkdir()
    (agents / "city.toml").write_text(
        'description = "Names."\npool = "city"\nrubric = "city"\ninstructions = "Name it."\n'
    )
    criterion = '[[criteria]]\nname = "right"\npoints = 100\ndescription = "A city."\n'
    check = 'check = "memshare_scorer.checks.texts:contains"\noptions = {texts = ["city"]}\n'
    (agents / "city.rubric.toml").write_text(f'domain = "Cities."\n{criterion}{check}')
    terminal.environment["MEMSHARE_AGENTS_DIR"] = str(agents)
    ids = [add(memory, text, pool="city", prompt=text) for text in ("A city", "Another city", "A town")]
    recheck = ("memories", "recheck", "--pool", "city")

    assert "approved rubric" in terminal.run(*recheck, code=2).stderr
    terminal.run("rubric", "approve", str(agents / "city.rubric.toml"), "--yes")
    assert "1 failed, 0 hidden" in terminal.run(*recheck, "--dry-run").stdout
    [done] = terminal.json(*recheck)

    assert (done["checked"], done["hidden"], done["why"]) == (3, ids[2:], None)
    assert "Hidden: checked again by the rubric 'city'" in terminal.run("memories", "show", ids[2]).stdout
    for one in ids[:2]:
        terminal.run("memories", "edit", one, "--answer", "A town", "--valid-until", "2099-12-31")
    assert "valid until 2099-12-31" in terminal.run("memories", "show", ids[0]).stdout
    assert "0 memories checked" in terminal.run(*recheck, "--agent", "city").stdout
    broken = terminal.run(*recheck, code=1)
    assert "2 of 2 memories fail, which is more than half" in " ".join(broken.stderr.split())
    assert memory.get(UUID(ids[0])).status == "active"


def test_who_says_what_is_asked_by_a_question_or_by_a_memory(terminal: Terminal, memory: MemoryClient) -> None:
    one = add(memory, "On Mondays.", prompt="When is it closed?", submitter="ada")
    add(memory, "on mondays", prompt="When is it closed", submitter="bob")
    add(memory, "On Tuesdays.", prompt="When is it closed?", submitter="bob")

    told = " ".join(terminal.run("memories", "views", "When is it closed?", "--pool", "poem").stdout.split())
    found = terminal.json("memories", "views", one[:8])
    none = terminal.run("memories", "views", "Who built the tower?").stdout

    assert "pool poem · 2 views" in told
    assert "1 · by ada, bob · since" in told
    assert "credibility 1.00, 0 verdicts · not graded" in told
    assert [one["held_by"] for one in found["views"]] == [{"ada": 1, "bob": 1}, {"bob": 1}]
    assert "No memory answers that" in none


def test_where_nothing_was_learnt_a_search_has_the_nearest_first(terminal: Terminal, memory: MemoryClient) -> None:
    for prompt in ("Which books by Ursula Abbott are lent?", "Which books by Kenji Tachiyama are new?"):
        add(memory, "A list.", prompt=prompt)
    words = "memories", "search", "Which books by Kenji Tachiyama are lent?", "--pool", "poem"

    assert [round(one["similarity"], 3) for one in terminal.json(*words)["memories"]] == [0.714, 0.857], (
        "as agents are shown them"
    )
    said = " ".join(terminal.run(*words).stdout.split())
    assert said.index("0.857") < said.index("0.714") < said.index("nothing was learnt yet")


def test_an_import_leaves_out_what_was_called_wrong_and_names_it(
    terminal: Terminal, memory: MemoryClient, redis_client: redis.Redis, tmp_path: Path
) -> None:
    add(memory, "There already.")
    word = WrongAnswer(memory=UUID(int=1), pool="poem", prompt="A lamp?", submitter="bob", curated=True, by="cora")
    note_wrong(redis_client, "It shines.", word)
    file = tmp_path / "pairs.jsonl"
    pairs = [{"pool": "poem", "prompt": prompt, "answer": "It shines."} for prompt in ("A lamp?", "A star?")]
    file.write_text("\n".join(map(json.dumps, pairs)))

    done = terminal.run("memories", "import", str(file))

    assert "Imported 1 memory: 1 new" in done.stdout
    assert "Left out: line 1, 'A lamp?': This answer was called wrong by 'cora'" in " ".join(done.stderr.split())


def test_adding_what_is_hidden_in_the_pool_says_so_and_how_to_show_it(terminal: Terminal, memory: MemoryClient) -> None:
    known = add(memory, "It shines.")
    words = ("memories", "add", "It shines.", "--pool", "poem")
    assert terminal.run(*words).stderr == ""
    memory.edit(Edit(id=UUID(known), status="hidden"))

    done = terminal.run(*words)

    assert done.stdout.strip() == known
    told = " ".join(done.stderr.split())
    assert f"but hidden: `memshare memories edit {known[:8]} --status active` shows it again." in told
    memory.edit(Edit(id=UUID(known), answer="It is dark."))
    told = " ".join(terminal.run(*words).stderr.split())
    assert f"changed since: `memshare memories show {known[:8]}` has what it says now." in told
