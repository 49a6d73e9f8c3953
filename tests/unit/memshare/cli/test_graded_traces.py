"""`memshare memories import --from`: graded runs of another tool. The real command line, door and Redis."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

from memshare.cli.curate.graded_traces import show_graded
from memshare.files.graded.choosing import GradedFile
from memshare.files.pairs import SAME
from memshare_memory.curate.requests import NewMemory
from memshare_memory.door.client import MemoryClient
from memshare_memory.memory import Memory, memory_id
from memshare_memory.stores.store import Where
from tests.support.terminal import Terminal

DATA = Path(__file__).parents[3] / "data" / "graded"
TRACES = DATA / "langfuse_ui_traces.json"
IMPORT = (
    "memories",
    "import",
    str(TRACES),
    "--from",
    "langfuse",
    "--pool",
    "logic",
    "--new-pool",
    "--score",
    "correctness",
)


@pytest.fixture
def terminal(terminal: Terminal, memory: MemoryClient) -> Terminal:
    """A terminal of the machine on which the memory service runs."""
    memory.stats()
    return terminal


def test_a_dry_run_does_nothing_and_a_second_import_adds_nothing(terminal: Terminal, memory: MemoryClient) -> None:
    words = (*IMPORT, "--at-least", "0.5")
    seen = terminal.run(*words, "--dry-run").stdout

    assert "Nothing was done. It would import 4 memories of 7 runs: 4 new, 0 there already." in seen
    assert "What has teeth and bites nobody? → A comb." in seen
    assert memory.stats().total == 0

    first = terminal.json(*words, "--submitter", "ada")
    [kept] = [one for one in memory.every(Where()) if one.answer == "A comb."]
    again = terminal.json(*words, "--submitter", "bob")

    left_out = {"under the score": 1, "no such score": 1, "the same pair again": 1}
    assert {why: len(places) for why, places in first.pop("places").items()} == left_out
    assert first == {
        "runs": 7, "imported": 4, "new": 4, "there": 0, "left_out": left_out, "score": "correctness", "at_least": 0.5,
        "scale": [0, 1], "dry_run": False,
    }  # fmt: skip
    assert (again["new"], again["there"]) == (0, 4)
    assert memory.stats().total == 4
    assert [one for one in memory.every(Where()) if one.answer == "A comb."] == [kept]
    assert (kept.submitter, kept.score) == ("ada", pytest.approx(90))
    assert "Read in langfuse" in terminal.run("memories", "show", str(kept.id)).stdout


def test_a_table_needs_no_name_of_a_tool(terminal: Terminal, memory: MemoryClient) -> None:
    file = terminal.data / "graded.csv"
    file.write_text("prompt,answer,score\nWhat runs?,A river.,95\nWhat stands?,A dog.,5\n")

    found = terminal.json(
        "memories", "import", str(file), "--pool", "logic", "--new-pool", "--scale", "0:100", "--at-least", "80"
    )

    assert found["left_out"] == {"under the score": 1}
    assert [(one.prompt, one.score) for one in memory.every(Where())] == [("What runs?", 95)]


def test_what_is_not_clear_or_does_not_go_together_is_said_and_nothing_is_done(
    terminal: Terminal, memory: MemoryClient
) -> None:
    pairs = terminal.data / "pairs.jsonl"
    pairs.write_text(json.dumps({"prompt": "a", "answer": "b"}))

    for words, said in [
        (IMPORT, "say it with --at-least"),
        ((*IMPORT, "--at-least", "1", "--agent", "nobody"), "No agent is called 'nobody'"),
        ((*IMPORT[:6], "chess", *IMPORT[8:], "--at-least", "1"), "Nobody has the pool 'chess' (2 lines)"),
        (("memories", "import", str(pairs), "--pool", "logic", "--score", "tone"), "--score: only for graded"),
        (("memories", "import", str(pairs), "--kind", "riddle", "--at-least", "0"), "--at-least, --kind: only for"),
        (("memories", "import", str(pairs), "--facts", "--dry-run"), "leave --dry-run out"),
        ((*IMPORT, "--at-least", "1", "--mask-personal-data"), "pip install '.[personal-data]'"),
    ]:
        done = terminal.run(*words, code=None)
        assert done.returncode in (1, 2)
        assert said in " ".join(done.stderr.split())
    assert memory.stats().total == 0


def refused(
    terminal: Terminal, text: str | bytes, *words: str, name: str = "q.csv", command: str = "memories import"
) -> str:
    file = terminal.data / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return " ".join(terminal.run(*command.split(), str(file), *words, code=2).stderr.split())


def test_a_row_without_a_pool_is_refused_with_the_choices_though_one_pool_alone_has_memories(
    terminal: Terminal, memory: MemoryClient
) -> None:
    memory.add([NewMemory(pool="logic", answer="There already.", new_pool=True)])

    said = refused(terminal, "prompt,answer\nWhat runs?,A river.\n")
    document = refused(terminal, "A river runs.", name="q.txt")

    assert "no pool" in said
    assert "(--pool); there are logic" in said
    assert "with --pool; there are logic" in document
    assert memory.stats().total == 1


def test_all_kinds_of_faults_of_a_table_are_told_at_once(terminal: Terminal, memory: MemoryClient) -> None:
    rows = (
        "prompt,answer,stars,pool\nWhat runs?,A river.,4,nonesuch\nWhat sits?,A stone.,2,\nWhat is,it,a bee,4,logic\n"
    )

    said = refused(terminal, rows, "--score", "stars")

    for one in ("--scale LOW:HIGH", "say it with --at-least", "line 3: no pool", "line 4: more cells", "'nonesuch'"):
        assert one in said
    assert memory.stats().total == 0


def test_the_kind_of_an_agent_is_checked_before_anything_comes_in(terminal: Terminal, memory: MemoryClient) -> None:
    table = refused(terminal, "prompt,answer\nWhat runs?,A river.\n", "--agent", "logic", "--kind", "ridle")
    line = json.dumps({"prompt": "What runs?", "answer": "A river.", "agent": "logic", "kind": "ridle"})
    lines = refused(terminal, line, name="q.jsonl")
    rows = "prompt,answer,agent,kind\nWhat runs?,A river.,logic,ridle\nWhat sings?,A kettle.,logic,riddle\n"
    (terminal.data / "own.csv").write_text(rows)
    own = terminal.json("memories", "import", str(terminal.data / "own.csv"))

    assert all("has no kind 'ridle'. It has: " in said for said in (table, lines))
    assert (own["new"], own["left_out"]) == (1, {"no such kind of its agent": 1})
    [kept] = memory.every(Where())
    assert (kept.pool, kept.agent, kept.kind) == ("logic", "logic", "riddle")


def test_a_row_that_stands_twice_is_counted(terminal: Terminal) -> None:
    file = terminal.data / "twice.csv"
    file.write_text("prompt,answer\nWhat runs?,A river.\nWhat sings?,A kettle.\nWhat runs?,A river.\n")

    found = terminal.run("memories", "import", str(file), "--pool", "logic", "--new-pool").stdout

    assert "Imported 2 memories of 3 rows: 2 new" in " ".join(found.split())
    assert re.search(r"the same pair again +1 +line 4", found)


@pytest.mark.parametrize("name", ["pairs.JSONL", "pairs.txt", "pairs.jsonl.gz", "pairs", "-"])
def test_a_dry_run_of_lines_needs_no_name_of_a_tool(terminal: Terminal, memory: MemoryClient, name: str) -> None:
    lines = '{"prompt": "What runs?", "answer": "A river."}\n' * 2
    file = terminal.data / name
    file.write_bytes(gzip.compress(lines.encode()) if name.endswith(".gz") else lines.encode())
    words = ("memories", "import", name if name == "-" else str(file), "--pool", "logic", "--new-pool")

    said = terminal.run(*words, "--dry-run", stdin=lines).stdout

    assert "Nothing was done. It would import 1 memory: 1 new" in said
    assert "1 left out: the same pair again (line 2)." in said
    assert memory.stats().total == 0
    told = json.loads(terminal.run(*words, "--json", stdin=lines).stdout)
    assert told == {"imported": 1, "new": 1, "there": 0, "doubled": 1, "places": {SAME: ["line 2"]}}


def test_a_table_is_known_by_its_header_where_its_name_does_not_say(terminal: Terminal, memory: MemoryClient) -> None:
    file = terminal.data / "export.txt"
    file.write_text("prompt\tanswer\nWhat runs?\tA river.\n")

    terminal.run("memories", "import", str(file), "--pool", "logic", "--new-pool")

    assert [(one.prompt, one.answer) for one in memory.every(Where())] == [("What runs?", "A river.")]


def test_all_that_is_wrong_with_a_pool_is_said_at_once(terminal: Terminal) -> None:
    said = refused(terminal, "prompt,answer\nWhat runs?,A river.\n", "--pool", "museum")

    assert "Nobody has the pool 'museum' (1 line)" in said
    assert "No agent answers from this pool: 'museum'" in said


@pytest.mark.parametrize("command", ["submit logic --file", "learn", "seed", "memories import"])
def test_a_table_of_an_older_spreadsheet_is_refused_with_what_to_do(terminal: Terminal, command: str) -> None:
    table = "prompt;answer\nWas läuft?;Ein Fluß.\n"

    for encoding, expected in (("cp1252", ".csv:2: byte 6 of the line, 0xe4, is not UTF-8"), ("utf-16", "UTF-16 text")):
        said = refused(terminal, table.encode(encoding), command=command)

        assert expected in said
        assert said.count('Save a table as "CSV UTF-8"') == 1


@pytest.mark.parametrize("command", ["submit --file", "learn", "memories import"])
def test_a_workbook_is_named_in_the_words_of_the_page(terminal: Terminal, command: str) -> None:
    said = refused(terminal, "PK\x03\x04 a workbook", command=command, name="q.xlsx")

    assert 'Save a workbook as "CSV UTF-8". Save a document as text or PDF.' in said
    assert "iconv" not in said


@pytest.mark.parametrize(("score", "said"), [(None, "They have no score."), (100.0, "by the programs of the agent's")])
def test_what_a_rubrics_programs_graded_has_a_score(
    score: float | None, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    one = Memory(id=memory_id("logic", "1+1", "2"), pool="logic", prompt="1+1", answer="2", created=0, score=score)

    show_graded(GradedFile([one], {}, {}, None, None, (0, 1)), "table", [one], dry_run=False, as_json=False)

    assert said in " ".join(capsys.readouterr().out.split())
