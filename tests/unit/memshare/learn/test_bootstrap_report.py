from __future__ import annotations

from contextlib import closing
from pathlib import Path

from memshare.cli.begin.learn import figures
from memshare.client.client import Client
from memshare.learn.bootstrap import Bootstrapped
from memshare_broker.delivery.journey_records import OutcomeRecord
from memshare_broker.settings import Settings


def test_what_was_not_verified_or_not_graded_is_counted_as_such(redis_folder: Path) -> None:
    answers = (
        OutcomeRecord(outcome="not verified"),
        OutcomeRecord(outcome="rejected", total=40, accepted=False),
        OutcomeRecord(outcome="stored", total=90, accepted=True),
    )

    with closing(Client(Settings(data=redis_folder))) as client:
        found = figures(client, [], Bootstrapped(seeds=(OutcomeRecord(outcome="not graded"),), answers=answers))

    assert found["not_graded"] == 1
    assert (found["answers_unverified"], found["answers_accepted"], found["answers"]["pairs"]) == (1, 1, 2)
