"""Standard answers in a file of JSON lines, with or without their questions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memshare.client.client import Client
from memshare.files.conversations import as_pair
from memshare.files.json_lines import read_objects, refuse
from memshare_broker.errors import BadInput
from memshare_broker.presence import AgentCard
from memshare_broker.wire.checking import refuse_too_long
from memshare_broker.wire.forms import Written
from memshare_broker.wire.messages import Message


class StandardAnswer(Message):
    """One line: an answer that is known to be good, the agent and kind it is for, and its question where it has one.

    Where it comes from may stand beside it, for people.
    """

    agent: str
    kind: str | None = None
    prompt: Written | None = None
    answer: Written
    source: str | None = None
    title: str | None = None


def read_standard_answers(
    client: Client, file: Path, agent: str | None, kind: str | None, *, with_prompts: bool
) -> list[StandardAnswer]:
    """The lines of a file, each once; `agent` and `kind` stand in where a line names none.

    Raises `BadInput` that names the wrong lines: before all are right, nothing is paid for.
    """
    given = {name: value for name, value in (("agent", agent), ("kind", kind)) if value is not None}
    cards, limit = client.agents(), client.settings.prompt_limit

    def made(said: dict[str, Any]) -> StandardAnswer:
        line = given | as_pair(said)
        if "agent" not in line:
            raise BadInput('no agent: give one as "agent" in the line, or with --agent')
        return _checked(StandardAnswer.model_validate(line), cards, limit, with_prompts)

    found, faults = read_objects(file, "the line", made)
    refuse(faults, "Nothing was submitted.")
    if not found:
        raise BadInput(f"{str(file)!r} has no lines.")
    return list(dict.fromkeys(line.model_copy(update={"source": None, "title": None}) for _, line in found))


def _checked(line: StandardAnswer, cards: dict[str, AgentCard], limit: int, with_prompts: bool) -> StandardAnswer:
    card = cards.get(line.agent)
    if card is None:
        raise BadInput(f"no agent is called {line.agent!r}; there are {', '.join(sorted(cards))}")
    if line.kind is not None and line.kind not in card.kinds:
        known = ", ".join(card.kinds) or "none; leave the kind out"
        raise BadInput(f"agent {line.agent!r} has no kind {line.kind!r}; it has {known}")
    if with_prompts and line.prompt is None:
        raise BadInput("no prompt: `memshare learn` takes answers without their questions")
    if not with_prompts and line.prompt is not None:
        raise BadInput("it has its prompt: `memshare seed` takes pairs")
    refuse_too_long(limit, prompt=line.prompt, answer=line.answer)
    return line
