"""What the experiments measure: shares of right answers, and of memories shown."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.sql.world import AGENT, TESTER, World, pairs_of
from benchmarks.support.deployment import Answered, Deployment
from benchmarks.support.orders import Say
from memshare.demo.text_to_sql import SqlQuestion

BATCH = 10
EDGE = 100  # questions at the beginning and at the end of a stream


def with_encoder_alone(at: Deployment, of: World, memories: Sequence[SqlQuestion]) -> float:
    """What is right with these memories in a pool that has learnt nothing; measured before any other pool has."""
    at.bring_in(pairs_of(memories), of.people(len(memories)), "encoder")
    return unseen_right(at, of, ["encoder"])


def with_nothing_learnt(at: Deployment, of: World) -> tuple[float, float]:
    """What is right at either end of the stream without anything learnt: how hard the questions there are."""
    ends = [*of.stream[:EDGE], *of.stream[-EDGE:]]
    answered = _ask_unremembered(at, ends, ["encoder"])
    right = of.right(ends, [one.answer for one in answered])
    return share(right[:EDGE]), share(right[EDGE:])


def ask_stream(at: Deployment, of: World, people: Sequence[str], say: Say) -> list[bool]:
    """Ask the stream's questions in batches, each when all that follows the one before is done; which were right."""
    right: list[bool] = []
    for start in range(0, len(of.stream), BATCH):
        asked = of.stream[start : start + BATCH]
        answered = at.ask([one.text for one in asked], [AGENT], people, remember=True)
        right += of.right(asked, [one.answer for one in answered])
        if start % EDGE == 0:
            say(f"{start} of {len(of.stream)} questions asked, {sum(right)} right")
    return right


def unseen_right(at: Deployment, of: World, agents: Sequence[str] = (AGENT,)) -> float:
    """The share of unseen questions that agents in turn answer right."""
    answered = _ask_unremembered(at, of.unseen, agents)
    return share(of.right(of.unseen, [one.answer for one in answered]))


def right_and_spoiled(at: Deployment, of: World, spoiled: set[str]) -> tuple[float, float]:
    """The share of unseen questions answered right, and that of the places shown that a spoiled memory took."""
    answered = _ask_unremembered(at, of.unseen, [AGENT])
    shown = [memory in spoiled for one in answered for memory in one.shown]
    return share(of.right(of.unseen, [one.answer for one in answered])), share(shown)


def gap(encoder: float, reached: float, possible: float) -> float | None:
    """The share of the way from the encoder to what is possible; None where there is no way."""
    return (reached - encoder) / (possible - encoder) if possible > encoder else None


def share(found: Sequence[bool]) -> float:
    """The share of those that are true; 0 of none."""
    return sum(found) / len(found) if found else 0.0


def _ask_unremembered(at: Deployment, questions: Sequence[SqlQuestion], agents: Sequence[str]) -> list[Answered]:
    """Nothing is learnt from these, and nothing withheld."""
    return at.ask([one.text for one in questions], agents, [TESTER], remember=False)
