"""Ids of tasks and dead letters as people type them: whole, or so much of the beginning that it means one alone."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memshare.client.client import Client
from memshare.client.routed_client import RoutedClient
from memshare_broker.connection import reaching
from memshare_broker.errors import BadInput

SHOWN = 8  # digits of an id
_WHOLE = re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_BEGINNING = re.compile(rf"[0-9a-f-]{{{SHOWN},35}}")
_MOST = 5  # ids that begin with what was typed


def short_id(whole: str) -> str:
    """An id as tables show it; commands take it. One of another form than ours is not cut."""
    return whole[:SHOWN] if _WHOLE.fullmatch(whole) else whole


def shorten_ids(text: str) -> str:
    """A text with the ids in it as tables show them."""
    return _WHOLE.sub(lambda found: found[0][:SHOWN], text)


def find_task(client: Client, typed: str) -> str:
    """The id of a task. What is no beginning of one stays as it is; raises `BadInput` where it may mean several."""
    beginning = _beginning(typed)
    if not beginning:
        return typed
    with reaching(client.settings.redis):
        return _only(typed, _tasks(client, typed, beginning))


def find_home(routed: RoutedClient, typed: str) -> tuple[Client, str]:
    """The client of the deployment that a task was submitted to (see `RoutedClient.home`), and the task's id."""
    beginning = _beginning(typed)
    if not beginning or len(routed.clients) == 1:
        client = routed.home(typed)
        return client, find_task(client, typed)
    found = routed.holding(typed, lambda client: _tasks(client, typed, beginning))
    home_of = {task_id: client for client, ids in found.items() for task_id in ids}
    task_id = _only(typed, sorted(home_of))
    return home_of[task_id], task_id


def find_letter(client: Client, typed: str) -> str:
    """The id of a dead letter, in the same way."""
    beginning = _beginning(typed)
    if not beginning:
        return typed
    with reaching(client.settings.redis):
        if typed in client.dead_letters:
            return typed
        return _only(typed, [one for one in client.dead_letters.ids() if one.startswith(beginning)][:_MOST])


def _tasks(client: Client, typed: str, beginning: str) -> list[str]:
    """The id as it was typed where a task has it, or else those that begin with it."""
    return [typed] if client.ledger.submitted(typed) is not None else client.ledger.journeys(beginning, _MOST)


def _beginning(typed: str) -> str | None:
    beginning = typed.lower().strip("… ")
    return beginning if _BEGINNING.fullmatch(beginning) else None


def _only(typed: str, found: Sequence[str]) -> str:
    if len(found) > 1:
        raise BadInput(f"{typed!r} may mean several ids, give more of it: {', '.join(sorted(found))}.")
    return found[0] if found else typed
