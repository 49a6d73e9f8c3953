"""Memories in a file for `memshare memories import`: JSON lines, or a document whose paragraphs are statements."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from pydantic import ValidationError

from memshare.client.client import Client
from memshare.client.pools import pools_known, require_kind
from memshare.files.document_blocks import statements_in
from memshare.files.json_lines import (
    ANSWER,
    LOOKED_AT,
    PROMPT,
    NoExample,
    as_pair,
    beginning,
    called,
    empty,
    is_table,
    read_bytes,
    read_lines,
    read_object,
    refuse,
)
from memshare_broker.errors import BadInput, GiveUp
from memshare_broker.presence import AgentCard
from memshare_broker.settings import PROMPT_LIMIT
from memshare_broker.wire.forms import readable, refuse_too_long
from memshare_broker.wire.same_text import decode, is_blank
from memshare_memory.curate.requests import NewMemory
from memshare_memory.door.client import BATCH
from memshare_memory.memory import Memory, memory_id


def unknown_pools(client: Client, found: PairsFile) -> str:
    """The pools that memories of a file are for and nobody has, in a sentence; empty where there is none."""
    lines = Counter([one.pool for one in found.whole] + [one.pool for one in found.pairs])
    known = pools_known(client)
    unknown = sorted(set(lines) - known)
    if not unknown:
        return ""
    names = ", ".join(f"{one!r} ({lines[one]:,} line{'s' * (lines[one] > 1)})" for one in unknown[:5])
    return f"Nobody has the pool {names}. There are: {', '.join(sorted(known))}."


def bring_in(client: Client, found: PairsFile) -> Iterator[int]:
    """Write its memories; yields how many are in after each batch."""
    done = 0
    for start in range(0, len(found.whole), BATCH):
        done += len(client.memories.restore(found.whole[start : start + BATCH]))
        yield done
    for start in range(0, len(found.pairs), BATCH):
        done += len(client.memories.add(found.pairs[start : start + BATCH]))
        yield done


Pools = Mapping[str, str]
SAME, NO_EXAMPLE = "the same pair again", "weight 0, so no example"
HEADING = "a heading or a ruler, which states nothing alone"


class PairsFile(NamedTuple):
    """Contents of a file: exported memories, new pairs, the lines left out by why, and where each memory stands."""

    whole: list[Memory]
    pairs: list[NewMemory]
    left_out: dict[str, list[str]]
    places: dict[UUID, str]

    @property
    def pools(self) -> set[str]:
        """The pools of all memories."""
        return {one.pool for one in self.whole} | {one.pool for one in self.pairs}

    @property
    def ids(self) -> list[UUID]:
        """The ids of all memories."""
        return [*map(id_of, self.whole), *map(id_of, self.pairs)]

    def add(self, memory: Memory | NewMemory, place: str) -> None:
        """Add the memory of a place; one that is there already is counted as left out, and changes nothing."""
        if isinstance(memory, Memory):
            self.whole.append(memory)
        else:
            self.pairs.append(memory)
        if self.places.setdefault(id_of(memory), place) != place:
            self.left_out.setdefault(SAME, []).append(place)


def id_of(one: Memory | NewMemory) -> UUID:
    """The id that a memory has, or will have."""
    return one.id if isinstance(one, Memory) else memory_id(one.pool, one.prompt, one.answer)


def no_pool(pools: Iterable[str]) -> BadInput:
    """The fault of a line that is for no pool; `pools` are those of agents."""
    there = f"; there are {', '.join(some)}" if (some := sorted({*pools} - {""})) else ""
    return BadInput(f"no pool: give one in the line, an agent that has one, or one for all lines (--pool){there}")


def read_pairs(
    file: Path,
    pool: str | None,
    pool_of_agent: Pools,
    submitter: str = "anonymous",
    limit: int = PROMPT_LIMIT,
    cards: Mapping[str, AgentCard] = {},
    wrong: Callable[[PairsFile], list[str]] = lambda _: [],
) -> PairsFile:
    """The memories and pairs of a file; raises `BadInput` that names the wrong lines, and what else is `wrong`."""
    found, faults = pairs_of(read_lines(file), pool, pool_of_agent, submitter, limit, cards)
    name = called(file)
    nothing = [f"{name} {EMPTY}"] * is_empty(found, faults)
    refuse(
        [*wrong(found), *nothing, *(f"{name}:{number}: {fault}" for number, fault in faults)], "Nothing was imported."
    )
    return found


def pairs_of(
    lines: Iterable[tuple[int, str]],
    pool: str | None,
    pool_of_agent: Pools,
    submitter: str,
    limit: int,
    cards: Mapping[str, AgentCard] = {},
) -> tuple[PairsFile, list[tuple[int, str]]]:
    """The same of numbered lines, and what is wrong with the other lines.

    A pair's pool is its own, else its agent's, else `pool`; `submitter` is that of lines that name none. The kind is
    checked of agents whose `cards` are there.
    """
    found, faults, has_json, is_page = PairsFile([], [], {}, {}), [], False, False
    for number, line in lines:
        has_json |= line.lstrip().startswith(("{", "["))
        is_page |= line.lstrip().lower().startswith(("<!doctype", "<html", "<table"))
        try:
            value = read_object(line)
            if HEADING in value:
                found.left_out.setdefault(HEADING, []).append(str(value[HEADING]))
                continue
            value = as_pair(value)
            if "id" in value:
                memory = Memory.model_validate(value)
                refuse_too_long(limit, prompt=memory.prompt, answer=memory.answer)
                if is_blank(memory.answer) or is_blank(memory.prompt or memory.answer):
                    raise BadInput("the memory: its prompt or its answer is empty")
                found.add(memory, f"line {number}")
                continue
            if value.get("pool") is None:
                value["pool"] = pool_of_agent.get(str(value.get("agent")), pool)
            if value["pool"] is None:
                raise no_pool(pool_of_agent.values())
            pair = NewMemory.model_validate({"submitter": submitter, **value, "new_pool": True})
            refuse_too_long(limit, prompt=pair.prompt, answer=pair.answer)
            require_kind(cards, pair.agent, pair.kind)
            found.add(pair, f"line {number}")
        except NoExample:
            found.left_out.setdefault(NO_EXAMPLE, []).append(f"line {number}")
        except ValidationError as error:
            is_trace = not value.keys().isdisjoint(("input", "inputs", "output", "outputs", "traceId", "sample_id"))
            hint = " Graded runs of another tool are named as such: --from." * is_trace
            other = sorted(value.keys() & {*PROMPT[1:], *ANSWER[1:]})
            hint = hint or f" Rows with such names are read with --from table: {', '.join(other)}." * bool(other)
            faults.append((number, readable(error, "the memory") + hint))
        except BadInput as error:
            faults.append((number, str(error)))
    if faults and not has_json:
        expected = f"expected such as {_SUCH}, or a table, called NAME.csv. {_OF_TEXT}"
        fault = 'a web page. Save a table as "CSV UTF-8"' if is_page else f"no JSON, as in all lines: {expected}"
        faults = [(faults[0][0], fault)]
    return found, faults


def is_empty(found: PairsFile, faults: Sequence[object]) -> bool:
    """True if nothing stood in the file."""
    return not (found.ids or found.left_out or faults)


_SUCH = '{"prompt": "…", "answer": "…"}'
EMPTY = empty(_SUCH)
_OF_TEXT = "Text is called NAME.txt, .md, .html or .pdf: a statement a paragraph"
LINES = (".jsonl", ".json", ".ndjson", "")
"""How files of memories end: for them nothing is imported that reads documents, which takes a second."""
LONGEST_STATEMENT = 2_000  # characters of a statement


def is_document(file: Path, begins: str | None = None) -> bool:
    """True if a file is read as text, Markdown, HTML or PDF; a text that begins as JSON does is of lines."""
    ending = file.suffix.lower()
    if ending in LINES or (ending == ".txt" and (beginning(file) if begins is None else begins).startswith('{"')):
        return False
    from memshare_agents.reasoning.sources.documents import SUFFIXES

    return ending in SUFFIXES


def text_of(raw: bytes, name: str) -> str:
    """The text of a file that was sent; of a document a line of JSON for each statement. Raises `BadInput`."""
    begins = raw[:LOOKED_AT].decode(errors="replace").lstrip("\ufeff \r\n")
    if is_table(name, begins) or not is_document(Path(name), begins):
        return decode(raw, name)
    found = _statements(name, raw)
    return "\n".join(json.dumps({"answer" if states else HEADING: one}, ensure_ascii=False) for one, states in found)


def read_statements(file: Path, pool: str, submitter: str, limit: int = PROMPT_LIMIT) -> PairsFile:
    """A statement for each paragraph of a document, by what its name says it is."""
    found = PairsFile([], [], {}, {})
    for number, (one, states) in enumerate(_statements(str(file), read_bytes(file), limit), 1):
        if states:
            found.add(NewMemory(pool=pool, answer=one, submitter=submitter, new_pool=True), f"passage {number}")
        else:
            found.left_out.setdefault(HEADING, []).append(one)
    return found


def _statements(name: str, raw: bytes, limit: int = PROMPT_LIMIT) -> list[tuple[str, bool]]:
    """The paragraphs of a whole document, its rows and its items; long ones are cut where a sentence ends.

    A heading with nothing directly below it states nothing. Raises `BadInput` for a document that would not be whole.
    """
    from memshare_agents.reasoning.sources.documents import SUFFIXES
    from memshare_agents.reasoning.sources.extract_text import page_of, pieces

    ending = Path(name).suffix.lower()
    kind = SUFFIXES[ending]
    if kind == "plain":
        decode(raw, name)  # a page may say its encoding, and a text cannot
    try:
        text = page_of(name, raw, kind, whole=True).text
    except GiveUp as error:
        raise BadInput(str(error)) from error
    blocks = re.split(r"\n\s*\n", re.sub(r"\r\n?", "\n", text))
    parts = [one for block in blocks for one in statements_in(block, is_markdown=ending != ".txt")]
    longest = min(LONGEST_STATEMENT, limit)
    return [
        (piece, states)
        for part, states in parts
        for piece in (pieces(part, longest) if states else [part])
        if not is_blank(piece)
    ]
