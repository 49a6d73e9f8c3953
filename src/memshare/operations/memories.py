"""Memories: read, bring in, change, forget and bring back; and whom they were shown to."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Annotated
from uuid import UUID

import redis
from pydantic import Field

from memshare.client.errors import Forbidden, NoMatch, NotFound, Stale
from memshare.client.pools import grade_again, grader_of, new_ids, require_kind, unread
from memshare.client.replies import Accepted
from memshare.client.rest.calls.memories import (
    Forgotten,
    ImportReply,
    IncomingMemory,
    Memories,
    MemoryReply,
    RefusedLine,
    TrashCalls,
    TrashedMemory,
    TrashReply,
)
from memshare.files.graded.choosing import RunChoice, choose
from memshare.files.graded.runs import records_of
from memshare.files.graded.sources import Source, graded_runs
from memshare.files.json_lines import numbered, refuse
from memshare.files.pairs import EMPTY, PairsFile, bring_in, id_of, is_empty, pairs_of, unknown_pools
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller, audit
from memshare.operations.forms import MemoryForm
from memshare.operations.serving import DESTROYS, serves, tool
from memshare.terminal.ids import find_memory
from memshare_broker.errors import BadInput
from memshare_broker.wire.forms import Label, Written
from memshare_broker.wire.messages import Name
from memshare_memory.belief.lift import memory_lift
from memshare_memory.curate.requests import (
    Edit,
    Forget,
    ForgetPreview,
    GivenMemory,
    NewMemory,
    RestoredMemories,
    RestoreForgotten,
    TrashPage,
    TrashRequest,
    Until,
)
from memshare_memory.door.client import MemoryClient
from memshare_memory.door.messages import JudgedMemory
from memshare_memory.memory import CalledWrong, Memory, Revision, Status, said
from memshare_memory.people import called_wrong, each_barred

EXAMPLES = 20  # memories


@serves(
    Memories.bring_in, "ImportForm", right="everything",
    lines='{"prompt": "What has hands and claps for nobody?", "answer": "A clock."}', pool="logic",
)  # fmt: skip
def import_memories(
    backend: Backend,
    caller: Caller,
    lines: Annotated[str, Field(min_length=1)],
    pool: Name | None = None,
    new_pool: Annotated[bool, Field(description="whether pools may begin that nobody has yet")] = False,
    dry_run: Annotated[bool, Field(description="only say what would be brought in, and what is refused")] = False,
    source: Annotated[Source | None, Field(description="the tool that exported the runs, or a table (CSV)")] = None,
    score: Annotated[str | None, Field(description="which score of the runs counts; not needed where one has")] = None,
    at_least: Annotated[float | None, Field(description="from which value of it on a run is brought in")] = None,
    scale: Annotated[str | None, Field(description="the lowest and highest value, such as 1:5; 0:1 without it")] = None,
    kind: Annotated[str | None, Field(description="of the runs, or field:NAME of each")] = None,
) -> ImportReply:
    """Bring in the memories of a file, or say what would be; raises `BadInput` that names the wrong lines."""
    # It takes every right, as exported memories come with their scores and submitters, whoever says so.
    cards = backend.cards()
    pool_of_agent = {name: next(iter(card.shared), "") for name, card in cards.items()}
    limit = backend.settings.prompt_limit
    if source:
        wanted = RunChoice(source, score, at_least, scale, None, kind, pool)
        chosen = choose(
            graded_runs(records_of(lines, "the file", source), source),
            wanted,
            pool_of_agent,
            caller.name,
            limit,
            cards=cards,
        )
        found, refused = chosen.pairs, [RefusedLine(line=None, why=fault) for fault in chosen.faults]
    else:
        found, faults = pairs_of(numbered(lines.lstrip("\ufeff")), pool, pool_of_agent, caller.name, limit, cards)
        refused = [RefusedLine(line=number, why=fault) for number, fault in faults]
        refused += [RefusedLine(line=None, why=f"The file {EMPTY}.")] * is_empty(found, faults)
    if not new_pool and (unknown := unknown_pools(backend.client, found)):
        refused.append(RefusedLine(line=None, why=f"{unknown} 'new_pool' lets it begin."))
    with backend.reaching():
        found, wrong = without_wrong(backend.redis, backend.client.memories, found)
    why = Counter({reason: len(places) for reason, places in found.left_out.items()}) + Counter(wrong)
    new, silent = new_ids(backend.client, found.ids), unread(cards.values(), found.pools)
    if not dry_run:
        refuse(
            [f"line {one.line}: {one.why}" if one.line else one.why for one in refused]
            + [silent] * bool(refused and silent),
            "Nothing was imported.",
        )
        fresh = [one for one in found.whole if one.id in new] if source else found.whole
        for _ in bring_in(backend.client, found._replace(whole=fresh)):
            pass
        audit(caller, "import", memories=len(found.ids), new=len(new))
    return ImportReply(
        new=len(new),
        there=len(set(found.ids) - new),
        left_out=why.total(),
        why=why,
        places={reason: tuple(places[:EXAMPLES]) for reason, places in found.left_out.items()},
        examples=tuple(_new(found, new)),
        refused=tuple(refused),
        unread=silent,
    )


def _new(found: PairsFile, new: set[UUID]) -> Iterator[IncomingMemory]:
    memories: list[Memory | NewMemory] = [*found.whole, *found.pairs]
    texts = {one: memory for one, memory in zip(found.ids, memories, strict=True) if one in new}
    for memory in list(texts.values())[:EXAMPLES]:
        yield IncomingMemory(pool=memory.pool, prompt=memory.prompt, answer=memory.answer)


@serves(TrashCalls.list, right="curate")
def trash(
    backend: Backend,
    caller: Caller,
    submitter: Label | None = None,
    limit: Annotated[int, Field(ge=1, le=1_000)] = 50,
) -> TrashReply:
    """The forgotten memories of the caller's pools."""
    page = _page(backend, caller, TrashRequest(submitter=submitter, limit=limit))
    memories = [TrashedMemory(memory=one.memory, forgotten=one.forgotten, until=one.until) for one in page.forgotten]
    return TrashReply(total=page.total, memories=tuple(memories))


@serves(TrashCalls.restore, right="curate")
def restore(backend: Backend, caller: Caller, memory_id: UUID) -> RestoredMemories:
    """Take a memory back out of the trash."""
    found = find_forgotten(backend, caller, memory_id)
    if found is None:
        raise NotFound(f"The trash has no memory of yours with the id {str(memory_id)!r}.")
    restored = backend.client.memories.restore_forgotten(RestoreForgotten(ids=(memory_id,)))
    audit(caller, "restore", memory_id=memory_id, pool=found.pool)
    return restored


def find_forgotten(backend: Backend, caller: Caller, memory_id: UUID) -> Memory | None:
    """A memory of the caller's pools that lies in the trash; None where it does not."""
    found = _page(backend, caller, TrashRequest(prefix=str(memory_id), limit=1)).forgotten
    return found[0].memory if found else None


def _page(backend: Backend, caller: Caller, request: TrashRequest) -> TrashPage:
    return backend.client.memories.trash(request.model_copy(update={"pools": backend.pools_seen(caller)}))


@serves(Memories.get, right="recall")
def get(backend: Backend, caller: Caller, memory_id: UUID) -> MemoryReply:
    """A memory and its worth so far; raises `NotFound`."""
    return _reply(backend, _judged(backend, caller, memory_id))


def whole_id(backend: Backend, typed: str) -> UUID:
    """The id of a memory, of which the first 8 digits do; raises `NotFound` for what means none, or several."""
    try:
        return find_memory(backend.client, typed)
    except BadInput as error:
        raise NotFound(f"No memory, or more than one, has the id {typed!r}.") from error


@serves(Memories.add, right="curate")
def add(backend: Backend, caller: Caller, form: MemoryForm) -> MemoryReply:
    """Bring a memory in; the same again is the same memory, and keeps its history.

    Raises `WrongAgain` for an answer that was called wrong.
    """
    caller.require_pool(form.pool)
    require_kind(backend.cards(), form.agent, form.kind)
    backend.checked_text(form.answer, "answer")
    backend.checked_text(form.prompt or "", "prompt")
    new_pool = form.new_pool or caller.pools is not None
    fields = form.model_dump(exclude={"new_pool"})
    [added] = backend.client.memories.add([NewMemory(**fields, new_pool=new_pool, submitter=caller.name)])
    audit(caller, "add", memory_id=added, pool=form.pool)
    return _reply(backend, _judged(backend, caller, added))


def has_changed(there: Memory, given: GivenMemory) -> bool:
    """True if the pool has what was given, as a memory that a person has changed since."""
    same = ((said(one.prompt or ""), said(one.answer)) for one in (there, given))
    return bool(there.history) and len({*same}) > 1


def without_wrong(client: redis.Redis, pools: MemoryClient, found: PairsFile) -> tuple[PairsFile, list[str]]:
    """The memories of a file without those that are shown and called wrong, and why, each by line and first words."""
    memories: list[Memory | NewMemory] = [*(one for one in found.whole if one.status != "hidden"), *found.pairs]
    given = [(one.answer, one.pool, one.prompt) for one in memories]
    faults = each_barred(client, given, lambda text: pools.embed(text).unpack())
    wrong = {id_of(one): fault for one, fault in zip(memories, faults, strict=True) if fault}
    why = [
        f"{found.places[name]}, {(one.prompt or one.answer)[:80]!r}: {wrong[name]}"
        for one in memories
        if (name := id_of(one)) in wrong
    ]
    whole = [one for one in found.whole if one.status == "hidden" or id_of(one) not in wrong]
    return found._replace(whole=whole, pairs=[one for one in found.pairs if id_of(one) not in wrong]), why


@serves(Memories.edit, "EditForm", right="curate", decides=True, answer="The ferry takes dogs on a lead.")
def edit(
    backend: Backend,
    caller: Caller,
    memory_id: UUID,
    version: str | None = None,
    prompt: Written | None = None,
    answer: Written | None = None,
    status: Status | None = None,
    valid_until: Until | None = None,
) -> MemoryReply:
    """Change a memory; `version` is the one that the change is for (`version_of`).

    Raises `Stale` where it has changed meanwhile, so that no change of somebody else is lost.
    """
    if prompt is answer is status is None and valid_until is None:
        raise BadInput("Say what to change: 'prompt', 'answer', 'status' or 'valid_until'.")
    before = _judged(backend, caller, memory_id).memory
    if version is None:
        raise NoMatch("Say which version you change: send the ETag with which you read the memory as If-Match.")
    version = version.strip().strip('"')
    backend.checked_text(prompt or "")
    backend.checked_text(answer or "", "answer")
    if version != version_of(before):
        raise _stale(memory_id)
    try:
        form = Edit(id=memory_id, by=caller.name, only_if=before, prompt=prompt, answer=answer, status=status)
        now = backend.client.memories.edit(form.model_copy(update={"valid_until": valid_until}))
    except BadInput as error:
        if version_of(_judged(backend, caller, memory_id).memory) != version:
            raise _stale(memory_id) from error
        raise
    audit(caller, "edit", memory_id=memory_id, pool=before.pool)
    reply = _reply(backend, _judged(backend, caller, memory_id))
    return reply.model_copy(update={"active_again": now.active_again})


@serves(Memories.grade, right="curate", decides=True)
def grade(backend: Backend, caller: Caller, memory_id: UUID) -> Accepted:
    """Have a memory graded again; its journey says what came of that."""
    memory = _judged(backend, caller, memory_id).memory
    backend.check_caps(grader_of(backend.client, memory)[0], caller.name)
    journey = grade_again(backend.client, memory, caller.name)
    audit(caller, "grade", memory_id=memory_id, pool=memory.pool, journey=journey)
    return Accepted(id=journey, journey=f"/v1/journeys/{journey}")


@serves(Memories.forget, right="curate", decides=True)
def forget(backend: Backend, caller: Caller, memory_id: UUID, with_children: bool = False) -> Forgotten:
    """Take a memory, or all that was derived from it, too, out of its pool; it stays in the trash for 30 days."""
    memory = _judged(backend, caller, memory_id).memory
    if with_children:
        _require_own(caller, memory_id, preview(backend, caller, memory_id, with_children=True))
    ids = backend.client.memories.forget(Forget(ids=(memory_id,), with_children=with_children))
    audit(caller, "forget", memory_id=memory_id, pool=memory.pool)
    return Forgotten(ids=tuple(ids))


@serves(Memories.preview, right="curate")
def preview(backend: Backend, caller: Caller, memory_id: UUID, with_children: bool = False) -> ForgetPreview:
    """A preview of `forget`; nothing is shown of pools that are not the caller's."""
    _judged(backend, caller, memory_id)
    found = backend.client.memories.forget_preview(Forget(ids=(memory_id,), with_children=with_children))
    return found.model_copy(update={"examples": tuple(one for one in found.examples if caller.sees(one.pool))})


@tool(Memories.forget, "forget", "Forget a memory", "curate", DESTROYS)
def forget_by_model(
    backend: Backend,
    caller: Caller,
    memory_id: Annotated[UUID, Field(description="from `recall` or `search_memories`")],
) -> Forgotten:
    """Take a memory out of its pool, for everybody. Only when the user asks for it: it is wrong, private or out of
    date. It stays in the trash for 30 days."""
    return forget(backend, caller, memory_id)


def version_of(memory: Memory) -> str:
    """A short text that is another one as soon as anything is that people edit."""
    return hashlib.sha256(repr(memory.edited).encode()).hexdigest()[:32]


def _require_own(caller: Caller, memory_id: UUID, found: ForgetPreview) -> None:
    """Raise `Forbidden` where other people's pools would lose memories, too."""
    if not all(map(caller.sees, found.by_pool)):
        raise Forbidden(f"Some of what was derived from {str(memory_id)!r} is of pools that are not yours.")


def _judged(backend: Backend, caller: Caller, memory_id: UUID) -> JudgedMemory:
    found = backend.client.memories.judge([memory_id])
    if not found or not caller.sees(found[0].memory.pool):
        raise NotFound(f"No memory has the id {str(memory_id)!r}. What was forgotten is in the trash for 30 days.")
    return found[0]


def _stale(memory_id: UUID) -> Stale:
    return Stale(f"The memory {str(memory_id)!r} has changed since you read it. Read it again, then change it.")


def _reply(backend: Backend, judged: JudgedMemory) -> MemoryReply:
    with backend.reaching():
        lift = memory_lift(backend.redis, judged.memory.pool, judged.memory.id)
        wrong = called_wrong(backend.redis, judged.memory) if judged.memory.status == "hidden" else None
    return MemoryReply(
        memory=judged.memory,
        version=version_of(judged.memory),
        credibility=judged.credibility.p,
        credits=judged.credibility.credits,
        lift=lift,
        conflicts=judged.conflicts,
        lost_to=judged.lost_to,
        won_over=judged.won_over,
        both_right=judged.both_right,
        called_wrong=CalledWrong(**wrong.model_dump(include={*CalledWrong.model_fields})) if wrong else None,
    )


Pieces = tuple[tuple[str, str], ...]
"""Parts of a text, each with "same", "gone" or "new"."""
LONGEST_COMPARED = 2_000  # words


@dataclass(frozen=True)
class Change:
    """Changes of prompt and answer by a revision, as pieces; None where it stayed as it was."""

    by: str | None
    at: float
    prompt: Pieces | None
    answer: Pieces | None


def changes(memory: Memory) -> Iterator[Change]:
    """Its history, the last change first."""
    texts: list[Revision | Memory] = [*memory.history, memory]
    for before, after in reversed([*pairwise(texts)]):
        assert isinstance(before, Revision)
        yield Change(
            before.by, before.until, _difference(before.prompt, after.prompt), _difference(before.answer, after.answer)
        )


def _difference(before: str | None, after: str | None) -> Pieces | None:
    """The differences between an old and a new text, word by word."""
    old, new = (before or "").split(" "), (after or "").split(" ")
    if old == new:
        return None
    if max(len(old), len(new)) > LONGEST_COMPARED:
        return (("gone", before or ""), ("new", after or ""))
    pieces: list[tuple[str, str]] = []
    for kind, start, end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            pieces.append(("same", " ".join(old[start:end])))
            continue
        if start < end:
            pieces.append(("gone", " ".join(old[start:end])))
        if new_start < new_end:
            pieces.append(("new", " ".join(new[new_start:new_end])))
    return tuple(pieces)
