"""Map: what a pool is about and is likely to lack, names that may mean one concept, and the picture of it all."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlencode

from memshare.doors.pages.visit import PAGES, Done, Screen, Streamed, Visit
from memshare.operations.apart import computed
from memshare.operations.concepts import answer, concepts, decide, require_concepts
from memshare.operations.jobs import TOKENS
from memshare.operations.listings import pools
from memshare_broker.app import CONCEPTS_QUEUE
from memshare_broker.connection import connect
from memshare_broker.errors import BadInput
from memshare_broker.settings import Settings
from memshare_memory.door.client import MemoryClient

HERE = "/map"
SHOWN = 30  # clusters
LISTED = 12  # names to decide on, and gaps: the next ones come when these are decided
DECIDED = {
    "merge": "They count as one concept now.",
    "split": "They are two concepts again.",
    "apart": "They stay two concepts.",
    "dismiss": "It is no gap.",
    "bring_back": "It is back in the list.",
}


@PAGES.screen(HERE)
def overview(visit: Visit) -> Screen:
    """The clusters, gaps and similar names of a pool."""
    there = [one for one in pools(visit.backend, visit.caller) if one.memories and "/" not in one.name]
    named = visit.field("pool") or (there[0].name if there else "")
    found = concepts(visit.backend, visit.caller, named) if named else None
    values: dict[str, Any] = {"pools": there, "named": named, "found": found, "shown": SHOWN, "listed": LISTED}
    waiting, model_for = visit.backend.client.ledger.open_in(CONCEPTS_QUEUE), visit.backend.settings.model_for
    values |= {"tokens": TOKENS, "waiting": waiting, "model": model_for("scorer"), "writer": model_for("agents")}
    return Screen("map", values | {"jobs": visit.jobs})


@PAGES.action("/map/{pool:path}/ask")
def ask(visit: Visit) -> Screen:
    """Put a question to the pool."""
    pool, question = visit.path["pool"], visit.field("question")
    only_memories = visit.field("only_memories") == "yes"
    reply = visit.ask("The question", answer, pool, question=question, only_memories=only_memories)
    return Screen("answered", {"pool": pool, "question": question, "only_memories": only_memories, "reply": reply})


@PAGES.action("/map/{pool:path}")
def settle(visit: Visit) -> Done:
    """Decide on two names, or on a gap."""
    do, names = visit.field("do"), visit.fields.getlist("name")
    given = {do: names if do in ("merge", "apart") else next(iter(names), "")}
    done = visit.ask("The decision", decide, visit.path["pool"], **given)
    [(back, what)] = done.undo.items() if done.undo else [("", "")]
    path = f"/map/{quote(visit.path['pool'], safe='')}"
    here = visit.back or f"{HERE}?{urlencode({'pool': visit.path['pool']})}"
    undo = f"{path}?{urlencode({'do': back, 'name': what, 'back': here}, doseq=True)}" if back else ""
    return Done(here, DECIDED[do], undo)


@PAGES.screen("/map/{pool:path}/picture")
def picture(visit: Visit) -> Streamed:
    """The map that `memshare concepts map` draws, as the pool is now."""
    require_concepts(visit.backend, visit.caller, visit.path["pool"])
    return Streamed(iter(computed(_draw, visit.backend.settings, visit.path["pool"])), "text/html")


def _draw(settings: Settings, pool: str) -> tuple[str, ...]:
    """The lines of the page; it needs numpy and scipy."""
    from memshare_concepts.clusters import SIZE
    from memshare_concepts.map.page import Colours, clusters_around, map_page
    from memshare_concepts.pool_graph import load

    with closing(MemoryClient(settings)) as memory, connect(settings.redis) as client:
        found = load(memory, client, pool, vectors=True)
        if not found.memories:
            raise BadInput(f"No memory of the pool {pool!r} has concepts yet, so there is nothing to draw.")
        by_size = clusters_around(found, settings.data, SIZE)
        colours = Colours({one.memory.id: one.credibility.p for one in memory.judge(found.ids)})
        back = f"{HERE}?{urlencode({'pool': pool})}"
        return tuple(map_page(found, by_size, SIZE, colours, datetime.now(UTC), back=back))
