from __future__ import annotations

import pytest

from memshare_broker.errors import BadInput
from memshare_broker.settings import Settings
from memshare_broker.wire.messages import Turn
from memshare_llm.build import open_limited
from memshare_llm.models import NoModelSet, has_model, open_chat, require_model
from memshare_scorer.rubric_file import Draft
from tests.support.scripted_chat import ScriptedChat

ASKED = (Turn(role="user", content="A riddle about rain"),)


def test_the_offline_model_says_nothing_but_how_to_set_one() -> None:
    chat = open_chat("offline", timeout=1, connections=1)

    for call in (lambda: chat.reply(ASKED), lambda: chat.reply(ASKED, Draft), lambda: chat.first_token(ASKED)):
        with pytest.raises(NoModelSet, match="MEMSHARE_MODEL=openai:qwen3") as caught:
            call()
        assert caught.value.reason == "no model"


def test_a_stage_sees_that_there_is_no_model_behind_what_limits_and_times_it(settings: Settings) -> None:
    limited = settings.model_copy(update={"rate_limits": "*=1 requests"})

    assert not has_model(open_limited(settings, "offline", "answers", connections=1))
    assert not has_model(open_limited(limited, "offline", "answers", connections=1))
    assert has_model(ScriptedChat())


def test_a_command_that_needs_a_model_names_itself_and_what_to_set() -> None:
    settings = Settings(model="openai:a", model_scorer="offline")

    require_model(settings, "agents", "`memshare ask`")
    with pytest.raises(BadInput, match=r"^`memshare ask` needs a chat model, and none is set\..*OPENAI_API_KEY"):
        require_model(settings, "scorer", "`memshare ask`")
