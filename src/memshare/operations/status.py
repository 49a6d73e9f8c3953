"""What goes on now: models, workers, queues with what waits and why, and how much is accepted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from memshare.client.models_at_work import model_doubts
from memshare.client.replies import QueueReply, StatusReply, WaitingReply, WorkerReply
from memshare.client.rest.calls.sharing import Sharing
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller
from memshare.operations.dead_letters import pool_of_letter
from memshare.operations.serving import serves
from memshare_broker.delivery.entry import Parked
from memshare_broker.delivery.keys import PACE, open_key, since_key
from memshare_broker.observe.metrics import METRICS, read_field
from memshare_broker.presence import Presence


@serves(Sharing.status)
def status(backend: Backend, caller: Caller) -> StatusReply:
    """The state of the deployment, as far as it is the caller's to know."""
    cards = {name: card for name, card in backend.cards().items() if caller.sees(card.pool)}
    workers = backend.client.workers()
    served = {queue for worker in workers for queue in worker.queues}
    with backend.reaching():
        ledger = backend.client.ledger
        names = sorted({*ledger.open_messages(), *served})
        seen = [name for name in names if caller.pools is None or name in cards]
        queues = _queues(backend, seen, ledger.parked.all(), workers)
        graded, accepted = _graded(backend, set(cards))
        failed = ledger.failed() if caller.pools is None else {}
        letters = _letters(backend, caller)
        doubts = model_doubts(backend.redis) if caller.pools is None else ()
    return StatusReply(
        agent_models={name: card.model for name, card in sorted(cards.items()) if name in served},
        scorer_models=tuple(sorted({one.scorer_model for one in workers if one.scorer_model})),
        answers_a_minute=sum(one.a_minute for one in queues if one.name in cards),
        graded=graded,
        accepted=accepted,
        queues=tuple(queues),
        workers=tuple(_worker(one) for one in workers) if caller.pools is None else (),
        failed_tries=failed,
        doubts=doubts,
        dead_letters=letters,
    )


def _queues(
    backend: Backend, names: Sequence[str], parked: Sequence[Parked], workers: Sequence[Presence]
) -> list[QueueReply]:
    serving = Counter(queue for worker in workers for queue in worker.queues)
    waiting: defaultdict[str, defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for one in parked:
        waiting[one.queue][one.why].append(one.until)
    seconds, microseconds = backend.redis.time()
    now = seconds + microseconds / 1e6
    with backend.redis.pipeline(transaction=False) as ask:
        for name in names:
            ask.zcard(open_key(name))
            ask.get(f"{PACE}{name}:{int(now // 60) - 1}")
            ask.zrange(since_key(name), 0, 0, withscores=True)
        replies = iter(ask.execute())
    return [
        QueueReply(
            name=name,
            open=number,
            a_minute=int(ended or 0),
            oldest=max(now - first[0][1], 0.0) if first else 0.0,
            workers=serving[name],
            waiting=tuple(
                WaitingReply(why=why, messages=len(until), until=min(until)) for why, until in waiting[name].items()
            ),
        )
        for name, number, ended, first in zip(names, replies, replies, replies, strict=True)
    ]


def _graded(backend: Backend, agents: set[str]) -> tuple[int, int]:
    """How many answers of these agents were graded, ever, and how many of them were accepted."""
    graded = accepted = 0
    for field, text in backend.redis.hgetall(METRICS).items():
        name, labels = read_field(str(field))
        if name == "memshare_graded_total" and labels["agent"] in agents:
            graded += int(float(text))
            accepted += int(float(text)) if labels["accepted"] == "true" else 0
    return graded, accepted


def _letters(backend: Backend, caller: Caller) -> int:
    """How many dead letters the caller may see."""
    letters = backend.client.dead_letters
    if not caller.may("admin"):
        return 0
    if caller.pools is None:
        return len(letters.ids())
    return sum(caller.sees(pool_of_letter(backend, one)) for one in letters.all())


def _worker(worker: Presence) -> WorkerReply:
    models = {card.model for card in worker.agents} | {worker.scorer_model}
    return WorkerReply(name=worker.node, queues=worker.queues, models=tuple(sorted(one for one in models if one)))
