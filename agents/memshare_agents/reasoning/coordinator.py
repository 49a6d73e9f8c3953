"""The coordinator: turns the question and what is known so far into the list of what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, reduce
from operator import or_
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, create_model

from memshare_agents.reasoning.operator import (
    Arguments,
    Context,
    Operator,
    OperatorCall,
    OperatorResult,
    conversation,
    quoted,
)
from memshare_llm.structured import ask

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


STEPS_SHOWN = 10  # of those that were done, the last ones
SAID_SHOWN = 200  # characters of each

INSTRUCTIONS = """\
You plan how a question is answered, step by step. `question` is what was asked, `goal` what this plan is for, \
`operators` what each kind of step does, `places` what can be searched, `knowledge` what was recalled and found so \
far, `failed` the answers that were rejected and why, `done` the last steps, `waiting` the steps that wait after this \
one, `left` how many steps and levels of parts remain.

Write the list of the next steps: as few as do, mostly one to three, each in few words. It takes the place of \
this step, and what waits after it goes on. Where the question has parts, give each a coordinator whose `goal` \
is that part as a question of its own: a coordinator before the end of the list has it answered and checked, and \
the steps after it find its answer in `knowledge`. A coordinator at the end of the list plans on for `question` \
itself. Where `part_of` is there, `question` is such a part of it: plan for `question` alone. Search for what is \
missing before you answer; where the second search depends on what the first finds, plan the first alone and a \
coordinator after it. Open a page only if it is the `source` of an item or stands in the question. Do not repeat \
a step that is done. As soon as the knowledge is enough: responder, then discriminator. After a rejected answer \
mend its reason, by another search or another page. With few steps left, answer from what there is. The list may \
be empty where `waiting` is not, and nothing is to be done before it."""


class CoordinatorArguments(Arguments):
    """The goal to plan for."""

    goal: Annotated[str, StringConstraints(min_length=1, max_length=1_000)] = Field(
        description="what the next plan is to find out, in a sentence"
    )


def run(arguments: CoordinatorArguments, context: Context) -> OperatorResult:
    operators = tuple(context.operators.values())
    turns = conversation(INSTRUCTIONS, document(arguments.goal, context))
    plan = ask(context.chat, turns, plan_schema(operators)).value
    calls = calls_in(plan, arguments.goal)
    thought: str = plan.thought  # type: ignore[attr-defined]
    names = " → ".join(call.operator for call in calls)
    return OperatorResult(
        said=f"{names or 'nothing to do'}: {thought}",
        read=context.read,
        left_out=context.left_out,
        recalled=tuple(item.label for item in context.known),
        plan=calls,
    )


def document(goal: str, context: Context) -> dict[str, Any]:
    """The document that the model reads."""
    sources = context.sources
    places = {"memory": True, "documents": sources.library is not None, "web": sources.web is not None}
    return {
        **context.asked,
        "goal": goal,
        "operators": {one.name: one.does for one in context.operators.values()},
        "places": [name for name, there in places.items() if there],
        "knowledge": quoted(context.known),
        "failed": quoted(context.failed),
        "done": [
            {"operator": step.operator, "arguments": step.arguments, "said": step.said[:SAID_SHOWN]}
            for step in context.done[-STEPS_SHOWN:]
        ],
        "waiting": list(context.waiting),
        "left": {"steps": context.steps_left, "levels": context.depth_left},
    }


coordinator = Operator(
    name=COORDINATOR,
    does="Answers a part of the question, its `goal`, by a plan of its own; last in the list, it plans on.",
    arguments=CoordinatorArguments,
    run=run,
)
