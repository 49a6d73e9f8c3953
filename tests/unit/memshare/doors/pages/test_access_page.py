"""What the screen of access says of backups, and of the first token."""

from __future__ import annotations

import re
import time

import pytest
import redis
from fastapi.testclient import TestClient

from memshare.client.rest.calls.operating import LastBackup
from memshare.operate.backup.restore import is_used
from memshare.operations.backend import Backend
from memshare.operations.caller import local_caller
from memshare.operations.operating import note_backup, revoke
from tests.unit.memshare.doors.conftest import Tokened
from tests.unit.memshare.doors.pages.journey_records import text_of
from tests.unit.memshare.doors.pages.test_shown_memories import FROM_PAGE

ALARM, DAY = 'class="alarm"', 86_400


def test_a_deployment_without_any_backup_is_in_red(here: TestClient) -> None:
    page = here.get("/access").text

    assert ALARM in page
    assert "The last backup none" in text_of(page)
    assert here.get("/v1/backups/last").json() is None


@pytest.mark.parametrize(("days", "is_late"), [(6, False), (8, True)])
def test_the_last_backup_is_told_and_is_in_red_after_a_week(
    here: TestClient, redis_client: redis.Redis, days: int, is_late: bool
) -> None:
    for age, by in ((30, "bea"), (days, "ada")):
        at = time.time() - age * DAY
        note_backup(redis_client, LastBackup(at=at, by=by, file="/safe/b.zip", size=2_340_000, memories=7))

    page = here.get("/access").text

    assert (ALARM in page) == is_late
    assert f"The last backup {days} d ago by ada , 7 memories, 2.3 MB: /safe/b.zip" in text_of(page)
    told = here.get("/v1/backups/last").json()
    assert (told["by"], told["size"], told["memories"]) == ("ada", 2_340_000, 7)
    assert not is_used(redis_client)  # a note alone keeps nobody from restoring a backup


def test_the_first_token_may_do_everything_and_says_why(here: TestClient, backend: Backend) -> None:
    page = here.get("/access").text
    assert re.findall(r'type="checkbox" name="may" value="(\w+)" checked disabled', page) == ["admin"]
    assert "opens this page and makes others" in text_of(page)
    fields = dict(re.findall(r'type="hidden" name="(may)" value="(\w+)"', page))

    made = here.post("/access", data={"name": "root", **fields}, headers={"origin": "http://127.0.0.1"}).text

    assert "This is the first token" in text_of(made)
    assert [(one.name, one.may, one.pools) for one in backend.tokens.all()] == [("root", ("admin",), None)]
    assert 'name="may" value="watch"' in made


def test_a_first_token_that_could_not_make_the_next_is_refused_at_every_door(
    here: TestClient, tokened: Tokened, backend: Backend
) -> None:
    for less in ({"may": ["recall", "watch", "curate"]}, {"may": ["admin"], "pools": ["logic"]}):
        refused = here.post("/v1/tokens", json={"name": "ada", **less})
        assert refused.status_code == 422
        assert "'admin' for all pools" in refused.json()["detail"]
    form = {"name": "ada", "may": "recall"}
    assert here.post("/access", data=form, headers={"origin": "http://127.0.0.1"}).status_code == 422
    assert not backend.tokens.any()

    root = tokened("root", "admin", pools=None)

    assert root.post("/v1/tokens", json={"name": "ada", "may": ["recall"]}).status_code == 201


def test_the_last_token_that_may_do_everything_is_revoked_only_after_all_others(
    tokened: Tokened, backend: Backend
) -> None:
    root = tokened("root", "admin", pools=None)
    tokened("ada", "recall")
    tokened("logician", "admin")  # not for all pools

    refused = root.delete("/v1/tokens/root")
    assert refused.status_code == 422
    assert "memshare token create NAME --may admin --pools '*'" in refused.json()["detail"]
    page = root.post("/access/root/revoke", headers={"origin": "http://testserver"})
    assert page.status_code == 422
    assert "revoke the others first" in text_of(page.text)
    assert [one.name for one in backend.tokens.all()] == ["ada", "logician", "root"]

    tokened("eve", "admin", pools=None)
    assert root.delete("/v1/tokens/eve").status_code == 200
    for name, left in (("ada", 2), ("logician", 1), ("root", 0)):
        assert root.delete(f"/v1/tokens/{name}").json()["left"] == left


def test_an_unknown_token_is_not_found_and_where_no_token_may_do_everything_each_can_be_revoked(
    here: TestClient, tokened: Tokened, backend: Backend
) -> None:
    assert here.delete("/v1/tokens/root").status_code == 404
    root = tokened("root", "admin", pools=None)
    tokened("ada", "recall")
    assert root.delete("/v1/tokens/bea").status_code == 404
    backend.tokens.revoke("root")
    tokened("bea", "recall")

    assert revoke(backend, local_caller(), "bea").left == 1


def test_a_name_that_no_token_can_have_is_refused_in_words(here: TestClient) -> None:
    wanted = {"name": "ada lovelace", "may": ["admin"]}

    told = [
        here.post("/v1/tokens", json=wanted).json()["detail"],
        text_of(here.post("/access", data={**wanted, "do": "create"}, headers=FROM_PAGE).text),
    ]

    for one in told:
        assert "expected up to 61 letters (A-Z, a-z), digits and -, the first a letter or a digit" in one
        assert "pattern" not in one
