"""What a pool is about over REST, and what people decide on its names and gaps."""

from __future__ import annotations

from fastapi.testclient import TestClient

from tests.unit.memshare.doors.conftest import Tokened

PATH = "/v1/concepts/logic"


def test_each_decision_can_be_taken_back(here: TestClient) -> None:
    for decision, undo in (
        ({"merge": ["Neural Net", "Neural Network"]}, {"split": "Neural Net"}),
        ({"split": "Neural Net"}, {"merge": ["Neural Net", "Neural Network"]}),
        ({"apart": ["Spring Tide", "Neap Tide"]}, {"bring_back": "similar:neap tide:spring tide"}),
        ({"bring_back": "similar:neap tide:spring tide"}, {}),
        ({"dismiss": "thin:harvard university"}, {"bring_back": "thin:harvard university"}),
        ({"bring_back": "thin:harvard university"}, {}),
    ):
        answer = here.post(PATH, json=decision)
        assert (answer.status_code, answer.json()["undo"]) == (200, undo), decision


def test_a_decision_that_makes_no_sense_is_refused(here: TestClient) -> None:
    for decision, named in (
        ({}, "'merge'"),
        ({"merge": ["A", "B"], "split": "A"}, "'merge'"),
        ({"merge": ["Tide", "tide"]}, "'tide'"),
        ({"split": "Never merged"}, "'Never merged'"),
        ({"bring_back": "thin:x"}, "'thin:x'"),
        ({"dismiss": "x"}, "dismiss"),
    ):
        answer = here.post(PATH, json=decision)
        assert answer.status_code == 422, decision
        assert named in answer.json()["detail"]


def test_only_who_curates_a_pool_decides_on_it_and_others_hear_nothing_of_it(tokened: Tokened) -> None:
    decision = {"dismiss": "thin:x"}

    assert tokened("viewer", "recall").post(PATH, json=decision).status_code == 403
    assert tokened("other", "admin", pools=("poem",)).post(PATH, json=decision).status_code == 404
    assert tokened("third", "admin", pools=("poem",)).get(PATH).status_code == 404
    assert tokened("nobody", "admin", pools=None).get("/v1/concepts/nowhere").status_code == 404


def test_a_pool_without_concepts_says_how_many_memories_have_none(here: TestClient, shelf: dict[str, str]) -> None:
    assert shelf
    found = here.get(PATH).json()

    assert (found["memories"], found["without"], found["clusters"]) == (0, 1, [])
