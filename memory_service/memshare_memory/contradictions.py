"""Contradictions: memories of one pool that cannot both be true, and which memories a new one is compared with.

They were judged by a model or a person, and are linked in Redis.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple
from uuid import UUID

import redis
from pydantic import StringConstraints

from memshare_broker.delivery.hops import COMPARE, NextMessage
from memshare_broker.presence import is_invented
from memshare_broker.scripts import Script
from memshare_broker.wire.lessons import LONGEST_TEXT, MOST, Compared, CompareTask, Said
from memshare_broker.wire.messages import Message, derived_id
from memshare_memory.memory import UNTRIED, Memory, Verdict, said
from memshare_memory.stores.store import Hit, Query, Store, Where

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LINK_CONFLICT = Script(__file__, "link_conflict")
DROP_CONFLICT = Script(__file__, "drop_conflict")
LINKS, CLAIMS = "memshare:conflicts:", "memshare:claims:"
"""Of a pool, two hashes: memory → the others with a mark before each; two that contradict each other → their claims."""
CONFIRMED, OPEN = " confirmed", " taken back"
"""Ends of fields beside those: the one of two that a decision confirmed, with what that outdid, and its end."""

RULE = """\
`contradicts` is true only if one says of a thing in the world what the other denies: another day, number, name, \
place, cause, order or result for the very same thing. It is false where they are about different things or times, \
where one only says more, and where they differ in form, length, style, tone, language, opinion or invention: a poem \
or a telegram does not contradict a letter about the same subject, one good plan does not contradict another, and what \
is made up denies nothing."""
Claims = Annotated[str, StringConstraints(strip_whitespace=True, max_length=2_000)]
"""The claims of two texts about the same thing, in a sentence."""

TOLD_APART = 0.2  # of p, by which credibility tells two memories apart …
CREDITED = 3  # … of which the less credible one was credited so often or more: one wrong verdict decides nothing

SAME_QUESTION = 0.9  # cosine of two prompts, from which two answers are compared …
NEAR_CURATED = 0.8  # … and from which one is with what a person brought in


def same_question(other: Memory) -> float:
    """The cosine of prompts from which on a memory is compared with another one."""
    return NEAR_CURATED if other.task_id is None else SAME_QUESTION


class Strength(NamedTuple):
    """Strength in a conflict that no person decided.

    The proven wins, then the more credible, then a person's, then the older. Grades weigh no pairs: of a statement and
    a pair that was never weighed credibility counts only where it is clear.
    """

    p: float
    age: float
    credits: int = 0
    proven: bool = True
    is_statement: bool = True
    is_a_persons: bool = False

    @classmethod
    def of(cls, memory: Memory, p: float, times: int, *, proven: bool = True) -> Strength:
        return cls(p, -memory.created, times, proven, memory.is_statement, memory.is_a_persons)

    def beats(self, other: Strength) -> bool:
        pairs = [each.p for each in (self, other) if not each.is_statement]
        by_p = pairs != [UNTRIED] or self.has_settled(other) or other.has_settled(self)

        def place(of: Strength) -> tuple[bool, float, bool, float, float]:
            p = round(of.p, 9)
            return of.proven, p if by_p else UNTRIED, of.is_a_persons, min(p, UNTRIED), of.age

        return place(self) > place(other)

    def has_settled(self, other: Strength) -> bool:
        """True if credits alone show that the other memory is the worse: not of one that none was ever weighed for."""
        return self.p - other.p >= TOLD_APART and other.credits >= CREDITED and other.p != UNTRIED


class Weaker(NamedTuple):
    """A memory that a rival beats: the rivals that do, and whether it is left out for it."""

    behind: set[UUID]
    is_left_out: bool


def weaker(rivals: Mapping[UUID, Rivals], strength: Mapping[UUID, Strength]) -> dict[UUID, Weaker]:
    """Memories that a rival beats. `strength` covers all memories that could be shown; others are no rivals.

    A person's word on which of two is right counts more than their strength, and also where the right one is hidden by
    now. A memory is left out where a person has confirmed the conflict, or where credibility has told the two apart.
    """
    found: dict[UUID, Weaker] = {}
    for memory, of in rivals.items():
        own = strength.get(memory)
        if own is None:
            continue
        better = {
            rival
            for rival, said in of.items()
            if said == "wrong" or (rival in strength and said != "right" and strength[rival].beats(own))
        }
        if better:
            is_left_out = any(of[rival] != "contradict" or strength[rival].has_settled(own) for rival in better)
            found[memory] = Weaker(better, is_left_out)
    return found


def with_proven_rivals(hits: Sequence[Hit], rivals: Mapping[UUID, Rivals], brought_in: set[UUID]) -> set[UUID]:
    """The unproven ones of some hits that a proven memory contradicts, unless a person said that they are right.

    It is among them, or among those that people have `brought_in`, wherever it stands: a lie about another thing may
    be found where the truth about that is not.
    """
    proven = brought_in.union(hit.memory.id for hit in hits if hit.proven)
    return {
        hit.memory.id
        for hit in hits
        if not hit.proven
        and any(rival in proven and said != "right" for rival, said in rivals.get(hit.memory.id, {}).items())
    }


def is_uncompared(hit: Hit, proven: Hit, similarity: float) -> bool:
    """True if nobody has said yet whether an unproven memory contradicts a proven memory on the same question.

    Nobody ever says it of what is longer than is compared.
    """
    if hit.judged is None or similarity < same_question(proven.memory):
        return False
    same = said(hit.memory.answer) == said(proven.memory.answer)
    is_long = max(len(hit.memory.prompt or ""), len(hit.memory.answer)) > LONGEST_TEXT
    return not same and (is_long or proven.memory.id not in hit.judged)


def behind_rivals(ranked: Sequence[Hit], beaten: Mapping[UUID, Weaker]) -> list[Hit]:
    """The hits, best first, with each one behind those that beat it; one whose rival was not found comes last."""
    left, ordered = list(ranked), list[Hit]()
    there: set[UUID] = set()

    def may_come(hit: Hit) -> bool:
        return hit.memory.id not in beaten or beaten[hit.memory.id].behind <= there

    while (place := next((at for at, hit in enumerate(left) if may_come(hit)), None)) is not None:
        ordered.append(left.pop(place))
        there.add(ordered[-1].memory.id)
    return [*ordered, *left]


_MARKS: dict[str, Verdict] = {
    "-": "agree",
    "+": "contradict",
    "=": "dismissed",
    "!": "confirmed",
    ">": "right",
    "<": "wrong",
}
_MARK_OF = {verdict: mark for mark, verdict in _MARKS.items()}
_SEEN_FROM_THE_OTHER: dict[Verdict, Verdict] = {"right": "wrong", "wrong": "right"}

_OF_RIVALS = {_MARK_OF[verdict] for verdict in ("contradict", "confirmed", "right", "wrong")}
BOTH_RIGHT = {_MARK_OF["dismissed"]}

Rivals = dict[UUID, Verdict]
"""The memories that contradict one, each with what is known of it and them."""


class MemoryConflict(Message):
    """Two memories that contradict each other, and what they claim, where a model said it.

    `confirmed` says whether a person has said so, and `right` which of the two is right, where they said that.
    """

    memories: tuple[UUID, UUID]
    claims: str | None = None
    confirmed: bool = False
    right: UUID | None = None


class Conflicts:
    """The links of all pools, in one Redis."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client

    def judge(self, pool: str, memory: UUID, other: UUID, verdict: Verdict, claims: str | None = None) -> None:
        """Note what is known of `one` and `other`; the last word counts, but a model's does not undo a person's."""
        if memory != other:
            if claims:
                self._client.hset(CLAIMS + pool, _both(memory, other), claims)
            marks = [_MARK_OF[verdict], _MARK_OF[_SEEN_FROM_THE_OTHER.get(verdict, verdict)]]
            self._link(pool, memory, other, marks)
            if verdict not in ("agree", "contradict"):
                self._client.hdel(CLAIMS + pool, _both(memory, other) + OPEN)

    def take_back(self, pool: str, memory: UUID, other: UUID, *, have_changed: bool = False) -> bool:
        """Let two memories contradict each other as a model says it, in place of a person's word; False without one.

        Those that `have_changed` since it was said are as if nobody had compared them.
        """
        mark = "" if have_changed else _MARK_OF["contradict"]
        if was_decided := self._link(pool, memory, other, [mark] * 2, takes_back=True):
            self._client.hset(CLAIMS + pool, _both(memory, other) + OPEN, "")
        return was_decided

    def taken_back(self, pool: str, known: Mapping[UUID, Rivals]) -> set[UUID]:
        """Rivals of memories, as they are `known`, of which a person took back what they had said."""
        rivals = [(memory, each) for memory, of in known.items() for each, said in of.items() if said == "contradict"]
        texts = self._client.hmget(CLAIMS + pool, [_both(*two) + OPEN for two in rivals]) if rivals else []
        return {rival for (_, rival), text in zip(rivals, texts, strict=True) if text is not None}

    def _link(self, pool: str, memory: UUID, other: UUID, marks: list[str], *, takes_back: bool = False) -> bool:
        links, both = LINKS + pool, [str(memory), str(other)]
        return bool(LINK_CONFLICT(self._client, links=links, memories=both, marks=marks, takes_back=takes_back))

    def decide_alike(self, memory: Memory, copies: Sequence[Memory], known: Mapping[UUID, Rivals]) -> set[UUID]:
        """Note of a new memory what people decided on its copies that answer the same question.

        Returns what they found right in the place of any of the copies, whose rivals are `known`, also those dismissed.
        """
        asked, right = said(memory.prompt or ""), set[UUID]()
        for copy in copies:
            of = known.get(copy.id, {})
            right |= {rival for rival, verdict in of.items() if verdict == "wrong"}
            for rival, verdict in of.items() if said(copy.prompt or "") == asked else ():
                if verdict != "contradict":
                    self.judge(memory.pool, memory.id, rival, verdict)
        return right

    def note(self, pool: str, compared: Compared, others: Iterable[UUID]) -> None:
        for other in others:
            claims = compared.contradicted.get(other)
            self.judge(pool, compared.memory_id, other, "agree" if claims is None else "contradict", claims)

    def judged(self, pool: str, memory: UUID) -> set[UUID]:
        """The memories with which one was compared already."""
        [text] = self.ask(self._client, pool, [memory])
        return {UUID(word[1:]) for word in (text or "").split()}

    def rivals(self, pool: str, memories: Sequence[UUID], *, dismissed: bool = False) -> dict[UUID, Rivals]:
        """Rivals of the memories that have any; where `dismissed`, also what a person found right beside them."""
        marks = _OF_RIVALS | BOTH_RIGHT if dismissed else _OF_RIVALS
        return read_rivals(memories, self.ask(self._client, pool, memories), marks) if memories else {}

    def wrong(self, pool: str, memories: Sequence[UUID]) -> set[UUID]:
        """Memories among these that a person found wrong, because another memory is right."""
        return {memory for memory, rivals in self.rivals(pool, memories).items() if "wrong" in rivals.values()}

    def ask(self, client: redis.Redis, pool: str, memories: Sequence[UUID]) -> Any:
        """Ask for the rivals of some memories, in a pipeline too; `read_rivals` reads the reply."""
        return client.hmget(LINKS + pool, [str(memory) for memory in memories])

    def pairs(self, pool: str) -> list[MemoryConflict]:
        """Every two memories of a pool that contradict each other."""
        links = {UUID(str(memory)): str(text) for memory, text in self._client.hgetall(LINKS + pool).items()}
        rivals = read_rivals(list(links), links.values())
        found = {
            (min(memory, rival, key=str), max(memory, rival, key=str)) for memory, of in rivals.items() for rival in of
        }
        claims = self._client.hgetall(CLAIMS + pool) if found else {}
        said = {(memory, other): rivals[memory].get(other, "contradict") for memory, other in found}
        return [
            MemoryConflict(
                memories=(memory, other),
                claims=claims.get(_both(memory, other)),
                confirmed=said[memory, other] != "contradict",
                right={"right": memory, "wrong": other}.get(said[memory, other]),
            )
            for memory, other in sorted(found, key=str)
        ]

    def drop(self, pool: str, memories: Iterable[UUID]) -> None:
        """Take out memories that are no more, or say something else by now; what a person ended or outdid is kept."""
        if names := [str(memory) for memory in memories]:
            DROP_CONFLICT(self._client, links=LINKS + pool, memories=names)
            fields = [str(both) for both in self._client.hkeys(CLAIMS + pool) if not {*names}.isdisjoint(both.split())]
            each = zip(fields, self._client.hmget(CLAIMS + pool, fields) if fields else (), strict=True)
            gone = [both for both, text in each if not both.endswith((CONFIRMED, OPEN)) or len(str(text).split()) == 3]
            if gone:
                self._client.hdel(CLAIMS + pool, *gone)


def read_rivals(
    memories: Sequence[UUID], texts: Iterable[str | None], marks: Collection[str] = _OF_RIVALS
) -> dict[UUID, Rivals]:
    """Rivals of the memories that have any, or those with other `marks`, read from their texts in Redis."""
    found: dict[UUID, Rivals] = {}
    for memory, text in zip(memories, texts, strict=True):
        # Most were compared with many, and contradict none: only the ids of those are read.
        words = [word for word in (text or "").split() if word[0] in marks]
        if words:
            found[memory] = {UUID(word[1:]): _MARKS[word[0]] for word in words}
    return found


def _both(memory: UUID, other: UUID) -> str:
    return " ".join(sorted((str(memory), str(other))))


AT_ONCE = 32  # memories, whose neighbours are searched for in one batch

Send = Callable[[Sequence[NextMessage]], None]
"""Sends messages, each of a journey that it names, to their queues."""


def comparisons(store: Store, client: redis.Redis, memories: Sequence[Memory], again: str = "") -> list[NextMessage]:
    """The messages that ask for comparisons of memories, written or shown `again` just now; each two once."""
    asked: defaultdict[UUID, set[UUID]] = defaultdict(set)
    messages = []
    for memory, near in _with_near(store, [memory for memory in memories if memory.status == "active"]):
        others = rivals_among(near, client, memory, asked[memory.id])
        for other in others:
            asked[other.id].add(memory.id)
        if others:
            # A text that is back has to be compared again, so how often it was changed counts, too.
            told = (f"{m.id} {m.created} {len(m.history)} {m.key} {m.answer}" for m in (memory, *others))
            journey = str(derived_id("compare", again, *told))
            messages.append(comparison(journey, memory, others)._replace(journey=journey))
    return messages


def _with_near(store: Store, memories: Sequence[Memory]) -> Iterator[tuple[Memory, list[Hit]]]:
    """Memories, each with those near to it; a few at once, for whoever recalls waits for a search that runs."""
    for start in range(0, len(memories), AT_ONCE):
        vectors = store.dense_of([memory.id for memory in memories[start : start + AT_ONCE]])
        there = [memory for memory in memories[start : start + AT_ONCE] if memory.id in vectors]  # not forgotten since
        yield from zip(there, near_each(store, [(memory, vectors[memory.id]) for memory in there]), strict=True)


SAME_THING = 0.65  # cosine from which on a statement is compared: what contradicts it often has other words
LOOKED_AT = 12  # memories, the nearest ones


def rivals_of(store: Store, client: redis.Redis, memory: Memory, vector: NDArray[np.float32]) -> list[Memory]:
    """The memories that may contradict one: those that answer the same question or are about the same thing.

    At most `MOST`, the nearest ones; none that says the same or that was compared with it already, and none at all
    where the memory is made up.
    """
    return rivals_among(near_each(store, [(memory, vector)])[0], client, memory)


def near_each(store: Store, memories: Sequence[tuple[Memory, NDArray[np.float32]]]) -> list[list[Hit]]:
    """Hits that are near enough to each memory to contradict it; its vector stands beside the memory."""
    wheres = [(Where(pool=memory.pool, status="active"), vector) for memory, vector in memories]
    return store.search([Query(where, LOOKED_AT, vector, at_least=SAME_THING) for where, vector in wheres])


def rivals_among(
    near: Sequence[Hit], client: redis.Redis, memory: Memory, asked: Collection[UUID] = ()
) -> list[Memory]:
    """Rivals among the `near` hits, as `rivals_of` gives them, without those just `asked` about.

    What people decided on copies of the memory is decided of it, too; what they found right over a copy comes first,
    and from `NEAR_CURATED` on.
    """
    if memory.is_passage:  # a document may say what another one denies
        return []
    conflicts, own, others = Conflicts(client), said(memory.answer), [hit for hit in near if hit.memory.id != memory.id]
    copies = [hit.memory for hit in others if said(hit.memory.answer) == own]
    known = conflicts.rivals(memory.pool, [copy.id for copy in copies], dismissed=True)
    right = conflicts.decide_alike(memory, copies, known)
    found = [
        hit.memory
        for hit in sorted(others, key=lambda each: each.memory.id not in right)
        if hit.similarity >= min(_least(memory, hit.memory), NEAR_CURATED if hit.memory.id in right else 1.0)
        and not hit.memory.is_passage
        and hit.memory.id not in asked
        and said(hit.memory.answer) != own
    ]
    if not found or is_invented(client, memory.agent, memory.kind):
        return []
    judged = conflicts.judged(memory.pool, memory.id)
    return [other for other in found if other.id not in judged][:MOST]


def _least(first: Memory, other: Memory) -> float:
    """The cosine from which on two memories are compared: a fact has other words than the question it answers."""
    if None in (first.prompt, other.prompt) or (first.is_statement and other.is_statement):
        return SAME_THING
    if first.is_statement or other.is_statement:
        return NEAR_CURATED
    return min(same_question(first), same_question(other))


def comparison(journey: str, memory: Memory, others: Collection[Memory]) -> NextMessage:
    first, *rest = (Said.of(each.id, each.prompt, each.answer) for each in (memory, *others))
    agent, by = memory.agent or "", memory.submitter
    return COMPARE.next(
        CompareTask(journey=journey, pool=memory.pool, agent=agent, submitter=by, memory=first, others=tuple(rest))
    )
