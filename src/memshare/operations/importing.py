"""Importing: a file of memories is brought in, once every line of it is right."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from memshare.client.pools import new_ids
from memshare.client.rest.calls.memories import ImportReply, IncomingMemory, Memories, RefusedLine
from memshare.files.json_lines import numbered, refuse
from memshare.files.pairs import PairsFile, bring_in, pairs_of, unknown_pools
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller, audit
from memshare.operations.forms import ImportForm
from memshare.operations.serving import serves
from memshare_memory.curate.requests import NewMemory
from memshare_memory.memory import Memory

EXAMPLES = 20  # memories


@serves(Memories.bring_in)
def import_memories(backend: Backend, caller: Caller, form: ImportForm) -> ImportReply:
    """Bring in the memories of a file, or say what would be; raises `BadInput` that names the wrong lines."""
    caller.require_all()  # exported memories come with their scores and submitters, whoever says so
    pool_of_agent = {name: card.pool for name, card in backend.cards().items()}
    lines, limit = numbered(form.lines.lstrip("\ufeff")), backend.settings.prompt_limit
    found, faults = pairs_of(lines, form.pool, pool_of_agent, caller.name, limit)
    refused = [RefusedLine(line=number, why=why) for number, why in faults]
    if not form.new_pool and (unknown := unknown_pools(backend.client, found)):
        refused.append(RefusedLine(line=None, why=f"{unknown} 'new_pool' lets it begin."))
    new = new_ids(backend.client, found.ids)
    if not form.dry_run:
        refuse([f"line {one.line}: {one.why}" if one.line else one.why for one in refused], "Nothing was imported.")
        for _ in bring_in(backend.client, found):
            pass
        audit(caller, "import", memories=len(found.ids), new=len(new))
    return ImportReply(
        new=len(new),
        there=len(set(found.ids) - new),
        left_out=len(found.left_out),
        examples=tuple(_new(found, new)),
        refused=tuple(refused),
    )


def _new(found: PairsFile, new: set[UUID]) -> Iterator[IncomingMemory]:
    memories: list[Memory | NewMemory] = [*found.whole, *found.pairs]
    texts = {one: memory for one, memory in zip(found.ids, memories, strict=True) if one in new}
    for memory in list(texts.values())[:EXAMPLES]:
        yield IncomingMemory(pool=memory.pool, prompt=memory.prompt, answer=memory.answer)
