"""Listings of pools, agents, rubrics (which can be approved), workers, queues and waiting messages."""

from __future__ import annotations

import pathlib
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field

from memshare.client.errors import NotFound
from memshare.client.help_replies import StatsReply
from memshare.client.pools import (
    busy_servers,
    failing_models,
    graded_ever,
    model_doubts,
    models_of,
    no_room,
    same_names,
)
from memshare.client.replies import (
    AgentFileReply,
    AgentReply,
    CriterionReply,
    PoolReply,
    QueueReply,
    RubricReply,
    StatusReply,
    WaitingReply,
    WholeAgentReply,
    WorkerReply,
)
from memshare.client.rest.calls.all_calls import Sharing
from memshare.operations.backend import Backend
from memshare.operations.caller import LOCAL_NAME, Caller, audit
from memshare.operations.helps import helps
from memshare.operations.operating import pool_of_letter
from memshare.operations.serving import serves
from memshare_agents.roster import find_agent, usable_cards
from memshare_broker.delivery.ledger import QueueState, queue_states
from memshare_broker.delivery.sweeper import lost
from memshare_broker.errors import BadInput
from memshare_broker.presence import Presence
from memshare_broker.wire.forms import Label
from memshare_broker.wire.messages import Parked
from memshare_llm.limits.concurrency import last_calls
from memshare_memory.belief.lift import pools_counted, tried_in
from memshare_scorer.grading import cannot_grade
from memshare_scorer.rubric import BUNDLED, Rubric, all_rubrics, rubric_files


@serves(Sharing.status)
def status(backend: Backend, caller: Caller) -> StatusReply:
    """The state of the deployment, as far as it is the caller's to know."""
    cards = {name: card for name, card in backend.cards().items() if caller.uses(card)}
    workers = backend.client.workers()
    served = {queue for worker in workers for queue in worker.queues}
    with backend.reaching():
        ledger = backend.client.ledger
        states = queue_states(backend.redis, served)
        seen = {name: state for name, state in states.items() if caller.pools is None or name in cards}
        taken = [name for name, state in seen.items() if state.open > state.waiting + state.parked]
        missed = [one for name in taken for one in lost(backend.redis, name, backend.settings.lost_after)]
        queues = _queues(seen, ledger.parked.all() + missed, workers)
        graded, accepted = graded_ever(backend.redis, cards.keys())
        failed = ledger.failed() if caller.pools is None else {}
        letters = _letters(backend, caller)
        wrong = map(str, usable_cards(backend.settings)[1].values())
        doubts = (*model_doubts(backend.redis, workers), *wrong) if caller.pools is None else ()
        calls = last_calls(backend.redis) if caller.pools is None else {}
        fails = (*failing_models(calls, workers).values(), *no_room(backend.redis), *same_names(workers))
        failing = fails if caller.pools is None else ()
        busy = busy_servers(backend.redis) if caller.pools is None else ()
    return StatusReply(
        agent_models={name: card.model for name, card in sorted(cards.items()) if name in served},
        scorer_models=tuple(sorted({one.scorer_model for one in workers if one.scorer_model})),
        answers_a_minute=sum(state.done_a_minute for name, state in seen.items() if name in cards),
        graded=graded,
        accepted=accepted,
        queues=tuple(queues),
        workers=tuple(_worker(one) for one in workers) if caller.pools is None else (),
        failed_tries=failed,
        doubts=doubts,
        failing=failing,
        busy=busy,
        dead_letters=letters,
    )


_NUMBER = re.compile(r"(?<=\s)\d\S*")  # by which alone what a provider says of the same limit differs


def _queues(
    states: Mapping[str, QueueState], parked: Sequence[Parked], workers: Sequence[Presence]
) -> list[QueueReply]:
    serving = Counter(queue for worker in workers for queue in worker.queues)
    waiting: defaultdict[str, defaultdict[str, list[Parked]]] = defaultdict(lambda: defaultdict(list))
    for one in parked:  # the next one first
        waiting[one.queue][_NUMBER.sub("", one.why)].append(one)
    return [
        QueueReply(
            name=name,
            open=state.open,
            a_minute=state.a_minute,
            oldest=state.oldest,
            workers=serving[name],
            waiting=tuple(
                WaitingReply(why=some[0].why, messages=len(some), until=some[0].until)
                for some in waiting[name].values()
            ),
        )
        for name, state in states.items()
    ]


def _letters(backend: Backend, caller: Caller) -> int:
    """How many dead letters the caller may see."""
    letters = backend.client.dead_letters
    if not caller.may("admin"):
        return 0
    if caller.pools is None:
        return len(letters.ids())
    return sum(caller.sees(pool_of_letter(backend, one)) for one in letters.all())


def _worker(worker: Presence) -> WorkerReply:
    return WorkerReply(name=worker.node, queues=worker.queues, models=tuple(sorted(models_of(worker))))


RubricName = Annotated[str, Field(min_length=1, max_length=200)]
AgentName = Annotated[str, Field(min_length=1, max_length=200)]


@serves(Sharing.pools)
def pools(backend: Backend, caller: Caller) -> list[PoolReply]:
    """The caller's pools, by name."""
    counts = backend.client.memories.stats().by_pool
    cards = backend.cards().values()
    shared = {pool for card in cards for pool in card.shared}
    names = sorted(name for name in counts.keys() | shared if caller.sees(name))
    return [
        PoolReply(
            name=name,
            memories=counts.get(name, 0),
            agents=tuple(sorted(card.name for card in cards if card.has(name))),
        )
        for name in names
    ]


@serves(Sharing.agents)
def agents(backend: Backend, caller: Caller) -> list[AgentReply]:
    """The agents whose pools the caller sees, by name."""
    serving = Counter(queue for worker in backend.client.workers() for queue in worker.queues)
    return [
        AgentReply(**card.model_dump(include=set(AgentReply.model_fields)), workers=serving[name])
        for name, card in sorted(backend.cards().items())
        if caller.uses(card)
    ]


@serves(Sharing.agent)
def agent(backend: Backend, caller: Caller, name: AgentName) -> WholeAgentReply:
    """An agent with its file; raises `NotFound`, and `BadInput` for a file that cannot be used."""
    backend.agent(caller, name)
    [card] = [one for one in agents(backend, caller) if one.name == name]
    return WholeAgentReply(**card.model_dump(), file=_file(backend, name))


def _file(backend: Backend, name: str) -> AgentFileReply | None:
    found = find_agent(name, backend.settings.agents_dir)
    if found is None:
        return None
    fields = found.model_dump(include=set(AgentFileReply.model_fields))
    limits = {name: bound for name, bound in found.limits if bound is not None} if found.engine else {}
    return AgentFileReply(**fields | {"limits": limits})


@serves(Sharing.rubrics)
def rubrics(backend: Backend, caller: Caller) -> list[RubricReply]:
    """The rubrics by which the answers of these agents are graded, by name; for who sees all pools, every rubric."""
    seen = {card.rubric for card in backend.cards().values() if caller.uses(card)}
    found = all_rubrics(backend.settings.agents_dir)
    with backend.reaching():
        doubts = cannot_grade(backend.redis)
    return [_rubric(one, doubts) for name, one in sorted(found.items()) if caller.pools is None or name in seen]


@serves(Sharing.rubric)
def rubric(backend: Backend, caller: Caller, name: RubricName) -> RubricReply:
    """A rubric by its name; raises `NotFound`."""
    for one in rubrics(backend, caller):
        if one.name == name:
            return one
    raise NotFound(f"No rubric is called {name!r}.")


@serves(Sharing.approve_rubric, "ApprovalForm", decides=True)
def approve_rubric(
    backend: Backend,
    caller: Caller,
    name: RubricName,
    version: Annotated[str, Field(min_length=1, max_length=200)],
    by: Label | None = None,
) -> RubricReply:
    """Write into the file of a rubric who approves it; raises `BadInput` for a bundled one, or for another version."""
    from memshare_scorer.rubric_file import approve  # reads what models drafted

    file = _own_rubric(backend, caller, name)
    by = by if caller.name == LOCAL_NAME else caller.name
    if by is None:
        raise BadInput("Say who approves the rubric with 'by': there is no token whose name it could be.")
    approved = approve(file, by, version)
    audit(caller, "approve", rubric=name, version=approved.version)
    return _rubric(approved)


@serves(Sharing.withdraw_rubric)
def withdraw_rubric(backend: Backend, caller: Caller, name: RubricName) -> RubricReply:
    """Take the approval out of the file of a rubric; raises `BadInput` for a bundled one."""
    from memshare_scorer.rubric_file import withdraw

    withdrawn = withdraw(_own_rubric(backend, caller, name))
    audit(caller, "withdraw", rubric=name, version=withdrawn.version)
    return _rubric(withdrawn)


def _own_rubric(backend: Backend, caller: Caller, name: str) -> pathlib.Path:
    """The file of a rubric in the folder of agents, for whoever may decide on it."""
    caller.require("admin")
    rubric(backend, caller, name)
    if not is_bundled(backend, name):
        return rubric_files(backend.settings.agents_dir)[name]
    raise BadInput(
        f"The rubric {name!r} is bundled, and approved as it is. To change that, put {name}.rubric.toml into the "
        "folder MEMSHARE_AGENTS_DIR."
    )


def is_bundled(backend: Backend, name: str) -> bool:
    """True if a rubric came with the package."""
    return rubric_files(backend.settings.agents_dir)[name].parent == BUNDLED


@serves(Sharing.stats)
def stats(backend: Backend, caller: Caller) -> StatsReply:
    """How many memories the caller's pools have; who sees all pools is told what is open in every queue, too."""
    counts = backend.client.memories.stats().by_pool
    by_pool = {name: count for name, count in sorted(counts.items()) if caller.sees(name)}
    with backend.reaching():
        numbers = {name: tuple(found) for name, found in tried_in(backend.redis, by_pool).items()}
        waiting = backend.client.ledger.open_messages()
        tried_pools = {name for name in pools_counted(backend.redis) if caller.sees(name)}
    own = {card.name for card in backend.cards().values() if caller.uses(card)}
    seen = {queue: count for queue, count in waiting.items() if caller.pools is None or queue in own}
    total, helped = sum(by_pool.values()), helps(backend, caller, {*by_pool, *tried_pools})
    unfair = {
        (one.model, kind)
        for one in helped
        if not one.is_fair and one.way == "all withheld"
        for kind in (one.kind, None)
    }
    for name, found in numbers.items():
        numbers[name] = tuple(one.model_copy(update={"is_fair": (one.model, one.kind) not in unfair}) for one in found)
    reply = StatsReply(memories=total, by_pool=by_pool, helps=helped, numbers=numbers, open=seen)
    return reply.model_copy(update={"too_early": reply.when_told})


def _rubric(rubric: Rubric, doubts: Sequence[tuple[str, str]] = ()) -> RubricReply:
    criteria = tuple(
        CriterionReply(name=one.name, points=one.points, kinds=one.kinds or None, description=one.graded_by)
        for one in rubric.criteria
    )
    return RubricReply(
        name=rubric.name, domain=rubric.domain, version=rubric.version, approved=rubric.approved,
        threshold=rubric.threshold, criteria=criteria,
        doubts=tuple(why for name, why in doubts if name == rubric.name),
    )  # fmt: skip
