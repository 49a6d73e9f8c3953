"""`memshare review`: learn from a pool, each memory when it is about to be forgotten."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from typing import Annotated, Any
from uuid import UUID

import typer

from memshare.cli.options import Json, Pool, login_name
from memshare.client.answering import paid_chat
from memshare.client.client import Client
from memshare.operate.data_folder import connected
from memshare.terminal.console import console, errors, moment, panel, print_json, short, stopping, styled, table
from memshare.terminal.ids import short_id, the_pool
from memshare_broker.errors import BadInput, MemshareError
from memshare_broker.settings import OFFLINE, Settings
from memshare_concepts.reviews import GRADES, CardStore, Grade, Grading, ReviewLearner, ReviewPlan, combine, grade
from memshare_llm.chat import Chat

COLOURS = {"again": "red", "hard": "yellow", "good": "green", "easy": "cyan"}


class Session:
    """A review session. Without `chat` the person grades their own answers."""

    def __init__(self, learner: ReviewLearner, chat: Chat | None, most_new: int) -> None:
        self._learner = learner
        self._chat = chat
        self._most_new = most_new
        self._together = chat is not None
        self._suggested = learner.suggested(time.time())
        self.reviewed = 0

    def run(self) -> None:
        """Ask until nothing is due any more."""
        for one in self._learner.ungraded:
            errors.print("You had answered this, and it was not graded yet.", style="yellow")
            console.print(panel(one.question, "Question"))
            self._finish(one.memories, one.question, one.answer, self._answers(one.memories))
        while True:
            plan = self._learner.plan(time.time(), self._suggested, most_new=self._most_new, together=self._together)
            if plan.due:
                self._one(plan.due[0])
            elif plan.together:
                self._several(plan.together[0])
            elif plan.new:
                self._one(plan.new[0])
            else:
                return

    def _one(self, memory: UUID) -> None:
        question = self._learner.memories[memory].prompt or ""
        answer = _asked(question, "Question")
        self._learner.answer([memory], question, answer)
        self._finish([memory], question, answer, self._answers([memory]))

    def _several(self, memories: Sequence[UUID]) -> None:
        chosen = [self._learner.memories[one] for one in memories]
        try:
            with errors.status(f"Writing a question that needs {len(memories)} memories …"):
                combined = combine(self._model, chosen)
        except MemshareError as error:
            errors.print(f"No question could be written that needs them all: {error}", style="yellow")
            self._together = False  # one of them is asked alone
            return
        answer = _asked(combined.question, f"A question that needs {len(memories)} memories")
        self._learner.answer(memories, combined.question, answer)
        self._finish(memories, combined.question, answer, [combined.answer, *self._answers(memories)])

    def _finish(self, memories: Sequence[UUID], question: str, answer: str, right: Sequence[str]) -> None:
        """Grade an answer and note it; a grade counts for all memories that the question needed."""
        proposed = self._graded(question, answer, right)
        console.print(panel("\n\n".join(right), "Answer", "dim"))
        if proposed:
            named = (proposed.grade.capitalize(), COLOURS[proposed.grade])
            console.print(styled(named, f": {proposed.reason}"))
        chosen = _chosen(proposed.grade if proposed else None)
        self._learner.review(memories, chosen, time.time())
        self.reviewed += len(memories)

    def _graded(self, question: str, answer: str, right: Sequence[str]) -> Grading | None:
        if self._chat is None:
            return None
        if not answer.strip():
            return Grading(reason="There was no answer.", grade="again")
        try:
            with errors.status("Grading …"):
                return grade(self._model, question, right, answer)
        except MemshareError as error:
            errors.print(f"It could not be graded: {error} Grade it yourself.", style="yellow")
            return None

    @property
    def _model(self) -> Chat:
        assert self._chat is not None
        return self._chat

    def _answers(self, memories: Sequence[UUID]) -> list[str]:
        return [self._learner.memories[one].answer for one in memories]


def _asked(question: str, title: str) -> str:
    console.print(panel(question, title))
    answer: str = typer.prompt("Your answer (Enter: I do not know)", default="", show_default=False)
    return answer


def _chosen(proposed: Grade | None) -> Grade:
    """Ask for the grade: a number from 1 to 4, or Enter for the proposed grade."""
    choices = " · ".join(f"{number} {name}" for number, name in enumerate(GRADES, 1))
    accept = f"Enter accepts {proposed} · " if proposed else ""
    while True:
        typed = typer.prompt(f"{accept}{choices}", default="", show_default=False).strip()
        if not typed and proposed:
            return proposed
        if typed in ("1", "2", "3", "4"):
            return GRADES[int(typed) - 1]
        errors.print(f"Expected a number from 1 to 4{' or Enter' if proposed else ''}, not {typed!r}.", style="yellow")


SHOWN = 20  # memories of a list


def review(
    pool: Pool = None,
    person: Annotated[str | None, typer.Option(help="Who reviews. [default: your login name]")] = None,
    new: Annotated[int, typer.Option(min=0, help="Maximum new memories in a day.")] = 10,
    self_graded: Annotated[bool, typer.Option("--self-graded", help="Grade your answers yourself: no model.")] = False,
    due: Annotated[
        bool, typer.Option("--due", help="List what is due and what would be new, and ask nothing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Learn from a pool yourself: you answer, and each memory comes back when you are about to forget it.

    You type answers freely. The scorer's model proposes a grade, and your word counts.
    Every answer is kept as soon as you have given it: stop with Ctrl-C, and go on another day.

    Example: memshare review --pool plan

    Example: memshare review --due --json
    """
    if as_json and not due:
        raise BadInput("--json goes with --due: a review is a conversation.")
    with Client() as client, connected(client.settings) as redis_client:
        name = login_name() if person is None else person
        if not name.strip() or not name.isprintable() or len(name) > 200:
            raise BadInput(f"A person has a printable name of up to 200 characters, not {name[:60]!r}.")
        card_store = CardStore(redis_client, name)
        learner = ReviewLearner.of(client.memories, card_store, the_pool(client, pool), client.settings.data)
        if not learner.memories:
            raise BadInput(f"Pool {learner.pool!r} has no memory with a question: `memshare memories list` shows it.")
        now = time.time()
        if due:
            _show_due(learner, learner.plan(now, learner.suggested(now), most_new=new, together=True), now, as_json)
            return
        with _grader(client.settings, name, self_graded) as chat:
            _talk(learner, Session(learner, chat, new))


@contextlib.contextmanager
def _grader(settings: Settings, person: str, self_graded: bool) -> Iterator[Chat | None]:
    """The scorer's model, which the person pays; none where the person grades."""
    if not self_graded and settings.model_for("scorer") == OFFLINE:
        errors.print("There is no chat model, so you grade your answers yourself.")
        self_graded = True
    if self_graded:
        yield None
        return
    with paid_chat(settings, "scorer", person) as chat:
        yield chat


def _talk(learner: ReviewLearner, session: Session) -> None:
    with stopping("What you answered is kept: `memshare review` goes on."):
        session.run()
    standings = learner.standings(time.time())
    after = min((one.due for one in standings.values()), default=None)
    again = f" The next one comes back at {moment(max(after, time.time()))}." if after is not None else ""
    console.print(f"Done for now: {session.reviewed} reviewed.{again}")


def _show_due(learner: ReviewLearner, plan: ReviewPlan, now: float, as_json: bool) -> None:
    standings = learner.standings(now)

    def described(one: UUID) -> dict[str, Any]:
        known = standings.get(one)
        figures = {"due": known.due, "probability": known.probability, "stability": known.stability} if known else {}
        cluster = learner.clusters.get(one)
        return {"id": str(one), "prompt": learner.memories[one].prompt, "cluster": cluster, **figures}

    if as_json:
        lists = {"due": plan.due, "later": plan.later, "new": plan.new}
        found: dict[str, Any] = {name: [described(one) for one in of] for name, of in lists.items()}
        found["together"] = [[described(one) for one in group] for group in plan.together]
        print_json({"pool": learner.pool, **found})
        return
    waiting = [(one, "due") for one in plan.due]
    waiting += [(one, f"one question of {len(group)}") for group in plan.together for one in group]
    waiting += [(one, "another day: one of its cluster is today") for one in plan.later]
    waiting += [(one, "new") for one in plan.new]
    rows = [
        (short_id(one), f"{standings[one].probability:.2f}" if one in standings else "–", when,
         short(learner.memories[one].prompt or "", 80))
        for one, when in waiting[:SHOWN]
    ]  # fmt: skip
    console.print(table("id", "remembered", "when", "question", rows=rows))
    if len(waiting) > SHOWN:
        console.print(f"… and {len(waiting) - SHOWN} more", style="dim")
