"""What goes on now: models, tasks a minute, queues with what waits and why, workers, spending and the last errors."""

from __future__ import annotations

from memshare.doors.calls.budgets import budgets
from memshare.doors.calls.dead_letters import dead_letters
from memshare.doors.calls.listings import pools
from memshare.doors.calls.status import status
from memshare.doors.pages.visit import PAGES, Screen, Visit
from memshare_broker.errors import TryAgain
from memshare_broker.settings import OFFLINE

LAST_ERRORS = 5


@PAGES.screen("/now")
def now(visit: Visit) -> Screen:
    """The state of the deployment; what the memory service knows is left out while it is away."""
    backend, caller = visit.backend, visit.caller
    found = status(backend, caller)
    models = sorted({*found.agent_models.values(), *found.scorer_models})
    try:
        memories, away = sum(one.memories for one in pools(backend, caller)), ""
    except TryAgain as error:
        memories, away = None, str(error)
    letters = dead_letters(backend, caller)[-LAST_ERRORS:] if caller.may("admin") else []
    return Screen(
        "now",
        {
            "now": found,
            "models": models,
            "is_offline": OFFLINE in models,
            "waiting": [(queue.name, one) for queue in found.queues for one in queue.waiting],
            "accepted_share": found.accepted / found.graded if found.graded else None,
            "memories": memories,
            "away": away,
            "spending": budgets(backend, caller),
            "letters": letters[::-1],
        },
    )
