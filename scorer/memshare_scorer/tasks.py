"""The Celery tasks of the queue `scorer`.

`scorer.score` grades agents' answers, `scorer.offer` those of others, and `scorer.compare` finds contradictions.
"""

from __future__ import annotations

import functools
import logging
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote

from memshare_broker.app import App
from memshare_broker.delivery.hops import COMPARE, NOTE_COMPARED, OFFER, SCORE, SETTLE
from memshare_broker.delivery.stage import PRIORITY, Outcome, Stage, StageServices, add_stage
from memshare_broker.errors import BadInput, GiveUp, NotYet, TryAgain, is_waiting
from memshare_broker.observe import tracing
from memshare_broker.observe.logs import ids
from memshare_broker.observe.metrics import count, observe
from memshare_broker.settings import PROMPT_LIMIT
from memshare_broker.wire.forms import refuse_too_long
from memshare_broker.wire.grades import GradedTask, OfferedPair, Score, Settlement
from memshare_broker.wire.lessons import Compared, ComparedPairs, CompareTask
from memshare_broker.wire.messages import (
    LOWEST_PRIORITY,
    AgentPair,
    AnyPair,
    OutsidePair,
    RegradePair,
    SeedPair,
    Usage,
    derived_id,
)
from memshare_llm.batches import LEFT_OUT, TOO_MUCH, Batches
from memshare_llm.chat import Chat
from memshare_llm.limits.budget import Metering, Payer, uncapped, unmetered
from memshare_llm.models import NONE_SET, NoModelSet, has_model
from memshare_scorer.contradiction import compare
from memshare_scorer.grading import KnownAgents, NotGraded, PairToGrade, grade, is_checked
from memshare_scorer.rubric import (
    Rubric,
    SeedsMean,
    UnknownRubric,
    find_rubric,
    rubric_files,
    threshold_for,
    without_seeds,
)

log = logging.getLogger(__name__)

KEPT_FREE = 2  # threads of a worker, or a quarter where it has few
SOON, LATE, LOOKS = 0.2, 2.0, 20  # seconds; looks a second of all that wait


class Places:
    """Places for tasks that ask a model, two fewer than the worker has threads: what a program grades waits for none.

    A task without a place waits beside its queue for about as long as a place is taken, and longer where more wait, for
    each look takes some milliseconds.
    """

    def __init__(self, threads: int, waiting: Callable[[], int] = lambda: 0) -> None:
        self._free = threading.BoundedSemaphore(max(1, threads - min(KEPT_FREE, threads // 4 or 1)))
        self._waiting = waiting
        self._taken_for = SOON

    @contextmanager
    def take(self) -> Iterator[None]:
        """A place for as long as a model is asked; raises `NotYet` where there is none."""
        if not self._free.acquire(blocking=False):
            seconds = random.uniform(1, 2) * max(SOON, min(self._taken_for, LATE), self._waiting() / LOOKS)
            raise NotYet("The model is grading other answers first.", seconds, hold="scorer")
        began = time.monotonic()
        try:
            yield
        finally:
            self._taken_for = (self._taken_for + time.monotonic() - began) / 2
            self._free.release()


@dataclass(frozen=True)
class ScoreStage:
    """The scorer at work, with its model and the user's folder of rubrics."""

    chat: Chat
    agents_dir: Path | None
    votes: int
    seeds_mean: SeedsMean
    metering: Metering = unmetered
    check_caps: Callable[[str, str], None] = uncapped
    """Raises `NotYet` where the cap of an agent or of a submitter is reached."""
    text_limit: int = PROMPT_LIMIT
    """The longest prompt or answer that is taken from outside, in characters."""
    agents: KnownAgents = field(default_factory=KnownAgents)
    """Of which each pair from outside stands as the answer of one."""
    places: Places = field(default_factory=lambda: Places(32))
    note_unsure: Callable[[str, str, bool], None] = lambda _model, _rubric, _unsure: None
    """Is told of each grading by a model whether it was unsure, with the model and the rubric."""
    note_ungraded: Callable[[AgentPair], None] = lambda _task: None
    """Is told of each answer that nobody can grade."""
    metering_later: Metering | None = None
    """The same as `metering` for tasks of the lowest priority, where they may wait for a batch."""

    def offer(self, journey: str, pair: OfferedPair) -> Outcome:
        """Grade a pair that no agent of memshare answered; its submitter pays for it."""
        refuse_too_long(self.text_limit, prompt=pair.prompt, answer=pair.answer)
        card = self.agents.require(pair)
        self.check_caps(pair.agent, pair.submitter)
        task = pair.answered(journey).model_copy(update={"spaces": card.spaces(pair.submitter)})
        return self.run(journey, task, letter=journey) if pair.trial is None else self._try(journey, task, pair.trial)

    def _rubric(self, name: str) -> Rubric:
        try:
            return find_rubric(name, self.agents_dir)
        except UnknownRubric as error:
            folder = f"MEMSHARE_AGENTS_DIR set to the folder that has {name}.rubric.toml"
            raise BadInput(f"{error} The scorer, too, has to be started with {folder}.") from error
        except BadInput as error:
            raise GiveUp(f"{error} Mend the file, then `memshare dead retry --reason rubric`.", "rubric") from error

    def _try(self, journey: str, task: AnyPair, name: str) -> Outcome:
        """Grade the pair by a rubric that need not be approved, to see what it would say; nothing is remembered."""
        rubric = self._rubric(name)
        if not rubric.approved and any(one.check is not None for one in rubric.criteria):
            raise BadInput(
                f"Rubric {name!r} is not approved, and has checks: its programs are not run before somebody has read "
                "them. Approve it first."
            )
        if not has_model(self.chat) and not is_checked(rubric, task.kind):
            return _not_graded(rubric, task)
        try:
            return Outcome(self._grade(journey, task, rubric), ended="tried")
        except NotGraded as error:
            return _ungraded(task, str(error))

    def run(self, journey: str, task: AnyPair, *, letter: str | None = None) -> Outcome:
        """Grade the pair and hand it on; raises `GiveUp` where the rubric is not approved.

        Without a model nothing is graded but by programs: any other pair ends here, and a seed is given up, so that
        it can be tried again.
        `letter` is the id of the message where it is not derived from the journey's."""
        rubric = self._rubric(task.rubric)
        if not rubric.approved:
            file = rubric_files(self.agents_dir)[rubric.name]
            letter = letter or str(derived_id(journey, SCORE.name))
            raise GiveUp(
                f"Rubric {rubric.name!r} (version {rubric.version}) is not approved, so nothing is graded by it. "
                f"Run `memshare rubric approve {quote(str(file))}`, then `memshare dead retry {letter}`.",
                "rubric",
            )
        if not has_model(self.chat) and not is_checked(rubric, task.kind):
            self._note(task)
            return _not_graded(rubric, task)
        try:
            score = self._grade(journey, task, rubric)
        except NotGraded as error:
            self._note(task)
            return _ungraded(task, str(error))
        except Exception as error:
            if not is_waiting(error):
                self._note(task)
            raise
        graded = GradedTask(task=task, score=score)
        of = {"agent": task.agent, "kind": task.kind or ""}
        counted = (
            *observe("memshare_score", score.total, **of),
            count("memshare_graded_total", **of, accepted=str(score.accepted).lower()),
        )
        is_answer = isinstance(task, AgentPair | OutsidePair)  # no seed, no sub-question, no memory graded again
        return Outcome(
            score, SETTLE.next(graded), "accepted" if score.accepted else "rejected", counted if is_answer else ()
        )

    def _note(self, task: AnyPair) -> None:
        if isinstance(task, AgentPair):
            self.note_ungraded(task)

    def _grade(self, journey: str, task: AnyPair, rubric: Rubric) -> Score:
        threshold = threshold_for(rubric, task.pool, without_seeds if isinstance(task, SeedPair) else self.seeds_mean)
        known = task.known if isinstance(task, AgentPair | RegradePair) else ()
        pair = PairToGrade(task.kind, task.prompt, task.answer, known)
        place = nullcontext() if is_checked(rubric, task.kind) else self.places.take()
        can_wait = PRIORITY.get() >= LOWEST_PRIORITY and task.what != "offer"
        metering = (self.metering_later if can_wait else None) or self.metering
        with place, metering(self.chat, Payer(journey, task.agent, task.submitter)) as chat:
            noted = functools.partial(self.note_unsure, self.chat.name, rubric.name)
            score = grade(chat, rubric, threshold, pair, self.votes, noted)
        tracing.note({"memshare.score": score.total})
        for one in tracing.evaluations(score):
            tracing.event(journey, "gen_ai.evaluation.result", one)
        verdict = "accepted" if score.accepted else "not accepted"
        about = ids(task_id=journey, agent=task.agent, kind=task.kind)
        log.info("Graded %.1f of 100, %s at %.1f.", score.total, verdict, threshold, extra=about)
        return score


def _not_graded(rubric: Rubric, task: AnyPair) -> Outcome:
    reason = f"no model, and rubric {rubric.name!r} has criteria that no program checks. {NONE_SET}"
    if isinstance(task, SeedPair):
        raise NoModelSet(f"Not graded: {reason}")
    return _ungraded(task, reason)


def _ungraded(task: AnyPair, reason: str) -> Outcome:
    """The end of a pair that nobody can grade."""
    log.info("Not graded: %s", reason, extra=ids(task_id=task.journey, agent=task.agent, kind=task.kind))
    settlement = Settlement(memory_id=None, outcome="not graded", reason=reason)
    return Outcome(settlement, ended="not graded", kept={"outcome": settlement.outcome})


@dataclass(frozen=True)
class CompareStage:
    """The scorer as it compares memories, with its model."""

    chat: Chat
    batches: Batches[CompareTask, Compared]
    places: Places
    metering: Metering = unmetered

    def run(self, journey: str, task: CompareTask) -> Outcome:
        """Ask which memories contradict the one, with those that wait for the same; or wait.

        Without a model nothing is asked, and what is too long for the model, or refused by its content
        filter, is left out.
        """
        nothing = Compared(memory_id=task.memory.id, contradicted={}, compared=0, model=self.chat.name, usage=Usage())
        about = ids(task_id=journey, memory_id=task.memory.id, pool=task.pool)
        if not has_model(self.chat):
            return Outcome(nothing, ended="no model")
        try:
            compared = self.batches.said(journey) or self.batches.ask(task, self._ask)
        except (TryAgain, GiveUp) as error:
            if error.reason in TOO_MUCH - LEFT_OUT:  # until it is compared, it is shown beside no proven one
                raise self.batches.later(task, error) from error
            if error.reason not in LEFT_OUT:
                raise
            log.warning("Not compared: %s", error, extra=about)
            return Outcome(nothing, ended="not compared", goes_without=error)
        found = len(compared.contradicted)
        log.info("Compared with %d memories, of which %d contradict it.", compared.compared, found, extra=about)
        others = tuple(other.id for other in task.others)
        texts = {one.id: one.digest for one in (task.memory, *task.others)}
        pairs = ComparedPairs(journey=journey, pool=task.pool, compared=compared, others=others, said=texts)
        return Outcome(compared, NOTE_COMPARED.next(pairs), "contradicts" if found else "agrees")

    def _ask(self, tasks: Sequence[CompareTask]) -> dict[str, Compared]:
        first = tasks[0]
        payer = Payer(first.journey, first.agent, first.submitter)
        with self.places.take(), self.metering(self.chat, payer) as chat:
            return compare(chat, tasks)


def register(
    app: App,
    services: Callable[[], StageServices],
    scoring: Callable[[], ScoreStage],
    comparing: Callable[[], CompareStage],
) -> None:
    """Register the tasks; what they need is built when the first message comes."""
    add_stage(app, Stage(SCORE, lambda journey, task: scoring().run(journey, task)), services)
    add_stage(app, Stage(OFFER, lambda journey, pair: scoring().offer(journey, pair)), services)
    add_stage(app, Stage(COMPARE, lambda journey, task: comparing().run(journey, task)), services)
