"""What the screen of access says of backups."""

from __future__ import annotations

import time

import pytest
import redis
from fastapi.testclient import TestClient

from memshare.client.last_backup import LastBackup, note_backup
from memshare.operate.backup.restore import is_used
from tests.unit.memshare.doors.pages.journey_records import text_of

ALARM, DAY = 'class="alarm"', 86_400


def test_a_deployment_without_any_backup_is_in_red(here: TestClient) -> None:
    page = here.get("/access").text

    assert ALARM in page
    assert "The last backup none" in text_of(page)
    assert here.get("/v1/backups/last").json() is None


@pytest.mark.parametrize(("days", "is_late"), [(6, False), (8, True)])
def test_the_last_backup_is_told_and_is_in_red_after_a_week(
    here: TestClient, redis_client: redis.Redis, days: int, is_late: bool
) -> None:
    for age, by in ((30, "bea"), (days, "ada")):
        at = time.time() - age * DAY
        note_backup(redis_client, LastBackup(at=at, by=by, file="/safe/b.zip", size=2_340_000, memories=7))

    page = here.get("/access").text

    assert (ALARM in page) == is_late
    assert f"The last backup {days} d ago by ada , 7 memories, 2.3 MB: /safe/b.zip" in text_of(page)
    told = here.get("/v1/backups/last").json()
    assert (told["by"], told["size"], told["memories"]) == ("ada", 2_340_000, 7)
    assert not is_used(redis_client)  # a note alone keeps nobody from restoring a backup
