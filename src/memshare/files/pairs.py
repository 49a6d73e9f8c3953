"""Memories in a file for `memshare memories import`: JSON lines, or a document whose paragraphs are statements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

from pydantic import ValidationError

from memshare.files.json_lines import read_lines, read_object, refuse
from memshare.files.merge_lines import MergeLine
from memshare_broker.errors import BadInput, GiveUp
from memshare_broker.wire.checking import readable
from memshare_broker.wire.messages import AgentTask
from memshare_memory.curate.requests import NewMemory
from memshare_memory.memory import Memory, memory_id


class PairsFile(NamedTuple):
    """What a file has: exported memories, new pairs, and merges of concepts."""

    whole: list[Memory]
    pairs: list[NewMemory]
    merges: list[MergeLine]

    @property
    def ids(self) -> list[UUID]:
        """The ids of all memories."""
        return [one.id for one in self.whole] + [memory_id(one.pool, one.prompt, one.answer) for one in self.pairs]


def read_pairs(
    file: Path, pool: str | None, pool_of_agent: Mapping[str, str], submitter: str = "anonymous"
) -> PairsFile:
    """The memories, pairs and merges of a file; raises `BadInput` that names the wrong lines."""
    found, faults = pairs_of(read_lines(file), pool, pool_of_agent, submitter)
    refuse([f"{file}:{number}: {fault}" for number, fault in faults], "Nothing was imported.")
    return found


def pairs_of(
    lines: Iterable[tuple[int, str]], pool: str | None, pool_of_agent: Mapping[str, str], submitter: str = "anonymous"
) -> tuple[PairsFile, list[tuple[int, str]]]:
    """The same of numbered lines, and what is wrong with the other lines.

    A pair's pool is its own, else its agent's, else `pool`; `submitter` is that of lines that name none.
    """
    found, faults = PairsFile([], [], []), []
    for number, line in lines:
        what = "the memory"
        try:
            value = as_pair(read_object(line))
            if "merge" in value:
                what = "the merge"
                found.merges.append(MergeLine.model_validate(value))
                continue
            if "id" in value:
                found.whole.append(Memory.model_validate(value))
                continue
            if value.get("pool") is None:
                value["pool"] = pool_of_agent.get(str(value.get("agent")), pool)
            if value["pool"] is None:
                raise BadInput("no pool: give one in the line, an agent that has one, or one for all lines (--pool)")
            found.pairs.append(NewMemory.model_validate({"submitter": submitter, **value, "new_pool": True}))
        except ValidationError as error:
            faults.append((number, readable(error, what)))
        except BadInput as error:
            faults.append((number, str(error)))
    return found, faults


def as_pair(line: dict[str, Any]) -> dict[str, Any]:
    """A line with `messages`, whose last turn is the answer, as one with `prompt` and `answer`; any other as it is.

    Raises `BadInput` and `ValidationError` for messages that are no such conversation.
    """
    if "messages" not in line:
        return line
    if "prompt" in line or "answer" in line:
        raise BadInput("give 'messages', or 'prompt' and 'answer': not both")
    match line["messages"]:
        case [*earlier, {"role": "assistant", "content": str(answer), **rest}] if earlier and not rest:
            prompt = AgentTask.model_validate({"messages": earlier}).text
        case _:
            raise BadInput(
                "'messages' is a list of turns with 'role' and 'content', and ends with the assistant's answer"
            )
    return {name: value for name, value in line.items() if name != "messages"} | {"prompt": prompt, "answer": answer}


LINES = (".jsonl", ".json", ".ndjson", "")
"""How files of memories end: for them nothing is imported that reads documents, which takes a second."""
LONGEST_STATEMENT = 2_000  # characters of a statement


def is_document(file: Path) -> bool:
    """Whether a file is read as text, Markdown, HTML or PDF."""
    if file.suffix.lower() in LINES:
        return False
    from memshare_agents.reasoning.sources.documents import SUFFIXES

    return file.suffix.lower() in SUFFIXES


def read_statements(file: Path, pool: str, submitter: str) -> PairsFile:
    """A statement for each paragraph of the main text; long ones are cut where a sentence ends."""
    from memshare_agents.reasoning.sources.cutting import pieces
    from memshare_agents.reasoning.sources.documents import SUFFIXES
    from memshare_agents.reasoning.sources.extract_text import page_of

    kind = SUFFIXES[file.suffix.lower()]
    try:
        text = page_of(str(file), file.read_bytes(), kind).text
    except OSError as error:
        raise BadInput(f"{str(file)!r} cannot be read: {error.strerror}.") from error
    except GiveUp as error:
        raise BadInput(str(error)) from error
    parts = [" ".join(part.split()) for part in text.split("\n" if kind == "html" else "\n\n")]
    said = [piece for part in parts for piece in pieces(part, LONGEST_STATEMENT)]
    return PairsFile([], [NewMemory(pool=pool, answer=one, submitter=submitter, new_pool=True) for one in said], [])
