"""Pairs that become memories as the answers of ordinary tasks do: settled, credited, compared and learnt from.

Their grades are known, so nobody is asked for them again. The messages are those that a scorer sends; who runs an
experiment has the secret of its deployment, and so may sign them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import zip_longest

from memshare.client.client import BULK, Client
from memshare.evaluation.queues import Pair, Settled
from memshare_broker.delivery.entry import Entry
from memshare_broker.delivery.hops import SETTLE
from memshare_broker.errors import MemshareError
from memshare_broker.wire.grades import GradedTask, Score
from memshare_broker.wire.messages import AnsweredTask, Usage, derived_id
from memshare_memory.memory import folded

FULL = 100.0  # of a standard answer that nobody graded


def settle(client: Client, step: str, pairs: Sequence[Settled], wait: Callable[[], None]) -> None:
    """Settle pairs, in each pool one after the other: each one's lesson counts for the next.

    `wait` returns once nothing is open any more. What was settled in a run before is not settled again. Raises
    `MemshareError` where one was given up: an experiment on the others would be another one.
    """
    by_pool: defaultdict[str, list[Entry]] = defaultdict(list)
    for one in pairs:
        by_pool[one.pool].append(entry_of(step, one))
    for row in zip_longest(*by_pool.values()):
        entries = [entry for entry in row if entry is not None]
        known = client.kept([entry.journey for entry in entries])
        open_ones = [entry for entry in entries if not (entry.journey in known and known[entry.journey].ended)]
        for entry in open_ones:
            client.send(entry, keep=True)
        wait()  # also where all were settled before: the run may have ended in the middle of their lessons
        dead = [one.error for one in client.kept([entry.journey for entry in entries]).values() if one.dead]
        if dead:
            raise MemshareError(
                f"{len(dead)} of {len(pairs)} pairs could not be remembered, such as: {dead[0]} "
                "Mend that and run the same command: it tries these again."
            )


def entry_of(step: str, settled: Settled) -> Entry:
    """The message that settles a pair, the same each time."""
    pool, agent, rubric, pair = settled
    journey = str(derived_id("evaluate", "settle", step, pool, pair.item.id, folded(pair.answer)))
    task = AnsweredTask(
        journey=journey,
        agent=agent,
        kind=pair.item.kind,
        pool=pool,
        rubric=rubric,
        prompt=pair.item.prompt or "",
        answer=pair.answer,
        model=pair.grade and pair.by,
        submitter=pair.by,
        shown=pair.shown,
    )
    body = GradedTask(task=task, score=pair.grade or _grade_of(pair, rubric))
    return SETTLE.entry(body, journey, BULK)


def _grade_of(pair: Pair, rubric: str) -> Score:
    """Of a pair that the experiment puts into the pool, whatever it is worth."""
    total = FULL if pair.score is None else pair.score
    return Score(
        total=total,
        threshold=0,
        accepted=True,
        criteria={},
        rubric=rubric,
        rubric_version="",
        model="",
        usage=Usage(),
    )
