"""The responder: answers the question from short-term memory."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from memshare_agents.reasoning.coordinator import RESPONDER
from memshare_agents.reasoning.operator import (
    Arguments,
    Context,
    Operator,
    OperatorProposal,
    OperatorResult,
    conversation,
    quoted,
)
from memshare_llm.structured import ReplyForm, ask

INSTRUCTIONS = """\
{agent}

`question` is what was asked, `part_of`, where it is there, what that is a part of, `hint` what to attend to, \
`knowledge` what was found, `failed` the answers that were rejected and why: give none of them again. Answer \
`question` alone. Write the whole answer into `answer`, and into `used` the items that it rests on, each by its \
`item`. Where the knowledge says nothing and you are not sure yourself, say what is missing."""


class ResponderArguments(Arguments):
    """How to answer."""

    hint: Annotated[str, StringConstraints(strip_whitespace=True, max_length=400)] = Field(
        default="", description="what the answer is to attend to; may be empty"
    )


class Response(ReplyForm):
    """An answer, and the items it rests on."""

    answer: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=20_000)]
    used: list[str] = Field(max_length=100)


def run(arguments: ResponderArguments, context: Context) -> OperatorResult:
    document = {
        **context.asked,
        "hint": arguments.hint,
        "knowledge": quoted(context.known),
        "failed": quoted(context.failed),
    }
    asked = ask(context.chat, conversation(INSTRUCTIONS.format(agent=context.instructions), document), Response)
    labels = [item.label for item in context.known]
    used = tuple(label for label in labels if label in asked.value.used)
    return OperatorResult(
        said=asked.value.answer,
        read=context.read,
        left_out=context.left_out,
        recalled=used,
        proposal=OperatorProposal(asked.value.answer, used, asked.model),
    )


responder = Operator(
    name=RESPONDER,
    does="Writes the answer to the question from the knowledge found so far.",
    arguments=ResponderArguments,
    run=run,
)
