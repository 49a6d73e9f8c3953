"""The information that Celery gives others about a running task: short, and without secrets, whoever sent it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from celery.exceptions import InvalidTaskError
from celery.worker.request import Request

from memshare_broker.observe.masking import cut, masked

SHORT_REQUEST = f"{__name__}:ShortRequest"  # as Celery wants it
_TEXTS = ("result", "exception", "args", "kwargs")


_EMBEDDED = frozenset({"callbacks", "errbacks", "chain", "chord"})


class ShortRequest(Request):
    """A request whose arguments and result are cut, in events, in answers to `inspect` and in logs.

    It takes no callbacks: a worker would send them in its own name, to queues that their sender may not reach.
    """

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        embedded = self._payload[2]  # type: ignore[attr-defined] # the stubs know of none
        if embedded is not None and not _is_plain(embedded):
            raise InvalidTaskError(
                "it brings tasks that are to run after it, such as a link, a chord or a chain. Take the answer, and "
                "submit those yourself"
            )
        self._argsrepr = cut(str(self.argsrepr or ""))
        self._kwargsrepr = cut(str(self.kwargsrepr or ""))

    def send_event(self, type: str, **fields: Any) -> None:  # noqa: A002 - Celery's word
        """Tell who watches, such as Flower."""
        for name in _TEXTS:
            if fields.get(name) is not None:
                fields[name] = cut(str(fields[name]))
        if fields.get("traceback"):
            fields["traceback"] = masked(str(fields["traceback"]))
        super().send_event(type, **fields)

    def info(self, safe: bool = False) -> Any:  # noqa: ARG002 - never anything else
        """The reply to `inspect`: never the arguments themselves."""
        return super().info(safe=True)


def _is_plain(embedded: Any) -> bool:
    """True if nothing but the task comes with a message; Celery takes any field of a request from there."""
    return isinstance(embedded, Mapping) and embedded.keys() <= _EMBEDDED and not any(embedded.values())
