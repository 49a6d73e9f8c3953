"""What Celery tells others of a task that runs: short, and without secrets, whoever sent it."""

from __future__ import annotations

from typing import Any

from celery.worker.request import Request

from memshare.broker.observe.masking import cut, masked

SHORT_REQUEST = f"{__name__}:ShortRequest"  # as Celery wants it
_TEXTS = ("result", "exception", "args", "kwargs")


class ShortRequest(Request):
    """A request whose arguments and result are cut, in events, in answers to `inspect` and in logs."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
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
        """What `inspect` is told: never the arguments themselves."""
        return super().info(safe=True)
