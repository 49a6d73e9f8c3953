"""Signatures of messages, and where the secret comes from."""

from __future__ import annotations

import multiprocessing
import time
from itertools import pairwise
from pathlib import Path

import pytest

from memshare_broker.errors import BadInput
from memshare_broker.settings import Settings, load_settings
from memshare_broker.wire.signing import FILE, Signer, digest, find_signer, open_signer, signed_at

OLD, NEW = "o" * 32, "n" * 40
BODY = {"b": [1, 2.5, None], "a": "深 \ud83d"}
MESSAGE = ("scorer.score", "t2", "t1", BODY)


def signer(*keys: str) -> Signer:
    return Signer(tuple(key.encode() for key in keys))


def test_a_signature_holds_for_this_very_message_and_however_its_fields_are_ordered() -> None:
    signature = signer(OLD).sign(*MESSAGE)

    assert signer(OLD).proves(signature, "scorer.score", "t2", "t1", {"a": "深 \ud83d", "b": [1, 2.5, None]})
    for place, other in enumerate(["memory_service.settle", "t3", "t9", {**BODY, "a": ""}]):
        changed = [*MESSAGE]
        changed[place] = other
        assert not signer(OLD).proves(signature, *changed)


def test_a_signature_says_when_it_was_made_and_nobody_changes_that() -> None:
    at, _, mac = signer(OLD).sign(*MESSAGE).partition(".")

    assert abs(signed_at(f"{at}.{mac}") - time.time()) < 5
    for changed in (f"{int(at) + 1}.{mac}", f".{mac}", mac):
        assert not signer(OLD).proves(changed, *MESSAGE)


@pytest.mark.parametrize("forged", [None, "", "0" * 64, 7, "é", b"x", [], {}])
def test_nothing_else_is_a_signature(forged: object) -> None:
    assert not signer(OLD).proves(forged, *MESSAGE)


def test_a_secret_is_replaced_in_three_steps_none_of_which_refuses_a_message() -> None:
    steps = [(OLD,), (OLD, NEW), (NEW, OLD), (NEW,)]
    for before, after in pairwise(steps):
        for sender, taker in ((before, after), (after, before)):
            assert signer(*taker).proves(signer(*sender).sign(*MESSAGE), *MESSAGE)
    assert not signer(NEW).proves(signer(OLD).sign(*MESSAGE), *MESSAGE)


def test_bodies_that_differ_have_another_digest() -> None:
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    assert len({digest(one) for one in ({"a": 1}, {"a": "1"}, {"a": [1]}, ["a", 1], "a", None)}) == 6


def test_a_secret_is_made_once_in_the_data_folder_and_for_its_owner_alone(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data")
    assert find_signer(settings) is None

    made = open_signer(settings)

    assert made == open_signer(settings) == find_signer(settings)
    assert (settings.data / FILE).stat().st_mode & 0o777 == 0o600
    assert made != open_signer(Settings(data=tmp_path / "other"))
    assert [one.name for one in settings.data.iterdir()] == [FILE], "nothing is left beside it"


def _keys(data: Path) -> tuple[bytes, ...]:
    return open_signer(Settings(data=data)).keys


def test_processes_that_start_together_have_the_same_secret(tmp_path: Path) -> None:
    with multiprocessing.get_context("forkserver").Pool(4) as pool:
        assert len(set(pool.map(_keys, [tmp_path] * 16))) == 1


def test_a_shared_redis_wants_a_secret_and_says_which_setting_is_missing(tmp_path: Path) -> None:
    shared = Settings(data=tmp_path, redis_url="redis://queue:6379/0")

    with pytest.raises(BadInput, match="set MEMSHARE_SECRET or MEMSHARE_SECRET_FILE to the same for every worker"):
        open_signer(shared)
    assert list(tmp_path.iterdir()) == []

    assert open_signer(shared, make=True) == open_signer(shared), "as `memshare up` does"


def test_a_secret_is_read_from_the_setting_before_a_file(tmp_path: Path) -> None:
    (tmp_path / "given").write_text(f"{NEW},{OLD}\n")
    named = Settings(data=tmp_path, secret_file=tmp_path / "given")

    assert open_signer(named) == signer(NEW, OLD)
    assert open_signer(Settings(data=tmp_path, secret=f"{OLD}, {NEW}", secret_file=tmp_path / "given")) == signer(
        OLD, NEW
    )


@pytest.mark.parametrize("secret", ["short", f"{OLD},short", f"{OLD},{NEW},{OLD}", "with a blank " * 5, "ü" * 40])
def test_a_secret_that_cannot_be_used_is_refused_and_not_told(
    secret: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "given"
    file.write_text(secret)

    with pytest.raises(BadInput, match=r"MEMSHARE_SECRET_FILE=.*expected a secret of 32 characters") as from_file:
        open_signer(Settings(data=tmp_path, secret_file=file))
    monkeypatch.setenv("MEMSHARE_SECRET", secret)
    with pytest.raises(BadInput, match=r"MEMSHARE_SECRET=.*expected 32 characters") as from_setting:
        load_settings()

    assert secret not in f"{from_file.value} {from_setting.value}"


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"MEMSHARE_SECRET_FILE=.*nowhere' cannot be read: No such file"):
        open_signer(Settings(data=tmp_path, secret_file=tmp_path / "nowhere"))
