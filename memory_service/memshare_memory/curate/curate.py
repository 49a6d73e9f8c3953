"""Actions of people on a pool: look, add, edit, bring in and take out."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from functools import partial
from uuid import UUID

import redis

from memshare_broker.errors import BadInput
from memshare_broker.settings import PROMPT_LIMIT
from memshare_broker.wire.forms import refuse_too_long
from memshare_memory.admit.after import Lessons, after_return
from memshare_memory.admit.asked_concepts import extraction, needing
from memshare_memory.admit.seeds import note_seeds
from memshare_memory.admit.stale import Derived
from memshare_memory.belief.bandit import BANDIT, Bandit
from memshare_memory.belief.credibility_ranking import CredibilityRanking
from memshare_memory.belief.promotions import note_used
from memshare_memory.contradictions import MemoryConflict, Rivals, Send, comparisons
from memshare_memory.curate.requests import ConflictDecision, Edit, EditedMemory, NewMemory
from memshare_memory.memory import FAILED, Credibility, Memory, Revision, Two, Verdict, joined, memory_id, said, sayings
from memshare_memory.people import called_wrong, no_longer_wrong, refuse_wrong, wrong_answers
from memshare_memory.pool.pool import Pool
from memshare_memory.stores.store import Store, Where, by_ids
from memshare_memory.trash import Worths, by_pool

OVER = "the time until which it was valid is over"
BATCH = 256  # memories that are encoded in one call and written in one operation


def write(pool: Pool, client: redis.Redis, memories: Sequence[Memory], *, keep_existing: bool = False) -> list[Memory]:
    """Write memories, each in place of one with the same id; with `keep_existing` those stay as they are.

    One that comes without concepts keeps those that the pool has of the same text.
    Returns those that say something which the pool did not have under their ids, or did not show.
    """
    parts = [memories[start : start + BATCH] for start in range(0, len(memories), BATCH)]
    return [one for part in parts for one in _write(pool, client, part, keep_existing=keep_existing)]


def _write(pool: Pool, client: redis.Redis, batch: Sequence[Memory], *, keep_existing: bool) -> list[Memory]:
    """The texts are encoded before the gate, which alone a closed gate keeps waiting."""
    recall = pool()
    known = by_ids(recall.store, [one.id for one in batch])
    wanted = [
        _with_concepts(memory, known.get(memory.id)) for memory in batch if not (keep_existing and memory.id in known)
    ]
    if wanted:
        vectors = recall.vectors(wanted)
        with pool.writing() as current:
            if current.encoder_name != recall.encoder_name:
                vectors = current.vectors(wanted)
            current.store.put(list(zip(wanted, vectors, strict=True)))
    replaced = [known[memory.id] for memory in wanted if memory.id in known]
    # Those that stood there already may be of an import that was killed before it noted them.
    note_seeds(client, recall.store, there={**known, **{one.id: one for one in wanted}}.values(), gone=replaced)
    was = {one.id: (one.prompt, one.answer, one.status == "active") for one in known.values()}
    return [
        one
        for one in wanted
        if was.get(one.id) not in ((one.prompt, one.answer, True), (one.prompt, one.answer, one.status == "active"))
    ]


def _with_concepts(memory: Memory, known: Memory | None) -> Memory:
    if memory.concepts or known is None or (known.prompt, known.answer) != (memory.prompt, memory.answer):
        return memory
    return memory.model_copy(update={"concepts": known.concepts})


class Curate:
    """The pool as people see it."""

    def __init__(
        self,
        pool: Pool,
        client: redis.Redis,
        send: Send = lambda _: None,
        lessons: Lessons | None = None,
        *,
        concepts: bool = False,
        text_limit: int = PROMPT_LIMIT,
        bandit: Bandit = BANDIT,
    ) -> None:
        """With `send`, what is brought in or changed is compared with what it may contradict.

        With `lessons`, the retriever learns from it. With `concepts` as well, its concepts are asked for. No text that
        somebody brings in or changes is longer than `text_limit` characters.
        """
        self._text_limit = text_limit
        self._send = send
        self._lessons = lessons
        self._concepts = concepts
        self._pool = pool
        self._client = client
        self._ranking = CredibilityRanking(client, bandit)
        self._worths = Worths(client)

    def get(self, memory: UUID) -> Memory:
        """A memory by its id; raises `BadInput` for an unknown id."""
        return _get(self._pool().store, memory)

    def add(self, new: Sequence[NewMemory]) -> list[UUID]:
        """Bring memories in; the same again is the same memory, and keeps its history.

        Raises `WrongAgain` for an answer that was called wrong.
        """
        for one in new:
            refuse_too_long(self._text_limit, prompt=one.prompt, answer=one.answer)
        embed = partial(self._pool().vector, None)
        refuse_wrong(self._client, [(one.answer, one.pool, one.prompt) for one in new], embed)
        memories = [
            Memory(
                id=memory_id(one.pool, one.prompt, one.answer),
                created=time.time(),
                **one.model_dump(exclude={"new_pool"}),
            )
            for one in new
        ]
        self._follow(write(self._pool, self._client, memories, keep_existing=True))
        return [memory.id for memory in memories]

    def restore(self, memories: Sequence[Memory]) -> list[UUID]:
        """Write memories as they are, such as exported ones, however long they are.

        One that the pool has, and that has become stale since, stays so.
        """
        known = by_ids(self._pool().store, [one.id for one in memories])
        memories = [one.as_stale_as(known.get(one.id)) for one in memories]
        self._follow(write(self._pool, self._client, memories))
        return [memory.id for memory in memories]

    def edit(self, edit: Edit) -> EditedMemory:
        """Change a memory in its place: it keeps its id and its history, and has to prove itself anew.

        With another text it has no score, no model and nobody who spoke for it: they were of the text before. What was
        written from a statement before, or follows the answer of a pair, is stale then, until it has that text again.
        One that is hidden as its answer was called wrong is shown once it says something else, and hidden again with
        that answer; another is not changed to say that (`WrongAgain`). What was hidden and is shown again is not
        confirmed, and stale where it was before, or has become so since. What was written from it is stale once it is
        hidden as it was called wrong, until it is shown again, or an edit without changes says that it was not wrong.
        Copies that were hidden with it are shown again with it.
        """
        refuse_too_long(self._text_limit, prompt=edit.prompt, answer=edit.answer)
        changes = {name: value for name, value in edit if name not in ("id", "by", "only_if") and value is not None}
        again, copies = 0, list[UUID]()
        with self._pool.writing(alone_in=_get(self._pool().store, edit.id).pool) as recall:
            derived = Derived(recall, self._client)
            before = _get(recall.store, edit.id)
            if edit.only_if is not None and before.edited != edit.only_if.edited:
                raise BadInput(f"The memory {str(edit.id)!r} has changed since it was read; nothing was changed now.")
            changed = before.model_copy(update=changes)
            rewritten = (changed.prompt, changed.answer) != (before.prompt, before.answer)
            if rewritten:
                known = self._ranking.conflicts.rivals(before.pool, [before.id], dismissed=True)
                decided = known.get(before.id, {})
                changed = changed.begun_anew(before, edit.by, time.time(), decided)
                if edit.status is None:
                    changed = derived.as_it_was(self._shown_if_right(before, changed))
                words = wrong_answers(self._client, changed.answer)
                is_its = edit.status == "active" and any(one.memory == edit.id for one in words)  # shown again with it
                if changed.status != "hidden" and not is_its:
                    given, so = (changed.answer, changed.pool, changed.prompt), "the memory was not changed to say it"
                    refuse_wrong(self._client, [given], partial(recall.vector, None), so)
            if edit.status == "active":
                now = time.time()  # a time that is over bounds it no more
                until = changed.valid_until if (changed.valid_until or 0) > now else None
                changed = changed.model_copy(update={"why_hidden": None, "valid_until": until})
                if before.status != "hidden":  # a person speaks for it
                    changed = changed.model_copy(update={"confirmed": now})
                    note_used(self._client, changed.pool, [changed.id], now, well=True)
                elif changed.because:  # of what it was before it was hidden, or became since
                    changed = changed.model_copy(update={"status": "stale"})
                copies = no_longer_wrong(self._client, changed.answer, changed.id)
            elif edit.status == "hidden" and before.status == "active":
                changed = changed.model_copy(update={"because": ()})
            recall.store.put([(changed, recall.vectors([changed])[0])], in_place=True)
            if rewritten:
                self._worths.drop([changed])
                self._keep_decided(derived, recall.store, before, changed, decided)
                self._ranking.note(recall.store, [changed.id])
                derived.make_stale(derived.stale_once(_as_then(before), "changed", now=changed))
                again = derived.free(changed, "changed")
            if edit.why_hidden is not None:
                derived.make_stale(derived.stale_once(before, FAILED))
            elif before.why_hidden is not None and changed.why_hidden is None:
                derived.free(before, FAILED)
            if edit.status == "hidden" and called_wrong(self._client, changed):
                derived.make_stale(derived.stale_once(before, "found wrong"))
            elif (edit.status == "active" or not changes) and not self._worths.is_wrong(changed):
                derived.free(changed, "found wrong")
        if rewritten or edit.score is not None:
            note_seeds(self._client, self._pool().store, there=[changed], gone=[before])
        if rewritten:
            self._follow([changed])
        self._compare_again([*derived.shown_again, *([] if rewritten or before.status == "active" else [changed])])
        for one in by_ids(self._pool().store, copies).values():
            if not called_wrong(self._client, one):
                is_for_that = one.status == "hidden" and one.why_hidden is None
                self.edit(Edit(id=one.id, by=edit.by, status="active" if is_for_that else None))
        return EditedMemory(**dict(changed), active_again=again)

    def _keep_decided(self, derived: Derived, store: Store, before: Memory, changed: Memory, decided: Rivals) -> None:
        """Let what lost to a memory be wrong still, now that this has another text, unless it says the same by now; and
        where it says again what it said before, let that be `decided` as it was then, unless it was taken back."""
        says, conflicts = said(changed.answer), self._ranking.conflicts
        was = next((one for one in reversed(changed.history) if said(one.answer) == says), None)
        then: Rivals = {**dict.fromkeys(was.lost_to, "wrong"), **was.decided} if was else {}
        others = by_ids(store, decided.keys() | then.keys())
        were_wrong = {one.id for one in others.values() if decided.get(one.id) == "right" or derived.is_wrong(one)}
        copies = store.page(Where(pool=changed.pool, saying=sayings(changed.answer)), BATCH).memories
        known = conflicts.rivals(changed.pool, [one.id for one in copies], dismissed=True)
        taken_back = conflicts.taken_back(changed.pool, known)
        for one in (each for each in others.values() if said(each.answer) != says):
            verdict = None if one.id in taken_back else then.get(one.id)
            if decided.get(one.id) == "right":
                conflicts.judge(changed.pool, changed.id, one.id, "right")
            elif was and verdict and _holds(verdict, one, was, before):
                conflicts.judge(changed.pool, changed.id, one.id, verdict)
        conflicts.decide_alike(changed, copies, known)
        is_back = any((one.prompt, one.answer) == (changed.prompt, changed.answer) for one in changed.history)
        if (was and was.lost_to) or (is_back and not conflicts.wrong(changed.pool, [changed.id])):
            were_wrong.add(changed.id)
        derived.follow([changed, *others.values()], were_wrong)

    def _shown_if_right(self, before: Memory, changed: Memory) -> Memory:
        """A rewritten memory, shown if it was hidden as its answer was called wrong, hidden if it says that again."""
        was, now = (called_wrong(self._client, one) is not None for one in (before, changed))
        if was == now or before.why_hidden is not None or (was and before.status != "hidden"):
            return changed
        return changed.model_copy(update={"status": "hidden" if now else "active"})

    def _follow(self, new: Sequence[Memory]) -> None:
        """Send what follows from memories that were written and say something new."""
        store = self._pool().store
        self._send(comparisons(store, self._client, new))
        if self._lessons:
            self._send([*self._lessons.of_brought(self._pool(), new)])
        if self._concepts:
            self._send([extraction(memory) for memory in needing(store, new)])

    def drop_damaged(self, ids: Sequence[UUID]) -> list[UUID]:
        """Remove what cannot be read; returns what was removed, which leaves out every memory that can be read."""
        with self._pool.writing() as recall:
            readable = by_ids(recall.store, ids)
            gone = [one for one in dict.fromkeys(ids) if one not in readable]
            recall.store.delete(gone)
        return gone

    def judge(self, ids: Sequence[UUID]) -> list[tuple[Memory, Credibility, Rivals]]:
        """Memories with their credibility, their rivals, and what is right beside them; unknown ids are left out.

        What lost to another memory contradicts none that nobody decided on.
        """
        found = []
        for pool, memories in by_pool(by_ids(self._pool().store, ids).values()):
            conflicts = self._ranking.conflicts
            rivals = conflicts.rivals(pool, [memory.id for memory in memories], dismissed=True)
            beaten = conflicts.wrong(pool, [*rivals, *(rival for of in rivals.values() for rival in of)])
            for memory, how in zip(memories, self._ranking.credibilities(pool, memories), strict=True):
                of = rivals.get(memory.id, {}).items()
                left = {
                    rival: said for rival, said in of if said != "contradict" or beaten.isdisjoint((memory.id, rival))
                }
                found.append((memory, how, left))
        return found

    def decide(self, decision: ConflictDecision) -> None:
        """Note what a person says of two memories of one pool, and so of what contradicts in the same words.

        What was written from a memory is stale once that was found wrong, and no more once this was taken back. So long
        it wins over nothing of the other side. Raises `BadInput` for what are none of one pool.
        """
        one, other = (_get(self._pool().store, memory) for memory in decision.memories)
        if one.pool != other.pool or one.id == other.id:
            raise BadInput("Give two memories of one pool: no others can contradict each other.")
        conflicts = self._ranking.conflicts
        with self._pool.writing(alone_in=one.pool) as recall:
            derived, right = Derived(recall, self._client), decision.right
            pairs = self._alike(recall.store, one, other, dismissed=decision.undecided)
            carried = [pair for pair in pairs if decision.undecided and _is_carried(*pair)]
            again = self._worths.outdone(recall.store, pairs, (one, other))
            won = pairs if right == one.id else [(second, first) for first, second in pairs]
            outdone = self._outdone(derived, won, again) if right else []
            every = {each.id: each for pair in (*pairs, *again, *outdone) for each in pair}
            copies = {name: derived.copies_in_trash(each, every) for name, each in every.items()}
            told = {copy.memory.id: copy.memory for some in copies.values() for copy in some} | every
            were_wrong = {each.id for each in told.values() if derived.is_wrong(each)}
            recall.rewrite(self._worths.no_longer_confirmed(recall.store, pairs))
            if right is not None:
                recall.rewrite([self._worths.confirmed(_get(recall.store, right), one, other, outdone)])
            for first, second in again:
                conflicts.judge(one.pool, first.id, second.id, "right")
            if not decision.undecided:
                verdict: Verdict = "confirmed" if decision.contradict else "dismissed"
                for first, second in won if right else pairs:
                    conflicts.judge(one.pool, first.id, second.id, "right" if right else verdict)
            elif True not in [
                conflicts.take_back(one.pool, a.id, b.id, have_changed=(a, b) in carried)
                for a, b in pairs
                if (a, b) not in again and (b, a) not in again
            ]:
                raise BadInput("Nobody has decided on these two memories, so there is nothing to take back.")
            for first, second in outdone:
                conflicts.take_back(one.pool, first.id, second.id)
            known = conflicts.rivals(one.pool, [*every], dismissed=True)
            derived.tell_trash([*pairs, *again, *outdone], copies, known)
            derived.follow(told.values(), were_wrong)
            right_again = [name for name in every if name in were_wrong and not derived.is_wrong(every[name])]
            derived.show_again(by_ids(recall.store, right_again).values())
        changed = {each.id: each for pair in carried for each in pair}
        self._compare_again([*derived.shown_again, *changed.values()])

    def _compare_again(self, shown_again: Sequence[Memory]) -> None:
        self._send(after_return(self._pool().store, self._client, shown_again))

    def _outdone(self, derived: Derived, won: Sequence[Two], again: Collection[Two]) -> list[Two]:
        """Pairs of which a person found the first right, or does `again` without this decision, and which it turns
        round: the first lost now or was written from what did, the other one won or was written from that."""
        losers = {loser.id: (winner, loser) for winner, loser in won}.values()
        of_losers = {each.id: each for winner, loser in losers for each in derived.of(loser, "found wrong", winner)}
        of_losers |= {loser.id: loser for _, loser in losers}
        rivals = self._ranking.conflicts.rivals(won[0][0].pool, [*of_losers])
        right = {(name, other) for name, of in rivals.items() for other, verdict in of.items() if verdict == "right"}
        right |= {(first.id, second.id) for first, second in again if first.id in of_losers}
        if not (right := right - {(loser.id, winner.id) for winner, loser in won}):
            return []
        of_winners = {winner.id: winner for winner, _ in won}
        for winner in [*of_winners.values()]:
            of_winners |= {each.id: each for each in derived.of(winner, "found wrong", shown=True)}
        return [(of_losers[name], of_winners[other]) for name, other in right if other in of_winners]

    def _alike(self, store: Store, one: Memory, other: Memory, *, dismissed: bool) -> list[Two]:
        """These two, and others of the same contradiction, as far as is known, or which answer the same questions.

        Where `dismissed`, also those of which a person said that both are right, and those that had said the same.
        """
        if said(one.answer) == said(other.answer):
            return [(one, other)]
        both = [sayings(each.answer) for each in (one, other)]
        these, those = ([*store.page(Where(pool=one.pool, saying=each), BATCH).memories] for each in both)
        rivals = self._ranking.conflicts.rivals(one.pool, [each.id for each in (*these, *those)], dismissed=dismissed)
        left = {rival for of in rivals.values() for rival, verdict in of.items() if verdict != "dismissed"}
        for each in by_ids(store, left).values() if dismissed else ():
            before = {said(was.answer) for was in each.history if was.decided}
            for like, some in ((one, these), (other, those)):
                some += [each] * (said(like.answer) in before and each not in some)
        asked = {each.id: said(each.prompt or "") for each in (one, other, *these, *those)}
        alike = [
            (each, of)
            for each in these
            for of in those
            if of.id in rivals.get(each.id, ())
            or each.id in rivals.get(of.id, ())
            or (asked[each.id], asked[of.id]) == (asked[one.id], asked[other.id])
        ]
        pairs = [(one, other), *(pair for pair in alike if pair != (one, other))]
        return next(some for some in joined(pairs) if (one, other) in some)

    def conflicts(self, pool: str) -> list[MemoryConflict]:
        return self._ranking.conflicts.pairs(pool)


def hide_expired(pool: Pool) -> None:
    """Hide the memories whose time is over, `BATCH` at a time."""
    now = time.time()
    for name in {one.pool for one in pool().store.page(Where(status="active", valid_to=now), BATCH).memories}:
        with pool.writing(alone_in=name) as recall:
            some = recall.store.page(Where(name, status="active", valid_to=now), BATCH).memories
            recall.rewrite([one.model_copy(update={"status": "hidden", "why_hidden": OVER}) for one in some])


def _is_carried(one: Memory, other: Memory) -> bool:
    """True if a person's word on two memories was said of an earlier text of one of them, and not of that of now."""
    by = [({said(was.answer) for was in a.history if b.id in was.decided}, a) for a, b in ((one, other), (other, one))]
    return any(texts and said(a.answer) not in texts for texts, a in by)


def _holds(verdict: Verdict, one: Memory, was: Revision, before: Memory) -> bool:
    """True if a verdict on a memory that says again what it `was`, beside another one, is so again.

    That one won, or it says what it said then, and where it lost, what the memory said just `before`.
    """
    is_as_before = verdict != "right" or said(one.answer) == said(before.answer)
    return verdict == "wrong" or (one.says_as_at(was.until) and is_as_before)


def _as_then(memory: Memory) -> Memory:
    """A memory without what it said before."""
    return memory.model_copy(update={"history": ()})


def _get(store: Store, memory: UUID) -> Memory:
    found = by_ids(store, [memory]).get(memory)
    if found is None:
        raise BadInput(f"No memory has the id {str(memory)!r}. `memshare memories list` shows them.")
    return found
