"""Interactive learning: a pool is begun from standard answers alone, or from pairs.

For each answer its agent is asked for a question; the question goes to all agents of the domain; all is graded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from memshare.client.client import LOW, Client
from memshare.learn.resumable_run import run_to_the_end
from memshare.learn.standard_answers import StandardAnswer
from memshare_broker.delivery.entry import Entry
from memshare_broker.delivery.hops import ANSWER, QUESTION, SCORE
from memshare_broker.delivery.outcome_record import OutcomeRecord
from memshare_broker.errors import BadInput
from memshare_broker.presence import AgentCard
from memshare_broker.wire.messages import AgentTask, AnsweredTask, derived_id
from memshare_broker.wire.questions import QuestionTask
from memshare_memory.memory import saying
from memshare_memory.stores.store import Where

Progress = Callable[[str, int, int], None]
"""Is told what is done at the time, how many of it have ended and how many there are."""


@dataclass(frozen=True)
class Bootstrapped:
    """What became of each standard answer with its question, and of each answer that agents gave to one.

    `before` counts those that had ended before.
    """

    seeds: tuple[OutcomeRecord, ...] = ()
    answers: tuple[OutcomeRecord, ...] = ()
    before: int = 0

    def __add__(self, other: Bootstrapped) -> Bootstrapped:
        return Bootstrapped(self.seeds + other.seeds, self.answers + other.answers, self.before + other.before)


def learn(
    client: Client, lines: Sequence[StandardAnswer], rounds: int, submitter: str, progress: Progress
) -> Bootstrapped:
    """Ask for `rounds` questions a line, one round after the other, and grade them with their answers.

    From the second round on the model is told the questions that it asked for an answer before.
    Agents answer with the memories there are, but never with the standard answer itself, under whatever question. All
    seeds of a round are settled before agents answer, so that a threshold that is their mean is the same for all.
    """
    cards, learnt = client.agents(), Bootstrapped()
    earlier: defaultdict[StandardAnswer, list[str]] = defaultdict(list)  # a line's questions
    for number in range(1, rounds + 1):
        what = f"Round {number} of {rounds}: " if rounds > 1 else ""
        asked = [question_of(line, cards[line.agent], number, submitter, earlier[line]) for line in lines]
        seeds, before = _run(client, asked, f"{what}questions", progress)
        learnt += Bootstrapped(seeds=tuple(seeds.values()), before=before)
        answering = []
        for line, entry in zip(lines, asked, strict=True):
            if (question := seeds[entry.journey].question) is None:
                continue
            earlier[line].append(question)
            given = _holding(client, line.answer, cards[line.agent].pool)
            answering += [
                _answer(card, line, entry.journey, question, submitter, given) for card in _domain(cards, line)
            ]
        answers, before = _run(client, answering, f"{what}answers", progress)
        learnt += Bootstrapped(answers=tuple(answers.values()), before=before)
    return learnt


def seed(client: Client, lines: Sequence[StandardAnswer], submitter: str, progress: Progress) -> Bootstrapped:
    """Grade pairs that have their question."""
    cards = client.agents()
    entries = [seed_of(line, cards[line.agent], submitter) for line in lines]
    seeds, before = _run(client, entries, "seeds", progress)
    return Bootstrapped(seeds=tuple(seeds.values()), before=before)


def _run(
    client: Client, entries: Sequence[Entry], what: str, progress: Progress
) -> tuple[dict[str, OutcomeRecord], int]:
    before = sum(one.ended for one in client.outcomes([entry.journey for entry in entries]).values())
    return run_to_the_end(client, entries, lambda ended: progress(what, ended, len(entries))), before


def _domain(cards: Mapping[str, AgentCard], line: StandardAnswer) -> list[AgentCard]:
    """The agents that share the pool of a line's agent and have the line's kind."""
    pool = cards[line.agent].pool
    return [card for card in cards.values() if card.pool == pool and (line.kind is None or line.kind in card.kinds)]


def question_of(
    line: StandardAnswer, card: AgentCard, number: int, submitter: str, earlier: Sequence[str] = ()
) -> Entry:
    """The message that asks for the `number`-th question to a standard answer, other than the earlier ones."""
    name = str(derived_id("learn", card.pool, line.agent, line.kind or "", line.answer, str(number)))
    task = QuestionTask(answer=line.answer, kind=line.kind, submitter=submitter, round=number, earlier=tuple(earlier))
    return QUESTION.of(line.agent).entry(task, name, LOW)


def _holding(client: Client, answer: str, pool: str) -> list[UUID]:
    """The memories of a pool that give an answer away, under whatever question and however it is spaced."""
    return [one.id for one in client.memories.every(Where(pool=pool, saying=saying(answer)))]


def _answer(
    card: AgentCard, line: StandardAnswer, asked: str, question: str, submitter: str, given: Sequence[UUID]
) -> Entry:
    name = str(derived_id(asked, "answer of", card.name))
    body = {
        "prompt": question,
        "kind": line.kind,
        "not_shown": sorted(given),
        "submitter": submitter,
    }
    task = AgentTask.model_validate(body)
    return ANSWER.of(card.name).entry(task, name, LOW)


def seed_of(line: StandardAnswer, card: AgentCard, submitter: str) -> Entry:
    """The message that has a pair graded as a seed of its agent's pool."""
    if card.rubric is None:
        raise BadInput(f"The worker of agent {card.name!r} does not say its rubric: start it anew with this version.")
    name = str(derived_id("seed", card.pool, card.rubric, line.agent, line.kind or "", line.prompt or "", line.answer))
    pair = AnsweredTask(
        journey=name,
        agent=line.agent,
        kind=line.kind,
        pool=card.pool,
        rubric=card.rubric,
        prompt=line.prompt or "",
        answer=line.answer,
        model=None,
        submitter=submitter,
        shown=(),
        seed=True,
    )
    return SCORE.entry(pair, name, LOW, begins=True)
