"""The messages that wait beside their queues until their time comes, or until what holds them back is lifted."""

from __future__ import annotations

from collections.abc import Sequence

import redis

from memshare_broker.delivery.entry import Entry, Parked
from memshare_broker.delivery.keys import LIFTED, PARKED, WHY
from memshare_broker.delivery.scripts import run_script

LIFTED_SECONDS = 60  # longer than it takes from looking at a hold to parking for it


class ParkedMessages:
    """Those of one Redis; the ledger parks them."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client

    def all(self) -> list[Parked]:
        """All of them, the next one first."""
        until = {str(pair[0]): float(pair[1]) for pair in self._client.zrange(PARKED, 0, -1, withscores=True)}
        why = [Parked.model_validate_json(text) for text in self._client.hvals(WHY)]
        waiting = [one.model_copy(update={"until": until[one.id]}) for one in why if one.id in until]
        return sorted(waiting, key=lambda one: one.until)

    def why(self, message_id: str) -> Parked | None:
        """Why a message waits beside its queue, if it does."""
        return self.of([message_id]).get(message_id)

    def of(self, ids: Sequence[str]) -> dict[str, Parked]:
        """Those of some messages that wait beside their queues, by id."""
        if not ids:
            return {}
        with self._client.pipeline(transaction=False) as ask:
            ask.hmget(WHY, list(ids))
            ask.zmscore(PARKED, list(ids))
            whys, untils = ask.execute()
        return {
            one: Parked.model_validate_json(why).model_copy(update={"until": float(until)})
            for one, why, until in zip(ids, whys, untils, strict=True)
            if why is not None and until is not None
        }

    def lift(self, hold: str) -> int:
        """Let the messages that this holds back go on at once; returns how many."""
        self._client.set(LIFTED + hold, 1, ex=LIFTED_SECONDS)
        held = [one.id for one in self.all() if one.hold == hold]
        self.wake(held)
        return len(held)

    def wake(self, ids: Sequence[str]) -> None:
        """Let those of some messages that wait beside their queues go on at once."""
        if ids:
            self._client.zadd(PARKED, dict.fromkeys(ids, 0.0), xx=True)

    def release(self, most: int) -> list[Entry]:
        """Pop up to `most` messages whose time has come from those that wait beside their queues.

        One that is not published then is sent again by the sweeper.
        """
        return [Entry.model_validate_json(text) for text in run_script(self._client, "release", most)]
