"""The real doors: `memshare serve` beside a deployment, and requests with tokens."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from benchmarks.governance.measures import Replied
from benchmarks.governance.world import Fact, Person, Request
from benchmarks.support.deployment import MEMSHARE, Deployment
from memshare.client.rest.task import Memory
from memshare_broker.errors import MemshareError

WAIT = 60.0  # seconds for an answer
LISTED = 200


@contextmanager
def served(deployment: Deployment) -> Iterator[str]:
    """The address of a REST door that runs while the block does."""
    command = [MEMSHARE, "serve", "--port", "0", "--json"]
    with subprocess.Popen(command, env=deployment.environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield str(json.loads(process.stdout.readline())["url"])
        finally:
            process.terminate()


def token_for(deployment: Deployment, person: Person) -> str:
    """A new token with a person's rights."""
    if not deployment.command("token", "list"):
        deployment.command("token", "create", "root", "--may", "admin", "--pools", "*")
    rights = ("--may", ",".join(person.may), "--pools", ",".join(person.pools))
    made = deployment.command("token", "create", person.name, *rights)
    return str(made["token"])


def ask(memory: Memory, request: Request, journeys: Mapping[str, str]) -> Replied:
    """Ask as one has to; a refusal is a reply, too. `journeys` has one of each pool, which another began."""
    fact = request.fact
    try:
        reply = _reply(memory, request, journeys)
    except MemshareError as error:
        return Replied(request, str(error), "")
    text = json.dumps(reply, ensure_ascii=False)
    if request.way == "needs":
        return Replied(request, text, "")
    if request.way in ("task", "journey"):
        return Replied(request, text, str(reply.get("answer") or ""))
    found = [one.get("memory", one) for one in reply["memories"]]
    wanted = [one for one in found if fact.name in (one["prompt"] or "") and fact.thing in (one["prompt"] or "")]
    first = wanted if request.way == "list" else found
    return Replied(request, text, str(first[0]["answer"]) if first else "")


def agent_of(fact: Fact) -> str:
    """The agent that knows it: one of the pool's name, or that of pools of one's own."""
    return "desk" if "/" in fact.pool else fact.pool


def _reply(memory: Memory, request: Request, journeys: Mapping[str, str]) -> dict[str, Any]:
    fact = request.fact
    match request.way:
        case "recall":
            made: Any = memory.recall(fact.in_other_words, pool=fact.pool)
        case "search":
            made = memory.memories.search(fact.in_other_words, pool=fact.pool)
        case "list":
            made = memory.memories.page(pool=fact.pool, limit=LISTED)
        case "task":
            made = memory.journeys.get(memory.tasks(agent_of(fact), fact.in_other_words).id, wait=WAIT)
        case "journey":
            made = memory.journeys.get(journeys[fact.pool])
        case "needs":
            there = {"needs": memory.needs.list(limit=500), "stats": memory.stats()}
            told = {name: one.model_dump(mode="json") for name, one in there.items()}
            return told | {"promotions": [one.model_dump(mode="json") for one in memory.promotions.list()]}
    return dict(made.model_dump(mode="json"))
