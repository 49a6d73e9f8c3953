from __future__ import annotations

from contextlib import nullcontext

import redis

from memshare_llm.limits.budget import Metered, Prices
from memshare_llm.limits.usage import UsageLog, Used
from memshare_scorer.rubric import find_rubric
from memshare_scorer.tasks import ScoreStage
from tests.support.answered import a_task
from tests.support.scripted_chat import ScriptedChat


def test_every_vote_is_charged_to_the_agent_and_the_submitter_of_the_answer(redis_client: redis.Redis) -> None:
    marks = {one.name: {"low": 0, "high": one.points / 2} for one in find_rubric("plan", None).for_kind("travel")}
    usage = UsageLog(redis_client)

    ScoreStage(
        ScriptedChat(marks, marks, marks),
        None,
        3,
        lambda _: None,
        lambda chat, payer: nullcontext(Metered(chat, payer, usage, Prices())),
    ).run("journey-1", a_task("plan"))

    assert usage.used([("agent", "plan"), ("submitter", "ada")]) == [Used(3, 30, 15), Used(3, 30, 15)]
