"""Memories are checked again: programs grade stored answers once more, without a model, and what fails is hidden."""

from __future__ import annotations

import functools
import hashlib
import logging
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Literal
from uuid import UUID

import redis

from memshare_broker.app import SCORER_QUEUE
from memshare_broker.connection import connect
from memshare_broker.errors import BadInput, GiveUp
from memshare_broker.observe.logs import ids
from memshare_broker.presence import AgentCard, present
from memshare_broker.settings import Settings
from memshare_broker.wire.grades import CriterionScore
from memshare_broker.wire.messages import Message
from memshare_broker.wire.spaces import owner_of
from memshare_memory.admit.seeds import seeds_mean
from memshare_memory.curate.requests import Edit
from memshare_memory.door.client import MemoryClient
from memshare_memory.memory import Memory
from memshare_memory.stores.store import Where
from memshare_scorer.grading import Range, accepted, scale, total
from memshare_scorer.programs import share
from memshare_scorer.rubric import Rubric, find_rubric, threshold_for

RECHECKS = "memshare:rechecks"  # hash: pool → the JSON of its last `Recheck`
BUSY = f"{RECHECKS}:busy:"  # of a pool: there while no scorer is to begin
WEEK = 7 * 86_400.0  # seconds
PAUSE = 600  # seconds from one to the next that begins by itself, also where scorers have different files
Rubrics = Mapping[str, Rubric | None]  # of a pool's agents, by agent; None: it is not here, or nobody has approved it
Hide = Literal["none", "few", "all"]  # of what fails; few: nothing where it is more than half of what was checked
log = logging.getLogger(__name__)


class Recheck(Message):
    """Result of checking a pool again: `why` nothing was hidden, and how many pairs no check knows (`unknown`)."""

    pool: str
    at: float
    watched: str
    checked: int = 0
    unknown: int = 0
    failed: tuple[UUID, ...] = ()
    hidden: tuple[UUID, ...] = ()
    why: str | None = None


def rubrics_of(
    cards: Iterable[AgentCard], agents_dir: Path | None, there: Callable[[], Iterable[str]] = tuple
) -> dict[str, Rubrics]:
    """Pools of which an agent has an approved rubric with a check, each with the rubrics of its agents.

    People's own are those among the pools that are `there`, which is asked where such an agent has a check.
    """
    known: list[tuple[AgentCard, Rubric | None]] = []
    for card in sorted(cards, key=lambda one: one.name):
        rubric = None
        with suppress(BadInput):
            rubric = find_rubric(card.rubric or "", agents_dir)
        known.append((card, rubric if rubric and rubric.approved else None))
    is_asked = any(_has_check(rubric) and len(card.shared) < len(card.pools) for card, rubric in known)
    own = [pool for pool in there() if owner_of(pool)] if is_asked else []
    found: defaultdict[str, dict[str, Rubric | None]] = defaultdict(dict)
    for card, rubric in known:
        for pool in (*card.shared, *filter(card.has, own)):
            found[pool][card.name] = rubric
    return {pool: of for pool, of in found.items() if any(map(_has_check, of.values()))}


def _has_check(rubric: Rubric | None) -> bool:
    return rubric is not None and any(one.check for one in rubric.criteria)


def recheck(
    memories: MemoryClient, client: redis.Redis, where: Where, rubrics: Rubrics, by: str, hide: Hide = "few"
) -> Recheck:
    """Run the checks on pairs of one pool again, and hide those that fail, with the reason.

    A pair fails whose score is below the threshold, and lower than the one it has: raising a threshold hides nothing,
    and neither does what a person has let be shown again. Nothing is hidden where a check breaks.
    """
    pool, failed, why = where.pool or "", dict[UUID, Edit](), None
    done = Recheck(pool=pool, at=time.time(), watched=watched(rubrics))
    counts, first = Counter[str](), next(filter(None, rubrics.values()))
    for memory in memories.every(where):
        client.expire(f"{BUSY}{pool}", PAUSE)
        rubric = None if memory.is_statement else rubrics.get(memory.agent or "", first)
        try:
            scores = _checked_again(rubric, memory) if rubric else None
        except GiveUp as error:
            why = f"A check broke at the memory {memory.id}, so nothing was hidden: {error.__cause__}"
            break
        counts["unknown" if scores is None else "checked"] += not memory.is_statement
        if rubric is None or scores is None:
            continue
        score, least = total(scores), threshold_for(rubric, pool, functools.partial(seeds_mean, client))
        if not accepted(score, least) and (memory.score is None or score < memory.score):
            reason = f"checked again by the rubric {rubric.name!r}, it earns {score:.1f} where {least:.1f} are needed"
            change = {"status": "hidden", "score": score, "criteria": scores, "why_hidden": reason}
            failed[memory.id] = Edit(id=memory.id, by=by, only_if=memory).model_copy(update=change)
    if why is None and hide != "all" and 2 * len(failed) > counts["checked"]:
        many = f"{len(failed):,} of {counts['checked']:,} memories fail, which is more than half"
        why = f"{many}: the check may be broken, so nothing was hidden. `memshare memories recheck --force` does."
    hidden = []
    for edit in () if why or hide == "none" else failed.values():
        with suppress(BadInput):  # it has changed meanwhile, or is gone
            hidden.append(memories.edit(edit).id)
    done = done.model_copy(update={**counts, "failed": (*failed,), "hidden": (*hidden,), "why": why})
    if hide != "none":
        about = ids(caller=by, action="recheck", pool=pool, hidden=" ".join(map(str, hidden)), why=why)
        logging.getLogger("memshare.audit").info("Done by %s: recheck.", by, extra=about)
        if where.agent is None:
            client.hset(RECHECKS, pool, done.model_dump_json())
    return done


def _checked_again(rubric: Rubric, memory: Memory) -> dict[str, CriterionScore] | None:
    """Scores by the checks, and as a model gave them before; None where there is no check, or one is not known."""
    criteria = rubric.for_kind(memory.kind)
    judged = {one.name for one in criteria if one.check is None}
    known = memory.criteria if memory.rubric_version == rubric.version else {}
    if len(judged) == len(criteria) or not judged <= known.keys():
        return None
    ranges = {}
    for one in criteria:
        if one.check is not None:
            earned = share(rubric, one, memory.prompt or "", memory.answer, again=True)
            if earned is None:
                return None
            ranges[one.name] = Range(earned * one.points, earned * one.points)
    return {name: known[name] for name in judged} | scale(criteria, ranges)


def watched(rubrics: Rubrics) -> str:
    """A digest of a pool's checks and of the files beside its rubrics: modules, words of commands, options' values."""
    found = hashlib.sha256()
    for rubric in filter(None, rubrics.values()):
        found.update(rubric.version.encode())
        for one in rubric.criteria:
            check = [one.check.partition(":")[0].replace(".", "/") + ".py"] if isinstance(one.check, str) else one.check
            for name in (*(check or ()), *(one.options or {}).values()):
                with suppress(OSError):  # it is the name of no file
                    file = rubric.folder / str(name)
                    found.update(_digest(file, file.stat().st_mtime_ns))
    return found.hexdigest()


@functools.lru_cache(maxsize=256)
def _digest(file: Path, _mtime_ns: int) -> bytes:
    return hashlib.sha256(file.read_bytes()).digest()


def _pools(settings: Settings) -> Iterable[str]:
    with closing(MemoryClient(settings)) as memories:
        return memories.stats().by_pool


def pulse(settings: Settings, queues: Sequence[str]) -> None:
    """Check those pools again for which it is time, a new one in a week at most; called every few seconds."""
    if SCORER_QUEUE not in queues:
        return
    with closing(connect(settings.redis)) as client:
        cards = {card.name: card for worker in present(client) for card in worker.agents}
        for pool, rubrics in rubrics_of(cards.values(), settings.agents_dir, lambda: _pools(settings)).items():
            now = Recheck(pool=pool, at=time.time(), watched=watched(rubrics))
            client.hsetnx(RECHECKS, pool, now.model_dump_json())
            last = Recheck.model_validate_json(str(client.hget(RECHECKS, pool)))
            is_due = last.watched != now.watched or now.at - last.at >= WEEK
            if is_due and client.set(f"{BUSY}{pool}", "", nx=True, ex=PAUSE):
                with closing(MemoryClient(settings)) as memories:
                    done = recheck(memories, client, Where(pool=pool, status="active"), rubrics, "recheck")
                log.info("Checked %d memories again, %d failed.", done.checked, len(done.failed), extra=ids(pool=pool))
