"""The file of a backup: whole, or refused."""

from __future__ import annotations

import random
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from memshare.operate.backup.archive import AGENTS, FORMAT, POOL, REDIS, Manifest, new_archive, open_archive
from memshare_broker.errors import BadInput, TryAgain


def written(path: Path, *, form: int = FORMAT) -> Path:
    with new_archive(path) as archive:
        archive.add(REDIS, [b"one\n", b"two\n"])
        archive.add(POOL, (f"memory {number}\n".encode() for number in range(500)))
        archive.add(f"{AGENTS}haiku.toml", [b"x = 1\n"])
        archive.finish(
            Manifest(format=form, made=1.7e9, encoder="words", memories=500, by_pool={}, keys=2, parts=archive.parts)
        )
    return path


def test_what_was_written_is_read(tmp_path: Path) -> None:
    with open_archive(written(tmp_path / "one.zip")) as archive:
        assert list(archive.lines(REDIS)) == ["one\n", "two\n"]
        assert len(list(archive.lines(POOL))) == 500
        assert archive.names(AGENTS) == ["agents/haiku.toml"]
        archive.unpack("agents/haiku.toml", tmp_path / "to" / "haiku.toml")
    assert (tmp_path / "to" / "haiku.toml").read_text() == "x = 1\n"
    assert [path.name for path in tmp_path.glob("*.zip*")] == ["one.zip"]


def test_whatever_byte_is_changed_the_file_is_refused_or_reads_the_same(tmp_path: Path) -> None:
    content = written(tmp_path / "one.zip").read_bytes()
    with open_archive(tmp_path / "one.zip") as archive:
        expected = list(archive.lines(POOL))
    refused = 0
    for seed in range(200):
        chance = random.Random(seed)
        changed = bytearray(content)
        if seed % 4 == 0:
            changed = changed[: chance.randrange(len(changed))]
        else:
            changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
        (tmp_path / "two.zip").write_bytes(changed)
        try:
            with open_archive(tmp_path / "two.zip") as archive:
                assert list(archive.lines(POOL)) == expected
        except BadInput:
            refused += 1
    assert refused > 150


@pytest.mark.parametrize("name", ["../outside", "/etc/passwd", "agents/../../outside"])
def test_a_part_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    with new_archive(tmp_path / "one.zip") as archive:
        for part in (REDIS, POOL, name):
            archive.add(part, [b"x\n"])
        archive.finish(
            Manifest(format=FORMAT, made=1, encoder="words", memories=1, by_pool={}, keys=1, parts=archive.parts)
        )

    with pytest.raises(BadInput, match="leads out of"), open_archive(tmp_path / "one.zip"):
        pytest.fail("it is read")


def test_a_backup_of_another_format_says_so(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="has the format 99"), open_archive(written(tmp_path / "one.zip", form=99)):
        pytest.fail("it is read")


def test_nothing_is_left_of_a_backup_that_fails(tmp_path: Path) -> None:
    def broken_off() -> Iterator[bytes]:
        yield b"one\n"
        raise TryAgain("the memory service is away")

    with pytest.raises(TryAgain), new_archive(tmp_path / "one.zip") as archive:
        archive.add(REDIS, broken_off())

    assert list(tmp_path.iterdir()) == []


def test_any_other_file_is_no_backup(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no zip")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as other:
        other.writestr("a", "b")

    for name in ("text", "other.zip", "absent"):
        with pytest.raises(BadInput, match=name), open_archive(tmp_path / name):
            pytest.fail("it is read")


def test_a_backup_that_is_not_there_is_said_to_be_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"nope\.zip' is not there"), open_archive(tmp_path / "nope.zip"):
        pass


def test_a_zip_file_of_another_kind_is_called_no_backup(tmp_path: Path) -> None:
    file = tmp_path / "sheet.xlsx"
    with zipfile.ZipFile(file, "w") as zipped:
        zipped.writestr("xl/workbook.xml", "<workbook/>")

    with pytest.raises(BadInput, match="no backup of memshare: expected a file that"), open_archive(file):
        pass
