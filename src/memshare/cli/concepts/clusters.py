"""`memshare concepts clusters`, `summary` and `map`: groups of memories that are alike, and a picture of them."""

from __future__ import annotations

import time
import webbrowser
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from memshare.cli.concepts.open_concepts import OpenedConcepts, Size, opened
from memshare.cli.options import Json, Payer, Pool, Rows, login_name
from memshare.client.answering import paid_chat
from memshare.files.new_file import new_file
from memshare.terminal.console import console, errors, moment, panel, print_json, short, styled, table
from memshare.terminal.ids import counted, prompt_and_answer, short_id, text_columns
from memshare_broker.errors import BadInput, MemshareError
from memshare_memory.stores.store import Where

if TYPE_CHECKING:
    from memshare_concepts.clusters import Cluster, Clusters
    from memshare_concepts.summaries import ClusterSummary


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
    from memshare_concepts.summaries import Summaries

    return Summaries(found.redis, found.concepts.pool).of(one.memories, found.concepts.memories)


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
    from memshare_concepts.summaries import Summaries, reading, summarise

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


_TOPICS = 3  # of a cluster in the table of all


def clusters(
    cluster: Annotated[
        int | None, typer.Argument(metavar="CLUSTER", help="Number of a cluster, to show it in full.")
    ] = None,
    pool: Pool = None,
    size: Size = None,
    limit: Rows = 60,
    as_json: Json = False,
) -> None:
    """List clusters of memories that are alike, each with what it has more of than the pool. Or show one of them.

    Numbers are those of the pool as it is now and of this --size.

    Example: memshare concepts clusters --pool physics

    Example: memshare concepts clusters 12 --pool physics
    """
    with opened("clusters", pool, vectors=True) as found:
        if cluster is not None:
            _show(found, *found.cluster(cluster, size), limit, as_json=as_json)
            return
        groups = found.clusters(size)
        every = [one for level in groups.levels() for one in level]
        if as_json:
            print_json({"pool": found.concepts.pool, "clusters": [_as_json(one) for one in every]})
            return
        counts = " · ".join(f"level {number}: {len(level):,}" for number, level in enumerate(groups.levels()))
        console.print(styled((f"Clusters of pool {found.concepts.pool}", "bold"), f" · {counts}"))
        shown = _in_order(groups, limit)
        console.print(table("number", "memories", "cluster", "and", rows=[_row(one, indent=True) for one in shown]))
        if len(shown) < len(every):
            errors.print(
                f"{len(every) - len(shown):,} more: `memshare concepts clusters NUMBER` shows those in one of them, and"
                " --limit more rows.",
                style="dim",
            )


def _in_order(groups: Clusters, limit: int) -> list[Cluster]:
    """As many of the upper levels as fit, each cluster before its children; the largest alone where not one fits."""
    levels = groups.levels()
    deepest = max((number for number in range(len(levels)) if sum(map(len, levels[: number + 1])) <= limit), default=0)

    def below(one: Cluster) -> list[Cluster]:
        children = groups.children(one.number) if one.level < deepest else []
        return [one, *(inner for child in children for inner in below(child))]

    return [one for top in levels[0][:limit] for one in below(top)]


def _row(one: Cluster, *, indent: bool = False) -> tuple[str, ...]:
    name = short(one.name, 40)
    others = ", ".join(topic.name for topic in one.topics[1:_TOPICS])
    return str(one.number), f"{len(one.memories):,}", "  " * one.level * indent + name, short(others, 60)


def _show(found: OpenedConcepts, groups: Clusters, one: Cluster, limit: int, *, as_json: bool) -> None:
    parents, siblings, children = groups.parents(one.number), groups.siblings(one.number), groups.children(one.number)
    inside = set(one.memories)
    known = found.client.memories.conflicts(found.concepts.pool)
    conflicts = [one.memories for one in known if inside.issuperset(one.memories)]
    said = stored_summary(found, one)
    if as_json:
        relatives = {"parents": parents, "siblings": siblings, "children": children}
        print_json(
            _as_json(one)
            | {name: [each.number for each in of] for name, of in relatives.items()}
            | {"conflicts": conflicts, "summary": said and summary_as_json(said, one)}
        )
        return
    console.print(styled((f"{one.number} {one.name}", "bold"), f" · level {one.level} · {counted(len(inside))}"))
    if said is not None:
        show_summary(said, one)
    topics = [(short(topic.name, 40), f"{topic.share:.0%}", f"{topic.lift:.1f}") for topic in one.topics]
    console.print(table("concept", "of its memories", "times the pool's share", rows=topics))
    for what, of in (("Part of", parents), ("Beside", siblings), ("Made of", children)):
        if of:
            rows = [_row(each) for each in of[:limit]]
            console.print(table("number", "memories", "cluster", "and", rows=rows, title=f"\n{what}"))
    memories = [found.concepts.memories[each] for each in one.memories[:limit]]
    shown = [(short_id(each.id), *prompt_and_answer(each)) for each in memories]
    console.print(table("id", *text_columns(), rows=shown, title="\nMemories"))
    for first, second in conflicts:
        console.print(styled(("contradict each other", "yellow"), f": {short_id(first)} and {short_id(second)}"))


def _as_json(one: Cluster) -> dict[str, Any]:
    return {
        "number": one.number, "level": one.level, "name": one.name, "parent": one.parent, "children": one.children,
        "topics": [vars(topic) for topic in one.topics], "memories": one.memories,
    }  # fmt: skip


def draw_map(
    out: Annotated[Path, typer.Option(metavar="FILE.html", help="The page to write; an existing file is replaced.")],
    pool: Pool = None,
    size: Size = None,
    person: Annotated[str | None, typer.Option(help="Colour by what this person remembers, by their reviews.")] = None,
    show: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    as_json: Json = False,
) -> None:
    """Draw the clusters of a pool and their memories on one HTML page, which can be searched and read offline.

    On the page, clusters can be made smaller and larger, and memories compared with each other. It has prompts
    and answers: whoever has it can read them. It shows the pool as it is now.

    Example: memshare concepts map --pool physics --out physics.html --open
    """
    with opened("map", pool, vectors=True) as found:
        from memshare_concepts.clusters import SIZE
        from memshare_concepts.map.page import Colours, clusters_around, map_page

        remembered = {} if person is None else _remembered(found, person)
        size = SIZE if size is None else size
        with errors.status("Finding clusters…"):
            by_size = clusters_around(found.concepts, found.client.settings.data, size)
        with errors.status("Drawing…"):
            judged = found.client.memories.judge(found.concepts.ids)
            colours = Colours({one.memory.id: one.credibility.p for one in judged}, remembered, person)
            with new_file(out) as file:
                file.writelines(map_page(found.concepts, by_size, size, colours, datetime.now(UTC)))
    count, groups = len(found.concepts.memories), len(by_size[size].levels()[-1])
    if as_json:
        print_json({"file": str(out), "memories": count, "clusters": groups, "sizes": list(by_size)})
    else:
        console.print(f"Drew {counted(count)} in {counted(groups, 'cluster')}: {out}")
    if show and not webbrowser.open(out.resolve().as_uri()):
        raise MemshareError(f"No browser was found to open {str(out)!r} with.")


def _remembered(found: OpenedConcepts, person: str) -> dict[UUID, float]:
    """The probability that a person remembers each memory that they reviewed."""
    from memshare_concepts.reviews import CardStore, ReviewLearner

    concepts = found.concepts
    learner = ReviewLearner(CardStore(found.redis, person), concepts.pool, concepts.memories, concepts.graph, {})
    standings = learner.standings(time.time())
    if not standings:
        raise BadInput(f"{person!r} has reviewed nothing of pool {concepts.pool!r}: `memshare review` begins it.")
    return {memory: standing.probability for memory, standing in standings.items()}
