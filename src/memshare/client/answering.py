"""Answers a question from the memories of a pool, for the command line and for REST alike."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from uuid import uuid4

import redis

from memshare.client.rest.calls.concepts import AnsweredReply, CitedMemory
from memshare_agents.roster import find_agent, usable_cards
from memshare_broker.connection import connect
from memshare_broker.errors import BadInput
from memshare_broker.observe.safe_text import plain
from memshare_broker.presence import present
from memshare_broker.settings import OFFLINE, SERVER_WAIT, Role, Settings
from memshare_broker.wire.same_text import is_blank
from memshare_concepts.answering import (
    BY_CONCEPTS,
    LONGEST_QUESTION,
    AnswerFromMemories,
    QuestionConcepts,
    Related,
    answer,
    with_related,
)
from memshare_concepts.decisions import Decisions
from memshare_concepts.open_questions import OpenQuestions
from memshare_llm.build import open_budget, open_limited, open_metering
from memshare_llm.chat import Chat, ChatAround, ChatCall, R, RefusedReply, UselessReply
from memshare_llm.limits.budget import Payer
from memshare_llm.models import NONE_SET, require_model
from memshare_llm.structured import DoesNotFit
from memshare_memory.door.client import MemoryClient
from memshare_memory.door.messages import Found, RecallRequest
from memshare_memory.people import said_wrong
from memshare_memory.recall.near_enough import near_enough, too_far
from memshare_memory.stores.store import Where


class CappedChat(ChatAround):
    """Looks before each call whether its payer's cap allows it, and raises `NotYet` where not."""

    def __init__(self, chat: Chat, check: Callable[[], None]) -> None:
        super().__init__(chat)
        self._check = check

    def _call(self, call: Callable[[], R], asked: ChatCall) -> R:  # noqa: ARG002
        self._check()
        return call()


@contextmanager
def paid_chat(settings: Settings, role: Role, submitter: str) -> Iterator[Chat]:
    """The chat model of a role, whose calls `submitter` pays. Raises `BadInput` where there is none."""
    require_model(settings, role, "This")
    chat, budget = open_limited(settings, settings.model_for(role), "answers", connections=1), open_budget(settings)
    with open_metering(settings)(chat, Payer(str(uuid4()), "", submitter)) as metered:
        yield CappedChat(metered, lambda: budget.check("", submitter))


log = logging.getLogger(__name__)

LONGEST_WANTED = 200  # characters of a question that are noted with those that it left open


def answer_from(
    settings: Settings, question: str, pool: str, memories: int, only_memories: bool, payer: str
) -> AnsweredReply:
    """The answer with the memories that it rests on, and a sentence where none of the pool's is near enough.

    What it leaves open becomes gaps of the pool. Without a model it is the nearest memory's, where that is near enough.
    Raises `BadInput` for a question that is blank or too long.
    """
    limit = settings.prompt_limit
    if is_blank(question) or len(question) > limit:
        raise BadInput(f"A question has 1 to {limit:,} characters that are not all blank; this has {len(question):,}.")
    with closing(MemoryClient(settings)) as memory, connect(settings.redis) as client:
        recalled = memory.recall(RecallRequest(pool=pool, text=question, k=memories, mode="hybrid", new_pool=True))
        related, nearest = Related(recalled.found, {}, {}), recalled.nearest
        far = too_far(nearest.similarity if nearest else None, near_enough(client, pool, settings.near_enough))
        if settings.model_for("agents") == OFFLINE:
            if nearest is None:
                raise BadInput(f"Pool {pool!r} has no memory to show. {NONE_SET}")
            wrong = said_wrong(client, pool, question, nearest.memory.answer, payer)
            cites = ((nearest.memory, f"It is the nearest. No model has read it. {wrong}".strip()),)
            said = None if far else nearest.memory.answer
            return _reply(AnswerFromMemories(said, cites, "", (), OFFLINE), Related((nearest,), {}, {}), far)
        with paid_chat(settings, "agents", payer) as chat:
            if _names_concepts(settings, client, pool, related.found):
                related = _with_related(memory, client, chat, pool, question, related)
            shown = [one.memory for one in reversed(related.found)]
            answered = answer(chat, question, shown, only_memories=only_memories)
        wanted = " ".join(plain(question).split())[:LONGEST_WANTED]
        OpenQuestions(client, pool).add(answered.questions, wanted, time.time())
    return _reply(answered, related, far)


INSTRUCTIONS = """\
You answer questions from memories: questions that were answered well, and statements. Give the answer first, in a \
sentence, then what it rests on. Answer every part of the question, no more, and in its language."""
ONLY_MEMORIES = " Say nothing that does not stand in the knowledge."
STEPS = ("coordinator", "searcher", "filter", "responder", "discriminator")  # what opens pages is for tasks


def answer_in_steps(
    settings: Settings,
    question: str,
    pool: str,
    memories: int,
    only_memories: bool,
    payer: str,
    within: float | None = None,
) -> AnsweredReply:
    """The answer of a run of the reasoning agent's engine, on the memories of a pool and within that agent's limits.

    `memories` are recalled at a time; `within` is seconds, where it may take fewer than a task. A question without a
    verified answer becomes a gap of the pool. Raises `BadInput` without a model.
    """
    from memshare_agents.reasoning.engine import OPERATORS, Engine, answer_of, shown_in
    from memshare_agents.reasoning.knowledge import Knowledge
    from memshare_agents.reasoning.sources.build import open_sources

    reasoning = find_agent("reasoning", settings.agents_dir)
    assert reasoning is not None, "it is bundled"
    limits = reasoning.limits
    as_a_task = settings.longest_task - SERVER_WAIT - settings.model_timeout
    seconds = min(one for one in (limits.seconds, within, as_a_task) if one is not None)
    operators, limits = {name: OPERATORS[name] for name in STEPS}, limits.model_copy(update={"seconds": seconds})
    with closing(MemoryClient(settings)) as memory, connect(settings.redis) as client:
        knowledge = Knowledge(memory, pool, memories, "hybrid", asked_by=payer)
        sources = open_sources(settings.model_copy(update={"documents": None, "searxng_url": None}), memory)
        with paid_chat(settings, "agents", payer) as chat:
            run = Engine(operators, limits, lambda _: chat, knowledge, sources).run(
                question, INSTRUCTIONS + ONLY_MEMORIES * only_memories
            )
        shown = {one.id: one for one in shown_in(run)} if run.verified else {}
        stored = memory.page(Where(ids=list(shown)), len(shown)).memories if shown else ()
        wanted = " ".join(plain(question).split())
        left_open = () if run.verified else (wanted[:LONGEST_QUESTION],)
        OpenQuestions(client, pool).add(left_open, wanted[:LONGEST_WANTED], time.time())
    found = Related(tuple(Found(memory=one, similarity=shown[one.id].similarity) for one in stored), {}, {})
    shares = sorted(((shown[one.id].share or 0.0, one) for one in stored), key=lambda one: -one[0])
    cites = tuple((one, f"Its share in the answer is {share:.0%}.") for share, one in shares)
    said, model = answer_of(run), run.proposal.model if run.proposal else chat.name
    reply = _reply(AnswerFromMemories(said if run.verified else None, cites, "", left_open, model), found, "")
    return reply.model_copy(update={"steps": run.steps, "unverified": "" if run.verified else said})


def _reply(answered: AnswerFromMemories, related: Related, far: str) -> AnsweredReply:
    similarity = {one.memory.id: one.similarity for one in related.found}
    cites = tuple(
        CitedMemory(id=one.id, why=why, similarity=similarity[one.id], prompt=one.prompt, answer=one.answer)
        for one, why in answered.cites
    )
    fields = {"cites": cites, "far": far, "concepts": related.concepts, "brought": related.brought}
    return AnsweredReply.model_validate(vars(answered) | fields)


def _names_concepts(settings: Settings, client: redis.Redis, pool: str, found: Sequence[Found]) -> bool:
    """True if concepts of a question could find more, and neither the settings nor an agent of its pool say no."""
    if not settings.concepts or len(found) < BY_CONCEPTS or not any(one.memory.concepts for one in found):
        return False
    announced = [card for worker in present(client) for card in worker.agents]
    return all(card.question_concepts for card in (*usable_cards(settings)[0].values(), *announced) if card.has(pool))


def _with_related(
    memory: MemoryClient, client: redis.Redis, chat: Chat, pool: str, question: str, related: Related
) -> Related:
    known = QuestionConcepts(client, pool)
    try:
        concepts = known.read(question) or known.name(chat, question, related.found)
    except (DoesNotFit, UselessReply, RefusedReply) as error:
        log.warning("The concepts of a question could not be named, so none are searched by: %s", error)
        return related
    return with_related(memory, pool, question, related.found, concepts, Decisions(client, pool).aliases().key)
