"""Graded runs on the page: what a file would bring in and why not the rest, then the same file brought in."""

from __future__ import annotations

import html
import re
from pathlib import Path

from fastapi.testclient import TestClient

from memshare_memory.door.client import MemoryClient
from memshare_memory.stores.store import Where
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
