"""Access: who may do what, and when a backup was made."""

from __future__ import annotations

import time

from memshare.doors.pages.screens.bring_in import HOW
from memshare.doors.pages.session import end_sessions, sessions
from memshare.doors.pages.visit import PAGES, Done, Screen, Visit
from memshare.operations.caller import RIGHTS, audit
from memshare.operations.jobs import begin
from memshare.operations.listings import pools
from memshare.operations.operating import create, lacks_admin, last_backup, revoke, tokens

HERE = "/access"
MEANS = {
    "recall": "look at memories",
    "watch": "see what becomes of tasks of others",
    "offer": "bring in answers, and say how their own tasks went",
    "submit": "give tasks to agents",
    "curate": "bring in, change and forget memories, and say that an answer is right or wrong, not bring in a file "
    "(admin) nor give tasks (submit)",
    "admin": "do everything, and see what others did",
}
"""Right → what it lets somebody do."""
TOO_OLD = 7 * 86_400.0  # seconds, of the last backup


@PAGES.screen(HERE)
def access(visit: Visit) -> Screen:
    """The tokens, and a form to make one."""
    return _screen(visit)


@PAGES.action(HERE)
def make(visit: Visit) -> Screen:
    """Make a token and show it, once."""
    chosen = [name for name in visit.field("pools").replace(",", " ").split() if name != "*"]
    given = {"may": visit.fields.getlist("may"), "pools": chosen or None, **visit.given("name", "group")}
    return _screen(visit, visit.ask("The token", create, **given).token)


@PAGES.action("/access/{name}/revoke")
def take_away(visit: Visit) -> Done:
    """Revoke a token."""
    left = revoke(visit.backend, visit.caller, visit.path["name"]).left
    alone = "" if left else " There is none any more: this page is for its user on this machine alone."
    return Done(HERE, f"The token {visit.path['name']} is worth nothing any more.{alone}")


@PAGES.action("/access/{name}/sign-out")
def sign_out_everywhere(visit: Visit) -> Done:
    """End all sessions of a token."""
    visit.caller.require_all()
    end_sessions(visit.backend, visit.path["name"])
    audit(visit.caller, "end sessions", token=visit.path["name"])
    return Done(HERE, f"Who has the token {visit.path['name']} signs in once more, everywhere.")


@PAGES.action("/jobs")
def begin_job(visit: Visit) -> Done:
    """Begin a job, from whichever screen."""
    given = visit.given("kind", "pool", "name", "domain", "topic", "goal", "lines", "new_pool", *HOW)
    several = {name: visit.fields.getlist(name) or None for name in ("clusters", "memories")}
    visit.ask("The job", begin, **given, **several)
    return Done(visit.back or HERE, "It has begun, and goes on by itself; here it says how it ended.")


def _screen(visit: Visit, made: str = "") -> Screen:
    there, backup = tokens(visit.backend, visit.caller), last_backup(visit.backend, visit.caller)
    is_late = backup is None or time.time() - backup.at > TOO_OLD
    values = {
        "backup": backup,
        "backups": visit.backend.settings.data / "backups",
        "jobs": visit.jobs,
        "is_late": is_late,
        "tokens": there,
        "sessions": sessions(visit.backend, [one.name for one in there]),
        "makes_admin": lacks_admin(there),
        "rights": RIGHTS,
        "means": MEANS,
        "made": made,
        "is_first": made and len(there) == 1,
    }
    return Screen("access", {**values, "pools": pools(visit.backend, visit.caller)})
