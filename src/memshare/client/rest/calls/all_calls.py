"""All calls: those of `Memory` itself (recall, offer, feedback, tasks, and what there is), and the groups of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal
from uuid import UUID

from memshare.client.rest.methods import Asked, Calls, call, group

if TYPE_CHECKING:
    from memshare.client.help_replies import StatsReply
    from memshare.client.replies import (
        Accepted,
        AgentReply,
        FeedbackTaken,
        PoolReply,
        Recalled,
        RubricReply,
        StatusReply,
        WholeAgentReply,
    )
    from memshare.client.rest.calls.concepts import ConceptCalls
    from memshare.client.rest.calls.decisions import (
        ConflictCalls,
        Duplicates,
        PromotionCalls,
        RubricCalls,
        SubmitterCalls,
    )
    from memshare.client.rest.calls.journeys import Journeys
    from memshare.client.rest.calls.memories import FilterArguments, Memories, TrashCalls
    from memshare.client.rest.calls.needs import NeedsCalls
    from memshare.client.rest.calls.operating import Access, Budgets, DeadLetterCalls, Jobs
    from memshare.client.rest.calls.retrievers import Retrievers
    from memshare.client.rest.calls.reviews import ReviewCalls
    from memshare_memory.memory import Mode

Turns = Sequence[Mapping[str, str]]  # that end with the task: {"role": "user" or "assistant", "content": "…"}

SHARING, WHAT_THERE_IS = "sharing", "what there is"


class Sharing(Calls[Asked]):
    """Calls for agents, and groups of all other calls. Groups are imported at their first use: their replies cost."""

    @call("post_recall", "POST", "/v1/recall", tag=SHARING)
    def recall(
        self,
        prompt: str | None = None,
        *,
        agent: str | None = None,
        pool: str | None = None,
        messages: Turns | None = None,
        k: int = 3,
        mode: Mode = "dense",
        filters: FilterArguments | None = None,
        format: Literal["memories", "messages"] = "memories",  # noqa: A002 - the field's name
    ) -> Recalled:
        """The memories to show with a task, best first, and a `recall_id` for what comes after.

        Name an agent or a pool. The format "messages" adds turns, ready to put directly before the task.
        """

    @call("post_pair", "POST", "/v1/pairs", status=202, tag=SHARING)
    def pairs(
        self,
        prompt: str | None = None,
        answer: str = "",
        *,
        agent: str | None = None,
        pool: str | None = None,
        messages: Turns | None = None,
        kind: str | None = None,
        model: str | None = None,
        recall_id: UUID | str | None = None,
        idempotency_key: str | None = None,
    ) -> Accepted:
        """Offer an answer: it is graded, and becomes a memory where it is good enough. After a 202 it is not lost.

        `recall_id` says whose memories helped. With an idempotency key the same pair is handed in once, however often
        you call; each call makes its own unless you give one.
        """

    @call("post_feedback", "POST", "/v1/feedback", status=202, tag=SHARING)
    def feedback(
        self,
        reward: float | None = None,
        *,
        recall_id: UUID | str | None = None,
        journey: str | None = None,
        memories: Mapping[UUID | str, float] | None = None,
        take_back: bool = False,
    ) -> FeedbackTaken:
        """Tell what memories of a recall or a journey were worth, 0 to 1, all or each; the first word stands.

        One reward for a journey is about its answer: it counts for the memories that the answer follows, and below .5
        it hides what became of the answer, where you curate or gave the task, and the same answer to a like prompt is
        not admitted again; `hidden` says so. `take_back` undoes all of that, for a journey.
        """

    @call("post_task", "POST", "/v1/tasks", status=202, tag=SHARING)
    def tasks(
        self,
        agent: str,
        prompt: str | None = None,
        *,
        messages: Turns | None = None,
        kind: str | None = None,
        memories: int | None = None,
        remember: bool = True,
        priority: int = 3,
        idempotency_key: str | None = None,
    ) -> Accepted:
        """Give a task to an agent; `journeys.get(id, wait=30)` waits for its answer. Keys are as in `pairs`."""

    @call("get_pools", "GET", "/v1/pools", tag=WHAT_THERE_IS)
    def pools(self) -> list[PoolReply]:
        """Your pools."""

    @call("get_agents", "GET", "/v1/agents", tag=WHAT_THERE_IS)
    def agents(self) -> list[AgentReply]:
        """The agents of your pools."""

    @call("get_agent", "GET", "/v1/agents/{name}", tag=WHAT_THERE_IS)
    def agent(self, name: str) -> WholeAgentReply:
        """An agent with its instructions and kinds, as its file says."""

    @call("get_rubrics", "GET", "/v1/rubrics", tag=WHAT_THERE_IS)
    def rubrics(self) -> list[RubricReply]:
        """How the answers of your pools are graded."""

    @call("get_rubric", "GET", "/v1/rubrics/{name}", tag=WHAT_THERE_IS)
    def rubric(self, name: str) -> RubricReply:
        """A rubric by its name."""

    @call("approve_rubric", "POST", "/v1/rubrics/{name}/approval", tag=WHAT_THERE_IS, repeatable=False)
    def approve_rubric(self, name: str, version: str, *, by: str | None = None) -> RubricReply:
        """Approve a rubric of yours after reading it, so that answers are graded by it; it takes the right `admin`.

        `version` is that of the rubric as you read it. A token approves in its own name; without one, say who `by`.
        """

    @call("withdraw_rubric", "DELETE", "/v1/rubrics/{name}/approval", tag=WHAT_THERE_IS)
    def withdraw_rubric(self, name: str) -> RubricReply:
        """Withdraw an approval (right `admin`): what is to be graded is given up until you approve, and retry it."""

    @call("get_stats", "GET", "/v1/stats", tag=WHAT_THERE_IS)
    def stats(self) -> StatsReply:
        """How many memories your pools have, and how many messages are open."""

    @call("get_status", "GET", "/v1/status", tag=WHAT_THERE_IS)
    def status(self) -> StatusReply:
        """Current status: models, workers, queues with waiting messages and the reasons, and how much is accepted."""

    access: Access[Asked] = group("operating:Access")
    journeys: Journeys[Asked] = group("journeys:Journeys")
    memories: Memories[Asked] = group("memories:Memories")
    dead_letters: DeadLetterCalls[Asked] = group("operating:DeadLetterCalls")
    concepts: ConceptCalls[Asked] = group("concepts:ConceptCalls")
    conflicts: ConflictCalls[Asked] = group("decisions:ConflictCalls")
    duplicates: Duplicates[Asked] = group("decisions:Duplicates")
    jobs: Jobs[Asked] = group("operating:Jobs")
    needs: NeedsCalls[Asked] = group("needs:NeedsCalls")
    promotions: PromotionCalls[Asked] = group("decisions:PromotionCalls")
    retrievers: Retrievers[Asked] = group("retrievers:Retrievers")
    reviews: ReviewCalls[Asked] = group("reviews:ReviewCalls")
    rubric_trials: RubricCalls[Asked] = group("decisions:RubricCalls")
    submitters: SubmitterCalls[Asked] = group("decisions:SubmitterCalls")
    trash: TrashCalls[Asked] = group("memories:TrashCalls")
    budgets: Budgets[Asked] = group("operating:Budgets")
