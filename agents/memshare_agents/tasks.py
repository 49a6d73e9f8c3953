"""The Celery tasks of the agents' queues: `agents.NAME` answers a task, `agents.NAME.question` asks for an answer."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from memshare_agents import answering
from memshare_agents.reasoning.engine import Reasoner
from memshare_agents.reasoning.knowledge import Knowledge
from memshare_agents.roster import Agent
from memshare_broker.app import App
from memshare_broker.delivery.hops import ANSWER, CREDIT, QUESTION, SCORE, NextMessage
from memshare_broker.delivery.stage import Outcome, Stage, StageServices, add_stage
from memshare_broker.errors import BadInput, is_waiting
from memshare_broker.observe.logs import ids
from memshare_broker.observe.metrics import Sample, count, observe
from memshare_broker.wire.forms import refuse_too_long
from memshare_broker.wire.grades import Question, QuestionTask, VerdictTask
from memshare_broker.wire.lessons import LONGEST_TEXT
from memshare_broker.wire.messages import AgentPair, AgentTask, Answer, Embedding, Examples, SeedPair, Turn
from memshare_llm.chat import OTHERWISE, Chat, Window, was_cut
from memshare_llm.limits.budget import Metering, Payer, uncapped, unmetered
from memshare_llm.models import NoModelSet, has_model, needs_model
from memshare_memory.belief.lift import USUAL, HowMany, LiftSums, tries
from memshare_memory.contradictions import NEAR_CURATED
from memshare_memory.door.client import MemoryClient
from memshare_memory.door.messages import Found, RecallRequest
from memshare_memory.door.undisputed import undisputed
from memshare_memory.stores.store import Where

log = logging.getLogger(__name__)

MOST_KNOWN = 3  # memories that people brought in, beside which an answer is graded
LONGEST_REASONING = 20_000  # characters that a trace shows


@dataclass(frozen=True)
class AnswerStage:
    """An agent at work, with its model and the memory service."""

    agent: Agent
    chat: Chat
    memory: MemoryClient
    prompt_limit: int
    _: KW_ONLY
    metering: Metering = unmetered
    check_caps: Callable[[str, str], None] = uncapped
    """Raises `NotYet` where the cap of an agent or of a submitter is reached."""
    reasoner: Reasoner | None = None
    """The engine of an agent that has one; it takes the place of the single call."""
    window: Callable[[], Window] = lambda: Window(OTHERWISE)
    """How many tokens the model takes at once."""
    how_many: HowMany | None = None
    """Chooses how many memories are shown where neither task nor agent says it; three without it."""
    withhold: float = 0.0
    """Share of the tasks from which one memory is withheld at random, never from those of an engine.

    0: nothing is tried by chance, nor is a number of memories."""
    near_enough: Callable[[str], float] = lambda _: -1.0
    """The least similarity at which a memory of a pool is quoted, where there is no model."""
    said_wrong: Callable[[str, str, str, str], str] = lambda *_: ""
    """Says of pool, prompt, answer and submitter who called that answer wrong."""
    lift: LiftSums | None = None
    """Is told on which tasks chance decided, so that it is known how many never have a grade."""

    def run(self, journey: str, task: AgentTask) -> Outcome:
        """Recall memories, ask the model or run the engine, and hand the pair on to be graded.

        Without a model the answer is that of the nearest memory.
        """
        started = time.monotonic()
        kind = self.agent.kind(task.kind)
        text = task.text
        refuse_too_long(self.prompt_limit, prompt=text)
        if task.documents and self.reasoner is None:
            raise BadInput(f"Agent {self.agent.name!r} reads no documents; submit the task to one with an engine.")
        if self.reasoner is not None and self.reasoner.sources.library is not None:
            self.reasoner.sources.library.require_indexed()
        # Here alone: what was answered is still graded and learnt from.
        self.check_caps(self.agent.name, task.submitter)

        examples = self._examples(journey, task)
        given = next(one for one in (task.memories, self.agent.memories, USUAL) if one is not None)
        k = given if examples is None else examples.number
        pool, *beside = self._pools(task)
        payer = Payer(journey, self.agent.name, task.submitter)
        mode = kind.recall or self.agent.recall
        if self.reasoner is None or not has_model(self.chat):
            began = time.monotonic()
            wanted = RecallRequest(
                pool=pool,
                beside=tuple(beside),
                text=text,
                k=k,
                mode=mode,
                among=Where(ids_not=task.not_shown),
                new_pool=True,
                kind=task.kind,
                submitter=task.submitter,
                reader=self.chat.name if has_model(self.chat) else None,
            )
            recalled = self.memory.recall(wanted)
            recalls, embedding = [time.monotonic() - began], recalled.embedding
            if has_model(self.chat):
                fitting = answering.fit(self.window(), kind.instructions, task.turns, recalled.found, self.prompt_limit)
                withholding = answering.withhold_one(journey, fitting.shown, self.withhold if task.remember else 0.0)
                turns = answering.build_prompt(kind.instructions, [one.memory for one in withholding.shown], task.turns)
                try:
                    said = self._ask(turns, withholding, recalled.retriever_version, payer, fitting.notes)
                except Exception as error:
                    if not is_waiting(error):
                        self._note_tries(journey, task, examples, withholding)
                    raise
                claims = self.agent.claims if kind.claims is None else kind.claims
                said = said._replace(known=self._known(recalled.found) if claims else ())
            else:
                said = answering.nearest_answer(recalled, journey, pool, self.near_enough(pool))
                pools = dict.fromkeys((pool, *(one.memory.pool for one in [recalled.nearest] if one)))
                words = (self.said_wrong(one, text, said.text, task.submitter) for one in pools)
                said = said._replace(notes=tuple(filter(None, words)))
        else:
            embedding = self.memory.embed(text, task.submitter) if k else None
            knowledge = Knowledge(
                self.memory,
                pool,
                k,
                mode,
                beside=tuple(beside),
                kind=task.kind,
                not_shown=task.not_shown,
                asked_by=task.submitter,
            )
            said = self.reasoner.answer(task, kind.instructions, knowledge, self.metering, payer)
            recalls = knowledge.seconds

        answer = Answer(
            task_id=journey,
            agent=self.agent.name,
            kind=task.kind,
            answer=said.text,
            model=said.model,
            memories=said.shown,
            retriever_version=said.retriever_version,
            usage=said.usage,
            seconds=round(time.monotonic() - started, 3),
            steps=said.steps,
            verified=said.verified if said.steps or not said.verified else None,
            withheld=said.withheld,
            quoted=said.quoted,
            reasoning=said.reasoning[:LONGEST_REASONING],
            notes=said.notes,
            instructions_version=kind.version,
        )
        shown = "1 memory" if len(said.shown) == 1 else f"{len(said.shown)} memories"
        log.info("Answered with %s.", shown, extra=ids(task_id=journey, agent=self.agent.name))
        counted = self._counted(recalls, said)
        judged = self._judged(journey, task, said)
        if said.verified:
            pair = AgentPair(
                **self._pair(journey, task, text, said.text, embedding),
                model=said.model,
                shown=said.shown,
                withheld=said.withheld,
                randomized=said.randomized,
                examples=examples,
                learnt=said.learnt,
                parts=said.parts,
                known=said.known,
            )
            return Outcome(answer, (SCORE.next(pair), judged) if judged else SCORE.next(pair), "answered", counted)
        log.info("Not graded, as it could not be verified.", extra=ids(task_id=journey, agent=self.agent.name))
        kept = {"outcome": "not verified"}  # its journey ends here
        return Outcome(answer, judged, "unverified", counted, kept)

    def _known(self, found: Sequence[Found]) -> tuple[str, ...]:
        """The undisputed answers to nearly the same prompt that people brought in."""
        near = [one for one in found if one.similarity >= NEAR_CURATED and one.memory.task_id is None]
        known = undisputed(self.memory, [one.memory.id for one in near if one.memory.prompt is not None])
        return tuple(one.answer[:LONGEST_TEXT] for one in known)[:MOST_KNOWN]

    def _examples(self, journey: str, task: AgentTask) -> Examples | None:
        """How many memories are to be shown, where that is learnt: nobody says it, and one call of a model answers."""
        given = (task.memories, self.agent.memories, self.reasoner)
        if self.how_many is None or not has_model(self.chat) or any(one is not None for one in given):
            return None
        tries = task.remember and self.withhold > 0
        return self.how_many.choose(self._pools(task)[0], self.chat.name, task.kind, journey, learn=tries)

    def _note_tries(
        self, journey: str, task: AgentTask, examples: Examples | None, chance: answering.Withholding
    ) -> None:
        """Note what chance decided on a task that its model could not answer: it has no grade, unless it gets one."""
        is_without = chance.withheld is not None if chance.randomized else None
        of = self.agent.name, task.kind, self.chat.name
        for group, withheld in tries(*of, len(chance.shown), examples, is_without):
            if self.lift is not None:
                self.lift.note(self._pools(task)[0], journey, group, withheld=withheld)

    def _pools(self, task: AgentTask) -> tuple[str, ...]:
        """Where it looks for memories; raises `BadInput` where the task may not use the first, for the answer."""
        first, *others = self.agent.spaces(task.submitter).pools
        if task.pools is not None and first not in task.pools:
            raise BadInput(f"The answer would be kept in the pool {first!r}, which is not among the task's pools.")
        return (first, *(one for one in others if task.pools is None or one in task.pools))

    def _counted(self, recalls: Sequence[float], said: answering.AnswerMade) -> tuple[Sample, ...]:
        name = self.agent.name
        searches = (observe("memshare_recall_seconds", seconds, agent=name) for seconds in recalls)
        similarities = (observe("memshare_shown_similarity", one.similarity, agent=name) for one in said.shown)
        cut = [count("memshare_prompts_cut_total", model=said.model)] if said.was_cut else []
        return (*cut, *(sample for samples in (*searches, *similarities) for sample in samples))

    def ask(self, journey: str, task: QuestionTask) -> Outcome:
        """Ask the model for a question to a standard answer, and hand both on to be graded."""
        started = time.monotonic()
        if not has_model(self.chat):
            raise NoModelSet(needs_model("A question to a standard answer"))
        kind = self.agent.kind(task.kind)
        refuse_too_long(self.prompt_limit, answer=task.answer)
        self.check_caps(self.agent.name, task.submitter)

        with self.metering(self.chat, Payer(journey, self.agent.name, task.submitter)) as chat:
            asked = answering.ask_for_question(chat, kind.instructions, task)
        text = asked.value.question
        seconds = round(time.monotonic() - started, 3)
        log.info("Asked for a standard answer.", extra=ids(task_id=journey, agent=self.agent.name))
        question = Question(question=text, model=asked.model, usage=asked.usage, seconds=seconds)
        embedding = self.memory.embed(text, task.submitter)
        pair = SeedPair(**self._pair(journey, task, text, task.answer, embedding))
        return Outcome(question, SCORE.next(pair), "asked")

    def _pair(
        self, journey: str, task: AgentTask | QuestionTask, prompt: str, answer: str, embedding: Embedding | None
    ) -> dict[str, Any]:
        """The fields of every pair that this agent hands on to be graded."""
        agent, spaces = self.agent, self.agent.spaces(task.submitter)
        return {
            "journey": journey, "agent": agent.name, "kind": task.kind, "pool": spaces.pools[0], "rubric": agent.rubric,
            "prompt": prompt, "answer": answer, "submitter": task.submitter, "embedding": embedding,
            "remember": task.remember, "spaces": spaces if agent.pools else None,
        }  # fmt: skip

    def _judged(self, journey: str, task: AgentTask, said: answering.AnswerMade) -> NextMessage | None:
        """Message to the memory service about the answers on the way: the memories they rested on, and the verdicts."""
        if not task.remember or not said.judged:
            return None
        first, *others = said.judged
        pools = self._pools(task)
        verdict = VerdictTask(
            journey=journey,
            pool=pools[0],
            pools=pools,
            prompt=task.text,
            kind=task.kind,
            submitter=task.submitter,
            shown=first.shown,
            verdict=first.verdict,
            others=tuple(others),
        )
        return CREDIT.next(verdict)

    def _ask(
        self,
        turns: Sequence[Turn],
        withholding: answering.Withholding,
        retriever_version: int,
        payer: Payer,
        notes: tuple[str, ...],
    ) -> answering.AnswerMade:
        with self.metering(self.chat, payer) as chat:
            reply = chat.reply(turns)
        is_cut = was_cut(turns, reply.usage)
        if is_cut:
            notes = (*notes, answering.cut_note(reply.usage, self.window()))
        return answering.AnswerMade(
            reply.text,
            reply.model,
            tuple(one.shown for one in withholding.shown),
            retriever_version,
            reply.usage,
            withheld=withholding.withheld.shown if withholding.withheld else None,
            randomized=withholding.randomized,
            reasoning=reply.reasoning,
            notes=notes,
            was_cut=is_cut,
        )


def register(app: App, agent: Agent, services: Callable[[], StageServices], opened: Callable[[], AnswerStage]) -> None:
    """Register an agent's tasks; what they need is built when the first message comes."""
    add_stage(app, Stage(ANSWER.of(agent.name), lambda journey, task: opened().run(journey, task)), services)
    add_stage(app, Stage(QUESTION.of(agent.name), lambda journey, task: opened().ask(journey, task)), services)
