"""Concepts: what a pool is about, what it is likely to lack, and which names mean one concept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal
from uuid import UUID

from pydantic import Field

from memshare.client.rest.methods import Asked, Calls, call
from memshare_broker.wire.lessons import Concepts
from memshare_broker.wire.messages import Message, Step
from memshare_concepts.quoting import Sentence


class ClusterReply(Message):
    """Memories that are alike, and the concepts that they have more of than the pool."""

    number: int
    level: int = Field(description="0 is the top level, with the fewest clusters")
    parent: int | None
    topics: tuple[str, ...]
    memories: int
    summary: tuple[Sentence, ...] = Field(description="as a model wrote it; empty where nobody asked for one")
    is_stale: bool = Field(description="whether much has changed since the summary was written")


class GapReply(Message):
    """Something that the pool is likely to lack."""

    id: str
    kind: str
    names: tuple[str, ...]
    reason: str


class SimilarReply(Message):
    """Two names that may mean one concept."""

    keep: str
    other: str
    similarity: float


class ConceptsReply(Message):
    """Concepts of a pool: clusters, gaps and similar names."""

    pool: str
    memories: int = Field(description="with concepts")
    without: int = Field(description="memories whose concepts are not known yet")
    clusters: tuple[ClusterReply, ...] = ()
    gaps: tuple[GapReply, ...] = ()
    similar: tuple[SimilarReply, ...] = ()


class DecidedReply(Message):
    """A decision that was noted; `undo` is the request to send to take it back."""

    undo: dict[str, tuple[str, ...] | str]


class CitedMemory(Message):
    """A memory that an answer rests on."""

    id: UUID
    why: str
    similarity: float
    prompt: str | None
    answer: str


class AnsweredReply(Message):
    """An answer from memories; without one, the questions that are open."""

    answer: str | None
    cites: tuple[CitedMemory, ...]
    own_knowledge: str = Field(description="what of the answer is in no memory")
    questions: tuple[str, ...] = Field(description="they are gaps of the pool now")
    model: str = Field(description="'offline' is none: then the answer is the nearest memory's")
    far: str = Field(default="", description="that no memory is near enough, and how near the nearest is")
    steps: tuple[Step, ...] = Field(default=(), description="of an answer in steps, as in the trace of a task")
    unverified: str = Field(default="", description="why a deep answer was not verified, and what it was")
    concepts: Concepts = Field(default={}, description="of the question, by level; none where none were named")
    brought: dict[UUID, tuple[str, ...]] = Field(
        default={}, description="memories shown for concepts that the question has, too, cited or not: id → these"
    )


class QuestionReply(Message):
    """A question that an agent is asked only if somebody says so."""

    id: str
    question: str
    why: str = Field(description="who was proposed it, or who asked it in vain")


class QuestionDecidedReply(Message):
    """A decision on a question, and the journey in which it is asked, if it is."""

    id: str
    journey: str | None


class ConceptCalls(Calls[Asked]):
    """Concepts of a pool."""

    @call("get_concepts", "GET", "/v1/concepts/{pool}")
    def get(self, pool: str) -> ConceptsReply:
        """Clusters of a pool with their summaries, gaps, and names that may mean one concept.

        It takes some seconds, and is computed once a minute at most; it takes the right `recall`.
        """

    @call("decide_concepts", "POST", "/v1/concepts/{pool}", repeatable=False)
    def decide(
        self,
        pool: str,
        *,
        merge: Sequence[str] | None = None,
        split: str | None = None,
        apart: Sequence[str] | None = None,
        dismiss: str | None = None,
        bring_back: str | None = None,
    ) -> DecidedReply:
        """Say that a name means a concept (`merge`: the two), or that two names are two concepts (`apart`).

        Or that a gap is none (`dismiss`: its id). `split` takes a merge back, `bring_back` the others, by id. It takes
        the right `curate`.
        """

    @call("answer_question", "POST", "/v1/concepts/{pool}/answer", repeatable=False)
    def answer(
        self, pool: str, question: str, *, memories: int = 8, only_memories: bool = False, deep: bool = False
    ) -> AnsweredReply:
        """Answer a question from the memories of a pool, and say which it rests on.

        One call of the agents' model, and one for the concepts of a new question, which you pay: it takes the rights
        `recall` and `submit`. Nothing is remembered. `deep` answers in steps, with sub-questions and a check of the
        answer, within the limits of the agent `reasoning`: give the client a `timeout` of 150.
        """

    @call("decide_question", "POST", "/v1/concepts/{pool}/question", repeatable=False)
    def decide_question(
        self, pool: str, question: str, do: Literal["ask", "drop", "undecided"], *, agent: str | None = None
    ) -> QuestionDecidedReply:
        """Have an agent asked a question of `needs.list`, by its id, or drop it; it takes the right `curate`.

        To ask takes the right `submit`, too; name the `agent` where several keep their memories in the pool. Its answer
        is graded, and remembered if it is good enough. "undecided" takes a decision back; a journey goes on.
        """
