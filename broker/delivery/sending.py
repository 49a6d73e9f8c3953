"""Sends a message that follows no other one, such as for what a person asked of a pool."""

from __future__ import annotations

from celery import Celery

from memshare.broker.delivery.entry import Entry
from memshare.broker.delivery.publish import publish
from memshare.broker.delivery.stage import Following
from memshare.broker.delivery.stage_task import StageServices
from memshare.broker.wire.messages import derived_id


def send(app: Celery, services: StageServices, journey: str, message: Following) -> None:
    """Note a message in the ledger and publish it, as one of a journey; twice is once."""
    message_id = str(derived_id(journey, message.stage))
    body = message.body.model_dump(mode="json")
    entry = Entry(
        id=message_id,
        task=message.task,
        queue=message.queue,
        body=body,
        journey=journey,
        stage=message.stage,
        decides=False,
        signature=services.signer.sign(message.task, message_id, journey, body),
    )
    if services.ledger.open(entry):
        publish(app, entry)
