"""`memshare memories import --facts`: what a document says as statements, which a model writes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import typer

from memshare.client.answering import paid_chat
from memshare.client.client import Client
from memshare.client.pools import new_ids
from memshare.files.pairs import PairsFile
from memshare.operate.data_folder import connected
from memshare.operations.memories import without_wrong
from memshare.terminal.console import console, errors, print_json, progress_bar, require_consent, stopping
from memshare.terminal.ids import counted
from memshare_broker.wire.messages import derived_id
from memshare_concepts.facts import MOST_PASSAGES, TOGETHER, write_facts
from memshare_llm.chat import Chat, RefusedReply, UselessReply
from memshare_llm.models import require_model
from memshare_llm.structured import MOST_CALLS, DoesNotFit
from memshare_memory.curate.requests import NewMemory
from memshare_memory.memory import KNOWLEDGE, Memory, memory_id


def import_facts(client: Client, file: Path, texts: Sequence[NewMemory], *, yes: bool, as_json: bool) -> None:
    """Have a model write the facts of a document's passages, and bring them in.

    A passage is kept as a hidden memory, and written together with its facts: so it is known which were done.
    """
    require_model(client.settings, "agents", "`memshare memories import --facts`")
    passages = list({one.id: one for one in (_passage(file.name, text) for text in texts)}.values())
    new = new_ids(client, [one.id for one in passages])
    groups = list(_together([one for one in passages if one.id in new]))
    model = client.settings.model_for("agents")
    calls = counted(len(groups), "call")
    errors.print(
        f"{counted(len(passages), 'passage')}, {len(passages) - len(new):,} of which are done. The others take {calls}"
        f" of {model}, and at most {MOST_CALLS * len(groups):,} where replies do not fit."
    )
    if groups:
        require_consent("Go on?", yes=yes)
    facts, failed, payer = 0, 0, passages[0].submitter if passages else ""
    with (
        stopping("Run the same command again to go on: no passage is paid for twice."),
        paid_chat(client.settings, "agents", payer) as chat,
        progress_bar("Writing facts", len(new)) as bar,
    ):
        for group in groups:
            try:
                facts += _bring_in_facts(client, chat, file.name, group)
            except (DoesNotFit, UselessReply, RefusedReply) as error:
                failed += len(group)
                errors.print(f"{counted(len(group), 'passage is', 'passages are')} left out: {error}", style="yellow")
            bar(advance=len(group))
    if as_json:
        print_json({"passages": len(passages), "done": len(new) - failed, "failed": failed, "new": facts})
    else:
        console.print(f"Imported {counted(facts)} from {counted(len(new) - failed, 'passage')}.")
    if failed:
        errors.print("Run the same command again for those that are left out.", style="yellow")
        raise typer.Exit(1)


def _passage(title: str, text: NewMemory) -> Memory:
    """A passage as a hidden memory: it is a piece of its document, which no memory is."""
    return Memory(
        id=derived_id("passage", text.pool, title, text.answer),
        pool=text.pool,
        prompt=None,
        answer=f"{title}\n\n{text.answer}",
        kind=KNOWLEDGE,
        submitter=text.submitter,
        parents=(derived_id("document", text.pool, title),),
        created=time.time(),
        status="hidden",
    )


def _together(passages: Sequence[Memory]) -> Iterator[list[Memory]]:
    """Passages in their order, as many together as fit into a call."""
    group: list[Memory] = []
    for one in passages:
        if group and (len(group) == MOST_PASSAGES or sum(len(each.answer) for each in (*group, one)) > TOGETHER):
            yield group
            group = []
        group.append(one)
    if group:
        yield group


def _bring_in_facts(client: Client, chat: Chat, title: str, group: Sequence[Memory]) -> int:
    """Write the facts of some passages and, in the same request, the passages; returns how many facts are new."""
    told = write_facts(chat, title, [one.answer.removeprefix(f"{title}\n\n") for one in group])
    facts = [
        passage.model_copy(
            update={
                "id": memory_id(passage.pool, None, statement),
                "answer": statement,
                "model": told.model,
                "source": title,
                "parents": (passage.id,),
                "status": "active",
            }
        )
        for passage, statements in zip(group, told.of_each, strict=True)
        for statement in statements
    ]
    facts = leave_out_wrong(client, PairsFile(facts, [], {}, {one.id: title for one in facts})).whole
    new = new_ids(client, [one.id for one in facts])
    fresh = {one.id: one for one in reversed(facts) if one.id in new}  # of a fact that is said twice, the first
    client.memories.restore([*fresh.values(), *group])
    return len(fresh)


def leave_out_wrong(client: Client, found: PairsFile) -> PairsFile:
    """The memories of a file without those that say what was called wrong, each of which is named."""
    with connected(client.settings) as redis_client:
        found, refused = without_wrong(redis_client, client.memories, found)
    for why in refused:
        errors.print(f"Left out: {why}", style="yellow")
    return found
