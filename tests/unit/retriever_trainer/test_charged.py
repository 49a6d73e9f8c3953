from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import redis

from memshare_broker.errors import NotYet
from memshare_broker.settings import Settings
from memshare_broker.wire.messages import Turn
from memshare_llm.build import open_metering
from memshare_llm.chat import FirstToken
from memshare_llm.limits.usage import Kind, UsageLog, Used
from memshare_trainer.labels import Labeller
from tests.support.deployment import wait_for
from tests.support.lessons import lesson
from tests.support.scripted_chat import ScriptedChat


class Allowance(ScriptedChat):
    """Tells so many first tokens, then that its rate limit is used up."""

    left = 3

    def first_token(self, turns: Sequence[Turn]) -> FirstToken:
        with self._lock:
            self.left -= 1
            if self.left < 0:
                raise NotYet("the limit is used up", 1, "rate scripted")
        return super().first_token(turns)


def first_tokens(turns: Sequence[Turn]) -> Mapping[str, float]:
    """Sure of the examples of one form."""
    return {"Yes": 1.0} if json.loads(turns[-1].content)["example"]["prompt"].startswith("form1") else {"No": 1.0}


def written(client: redis.Redis, holder: tuple[Kind, str]) -> list[Used] | None:
    """What a holder has used, once it stands in Redis: whoever counts writes it a moment later."""
    found = UsageLog(client).used([holder])
    return found if found[0].calls else None


def test_labels_are_charged_to_whom_the_memory_came_from_once_each_whatever_the_limit(
    settings: Settings, redis_client: redis.Redis
) -> None:
    task = lesson(1).model_copy(update={"agent": "poem", "submitter": "ada"})
    chat = Allowance(first_tokens=first_tokens)
    labeller = Labeller(chat, open_metering(settings), "logprobs")
    goes = 0

    labels = None
    while labels is None:
        goes += 1
        try:
            labels = labeller.label(task)
        except NotYet:
            chat.left = 3

    calls = len(task.candidates)
    assert goes == -(-calls // 3)
    assert labels.values == Labeller(ScriptedChat(first_tokens=first_tokens), way="logprobs").label(task).values
    assert labels.usage.prompt_tokens == 10 * calls
    assert len(chat.asked_for_first_tokens) == calls
    for holder in (("agent", "poem"), ("submitter", "ada")):
        [used] = wait_for(lambda: written(redis_client, holder), 10, "what was used to be written")  # noqa: B023
        assert used[:3] == (calls, 10 * calls, calls)


def test_a_memory_without_an_agent_is_charged_to_its_submitter_alone(
    settings: Settings, redis_client: redis.Redis
) -> None:
    labeller = Labeller(ScriptedChat(first_tokens=first_tokens), open_metering(settings), "logprobs")

    labeller.label(lesson(1))

    wait_for(lambda: written(redis_client, ("submitter", "anonymous")), 10, "what was used to be written")
    today = UsageLog(redis_client).today()
    assert today["agent"] == {}
    assert today["submitter"]["anonymous"].calls == len(lesson(1).candidates)
