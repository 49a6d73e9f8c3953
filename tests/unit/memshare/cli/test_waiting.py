"""How long commands wait for an answer."""

from __future__ import annotations

from memshare.cli.options import ANSWER_WITHIN
from memshare_broker.settings import Settings

ANSWERED_WITHIN = 60  # seconds, once it is sent again


def test_who_waits_has_the_answer_though_its_message_is_lost_and_found_only_after_the_lease() -> None:
    settings = Settings()

    assert settings.lost_after > settings.longest_task  # kombu's own redelivery comes first
    assert settings.lost_after + ANSWERED_WITHIN < ANSWER_WITHIN
