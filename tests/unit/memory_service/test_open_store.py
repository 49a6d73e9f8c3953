"""Which store the settings open."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.errors import Unreachable
from broker.settings import Settings
from memory_service.open_store import open_store
from memory_service.store import Where
from tests.support.memories import LAYOUT, remembered
from tests.support.qdrant_server import serving


def test_without_an_address_the_pool_is_in_the_data_folder(tmp_path: Path) -> None:
    with open_store(Settings(data=tmp_path, qdrant_url=None), LAYOUT, "a test") as store:
        store.put([remembered("moon")])

        assert '"a test"' in (tmp_path / "pool" / "owner.json").read_text()

    assert not (tmp_path / "pool" / "owner.json").exists()


def test_with_an_address_the_pool_is_on_the_server_and_many_can_have_it_open(tmp_path: Path) -> None:
    with serving() as url:
        settings = Settings(data=tmp_path, qdrant_url=url)
        with open_store(settings, LAYOUT, "one") as one, open_store(settings, LAYOUT, "two") as two:
            one.put([remembered("moon")])

            assert two.count(Where()) == {"poem": 1}

    assert list(tmp_path.iterdir()) == []


def test_the_folder_is_free_again_after_an_error(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, qdrant_url=None)

    refused = pytest.raises(Unreachable, match="open already, by one")
    with refused, open_store(settings, LAYOUT, "one"), open_store(settings, LAYOUT, "two"):
        pytest.fail("two have it open")

    with open_store(settings, LAYOUT, "three") as store:
        assert store.count(Where()) == {}
