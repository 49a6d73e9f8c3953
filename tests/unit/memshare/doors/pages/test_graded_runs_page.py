"""Graded runs on the page: what a file would bring in and why not the rest, then the same file brought in."""

from __future__ import annotations

import html
import io
import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from pypdf import PdfWriter

from memshare.operations.backend import Backend
from memshare_memory.door.client import MemoryClient
from memshare_memory.stores.store import Where
from tests.unit.memshare.doors.conftest import Tokened
from tests.unit.memshare.doors.pages.journey_records import text_of

FROM_PAGE = {"origin": "http://127.0.0.1"}
EXPORT = (Path(__file__).parents[4] / "data" / "graded" / "langfuse_ui_traces.json").read_text(encoding="utf-8")


def test_an_export_is_looked_at_and_then_brought_in(here: TestClient, memory: MemoryClient) -> None:
    given = {"lines": EXPORT, "pool": "logic", "new_pool": "yes"}
    given |= {"source": "langfuse", "score": "correctness", "at_least": "0.85", "scale": ""}

    seen = here.post("/pool/import", data=given, headers=FROM_PAGE).text

    assert "New 3" in text_of(seen)
    assert "Left out: under the score 2" in text_of(seen)
    assert memory.stats().total == 0
    form = seen[seen.index('class="actions"') :].split("</form>")[0]
    hidden = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form))
    lines = html.unescape(re.findall(r'<textarea name="lines" hidden>(.*?)</textarea>', form, re.DOTALL)[0])
    done = here.post("/pool/import", data=hidden | {"lines": lines, "seen": "yes"}, headers=FROM_PAGE)
    assert "Brought in: 3 new memories" in text_of(done.text)
    assert {one.score for one in memory.every(Where())} == {90, 100}


def locked() -> bytes:
    """A PDF that takes a password."""
    writer, into = PdfWriter(), io.BytesIO()
    writer.add_blank_page(100, 100)
    writer.encrypt("secret")
    writer.write(into)
    return into.getvalue()


TABLE = b"prompt,answer\nWhat runs?,A river.\n"


def sent(here: TestClient, name: str, raw: bytes, **chosen: str) -> str:
    files = {"lines": (name, raw, "text/csv")}
    return here.post("/pool/import", data={"pool": "bikes", **chosen}, files=files, headers=FROM_PAGE).text


@pytest.mark.parametrize("name", ["pairs.csv", "PAIRS.TSV"])
def test_a_file_is_what_its_name_says_unless_somebody_says_otherwise(here: TestClient, name: str) -> None:
    raw = TABLE.replace(b",", b"\t") if name.endswith("TSV") else TABLE

    assert "Bring 1 new memory in" in sent(here, name, raw, new_pool="yes")
    as_lines = text_of(sent(here, name, raw, new_pool="yes", source="memories"))
    assert "called NAME.txt" in as_lines
    assert as_lines.count("no JSON, as in all lines: expected") == as_lines.count("called NAME.csv") == 1


def test_a_document_is_a_statement_a_paragraph_and_bad_ones_are_refused_in_a_sentence(here: TestClient) -> None:
    seen = sent(here, "town.html", b"<p>The town hall has a green roof.</p><p>Its clock is late.</p>", new_pool="yes")
    assert "Bring 2 new memories in" in seen
    assert "{&#34;answer&#34;: &#34;Its clock is late.&#34;}" in seen

    assert "locked.pdf' cannot be read as a PDF: File has not been decrypted." in text_of(
        sent(here, "locked.pdf", locked())
    )
    assert "binary.txt is no text: it is a picture" in text_of(sent(here, "binary.txt", bytes(range(256))))
    assert "There is no text in 'empty.md'." in text_of(sent(here, "empty.md", b""))
    assert "call it NAME.pdf" in text_of(sent(here, "book.txt", b"%PDF-1.4"))


def test_a_large_file_of_who_may_bring_one_in_is_looked_at_and_brought_in_by_a_job(
    here: TestClient, tokened: Tokened
) -> None:
    large = b"prompt,answer\n" + b"What runs?,A river.\n" * 100_000
    seen = sent(here, "pairs.csv", large, new_pool="yes")
    assert "Bring 1 new memory in" in seen
    assert 'action="/jobs"' in seen
    assert 'name="kind" value="import"' in seen

    some = {"lines": ("pairs.csv", large, "text/csv")}
    curator = tokened("curator", "curate", pools=None)
    assert curator.post("/pool/import", files=some, headers=FROM_PAGE).status_code == 403


def test_a_document_that_is_too_long_as_lines_is_refused_with_the_limit_and_what_to_do(here: TestClient) -> None:
    said = text_of(sent(here, "rules.txt", b"No dogs in here.\n\n" * 900_000))

    assert "rules.txt has 27,899,999 bytes as statements, and at most 16,777,216 are taken: split it in two." in said


def test_a_file_that_is_too_large_is_refused_with_the_limit_and_what_to_do(here: TestClient) -> None:
    said = text_of(sent(here, "pairs.csv", b"x" * 2**24))

    assert re.search(
        r"The request has 16,77\d,\d{3} bytes, and at most 16,777,216 \(16 MiB\) are taken: split it", said
    )
    assert "memshare memories import FILE" in said


def test_a_refusal_has_the_words_of_the_form_and_keeps_what_was_chosen(here: TestClient) -> None:
    unknown = sent(here, "pairs.csv", TABLE, scale="1:5")
    assert "“New pools may begin” lets it begin" in text_of(unknown)
    assert 'value="bikes"' in unknown
    assert 'name="scale" placeholder="1:5" value="1:5"' in unknown

    scored = TABLE.replace(b"answer", b"answer,score").replace(b"river.", b"river.,3")
    unclear = sent(here, "pairs.csv", scored, new_pool="yes", source="table")
    assert "with “Its scale, if not 0:1”, such as 1:5" in text_of(unclear)
    assert 'name="new_pool" value="yes" checked' in unclear
    assert '<option selected value="table">' in unclear


@pytest.mark.parametrize(
    ("name", "raw", "said"),
    [
        ("pairs.xlsx", b"PK\x03\x04\xff", 'pairs.xlsx is a workbook, or another zip file. Save'),
        ("pairs.csv", TABLE + "Was läuft?,Ein Fluß.\n".encode("cp1252"), "pairs.csv:3: byte 6 of the line, 0xe4, is"),
        ("pairs.csv", TABLE.decode().encode("utf-16"), "pairs.csv is UTF-16 text"),
        ("pairs.csv", b"", "The file is empty"),
        ("pairs.csv", b"prompt,answer\n", "The file has a header and no rows."),
        ("pairs.csv", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0", "pairs.csv is no text: it is a picture,"),
        ("pairs.csv", b"prompt\nWhat runs?\n", "The file has the columns 'prompt'. Expected is a row with"),
        ("pairs.csv", b"\x1f\x8b", "pairs.csv is packed with gzip: unpack it first"),
        ("pairs.csv", "prompt".encode("utf-16-le"), "pairs.csv:1: byte 2 of the line, 0x00, is not UTF-8"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_text_is_refused_by_its_name_and_what_was_chosen_stays(
    here: TestClient, name: str, raw: bytes, said: str
) -> None:
    refused = sent(here, name, raw, new_pool="yes", source="table", score="stars", at_least="4")

    assert said in text_of(refused)
    assert 'name="new_pool" value="yes" checked' in refused
    assert '<option selected value="table">' in refused
    assert all(f'value="{one}"' in refused for one in ("bikes", "stars", "4"))


@pytest.mark.parametrize(
    ("path", "on", "given", "kept"),
    [
        ("/pool", "/pool", {"pool": "museum", "kind": "k1", "prompt": "<What>?", "answer": "A lamp."},
         ['value="museum"', 'value="k1"', "&lt;What&gt;?</textarea>", "A lamp.</textarea>", 'id="bring-in" open']),
        ("/journeys", "/", {"what": "poem/haiku", "prompt": "A lamp", "memories": "7", "remember": "no"},
         ["A lamp</textarea>", 'value="7"', '<option value="no" selected>']),
        ("/access", "/access", {"name": "ann lee", "group": "g1", "pools": "logic", "may": ["curate", "submit"]},
         ['value="ann lee"', 'value="g1"', 'value="curate" checked', 'value="submit" checked']),
        ("/now/cap", "/now", {"whom": "agent poem", "tokens": "many", "money": "3"},
         ['value="agent poem"', 'value="many"', 'value="3"']),
        ("/jobs", "/agents", {"kind": "rubric", "name": "No Name", "domain": "Short recipes"},
         ['value="No Name"', 'value="Short recipes"']),
    ],
)  # fmt: skip
def test_a_refused_form_comes_back_as_it_was_filled_in(
    backend: Backend, tokened: Tokened, tmp_path: Path, path: str, on: str, given: dict[str, str], kept: list[str]
) -> None:
    backend.settings = backend.settings.model_copy(update={"agents_dir": tmp_path})
    root = tokened("root", "admin", pools=None)
    came = {"origin": "http://testserver", "referer": f"http://testserver{on}"}

    refused = root.post(path, data=given, headers=came)

    assert refused.status_code == 422
    assert 'role="alert"' in refused.text
    assert [one for one in kept if one not in refused.text] == []


def test_a_refused_change_of_a_memory_is_not_lost(here: TestClient, shelf: dict[str, str], backend: Backend) -> None:
    given = {"version": "v1", "prompt": "What hangs?", "answer": "A lamp" * backend.settings.prompt_limit}

    refused = here.post(f"/memories/{shelf['logic']}", data=given, headers=FROM_PAGE).text

    assert "characters; at most" in text_of(refused)
    assert "What hangs?</textarea>" in refused
    assert "A lampA lamp" in refused
    assert 'name="version" value="v1"' in refused


def test_rows_without_a_pool_are_refused_with_the_choices_and_the_form_stays(here: TestClient) -> None:
    said = sent(here, "pairs.csv", TABLE, pool="", at_least="3")

    assert "no pool: give one in the line" in text_of(said)
    assert "one for all lines: “Pool of lines that name none”; there are logic" in text_of(said)
    assert 'id="into"' in said
    assert 'id="at_least" name="at_least" placeholder="" value="3"' in said


def test_the_pool_of_a_row_goes_before_that_of_rows_that_name_none(here: TestClient) -> None:
    raw = b"prompt,answer,pool\nWhat runs?,A river.,nonesuch\nWhat sits?,A stone.,\n"

    said = text_of(sent(here, "pairs.csv", raw, pool="logic"))

    assert "Nobody has the pool 'nonesuch' (1 line)" in said
    assert "A stone." in said


def test_doubled_rows_and_a_pool_without_agents_are_said_at_the_first_look(here: TestClient) -> None:
    said = text_of(sent(here, "pairs.csv", TABLE + b"What runs?,A river.\n", pool="museum"))

    assert "Left out: the same pair again 1 line 3" in said
    assert "Nobody has the pool 'museum' (1 line)" in said
    assert "No agent answers from this pool: 'museum'" in said

    lines = b'{"prompt": "What runs?", "answer": "A river."}\n' * 2
    assert "Left out: the same pair again 1" in text_of(sent(here, "q.jsonl", lines, new_pool="yes"))


def test_all_kinds_of_faults_of_a_table_are_told_at_the_first_look_and_over_rest(here: TestClient) -> None:
    raw = (
        b"prompt,answer,stars,pool\nWhat runs?,A river.,4,nonesuch\nWhat sits?,A stone.,2,\nWhat flies?,A,bee,4,logic\n"
    )

    seen = text_of(sent(here, "pairs.csv", raw, pool="", score="stars"))

    form = {"lines": raw.decode(), "source": "table", "score": "stars"}
    rest = here.post("/v1/memories/import", json=form, headers=FROM_PAGE)
    looked = here.post("/v1/memories/import", json=form | {"dry_run": True}, headers=FROM_PAGE)
    assert (rest.status_code, looked.status_code, len(looked.json()["refused"])) == (422, 200, 5)
    for said in (seen, rest.json()["detail"], str(looked.json()["refused"])):
        assert "from 2 to 4" in said, "the scale"
        assert "from which 'stars' on?" in said.replace("\\'", "'")
        assert "line 4: more cells than the header has columns" in said
        assert "line 3: no pool" in said
        assert "Nobody has the pool 'nonesuch' (1 line)" in said.replace("\\'", "'")


def test_where_nothing_is_new_that_is_said_and_there_is_no_button(here: TestClient) -> None:
    lines = {"lines": TABLE.decode(), "source": "table", "pool": "logic", "new_pool": True}
    assert here.post("/v1/memories/import", json=lines, headers=FROM_PAGE).json()["new"] == 1

    again = sent(here, "pairs.csv", TABLE, pool="logic")

    assert "Nothing is new: all of it is there already." in text_of(again)
    assert 'name="seen"' not in again
    assert 'type="file"' in again, "another one can be chosen"


def test_a_file_that_was_looked_at_is_taken_though_its_lines_end_in_two_characters_then(
    here: TestClient, memory: MemoryClient
) -> None:
    head, line = "prompt,answer\n", "a,b\n"
    text = head + line * ((1_000_000 - len(head)) // len(line))
    assert "Bring 1 new memory in" in sent(here, "pairs.csv", text.encode(), pool="logic")

    form = {"pool": "logic", "source": "table", "seen": "yes", "lines": text.replace("\n", "\r\n")}
    done = here.post("/pool/import", files={name: (None, one) for name, one in form.items()}, headers=FROM_PAGE)

    assert "Brought in: 1 new memory" in text_of(done.text)
    assert memory.stats().total == 1


def test_a_kind_that_its_agent_does_not_have_is_refused(here: TestClient, memory: MemoryClient) -> None:
    given = {"pool": "logic", "prompt": "What runs?", "answer": "A river.", "agent": "logic", "kind": "ridle"}

    alone = here.post("/v1/memories", json=given, headers=FROM_PAGE)
    rows = "prompt,answer,agent,kind\nWhat runs?,A river.,logic,ridle\n"
    table = here.post("/v1/memories/import", json={"lines": rows, "source": "table"}, headers=FROM_PAGE)

    assert "has no kind 'ridle'" in alone.json()["detail"]
    assert table.json()["why"] == {"no such kind of its agent": 1}
    assert memory.stats().total == 0
