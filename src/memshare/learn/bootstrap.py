"""Interactive learning: a pool is begun from standard answers alone, or from pairs.

For each answer its agent is asked for a question; the question goes to all agents of the domain; all is graded.
"""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from memshare.client.client import LOW, Client
from memshare.files.json_lines import as_pair, read_objects, refuse
from memshare.terminal.console import errors
from memshare_broker.app import MEMORY_QUEUE, SCORER_QUEUE
from memshare_broker.connection import reaching
from memshare_broker.delivery.hops import ANSWER, QUESTION, SCORE, NextMessage
from memshare_broker.delivery.journey_records import OutcomeRecord
from memshare_broker.errors import BadInput, QueueFull
from memshare_broker.presence import AgentCard
from memshare_broker.wire.forms import Written, refuse_too_long
from memshare_broker.wire.grades import QuestionTask
from memshare_broker.wire.messages import AgentTask, Message, SeedPair, derived_id
from memshare_memory.memory import saying
from memshare_memory.stores.store import Where


class StandardAnswer(Message):
    """A line: an answer that is known to be good, the agent and kind it is for, and its question where it has one.

    Where it comes from may stand beside it, for people.
    """

    agent: str
    kind: str | None = None
    prompt: Written | None = None
    answer: Written
    source: str | None = None
    title: str | None = None


def read_standard_answers(
    client: Client, file: Path, agent: str | None, kind: str | None, *, with_prompts: bool
) -> list[StandardAnswer]:
    """The lines of a file, each once; `agent` and `kind` stand in where a line names none.

    Raises `BadInput` that names the wrong lines: before all are right, nothing is paid for.
    """
    given = {name: value for name, value in (("agent", agent), ("kind", kind)) if value is not None}
    cards, limit = client.agents(), client.settings.prompt_limit

    def made(said: dict[str, Any]) -> StandardAnswer:
        line = given | as_pair(said)
        if "agent" not in line:
            raise BadInput('no agent: give one as "agent" in the line, or with --agent')
        return _checked(StandardAnswer.model_validate(line), cards, limit, with_prompts)

    prompt = '"prompt": "…", ' if with_prompts else ""
    found, faults = read_objects(file, "the line", made, f'{{"agent": "logic", {prompt}"answer": "…"}}')
    refuse(faults, "Nothing was submitted.")
    return list(dict.fromkeys(line.model_copy(update={"source": None, "title": None}) for _, line in found))


def _checked(line: StandardAnswer, cards: dict[str, AgentCard], limit: int, with_prompts: bool) -> StandardAnswer:
    card = cards.get(line.agent)
    if card is None:
        raise BadInput(f"no agent is called {line.agent!r}; there are {', '.join(sorted(cards))}")
    if line.kind is not None and line.kind not in card.kinds:
        known = ", ".join(card.kinds) or "none; leave the kind out"
        raise BadInput(f"agent {line.agent!r} has no kind {line.kind!r}; it has {known}")
    if with_prompts and line.prompt is None:
        raise BadInput("no prompt: `memshare learn` takes answers without their questions")
    if not with_prompts and line.prompt is not None:
        raise BadInput("it has its prompt: `memshare seed` takes pairs")
    refuse_too_long(limit, prompt=line.prompt, answer=line.answer)
    return line


LOOK_EVERY = 0.2  # seconds
QUIET = 5.0  # seconds in which nothing ended, after which it is said what it waits for


def run_to_the_end(
    client: Client, messages: Sequence[NextMessage], progress: Callable[[int], None] = lambda _: None
) -> dict[str, OutcomeRecord]:
    """Outcomes of these journeys, by id, once all have ended; `progress` is told how many have.

    What was opened before is waited for and not opened again. A full queue is waited for, too. Raises `Unreachable`.
    """
    known = client.outcomes([one.journey for one in messages])
    to_open = deque(one for one in messages if one.journey not in known)
    waiting = {one.journey for one in messages if not (one.journey in known and known[one.journey].ended)}
    hints, quiet_since = Hints(client, {one.hop.queue for one in messages}), time.monotonic()
    while True:
        progress(len(known.keys() - waiting))
        if not waiting:
            return known
        try:
            while to_open:
                client.send(to_open[0], keep=True)
                to_open.popleft()
        except QueueFull as full:
            hints.say(str(full))
        ended = {name: one for name, one in client.outcomes(sorted(waiting)).items() if one.ended}
        if ended:
            known, waiting, quiet_since = known | ended, waiting - ended.keys(), time.monotonic()
            continue
        if time.monotonic() - quiet_since > QUIET:
            hints.look(waiting)
            quiet_since = time.monotonic()
        time.sleep(LOOK_EVERY)


class Hints:
    """Says what is waited for, each thing once."""

    def __init__(self, client: Client, queues: set[str]) -> None:
        self._client = client
        self._queues = sorted(queues | {SCORER_QUEUE, MEMORY_QUEUE})
        self._said: set[str] = set()

    def look(self, waiting: set[str]) -> None:
        if unserved := self._client.unserved(self._queues):
            self.say(unserved)
        with reaching(self._client.settings.redis):
            parked = self._client.ledger.parked.all()
        ids = waiting | {str(derived_id(one, SCORE.name)) for one in waiting} if parked else set()
        for why in sorted({one.why for one in parked if one.id in ids}):
            self.say(f"Waits: {why}")

    def say(self, line: str) -> None:
        if line not in self._said:
            self._said.add(line)
            errors.print(line, style="yellow")


Progress = Callable[[str, int, int], None]
"""Is told what is done at the time, how many of it have ended and how many there are."""


@dataclass(frozen=True)
class Bootstrapped:
    """Outcome of each standard answer with its question, and of each answer that agents gave to a question.

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
        for line, message in zip(lines, asked, strict=True):
            if (question := seeds[message.journey].question) is None:
                continue
            earlier[line].append(question)
            given = _holding(client, line.answer, cards[line.agent].spaces(submitter).pools[0])
            answering += [
                _answer(card, line, message.journey, question, submitter, given) for card in _domain(cards, line)
            ]
        answers, before = _run(client, answering, f"{what}answers", progress)
        learnt += Bootstrapped(answers=tuple(answers.values()), before=before)
    return learnt


def seed(client: Client, lines: Sequence[StandardAnswer], submitter: str, progress: Progress) -> Bootstrapped:
    """Grade pairs that have their question."""
    cards = client.agents()
    messages = [seed_of(line, cards[line.agent], submitter) for line in lines]
    seeds, before = _run(client, messages, "seeds", progress)
    return Bootstrapped(seeds=tuple(seeds.values()), before=before)


def _run(
    client: Client, messages: Sequence[NextMessage], what: str, progress: Progress
) -> tuple[dict[str, OutcomeRecord], int]:
    before = sum(one.ended for one in client.outcomes([message.journey for message in messages]).values())
    return run_to_the_end(client, messages, lambda ended: progress(what, ended, len(messages))), before


def _domain(cards: Mapping[str, AgentCard], line: StandardAnswer) -> list[AgentCard]:
    """The agents that share the pool of a line's agent and have the line's kind."""
    pool = cards[line.agent].pool
    return [card for card in cards.values() if card.pool == pool and (line.kind is None or line.kind in card.kinds)]


def question_of(
    line: StandardAnswer, card: AgentCard, number: int, submitter: str, earlier: Sequence[str] = ()
) -> NextMessage:
    """The message that asks for the `number`-th question to a standard answer, other than the earlier ones."""
    pool, *_ = card.spaces(submitter).pools
    name = str(derived_id("learn", pool, line.agent, line.kind or "", line.answer, str(number)))
    task = QuestionTask(answer=line.answer, kind=line.kind, submitter=submitter, round=number, earlier=tuple(earlier))
    return QUESTION.of(line.agent).next(task, name, LOW)


def _holding(client: Client, answer: str, pool: str) -> list[UUID]:
    """The memories of a pool that give an answer away, under whatever question and however it is spaced."""
    return [one.id for one in client.memories.every(Where(pool=pool, saying=saying(answer)))]


def _answer(
    card: AgentCard, line: StandardAnswer, asked: str, question: str, submitter: str, given: Sequence[UUID]
) -> NextMessage:
    name = str(derived_id(asked, "answer of", card.name))
    body = {
        "prompt": question,
        "kind": line.kind,
        "not_shown": sorted(given),
        "submitter": submitter,
    }
    task = AgentTask.model_validate(body)
    return ANSWER.of(card.name).next(task, name, LOW)


def seed_of(line: StandardAnswer, card: AgentCard, submitter: str) -> NextMessage:
    """The message that has a pair graded as a seed of its agent's pool."""
    if card.rubric is None:
        raise BadInput(f"The worker of agent {card.name!r} does not say its rubric: start it anew with this version.")
    pool, *_ = card.spaces(submitter).pools
    name = str(derived_id("seed", pool, card.rubric, line.agent, line.kind or "", line.prompt or "", line.answer))
    pair = SeedPair(
        journey=name,
        agent=line.agent,
        kind=line.kind,
        pool=pool,
        rubric=card.rubric,
        prompt=line.prompt or "",
        answer=line.answer,
        submitter=submitter,
    )
    return SCORE.next(pair, name, LOW, begins=True)
