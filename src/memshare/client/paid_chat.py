"""The chat model of a command: within its rate limit, and counted and capped as who runs the command."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import uuid4

from memshare_broker.settings import Role, Settings
from memshare_llm.chat import Chat, ChatAround, ChatCall, R
from memshare_llm.limits.metered import Payer
from memshare_llm.no_model import require_model
from memshare_llm.worker import open_budget, open_limited, open_metering


class CappedChat(ChatAround):
    """Looks before each call whether its payer's cap allows it, and raises `NotYet` where not."""

    def __init__(self, chat: Chat, check: Callable[[], None]) -> None:
        super().__init__(chat)
        self._check = check

    def _call(self, call: Callable[[], R], asked: ChatCall) -> R:  # noqa: ARG002
        self._check()
        return call()


@contextmanager
def paid_chat(settings: Settings, role: Role, submitter: str) -> Iterator[Chat]:
    """The chat model of a role, whose calls `submitter` pays. Raises `BadInput` where there is none."""
    require_model(settings, role, "This")
    chat, budget = open_limited(settings, settings.model_for(role), "answers", connections=1), open_budget(settings)
    with open_metering(settings)(chat, Payer(str(uuid4()), "", submitter)) as metered:
        yield CappedChat(metered, lambda: budget.check("", submitter))
