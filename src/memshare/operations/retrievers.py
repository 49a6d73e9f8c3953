"""Retrievers: what each pool's has learnt, and going back to an earlier version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field

from memshare.client.pools import encoder_in_use
from memshare.client.rest.calls.retrievers import (
    ConsolidationReply,
    RetrieverReply,
    Retrievers,
    RetrieversReply,
    RolledBackReply,
    TrialReply,
)
from memshare.extras import names_extra
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller, audit
from memshare.operations.serving import serves
from memshare_broker.errors import BadInput

if TYPE_CHECKING:
    from memshare_trainer.consolidation.consolidation_state import Consolidated, ConsolidationState, Trial

PoolPath = Annotated[
    str, BeforeValidator(lambda name: name.replace("%2F", "/")), Field(min_length=1, max_length=200)
]  # in a path, where the slash of a pool of one's own is written so


@serves(Retrievers.list, right="recall")
def retrievers(backend: Backend, caller: Caller) -> RetrieversReply:
    """The retrievers of the caller's pools that have had a lesson, by name."""
    with backend.reaching(), names_extra("What retrievers have learnt"):
        from memshare_trainer.consolidation.consolidation_state import FEWEST_LESSONS
        from memshare_trainer.status import read_status  # computes with numpy, which REST alone does not need

        found = read_status(backend.redis, backend.settings, encoder_in_use(backend.settings, backend.redis), None, 100)
    trial = found.consolidation.trial
    return RetrieversReply(
        encoder=found.encoder,
        lessons=found.consolidation.lessons_now,
        next_at=found.consolidation.next_at,
        fewest=FEWEST_LESSONS,
        waits_for=found.consolidation.waits_for,
        last=_last(found.consolidation, caller),
        trial=trial and TrialReply(**_told(trial, set(TrialReply.model_fields))),
        pools=tuple(
            RetrieverReply(
                **one.model_dump(include={"version", "fault", "versions", "lessons", "labelled_by"}),
                pool=name,
                why=next((of.lesson.reason for of in one.updates[::-1] if of.lesson.outcome == "no update"), None),
                accuracy_untrained=one.held_out_accuracy.untrained,
                accuracy=one.held_out_accuracy.in_use,
                error=one.held_out_accuracy.error,
                held_out=one.held_out_accuracy.lessons,
                outcomes=one.held_out_accuracy.outcomes,
            )
            for name, one in sorted(found.pools.items())
            if caller.sees(name)
        ),
    )


def _last(state: ConsolidationState, caller: Caller) -> ConsolidationReply | None:
    if state.outcome is None:
        return None
    done: dict[str, Any] = {"encoder_before": None, "encoder": None, "lessons": 0, "memories": 0, "figures": {}}
    if state.result is not None:
        done = _told(state.result, {*done, "held_out"})
    return ConsolidationReply(
        outcome=state.outcome, at=state.at, reason=state.reason if caller.pools is None else "", **done
    )


def _told(of: Consolidated | Trial, fields: set[str]) -> dict[str, Any]:
    """These fields, and as `figures` those that were measured."""
    known = of.model_dump(exclude_none=True)
    figures = {name: known[name] for name in ("first_helps", "held_out_ndcg", "probe_ndcg") if name in known}
    return {name: one for name, one in known.items() if name in fields} | {"figures": figures}


@serves(Retrievers.rollback, "RollbackForm", right="admin")
def rollback(
    backend: Backend, caller: Caller, pool: PoolPath, to: Annotated[int | None, Field(ge=0)] = None
) -> RolledBackReply:
    """Put another version of a pool's retriever into use; raises `BadInput` for one that is not kept."""
    caller.require_pool(pool)
    with backend.reaching(), names_extra("What retrievers have learnt"):
        from memshare_trainer import lesson_log
        from memshare_trainer.rewriting import roll_back

        encoder, settings = encoder_in_use(backend.settings, backend.redis), backend.settings
        there = lesson_log.retrievers(backend.redis, encoder)
        if pool not in there:
            known = ", ".join(filter(caller.sees, there)) or "none"
            raise BadInput(f"No pool {pool!r} has had a lesson with the encoder {encoder!r}. There are: {known}.")
        log = lesson_log.LessonLog(
            backend.redis, pool, encoder, kept=settings.lessons_kept, keep_days=settings.keep_days
        )
        done = roll_back(log, to)
    audit(caller, "roll back", pool=pool, version=done.version)
    return RolledBackReply(**done._asdict())
