"""Stages of a journey: each is a hop with its message, the work it does, and the outcome it reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple

from pydantic import JsonValue

from memshare_broker.delivery.hops import Hop, M, NextMessage
from memshare_broker.observe.metrics import Sample
from memshare_broker.wire.messages import Message


class Outcome(NamedTuple):
    """Outcome of a stage: the record for its journey and caller, the messages that follow, and the counted samples."""

    record: Message
    following: NextMessage | tuple[NextMessage, ...] | None = None
    ended: str = "done"
    """How it ended, in one of a few words."""
    counted: tuple[Sample, ...] = ()
    kept: Mapping[str, JsonValue] = {}
    """Facts known for ever of the journey, beside the fields of the record that its hop names."""

    @property
    def followings(self) -> tuple[NextMessage, ...]:
        """The messages that come after it, none or several."""
        if isinstance(self.following, NextMessage):
            return (self.following,)
        return self.following or ()


@dataclass(frozen=True)
class Stage(Generic[M]):
    """A hop and the function that does its work.

    `run` gets the journey's id and the message. It may be called twice for one message.
    """

    hop: Hop[M, Any]
    run: Callable[[str, M], Outcome]
