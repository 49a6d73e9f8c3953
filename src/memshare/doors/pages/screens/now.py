"""Status page: models, tasks a minute, queues with what waits and why, workers, spending and the last errors."""

from __future__ import annotations

from memshare.doors.pages.visit import PAGES, Done, Screen, Visit
from memshare.operations.listings import status
from memshare.operations.operating import budgets, last_errors, set_one
from memshare_broker.app import MEMORY_QUEUE, SCORER_QUEUE
from memshare_broker.settings import OFFLINE

LAST_ERRORS = 5
HERE = "/now"
STAGES = {SCORER_QUEUE: {"state": "answered"}, MEMORY_QUEUE: {"state": "graded"}}
"""Queue of a stage → the journeys whose messages are in it; those of an agent have not been answered."""


@PAGES.screen(HERE)
def now(visit: Visit) -> Screen:
    """The state of the deployment; what the memory service knows is left out while it is away."""
    backend, caller = visit.backend, visit.caller
    found = status(backend, caller)
    models = sorted({*found.agent_models.values(), *found.scorer_models})
    return Screen(
        "now",
        {
            "now": found,
            "models": models,
            "is_offline": OFFLINE in models,
            "waiting": [(queue, one) for queue in found.queues for one in queue.waiting],
            "accepted_share": found.accepted / found.graded if found.graded else None,
            "memories": None if visit.pools is None else sum(one.memories for one in visit.pools),
            "starting": backend.is_starting,  # after the pools were asked for
            "spending": budgets(backend, caller),
            "errors": last_errors(backend, caller)[:LAST_ERRORS],
            "agents": sorted(found.agent_models),
            "lists": {name: {"agent": name, "state": "queued"} for name in found.agent_models} | STAGES,
        },
    )


@PAGES.action("/now/cap")
def cap(visit: Visit) -> Done:
    """Set a cap, or take one away."""
    kind, _, name = visit.field("whom").partition(" ")
    given = {**visit.given("tokens", "money"), "none": visit.field("none") == "yes"}
    done = visit.ask("The cap", set_one, kind=kind, name=name, **given)
    free = f" It does not hold {', '.join(done.unpriced)}: no price is known." if done.unpriced else ""
    return Done(f"{HERE}#spent", f"The cap of {kind} {name} is {'gone' if given['none'] else 'set'}.{free}")
