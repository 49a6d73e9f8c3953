"""Rubrics on trial: what another rubric says of the last graded pairs of an agent, and how a drafted one came about."""

from __future__ import annotations

from memshare.client.errors import NotFound
from memshare.client.rest.calls.decisions import RubricCalls, TriedPair
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller, audit
from memshare.operations.journeys import journeys, own_journey
from memshare.operations.listings import RubricName, rubric
from memshare.operations.serving import serves
from memshare_broker.delivery.hops import OFFER
from memshare_broker.errors import BadInput
from memshare_broker.wire.forms import Label
from memshare_broker.wire.grades import OfferedPair
from memshare_broker.wire.messages import derived_id
from memshare_scorer.rubric import rubric_files
from memshare_scorer.rubric_file import Drafting

TRIED = 10  # pairs
LOOKED_AT = 100  # journeys


@serves(RubricCalls.drafting, right="admin")
def drafting(backend: Backend, caller: Caller, name: RubricName) -> Drafting | None:
    """How a rubric came about; None of one that was not drafted."""
    from memshare_scorer.rubric_file import read_drafting

    rubric(backend, caller, name)
    return read_drafting(rubric_files(backend.settings.agents_dir)[name])


@serves(RubricCalls.tried, right="admin")
def tried(backend: Backend, caller: Caller, name: RubricName) -> list[TriedPair]:
    """The latest pairs that this version of a rubric was tried on, the last one first."""
    version = rubric(backend, caller, name).version
    graded = [one for one in journeys(backend, caller, limit=LOOKED_AT).journeys if one.score is not None]
    found = [_tried(backend, caller, one.id, _trial(name, version, one.id)) for one in graded]
    return [one for one in found if one is not None][:TRIED]


@serves(RubricCalls.try_it, "TrialForm", right="admin")
def try_it(backend: Backend, caller: Caller, name: RubricName, agent: Label) -> list[TriedPair]:
    """Hand in the last graded pairs of an agent to be graded by a rubric; those that it has graded are not again."""
    version = rubric(backend, caller, name).version
    card = backend.agent(caller, agent)
    listed = journeys(backend, caller, agent=card.name, limit=LOOKED_AT).journeys
    graded = [one.id for one in listed if one.score is not None][:TRIED]
    if not graded:
        raise BadInput(f"No answer of the agent {card.name!r} was graded lately, so there is nothing to try it on.")
    backend.check_caps(card.name, caller.name)
    for one in graded:
        journey = own_journey(backend, caller, one)
        pair = OfferedPair(
            agent=card.name,
            pool=card.spaces(caller.name).pools[0],
            rubric=card.rubric or "",
            trial=name,
            kind=journey.kind,
            prompt=journey.prompt,
            answer=journey.answer or "",
            model=journey.model,
            submitter=caller.name,
            remember=False,
        )
        backend.client.send(OFFER.next(pair, _trial(name, version, one)))
    audit(caller, "try", rubric=name, agent=card.name, pairs=len(graded))
    return tried(backend, caller, name)


def with_answers(backend: Backend, caller: Caller) -> frozenset[str]:
    """The agents that answers graded lately are of."""
    listed = journeys(backend, caller, limit=LOOKED_AT).journeys
    return frozenset(one.agent for one in listed if one.score is not None)


def _trial(name: str, version: str, journey: str) -> str:
    """The journey in which a version of a rubric is tried on a pair: it is one, however often it is asked for."""
    return str(derived_id("trial", name, version, journey))


def _tried(backend: Backend, caller: Caller, journey: str, trial: str) -> TriedPair | None:
    try:
        after = own_journey(backend, caller, trial)
    except NotFound:
        return None
    before = own_journey(backend, caller, journey)
    assert before.score is not None
    return TriedPair(
        journey=journey,
        prompt=before.prompt,
        before=before.score,
        trial=trial,
        after=after.score,
        error=after.error or (after.reason if after.score is None else None),
    )
