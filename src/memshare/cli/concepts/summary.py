"""`memshare concepts summary`: what the memories of a cluster say, in sentences that name the memories they rest on."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from memshare.cli.concepts.open_concepts import OpenedConcepts, Size, opened
from memshare.cli.options import Json, Payer, Pool, login_name
from memshare.client.paid_chat import paid_chat
from memshare.terminal.console import console, errors, moment, panel, print_json, styled, table
from memshare.terminal.ids import short_id
from memshare.terminal.memory_pages import counted, prompt_and_answer, text_columns
from memshare_broker.errors import MemshareError
from memshare_memory.stores.store import Where

if TYPE_CHECKING:
    from memshare_concepts.clusters.cluster import Cluster
    from memshare_concepts.summaries.summary import ClusterSummary


def summary(
    cluster: Annotated[int, typer.Argument(metavar="CLUSTER", help="Its number: `memshare concepts clusters`.")],
    pool: Pool = None,
    size: Size = None,
    again: Annotated[bool, typer.Option("--again", help="Write a new one, even if one is stored.")] = False,
    submitter: Payer = None,
    as_json: Json = False,
) -> None:
    """Summarise a cluster: sentences, each with the memories that it is based on. The summary is stored.

    One call of the agents' model where there is none yet. From a fifth of the cluster changed on, it is called stale.

    Example: memshare concepts summary 12 --pool physics

    Example: memshare concepts summary 12 --pool physics --again
    """
    with opened("summary", pool, vectors=True) as found:
        _, one = found.cluster(cluster, size)
        said = None if again else stored_summary(found, one)
        if said is None:
            said = _written(found, one, submitter or login_name())
    if as_json:
        about = {"pool": found.concepts.pool, "cluster": one.number, "name": one.name, "memories": len(one.memories)}
        print_json(about | summary_as_json(said, one))
        return
    console.print(styled((f"{one.number} {one.name}", "bold"), f" · {counted(len(one.memories))}"))
    show_summary(said, one)
    cited = dict.fromkeys(each for sentence in said.sentences for each in sentence.cites)
    memories = [found.concepts.memories[each] for each in cited if each in found.concepts.memories]
    rows = [(short_id(each.id), *prompt_and_answer(each)) for each in memories]
    console.print(table("id", *text_columns(), rows=rows, title="It rests on"))


def stored_summary(found: OpenedConcepts, one: Cluster) -> ClusterSummary | None:
    """The summary of a cluster that was written before, if there is one."""
    from memshare_concepts.summaries.summary import Summaries

    return Summaries(found.redis, found.concepts.pool).of(one.memories)


def show_summary(said: ClusterSummary, one: Cluster) -> None:
    """Print a summary, and how much of its cluster has changed since."""
    title = f" · {said.model} · {moment(said.made)} · {len(said.read):,} of {counted(len(said.members))} read"
    lines = [f"{each.text} [{', '.join(map(short_id, each.cites))}]" for each in said.sentences]
    console.print(panel("\n".join(lines), styled(("Summary", "bold"), title)))
    if said.is_stale(one.memories):
        console.print(
            styled(
                ("stale", "yellow"),
                f": {said.changed(one.memories):,} of its {counted(len(said.members))} are new or gone."
                f" `memshare concepts summary {one.number} --again` writes a new one.",
            )
        )


def summary_as_json(said: ClusterSummary, one: Cluster) -> dict[str, Any]:
    """A summary, and how much of its cluster has changed since."""
    return {
        "sentences": [each.model_dump(mode="json") for each in said.sentences],
        "made": said.made, "model": said.model, "read": len(said.read), "members": len(said.members),
        "changed": said.changed(one.memories), "stale": said.is_stale(one.memories),
    }  # fmt: skip


def _written(found: OpenedConcepts, one: Cluster, payer: str) -> ClusterSummary:
    from memshare_concepts.summaries.summary import Summaries
    from memshare_concepts.summaries.writing import reading, summarise

    settings, concepts = found.client.settings, found.concepts
    read = reading(concepts.graph, one, concepts.memories)
    with paid_chat(settings, "agents", payer) as chat, errors.status(f"Reading {counted(len(read))} …"):
        said = summarise(chat, one, read, time.time())
    summaries = Summaries(found.redis, concepts.pool)
    summaries.keep(said)
    if _forgotten(found, said.read):  # kept first: what is forgotten from now on takes the summary with it
        summaries.drop(said)
        raise MemshareError("A memory was forgotten while it was read, so nothing is kept. Run the command again.")
    return said


def _forgotten(found: OpenedConcepts, ids: tuple[UUID, ...]) -> set[UUID]:
    there = found.client.memories.page(Where(ids=ids), len(ids)).memories
    return set(ids) - {one.id for one in there}
