"""A chat model whose calls are timed, without what they wait for a rate limit."""

from __future__ import annotations

import time
from collections.abc import Callable

from memshare_broker.observe import tracing
from memshare_broker.wire.messages import Usage
from memshare_llm.chat import Chat, ChatAround, NoLogprobs, R, RefusedReply, UselessReply


class Timed(ChatAround):
    """Tells `note` the model and the seconds of each call that got a reply, also one that cannot be used."""

    def __init__(self, chat: Chat, note: Callable[[str, float], None]) -> None:
        super().__init__(chat)
        self._note = note

    def _call(self, call: Callable[[], R]) -> R:
        provider, _, model = self.name.partition(":")
        about = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": provider, "gen_ai.request.model": model}
        with tracing.span(f"chat {model}".strip(), about, client=True):
            started = time.monotonic()
            try:
                said: R | NoLogprobs = call()
            except NoLogprobs as error:
                said = error  # nothing failed: it was asked, and says no
            except (UselessReply, RefusedReply) as error:
                self._told(started, error.usage)
                raise
            if not isinstance(said, NoLogprobs) or said.usage != Usage():  # one that was not even asked took no time
                self._told(started, said.usage)
        if isinstance(said, NoLogprobs):
            raise said
        return said

    def _told(self, started: float, usage: Usage) -> None:
        self._note(self.name, time.monotonic() - started)
        tracing.note(tracing.tokens(usage))
