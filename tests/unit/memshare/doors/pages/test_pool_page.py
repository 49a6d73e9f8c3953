"""What is undone on the pool's page leads back to the list as it was filtered."""

from __future__ import annotations

import html
import re
from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from memshare_memory.curate.requests import NewMemory
from memshare_memory.door.client import MemoryClient
from memshare_memory.memory import Cause
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


@pytest.mark.parametrize("knows_why", [True, False])
def test_hiding_a_stale_memory_among_others_is_undone_where_it_will_be_stale_again(
    here: TestClient, shelf: dict[str, str], memory: MemoryClient, knows_why: bool
) -> None:
    one, [source] = UUID(shelf["logic"]), memory.add([NewMemory(pool="logic", answer="A lamp is a light.")])
    cause = Cause(memory=source, became="changed", at=1)
    stale = {"status": "stale", "because": (cause,) if knows_why else ()}
    memory.restore([memory.get(one).model_copy(update=stale)])
    done = here.post("/pool/several", data={"id": [str(one), str(source)], "do": "hide"}, headers=FROM_PAGE)
    assert "Hidden: 2 memories." in done.text
    undo = re.findall(r'<form method="post" action="([^"]+)"><button>Undo', done.text)
    assert len(undo) == knows_why

    said = [here.post(html.unescape(each), headers=FROM_PAGE).text for each in undo]

    assert all("Shown again: 1 memory. Stale again, until somebody decides: 1." in each for each in said)
    now = [memory.get(each).status for each in (one, source)]
    assert now == (["stale", "active"] if knows_why else ["hidden", "hidden"])
