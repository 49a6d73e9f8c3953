from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from memshare_agents.reasoning.engine import OPERATORS, Engine, EngineRun
from memshare_agents.reasoning.operator import Arguments, Context, Operator, OperatorResult
from memshare_broker.errors import TryAgain
from memshare_broker.wire.messages import Usage
from memshare_llm.chat import Reply
from tests.support.scripted_chat import ScriptedChat
from tests.support.shelf import (
    CHECK,
    RESPOND,
    answered,
    browse,
    coordinate,
    document_id,
    judged,
    planned,
    search,
    sources,
    told,
)

MakeEngine = Callable[..., Engine]

MILL = {"mill.html": "The mill was built by Ada Korn.", "korn.pdf": "Ada Korn was born in Ulm."}
QUESTION = "Where was the builder of the mill born?"


def run(engine: Engine) -> EngineRun:
    return engine.run(QUESTION, "Answer briefly.")


def tree(found: EngineRun) -> list[tuple[int, int | None, int, str]]:
    return [(step.number, step.parent, step.depth, step.operator) for step in found.steps]


def sent(chat: ScriptedChat, place: int) -> Any:
    """What the model was given in its user turn, the document of call number `place`."""
    return json.loads(chat.conversations[place][-1].content)


def test_an_answer_is_searched_read_written_and_checked_in_the_order_of_the_list(make_engine: MakeEngine) -> None:
    chat = ScriptedChat(
        planned(search("mill"), coordinate("read what was found")),
        planned(browse("mill.html", "who built it"), RESPOND, CHECK),
        told("Ada Korn built it.", "The mill was built by Ada Korn."),
        answered("Ada Korn.", "k1"),
        judged(True, k1=0.5, k2=0.5),
    )

    found = run(make_engine(chat, sources(MILL)))

    assert found.verified
    assert found.proposal is not None
    assert found.proposal.answer == "Ada Korn."
    assert tree(found) == [
        (1, None, 0, "coordinator"),
        (2, 1, 1, "searcher"),
        (3, 1, 1, "coordinator"),
        (4, 3, 1, "browser"),
        (5, 3, 1, "responder"),
        (6, 3, 1, "discriminator"),
    ]


def test_each_step_tells_what_it_was_for_what_it_read_and_said_and_what_it_cost(make_engine: MakeEngine) -> None:
    chat = ScriptedChat(
        planned(search("mill"), RESPOND, CHECK), answered("Ada Korn.", "k1"), judged(True, "It says so.", k1=1.0)
    )

    found = run(make_engine(chat, sources(MILL)))

    plan, searched, responded, checked = found.steps
    assert plan.said == "searcher → responder → discriminator: So be it."
    assert json.loads(searched.arguments)["query"] == "mill"
    assert searched.read == ("mill.html",)
    assert searched.said == "memory: 0 found; documents: 1 found"
    assert searched.knowledge == (document_id("mill.html"),)
    assert (searched.model, searched.usage) == (None, Usage())
    assert responded.said == "Ada Korn."
    assert responded.read == ("k1 mill.html",)
    assert (responded.model, responded.usage) == ("scripted", Usage(prompt_tokens=10, completion_tokens=5))
    assert checked.said == "Verified: It says so."
    assert [step.verified for step in found.steps] == [None, None, None, True]
    assert checked.knowledge == (document_id("mill.html"),)
    assert found.usage == Usage(prompt_tokens=30, completion_tokens=15)


BUILT, BORN = "Who built the mill?", "Where was Ada Korn born?"


def test_a_coordinators_list_takes_its_place_and_what_waits_after_it_goes_on(make_engine: MakeEngine) -> None:
    chat = ScriptedChat(
        planned(coordinate(BUILT), coordinate(BORN), RESPOND),
        planned(search("mill"), RESPOND), answered("Ada Korn.", "k1"), judged(True, k1=1.0),
        planned(search("Ulm"), RESPOND), answered("In Ulm.", "k3"), judged(True, k3=0.5, k2=0.5),
        answered("She was born in Ulm.", "k2", "k4"), judged(True, k2=0.2, k4=0.8),
    )  # fmt: skip

    found = run(make_engine(chat, sources(MILL)))

    assert found.verified
    assert found.proposal is not None
    assert found.proposal.answer == "She was born in Ulm."
    assert tree(found) == [
        (1, None, 0, "coordinator"),
        (2, 1, 1, "coordinator"),
        (3, 2, 2, "searcher"),
        (4, 2, 2, "responder"),
        (5, 2, 2, "discriminator"),
        (6, 1, 1, "coordinator"),
        (7, 6, 2, "searcher"),
        (8, 6, 2, "responder"),
        (9, 6, 2, "discriminator"),
        (10, 1, 1, "responder"),
        (11, 1, 1, "discriminator"),
    ]


def test_a_sub_question_is_answered_for_itself_and_what_follows_reads_its_answer(make_engine: MakeEngine) -> None:
    chat = ScriptedChat(
        planned(coordinate(BUILT), RESPOND),
        planned(search("mill"), RESPOND), answered("Ada Korn.", "k1"), judged(True, k1=1.0),
        answered("In Ulm.", "k2"), judged(True, k2=1.0),
    )  # fmt: skip

    run(make_engine(chat, sources(MILL)))

    for place in (1, 2, 3):
        assert (sent(chat, place)["question"], sent(chat, place)["part_of"]) == (BUILT, QUESTION)
    for place in (4, 5):
        assert sent(chat, place)["question"] == QUESTION
        assert "part_of" not in sent(chat, place)
        assert {"item": "k2", "kind": "verified answer", "question": BUILT, "text": "Ada Korn."} in (
            sent(chat, place)["knowledge"]
        )


def test_an_answer_that_failed_for_one_question_may_be_right_for_another(make_engine: MakeEngine) -> None:
    chat = ScriptedChat(
        planned(coordinate(BUILT), RESPOND),
        planned(RESPOND), answered("Ulm."), judged(False, "Ulm is a town."),
        planned(RESPOND), answered("Ada Korn."), judged(True),
        answered("Ulm."), judged(True),
    )  # fmt: skip

    found = run(make_engine(chat))

    assert found.verified
    assert sent(chat, 4)["failed"] == [{"answer": "Ulm.", "why_it_failed": "Ulm is a town."}]
    assert sent(chat, 7)["failed"] == sent(chat, 8)["failed"] == []


def test_a_sub_question_that_goes_too_deep_stays_open_and_the_rest_goes_on(make_engine: MakeEngine) -> None:
    chat = ScriptedChat(
        planned(coordinate(BUILT), RESPOND),
        planned(coordinate("deeper"), RESPOND), planned(coordinate("deeper still"), RESPOND),
        answered("Ada Korn."), judged(True), answered("Ulm."), judged(True),
    )  # fmt: skip

    found = run(make_engine(chat, depth=2))

    assert found.verified
    assert max(step.depth for step in found.steps) == 2
    assert [one["text"] for one in sent(chat, 3)["knowledge"]] == [
        f"No answer to this was verified: {question}" for question in ("deeper still", "deeper")
    ]


@pytest.mark.parametrize(("limit", "least"), [("steps", 20), ("calls", 20)])
def test_sub_questions_without_end_stop_at_the_limits(make_engine: MakeEngine, limit: str, least: int) -> None:
    chat = ScriptedChat(*[planned(*[coordinate(f"part {number}") for number in range(8)])] * 60)

    found = run(make_engine(chat, depth=16, **{"steps": 100, limit: least}))

    assert not found.verified
    assert len(found.steps) == (least if limit == "steps" else least + 1)
    assert len(chat.conversations) == least
    assert f"{least}" in found.end


def test_a_sub_question_cannot_name_an_address_to_be_opened(make_engine: MakeEngine) -> None:
    evil = "https://evil.example/steal"
    chat = ScriptedChat(
        planned(coordinate(f"What does {evil} say?"), RESPOND),
        planned(browse(evil), RESPOND), answered("Nothing."), judged(True),
        answered("Ulm."), judged(True),
    )  # fmt: skip

    found = run(make_engine(chat, sources({**MILL, evil: "It says so."})))

    assert found.steps[2].said == f"Not opened: no search has found {evil!r}, and it does not stand in the question."


def test_a_rejected_answer_is_repaired_and_stays_in_memory(make_engine: MakeEngine) -> None:
    chat = ScriptedChat(
        planned(RESPOND, CHECK),
        answered("Rome."),
        judged(False, "Nothing says Rome."),
        planned(search("Ulm"), RESPOND, CHECK),
        answered("Ulm.", "k2"),
        judged(True, k2=1.0),
    )

    found = run(make_engine(chat, sources(MILL)))

    assert found.verified
    assert found.proposal is not None
    assert found.proposal.answer == "Ulm."
    assert [step.depth for step in found.steps] == [0, 1, 1, 1, 1, 1, 1]
    assert found.steps[3].parent == 3
    for later in (3, 4, 5):
        assert sent(chat, later)["failed"] == [{"answer": "Rome.", "why_it_failed": "Nothing says Rome."}]


def test_an_answer_that_failed_before_is_rejected_without_asking(make_engine: MakeEngine) -> None:
    chat = ScriptedChat(
        planned(RESPOND, CHECK), answered("Rome."), judged(False), planned(RESPOND, CHECK), answered("  ROME. "),
        planned(RESPOND, CHECK), answered("Ulm."), judged(True),
    )  # fmt: skip

    found = run(make_engine(chat))

    assert found.verified
    assert [step.said for step in found.steps if step.operator == "discriminator"] == [
        "Rejected: So it is.",
        "Rejected: the same answer has failed before.",
        "Verified: So it is.",
    ]
    assert [step.verified for step in found.steps if step.operator == "discriminator"] == [False, False, True]


def test_a_check_without_a_new_answer_is_a_rejection(make_engine: MakeEngine) -> None:
    chat = ScriptedChat(planned(CHECK), planned(RESPOND, CHECK), answered("Ulm."), judged(True))

    found = run(make_engine(chat))

    assert found.steps[1].said == "Rejected: there is no new answer to check."
    assert found.verified


@pytest.mark.parametrize("depth", [1, 5])
def test_a_coordinator_that_never_ends_stays_on_its_level_and_stops_at_the_number_of_steps(
    make_engine: MakeEngine, depth: int
) -> None:
    chat = ScriptedChat(*[planned(coordinate())] * 9)

    found = run(make_engine(chat, depth=depth, steps=9))

    assert not found.verified
    assert found.end == "it reached its limit of 9 steps"
    assert [step.depth for step in found.steps] == [0, *[1] * 8]
    assert found.proposal is None


def test_plans_anew_and_rejections_leave_the_depth_to_sub_questions(make_engine: MakeEngine) -> None:
    chat = ScriptedChat(
        planned(coordinate()), "nonsense", "nonsense again",
        planned(RESPOND), answered("Rome."), judged(False),
        planned(coordinate(BUILT), RESPOND),
        planned(RESPOND), answered("Bob."), judged(False),
        planned(RESPOND), answered("Ada."), judged(True),
        answered("Ulm."), judged(True),
    )  # fmt: skip

    found = run(make_engine(chat, depth=2))

    assert found.verified
    assert [step.depth for step in found.steps] == [0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 1, 1]


def test_an_empty_plan_takes_the_coordinator_out_of_the_queue_and_what_waits_goes_on(make_engine: MakeEngine) -> None:
    chat = ScriptedChat(planned(coordinate(BUILT), RESPOND), planned(), answered("Ulm."), judged(True))

    found = run(make_engine(chat))

    assert found.verified
    assert (sent(chat, 0)["waiting"], sent(chat, 1)["waiting"]) == ([], ["responder", "discriminator"])
    assert found.steps[1].said == "nothing to do: So be it."
    assert [step.operator for step in found.steps] == ["coordinator", "coordinator", "responder", "discriminator"]


def test_an_empty_plan_after_which_nothing_waits_ends_the_run(make_engine: MakeEngine) -> None:
    found = run(make_engine(ScriptedChat(planned())))

    assert (found.end, found.verdict, len(found.steps)) == ("its plan came to an end", None, 1)


LETTERS = "abcde"
FIVE_PARTS = (
    planned(*(coordinate(f"What is {letter}?") for letter in LETTERS), RESPOND),
    *(
        reply
        for letter in LETTERS
        for reply in (planned(search("mill"), RESPOND), answered(f"It is {letter}."), judged(True))
    ),
    answered("All."),
    judged(True),
)


def test_every_verified_sub_answer_is_shown_to_the_responder_of_the_whole(make_engine: MakeEngine) -> None:
    chat = ScriptedChat(*FIVE_PARTS)

    found = run(make_engine(chat))

    shown = [one["text"] for one in sent(chat, -2)["knowledge"] if one["kind"] == "verified answer"]
    assert shown == [f"It is {letter}." for letter in LETTERS]
    assert all(step.left_out == () for step in found.steps)


def test_what_there_is_no_room_for_is_said_in_the_trace(make_engine: MakeEngine) -> None:
    long = [answered("word " * 700) if "answer" in one and one != answered("All.") else one for one in FIVE_PARTS]
    chat = ScriptedChat(*long)

    found = run(make_engine(chat, context=1_000))

    assert found.verified
    shown = [one["question"] for one in sent(chat, -2)["knowledge"] if one["kind"] == "verified answer"]
    left_out = [name.split(maxsplit=1)[1] for name in found.steps[-2].left_out if "What is" in name]
    assert left_out
    assert sorted(shown + left_out) == [f"What is {letter}?" for letter in LETTERS]


def test_what_the_coordinator_reads_is_restored(make_engine: MakeEngine) -> None:
    script = (
        planned(search("mill"), *[search("nothing")] * 2, coordinate()),
        planned(*[search("nothing")] * 2, RESPOND), answered("Ulm."), judged(True),
    )  # fmt: skip

    found = run(make_engine(ScriptedChat(*script), sources(MILL), decay=0.5, threshold=0.02))

    assert [item.source for item in found.items] == ["mill.html"]


def test_a_run_ends_at_its_number_of_steps(make_engine: MakeEngine) -> None:
    chat = ScriptedChat(*[planned(search("mill"), search("Ulm"), search("born"))] * 9)

    found = run(make_engine(chat, sources(MILL), steps=6, depth=16))

    assert found.end == "it reached its limit of 6 steps"
    assert len(found.steps) == 6


def test_a_run_ends_at_its_tokens_with_the_last_answer_unchecked(make_engine: MakeEngine) -> None:
    chat = ScriptedChat(planned(RESPOND, CHECK), answered("Ulm."))

    found = run(make_engine(chat, tokens=30))

    assert found.end == "its budget of 30 tokens is used up"
    assert found.proposal is not None
    assert (found.proposal.answer, found.verdict) == ("Ulm.", None)
    assert found.steps[-1].said == "Stopped: a budget of the run was used up."
    assert len(chat.conversations) == 2


def test_the_coordinator_knows_what_was_done_and_how_much_is_left(make_engine: MakeEngine) -> None:
    chat = ScriptedChat(
        planned(search("mill"), coordinate("see")), planned(RESPOND, CHECK), answered("Ulm."), judged(True)
    )

    run(make_engine(chat, sources(MILL), depth=4, steps=10))

    told_first, told_then = sent(chat, 0), sent(chat, 1)
    assert told_first["left"] == {"steps": 9, "levels": 4}
    assert (told_first["done"], told_first["knowledge"]) == ([], [])
    assert told_first["places"] == ["memory", "documents"]
    assert told_then["goal"] == "see"
    assert told_then["left"] == {"steps": 7, "levels": 4}
    assert [one["operator"] for one in told_then["done"]] == ["coordinator", "searcher"]
    assert told_then["knowledge"][0]["source"] == "mill.html"


def test_a_reply_that_never_fits_costs_its_step_and_not_the_run(make_engine: MakeEngine) -> None:
    chat = ScriptedChat("nonsense", "nonsense again", planned(RESPOND, CHECK), answered("Ulm."), judged(True))

    found = run(make_engine(chat))

    assert found.verified
    assert found.steps[0].said.startswith("Failed: scripted was asked twice, and its reply did not fit: ")
    assert found.steps[0].usage == Usage(prompt_tokens=20, completion_tokens=10)
    assert found.steps[1].depth == 1


def test_what_else_a_model_raises_is_raised(make_engine: MakeEngine) -> None:
    class Down(ScriptedChat):
        def reply(self, *_: object) -> Reply:
            raise TryAgain("The model is down.", reason="connection")

    with pytest.raises(TryAgain, match="down"):
        run(make_engine(Down()))


class Sum(Arguments):
    """Numbers to add."""

    numbers: list[int]


def test_a_new_operator_takes_part_once_it_is_registered(make_engine: MakeEngine) -> None:
    seen: list[str] = []

    def add(arguments: Sum, context: Context) -> OperatorResult:
        seen.append(context.question)
        return OperatorResult(said=f"The sum is {sum(arguments.numbers)}.")

    operators = {**OPERATORS, "adder": Operator("adder", "Adds numbers.", Sum, add)}
    chat = ScriptedChat(
        planned({"operator": "adder", "numbers": [2, 3]}, RESPOND, CHECK), answered("Five."), judged(True)
    )

    found = run(make_engine(chat, operators=operators))

    assert seen == [QUESTION]
    assert (found.steps[1].operator, found.steps[1].said) == ("adder", "The sum is 5.")
    assert sent(chat, 0)["operators"]["adder"] == "Adds numbers."


def test_every_operator_has_the_model_that_is_set_for_it(make_engine: MakeEngine) -> None:
    big = ScriptedChat(planned(RESPOND, CHECK), answered("Ulm."))
    small = ScriptedChat(judged(True))
    small.name = "small"
    engine = make_engine(big)
    engine = Engine(
        engine.operators,
        engine.limits,
        lambda operator: small if operator == "discriminator" else big,
        engine.knowledge,
        engine.sources,
    )

    found = run(engine)

    assert [step.model for step in found.steps] == ["scripted", "scripted", "small"]


def test_what_is_not_used_is_forgotten_as_fast_as_the_limits_say(make_engine: MakeEngine) -> None:
    script = (planned(search("mill"), *[search("nothing")] * 3, RESPOND), answered("Ulm."), judged(True))

    kept, forgotten = (
        run(make_engine(ScriptedChat(*script), sources(MILL), decay=0.5, threshold=threshold)).items
        for threshold in (0.01, 0.2)
    )

    assert [item.source for item in kept] == ["mill.html"]
    assert forgotten == ()


def test_what_a_model_is_shown_of_short_term_memory_fits_in_its_context(make_engine: MakeEngine) -> None:
    many = {f"mill {number}.html": f"mill {number} " + "word " * 400 for number in range(30)}
    chat = ScriptedChat(
        planned(*[search(f"{number}") for number in range(8)]), planned(RESPOND, CHECK), answered("Ulm."), judged(True)
    )

    found = run(make_engine(chat, sources(many), context=1_000))

    knowledge = sent(chat, 2)["knowledge"]
    assert len(found.items) > len(knowledge) > 0
    assert sum(len(one["text"]) for one in knowledge) < 3_000
