"""Questions that a pool has no answers to: its gaps, what somebody asked in vain, and rounds of new ones.

A round has what was wanted, what was proposed, and what a person decided of each question. All of it is in Redis, so a
person may stop at any time and go on later.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Annotated, Literal
from uuid import UUID

import redis
from pydantic import Field, StringConstraints

from memshare_broker.wire.forms import Moment
from memshare_broker.wire.messages import Message
from memshare_concepts.names import key
from memshare_llm.limits.usage import day_of
from memshare_memory.people import ASKING, PEOPLE

Kind = Literal["unexplained", "thin", "unconnected", "asked"]


@dataclass(frozen=True)
class Gap:
    """Something that a pool lacks."""

    kind: Kind
    """`unexplained`: a concept that memories name and none is about; `thin`: a cluster of few memories;
    `unconnected`: two clusters that are close and have no concept in common; `asked`: a question that the memories
    could not answer."""
    names: tuple[str, ...]  # the concept, what the clusters are called, or the question
    score: float  # within its kind, how likely it is that something is missing; above 0
    reason: str
    memories: tuple[UUID, ...]  # where it shows: the memories that name the concept, or those of the clusters
    clusters: tuple[int, ...] = ()

    @property
    def id(self) -> str:
        """Id that stays the same as the pool grows, so that a dismissed gap stays dismissed."""
        if self.kind == "asked":  # a question is too long to be typed
            return f"asked:{blake2b(key(self.names[0]).encode(), digest_size=5).hexdigest()}"
        return ":".join([self.kind, *sorted(key(name) for name in self.names)])


def ranked(gaps: Iterable[Gap]) -> list[Gap]:
    """Gaps by falling score, of equals by their id."""
    return sorted(gaps, key=lambda gap: (-gap.score, gap.id))


QUESTIONS = "memshare:concepts:questions:"  # of a pool, a hash: id of a gap → JSON of the question
MOST = 500  # of a pool; the oldest go first


class OpenQuestion(Message):
    """A question that is open, what somebody wanted to know when it came up, and the task that an agent was given."""

    question: str
    wanted: str
    at: Moment
    journey: str | None = None

    @property
    def gap(self) -> Gap:
        return Gap("asked", (self.question,), self.at, f"{self.question} {self.why}", ())

    @property
    def why(self) -> str:
        return f"Somebody asked {self.wanted!r}, and the memories did not suffice."


class OpenQuestions:
    """The open questions of one pool."""

    def __init__(self, client: redis.Redis, pool: str) -> None:
        self._client = client
        self._key = QUESTIONS + pool

    def all(self) -> list[OpenQuestion]:
        """The open questions, the newest first."""
        found = [OpenQuestion.model_validate_json(text) for text in self._client.hvals(self._key)]
        return sorted(found, key=lambda question: (-question.at, question.question))

    def add(self, questions: Iterable[str], wanted: str, at: float) -> None:
        """Keep questions that came up when somebody wanted to know something; the same again is one that waits."""
        made = [OpenQuestion(question=question, wanted=wanted, at=at) for question in questions]
        if made:
            self._client.hset(self._key, mapping={question.gap.id: question.model_dump_json() for question in made})
            self.drop(question.gap for question in self.all()[MOST:])

    def give(self, question: OpenQuestion, journey: str | None) -> None:
        """Note the task by which an agent was asked a question, or that none was."""
        given = question.model_copy(update={"journey": journey})
        self._client.hset(self._key, question.gap.id, given.model_dump_json())

    def drop(self, gaps: Iterable[Gap]) -> None:
        """Take out questions that were answered."""
        ids = [gap.id for gap in gaps]
        if ids:
            self._client.hdel(self._key, *ids)


MOST_EXPLORED = 5_000  # of a pool; the oldest go first, and their gaps may be asked about again

_KEY = "memshare:concepts:explored:"


class Explored(Message):
    """A gap that was asked about."""

    gap: str
    """A digest of its id, which has names of concepts: these may have to be forgotten, and that it was asked not."""
    at: Moment

    @classmethod
    def of(cls, gap: Gap, at: float) -> Explored:
        return cls(gap=blake2b(gap.id.encode(), digest_size=8).hexdigest(), at=at)


class ExploredGaps:
    """All of one pool."""

    def __init__(self, client: redis.Redis, pool: str) -> None:
        self._client = client
        self._key = _KEY + pool

    def all(self) -> list[Explored]:
        """The gaps that were asked about, the newest first."""
        return [Explored.model_validate_json(text) for text in self._client.lrange(self._key, 0, -1)]

    def not_asked(self, gaps: Iterable[Gap]) -> list[Gap]:
        known = {explored.gap for explored in self.all()}
        return [gap for gap in gaps if Explored.of(gap, 0).gap not in known]

    def asked_on_day_of(self, now: float) -> int:
        """How many were asked about on the same UTC day."""
        return sum(day_of(explored.at) == day_of(now) for explored in self.all())

    def add(self, explored: Explored) -> None:
        self._client.lpush(self._key, explored.model_dump_json())
        self._client.ltrim(self._key, 0, MOST_EXPLORED - 1)


State = Literal["open", "kept", "dropped", "submitted"]
Direction = Literal["alike", "more abstract", "more specific"]

KEEP_SECONDS = 30 * 86_400

Told = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]


class Target(Message):
    """The subject of the questions. Its examples stand in an order that new questions are to go on with."""

    clusters: tuple[int, ...]
    name: str
    topics: tuple[str, ...]
    examples: tuple[UUID, ...]
    direction: Direction = "alike"
    groups: tuple[tuple[str, int], ...] = Field(
        default=(), description="the name of each cluster, and how many of the examples are its, in their order"
    )


class WantedQuestions(Message):
    """Wanted questions: their subject, number and purpose."""

    target: Target
    count: int = Field(ge=1, le=50)
    topic: Told | None = None
    goal: Told | None = None
    with_known: bool = Field(default=False, description="whether the model is told what the pool asks about it already")


class Near(Message):
    """A memory beside a question, and its cosine to it."""

    id: UUID
    similarity: float


class ProposedQuestion(Message):
    """A question that was proposed. Its id is derived from its text."""

    id: str
    question: str
    nearest: tuple[Near, ...]
    state: State = "open"
    task_id: str | None = None

    @classmethod
    def of(cls, question: str, nearest: Sequence[Near]) -> ProposedQuestion:
        """A question that nobody has decided on."""
        digest = blake2b(question.encode(), digest_size=4).hexdigest()
        return cls(id=digest, question=question, nearest=tuple(nearest))


class Round(Message):
    """A round of one person with one pool."""

    wanted: WantedQuestions
    proposals: tuple[ProposedQuestion, ...]

    def those(self, *states: State) -> list[ProposedQuestion]:
        """The proposals in some states, in their order."""
        return [proposal for proposal in self.proposals if proposal.state in states]

    def with_one(self, changed: ProposedQuestion) -> Round:
        """The round with one proposal as it is now, found by its id."""
        proposals = tuple(changed if proposal.id == changed.id else proposal for proposal in self.proposals)
        return self.model_copy(update={"proposals": proposals})

    def with_edited(self, proposal: ProposedQuestion, edited: ProposedQuestion) -> Round:
        """The round with a question as a person wrote it, which is kept; what was proposed is dropped."""
        dropped = self.with_one(proposal.model_copy(update={"state": "dropped"}))
        own = edited.model_copy(update={"state": "kept"})
        return dropped.model_copy(update={"proposals": (*dropped.proposals, own)})

    def with_others(self, fresh: Sequence[ProposedQuestion]) -> Round:
        """The round with other questions in place of those that were open, which are dropped."""
        decided = [
            proposal.model_copy(update={"state": "dropped"}) if proposal.state == "open" else proposal
            for proposal in self.proposals
        ]
        known = {proposal.id for proposal in decided}
        new = (proposal for proposal in fresh if proposal.id not in known)
        return self.model_copy(update={"proposals": (*decided, *new)})


class Rounds:
    """The round of a person with a pool, if there is one. Rounds go 30 days after the last decision of the person."""

    def __init__(self, client: redis.Redis, pool: str, person: str) -> None:
        self._client = client
        self._person = person
        self._key = ASKING + person
        self._pool = pool

    def read(self) -> Round | None:
        text = self._client.hget(self._key, self._pool)
        return Round.model_validate_json(text) if text else None

    def keep(self, current: Round) -> None:
        with self._client.pipeline() as change:
            change.sadd(PEOPLE, self._person)
            change.hset(self._key, self._pool, current.model_dump_json())
            change.expire(self._key, KEEP_SECONDS)
            change.execute()

    def decide(self, proposal: ProposedQuestion, *was: State) -> bool:
        """Keep what was decided of a proposal; False where it is none, or is not in one of these states any more."""

        is_there = False

        def change(pipe: redis.client.Pipeline) -> None:
            nonlocal is_there
            text = pipe.hget(self._key, self._pool)
            found = Round.model_validate_json(text) if text else None
            is_there = found is not None and proposal.id in {each.id for each in found.those(*was)}
            pipe.multi()
            if found is not None and is_there:
                pipe.hset(self._key, self._pool, found.with_one(proposal).model_dump_json())

        self._client.transaction(change, self._key)
        return is_there

    def end(self) -> None:
        self._client.hdel(self._key, self._pool)


def rounds_of(client: redis.Redis, pools: Sequence[str]) -> dict[str, dict[str, Round]]:
    """The rounds that are not finished, by pool and person."""
    people = sorted(map(str, client.smembers(PEOPLE)))
    with client.pipeline(transaction=False) as ask:
        for person in people if pools else ():
            ask.hmget(ASKING + person, list(pools))
        texts = dict(zip(people, ask.execute(), strict=False))
    rounds: dict[str, dict[str, Round]] = {pool: {} for pool in pools}
    for person, of_pools in texts.items():
        for pool, text in zip(pools, of_pools, strict=True):
            if text:
                rounds[pool][person] = Round.model_validate_json(text)
    return rounds
