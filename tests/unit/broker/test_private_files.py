"""What other users of the machine can read of a data folder: nothing."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memshare.operate.data_folder import hold_folder, redis_running
from memshare_broker.connection import connect
from memshare_broker.errors import BadInput
from memshare_broker.private_files import keep_private
from memshare_broker.settings import Settings
from tests.support.nobody import seen_by_nobody

PROMPT = "a prompt that is nobody's business"


@pytest.fixture
def data() -> Iterator[Path]:
    """A data folder at a place that everybody can get to."""
    with tempfile.TemporaryDirectory(prefix="open-") as name:
        Path(name).chmod(0o755)
        (Path(name) / "beside").write_text(PROMPT)
        (Path(name) / "beside").chmod(0o644)
        yield Path(name) / "data"


@pytest.fixture(autouse=True)
def umask() -> Iterator[None]:
    """A process that lets everybody read what it writes, until it is told otherwise."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def test_nobody_else_reads_prompts_in_the_files_of_redis(data: Path) -> None:
    settings = Settings(data=data)

    with redis_running(settings), closing(connect(settings.redis)) as client:
        client.set("prompt", PROMPT)
        client.bgrewriteaof()
        assert seen_by_nobody(data.parent, PROMPT) == [str(data.parent / "beside")]

    assert seen_by_nobody(data.parent, PROMPT) == [str(data.parent / "beside")], "not afterwards either"
    for place in (data, *data.rglob("*")):
        assert place.stat().st_mode & 0o077 == 0, place


def test_a_folder_that_others_could_read_is_mended_with_a_word(data: Path, caplog: pytest.LogCaptureFixture) -> None:
    (data / "pool").mkdir(parents=True)
    (data / "pool" / "vectors").write_text(PROMPT)
    (data / "link").symlink_to(data.parent / "beside")
    for place in (data, data / "pool"):
        place.chmod(0o755)
    assert str(data / "pool" / "vectors") in seen_by_nobody(data.parent, PROMPT)

    assert keep_private(data) == 3

    assert seen_by_nobody(data.parent, PROMPT) == [str(data.parent / "beside")]
    assert "(3); now they cannot" in caplog.text
    assert (data.parent / "beside").stat().st_mode & 0o777 == 0o644, "what a link leads to is not ours"
    (data / "pool" / "new").write_text(PROMPT)
    assert (data / "pool" / "new").stat().st_mode & 0o777 == 0o600
    assert keep_private(data) == 0


def test_a_folder_of_other_files_that_others_read_is_not_taken_and_they_go_on_reading(data: Path) -> None:
    data.mkdir()
    with hold_folder(data):  # an empty one
        pass
    with pytest.raises(BadInput, match="name a new folder, or an empty one"), hold_folder(data.parent):
        pass

    assert seen_by_nobody(data.parent, PROMPT) == [str(data.parent / "beside")]
    (data.parent / "up.lock").touch()
    with hold_folder(data.parent):  # a deployment's
        assert seen_by_nobody(data.parent, PROMPT) == []


def test_a_home_folder_is_left_as_it_is(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(data.parent))

    assert keep_private(data.parent) == 0

    assert (data.parent / "beside").stat().st_mode & 0o777 == 0o644
