"""The trash: forgotten memories, kept in Redis for 30 days, so that a person's slip can be undone."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

import redis

from memshare_broker.delivery.journey_records import pack, unpack
from memshare_memory.belief.bandit import ARMS, GivenCredit
from memshare_memory.belief.credibility_ranking import CredibilityRanking
from memshare_memory.belief.lift import drop_lift
from memshare_memory.belief.promotions import Promotions, note_used
from memshare_memory.contradictions import AT_ONCE, CLAIMS, CONFIRMED, Conflicts
from memshare_memory.memory import FAILED, Cause, CreditSnapshot, ForgottenMemory, Memory, Two, Verdict, sayings
from memshare_memory.people import called_wrong, drop_cards, drop_summaries
from memshare_memory.stores.store import Store, Where, by_ids

_COPIES = 256  # memories that say the same, of which it is looked what people decided
_SAID: tuple[Verdict, ...] = ("confirmed", "right", "wrong", "dismissed")  # by a person


class Worths:
    """Worth of the memories of all pools, in one Redis."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        self._ranking = CredibilityRanking(client)
        self._given = GivenCredit(client)

    def of(self, memories: Iterable[Memory]) -> dict[UUID, CreditSnapshot]:
        found: dict[UUID, CreditSnapshot] = {}
        for pool, some in by_pool(memories):
            ids = [memory.id for memory in some]
            arms = self._ranking.arms.ask(self._client, pool, ids)
            rivals = self._ranking.conflicts.rivals(pool, ids, dismissed=True)
            given = self._given.of(pool, ids)
            for one, arm in zip(ids, arms, strict=True):
                of = rivals.get(one, {})
                by_word = {what: tuple(rival for rival, said in of.items() if said == what) for what in _SAID}
                found[one] = CreditSnapshot(arm=arm, given=given.get(one, {}), rivals=tuple(of), **by_word)
        return found

    def put_back(self, store: Store, memory: Memory, worth: CreditSnapshot) -> list[Memory]:
        """Give a memory what it had been worth, and link it with those of its rivals that are there.

        What people decided of its copies, while it was away, is so of it, too, and what they decided of it of copies
        that came meanwhile: these are returned.
        """
        if worth.arm is not None and self._client.hsetnx(ARMS + memory.pool, str(memory.id), worth.arm):
            self._given.put_back(memory.pool, memory.id, worth.given)
        conflicts, where = self._ranking.conflicts, Where(pool=memory.pool, saying=sayings(memory.answer))
        copies = [one for one in store.page(where, _COPIES).memories if one.id != memory.id]
        known, alike = conflicts.rivals(memory.pool, [one.id for one in copies], dismissed=True), list[Memory]()
        for rival in (there := by_ids(store, worth.rivals)):
            verdict: Verdict = next((said for said in _SAID if rival in getattr(worth, said)), "contradict")
            if verdict != "wrong" and isinstance(worth, ForgottenMemory) and there[rival].has_changed(worth.forgotten):
                continue
            conflicts.judge(memory.pool, memory.id, rival, verdict)
            for copy in copies if verdict != "contradict" else ():
                if known.get(copy.id, {}).get(rival) == "contradict":
                    conflicts.judge(memory.pool, copy.id, rival, verdict)
                    alike.append(copy)
        conflicts.decide_alike(memory, copies, known)
        decide_as_copies(store, self._client, memory, there.values())
        return alike

    def decided_then(self, store: Store, back: ForgottenMemory) -> list[Memory]:
        """Rivals of a memory that comes back which say something else by now, with what people decided of them then."""
        seen: dict[Verdict, tuple[UUID, ...]] = {
            "wrong": back.right,
            "confirmed": back.confirmed,
            "dismissed": back.dismissed,
        }
        rivals = [(each, what) for what, ids in seen.items() for each in by_ids(store, ids).values()]
        at = back.forgotten
        return [each.decided_at(at, back.memory.id, what) for each, what in rivals if each.has_changed(at)]

    def decided(self, store: Store, memories: Iterable[Memory], what: Verdict) -> dict[UUID, Memory]:
        """The memories that are there of which people said that one of these is `what` beside them."""
        of_pools = [(pool, [one.id for one in some]) for pool, some in by_pool(memories)]
        each = [of for pool, ids in of_pools for of in self._ranking.conflicts.rivals(pool, ids).values()]
        return by_ids(store, {rival for of in each for rival, said in of.items() if said == what})

    def is_wrong(self, memory: Memory) -> bool:
        """True if a person found it wrong, or it is hidden as its answer was called wrong."""
        is_called_so = memory.status == "hidden" and called_wrong(self._client, memory) is not None
        return is_called_so or bool(self._ranking.conflicts.wrong(memory.pool, [memory.id]))

    def with_causes_left(self, store: Store, memory: Memory) -> Memory:
        """A memory without those causes that hold no more: its source is there again, has its text again, or is no
        longer found wrong.

        Where the source says something else by now, they hold.
        """
        there = by_ids(store, [cause.memory for cause in memory.because])

        def holds(cause: Cause) -> bool:
            source = there.get(cause.memory)
            if source is None or cause.became == "changed" or any(one.until > cause.at for one in source.history):
                return True
            is_failed = cause.became == FAILED and source.why_hidden is not None
            return is_failed or (cause.became == "found wrong" and self.is_wrong(source))

        left = memory.stale_by(tuple(filter(holds, memory.because)))
        for source in there.values():
            left = left.freed({source.id}, "changed", source)
        return left

    def confirmed(self, right: Memory, one: Memory, other: Memory, outdone: Iterable[Two] = ()) -> Memory:
        """A memory, confirmed now that a person found it right of two; notes when it had been before, and the pairs of
        which the first one had been right, and is so no more."""
        at, names = time.time(), [str(each.id) for two in outdone for each in two]
        known = " ".join((str(right.id), repr(at), repr(right.confirmed or 0), *names))
        self._client.hset(CLAIMS + right.pool, _confirmed(one, other), known)
        note_used(self._client, right.pool, [right.id], at, well=True)
        return right.model_copy(update={"confirmed": at})

    def outdone(self, store: Store, pairs: Sequence[Two], asked: Two) -> list[Two]:
        """The pairs that `confirmed` noted of some, but for those `asked` about, as far as they say what they said then
        and no person said anything of them since.

        It counts neither what a model said of them since, nor that they were decided as copies of `pairs`.
        """
        pool, among, found = pairs[0][0].pool, {frozenset((one.id, other.id)) for one, other in pairs}, list[Two]()
        texts = self._client.hmget(CLAIMS + pool, [_confirmed(*two) for two in pairs])
        for _, at, _, *names in (str(text).split() for text in filter(None, texts)):
            ids = [UUID(name) for name in names]
            left = {name: one for name, one in by_ids(store, ids).items() if one.says_as_at(float(at))}
            rivals = self._ranking.conflicts.rivals(pool, [*left], dismissed=True)
            for one, other in zip(ids[::2], ids[1::2], strict=True):
                two, verdict = frozenset((one, other)), rivals.get(one, {}).get(other, "contradict")
                is_free = verdict == "contradict" or (verdict == "wrong" and two in among)
                if is_free and left.keys() >= two and two != {each.id for each in asked}:
                    found.append((left[one], left[other]))
        return found

    def no_longer_confirmed(self, store: Store, pairs: Iterable[tuple[Memory, Memory]]) -> list[Memory]:
        """Memories of some pairs as they were before a decision confirmed them, unless something has since.

        The decision is forgotten.
        """
        changed = list[Memory]()
        for one, other in pairs:
            key, field = CLAIMS + one.pool, _confirmed(one, other)
            if (text := self._client.hget(key, field)) is not None:
                name, at, before, *_ = str(text).split()
                self._client.hdel(key, field)
                found = [was for was in by_ids(store, [UUID(name)]).values() if was.confirmed == float(at)]
                changed += [was.model_copy(update={"confirmed": float(before) or None}) for was in found]
        return changed

    def drop(self, memories: Iterable[Memory]) -> None:
        """Remove credit, conflicts and lift of these memories, as they no longer apply; the lift does not come back."""
        for pool, some in by_pool(memories):
            ids = [memory.id for memory in some]
            self._ranking.arms.drop(pool, ids)
            self._ranking.conflicts.drop(pool, ids)
            drop_lift(self._client, pool, ids)
            note_used(self._client, pool, ids, 0, well=True)
            Promotions(self._client).drop(ids)


def decide_as_copies(store: Store, client: redis.Redis, memory: Memory, others: Iterable[Memory]) -> None:
    """Note of a memory and others that contradict it what people decided of one of the two and copies of the other."""
    conflicts = Conflicts(client)
    rivals = conflicts.rivals(memory.pool, [memory.id]).get(memory.id, {})
    for other in (each for each in others if rivals.get(each.id) == "contradict"):
        for copied, against in ((memory, other), (other, memory)):
            copies = store.page(Where(pool=copied.pool, saying=sayings(copied.answer)), AT_ONCE).memories
            for of in conflicts.rivals(copied.pool, [copy.id for copy in copies]).values():
                if (verdict := of.get(against.id, "contradict")) != "contradict":
                    conflicts.judge(copied.pool, copied.id, against.id, verdict)


def _confirmed(one: Memory, other: Memory) -> str:
    """The field in `CLAIMS` with the one of two that a decision confirmed, when, and when before that (0: never)."""
    return " ".join(sorted((str(one.id), str(other.id)))) + CONFIRMED


def by_pool(memories: Iterable[Memory]) -> list[tuple[str, list[Memory]]]:
    """Memories by their pool, in the order of the pools' names."""
    pools: defaultdict[str, list[Memory]] = defaultdict(list)
    for memory in memories:
        pools[memory.pool].append(memory)
    return sorted(pools.items())


KEEP_DAYS = 30
KEEP_SECONDS = KEEP_DAYS * 86_400

INDEX = "memshare:trash"
"""Sorted set: id of a forgotten memory → when it goes for good. Redis itself lets each go at that time."""
_ITEM = "memshare:trash:memory:"
_AT_ONCE = 500


class Trash:
    """The trash of one Redis.

    First into the trash, then out of the pool: a run that is killed between the two has lost nothing.
    """

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        self._worths = Worths(client)

    def take(self, memories: Collection[Memory], made_stale: Mapping[UUID, Sequence[Memory]]) -> None:
        """Keep memories as they are, each with what becomes stale as it goes."""
        now, worths = time.time(), self._worths.of(memories)
        self.put(
            [
                ForgottenMemory(
                    memory=memory,
                    forgotten=now,
                    until=now + KEEP_SECONDS,
                    made_stale=tuple(child.id for child in made_stale.get(memory.id, ())),
                    is_called_wrong=memory.status == "hidden" and called_wrong(self._client, memory) is not None,
                    **dict(worths[memory.id]),
                )
                for memory in memories
            ]
        )

    def as_known(self, store: Store, item: ForgottenMemory) -> ForgottenMemory:
        """An item without those causes that hold no more."""
        return item.model_copy(update={"memory": self._worths.with_causes_left(store, item.memory)})

    def remove(self, store: Store, memories: Collection[Memory], unreadable: Iterable[UUID] = ()) -> None:
        """Remove memories from the pool, with what they were worth and what was made of them."""
        ids = [*(memory.id for memory in memories), *unreadable]
        store.delete(ids)
        self._worths.drop(memories)
        drop_cards(self._client, ids)
        drop_summaries(self._client, ids, "read")

    def tell_rivals(self, back: ForgottenMemory) -> None:
        """Let what still lies in the trash know what people decided of it and of a memory that is back."""
        told = []
        for one in self.read(back.rivals):
            if back.memory.id not in one.rivals:
                changes = {"rivals": (*one.rivals, back.memory.id)}
                for own, its in zip(_SAID, ("confirmed", "wrong", "right", "dismissed"), strict=True):
                    if one.memory.id in getattr(back, own):
                        changes[its] = (*getattr(one, its), back.memory.id)
                told.append(one.model_copy(update=changes))
        self.put(told)

    def lost_to(self, ids: Collection[UUID]) -> dict[UUID, Memory]:
        """The memories in the trash in whose place a person found one of these right."""
        return {one.memory.id: one.memory for one in self.every() if not {*one.wrong}.isdisjoint(ids)}

    def put(self, items: Sequence[ForgottenMemory]) -> None:
        """Keep memories; one that is there already is kept as it is now."""
        for start in range(0, len(items), _AT_ONCE):
            with self._client.pipeline() as change:
                change.zremrangebyscore(INDEX, 0, time.time())
                for item in items[start : start + _AT_ONCE]:
                    change.set(f"{_ITEM}{item.memory.id}", pack(item.model_dump_json()), exat=int(item.until))
                    change.zadd(INDEX, {str(item.memory.id): item.until})
                change.execute()

    def ids(self, prefix: str = "") -> list[UUID]:
        """The forgotten memories whose id begins with a prefix, the last one forgotten first."""
        found = map(str, self._client.zrevrangebyscore(INDEX, "+inf", time.time()))
        return [UUID(one) for one in found if one.startswith(prefix)]

    def read(self, ids: Sequence[UUID]) -> Iterator[ForgottenMemory]:
        """Forgotten memories by their ids, in their order; those that the trash does not have are left out."""
        for start in range(0, len(ids), _AT_ONCE):
            yield from read_items(ask_items(self._client, ids[start : start + _AT_ONCE]))

    def every(self) -> Iterator[ForgottenMemory]:
        """All forgotten memories, the last one forgotten first."""
        return self.read(self.ids())

    def drop(self, ids: Iterable[UUID]) -> None:
        """Let memories go for good."""
        names = [str(one) for one in ids]
        for start in range(0, len(names), _AT_ONCE):
            some = names[start : start + _AT_ONCE]
            with self._client.pipeline() as change:
                change.delete(*(f"{_ITEM}{one}" for one in some))
                change.zrem(INDEX, *some)
                change.execute()


def decided(item: ForgottenMemory, rival: UUID, verdict: Verdict) -> ForgottenMemory:
    """A memory in the trash with what people say by now of it and of a rival."""
    if rival not in item.rivals and verdict not in _SAID:
        return item
    left = {what: tuple({*getattr(item, what)} - {rival}) for what in ("rivals", *_SAID)}
    left["rivals"] += (rival,)
    return item.model_copy(update=left | ({verdict: (*left[verdict], rival)} if verdict in left else {}))


def ask_items(client: redis.Redis, ids: Iterable[UUID]) -> Any:
    """Ask for forgotten memories, in a pipeline too; `read_items` reads the reply."""
    return client.execute_command("MGET", *(f"{_ITEM}{one}" for one in ids), NEVER_DECODE=True)  # type: ignore[no-untyped-call]


def read_items(reply: Iterable[bytes | None]) -> Iterator[ForgottenMemory]:
    """Forgotten memories of a reply, without those that the trash does not have."""
    return (ForgottenMemory.model_validate(unpack(text)) for text in reply if text is not None)
