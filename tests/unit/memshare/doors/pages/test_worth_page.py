"""The page that answers whether memories help, and the operation that it is made of."""

from __future__ import annotations

import html
import json
import re
import time
from typing import Any
from uuid import UUID

import pytest
import redis
from fastapi.testclient import TestClient

from memshare.client.help_replies import STUDENT, HelpReply, StatsReply
from memshare.client.pools import encoder_in_use
from memshare.doors.pages.routes import FILES
from memshare.operations.backend import Backend
from memshare_broker.delivery.dead_letters import letter_for
from memshare_broker.delivery.hops import OFFER, SCORE
from memshare_broker.delivery.journey_records import note_unremembered, recent, unremembered
from memshare_broker.errors import GiveUp
from memshare_broker.presence import AgentCard, Presence, announce
from memshare_broker.settings import OFFLINE
from memshare_broker.wire.grades import OfferedPair, Settlement
from memshare_broker.wire.lessons import LessonTask
from memshare_broker.wire.messages import AgentTask, Answer, Examples, PartPair, RegradePair, SeedPair, Shown, Usage
from memshare_memory.belief.lift import AT_RANDOM, HowMany, LiftSums, TaskGroup, Way
from memshare_memory.curate.requests import NewMemory
from memshare_memory.door.client import MemoryClient
from memshare_trainer.labels import Labeller
from memshare_trainer.learn import LearnStage
from tests.support.lessons import ENCODER, FormLabeller, helps, lesson
from tests.support.scripted_chat import ScriptedChat
from tests.unit.memshare.doors.conftest import Tokened
from tests.unit.memshare.doors.pages.journey_records import MODEL, answered, entry, graded, record, text_of

pytestmark = pytest.mark.usefixtures("shelf")  # each pool has a memory


def ask(
    backend: Backend, journey: str, prompt: str, score: float | None, model: str = MODEL, found: int = 3, **fields: Any
) -> None:
    """A task, graded or not gradable; not to be remembered, unless it is said, and found so many memories."""
    defaults = {"agent": "logic", "rubric": "v1", "told": "", "similarity": 0.9}
    agent, rubric, told, near = (fields.pop(name, default) for name, default in defaults.items())
    task = AgentTask(prompt=prompt, kind="riddle", submitter="ada", **{"remember": False, **fields})
    began = entry(journey, "answer", agent)
    body = task.model_dump(mode="json", exclude_none=True)
    backend.client.ledger.open(began.model_copy(update={"body": body}))
    answer = Answer(
        task_id=journey, agent=agent, kind="riddle", answer="A light.", model=model, retriever_version=0,
        memories=tuple(Shown(id=UUID(int=at), similarity=near) for at in range(fields.get("memories", found))),
        usage=Usage(), seconds=0.1, instructions_version=told,
    )  # fmt: skip
    record(backend, journey, "answer", answer)
    if score is None:
        record(backend, journey, "score", Settlement(memory_id=None, outcome="not graded", reason="No right answer."))
    else:
        graded(backend, journey, score, version=rubric)


def ask_twice(backend: Backend, number: int, without: float, shown: float, model: str = MODEL) -> None:
    ask(backend, f"without {number}", f"Question {number}?", without, model, memories=0)
    ask(backend, f"with {number}", f"Question {number}?", shown, model)


def count(
    client: redis.Redis, way: Way, shown: list[float], without: list[float], agent: str = "logic", model: str = MODEL
) -> None:
    sums, group = LiftSums(client, keep_days=1), TaskGroup(way, agent, "riddle", model)
    for withheld, scores in ((False, shown), (True, without)):
        for number, score in enumerate(scores):
            sums.count("logic", f"{way} {agent} {model} {withheld} {number}", score, group, withheld=withheld)


class SameLabels:
    """Finds no labels."""

    def label(self, _: LessonTask) -> None:
        raise GiveUp("They are all alike.", "invalid reply")


def answer_of(here: TestClient) -> str:
    found = re.search(r'aria-label="The answer".*?</section>', here.get("/worth").text, re.DOTALL)
    assert found
    return text_of(found[0])


def test_a_query_is_compared_in_the_pool_with_most_memories_unless_another_is_chosen(
    here: TestClient, memory: MemoryClient
) -> None:
    memory.add([NewMemory(pool="poem", answer="Another.", new_pool=True)])

    form = here.get("/worth").text.split('<select id="pool"')[1].split("</select>")[0]

    assert re.findall(r"<option>(\w+)", form)[0] == "poem"


def test_before_anything_was_withheld_the_page_says_how_many_tasks_it_takes(here: TestClient) -> None:
    began = "Too early : chance begins once 20 graded tasks of a pool and model were shown three memories, so far 0"
    assert (
        f"{began} in 2 pools; then it takes some 500 more tasks, until ten were answered without memories"
        in answer_of(here)
    )


@pytest.mark.parametrize(
    ("agents", "scorer", "said"),
    [
        (OFFLINE, OFFLINE, "it needs a model, or a rubric that a program checks"),
        (OFFLINE, MODEL, "it needs a model that answers"),
        (MODEL, MODEL, "some 500 more tasks"),
    ],
)
def test_where_no_task_can_count_nothing_is_promised(
    here: TestClient, redis_client: redis.Redis, agents: str, scorer: str, said: str
) -> None:
    poet = AgentCard(name="poem", kinds=("limerick",), pool="poem", rubric="poem", model=agents)
    about = {"pid": 1, "incarnation": "life", "queues": ("poem",)}
    announce(redis_client, Presence(node="poem@x", agents=(poet,), scorer_model=scorer, **about))

    assert said in answer_of(here)
    count(redis_client, "all withheld", [100.0] * 30, [0.0])
    counted = here.get("/v1/stats").json()["helps"]
    assert [(one["needs"], one["more"]) for one in counted] == [(None, 450)] * 2, "some were counted"


@pytest.mark.parametrize(
    ("model", "said"), [(OFFLINE, "No model is set, so pairs become one only"), (MODEL, "Each accep")]
)
def test_without_a_model_no_lesson_is_promised(
    here: TestClient, redis_client: redis.Redis, model: str, said: str
) -> None:
    about = {"pid": 1, "incarnation": "life", "queues": ("trainer",)}
    announce(redis_client, Presence(node="trainer@x", trainer_model=model, **about))

    assert f"No pool has had a lesson yet. {said}" in text_of(here.get("/worth").text)


def test_what_is_missing_is_told_in_tasks_and_days(
    here: TestClient, backend: Backend, redis_client: redis.Redis
) -> None:
    count(redis_client, "all withheld", [100.0] * 30, [0.0])
    for number in range(51):
        answered(backend, journey=f"t{number}")
        graded(backend, f"t{number}", 100)
    assert "some 450 more tasks, until" in answer_of(here), "there is no day's rate before a day is over"

    backend.redis.hset("memshare:journey:t50", "submitted", time.time() - 86_401)
    assert "some 450 more tasks, 9 days at today's rate" in answer_of(here)
    [row] = [one for one in here.get("/v1/stats").json()["helps"] if one["agent"]]
    assert (row["more"], row["days"], row["difference"]) == (450, 9, None)
    for number in range(20):  # chance takes nothing from these
        ask(backend, f"fixed {number}", "Fixed?", 100, memories=3, remember=True)
        backend.redis.hset(f"memshare:journey:fixed {number}", "submitted", time.time())
    assert "some 450 more tasks, 9 days" in answer_of(here)
    for days, said in ((1.2, "1 day"), (9.4, "9 days"), (9.6, "10 days"), (1_234.5, "1,234 days")):
        found = HelpReply.model_validate({**row, "days": days}).in_words
        assert found == f"too early: some 450 more tasks, {said} at today's rate"


def test_too_early_names_the_nearest_answer_that_is_on_its_way(
    here: TestClient, backend: Backend, redis_client: redis.Redis
) -> None:
    hint = "Asking the same questions twice is quicker (docs/retriever.md)"
    assert f"without memories. {hint}." in answer_of(here)

    count(redis_client, "one withheld", [100.0] * 30, [0.0] * 5)
    found = answer_of(here)
    assert "Too early : nearest is one memory more or less, some 100 more tasks; all withheld: chance begins" in found
    assert hint in found, "what memories do takes far more"

    for number in range(8):
        ask_twice(backend, number, 0, 100)
    too_early = here.get("/v1/stats").json()["too_early"]
    assert too_early.startswith("too early: nearest is same questions, 2 more on a side; all withheld: ")
    assert "quicker" not in too_early, "they are asked"

    for number in range(8, 10):
        ask_twice(backend, number, 0, 100)
    assert here.get("/v1/stats").json()["too_early"] == ""


def test_the_nearest_of_two_agents_is_the_one_with_the_fewest_days() -> None:
    row = HelpReply.model_construct(
        **{name: field.default for name, field in HelpReply.model_fields.items() if not field.is_required()},
        way="one withheld", agent=None, kind=None, model=None, unit="points", tasks=9, tasks_without=0,
        mean=None, mean_without=None, difference=None, low=None, high=None,
    )  # fmt: skip
    every = row.model_copy(update={"way": "all withheld", "more": 400, "days": 40.0})
    rows = [every, row.model_copy(update={"more": 90, "days": 9.0})]
    rows += [row.model_copy(update={"agent": "a", "more": 80, "days": 8.0}), row.model_copy(update={"agent": "b"})]

    found = StatsReply(memories=1, by_pool={}, helps=tuple(rows), open={}).when_told

    assert found.startswith("too early: nearest is one memory more or less in a, some 80 more tasks, 8 days at")


def test_tasks_of_an_agent_whose_file_fixes_the_number_are_no_rate(
    here: TestClient, backend: Backend, redis_client: redis.Redis
) -> None:
    count(redis_client, "all withheld", [100.0] * 30, [0.0])
    count(redis_client, "one withheld", [100.0] * 30, [0.0])
    for number in range(51):
        answered(backend, *(str(UUID(int=at)) for at in range(3)), journey=f"t{number}")
        graded(backend, f"t{number}", 100)
    backend.redis.hset("memshare:journey:t50", "submitted", time.time() - 86_401)
    fixed = AgentCard(name="logic", kinds=("riddle",), pool="logic", rubric="logic", model=MODEL, memories=3)
    free = fixed.model_copy(update={"name": "poem", "memories": None})

    for card, rates in ((free, {450, 180}), (fixed, {None, 180})):
        about = {"pid": 1, "incarnation": "life", "queues": (card.name,), "agents": (card,)}
        announce(redis_client, Presence(node="agent@x", scorer_model=MODEL, **about))

        rows = here.get("/v1/stats").json()["helps"]
        assert {one["days"] and one["days"] * 50 for one in rows} == rates


def test_a_pool_without_a_memory_counts_too(here: TestClient, redis_client: redis.Redis) -> None:
    group = TaskGroup("all withheld", "logic", "riddle", MODEL)
    for number in range(30):  # who got nothing right has no memory
        LiftSums(redis_client).count("mine/bob", str(number), 0.0, group, withheld=number % 2 == 0)

    [every] = [one for one in here.get("/v1/stats").json()["helps"] if not one["agent"]]

    assert (every["tasks"], every["tasks_without"], every["difference"]) == (15, 15, 0)


def test_a_few_questions_that_several_models_were_asked_are_too_few(here: TestClient, backend: Backend) -> None:
    for number in range(6):
        for model in ("openai:a", "openai:b", "openai:c"):
            ask(backend, f"without {number} {model}", f"Question {number}?", 0, model, memories=0)
            ask(backend, f"with {number} {model}", f"Question {number}?", 100, model)

    same = [one for one in here.get("/v1/stats").json()["helps"] if one["way"] == "same questions"]

    assert {(one["tasks"], one["difference"], one["missing"]) for one in same} == {(18, None, 4), (6, None, 4)}
    assert {HelpReply.model_validate(one).in_words for one in same} == {"too early: 4 more on a side"}


def test_groups_that_have_but_one_side_are_not_told_as_tasks_enough(
    here: TestClient, redis_client: redis.Redis
) -> None:
    count(redis_client, "only one withheld", [100.0] * 20, [])
    count(redis_client, "only one withheld", [], [100.0] * 12, agent="poem")

    [every] = [
        one for one in here.get("/v1/stats").json()["helps"] if not one["agent"] and one["way"] == "only one withheld"
    ]

    assert HelpReply.model_validate(every).in_words == (
        "too early: some 200 more tasks, in agents, kinds and models that have both sides"
    )


@pytest.mark.parametrize(("shown", "without", "said"), [(100.0, 0.0, "Yes"), (0.0, 100.0, "No, they harm")])
def test_one_figure_with_its_interval_says_whether_memories_help(
    here: TestClient, redis_client: redis.Redis, shown: float, without: float, said: str
) -> None:
    count(redis_client, "all withheld", [shown] * 12, [without] * 10)

    found = answer_of(here)

    difference = shown - without
    assert f"{said}: {difference:+.1f} points" in found
    assert "where chance withheld all" in found
    low, high = map(float, re.findall(r"([+-]\d+\.\d) to ([+-]\d+\.\d)", found)[0])
    assert min(abs(low), abs(high)) > 50


def test_no_difference_is_shown_below_ten_on_a_side(here: TestClient, redis_client: redis.Redis) -> None:
    count(redis_client, "all withheld", [100.0] * 50, [0.0] * 9)

    assert "+100.0 points" not in text_of(here.get("/worth").text)
    assert {one["difference"] for one in here.get("/v1/stats").json()["helps"]} == {None}


def test_scores_that_do_not_differ_may_be_chance(here: TestClient, redis_client: redis.Redis) -> None:
    count(redis_client, "all withheld", [70.0, 90.0] * 10, [75.0, 84.0] * 6)

    assert "It may be chance: +0.5 points" in answer_of(here)


def test_one_memory_more_or_less_is_not_what_memories_do(here: TestClient, redis_client: redis.Redis) -> None:
    count(redis_client, "one withheld", [100.0] * 50, [0.0] * 20)
    assert "Too early" in answer_of(here), "two others stayed"
    assert "one memory more or less" in text_of(here.get("/worth").text)

    count(redis_client, "only one withheld", [0.0] * 50, [100.0] * 20)
    assert "No, they harm: -100.0 points" in answer_of(here)


def test_harm_of_one_agent_is_told_before_what_all_gain(here: TestClient, redis_client: redis.Redis) -> None:
    count(redis_client, "all withheld", [100.0] * 60, [0.0] * 60)
    count(redis_client, "all withheld", [30.0, 50.0] * 10, [60.0, 80.0] * 10, agent="poem")

    found = answer_of(here)

    assert found.index("Harms in poem/riddle, all withheld: -30.0 points") < found.index("Yes: +")
    assert "Harms in logic" not in found


def test_what_helps_one_agent_and_harms_another_is_no_chance(here: TestClient, redis_client: redis.Redis) -> None:
    count(redis_client, "all withheld", [100.0] * 30, [0.0] * 30, agent="poem")
    assert "Yes: +" in answer_of(here)
    count(redis_client, "all withheld", [0.0] * 30, [100.0] * 30, agent="plan")

    found = answer_of(here)

    assert "It differs, as the table says: +0.0 points" in found
    assert "Harms in plan" in found
    assert "by chance" not in found


def test_of_many_agents_harm_is_told_by_an_interval_that_is_right_for_all(
    here: TestClient, redis_client: redis.Redis
) -> None:
    count(redis_client, "all withheld", [0.0] * 14 + [100.0] * 6, [0.0] * 5 + [100.0] * 11, agent="poem")
    count(redis_client, "all withheld", [0.0] * 40, [100.0] * 40, agent="plan")
    assert "Harms in poem" in answer_of(here), "as one of two"

    for name in ("a", "b", "c"):
        count(redis_client, "all withheld", [50.0, 70.0] * 10, [50.0, 70.0] * 10, agent=name)
    found = answer_of(here)

    rows = {one["agent"]: one for one in here.get("/v1/stats").json()["helps"]}
    assert rows["poem"]["high"] < 0 < rows["poem"]["of_many"][1]
    assert rows["poem"]["of_many"][0] < rows["poem"]["low"]
    assert rows[None]["of_many"] is None
    assert "Harms in poem" not in found
    assert "99 % interval, as 5 are compared" in found[found.index("Harms in plan") :]


def test_a_row_that_is_below_0_by_itself_alone_is_told_as_one_of_many(
    here: TestClient, redis_client: redis.Redis
) -> None:
    count(redis_client, "all withheld", [0.0] * 14 + [100.0] * 6, [0.0] * 5 + [100.0] * 11, agent="poem")
    for name in ("a", "b", "c"):
        count(redis_client, "all withheld", [50.0, 70.0] * 10, [50.0, 70.0] * 10, agent=name)

    found = answer_of(here)

    assert re.search(
        r"poem/riddle, all withheld: -38\.8 points \(-\d+\.\d to -\d+\.\d\), by itself below 0; "
        r"as one of 4 rows it may be chance\.", found
    ), found  # fmt: skip
    assert "Harms in" not in found
    assert "a/riddle" not in found


def test_harm_that_the_same_questions_found_stays_however_many_tasks_follow(here: TestClient, backend: Backend) -> None:
    for number in range(12):
        ask_twice(backend, number, 100, 0)
        for journey in (f"without {number}", f"with {number}"):
            note_unremembered(backend.redis, "logic", journey)
    harm = re.escape("Harms in logic/riddle, same questions: -100.0 points")
    [found] = re.findall(rf"{harm}.*?compared", answer_of(here))

    for number in range(1_000):
        backend.client.ledger.open(entry(f"later {number}", "answer"))

    assert {one.partition(" ")[0] for one in recent(backend.redis)} == {"later"}
    assert found in answer_of(here)
    said = "The same questions count for 7 days, the last 2,000 answers of each agent; what chance withheld counts"
    assert said in text_of(here.get("/worth").text)


def test_a_difference_that_leans_to_zero_is_no_figure_of_the_page(here: TestClient, redis_client: redis.Redis) -> None:
    for place in range(60):
        number, score = (3, 90.0 - place % 2) if place < 40 else (0, 50.0 - place % 2)
        HowMany(redis_client).count("logic", None, str(place), score, Examples(model=MODEL, number=number))

    page = text_of(here.get("/worth").text)

    [row] = here.get("/v1/stats").json()["numbers"]["logic"]
    points, low, high = row["beside_usual"]["0"]
    assert points < -20
    told = f"3; tasks with 0 in 20: {points:+.1f} points ({low:+.1f} to {high:+.1f}) beside 3, 3 in 40"
    assert told in page
    assert "so that differences lean to 0" in page
    assert f"{points:+.1f}" not in answer_of(here)


def test_where_all_withheld_is_no_fair_comparison_the_numbers_shown_are_none(
    here: TestClient, redis_client: redis.Redis
) -> None:
    for place in range(60):
        number, score = (3, 90.0 - place % 2) if place < 40 else (0, 50.0 - place % 2)
        HowMany(redis_client).count("logic", "riddle", str(place), score, Examples(model=MODEL, number=number))
    count(redis_client, "all withheld", [100.0] * 90, [0.0])
    no_grade(redis_client, 3, 10)

    page = text_of(here.get("/worth").text)

    [row] = here.get("/v1/stats").json()["numbers"]["logic"]
    assert row["is_fair"] is False
    assert "3: no fair comparison; tasks with 0 in 20, 3 in 40" in page
    assert "No fair comparison : 3 with and 10 without have no grade. of" not in page
    assert "No fair comparison : 3 with and 10 without have no grade." in page, "and not: too early"


def test_of_each_question_without_a_pair_it_is_said_why(here: TestClient, backend: Backend) -> None:
    for number in range(12):
        ask_twice(backend, number, 0, 100)
    ask(backend, "other without", "By two?", 0, memories=0)
    ask(backend, "other with", "By two?", 0, "openai:another")
    ask(backend, "alone", "With three alone?", 100, memories=3)
    ask(backend, "ended", "To come?", 100, memories=0)
    task = AgentTask(prompt="To come?", kind="riddle", submitter="ada", remember=False, memories=3)
    body = task.model_dump(mode="json", exclude_none=True)
    backend.client.ledger.open(entry("waits", "answer", "logic").model_copy(update={"body": body}))

    why = (
        "1 not answered twice yet; 1 answered by one model with memories, by another without; "
        "1 asked one way alone, among the last 2,000 of their agent"
    )
    assert f"12 of 15 questions ({why})" in answer_of(here)


def test_a_thousand_questions_after_a_thousand_are_pairs_whatever_others_ask(backend: Backend) -> None:
    for number in range(1_000):
        note_unremembered(backend.redis, "logic", f"with {number}")
    for number in range(1_500):
        note_unremembered(backend.redis, "poem", f"poem {number}")
    for number in range(1_001):
        note_unremembered(backend.redis, "logic", f"without {number}")

    known = unremembered(backend.redis)
    assert {"with 1", "without 0", "poem 0"} <= known
    assert "with 0" not in known


def test_questions_that_were_asked_one_way_alone_say_why_they_are_no_pairs(here: TestClient, backend: Backend) -> None:
    ask(backend, "alone", "Asked?", 100, memories=0)

    [row] = [one for one in here.get("/v1/stats").json()["helps"] if one["way"] == "same questions"]

    assert (row["difference"], row["alone"]) == (None, 1)
    said = "too early: 10 more on a side, 0 of 1 questions (1 asked one way alone, among the last 2,000 of their agent)"
    assert said in text_of(here.get("/worth").text)


def test_none_shown_is_no_verdict_and_chance_is_told_as_it_is(here: TestClient, redis_client: redis.Redis) -> None:
    for place in range(29):
        number, score = (3, 20.0) if place < 20 else (0, 100.0)
        HowMany(redis_client).count("logic", None, str(place), score, Examples(model=MODEL, number=number))

    page = text_of(here.get("/worth").text)

    assert f"{AT_RANDOM:.0%} of the tasks take a number by chance" in page
    assert "0: no difference known yet; tasks with 0 in 9, 3 in 20" in page


def test_what_was_asked_twice_comes_before_what_chance_has_not_told_yet_and_is_paired(
    here: TestClient, backend: Backend, redis_client: redis.Redis
) -> None:
    count(redis_client, "all withheld", [70.0] * 20, [75.0] * 9)
    for number in range(12):
        ask_twice(backend, number, 0, 100 if number < 8 else 0)
    ask(backend, "alone", "Nobody asks this again.", 100, memories=0)
    ask(backend, "again", "Question 0?", 0)  # the last one counts

    found = answer_of(here)
    assert "Mean 58.3 of 12 tasks with memories, 0.0 of 12 tasks without, asked the same questions" in found
    assert "says little" not in found
    why = "12 of 13 questions (1 asked one way alone, among the last 2,000 of their agent)"
    assert f"Yes: +58.3 points , of logic , answered by {MODEL} ; {why}" in found
    ask(backend, "in its words", "Question 0?", 0, similarity=1.0)
    assert f"{why}, 1 in words that a memory has already, which says little" in answer_of(here)
    [same, *_] = here.get("/v1/stats").json()["helps"]
    assert same["there"] == 1
    assert (same["way"], same["unit"], same["tasks"], same["tasks_without"]) == ("same questions", "right", 12, 12)
    assert (same["difference"], same["mean_without"]) == (pytest.approx(700 / 12), 0)
    assert same["low"] < same["difference"] < same["high"]


def test_what_chance_withheld_leads_unless_far_more_questions_were_asked_twice(
    here: TestClient, backend: Backend, redis_client: redis.Redis
) -> None:
    count(redis_client, "all withheld", [70.0, 80.0] * 20, [75.0] * 10)
    for number in range(29):
        ask_twice(backend, number, 0, 100)
    assert "Mean 75.0 of 40 tasks with memories, 75.0 of 10 tasks without, where chance withheld all" in answer_of(here)

    ask_twice(backend, 29, 0, 100)

    assert "of 30 tasks without, asked the same questions" in answer_of(here)


def test_of_the_same_questions_it_is_told_how_many_are_missing(here: TestClient, backend: Backend) -> None:
    for number in range(7):
        ask_twice(backend, number, 0, 100)

    assert "too early: 3 more on a side" in text_of(here.get("/worth").text)


def test_a_question_that_was_shown_no_memory_is_no_pair(here: TestClient, backend: Backend) -> None:
    for number in range(8):
        ask_twice(backend, number, 0, 100)
    for number in range(8, 20):
        ask_twice(backend, number, 50, 50)
        ask(backend, f"none {number}", f"Question {number}?", 50, found=0)
    for number in range(30, 42):
        ask(backend, f"without {number}", f"Question {number}?", 50, memories=0)
        ask(backend, f"none {number}", f"Question {number}?", 50, found=0)
    ask(backend, "alone", "Nobody asks this again.", 100, memories=0)

    found = answer_of(here)

    assert "Mean 70.0 of 20 tasks with memories, 30.0 of 20 tasks without, asked the same questions" in found
    assert "Yes: +40.0 points" in found
    assert "; 20 of 33 questions (12 shown no memory; 1 asked one way alone, among the last 2,000 of" in found
    rows = [one for one in here.get("/v1/stats").json()["helps"] if one["way"] == "same questions"]
    assert [(one["tasks"], one["shown_none"]) for one in rows] == [(20, 12)] * 2


@pytest.mark.parametrize("what", ["rubric", "told"])
def test_questions_between_which_rubric_or_instructions_changed_are_no_pairs(
    here: TestClient, backend: Backend, what: str
) -> None:
    for number in range(12):
        ask_twice(backend, number, 50, 50)
    for number in range(20, 40):
        ask(backend, f"before {number}", f"Question {number}?", 0, memories=0, **{what: "before"})
        ask(backend, f"after {number}", f"Question {number}?", 100, **{what: "after"})

    said = "12 of 32 questions (20 asked before and after rubric or instructions changed)"
    assert f"It may be chance: +0.0 points , of logic , answered by {MODEL} ; {said}" in answer_of(here)
    rows = [one for one in here.get("/v1/stats").json()["helps"] if one["way"] == "same questions"]
    assert [(one["tasks"], one["changed"], one["is_fair"]) for one in rows] == [(12, 20, True)] * 2


def give_up(backend: Backend, number: int) -> None:
    """A question that was to be asked with memories, and that no agent could answer."""
    task = AgentTask(prompt=f"Question {number}?", kind="riddle", submitter="ada", remember=False, memories=3)
    body = task.model_dump(mode="json", exclude_none=True)
    began = entry(f"with {number}", "answer").model_copy(update={"body": body})
    backend.client.ledger.open(began)
    backend.client.dead_letters.add(letter_for(began, GiveUp("It is too hard."), tries=1))


def test_where_many_have_no_grade_on_one_side_the_rest_are_no_finding(here: TestClient, backend: Backend) -> None:
    for number in range(80):
        ask(backend, f"without {number}", f"Question {number}?", 100.0 * (number % 4 < 2), memories=0)
        if number % 2:
            ask(backend, f"with {number}", f"Question {number}?", 100)
        else:
            ask(backend, f"with {number}", f"Question {number}?", None) if number % 4 else give_up(backend, number)
    ask(backend, "alone", "Still to come?", 100, memories=0)

    found = answer_of(here)
    rows = [one for one in here.get("/v1/stats").json()["helps"] if one["way"] == "same questions"]

    why = "40 with and 0 without have no grade; 1 asked one way alone, among the last 2,000 of their agent"
    left_out = f"40 of 81 questions ({why}); those graded +50.0 points"
    assert f"No fair comparison : {left_out}" in found
    assert [(one["no_grade"], one["no_grade_shown"], one["no_grade_without"], one["is_fair"]) for one in rows] == [
        (40, 40, 0, False)
    ] * 2
    assert "Yes" not in found


def ask_agent(backend: Backend, agent: str, number: int, without: float, shown: float | None) -> None:
    for side, score, memories in (("without", without, 0), ("with", shown, 3)):
        ask(backend, f"{agent} {side} {number}", f"{agent} {number}?", score, agent=agent, memories=memories)


def test_what_is_no_fair_comparison_stays_out_of_all_together(here: TestClient, backend: Backend) -> None:
    for number in range(100):
        ask_agent(backend, "hard", number, 0, 0)
    for number in range(40):  # of as many right answers, where what is wrong has no grade with memories
        ask_agent(backend, "unkd", number, 100.0 * (number % 20 < 13), 100 if number >= 11 else None)

    found = answer_of(here)

    unfair = f"the 40 of unkd/riddle/{MODEL} left out as no fair comparison"
    assert f"It may be chance: +0.0 points , of 1 of 2 agents: hard , answered by {MODEL} ; {unfair}" in found
    rows = {one["agent"]: one for one in here.get("/v1/stats").json()["helps"] if one["way"] == "same questions"}
    assert {name: one["is_fair"] for name, one in rows.items()} == {None: True, "hard": True, "unkd": False}
    assert (rows[None]["tasks"], rows[None]["unfair"]) == (100, {f"unkd/riddle/{MODEL}": 40})


def test_a_few_that_chance_left_without_a_grade_keep_their_agent_in_all(here: TestClient, backend: Backend) -> None:
    for number in range(30):
        ask_agent(backend, "hard", number, 0, 0)
    for number in range(12):
        ask_agent(backend, "unkd", number, 100, 100 if number > 2 else None)

    every, *_ = here.get("/v1/stats").json()["helps"]

    assert (every["agent"], every["tasks"], every["unfair"], every["is_fair"]) == (None, 39, {}, True)


def test_a_gain_that_many_agents_may_owe_to_what_has_no_grade_is_no_finding(here: TestClient, backend: Backend) -> None:
    for agent in ("a", "b", "c", "d"):  # each lacks three, which alone may be chance
        for number in range(12):
            ask_agent(backend, agent, number, 0 if number in (3, 4) else 100, 100 if number > 2 else None)
    for number in range(200):
        ask_agent(backend, "easy", number, 100, 100)

    every, *_ = here.get("/v1/stats").json()["helps"]

    assert every["low"] > 0
    assert (every["unfair"], every["is_fair"]) == ({}, False)
    assert "No fair comparison" in answer_of(here)


def test_what_chance_withheld_unfairly_stays_out_of_all_together(here: TestClient, redis_client: redis.Redis) -> None:
    count(redis_client, "all withheld", [50.0, 60.0] * 100, [50.0, 60.0] * 50, agent="poem")
    count(redis_client, "all withheld", [100.0] * 30, [0.0] * 30)
    no_grade(redis_client, 20, 0)

    every, *rows = here.get("/v1/stats").json()["helps"]

    assert {one["agent"]: one["is_fair"] for one in rows} == {"logic": False, "poem": True}
    assert (every["difference"], every["tasks"], every["unfair"]) == (0, 200, {f"logic/riddle/{MODEL}": 80})


def test_many_agents_are_told_by_number(here: TestClient, redis_client: redis.Redis) -> None:
    for agent in "abcd":
        count(redis_client, "all withheld", [100.0] * 10, [0.0] * 10, agent=agent)

    assert "+100.0 points , of 4 agents , answered by" in answer_of(here)


def test_no_harm_is_told_of_what_is_not_compared_fairly(here: TestClient, backend: Backend) -> None:
    for number in range(40):
        ask(backend, f"with {number}", f"Question {number}?", 0)
        if number < 20:
            ask(backend, f"without {number}", f"Question {number}?", 100, memories=0)
        else:
            ask(backend, f"without {number}", f"Question {number}?", None, memories=0)

    assert "Harms" not in answer_of(here)
    assert "20 of 40 questions (0 with and 20 without have no grade)" in answer_of(here)


def test_a_few_without_a_grade_and_as_many_on_both_sides_are_told_and_no_more(
    here: TestClient, backend: Backend
) -> None:
    for number in range(40):
        ask_twice(backend, number, 0, 100)
    for number in range(40, 50):
        ask(backend, f"with {number}", f"Question {number}?", None)
        ask(backend, f"without {number}", f"Question {number}?", None, memories=0)
    give_up(backend, 50)
    ask(backend, "without 50", "Question 50?", 0, memories=0)
    ask(backend, "once", "Question 40?", 0, memories=0)  # the last one with a grade counts
    ask(backend, "once more", "Question 40?", 0)

    assert (
        f"Yes: +97.6 points , of logic , answered by {MODEL} ; 41 of 51 questions (10 with and 9 without have no grade)"
        in answer_of(here)
    )


def no_grade(client: redis.Redis, shown: int, without: int) -> None:
    """Tasks on which chance decided, and that nobody could grade."""
    sums, group = LiftSums(client, keep_days=1), TaskGroup("all withheld", "logic", "riddle", MODEL)
    for number in range(shown + without):
        sums.note("logic", f"no grade {number}", group, withheld=number >= shown)


def test_tasks_that_chance_chose_and_nobody_graded_are_told_on_their_side(
    here: TestClient, redis_client: redis.Redis
) -> None:
    count(redis_client, "all withheld", [100.0] * 90, [0.0] * 9)
    no_grade(redis_client, 31, 4)
    assert "some 50 more tasks (31 with and 4 without have no grade), until ten" in answer_of(here)

    LiftSums(redis_client).count(
        "logic", "last", 0.0, TaskGroup("all withheld", "logic", "riddle", MODEL), withheld=True
    )

    said = "; 31 with and 4 without have no grade"
    assert f"Yes: +100.0 points , of logic , answered by {MODEL} {said}" in answer_of(here), "as large a share of each"


def test_where_far_more_of_one_side_have_no_grade_chance_makes_no_fair_comparison(
    here: TestClient, redis_client: redis.Redis
) -> None:
    count(redis_client, "all withheld", [0.0] * 90, [100.0] * 10)
    no_grade(redis_client, 3, 10)

    found = answer_of(here)

    assert "No fair comparison : 3 with and 10 without have no grade; those graded -100.0 points" in found
    assert "harm" not in found.lower()
    [row] = [one for one in here.get("/v1/stats").json()["helps"] if one["agent"]]
    assert (row["no_grade"], row["no_grade_shown"], row["no_grade_without"], row["is_fair"]) == (13, 3, 10, False)


def test_more_tasks_are_as_many_as_the_side_takes_that_lacks_most(here: TestClient, redis_client: redis.Redis) -> None:
    count(redis_client, "all withheld", [100.0], [0.0] * 9)

    # Chance gives a task one, three or six memories in 6 % of the cases: nine more take 150.
    assert "some 150 more tasks" in answer_of(here)


def test_chance_begins_in_each_pool_by_itself(here: TestClient, redis_client: redis.Redis) -> None:
    for pool, tasks in (("logic", 20), ("poem", 7)):
        for place in range(tasks):
            HowMany(redis_client).count(pool, "riddle", str(place), 50.0, Examples(model=MODEL, number=3))

    page = text_of(here.get("/worth").text)

    assert "Chance takes no number yet in pools with fewer than 20 graded tasks shown three memories: 7 in poem" in page
    [every] = [one for one in here.get("/v1/stats").json()["helps"] if one["way"] == "all withheld"]
    assert (every["begun"]["logic"], every["begun"]["poem"]) == (20, 7)


def test_of_an_agent_that_fixes_the_number_it_is_said_that_all_are_never_withheld(
    here: TestClient, backend: Backend, redis_client: redis.Redis
) -> None:
    for place in range(20):
        HowMany(redis_client).count("logic", "riddle", str(place), 50.0, Examples(model=MODEL, number=3))
    ask(backend, "t1", "Fixed?", 100, agent="poem", remember=True)
    free = AgentCard(name="logic", kinds=("riddle",), pool="logic", rubric="logic", model=MODEL)
    fixed = [free.model_copy(update={"name": name, "pool": "poem", "memories": 3}) for name in ("poem", "unused")]
    about = {"pid": 1, "incarnation": "life", "queues": ("logic", "poem"), "agents": (free, *fixed)}
    announce(redis_client, Presence(node="agent@x", scorer_model=MODEL, **about))

    page = text_of(here.get("/worth").text)

    assert "poem fixes 3; all are never withheld there." in page
    assert "Chance takes no number yet" not in page


def test_the_figure_names_the_agents_that_it_is_about(
    here: TestClient, backend: Backend, redis_client: redis.Redis
) -> None:
    for number in range(12):
        ask_twice(backend, number, 0, 100)
    for agent in ("poem", "plan"):
        count(redis_client, "one withheld", [50.0], [50.0], agent=agent)

    assert f"+100.0 points , of 1 of 3 agents: logic , answered by {MODEL}" in answer_of(here)


def test_all_withheld_is_told_as_too_early_beside_one_agent_of_other_ways(
    here: TestClient, redis_client: redis.Redis
) -> None:
    for place in range(7):
        HowMany(redis_client).count("logic", "riddle", str(place), 50.0, Examples(model=MODEL, number=3))
    count(redis_client, "one withheld", [50.0] * 5, [50.0])

    table = text_of(here.get("/worth").text.partition('id="helps"')[2])

    assert "all withheld" in table.partition("The same questions, asked")[0]
    assert "were shown three memories, so far 7 in logic, 0 in" in table
    assert "then it takes some 500 more tasks" in table
    [every] = [one for one in here.get("/v1/stats").json()["helps"] if one["way"] == "all withheld"]
    assert (every["begun"]["logic"], every["days"]) == (7, None)
    for place in range(7, 20):
        HowMany(redis_client).count("logic", "riddle", str(place), 50.0, Examples(model=MODEL, number=3))
    assert "too early: some 500 more tasks" in text_of(here.get("/worth").text)


def test_tasks_that_were_shown_one_or_none_make_no_way_to_one_withheld(
    here: TestClient, backend: Backend, redis_client: redis.Redis
) -> None:
    count(redis_client, "one withheld", [100.0] * 30, [0.0])
    for number in range(99):
        shown = [str(UUID(int=at)) for at in range(3 if number < 49 else number % 2)]
        answered(backend, *shown, journey=f"t{number}")
        graded(backend, f"t{number}", 100)

    rows = [one for one in here.get("/v1/stats").json()["helps"] if one["way"] == "one withheld"]

    assert [one["more"] for one in rows] == [360] * 2, "180 where each counts; of these half do"


def test_of_one_agent_kind_and_model_each_way_is_told_once_and_with_one_figure(
    here: TestClient, backend: Backend, redis_client: redis.Redis
) -> None:
    """Tasks of another model, of which chance has decided nothing yet, change nothing."""
    count(redis_client, "one withheld", [100.0] * 30, [0.0])
    for number in range(9):
        answered(backend, *(str(UUID(int=at)) for at in range(3)), journey=f"t{number}")
        graded(backend, f"t{number}", 100)
        ask(backend, f"other {number}", "Another?", 100, "openai:other", found=1, remember=True)

    counted = StatsReply.model_validate(here.get("/v1/stats").json())

    assert [one.more for one in counted.helps if one.way == "one withheld"] == [180] * 2
    assert [(one.agent, one.way) for one in counted.told] == [(None, "all withheld"), ("logic", "one withheld")]


def test_where_none_was_ever_shown_there_is_no_difference(here: TestClient, backend: Backend) -> None:
    for number in range(12):
        ask(backend, f"without {number}", f"Question {number}?", 50, memories=0)
        ask(backend, f"none {number}", f"Question {number}?", 50, found=0)

    rows = [one for one in here.get("/v1/stats").json()["helps"] if one["way"] == "same questions"]

    assert [(one["difference"], one["tasks"], one["shown_none"]) for one in rows] == [(None, 0, 12)] * 2
    assert "too early: 10 more on a side, 0 of 12 questions (12 shown no memory)" in text_of(here.get("/worth").text)


def test_rows_are_in_the_order_of_agent_and_kind(here: TestClient, backend: Backend, redis_client: redis.Redis) -> None:
    for way in ("all withheld", "one withheld"):
        for agent in ("poem", "code", "logic"):
            count(redis_client, way, [100.0], [0.0], agent=agent)
    ask_twice(backend, 1, 0, 100)

    rows = [(one["agent"], one["way"]) for one in here.get("/v1/stats").json()["helps"] if one["agent"]]

    ways = ["all withheld", "one withheld"]
    assert rows == [
        *(("code", way) for way in ways),
        *(("logic", way) for way in ("same questions", *ways)),
        *(("poem", way) for way in ways),
    ]


def test_where_files_fix_the_number_all_withheld_is_not_promised(
    here: TestClient, backend: Backend, redis_client: redis.Redis
) -> None:
    cards = (
        AgentCard(name="logic", kinds=("riddle",), pool="logic", rubric="logic", model=MODEL, memories=3),
        AgentCard(name="poem", kinds=(), pool="poem", rubric="poem", model=MODEL),
    )
    about = {"pid": 1, "incarnation": "life", "queues": ("logic", "poem")}
    announce(redis_client, Presence(node="logic@x", agents=cards, scorer_model=MODEL, **about))
    assert "some 500 more tasks" in answer_of(here), "of the poet, say"

    answered(backend)
    graded(backend, "t1", 90)

    said = "Not measured : it needs the same questions asked twice, as files fix how many memories are shown"
    assert said in answer_of(here)


def test_of_the_student_it_is_said_that_it_copies(here: TestClient, backend: Backend) -> None:
    for number in range(10):
        ask_twice(backend, number, 0, 100, "openai:student")

    assert "openai:student, which copies what it is shown and answers nothing alone" in answer_of(here)


def test_the_student_of_the_demo_is_left_out_once_a_model_of_ones_own_was_asked(
    here: TestClient, backend: Backend, redis_client: redis.Redis
) -> None:
    for number in range(40):
        ask_twice(backend, number, 0, 100, STUDENT)
    count(redis_client, "all withheld", [100.0] * 30, [0.0] * 10, model=STUDENT)
    assert "+100.0 points" in answer_of(here)

    answered(backend)
    graded(backend, "t1", 90)
    found = answer_of(here)
    assert "some 500 more tasks" in found, "of one's own nothing was measured yet"
    rows = here.get("/v1/stats").json()["helps"]
    assert [one["way"] for one in rows if one["agent"] is None] == ["all withheld"]
    assert [one["model"] for one in rows if one["difference"] == 100] == [STUDENT] * 2

    for number in range(100, 112):
        ask_twice(backend, number, 0, 100 if number < 104 else 0)
    found = answer_of(here)
    assert f"+33.3 points , of logic , answered by {MODEL}, without the copies of {STUDENT}" in found
    assert "of 12 tasks with memories" in found
    assert here.get("/v1/stats").json()["helps"][0]["left_out"] == [STUDENT]
    assert "answered by ," not in answer_of(here)


def test_of_several_models_the_figure_is_of_each_beside_itself(here: TestClient, redis_client: redis.Redis) -> None:
    count(redis_client, "all withheld", [10.0, 30.0] * 5, [20.0, 40.0] * 45, model="openai:poor")
    count(redis_client, "all withheld", [60.0, 80.0] * 45, [70.0, 90.0] * 5, model="openai:good")
    count(redis_client, "all withheld", [50.0] * 7, [], model="openai:new")

    found = answer_of(here)

    assert "No, they harm: -10.0 points , of logic , answered by openai:good and openai:poor" in found
    assert "Mean 45.0 of 100 tasks with memories, 55.0 of 100 tasks without" in found
    assert "each agent, kind and model beside itself" in found


def test_two_models_that_were_asked_the_same_do_not_count_as_twice_as_many_questions(
    here: TestClient, backend: Backend
) -> None:
    for number in range(20):
        for model in ("a", "b"):
            ask(backend, f"without {model} {number}", f"Question {number}?", 0, model, memories=0)
            ask(backend, f"with {model} {number}", f"Question {number}?", 100 if number < 10 else 0, model)

    rows = {one["model"]: one for one in here.get("/v1/stats").json()["helps"] if one["way"] == "same questions"}

    both, one = (rows[model]["high"] - rows[model]["low"] for model in (None, "a"))
    assert both == pytest.approx(one, rel=0.15)


def test_a_question_that_was_to_be_remembered_is_no_pair(here: TestClient, backend: Backend) -> None:
    for number in range(12):
        ask(backend, f"without {number}", "When does the red lamp shine?", 0, memories=0)
        answered(backend, journey=f"t{number}")
        graded(backend, f"t{number}", 100)

    rows = [one for one in here.get("/v1/stats").json()["helps"] if one["way"] == "same questions"]
    assert [(one["tasks"], one["alone"]) for one in rows] == [(0, 1)]


def test_others_questions_are_not_counted_for_who_may_not_see_them(tokened: Tokened, backend: Backend) -> None:
    for number in range(10):
        ask_twice(backend, number, 0, 100)

    ways = [
        {one["way"] for one in tokened(name, *rights).get("/v1/stats").json()["helps"]}
        for name, rights in (("mo", ("recall",)), ("ada", ("recall",)), ("wes", ("watch",)))
    ]

    assert ["same questions" in one for one in ways] == [False, True, True]


def test_the_chart_has_a_column_for_each_thing_that_tasks_were_shown(
    here: TestClient, backend: Backend, shelf: dict[str, str]
) -> None:
    answered(backend, shelf["logic"], journey="t1")
    answered(backend, shelf["logic"], journey="t2", withheld=shelf["poem"])
    answered(backend, journey="t3")
    for journey, score in (("t1", 90), ("t2", 80), ("t3", 70)):
        graded(backend, journey, score)

    page = here.get("/worth").text

    points = json.loads(html.unescape(re.findall(r'data-points="([^"]+)"', page)[0]))
    assert points[0] == sorted(points[0])
    assert [sorted(filter(None, column)) for column in points[1:]] == [[90], [80], [70], []]
    assert "data-points" in here.get("/worth?days=1").text
    assert "data-points" in here.get("/worth?agent=logic").text
    assert "No graded task here yet" in here.get("/worth?agent=poem").text


def test_the_chart_counts_answered_tasks_whose_good_answers_are_remembered(here: TestClient, backend: Backend) -> None:
    answered(backend, journey="t1")
    graded(backend, "t1", 90)
    ask(backend, "tried", "Only tried?", 10)
    pair: dict[str, Any] = {"agent": "logic", "pool": "logic", "rubric": "logic", "prompt": "red", "answer": "A light."}
    by = {"kind": None, "submitter": "ada", **pair}
    for one in (
        OFFER.next(OfferedPair(**pair), "offered"),
        OFFER.next(OfferedPair(**pair, trial="strict"), "trial"),
        SCORE.next(SeedPair(journey="seed", **by), "seed", begins=True),
        SCORE.next(PartPair(journey="part", part_of="t1", **by), "part", begins=True),
        SCORE.next(RegradePair(journey="again", memory_id=UUID(int=1), **by), "again", begins=True),
    ):
        backend.client.ledger.open(one.entry())
        graded(backend, one.journey, 20)

    page, listed = here.get("/worth").text, here.get("/v1/journeys").json()["journeys"]

    points = json.loads(html.unescape(re.findall(r'data-points="([^"]+)"', page)[0]))
    assert [sorted(filter(None, column)) for column in points[1:4]] == [[], [], [20, 90]]
    assert "Scores of the latest 2 graded tasks" in text_of(page)
    assert "nothing submitted with remember false" in text_of(page)
    assert {one["id"]: one["what"] for one in listed} == {
        "t1": "task", "tried": "task", "offered": "task", "seed": "seed", "part": "task", "again": "re-grading"
    }  # fmt: skip
    assert here.get("/v1/journeys?agent=logic").json()["journeys"] == listed, "pairs name their agent, in one queue"
    remember = [here.get(f"/v1/journeys/{name}").json()["remember"] for name in ("t1", "tried", "part", "again")]
    assert remember == [True, False, None, None]
    assert "graded re-grading 20 – ada" in text_of(here.get("/").text)


def test_the_mean_in_the_chart_is_of_the_last_twenty(here: TestClient, backend: Backend) -> None:
    for number in range(50):
        answered(backend, journey=f"t{number}")
        graded(backend, f"t{number}", 0 if number < 25 else 100)

    points = json.loads(html.unescape(re.findall(r'data-points="([^"]+)"', here.get("/worth").text)[0]))

    assert points[4] == [None] * 19 + [0] * 6 + [5.0 * number for number in range(1, 20)] + [100] * 6


def test_the_chart_shows_a_range_of_time(here: TestClient, backend: Backend) -> None:
    answered(backend)
    graded(backend, "t1", 90)
    backend.redis.hset("memshare:journey:t1", "submitted", time.time() - 3 * 86_400)

    assert "data-points" in here.get("/worth?days=7").text
    assert "No graded task here yet" in here.get("/worth?days=1").text


def test_the_chart_of_an_agent_is_of_its_own_latest_thousand_and_says_where_it_ends(
    here: TestClient, backend: Backend
) -> None:
    for number in range(205):
        answered(backend, journey=f"t{number}")
        graded(backend, f"t{number}", 90)
    for number in range(1_001):
        backend.client.ledger.open(entry(f"later {number}", "answer", "poem"))

    page, other = (text_of(here.get(f"/worth?days=&agent={name}").text) for name in ("logic", "poem"))
    listed, others = (text_of(here.get(f"/{query}").text) for query in ("?agent=logic", "?state=settled"))
    found = here.get("/v1/journeys?agent=logic&limit=200").json()

    assert "Scores of the latest 205 graded tasks" in page
    assert "older ones are not" not in page + listed
    assert "Looked at are the latest 1,000 journeys of poem" in other
    assert (len(found["journeys"]), found["of_latest"]) == (200, None)
    assert "No task like this among the latest 1,000 of all agents together" in others
    assert here.get("/v1/journeys?agent=poem&state=settled").json() == {"journeys": [], "of_latest": 1_000}


@pytest.mark.parametrize("name", ["chart.js", "uplot.js", "uplot.css"])
def test_what_draws_the_chart_is_served(here: TestClient, name: str) -> None:
    assert f"/pages/{name}" in FILES
    assert here.get(f"/pages/{name}").status_code == 200


def test_all_but_the_last_three_versions_are_folded(
    here: TestClient, backend: Backend, redis_client: redis.Redis
) -> None:
    encoder = encoder_in_use(backend.settings, redis_client)
    stage = LearnStage(redis_client, FormLabeller(), kept=2_000, keep_days=1)  # type: ignore[arg-type]
    for number in range(45):
        told = lesson(number, "logic").model_dump_json().replace(ENCODER, encoder)
        stage.run(f"taught {number}", LessonTask.model_validate_json(told))

    page = here.get("/worth").text

    [pool] = here.get("/v1/retrievers").json()["pools"]
    newest, older = [one["version"] for one in pool["versions"]][::-1], page.index('<details id="older-logic')
    places = [page.index(f'<td data-name="Version">{version}</td>') for version in newest]
    assert len(newest) > 4
    assert places == sorted(places)
    assert [place < older for place in places] == [True] * 3 + [False] * (len(newest) - 3)
    assert f"on {pool['held_out']} lessons and 0 outcomes never trained on" in text_of(page)
    assert "What its lessons came to with the encoder in use; of those carried over" in text_of(page)
    assert page.count("<th>Version</th>") == 2, "the last three, and all older ones in one table"


def test_a_figure_of_answers_made_alike_is_not_called_help(
    here: TestClient, backend: Backend, redis_client: redis.Redis
) -> None:
    encoder = encoder_in_use(backend.settings, redis_client)
    stage = LearnStage(redis_client, Labeller(ScriptedChat()), kept=2_000, keep_days=1)
    for number in range(31):
        told = lesson(number, "logic").model_dump_json().replace(ENCODER, encoder)
        task = LessonTask.model_validate_json(told)
        alike = tuple(float(not helps(one, task)) for one in task.candidates)
        stage.run(f"alike {number}", task.model_copy(update={"labels": alike}))

    [pool] = here.get("/v1/retrievers").json()["pools"]
    assert pool["labelled_by"] == {"answers alike": 31}
    assert "How likely what is ranked first is made alike: " in text_of(here.get("/worth").text)
    said = "of 31 it is known that the answer is made alike, and not that it helps"
    assert said in text_of(here.get("/worth").text)


def test_a_lesson_that_was_no_update_says_why(here: TestClient, backend: Backend, redis_client: redis.Redis) -> None:
    encoder = encoder_in_use(backend.settings, redis_client)
    stage = LearnStage(redis_client, SameLabels(), kept=2_000, keep_days=1)  # type: ignore[arg-type]
    stage.run("one", LessonTask.model_validate_json(lesson(1, "logic").model_dump_json().replace(ENCODER, encoder)))

    said = "1 no update · 0 carried over; the last without an update: there are no labels: They are all alike."
    assert said in text_of(here.get("/worth").text)


def test_a_message_that_is_no_task_breaks_nothing(here: TestClient, backend: Backend) -> None:
    ask_twice(backend, 1, 0, 100)
    backend.client.ledger.open(entry("t1", "answer").model_copy(update={"body": {"prompt": 3}}))

    assert ["same questions" in one["way"] for one in here.get("/v1/stats").json()["helps"]] == [True, False, True]
