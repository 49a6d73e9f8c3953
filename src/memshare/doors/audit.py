"""The audit log: a line for every write that came by a door, with who did it."""

from __future__ import annotations

import logging

from memshare.doors.caller import Caller
from memshare_broker.observe.logs import ids

log = logging.getLogger("memshare.audit")


def audit(caller: Caller, action: str, **about: object) -> None:
    """Note that a caller did something, and what it was about."""
    log.info("Done by %s: %s.", caller.name, action, extra=ids(caller=caller.name, action=action, **about))
