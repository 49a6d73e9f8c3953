"""Sends messages that follow no other one, such as for what a person asked of a pool."""

from __future__ import annotations

from collections.abc import Sequence

from celery import Celery

from memshare.broker.delivery.publish import outgoing
from memshare.broker.delivery.stage import NextMessage
from memshare.broker.delivery.stage_task import StageServices

AT_ONCE = 100


def send(app: Celery, services: StageServices, messages: Sequence[NextMessage]) -> None:
    """Note messages in the ledger and publish them, each as one of the journey that it names; twice is once."""
    for first in range(0, len(messages), AT_ONCE):
        some = messages[first : first + AT_ONCE]
        entries = [one.entry(decides=False).signed(services.signer) for one in some]
        services.ledger.send([outgoing(app, entry) for entry in entries])
