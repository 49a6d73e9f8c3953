"""Questions that were proposed, or asked in vain: an agent is asked, or nobody is."""

from __future__ import annotations

import pytest
import redis
from fastapi.testclient import TestClient

from memshare_concepts.decisions import Decisions
from memshare_concepts.open_questions import (
    Near,
    OpenQuestions,
    ProposedQuestion,
    Round,
    Rounds,
    Target,
    WantedQuestions,
)
from tests.unit.memshare.doors.conftest import Tokened, bodies

PLACE = "/v1/concepts/logic/question"
PROPOSED, IN_VAIN = "What is dark?", "Who lights the lamp?"


@pytest.fixture
def ids(redis_client: redis.Redis, shelf: dict[str, str]) -> dict[str, str]:
    """The ids of a question that was proposed to Ada, and of one that somebody asked in vain."""
    one = ProposedQuestion.of(PROPOSED, [Near(id=shelf["logic"], similarity=0.4)])  # type: ignore[arg-type]
    target = Target(clusters=(1,), name="Lamps", topics=(), examples=())
    Rounds(redis_client, "logic", "Ada").keep(Round(wanted=WantedQuestions(target=target, count=1), proposals=(one,)))
    open_questions = OpenQuestions(redis_client, "logic")
    open_questions.add([IN_VAIN], "Sail home", 5.0)
    return {PROPOSED: one.id, IN_VAIN: open_questions.all()[0].gap.id}


def waiting(client: TestClient) -> dict[str, dict]:
    """The questions that need somebody."""
    return {one["question"]["question"]: one for one in client.get("/v1/needs").json()["needs"]}


def test_questions_need_somebody_who_sees_their_pool(
    here: TestClient, tokened: Tokened, ids: dict[str, str], shelf: dict[str, str]
) -> None:
    found = waiting(here)

    assert {text: one["question"]["id"] for text, one in found.items()} == ids
    assert found[PROPOSED]["question"]["why"] == "Proposed to Ada, on Lamps."
    assert [one["memory"]["id"] for one in found[PROPOSED]["memories"]] == [shelf["logic"]]
    assert "Sail home" in found[IN_VAIN]["question"]["why"]
    assert found[IN_VAIN]["since"] == 5.0
    assert waiting(tokened("viewer", "recall")).keys() == ids.keys()
    assert waiting(tokened("other", "admin", pools=("poem",))) == {}


@pytest.mark.parametrize("text", [PROPOSED, IN_VAIN])
@pytest.mark.parametrize("do", ["ask", "drop"])
def test_what_is_decided_on_a_question_is_decided_once_and_can_be_taken_back(
    here: TestClient, redis_client: redis.Redis, ids: dict[str, str], text: str, do: str
) -> None:
    def say(what: str) -> int:
        return here.post(PLACE, json={"question": ids[text], "do": what}).status_code

    assert say("undecided") == 409
    for times in (1, 2):
        assert say(do) == 200
        assert text not in waiting(here)
        assert (say("ask"), say("drop")) == (409, 409)
        assert len(bodies(redis_client)) == (times if do == "ask" else 0)
        assert say("undecided") == 200
        assert text in waiting(here)


def test_a_question_is_a_dismissed_gap_when_it_is_dropped_and_not_when_an_agent_is_asked(
    here: TestClient, redis_client: redis.Redis, ids: dict[str, str]
) -> None:
    decisions, question = Decisions(redis_client, "logic"), ids[IN_VAIN]

    here.post(PLACE, json={"question": question, "do": "ask"})
    when_asked = decisions.dismissed()
    here.post(PLACE, json={"question": question, "do": "undecided"})
    here.post(PLACE, json={"question": question, "do": "drop"})

    assert when_asked == {}
    assert decisions.dismissed().keys() == {question}


def test_a_question_that_an_agent_was_asked_waits_again_when_somebody_asks_it_in_vain(
    here: TestClient, redis_client: redis.Redis, ids: dict[str, str]
) -> None:
    here.post(PLACE, json={"question": ids[IN_VAIN], "do": "ask"})
    assert IN_VAIN not in waiting(here)

    OpenQuestions(redis_client, "logic").add([IN_VAIN], "Sail home by night", 6.0)

    assert IN_VAIN in waiting(here)


def test_a_question_is_a_task_of_the_pools_agent_in_the_name_of_the_token(
    tokened: Tokened, ids: dict[str, str]
) -> None:
    ada = tokened("ada", "recall", "curate", "submit")

    journey = ada.post(PLACE, json={"question": ids[PROPOSED], "do": "ask"}).json()["journey"]

    told = ada.get(f"/v1/journeys/{journey}").json()
    assert (told["agent"], told["prompt"], told["submitter"]) == ("logic", PROPOSED, "ada")


def test_who_may_not_decide_or_names_what_is_not_there_is_refused(
    tokened: Tokened, redis_client: redis.Redis, ids: dict[str, str]
) -> None:
    ask, drop = ({"question": ids[IN_VAIN], "do": do} for do in ("ask", "drop"))

    assert tokened("viewer", "recall", "submit").post(PLACE, json=drop).status_code == 403
    assert tokened("curator", "recall", "curate").post(PLACE, json=ask).status_code == 403
    assert tokened("other", "admin", pools=("poem",)).post(PLACE, json=drop).status_code == 404
    assert tokened("owner", "admin").post(PLACE, json={**ask, "agent": "poem"}).status_code == 422
    assert tokened("boss", "admin").post(PLACE, json={**drop, "question": "asked:none"}).status_code == 404
    assert bodies(redis_client) == []
    assert waiting(tokened("last", "recall")).keys() == ids.keys()
