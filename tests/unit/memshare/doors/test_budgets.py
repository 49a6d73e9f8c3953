"""Caps over REST, as `memshare budget` sets them."""

from __future__ import annotations

from fastapi.testclient import TestClient

from tests.unit.memshare.doors.conftest import Tokened


def test_a_cap_is_set_raised_and_taken_away(here: TestClient) -> None:
    holder = {"kind": "agent", "name": "poem"}

    assert here.post("/v1/budgets", json={**holder, "tokens": 500}).json()["tokens"] == 500
    assert [one["tokens"] for one in here.get("/v1/budgets").json()["caps"]] == [500]
    assert here.post("/v1/budgets", json={**holder, "none": True}).json()["tokens"] is None
    assert here.get("/v1/budgets").json()["caps"] == []


def test_a_cap_that_makes_no_sense_is_refused(here: TestClient) -> None:
    for form, words in (
        ({"name": "haiku", "tokens": 5}, "No agent is called 'haiku'"),
        ({"name": "poem"}, "'tokens' or 'money'"),
        ({"name": "poem", "tokens": 5, "none": True}, "'tokens' or 'money'"),
        ({"name": "poem", "money": 5}, "MEMSHARE_PRICES"),
        ({"name": "poem", "tokens": -1}, "tokens"),
    ):
        answer = here.post("/v1/budgets", json={"kind": "agent", **form})
        assert answer.status_code == 422, form
        assert words in answer.json()["detail"]
    assert here.get("/v1/budgets").json()["caps"] == []


def test_it_takes_who_may_do_everything(tokened: Tokened) -> None:
    form = {"kind": "submitter", "name": "ada", "tokens": 5}

    assert tokened("ada", "admin").post("/v1/budgets", json=form).status_code == 403
    assert tokened("owner", "admin", pools=None).post("/v1/budgets", json=form).status_code == 200
