"""Conditions on memories, as people and models name them: the same from the command line and REST to the store."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Annotated, Any

from pydantic import Field, StringConstraints, ValidationError, ValidatorFunctionWrapHandler, field_validator

from memshare_broker.wire.forms import Label
from memshare_broker.wire.messages import Message
from memshare_memory.stores.store import Where

Word = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=60)]


class Conditions(Message):
    """Which memories count: all conditions must hold, and those that are null do not count."""

    agent: Label | None = Field(default=None, description="the agent that wrote it")
    kind: Label | None = Field(default=None, description="the kind of task that it answered")
    submitter: Label | None = Field(default=None, description="who submitted that task")
    model: Label | None = Field(default=None, description="the model that wrote the answer")
    since: date | None = Field(default=None, description="made on this day (UTC) or later")
    until: date | None = Field(default=None, description="made on this day (UTC) or earlier")
    words: tuple[Word, ...] = Field(default=(), max_length=10, description="all of them stand in it")
    score_from: float | None = Field(default=None, description="minimum score, of 100")
    score_to: float | None = Field(default=None, description="maximum score")
    credibility_from: float | None = Field(default=None, description="minimum credibility (untested: 1)")
    credibility_to: float | None = Field(default=None, description="maximum credibility")

    @field_validator("since", "until", mode="wrap")
    @classmethod
    def _day(cls, given: Any, read: ValidatorFunctionWrapHandler) -> Any:
        try:
            return read(given)
        except ValidationError as error:
            raise ValueError("expected a day such as 2026-11-24 (UTC)") from error

    @field_validator("words", mode="before")
    @classmethod
    def _none_is_no_word(cls, given: Any) -> Any:
        return () if given is None else given

    def where(self, **more: Any) -> Where:
        """The same for the store; `more` are other fields of `Where`."""
        same = self.model_dump(include=set(Conditions.model_fields) - {"since", "until"})
        return Where(**same, created_from=_midnight(self.since), created_before=_midnight(self.until, 1), **more)


def _midnight(day: date | None, later: int = 0) -> float | None:
    if day is None:
        return None
    return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() + later * 86_400  # also after the last date
