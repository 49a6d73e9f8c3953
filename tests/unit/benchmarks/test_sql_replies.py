"""The chat server of `benchmarks.sql` knows what it is asked for, by what the product sends."""

import json
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

import pytest
from pydantic import BaseModel

from benchmarks.claims import KnowsThePairs
from benchmarks.support.counts import CountedChat, Tally, kind_of
from benchmarks.support.replies import Replies
from memshare.demo.student_server import IGNORANCE, SqlExpert
from memshare.demo.text_to_sql import Questions, SqlQuestion, read_questions
from memshare_agents.answering import build_prompt
from memshare_broker.wire.messages import Turn
from memshare_concepts.extraction import hierarchies_schema
from memshare_llm.providers.reply_limit import strict_schema
from memshare_memory.memory import Memory
from memshare_scorer.contradiction import comparisons_schema
from memshare_scorer.grading import ranges_schema
from memshare_scorer.rubric import Criterion
from memshare_trainer.percentages import labels_schema

RIGHT = Criterion(name="right", points=100, description="The rows.")


@pytest.fixture(scope="module")
def library() -> Questions:
    return read_questions()


@pytest.fixture
def replies(library: Questions) -> Replies:
    return Replies(SqlExpert(library))


@pytest.fixture
def task(library: Questions) -> SqlQuestion:
    return library.of("test")[0]


def same_query(library: Questions, task: SqlQuestion) -> SqlQuestion:
    return next(one for one in library.of("train") if one.query == task.query)


def other_query(library: Questions, task: SqlQuestion) -> SqlQuestion:
    return next(one for one in library.of("train") if one.query != task.query and one.types == task.types)


def request(turns: Sequence[Turn], schema: type[BaseModel] | None = None) -> dict[str, Any]:
    body: dict[str, Any] = {"messages": [turn.model_dump() for turn in turns]}
    if schema is not None:
        wanted = {"name": "wanted", "schema": schema.model_json_schema()}
        body["response_format"] = {"type": "json_schema", "json_schema": wanted}
    return body


def document(value: object, schema: type[BaseModel]) -> dict[str, Any]:
    turns = [Turn(role="system", content="Judge."), Turn(role="user", content=json.dumps(value))]
    return request(turns, schema)


def prompted(task: SqlQuestion, *best_first: SqlQuestion) -> dict[str, Any]:
    memories = [Memory(id=uuid4(), pool="sql", prompt=one.text, answer=one.sql, created=0) for one in best_first]
    return request(build_prompt("Write SQL.", memories, [Turn(role="user", content=task.text)]))


def test_the_best_memory_is_copied_first(replies: Replies, library: Questions, task: SqlQuestion) -> None:
    right, wrong = same_query(library, task), other_query(library, task)
    assert replies.reply(prompted(task, right, wrong)) == task.sql
    assert replies.reply(prompted(task, wrong, right)) != task.sql
    assert replies.reply(prompted(task)) == IGNORANCE


def test_a_program_grades_and_gives_all_points_or_none(replies: Replies, library: Questions, task: SqlQuestion) -> None:
    schema = ranges_schema((RIGHT,))
    for answer, points in ((task.sql, 100), (other_query(library, task).sql, 0), (IGNORANCE, 0)):
        criteria = {"right": [100, "The rows."]}
        reply = replies.reply(document({"criteria": criteria, "prompt": task.text, "answer": answer}, schema))
        assert schema.model_validate_json(reply).model_dump() == {"right": {"low": points, "high": points}}


def test_a_candidate_misleads_where_its_copy_would_be_wrong(
    replies: Replies, library: Questions, task: SqlQuestion
) -> None:
    right, wrong = same_query(library, task), other_query(library, task)
    texts = {
        "1": {"prompt": right.text, "answer": right.sql},
        "2": {"prompt": wrong.text, "answer": wrong.sql},
        "3": {"prompt": right.text, "answer": wrong.sql},
    }
    tasks = {"task_1": {"prompt": task.text, "answer": task.sql, "examples": [3, 1, 2]}}
    schema = labels_schema({"task_1": [1, 2, 3]})
    reply = schema.model_validate_json(replies.reply(document({"texts": texts, "tasks": tasks}, schema)))
    assert reply.model_dump() == {"task_1": {"1": 5, "2": 95, "3": 95}}


def test_what_else_the_product_asks_for_gets_a_reply_that_fits(replies: Replies) -> None:
    pair = {"prompt": "A?", "answer": "SELECT 1"}
    compared = comparisons_schema(2)
    reply = compared.model_validate_json(
        replies.reply(document({"texts": {"1": pair}, "pairs": dict.fromkeys(("1", "2"), ["1"] * 2)}, compared))
    )
    assert [one["contradicts"] for one in reply.model_dump()["comparisons"]] == [False, False]
    named = hierarchies_schema(2)
    asked = document({"memories": {"memory_1": pair, "memory_2": pair}, "examples": []}, named)
    assert named.model_validate_json(replies.reply(asked))


def test_each_kind_of_request_is_told_by_its_schema() -> None:
    schemas = (
        ranges_schema((RIGHT,)),
        labels_schema({"task_1": [1]}, [("task_1", 1)]),
        comparisons_schema(1),
        hierarchies_schema(1),
    )
    assert [kind_of(one.model_json_schema()) for one in schemas] == ["grade", "label", "compare", "concepts"]
    assert kind_of(None) == "answer"
    assert kind_of({"properties": {"else": {}}}) == "other"


def test_calls_and_tokens_are_counted_by_kind_with_their_schemas(replies: Replies, task: SqlQuestion) -> None:
    schema = ranges_schema((RIGHT,))
    body = document({"criteria": {}, "prompt": task.text, "answer": task.sql}, schema)
    reply = replies.reply(body)
    replies.reply(prompted(task))
    characters = sum(len(turn["content"]) for turn in body["messages"]) + len(reply)
    schema_characters = len(json.dumps(body["response_format"]["json_schema"]["schema"]))
    calls = {kind: count["calls"] for kind, count in replies.tally.counts.items()}
    assert calls == {"answer": 1, "grade": 1, "label": 0, "compare": 0, "concepts": 0, "other": 0}
    assert replies.tally.counts["grade"]["tokens"] == (characters + schema_characters) // 4


def test_a_model_that_is_asked_without_a_server_is_counted_alike() -> None:
    tally, schema = Tally(), comparisons_schema(1)
    asked = json.dumps({"texts": {"a": {"answer": "A"}, "b": {"answer": "B"}}, "pairs": {"1": ["a", "b"]}})
    turns = [Turn(role="system", content="Compare."), Turn(role="user", content=asked)]

    reply = CountedChat(KnowsThePairs([]), tally).reply(turns, schema)

    characters = len(f"Compare.{asked}{json.dumps(strict_schema(schema))}{reply.text}")
    assert tally.counts["compare"] == {"calls": 1, "tokens": characters // 4}
    assert sum(count["calls"] for count in tally.counts.values()) == 1
