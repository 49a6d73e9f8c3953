"""A coordinator's list: the schema that its model fills, made from the operators that there are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, reduce
from operator import or_
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from memshare_agents.reasoning.operator import Arguments, Operator, OperatorCall

LONGEST = 8  # calls in one list
COORDINATOR, RESPONDER, DISCRIMINATOR = "coordinator", "responder", "discriminator"


class _Named(Arguments):
    operator: str


@lru_cache(maxsize=128)
def plan_schema(operators: tuple[Operator[Any], ...]) -> type[BaseModel]:
    """A model with one form of step for each operator: its name and its arguments."""
    step = reduce(or_, map(_form, operators))
    choice: Any = Annotated[step, Field(discriminator="operator")] if len(operators) > 1 else step
    schema: type[BaseModel] = create_model(
        "Plan",
        __config__=ConfigDict(extra="forbid"),
        thought=(str, Field(max_length=2_000, description="why this list, in a short sentence")),
        steps=(list[choice], Field(max_length=LONGEST, description="what to do, in this order; none: nothing")),
    )
    return schema


def _form(operator: Operator[Any]) -> Any:
    named: Any = (Literal[operator.name], ...)
    return create_model(f"{operator.name}_step", __base__=(operator.arguments, _Named), operator=named)


def calls_in(plan: BaseModel, goal: str) -> tuple[OperatorCall, ...]:
    """The calls of a filled schema, completed so that a list ends with a verdict or with another plan.

    An empty one stays empty: it takes the coordinator out of the queue, and what waits goes on.
    """
    steps: Sequence[BaseModel] = plan.steps  # type: ignore[attr-defined]
    calls = []
    for step in steps:
        arguments = step.model_dump(mode="json")
        calls.append(OperatorCall(arguments.pop("operator"), arguments))
    last = calls[-1].operator if calls else DISCRIMINATOR
    if last == RESPONDER:
        calls.append(OperatorCall(DISCRIMINATOR, {}))
    elif last not in (COORDINATOR, DISCRIMINATOR):
        calls.append(OperatorCall(COORDINATOR, {"goal": goal}))
    return tuple(calls)
