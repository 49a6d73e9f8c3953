"""Rubrics before they hold: how a drafted one came about, and what it says of pairs that were graded."""

from __future__ import annotations

from pydantic import Field

from memshare.client.rest.methods import Asked, Calls, call
from memshare_broker.wire.grades import Score
from memshare_broker.wire.messages import Message
from memshare_scorer.rubric_file import Drafting


class TriedPair(Message):
    """A pair that was graded, and what another rubric says of it."""

    journey: str
    prompt: str
    before: Score
    trial: str = Field(description="the journey in which it is graded by the other rubric")
    after: Score | None = Field(description="null until then")
    error: str | None = Field(description="why it was given up")


TriedPairs = list[TriedPair]


class RubricCalls(Calls[Asked]):
    """Rubrics before they hold."""

    @call("get_drafting", "GET", "/v1/rubrics/{name}/drafting")
    def drafting(self, name: str) -> Drafting | None:
        """The drafts of a rubric, what was thought of each, and what was taken; it takes the right `admin`.

        null of a rubric that no model drafted.
        """

    @call("get_rubric_trial", "GET", "/v1/rubrics/{name}/trial")
    def tried(self, name: str) -> TriedPairs:
        """A rubric's grades for graded pairs, beside their earlier grades; it takes the right `admin`."""

    @call("try_rubric", "POST", "/v1/rubrics/{name}/trial", status=202)
    def try_it(self, name: str, agent: str) -> TriedPairs:
        """Have the last ten graded pairs of an agent graded by another rubric, to see what it says.

        The rubric need not be approved. Nothing is remembered or learnt of it. It takes the right `admin`.
        """
