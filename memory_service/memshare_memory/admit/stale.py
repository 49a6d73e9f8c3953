"""Stale memories: what was written from one that changed, went or was found wrong, in the pool and in the trash."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import permutations
from uuid import UUID

import redis

from memshare_memory.admit.followed import follows, says_as_now, says_rather
from memshare_memory.contradictions import Conflicts, Rivals
from memshare_memory.memory import FAILED, Became, Cause, ForgottenMemory, Memory, Two, said
from memshare_memory.people import is_called_wrong
from memshare_memory.recall.recall import Recall
from memshare_memory.stores.store import Store, Where, by_ids, every
from memshare_memory.trash import Trash, Worths, decided

PAGE = 256  # memories whose children are looked for at once


def children_of(store: Store, parents: Collection[UUID]) -> dict[UUID, Memory]:
    """The memories that were shown at least one of these."""
    wanted = sorted(parents)
    parts = [wanted[start : start + PAGE] for start in range(0, len(wanted), PAGE)]
    return {memory.id: memory for part in parts for memory in every(store, Where(parents=part))}


def _rests_on_any(child: Memory, parents: Mapping[UUID, Memory], right: Memory | None, *, is_pair: bool) -> bool:
    """True if it follows one of these; memories of earlier releases name all that they were shown as their parents."""
    some = [parents[one] for one in child.parents if one in parents]
    left = [one for one in some if right is None or not says_rather(child.answer, right, one, child.prompt or "")]
    return any(not is_pair or follows(child.answer, one, child.prompt or "") for one in left)


def _keeps_to(child: Memory, before: Memory, now: Memory) -> bool:
    """True if it was written from the text that a changed memory has now, or says what that says.

    The text of a pair is its answer; what was under way as it changed was written from an earlier one.
    """
    if not before.is_statement and said(before.answer) == said(now.answer):
        return True
    changed = [one.at for one in child.because if (one.memory, one.became) == (now.id, "changed")]
    is_of_now = now.text_at(child.created) == (now.prompt, now.answer)
    if is_of_now and not child.history and all(child.created < at for at in changed):
        return True
    return says_as_now(child, before, now)


def _with_texts(memory: Memory, is_meant: Callable[[Memory], bool]) -> Memory | None:
    """A memory with those alone of its texts, of now and before, that are meant; None without any."""
    texts = [*((was.prompt, was.answer) for was in memory.history), (memory.prompt, memory.answer)]
    each = [
        memory.model_copy(update={"prompt": prompt, "answer": answer, "history": memory.history[:at]})
        for at, (prompt, answer) in enumerate(texts)
    ]
    left = [one for one in each if is_meant(one)]
    says = {one.answer for one in left}
    history = tuple(was for was in memory.history if was.answer in says)
    return left[-1].model_copy(update={"history": history}) if left else None


def _is_alike(copy: ForgottenMemory, memory: Memory, rivals: Collection[UUID]) -> bool:
    """True if a copy in the trash answers the question of a memory or contradicts one of the same `rivals`."""
    return said(copy.memory.prompt or "") == said(memory.prompt or "") or not {*copy.rivals}.isdisjoint(rivals)


class Derived:
    """Memories that were written from others, during one change of these, which nobody else makes meanwhile."""

    def __init__(self, recall: Recall, client: redis.Redis) -> None:
        self._recall = recall
        self._trash = Trash(client)
        self._client = client
        self._worths = Worths(client)
        self.shown_again = list[Memory]()
        """Memories that this let be active again: they are compared with what came meanwhile."""

    @cached_property
    def _trashed(self) -> dict[UUID, Memory]:
        """Memories in the trash."""
        return {item.memory.id: item.memory for item in self._trash.every()}

    def copies_in_trash(self, memory: Memory, rivals: Collection[UUID]) -> list[ForgottenMemory]:
        """Copies of a memory in the trash that answer the same question or contradict one of the same `rivals`."""
        says = memory.pool, said(memory.answer)
        same = [one.id for one in self._trashed.values() if (one.pool, said(one.answer)) == says]
        return [each for each in self._trash.read(same) if _is_alike(each, memory, rivals)]

    def tell_trash(
        self,
        pairs: Iterable[Two],
        copies: Mapping[UUID, Sequence[ForgottenMemory]],
        known: Mapping[UUID, Rivals],
    ) -> None:
        """Let `copies` in the trash of memories be decided as pairs of these are `known` to be by now."""
        told = dict[UUID, ForgottenMemory]()
        for one, rival in (two for pair in pairs for two in permutations(pair)):
            verdict = known.get(one.id, {}).get(rival.id, "contradict")
            for copy in (each for each in copies[one.id] if _is_alike(each, one, {rival.id})):
                told[copy.memory.id] = decided(told.get(copy.memory.id, copy), rival.id, verdict)
        self._trash.put([*told.values()])

    def of(
        self,
        source: Memory,
        became: Became,
        right: Memory | None = None,
        now: Memory | None = None,
        *,
        shown: bool = False,
    ) -> list[Memory]:
        """Memories written from one, directly or through others, without it, as far as what `became` of it concerns
        them.

        A change of a pair concerns what follows its answer, and nothing where it was forgotten. It does not concern
        what was found `right` in its place, what was written from that, and what rather says that, nor what a person
        said contradicts it, nor what keeps to what a changed one says `now`. What was written from a text that one of
        them had before is concerned as it is by that. With `shown`, all that was shown it, as far as is known, whatever
        that says by now.
        """
        is_pair = not source.is_statement
        rivals = Conflicts(self._client).rivals(source.pool, [source.id]).get(source.id, {})
        denying = {name for name, verdict in rivals.items() if verdict != "contradict"}
        fresh = {} if source.is_passage or (is_pair and became == "forgotten") else {source.id: source}
        found, passed = dict[UUID, Memory](), set[UUID]()

        def is_concerned(one: Memory) -> bool:
            is_right = right is not None and said(one.answer) == said(right.answer)
            keeps = is_right or (now is not None and _keeps_to(one, source, now))
            return shown or (not keeps and one.id not in denying and _rests_on_any(one, fresh, right, is_pair=is_pair))

        while fresh:
            gone = {name: one for name, one in self._trashed.items() if not fresh.keys().isdisjoint(one.parents)}
            children = [one for one in (gone | children_of(self._recall.store, fresh)).values() if one.id not in found]
            found |= {one.id: one for one in children if is_concerned(one)}
            texts = [_with_texts(one, is_concerned) for one in children if one.id in found or one.id not in passed]
            fresh = {one.id: one for one in texts if one is not None}
            passed |= fresh.keys()
        return [memory for memory in found.values() if memory.id != source.id]

    def as_it_was(self, memory: Memory) -> Memory:
        """A rewritten memory: with a text that it had before stale where that was, or rests on what is wrong or has
        changed by now."""
        then = [one.until for one in memory.history if (one.prompt, one.answer) == (memory.prompt, memory.answer)]
        if not then:
            return memory
        now, because = time.time(), list(self._worths.with_causes_left(self._recall.store, memory).because)
        gone = {name: self._trashed[name] for name in memory.parents if name in self._trashed}
        for one in (gone | by_ids(self._recall.store, memory.parents)).values():
            of_one, is_pair = {one.id: one}, not one.is_statement
            if not one.is_passage and _rests_on_any(memory, of_one, self._right(one), is_pair=is_pair):
                because += [Cause(memory=one.id, became="found wrong", at=now)] * self.is_wrong(one)
                of_it = one.because if one.status != "active" else ()
                because += [cause for cause in of_it if cause.became in ("found wrong", FAILED)]
                for was in [each for each in one.history if each.until > then[-1]][:1]:
                    before = one.model_copy(update={"prompt": was.prompt, "answer": was.answer, "history": ()})
                    if not _keeps_to(memory, before, one):
                        is_wrong = one.text_at(then[-1]) in self._still_wrong(one)
                        because += [Cause(memory=one.id, became="found wrong", at=then[-1])] * is_wrong
                        because.append(Cause(memory=one.id, became="changed", at=was.until))
        first = {(cause.memory, cause.became): cause for cause in reversed(because)}
        status = "stale" if first and memory.status == "active" else memory.status
        return memory.model_copy(update={"because": tuple(reversed(first.values())), "status": status})

    def stale_once(
        self,
        source: Memory,
        became: Became,
        right: Memory | None = None,
        now: Memory | None = None,
        *,
        is_back: bool = False,
    ) -> list[Memory]:
        """Memories that this change of another makes stale, as they are then; without those that it made stale before.

        A stale memory without a known cause stays stale, whatever is undone. A hidden one will be stale once it is
        shown. Where the change alone `is_back`, what a person kept in spite of it stays so.
        """
        cause = Cause(memory=source.id, became=became, at=time.time())
        found = []
        for one in self.of(source, became, right, now):
            causes = () if one.status == "active" else one.because
            known = one.because if is_back else causes
            is_so_already = any((each.memory, each.became) == (source.id, became) for each in known)
            if not is_so_already and (one.status != "stale" or causes):
                status = "hidden" if one.status == "hidden" else "stale"
                found.append(one.model_copy(update={"status": status, "because": (*causes, cause)}))
        return found

    def make_stale(self, memories: Iterable[Memory]) -> None:
        """Write what `stale_once` found of some memories; what was written from several is stale because of each."""
        merged: dict[UUID, Memory] = {}
        for one in memories:
            causes = (*merged[one.id].because, *one.because) if one.id in merged else one.because
            merged[one.id] = one.model_copy(update={"because": tuple(dict.fromkeys(causes))})
        self._rewrite(list(merged.values()))

    def no_longer_stale(self, some: Iterable[Memory], of: Collection[UUID], became: Became) -> None:
        """Let those of some memories that are stale because this became `of` others, and of nothing else, be active
        again."""
        self._write_again([new for one in some if (new := one.freed(of, became)) is not one])

    def show_again(self, found_right: Iterable[Memory]) -> None:
        """Let what a grade hid that knew a decision be shown again, now that this was taken back."""
        self._write_again([new for one in found_right if (new := one.without_that_grade()) is not one])

    def _write_again(self, changed: Sequence[Memory]) -> int:
        self._rewrite(changed)
        again = [one for one in changed if one.status == "active" and one.id not in self._trashed]
        self.shown_again += again
        return len(again)

    def free(self, source: Memory, became: Became) -> int:
        """Let what was written from a memory be active again, where it is stale because this became of that alone.

        See `Memory.freed`. Returns how many are.
        """
        some, wrong = self.of(source, became, shown=True), self._still_wrong(source) if became == "found wrong" else ()
        return self._write_again(
            [new for one in some if (new := one.freed({source.id}, became, source, wrong)) is not one]
        )

    def _still_wrong(self, source: Memory) -> set[tuple[str | None, str]]:
        """The texts that a memory had before of which a person's word stands that they are wrong."""
        last = {(was.prompt, was.answer): was for was in source.history}
        last.pop((source.prompt, source.answer), None)

        def is_called_so(prompt: str | None, answer: str) -> bool:
            return is_called_wrong(self._client, source.model_copy(update={"prompt": prompt, "answer": answer}))

        return {text for text, was in last.items() if was.lost_to or is_called_so(*text)}

    def follow(self, memories: Iterable[Memory], were_wrong: Collection[UUID], *, is_back: bool = False) -> None:
        """Let what was written from memories be stale where these are found wrong by now, and no more where they were.

        Those that `were_wrong` had been found so before. See `stale_once` for those of which it `is_back`.
        """
        for one in memories:
            is_wrong = self.is_wrong(one)
            if is_wrong and one.id not in were_wrong:
                self.make_stale(self.stale_once(one, "found wrong", self._right(one), is_back=is_back))
            elif one.id in were_wrong and not is_wrong:
                self.free(one, "found wrong")

    def is_wrong(self, memory: Memory) -> bool:
        """True if a memory is found wrong: in the trash where it is called so, or lost to what is there."""
        if by_ids(self._recall.store, [memory.id]):
            return self._worths.is_wrong(memory)
        return is_called_wrong(self._client, memory) or self._right(memory) is not None

    def _right(self, wrong: Memory) -> Memory | None:
        """The memory that was found right in the place of one, if there is one."""
        store = self._recall.store
        for item in () if by_ids(store, [wrong.id]) else self._trash.read([wrong.id]):
            return next(iter(by_ids(store, item.wrong).values()), None)
        return next(iter(self._worths.decided(store, [wrong], "wrong").values()), None)

    def _rewrite(self, memories: Sequence[Memory]) -> None:
        self._recall.rewrite(memories)
        if gone := {one.id: one for one in memories if one.id in self._trashed}:
            there = by_ids(self._recall.store, gone)
            items = [item for item in self._trash.read([*gone]) if item.memory.id not in there]
            self._trash.put([item.model_copy(update={"memory": gone[item.memory.id]}) for item in items])
            self._trashed.update(gone)
