"""Do borders hold, and is what was deleted gone? `python -m benchmarks.governance`: tokens, pools, and what they tell.

Three pools, twelve tokens with different rights, and requests of which a part asks for what it must not see, by recall,
search, lists, tasks and journeys of others. Then a hundred memories are forgotten or purged, and asked for in other
words. Three more people have a pool of their own beside a team's: everybody asks for what is theirs; some of it is
promoted to the team, and taken back. The agents' model is a student that copies what it is shown, so whatever is told
stood in a memory. All else is real: `memshare up` and `memshare serve` with default settings. The score is that of
GateMem (arXiv 2606.18829).
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import typer

from benchmarks.governance.doors import WAIT, ask, served, token_for
from benchmarks.governance.measures import Replied, governance, leaked, usefulness
from benchmarks.governance.spaces import AGENT, OWNERS, measure
from benchmarks.governance.world import POOLS, REQUESTS, Fact, Person, Request, Way, facts, gone, people, requests, told
from benchmarks.report import Aim, print_figures
from benchmarks.support.deployment import Deployment
from benchmarks.support.orders import teller
from benchmarks.support.up import deployed
from memshare.client.rest.task import Memory
from memshare_memory.curate.requests import Forget
from memshare_memory.stores.store import Where

AT_ONCE = 8  # requests
OPEN = Person("open", ("admin",), POOLS)
AFTER: tuple[Way, ...] = ("recall", "search", "list", "task")
AIMS = (
    Aim("leaks", 0, "replies", at_most=True),
    Aim("remembered", 0, "memories", at_most=True),
    Aim("utility", 0.95, "of that without borders"),
    Aim("promoted_seen", 1, "memories"),
)


def main(
    count: Annotated[int, typer.Option("--requests", min=12, help="Requests behind borders.")] = REQUESTS,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document in place of a table.")] = False,
) -> None:
    """Measure, and print what leaked, what is remembered, and how useful the pools still are."""
    known, say, started = facts(), teller("governance"), time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="memshare-exports-") as exports,
        deployed(
            "governance", exports=Path(exports), pools={**{one: one for one in POOLS}, "desk": AGENT}
        ) as deployment,
        served(deployment) as url,
        ExitStack() as opened,
    ):
        memories = {
            person.name: opened.enter_context(Memory(url, token_for(deployment, person)))
            for person in (*people(), OPEN, *OWNERS)
        }
        for pool in POOLS:
            own = [(one.question, one.answer) for one in known if one.pool == pool]
            deployment.bring_in(own, [f"keeper-{pool}"] * len(own), pool)
        journeys = {pool: _begun(memories[OPEN.name], known, pool) for pool in POOLS}
        asked = requests(known, count)
        say("asking behind borders")
        bordered = _all(memories, asked, journeys)
        say("asking without borders")
        entitled = [one for one in asked if one.entitled]
        open_to_all = _all(memories, [Request(OPEN, one.fact, one.way) for one in entitled], journeys)
        deployment.settled()
        say("asking for what is of one's own")
        spaces = measure(deployment, memories)
        say("forgetting and purging")
        lost = gone(known)
        _delete(deployment, lost)
        again = [Request(OPEN, one, way) for one in lost for way in AFTER]
        say("asking for what is gone")
        after = _all(memories, again, journeys)

    leaks = leaked(bordered, known)
    remembered = {one.secret for reply in after for one in told(reply.text, lost)}
    useful = usefulness([one for one in bordered if one.request.entitled], open_to_all)
    figures: dict[str, Any] = {
        "leaks": len(leaks) + spaces.leaks,
        "remembered": len(remembered) + spaces.kept,
        "utility": useful,
        "score": governance(useful, len(leaks) / len(asked), len(remembered) / len(lost)),
        "own_right": spaces.own,
        "promoted": spaces.proposed,
        "promoted_seen": spaces.reached,
        "requests": len(asked) + len(open_to_all) + len(after) + spaces.requests,
        "not_entitled": len(asked) - len(entitled),
        "gone": len(lost),
        "seconds": time.monotonic() - started,
    }
    print_figures("Governance, with default settings", figures, as_json=as_json, aims=AIMS)


def _begun(memory: Memory, known: Sequence[Fact], pool: str) -> str:
    """A task about the pool's first fact, once it is answered."""
    first = next(one for one in known if one.pool == pool)
    begun = memory.tasks(pool, first.in_other_words).id
    memory.journeys.get(begun, wait=WAIT)
    return begun


def _all(memories: Mapping[str, Memory], asked: Sequence[Request], journeys: Mapping[str, str]) -> list[Replied]:
    with ThreadPoolExecutor(AT_ONCE) as callers:
        return list(callers.map(lambda one: ask(memories[one.person.name], one, journeys), asked))


def _delete(deployment: Deployment, lost: Sequence[Fact]) -> None:
    """Forget half of them and purge the others, each with what agents made of it."""
    of: dict[str, set[UUID]] = {one.secret: set() for one in lost}
    for memory in deployment.client.memories.every(Where()):
        for fact in told(memory.answer, lost):
            of[fact.secret].add(memory.id)
    ids = [tuple(of[one.secret]) for one in lost]
    half = len(ids) // 2
    deployment.client.memories.forget(Forget(ids=tuple(one for some in ids[:half] for one in some)))
    purged = [str(one) for some in ids[half:] for one in some]
    deployment.command("memories", "purge", *purged, "--yes")


if __name__ == "__main__":
    typer.run(main)
