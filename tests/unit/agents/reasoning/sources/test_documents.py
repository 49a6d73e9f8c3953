from __future__ import annotations

from pathlib import Path

import pytest

from memshare_agents.reasoning.sources.documents import Documents
from memshare_broker.errors import BadInput, GiveUp

MOST = 10_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two documents, and a secret beside it."""
    folder = tmp_path / "papers"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.txt").write_text("A")
    (folder / "deep" / "b.md").write_text("B")
    (tmp_path / "secret.txt").write_text("S")
    return folder


def test_documents_are_called_by_their_path_in_the_folder(folder: Path) -> None:
    (folder / "picture.png").write_bytes(b"x")
    (folder / ".hidden.txt").write_text("x")
    (folder / ".git").mkdir()
    (folder / ".git" / "c.txt").write_text("x")
    (folder / "bad\nname.txt").write_text("x")

    documents = Documents([folder], MOST)

    assert list(documents) == ["a.txt", "deep/b.md"]
    assert [documents.data(source) for source in documents] == [b"A", b"B"]


def test_of_several_places_each_gives_its_name(folder: Path, tmp_path: Path) -> None:
    documents = Documents([folder, tmp_path / "secret.txt"], MOST)

    assert list(documents) == ["papers/a.txt", "papers/deep/b.md", "secret.txt"]
    assert documents.data("papers/deep/b.md") == b"B"
    assert documents.data("secret.txt") == b"S"
    for other in ("a.txt", "papers", "papers/../secret.txt", "secret.txt/a.txt"):
        with pytest.raises(BadInput):
            documents.data(other)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (
            "Tea.\nWo läuft er?".encode("cp1252"),
            r"a\.txt:2: byte 5 of the line, 0xe4, is not UTF-8 .*other text as UTF-8",
        ),
        ("Tea.".encode("utf-16"), r"a\.txt is UTF-16 text; expected UTF-8"),
    ],
)
def test_a_text_that_is_not_utf_8_is_refused_with_what_to_do(folder: Path, raw: bytes, said: str) -> None:
    documents = Documents([folder], MOST)

    with pytest.raises(BadInput, match=said):
        documents.page("a.txt", raw)
    assert documents.page("a.txt", "Wo läuft er?".encode("utf-8-sig")).text == "Wo läuft er?"


def test_a_document_may_be_named_by_its_whole_path(folder: Path) -> None:
    assert Documents([folder], MOST).data(str(folder / "a.txt")) == b"A"


@pytest.mark.parametrize(
    "source",
    [
        "../secret.txt",
        "deep/../../secret.txt",
        "/etc/passwd",
        "",
        ".",
        "deep",
        "none.txt",
        "a\0b.txt",
        "x" * 5000 + ".txt",
    ],
)
def test_what_is_no_document_of_the_folder_is_bad_input(folder: Path, source: str) -> None:
    with pytest.raises(BadInput, match="There is no document"):
        Documents([folder], MOST).data(source)


def test_a_link_that_leads_outside_is_no_document(folder: Path, tmp_path: Path) -> None:
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "up").symlink_to(tmp_path)
    (folder / "inside.txt").symlink_to(folder / "a.txt")
    documents = Documents([folder], MOST)

    assert list(documents) == ["a.txt", "deep/b.md", "inside.txt"]
    for source in ("link.txt", "up/secret.txt", str(tmp_path / "secret.txt")):
        with pytest.raises(BadInput):
            documents.data(source)


@pytest.mark.parametrize(
    "source",
    [".hidden.txt", "deep/.hidden.txt", ".git/c.txt", "deep/../.git/c.txt", "link.txt", "../papers/.git/c.txt"],
)
def test_a_hidden_file_is_not_read_by_its_name_nor_through_a_link(folder: Path, source: str) -> None:
    (folder / ".git").mkdir()
    for hidden in (".hidden.txt", "deep/.hidden.txt", ".git/c.txt"):
        (folder / hidden).write_text("S")
    (folder / "link.txt").symlink_to(folder / ".git" / "c.txt")
    documents = Documents([folder], MOST)

    assert list(documents) == ["a.txt", "deep/b.md"]
    for name in (source, str(folder / source)):
        with pytest.raises(BadInput, match="There is no document"):
            documents.data(name)


def test_a_hidden_file_that_is_named_in_the_settings_is_read(folder: Path) -> None:
    (folder / ".notes.txt").write_text("N")

    assert Documents([folder / ".notes.txt"], MOST).data(".notes.txt") == b"N"


def test_a_circle_of_links_is_no_document(folder: Path) -> None:
    (folder / "one.txt").symlink_to(folder / "two.txt")
    (folder / "two.txt").symlink_to(folder / "one.txt")
    documents = Documents([folder], MOST)

    assert list(documents) == ["a.txt", "deep/b.md"]
    with pytest.raises(BadInput, match="There is no document"):
        documents.data("one.txt")


def test_a_folder_that_begins_with_the_same_letters_is_outside(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "papers-private").mkdir()
    (tmp_path / "papers-private" / "a.txt").write_text("S")

    with pytest.raises(BadInput):
        Documents([folder], MOST).data("../papers-private/a.txt")


def test_a_document_that_is_too_large_is_given_up(folder: Path) -> None:
    (folder / "large.txt").write_bytes(b"x" * (MOST + 1))
    (folder / "just.txt").write_bytes(b"x" * MOST)
    documents = Documents([folder], MOST)

    assert len(documents.data("just.txt")) == MOST
    with pytest.raises(GiveUp, match="more than 10,000 bytes"):
        documents.data("large.txt")


def test_places_that_cannot_be_used_are_bad_input(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "other" / "papers").mkdir(parents=True)

    for places in ([tmp_path / "none"], [tmp_path / "none.txt"], [folder, tmp_path / "other" / "papers"]):
        with pytest.raises(BadInput, match="MEMSHARE_DOCUMENTS"):
            Documents(places, MOST)
