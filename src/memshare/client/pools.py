"""Pools as a client knows them: their contradictions, the models at work for them, and grading their memories again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from uuid import UUID, uuid4

import redis

from memshare.client.client import INTERACTIVE, Client
from memshare.client.rest.calls.decisions import Contradiction
from memshare_broker.app import MOST_LESSONS, TRAINER_QUEUE
from memshare_broker.connection import is_full, reaching
from memshare_broker.delivery.hops import SCORE, SETTLE
from memshare_broker.delivery.ledger import count_open
from memshare_broker.errors import BadInput
from memshare_broker.observe.metrics import METRICS, read_field
from memshare_broker.presence import SAME_NAME, AgentCard, Presence
from memshare_broker.settings import OFFLINE, Settings
from memshare_broker.wire.lessons import LONGEST_TEXT
from memshare_broker.wire.messages import RegradePair, derived_id
from memshare_broker.wire.spaces import fits
from memshare_llm.deferred import missing_batch_apis
from memshare_llm.limits.concurrency import servers_now
from memshare_llm.limits.usage import filtered_today
from memshare_llm.models import needs_model
from memshare_memory.door.client import BATCH, MemoryClient
from memshare_memory.door.undisputed import undisputed
from memshare_memory.encoders.encoder import ENCODER, first_name
from memshare_memory.memory import KNOWLEDGE, Memory, said
from memshare_memory.stores.store import Where
from memshare_scorer.grading import cannot_grade, is_checked
from memshare_scorer.rubric import find_rubric
from memshare_trainer.percentages import paused_labels


def contradictions(memories: MemoryClient, pools: Iterable[str]) -> list[Contradiction]:
    """Every two memories of some pools that contradict each other and are both there, pool by pool."""
    found = [conflict for one in pools for conflict in memories.conflicts(one)]
    known = {one.memory.id: one for one in memories.judge([each for one in found for each in one.memories])}
    there = [one for one in found if known.keys() >= set(one.memories)]
    pairs = [sorted((known[each] for each in one.memories), key=lambda each: each.memory.created) for one in there]
    return [
        Contradiction(memories=(older, younger), claims=one.claims, confirmed=one.confirmed, right=one.right)
        for one, (older, younger) in zip(there, pairs, strict=True)
    ]


def models_of(worker: Presence) -> set[str]:
    """The models that a worker asks."""
    return {one for one in (*(card.model for card in worker.agents), worker.scorer_model, worker.trainer_model) if one}


def _models_in_use(workers: Iterable[Presence]) -> set[str]:
    return {model for worker in workers for model in models_of(worker)}


LESSONS_WAIT = (
    f"{MOST_LESSONS:,} lessons or more wait for the trainer: until fewer do, what is new becomes none that a model has "
    "to label."
)


def model_doubts(client: redis.Redis, workers: Iterable[Presence]) -> tuple[str, ...]:
    """A sentence for each rubric by which a model of these workers cannot grade, and each without labels or batches, or
    whose content filter refused background calls today, and one where too many lessons wait."""
    grades = (why for _, why in cannot_grade(client))
    every = (*grades, *paused_labels(client), *missing_batch_apis(client), *filtered_today(client))
    models = _models_in_use(workers)
    waiting = count_open(client, TRAINER_QUEUE) >= MOST_LESSONS
    return (*(why for why in every if any(model in why for model in models)), *[LESSONS_WAIT] * waiting)


def same_names(workers: Iterable[Presence]) -> tuple[str, ...]:
    """A sentence for each name that more than one live worker has."""
    return tuple(SAME_NAME.format(node=worker.node) for worker in workers if worker.shares_name)


FEWEST_FAILED = 3  # calls, so that one time-out is no alarm
FAILURES = {
    "slow": "timed out",
    "refused": "were over its rate limit",
    "misfit": "were of no use",
    "away": "found no server",
    "filtered": "were refused: content filter",
    "declined": "were refused by its server",
    "unauthorized": "were refused: the key, or its account (credentials or quota)",
    "broken": "met an error of its server",
}


def failing_models(calls: Mapping[str, Sequence[str]], workers: Iterable[Presence] = ()) -> dict[str, str]:
    """A sentence for each model of whose `last_calls` half or more failed, by model; of those alone that workers ask,
    where there are any."""
    said = {}
    for model in sorted(calls.keys() & (_models_in_use(workers) or calls)):
        ended = calls[model]
        there = next((at for at, one in enumerate(ended) if one != "away"), len(ended))
        counted = [one for at, one in enumerate(ended) if at < there or one != "away"]  # it is there again
        failed = [one for one in counted if one != "fit"]
        if len(failed) >= max(FEWEST_FAILED, len(counted) / 2):
            how = FAILURES.get(failed[0], "failed")
            if len({*failed}) > 1 and how != "failed":
                how = f"failed; the latest {how.replace('were ', 'was ', 1)}"
            said[model] = f"{len(failed)} of the last {len(counted)} calls of {model} {how}."
    return said


def no_room(client: redis.Redis) -> tuple[str, ...]:
    """A sentence where Redis has no room for another key, in memory or on its disk."""
    try:
        with suppress(redis.exceptions.NoPermissionError):
            client.set("memshare:health", 1, ex=60)
    except redis.exceptions.ResponseError as error:
        if not is_full(error):
            raise
        said = "Redis takes no writes, as it is full: new tasks and changes are refused, and open tasks wait; what is"
        mend = "Make room for it, on its disk or in memory (maxmemory); then all goes on."
        return (f"{said} there can be read. {mend} ({error})",)
    return ()


def busy_servers(client: redis.Redis) -> tuple[str, ...]:
    """A sentence for each model's server for which calls wait."""
    said = []
    for there in servers_now(client):
        if there.waiting:
            calls = "1 call waits" if there.waiting == 1 else f"{there.waiting} calls wait"
            said.append(f"{calls} for {there.address}, which is given {there.limit} at once for now.")
    return tuple(said)


def graded_ever(client: redis.Redis, agents: Collection[str] | None = None) -> tuple[int, int]:
    """How many answers, of these agents or of all, were graded, and how many of them were accepted."""
    graded = accepted = 0
    for field, text in client.hgetall(METRICS).items():
        name, labels = read_field(str(field))
        if name == "memshare_graded_total" and (agents is None or labels["agent"] in agents):
            graded += int(float(text))
            accepted += int(float(text)) if labels["accepted"] == "true" else 0
    return graded, accepted


def require_scorer_model(client: Client, what: str) -> None:
    """Raise `BadInput` where no worker that grades, or names concepts, has a model; `what` begins the sentence."""
    if {worker.scorer_model for worker in client.workers()} - {None} == {OFFLINE}:
        raise BadInput(needs_model(what))


def require_agent_model(client: Client, agents: Iterable[str], what: str) -> None:
    """Raise `BadInput` where a worker of one of these agents has no model."""
    cards = [card for worker in client.workers() for card in worker.agents]
    if any(card.name in agents and card.model == OFFLINE for card in cards):
        raise BadInput(needs_model(what))


def agent_of(client: Client, pool: str, named: str | None) -> str:
    """The agent that answers for a pool: the one that is named, or the only one.

    Raises `BadInput` for one of another pool, where one of several has to be named, and for one without a model.
    """
    there = sorted(name for name, card in client.agents().items() if fits(card.pool, pool))
    name = there[0] if named is None and len(there) == 1 else named
    if name is None or name not in there:
        raise BadInput(
            f"Name one of the agents with the pool {pool!r}, not {named!r}: {', '.join(there) or 'there is none'}. "
            "`memshare agents` lists all."
        )
    require_agent_model(client, [name], f"Agent {name!r}")
    return name


def is_graded_by_programs(client: Client, rubric: str | None, kind: str | None) -> bool:
    """True if a rubric that is known here takes no model to grade pairs of this kind."""
    try:
        return rubric is not None and is_checked(find_rubric(rubric, client.settings.agents_dir), kind)
    except BadInput:  # the agent is of another machine, and its rubric, too
        return False


def is_ever_graded(client: Client, workers: Iterable[Presence]) -> bool:
    """False where scorers have no model, and no agent of these workers has a kind of tasks that programs grade."""
    return {worker.scorer_model for worker in workers} - {None} != {OFFLINE} or any(
        is_graded_by_programs(client, card.rubric, kind)
        for worker in workers
        for card in worker.agents
        for kind in (None, *card.kinds)
    )


def pools_known(client: Client) -> set[str]:
    """The pools that an agent has or a memory is in."""
    return {pool for card in client.agents().values() for pool in card.shared} | set(client.memories.stats().by_pool)


def unread(cards: Iterable[AgentCard], pools: Iterable[str]) -> str:
    """The pools among these that no agent answers from, and what to do, in a sentence; empty where there is none."""
    there = list(cards)
    alone = sorted({pool for pool in pools if not any(card.has(pool) for card in there)})
    theirs = ", ".join(sorted({pool for card in there for pool in card.shared})) or "none yet"
    if not alone:
        return ""
    return (
        f'No agent answers from this pool: {", ".join(map(repr, alone))}. Write pool = "{alone[0]}" into the file of '
        f"an agent (docs/agents.md), or bring the memories into the pool of one: {theirs}."
    )


def require_kind(cards: Mapping[str, AgentCard], agent: str | None, kind: str | None) -> None:
    """Raises `BadInput` where a memory's agent is there, and has no such kind of tasks."""
    if agent is not None and agent in cards and kind != KNOWLEDGE:
        cards[agent].require_kind(kind)


def new_ids(client: Client, ids: Sequence[UUID]) -> set[UUID]:
    """The given ids of memories that the service does not have yet."""
    wanted = list(dict.fromkeys(ids))
    parts = [wanted[start : start + BATCH] for start in range(0, len(wanted), BATCH)]
    there = {one.id for part in parts for one in client.memories.page(Where(ids=part), BATCH).memories}
    return set(wanted) - there


def encoder_in_use(settings: Settings, client: redis.Redis) -> str:
    """The name of the encoder whose vectors the pool has, or will have."""
    return str(client.get(ENCODER) or first_name(settings))


def grader_of(client: Client, memory: Memory, what: str = "A grade") -> tuple[str, str]:
    """The agent and the rubric by which a memory is graded; raises `BadInput` where there is none, or no model.

    `what` begins the sentence that says that a model is missing.
    """
    if memory.is_statement:
        raise BadInput(f"{str(memory.id)!r} is a statement, and only the answer to a task can be graded.")
    cards = sorted(client.agents().values(), key=lambda card: card.name != memory.agent)
    card = next((one for one in cards if one.has(memory.pool) and one.rubric is not None), None)
    if card is None or card.rubric is None:
        raise BadInput(f"No agent with the pool {memory.pool!r} says its rubric, so nothing of it can be graded.")
    if not is_graded_by_programs(client, card.rubric, memory.kind):
        require_scorer_model(client, what)
    return card.name, card.rubric


def grade_again(client: Client, memory: Memory, submitter: str) -> str:
    """Have a memory graded, which the submitter pays for; returns the journey, which is the same until it has ended."""
    agent, rubric = grader_of(client, memory)
    name = _journey_of(memory)
    pair = RegradePair(
        journey=name,
        agent=agent,
        kind=memory.kind,
        pool=memory.pool,
        rubric=rubric,
        prompt=memory.prompt or "",
        answer=memory.answer,
        submitter=submitter,
        memory_id=memory.id,
        known=_found_right(client, memory),
    )
    if not client.send(SCORE.next(pair, name, INTERACTIVE, begins=True)) and not being_graded(client, [memory]):
        name = str(uuid4())  # it was given up before, or graded when it was as it is now
        client.send(SCORE.next(pair.model_copy(update={"journey": name}), name, INTERACTIVE, begins=True))
    return name


def _found_right(client: Client, memory: Memory) -> tuple[str, ...]:
    """Answers that a person found right in place of the memory, or of its sources, or of what says the same and
    contradicts the same, and what those say now that somebody changed, if undisputed: it is graded beside them."""
    judge = client.memories.judge
    judged = judge([memory.id, *(one.memory for one in memory.because if one.became == "found wrong")])
    right = {one for each in judged for one in each.lost_to}
    changed = [one.memory for one in memory.because if one.became == "changed"]
    right |= {one.id for one in undisputed(client.memories, changed)}
    rivals = judge([one for each in judged if each.memory.id == memory.id for one in each.conflicts])
    lost = judge([one for each in rivals for one in each.won_over])
    same = {one.memory.id for one in lost if said(one.memory.answer) == said(memory.answer)}
    right |= {one.memory.id for one in rivals if not same.isdisjoint(one.won_over)}
    there = [one.memory for one in judge(sorted(right)) if not one.lost_to]
    return tuple(one.answer[:LONGEST_TEXT] for one in there if one.status == "active")


def being_graded(client: Client, memories: Iterable[Memory]) -> set[UUID]:
    """The ids of the given memories that wait for a grade."""
    hops = {str(derived_id(_journey_of(one), hop.name)): one.id for one in memories for hop in (SCORE, SETTLE)}
    with reaching(client.settings.redis):
        return {hops[entry.id] for entry in client.ledger.open_of(list(hops))}


def _journey_of(memory: Memory) -> str:
    """Another one as soon as anything of the memory is."""
    return str(derived_id("grade again", memory.model_dump_json()))
