"""A call of `memshare serve` as data, and when one that failed is made again."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import urlencode

Reply = TypeVar("Reply")

FIRST_WAIT, LONGEST_WAIT = 0.2, 30.0  # seconds between two tries
BUSY = (429, 502, 503, 504)


@dataclass(frozen=True)
class Call(Generic[Reply]):
    """One request. `reply` names the model in `memshare.client.replies` that its answer is."""

    method: str
    path: str
    reply: str
    body: Mapping[str, Any] | None = None
    query: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    many: bool = False
    """Whether the answer is a list of them."""
    repeatable: bool = True
    """Whether it does no more when it is done twice."""
    waits: float = 0.0
    """Seconds for which the server may wait before it answers."""

    @property
    def target(self) -> str:
        """The path with its query."""
        asked = {name: value for name, value in self.query.items() if value is not None}
        return f"{self.path}?{urlencode(asked)}" if asked else self.path


@dataclass(frozen=True)
class Answer:
    """What came back; `wait` is how many seconds the server asked for."""

    status: int
    body: bytes
    wait: float | None = None


@dataclass(frozen=True)
class NoResponse:
    """Nothing came back. Unless `sent`, the server has not seen the request."""

    error: Exception
    sent: bool


def wait_before(call: Call[Any], answer: Answer | NoResponse, tried: int, tries: int) -> float | None:
    """The seconds after which to make a call again; None for an answer that stands."""
    if isinstance(answer, NoResponse):
        again, asked = call.repeatable or not answer.sent, None
    else:
        again = answer.status in BUSY if call.repeatable else answer.status == 429
        asked = answer.wait
    if not again or tried >= tries or (asked or 0.0) > LONGEST_WAIT:
        return None
    return asked or min(FIRST_WAIT * 2 ** (tried - 1), LONGEST_WAIT) * random.uniform(0.5, 1.5)
