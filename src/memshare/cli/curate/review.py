"""`memshare review`: learn from a pool, each memory when it is about to be forgotten."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Annotated, Any
from uuid import UUID

import typer

from memshare.cli.curate.review_session import Session
from memshare.cli.options import Json, Pool, login_name
from memshare.client.client import Client
from memshare.client.paid_chat import paid_chat
from memshare.operate.own_redis import connected
from memshare.terminal.consent import stopping
from memshare.terminal.console import console, errors, moment, print_json, short, table
from memshare.terminal.ids import short_id
from memshare.terminal.memory_pages import the_pool
from memshare_broker.errors import BadInput
from memshare_broker.settings import OFFLINE, Settings
from memshare_concepts.reviews.card_store import CardStore
from memshare_concepts.reviews.learner import ReviewLearner
from memshare_concepts.reviews.plan import ReviewPlan
from memshare_llm.chat import Chat

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
