"""What is undone on the pool's page leads back to the list as it was filtered."""

from __future__ import annotations

import html
import re
from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from memshare_memory.door.client import MemoryClient
from memshare_memory.stores.store import Where
from tests.unit.memshare.doors.pages.test_shown_memories import FROM_PAGE


@pytest.mark.parametrize("query", ["pool=logic&order=-created&kind=riddle", "q=lamp&status=active"])
@pytest.mark.parametrize("do", ["hide", "forget"])
def test_undo_keeps_the_filters_of_the_list(
    here: TestClient, shelf: dict[str, str], memory: MemoryClient, query: str, do: str
) -> None:
    before = here.get(f"/pool?{query}")
    fields = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', before.text))
    done = here.post("/pool/several", data={**fields, "id": shelf["logic"], "do": do}, headers=FROM_PAGE)
    if do == "forget":
        fields = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', done.text))
        fields = {name: html.unescape(value) for name, value in fields.items()}
        done = here.post("/pool/several/forget", data=fields, headers=FROM_PAGE)
    assert memory.page(Where(ids=[UUID(shelf["logic"])], status="active"), 1).memories == ()
    [undo] = re.findall(r'<form method="post" action="([^"]+)"><button>Undo', done.text)

    undone = here.post(html.unescape(undo), headers=FROM_PAGE)

    assert memory.get(UUID(shelf["logic"])).status == "active"
    assert undone.url == done.url
    assert set(query.split("&")) <= set(undone.url.query.decode().split("&"))
