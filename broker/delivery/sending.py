"""Sends a message that follows no other one, such as for what a person asked of a pool."""

from __future__ import annotations

from celery import Celery

from memshare.broker.delivery.publish import publish
from memshare.broker.delivery.stage import Following
from memshare.broker.delivery.stage_task import StageServices


def send(app: Celery, services: StageServices, journey: str, message: Following) -> None:
    """Note a message in the ledger and publish it, as one of a journey; twice is once."""
    entry = message.entry(journey, decides=False).signed(services.signer)
    if services.ledger.open(entry):
        publish(app, entry)
