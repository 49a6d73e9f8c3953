"""Replies that were paid for by a task that was then stopped from outside: when it goes on, it does not ask again.

Without it a task of many calls would begin anew each time a rate limit or a lost connection stops it half-way, and
under a limit of fewer calls than it takes it would pay for ever and never end.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import cast

from pydantic import BaseModel

from memshare_broker.errors import OUTAGES, NotYet, TryAgain
from memshare_broker.wire.messages import Turn
from memshare_llm.chat import Chat, FirstToken, R, Reply

OUTSIDE = OUTAGES | {"rate limit", "server error", "time-out", "connection", "busy"}
MOST_TASKS = 1_000  # that wait at once in a process; of more, the oldest ask again

Said = defaultdict[Hashable, list[Reply | FirstToken]]


class Resumed:
    """Gives what was said to a task's question before; asks the model where there is nothing left."""

    def __init__(self, chat: Chat, said: Said) -> None:
        self.name = chat.name
        self.given: Said = defaultdict(list)
        self._chat = chat
        self._said = said
        self._lock = threading.Lock()

    def reply(self, turns: Sequence[Turn], schema: type[BaseModel] | None = None) -> Reply:
        return self._once((tuple(turns), schema), lambda: self._chat.reply(turns, schema))

    def first_token(self, turns: Sequence[Turn]) -> FirstToken:
        return self._once((tuple(turns), "first token"), lambda: self._chat.first_token(turns))

    def _once(self, question: Hashable, ask: Callable[[], R]) -> R:
        with self._lock:
            before = self._said[question].pop() if self._said[question] else None
        reply = cast(R, before) if before is not None else ask()
        with self._lock:
            self.given[question].append(reply)
        return reply

    def all_said(self) -> Said:
        """What was said so far, given or not."""
        for question, replies in self._said.items():
            self.given[question] += replies
        return self.given


class Unfinished:
    """The replies of the tasks that wait, in the memory of this process."""

    def __init__(self) -> None:
        self._said: OrderedDict[str, Said] = OrderedDict()
        self._lock = threading.Lock()

    @contextmanager
    def resumed(self, chat: Chat, task: str) -> Iterator[Chat]:
        """The model for one go at a task; what it says is kept if the task is stopped from outside, and only then."""
        with self._lock:
            said = self._said.pop(task, None)
        resumed = Resumed(chat, said if said is not None else defaultdict(list))
        try:
            yield resumed
        except (NotYet, TryAgain) as error:
            if isinstance(error, TryAgain) and error.reason not in OUTSIDE:
                raise  # what was said itself was of no use
            with self._lock:
                self._said[task] = resumed.all_said()
                if len(self._said) > MOST_TASKS:
                    self._said.popitem(last=False)
            raise
