"""Conversations in files as pairs: OpenAI's form for fine-tuning, ShareGPT's, and preferences between answers."""

from __future__ import annotations

from typing import Any, NamedTuple

from memshare.files.training_data import NAMES
from memshare_broker.errors import BadInput
from memshare_broker.wire.messages import AgentTask

_TOOLS = ("tools", "functions", "parallel_tool_calls", "tool_calls", "function_call", "tool_call_id")
_INSTRUCTIONS = ("system", "developer")
_BESIDE = ("memory_id", "rejected", "rejected_score", "rejected_prompt", "rejected_task_id")
"""What memshare writes beside a conversation, and a pair is without."""


class NoExample(BadInput):
    """A line whose answer is marked as none to learn from."""


class _Said(NamedTuple):
    role: str
    text: str
    weight: object


def as_pair(line: dict[str, Any]) -> dict[str, Any]:
    """A line with a conversation, whose last turn is the answer, as one with `prompt` and `answer`; others as they are.

    Instructions (`system`, `developer`) are no part of a pair, nor are turns of the assistant with the weight 0. Of
    preferences the chosen answer counts. Raises `NoExample` where the answer has the weight 0, and `BadInput` and
    `ValidationError` for what is no such conversation.
    """
    form = next((name for name in ("messages", "conversations", "chosen") if name in line), None)
    if form is None:
        return line
    _refuse_tools(line)
    rest = {name: value for name, value in line.items() if name not in (form, *_BESIDE, *_TOOLS)}
    turns = _list(line[form])
    if form == "chosen":
        turns = [*_list(rest.pop("prompt", None)), *turns]
        rest |= {"score": rest.pop("chosen_score", None)}
    if "prompt" in rest or "answer" in rest:
        raise BadInput(f"give {form!r}, or 'prompt' and 'answer': not both")
    said = [one for one in map(_read, turns) if one.role not in _INSTRUCTIONS]
    if not said or said[-1].role != "assistant":
        raise BadInput(f"{form!r} is a list of turns that ends with the assistant's answer; this one ends otherwise")
    if said[-1].weight == 0:
        raise NoExample("its answer has the weight 0, so it is no example: leave the line out")
    *earlier, last = [one for one in said if one.weight != 0]
    task = AgentTask.model_validate({"messages": [{"role": one.role, "content": one.text} for one in earlier]})
    return rest | {"prompt": task.text, "answer": last.text}


def _list(turns: object) -> list[Any]:
    if not isinstance(turns, list) or not all(isinstance(turn, dict) for turn in turns):
        raise BadInput("expected a list of turns, with 'role' and 'content', that ends with the assistant's answer")
    return turns


def _read(turn: dict[str, Any]) -> _Said:
    """A turn of either form; raises `BadInput` for one that is more than text."""
    known = {name: value for name, value in turn.items() if value not in (None, [])}
    _refuse_tools(known)
    sharegpt = known.pop("from", None)
    role = known.pop("role", next((ours for ours, theirs in NAMES.items() if theirs == sharegpt), sharegpt))
    if role in ("tool", "function"):
        raise BadInput(f"tool calls are not taken, and a turn has the role {role!r}")
    if role not in ("user", "assistant", *_INSTRUCTIONS):
        raise BadInput(f"a turn has the role {role!r}; expected user, assistant, system or developer")
    weight = known.pop("weight", 1) if role == "assistant" else 1
    if weight not in (0, 1):
        raise BadInput(f"a turn has the 'weight' {weight!r}; expected 0 or 1")
    text = _text(known.pop("value" if sharegpt else "content", None)) if "audio" not in known else ""
    if others := sorted(known.keys() - {"name"}):
        raise BadInput(f"a turn has {others[0]!r}; expected text alone, and 'weight' only with the assistant's")
    return _Said(role, text, weight)


def _text(content: object) -> str:
    """A text, or the parts of one."""
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not isinstance(parts, list):
        raise BadInput("a turn has no text as its 'content'")
    for part in parts:
        kind = part.get("type") if isinstance(part, dict) else part
        if kind != "text" or not isinstance(part.get("text"), str):
            raise BadInput(f"a turn has a part of the type {kind!r}; expected a 'text': no images, audio or files")
    return "".join(part["text"] for part in parts)


def _refuse_tools(given: dict[str, Any]) -> None:
    if found := [name for name in _TOOLS if given.get(name) not in (None, [])]:
        raise BadInput(f"tool calls are not taken, and the line has {found[0]!r}: give conversations of text alone")
