"""`memshare concepts ask`: new questions in the style of a cluster, which an agent answers as tasks like any other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple
from uuid import UUID

import typer

from memshare.cli.concepts.open_concepts import OpenedConcepts, Size, opened
from memshare.cli.options import (
    ANSWER_WITHIN,
    AnsweredAs,
    AnsweredBy,
    AnswerTimeout,
    Json,
    Payer,
    Pool,
    Yes,
    login_name,
)
from memshare.client.answering import paid_chat
from memshare.client.client import INTERACTIVE, Client
from memshare.client.journey import Journey, outcome_of
from memshare.client.pools import agent_of
from memshare.terminal.console import console, errors, panel, print_json, short, stopping, styled, table
from memshare.terminal.ids import short_id
from memshare_broker.errors import BadInput
from memshare_broker.wire.forms import checked
from memshare_broker.wire.messages import derived_id
from memshare_concepts.open_questions import Direction, ProposedQuestion, Round, Rounds, Target, WantedQuestions

if TYPE_CHECKING:
    from memshare_concepts.proposing import Proposer
    from memshare_memory.memory import Memory


class AnsweringAgent(NamedTuple):
    """Which agent answers for a pool, with which kind of task, and who asks and pays."""

    pool: str
    name: str
    kind: str | None
    submitter: str

    def submit(self, client: Client, question: str, priority: int = INTERACTIVE) -> str:
        """Submit a question; the same one again is the same task. Returns its id."""
        task_id = derived_id("concepts ask", self.pool, self.name, self.kind or "", self.submitter, question)
        body = {"prompt": question, "submitter": self.submitter} | ({"kind": self.kind} if self.kind else {})
        return client.submit_task(self.name, body, priority, str(task_id)).id


def wait_for_all(client: Client, task_ids: Sequence[str], timeout: float) -> list[Journey]:
    """The journeys of tasks that were submitted, once each has ended."""
    with errors.status(f"The agent answers {len(task_ids)} …") as status:
        found = []
        for done, task_id in enumerate(task_ids):
            status.update(f"{done} of {len(task_ids)} answered, graded and settled …")
            found.append(client.wait(task_id, timeout))
        return found


HYPOTHESES = "hypotheses"
GO_ON = "What you decided is kept: `memshare concepts ask` with the same --pool goes on."


def ask(
    cluster: Annotated[
        list[int] | None,
        typer.Option(metavar="N", help="A cluster to ask about, as `memshare concepts clusters` has them; or several."),
    ] = None,
    count: Annotated[int, typer.Option(min=1, max=50, help="Number of questions.")] = 5,
    more_abstract: Annotated[bool, typer.Option("--more-abstract", help="More abstract than the cluster.")] = False,
    more_specific: Annotated[bool, typer.Option("--more-specific", help="More specific than the cluster.")] = False,
    topic: Annotated[str | None, typer.Option(help="Topic of the questions.")] = None,
    goal: Annotated[
        str | None,
        typer.Option(help=f"Purpose of the questions. '{HYPOTHESES}' asks between close, unconnected clusters."),
    ] = None,
    pool: Pool = None,
    size: Size = None,
    agent: AnsweredBy = None,
    kind: AnsweredAs = None,
    submitter: Payer = None,
    nearest: Annotated[
        bool, typer.Option("--nearest/--no-nearest", help="Show the nearest memories beside each question.")
    ] = True,
    known: Annotated[
        bool, typer.Option("--known", help="Tell the model what the nearest memories ask, for more tokens a call.")
    ] = False,
    discard: Annotated[bool, typer.Option("--discard", help="Drop the questions that are not decided yet.")] = False,
    yes: Yes = False,
    timeout: AnswerTimeout = ANSWER_WITHIN,
    as_json: Json = False,
) -> None:
    """Ask new questions in the style of a cluster. What you keep is answered by an agent, graded and remembered.

    None is a question that the pool has already. You keep, drop or edit each, or have others written.
    Stop with Ctrl-C: the same command goes on. With --json alone it lists them, and submits nothing.

    Example: memshare concepts ask --pool physics --cluster 12 --count 5 --more-abstract

    Example: memshare concepts ask --pool physics --goal hypotheses --yes
    """
    if more_abstract and more_specific:
        raise BadInput("Give --more-abstract or --more-specific: one of the two.")
    person = submitter or login_name()
    with opened("ask", pool, vectors=True) as found, stopping(GO_ON):
        from memshare_concepts.proposing import Proposer

        name = found.concepts.pool
        only_lists = as_json and not yes  # a pool without an agent has questions, too
        answering = AnsweringAgent(name, "" if only_lists else agent_of(found.client, name, agent), kind, person)
        rounds = Rounds(found.redis, name, person)
        if discard:
            rounds.end()
            if not cluster and goal is None:
                errors.print("What was not decided is dropped.")
                return
        direction: Direction = "more abstract" if more_abstract else "more specific" if more_specific else "alike"
        asked = rounds.read()
        if asked is not None and (cluster or goal is not None):
            if asked.those("open", "kept"):
                raise BadInput(
                    f"You have unfinished questions on {asked.wanted.target.name}: decide on them in *Needs you* of the"
                    f" page, or `memshare concepts ask --pool {name}` resumes them, and --discard drops them."
                )
            asked = None  # agents answer by themselves what the page submitted
        with paid_chat(found.client.settings, "agents", person) as chat:
            proposer = Proposer(chat, found.client.memories, name)
            if asked is None:
                target = _target(found, cluster or [], goal, size, direction)
                fields = {"target": target, "count": count, "topic": topic, "goal": goal, "with_known": known}
                asked = _begun(found, proposer, checked(WantedQuestions, "What you ask for", **fields))
                rounds.keep(asked)
            if yes:
                for one in asked.those("open"):
                    asked = asked.with_one(one.model_copy(update={"state": "kept"}))
            elif not as_json:
                asked = decide(asked, rounds, proposer, found.concepts.memories, show_nearest=nearest)
        if only_lists:
            print_json({"pool": name, "questions": [one.model_dump(mode="json") for one in asked.proposals]})
            return
        _answered(found.client, rounds, asked, answering, timeout, as_json=as_json)


def _target(
    found: OpenedConcepts, numbers: list[int], goal: str | None, size: int | None, direction: Direction
) -> Target:
    from memshare_concepts.proposing import of_clusters, of_hypotheses

    if goal == HYPOTHESES:
        if len(numbers) > 1:
            raise BadInput(
                f"--goal {HYPOTHESES} takes one --cluster at most, not {len(numbers)}: it finds the other one."
            )
        return of_hypotheses(found.concepts, found.clusters(size), numbers[0] if numbers else None)
    if not numbers:
        raise BadInput("Say which cluster, with --cluster N: `memshare concepts clusters` lists them.")
    clusters = [found.cluster(number, size)[1] for number in dict.fromkeys(numbers)]
    return of_clusters(found.concepts.graph, clusters, direction)


def _begun(found: OpenedConcepts, proposer: Any, wanted: WantedQuestions) -> Round:
    with errors.status(f"Writing questions on {wanted.target.name} …"):
        proposals = proposer.propose(wanted, found.concepts.memories)
    if not proposals:
        raise BadInput("The model wrote nothing that the pool does not have. Try another cluster, topic or goal.")
    if len(proposals) < wanted.count:
        errors.print(f"{len(proposals)} of {wanted.count}: the pool has the others already.", style="yellow")
    return Round(wanted=wanted, proposals=tuple(proposals))


def _answered(
    client: Client, rounds: Rounds, asked: Round, answering: AnsweringAgent, timeout: float, *, as_json: bool
) -> None:
    """Submit what was kept, wait for what becomes of it, and end the round."""
    for one in asked.those("kept"):
        submitted_as = {"state": "submitted", "task_id": answering.submit(client, one.question)}
        asked = asked.with_one(one.model_copy(update=submitted_as))
        rounds.keep(asked)
    submitted = asked.those("submitted")
    with stopping("The agent goes on by itself: `memshare concepts ask` with the same --pool shows what became of it."):
        journeys = wait_for_all(client, [one.task_id or "" for one in submitted], timeout)
    rounds.end()
    if as_json:
        print_json(
            {
                "pool": answering.pool,
                "questions": [
                    one.model_dump(mode="json")
                    | {
                        "answer": journey.answer,
                        "score": journey.score.total if journey.score else None,
                        "outcome": outcome_of(journey)[1],
                        "memory_id": journey.memory_id,
                    }
                    for one, journey in zip(submitted, journeys, strict=True)
                ],
            }
        )
        return
    if not submitted:
        console.print("Nothing was kept.")
        return
    rows = [
        (short(one.question, 80), *outcome_of(journey), one.task_id or "")
        for one, journey in zip(submitted, journeys, strict=True)
    ]
    console.print(table("question", "score", "outcome", "task", rows=rows))


CHOICES = "Enter or k keeps · d drops · e edits · r: others in place of all that are left"


def decide(
    found: Round, rounds: Rounds, proposer: Proposer, memories: Mapping[UUID, Memory], *, show_nearest: bool
) -> Round:
    """Ask for each open question what is to become of it; every decision is kept at once."""
    while still_open := found.those("open"):
        one = still_open[0]
        _show(one, len(still_open), memories if show_nearest else None)
        typed = typer.prompt(CHOICES, default="k", show_default=False).strip().lower()
        if typed == "k":
            found = found.with_one(one.model_copy(update={"state": "kept"}))
        elif typed == "d":
            found = found.with_one(one.model_copy(update={"state": "dropped"}))
        elif typed == "e":
            found = _edited(found, one, proposer)
        elif typed == "r":
            found = _others(found, proposer, memories)
        else:
            errors.print(f"Expected k, d, e or r, not {typed!r}.", style="yellow")
        rounds.keep(found)
    return found


def _show(one: ProposedQuestion, left: int, memories: Mapping[UUID, Memory] | None) -> None:
    """A question, with the memories nearest to it where these are given."""
    console.print(panel(one.question, styled((one.id, "bold"), f" · {left} left")))
    if memories is not None and one.nearest:
        rows = [
            (
                short_id(near.id),
                f"{near.similarity:.2f}",
                short(memories[near.id].key if near.id in memories else "–", 100),
            )
            for near in one.nearest
        ]
        console.print(table("id", "similarity", "known already", rows=rows))


def _edited(found: Round, one: ProposedQuestion, proposer: Proposer) -> Round:
    # Not shown as the default: the terminal would get it as the model wrote it.
    text = typer.prompt("The question (Enter keeps it as it is)", default=one.question, show_default=False).strip()
    if text == one.question:
        return found.with_one(one.model_copy(update={"state": "kept"}))
    others = [each.question for each in found.those("kept", "open", "submitted") if each.id != one.id]
    checked = proposer.checked([text], others)
    if not checked:
        errors.print("The pool, or this list, has that question already. Edit it again, or drop it.", style="yellow")
        return found
    return found.with_edited(one, checked[0])


def _others(found: Round, proposer: Proposer, memories: Mapping[UUID, Memory]) -> Round:
    """New questions in place of those that are open, from the kept ones."""
    kept = [one.question for one in found.those("kept", "submitted")]
    not_again = [one.question for one in found.those("open", "dropped")]
    wanted = found.wanted.model_copy(update={"count": len(found.those("open"))})
    with errors.status("Writing others …"):
        return found.with_others(proposer.propose(wanted, memories, kept, not_again))
