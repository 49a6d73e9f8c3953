"""The messages that travel between workers, as frozen models that refuse unknown fields."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, Literal
from uuid import NAMESPACE_DNS, UUID, uuid5

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from memshare_broker.wire.forms import NAME, InWords, Label, Moment, Share
from memshare_broker.wire.same_text import is_blank
from memshare_broker.wire.spaces import MOST_SPACES, Spaces

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FITS = 900  # characters of earlier turns and the last one together: about what a small encoder reads
EARLIER = 300  # characters of an earlier turn, so that no single one takes all the room

_TURN = re.compile(r"^(User|Assistant): ", re.MULTILINE)


def written(turns: Iterable[tuple[str, str]]) -> str:
    """Turns, each a role and what was said, as the text that is graded and remembered."""
    return "\n".join(f"{role.capitalize()}: {content}" for role, content in turns)


def turns_of(text: str) -> list[tuple[str, str]]:
    """The turns of a text that was `written`, each a role and what was said; any other text is one turn of the user."""
    starts = list(_TURN.finditer(text))
    if len(starts) < 2 or starts[0].start() != 0 or starts[-1][1] != "User":
        return [("user", text)]
    ends = [*(start.start() for start in starts[1:]), len(text)]
    return [(start[1].lower(), text[start.end() : end].strip()) for start, end in zip(starts, ends, strict=True)]


def asked(text: str) -> str:
    """Text by which a task is compared: of a conversation the last turn, with the turns before it behind it.

    The newest come first, as far as they fit: an encoder reads the beginning of a text, and what is asked stands at
    the end of a conversation. Any other text is compared as it is.
    """
    turns = [content for _, content in turns_of(text)]
    if len(turns) == 1:
        return text
    parts = [turns.pop()]
    room = FITS - len(parts[0])
    for turn in reversed(turns):
        if room <= 0:
            break
        parts.append(turn[: min(EARLIER, room)])
        room -= len(parts[-1])
    return "\n".join(parts)


MAX_MEMORIES = 20
MAX_LEARNT = 20
MAX_PARTS = 5

Name = Annotated[
    str, StringConstraints(pattern=f"^{NAME}$"), InWords("up to 41 letters (a-z), digits, - and _, the first a letter")
]
Priority = Annotated[int, Field(ge=0, le=9)]
USUAL_PRIORITY, LOWEST_PRIORITY = 3, 9
"""0 goes first."""

_NAMESPACE = uuid5(NAMESPACE_DNS, "memshare")


def derived_id(*parts: str) -> UUID:
    """The same parts give the same id (UUIDv5), so that whatever runs twice writes one thing."""
    return uuid5(_NAMESPACE, "\x1f".join(parts))


class Message(BaseModel):
    """The parent of everything that crosses a process. Its numbers are finite: NaN and infinity are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class PaidTask(Message):
    """The parent of what models are asked after an answer; the agent and the submitter of the memory pay for it."""

    journey: str
    pool: Label
    agent: str = ""
    submitter: Label = "anonymous"


class Turn(Message):
    """A turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


class Embedding(Message):
    """A dense vector, and the encoder that made it: another encoder's vectors mean something else."""

    encoder: str
    data: str

    @classmethod
    def pack(cls, encoder: str, vector: NDArray[np.float32]) -> Embedding:
        return cls(encoder=encoder, data=base64.b64encode(vector.astype("<f4").tobytes()).decode())

    def unpack(self) -> NDArray[np.float32]:
        """The vector, of shape (dimension,)."""
        import numpy as np  # who only passes an embedding on does without it

        return np.frombuffer(base64.b64decode(self.data), dtype="<f4")


class AgentTask(Message):
    """Task that a client submits to `agents.NAME`: a prompt, or a conversation that ends with the task."""

    prompt: str | None = None
    messages: tuple[Turn, ...] | None = None
    kind: Label | None = None
    memories: int | None = Field(default=None, ge=0, le=MAX_MEMORIES)
    submitter: Label = "anonymous"
    documents: tuple[str, ...] = Field(
        default=(), max_length=100, description="of MEMSHARE_DOCUMENTS, to look in alone"
    )
    remember: bool = Field(
        default=True, description="False: the pair is graded, and neither remembered, credited nor learnt from"
    )
    not_shown: tuple[UUID, ...] = Field(default=(), max_length=100, description="memories that would give it away")
    pools: tuple[Label, ...] | None = Field(
        default=None, max_length=MOST_SPACES, description="of its agent's, to look in alone; None: all"
    )

    @model_validator(mode="after")
    def _one_task(self) -> AgentTask:
        if (self.prompt is None) == (self.messages is None):
            raise ValueError("give a 'prompt', or a conversation as 'messages': one of the two")
        if self.messages is not None:
            if not self.messages or self.messages[-1].role != "user":
                raise ValueError("'messages' must end with a turn of role 'user': the task")
            if any(turn.role == "system" for turn in self.messages):
                raise ValueError("'messages' takes the roles 'user' and 'assistant'; the agent gives the system turn")
        if any(is_blank(turn.content) for turn in self.turns):
            raise ValueError("the prompt is empty")
        return self

    @property
    def turns(self) -> tuple[Turn, ...]:
        return self.messages or (Turn(role="user", content=self.prompt or ""),)

    @property
    def text(self) -> str:
        """The task as one text, which is what is encoded, graded and remembered."""
        if len(self.turns) == 1:
            return self.turns[0].content
        return written((turn.role, turn.content) for turn in self.turns)


class Usage(Message):
    """Tokens that model calls used.

    `cached_tokens` are those of the prompts that the provider had read before, `reasoning_tokens` those of the
    completions that are no answer: both are counted in the whole, too.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(**{name: count + getattr(other, name) for name, count in self})


class Shown(Message):
    """A memory that was shown in a prompt, its cosine similarity to the task, and its share in the answer.

    The share, 0 to 1, is None where nobody judged it. `said` is a digest of what it said then, where that is known.
    `proven` says whether others' words spoke for who submitted it.
    """

    id: UUID
    similarity: float
    share: Share | None = None
    proven: bool = True
    said: str | None = Field(default=None, max_length=64)


class Quoted(Message):
    """The memory whose answer stands word for word as an answer, who submitted it, and how near its task was."""

    id: UUID
    submitter: Label
    similarity: float
    """Cosine of its prompt and the task's, -1 to 1."""


class Step(Message):
    """A step of the reasoning agent: an operator that ran, what it read and what it said, cut to a length.

    `number` counts from 1, `parent` is the step that called it, `left_out` what was known and not read for want of
    room, `knowledge` the memories that it found or used, and `verified` its verdict where it judged an answer.
    """

    number: int
    parent: int | None
    depth: int
    operator: str
    arguments: str
    read: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    said: str
    knowledge: tuple[UUID, ...] = ()
    verified: bool | None = None
    model: str | None = None
    usage: Usage = Usage()
    seconds: float = 0.0


class Answer(Message):
    """The result of an agent's task; `withheld` is a memory that was recalled and, at random, not shown.

    `quoted` is the memory whose answer it is, word for word, where there is no model. `verified` says whether a run in
    steps ended with a verified answer. `reasoning` is how the model came to it, and `notes` say in sentences what
    became of the prompt: memories that did not fit into it, and a server that cut it. `instructions_version` is empty
    in older ones.
    """

    task_id: str
    agent: str
    kind: str | None
    answer: str
    model: str
    memories: tuple[Shown, ...]
    retriever_version: int
    usage: Usage
    seconds: float
    steps: tuple[Step, ...] = ()
    verified: bool | None = None
    withheld: Shown | None = None
    quoted: Quoted | None = None
    reasoning: str = ""
    notes: tuple[str, ...] = ()
    instructions_version: str = ""


class Learnt(Message):
    """A statement that a verified answer rests on: what was read, where, and when, as Unix time in seconds.

    `parents` are memories of the same source.
    """

    statement: str = Field(min_length=1)
    source: str
    read: Moment
    parents: tuple[UUID, ...] = ()


class PartAnswer(Message):
    """A sub-question of a task, its answer, which was verified, and the memories that the answer rests on."""

    question: str = Field(min_length=1)
    answer: str = Field(min_length=1)
    shown: tuple[Shown, ...] = ()


class Examples(Message):
    """How many memories were to be shown, where that is learnt, to which model, and whether chance alone decided."""

    model: str
    number: int = Field(ge=0, le=MAX_MEMORIES)
    by_chance: bool = False


class AnsweredTask(Message):
    """The parent of the pairs that the scorer grades: a prompt and its answer, and where they come from.

    `what` tells the kinds of pairs apart. The embedding of the prompt is None where nobody has made it yet.
    """

    what: str
    journey: str
    agent: Label
    kind: Label | None
    pool: Label
    rubric: Label
    prompt: str
    answer: str
    model: str | None = Field(default=None, description="None for an answer that a person brought in")
    submitter: Label
    shown: tuple[Shown, ...] = ()
    embedding: Embedding | None = None
    remember: bool = True
    spaces: Spaces | None = Field(default=None, description="where it looked; None: in its pool alone")

    @property
    def pools(self) -> tuple[str, ...]:
        """The pools that it looked in."""
        return self.spaces.pools if self.spaces else (self.pool,)

    @property
    def task_id(self) -> str | None:
        """The task whose answer it is; None for one that a person brought in."""
        return self.journey


class AgentPair(AnsweredTask):
    """A task and the answer of an agent of the deployment."""

    what: Literal["agent"] = "agent"
    withheld: Shown | None = Field(default=None, description="the memory that was recalled and, at random, not shown")
    randomized: bool = Field(default=False, description="whether one of its memories might have been withheld")
    examples: Examples | None = Field(default=None, description="None where the number of memories was given")
    learnt: tuple[Learnt, ...] = Field(default=(), max_length=MAX_LEARNT, description="to be remembered with it")
    parts: tuple[PartAnswer, ...] = Field(
        default=(), max_length=MAX_PARTS, description="its sub-questions, to be graded once it is remembered"
    )
    known: tuple[str, ...] = Field(
        default=(), description="answers to nearly the same prompt that people brought in: it is graded beside them"
    )


class PartPair(AnsweredTask):
    """A sub-question of a task that was remembered, and its answer; its verdict has credited what it was shown."""

    what: Literal["part"] = "part"
    part_of: str = Field(description="the journey of the task whose sub-question it is")


class OutsidePair(AnsweredTask):
    """A prompt and the answer of somebody outside, who says which memories were shown."""

    what: Literal["offer"] = "offer"


class SeedPair(AnsweredTask):
    """A standard answer, to begin a pool with."""

    what: Literal["seed"] = "seed"
    model: None = None
    shown: tuple[()] = ()

    @property
    def task_id(self) -> None:
        return None


class RegradePair(AnsweredTask):
    """A memory that is graded again."""

    what: Literal["regrade"] = "regrade"
    model: None = None
    shown: tuple[()] = ()
    memory_id: UUID
    known: tuple[str, ...] = Field(default=(), description="answers that people found right in place of it")


AnyPair = Annotated[AgentPair | PartPair | OutsidePair | SeedPair | RegradePair, Field(discriminator="what")]


class Parked(Message):
    """A message that waits beside its queue: `until` is Unix time in seconds, `hold` names what holds it back."""

    id: str
    queue: str
    until: float
    why: str
    hold: str


class Cancellation(Message):
    """The early end of a journey: when it was ended, as Unix time in seconds, and why."""

    at: float
    why: str


Record = dict[str, Any]
