from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from memshare_agents.reasoning.coordinator import calls_in, plan_schema
from memshare_agents.reasoning.engine import OPERATORS
from memshare_agents.reasoning.operator import Arguments, Context, Operator, OperatorResult
from memshare_llm.providers.reply_limit import strict_schema
from tests.support.shelf import CHECK, RESPOND, browse, coordinate, planned, search

ALL = tuple(OPERATORS.values())


def calls(*steps: dict[str, Any]) -> list[str]:
    plan = plan_schema(ALL).model_validate_json(json.dumps(planned(*steps)))
    return [call.operator for call in calls_in(plan, "a goal")]


def test_the_operators_are_these() -> None:
    assert list(OPERATORS) == ["coordinator", "searcher", "filter", "browser", "responder", "discriminator"]


def test_a_list_keeps_its_order_and_its_arguments() -> None:
    plan = plan_schema(ALL).model_validate(planned(search("mill", "web"), browse("mill.html"), coordinate("more")))

    found = calls_in(plan, "a goal")

    assert [call.operator for call in found] == ["searcher", "browser", "coordinator"]
    assert found[0].arguments["places"] == ["web"]
    assert found[1].arguments == {"source": "mill.html", "looking_for": "the answer"}
    assert found[2].arguments == {"goal": "more"}


def test_an_answer_is_always_checked() -> None:
    assert calls(RESPOND) == ["responder", "discriminator"]
    assert calls(RESPOND, CHECK) == ["responder", "discriminator"]


def test_a_list_that_brings_something_new_is_followed_by_another_plan() -> None:
    assert calls(search("mill")) == ["searcher", "coordinator"]
    assert calls(browse("mill.html")) == ["browser", "coordinator"]
    assert calls(coordinate()) == ["coordinator"]


def test_a_list_may_be_empty_and_stays_so() -> None:
    assert calls() == []


@pytest.mark.parametrize(
    "steps",
    [
        [{"operator": "shell", "command": "rm"}],
        [search("mill") | {"places": ["attic"]}],
        [{"operator": "browser", "source": "mill.html"}],
        [RESPOND] * 9,
    ],
)
def test_a_list_that_no_operator_can_run_is_refused(steps: list[Any]) -> None:
    with pytest.raises(ValidationError):
        plan_schema(ALL).model_validate(planned(*steps))


class Sum(Arguments):
    """Numbers to add."""

    numbers: list[int]


def add(arguments: Sum, _context: Context) -> OperatorResult:
    return OperatorResult(said=str(sum(arguments.numbers)))


def test_a_registered_operator_is_one_that_can_be_planned() -> None:
    adder = Operator("adder", "Adds numbers.", Sum, add)
    step = {"operator": "adder", "numbers": [1, 2]}

    plan = plan_schema((*ALL, adder)).model_validate(planned(step))

    assert calls_in(plan, "a goal")[0] == ("adder", {"numbers": [1, 2]})
    with pytest.raises(ValidationError):
        plan_schema(ALL).model_validate(planned(step))


def test_the_schema_is_one_that_providers_take_and_is_made_once() -> None:
    schema = strict_schema(plan_schema(ALL))

    assert schema["required"] == ["thought", "steps"]
    assert len(schema["properties"]["steps"]["items"]["anyOf"]) == len(OPERATORS)
    assert "discriminator" not in schema["properties"]["steps"]["items"]
    assert plan_schema(ALL) is plan_schema(tuple(OPERATORS.values()))
