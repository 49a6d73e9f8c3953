"""Retrievers: what each pool's has learnt, and going back to an earlier version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from memshare.client.pools import encoder_in_use
from memshare.client.rest.calls.retrievers import (
    ConsolidationReply,
    RetrieverReply,
    Retrievers,
    RetrieversReply,
    RolledBackReply,
    TrialReply,
    VersionReply,
)
from memshare.extras import names_extra
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller, audit
from memshare.operations.serving import serves
from memshare_broker.errors import BadInput
from memshare_broker.wire.messages import Message

if TYPE_CHECKING:
    from memshare_trainer.consolidation.consolidation_state import Consolidated, ConsolidationState, Trial

PoolPath = Annotated[str, Field(min_length=1, max_length=200)]


class RollbackForm(Message):
    """The version to put into use; without it the one before."""

    to: int | None = Field(default=None, ge=0)


@serves(Retrievers.list)
def retrievers(backend: Backend, caller: Caller) -> RetrieversReply:
    """The retrievers of the caller's pools that have had a lesson, by name."""
    caller.require("recall")
    with backend.reaching(), names_extra("What retrievers have learnt"):
        from memshare_trainer.status import read_status  # computes with numpy, which REST alone does not need

        found = read_status(backend.redis, backend.settings, encoder_in_use(backend.settings, backend.redis), None, 0)
    return RetrieversReply(
        encoder=found.encoder,
        lessons=found.consolidation.lessons_now,
        next_at=found.consolidation.next_at,
        waits_for=found.consolidation.waits_for,
        last=_last(found.consolidation, caller),
        trial=_trial(found.consolidation),
        pools=tuple(
            RetrieverReply(
                pool=name,
                version=one.version,
                fault=one.fault,
                versions=tuple(VersionReply(**version.model_dump()) for version in one.versions),
                lessons=one.lessons.model_dump(),
                accuracy_untrained=one.held_out_accuracy.untrained,
                accuracy=one.held_out_accuracy.in_use,
                held_out=one.held_out_accuracy.lessons,
                lift=one.lift,
            )
            for name, one in sorted(found.pools.items())
            if caller.sees(name)
        ),
    )


def _last(state: ConsolidationState, caller: Caller) -> ConsolidationReply | None:
    if state.outcome is None:
        return None
    done = state.result
    return ConsolidationReply.model_validate(
        {
            "outcome": state.outcome,
            "at": state.at,
            "reason": state.reason if caller.pools is None else "",
            "encoder_before": done.encoder_before if done else None,
            "encoder": done.encoder if done else None,
            "lessons": done.lessons if done else 0,
            "memories": done.memories if done else 0,
            "figures": _figures(done),
        }
    )


def _trial(state: ConsolidationState) -> TrialReply | None:
    if state.trial is None:
        return None
    known = state.trial.model_dump(include=set(TrialReply.model_fields))
    return TrialReply.model_validate({**known, "figures": _figures(state.trial)})


def _figures(of: Consolidated | Trial | None) -> dict[str, dict[str, float]]:
    """The measured figures, by name."""
    measured = {name: getattr(of, name) for name in ("first_helps", "held_out_ndcg", "probe_ndcg")} if of else {}
    return {name: one.model_dump() for name, one in measured.items() if one is not None}


@serves(Retrievers.rollback)
def rollback(backend: Backend, caller: Caller, pool: PoolPath, form: RollbackForm) -> RolledBackReply:
    """Put another version of a pool's retriever into use; raises `BadInput` for one that is not kept."""
    caller.require("admin")
    caller.require_pool(pool)
    with backend.reaching(), names_extra("What retrievers have learnt"):
        from memshare_trainer.learning.rewriting import roll_back
        from memshare_trainer.lessons import lesson_log

        encoder, settings = encoder_in_use(backend.settings, backend.redis), backend.settings
        there = lesson_log.retrievers(backend.redis, encoder)
        if pool not in there:
            known = ", ".join(filter(caller.sees, there)) or "none"
            raise BadInput(f"No pool {pool!r} has had a lesson with the encoder {encoder!r}. There are: {known}.")
        log = lesson_log.LessonLog(
            backend.redis, pool, encoder, kept=settings.lessons_kept, keep_days=settings.keep_days
        )
        done = roll_back(log, form.to)
    audit(caller, "roll back", pool=pool, version=done.version)
    return RolledBackReply(**done._asdict())
