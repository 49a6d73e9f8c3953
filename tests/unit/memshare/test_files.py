from __future__ import annotations

import os
from pathlib import Path

import pytest

from memshare.files.new_file import new_file
from memshare_broker.errors import BadInput


def test_a_file_appears_when_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"

    with new_file(path) as file:
        file.write("以秋夜为题\n")
        file.flush()
        assert not path.exists()

    assert path.read_text(encoding="utf-8") == "以秋夜为题\n"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_was_there_is_replaced_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text("old")

    with new_file(path) as file:
        file.write("new")
        file.flush()
        assert path.read_text() == "old"

    assert path.read_text() == "new"


@pytest.mark.parametrize("fault", [RuntimeError, KeyboardInterrupt])
def test_after_an_error_the_old_file_is_there_and_nothing_else(tmp_path: Path, fault: type[BaseException]) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text("old")

    def write_half() -> None:
        with new_file(path) as file:
            file.write("half")
            raise fault

    with pytest.raises(fault):
        write_half()

    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["", "folder", "no/such/folder/out", "file/out", "x" * 250, "x" * 300])
def test_a_path_that_cannot_be_written_is_refused_and_nothing_is_left(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    path = tmp_path / name

    with pytest.raises(BadInput) as caught, new_file(path) as file:
        file.write("half")

    assert str(caught.value).startswith(f"'{path}' cannot be written: ")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["file", "folder"]
    assert list((tmp_path / "folder").iterdir()) == []


def test_the_folder_one_stands_in_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(BadInput, match=r"'\.' cannot be written: it is a folder"), new_file(Path()):
        pytest.fail("it was opened")


def test_a_full_disk_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="out' cannot be written: No space left on device"):
        _fill(tmp_path / "out")

    assert list(tmp_path.iterdir()) == []


def _fill(path: Path) -> None:
    with new_file(path) as file, Path("/dev/full").open("w") as full:
        file.write("half")
        full.write("x" * 100_000)


def test_what_a_link_leads_to_is_replaced_and_the_link_stays(tmp_path: Path) -> None:
    target, link = tmp_path / "out.jsonl", tmp_path / "latest"
    target.write_text("old")
    link.symlink_to(target)

    with new_file(link) as file:
        file.write("new")

    assert link.is_symlink()
    assert target.read_text() == "new"


def test_what_is_no_regular_file_is_never_replaced(tmp_path: Path) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)

    with pytest.raises(BadInput, match="it is a folder"), new_file(Path("/..")):
        pass
    for path in (pipe, link, Path("-")):
        with pytest.raises(BadInput, match="it is no file to be replaced"), new_file(path):
            pass

    assert pipe.is_fifo()
    assert link.is_symlink()
