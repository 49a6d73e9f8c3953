"""The conditions on memories as options: those of `Conditions`, the same for every command that finds memories."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from memshare_broker.wire.forms import checked
from memshare_memory.door.messages import Conditions

SCORE = {"min": 0, "max": 100}
DAY = {"metavar": "YYYY-MM-DD"}
KINDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "since": (str, DAY),
    "until": (str, DAY),
    "words": (list[str], {}),
    "score_from": (float, SCORE),
    "score_to": (float, SCORE),
    "credibility_from": (float, {}),
    "credibility_to": (float, {}),
}
"""The type of an option, and its bounds or what stands for it in the help, where it is not any text."""

ScoreFrom = Annotated[float | None, typer.Option(**SCORE, help="Minimum score.")]


def takes_conditions(command: Callable[..., None]) -> Callable[..., None]:
    """The command with these options in place of its parameter `conditions`."""
    options = {name: _option(name) for name in Conditions.model_fields}

    @functools.wraps(command)
    def run(**given: Any) -> None:
        named = {name: given.pop(name) for name in options}
        command(conditions=checked(Conditions, "The search", **named), **given)

    signature = inspect.signature(command, eval_str=True)
    parameters: list[inspect.Parameter] = []
    for one in signature.parameters.values():
        parameters += options.values() if one.name == "conditions" else [one]
    keyword = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
    run.__signature__ = signature.replace(parameters=keyword)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in keyword}
    return run


def _option(name: str) -> inspect.Parameter:
    kind, bounds = KINDS.get(name, (str, {}))
    flag = f"--{name.replace('_', '-')}"
    about = Conditions.model_fields[name].description or ""
    if name == "words":
        flag, about = "--word", "with this word in prompt or answer; repeatable"
    option = typer.Option(flag, help=f"{about[:1].upper()}{about[1:]}.", **bounds)
    annotation = Annotated[kind | None, option]  # type: ignore[valid-type]  # it is known when this runs
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
