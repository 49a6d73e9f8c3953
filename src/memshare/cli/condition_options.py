"""The conditions on memories as options, the same for every command that finds memories."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any

import typer

from memshare_broker.wire.checking import checked
from memshare_memory.door.conditions import Conditions

Agent = Annotated[str | None, typer.Option(help="Only of this agent.")]
Kind = Annotated[str | None, typer.Option(help="Only of this kind.")]
Submitter = Annotated[str | None, typer.Option(help="Only of this submitter.")]
Model = Annotated[str | None, typer.Option(help="Only with an answer of this model.")]
Since = Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d"], help="Made on this day (UTC) or later.")]
Until = Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d"], help="Made on this day (UTC) or earlier.")]
ScoreFrom = Annotated[float | None, typer.Option(min=0, max=100, help="Minimum score.")]
ScoreTo = Annotated[float | None, typer.Option(min=0, max=100, help="Maximum score.")]
CredibilityFrom = Annotated[float | None, typer.Option(help="Minimum credibility (untested: 1).")]
CredibilityTo = Annotated[float | None, typer.Option(help="Maximum credibility.")]
Word = Annotated[list[str] | None, typer.Option(help="With this word in prompt or answer; repeatable.")]


def takes_conditions(command: Callable[..., None]) -> Callable[..., None]:
    """The command with these options in place of its parameter `conditions`."""
    options = inspect.signature(_conditions, eval_str=True).parameters

    @functools.wraps(command)
    def run(**given: Any) -> None:
        named = {name: given.pop(name) for name in options}
        command(conditions=_conditions(**named), **given)

    signature = inspect.signature(command, eval_str=True)
    parameters: list[inspect.Parameter] = []
    for one in signature.parameters.values():
        parameters += options.values() if one.name == "conditions" else [one]
    keyword = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
    run.__signature__ = signature.replace(parameters=keyword)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in keyword}
    return run


def _conditions(
    agent: Agent = None,
    kind: Kind = None,
    submitter: Submitter = None,
    model: Model = None,
    since: Since = None,
    until: Until = None,
    score_from: ScoreFrom = None,
    score_to: ScoreTo = None,
    credibility_from: CredibilityFrom = None,
    credibility_to: CredibilityTo = None,
    word: Word = None,
) -> Conditions:
    return checked(
        Conditions, "The search", agent=agent, kind=kind, submitter=submitter, model=model, since=since, until=until,
        score_from=score_from, score_to=score_to, credibility_from=credibility_from, credibility_to=credibility_to,
        words=word,
    )  # fmt: skip
