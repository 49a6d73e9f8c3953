"""Pools of one's own: who else is told of them, what a promotion shows to a team, and what is left without it."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from benchmarks.governance.doors import WAIT, ask
from benchmarks.governance.measures import Replied, leaked
from benchmarks.governance.world import WAYS, Fact, Person, Request, Way, own_facts, people
from benchmarks.support.deployment import Deployment
from memshare.client.rest.task import Memory
from memshare_memory.memory import Memory as Stored
from memshare_memory.memory import memory_id

TEAM = "harbour"
AGENT = f'pools = ["mine/{{submitter}}", "{TEAM}"]'
OWNERS = tuple(Person(one, ("recall", "submit", "curate"), (TEAM,)) for one in ("olga", "otto", "ona"))
TIMES = 6  # that an owner asks for a fact, of which three make a proposal
EACH = 3  # facts of others that each person asks for, in each way
AFTER: tuple[Way, ...] = ("recall", "search", "task", "needs")

Ask = Callable[[Sequence[Request]], list[Replied]]


class SpacesMeasured(NamedTuple):
    """What the requests came to."""

    requests: int
    leaks: int
    own: float
    """Share of the answers about their own that owners got right."""
    proposed: int
    reached: int
    """Of the promoted ones those that a member of the team was told."""
    kept: int
    """Replies that tell of what was taken back."""


def measure(deployment: Deployment, memories: Mapping[str, Memory]) -> SpacesMeasured:
    """Fill the owners' pools, ask as everybody for what is theirs, promote, and take back."""
    known = own_facts([one.name for one in OWNERS])
    deployment.client.memories.restore([_stored(one) for one in known])
    firsts = {fact.pool: fact for fact in reversed(known)}
    helping = {one.pool: [_begun(memories, one, number) for number in range(TIMES)] for one in firsts.values()}
    deployment.settled()
    journeys = {pool: begun[0] for pool, begun in helping.items()}

    def asked(requests: Sequence[Request]) -> list[Replied]:
        return [ask(memories[one.person.name], one, journeys) for one in requests]

    chance, ways = random.Random(4), (*WAYS, "needs")
    everybody = [
        Request(person, firsts[fact.pool] if way == "journey" else fact, way)
        for person in (*people(), *OWNERS)
        for way in ways
        for fact in chance.sample(known, EACH)
    ]
    replied = asked(everybody)
    owners = [Request(one, fact, "list") for one in OWNERS for fact in known if fact.pool == f"mine/{one.name}"]
    own = asked(owners)
    deployment.settled()

    proposed = {one.name: memories[one.name].promotions.list() for one in OWNERS}
    told_of = {str(one.memory.memory.id) for some in proposed.values() for one in some}
    ids = {owner: [one.memory.memory.id for one in some] for owner, some in proposed.items()}
    for owner, some in ids.items():
        for one in some:
            memories[owner].promotions.decide(one)
    member = next(one for one in people() if TEAM in one.pools and {"recall", "submit"} <= {*one.may})
    seen = asked([Request(member, fact, way) for fact in firsts.values() for way in ("task",)])
    reached = {one.request.fact.secret for one in seen if one.request.fact.secret in one.text}
    deployment.settled()
    for owner, some in ids.items():
        for one in some:
            memories[owner].promotions.decide(one, "take back")
    team = [one for one in people() if TEAM in one.pools]
    after = asked([Request(person, fact, way) for person in team for fact in firsts.values() for way in AFTER])
    return SpacesMeasured(
        requests=len(everybody) + len(owners) + len(seen) + len(after),
        leaks=len(leaked([*replied, *own], known)),
        own=sum(one.right for one in own) / len(own),
        proposed=len(told_of),
        reached=len(reached),
        kept=len(leaked(after, known)),
    )


def _stored(fact: Fact) -> Stored:
    owner = fact.pool.partition("/")[2]
    name: UUID = memory_id(fact.pool, fact.question, fact.answer)
    return Stored(
        id=name, pool=fact.pool, prompt=fact.question, answer=fact.answer, agent="desk", submitter=owner, score=100,
        task_id=f"task {name}", created=1.7e9,
    )  # fmt: skip


def _begun(memories: Mapping[str, Memory], fact: Fact, number: int) -> str:
    """A task of an owner about a fact of theirs, once it is answered."""
    memory = memories[fact.pool.partition("/")[2]]
    begun = memory.tasks("desk", f"{fact.in_other_words} This is request {number}.").id
    memory.journeys.get(begun, wait=WAIT)
    return begun
