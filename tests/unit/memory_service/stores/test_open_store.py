"""Which store the settings open."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memshare_broker.errors import BadInput, Unreachable
from memshare_broker.settings import Settings
from memshare_memory.stores.open_store import layout_in_use, open_store, put_in_use
from memshare_memory.stores.store import Layout, Where
from tests.support.memories import LAYOUT, remembered
from tests.support.qdrant_server import emptied


def test_without_an_address_the_pool_is_in_the_data_folder(tmp_path: Path) -> None:
    with closing(open_store(Settings(data=tmp_path, qdrant_url=None), LAYOUT, "a test")) as store:
        store.put([remembered("moon")])

        assert '"a test"' in (tmp_path / "pool" / "owner.json").read_text()

    assert not (tmp_path / "pool" / "owner.json").exists()


def test_with_an_address_the_pool_is_on_the_server_and_many_can_have_it_open(tmp_path: Path) -> None:
    with emptied() as url:
        settings = Settings(data=tmp_path, qdrant_url=url)
        with closing(open_store(settings, LAYOUT, "one")) as one, closing(open_store(settings, LAYOUT, "two")) as two:
            one.put([remembered("moon")])

            assert two.count(Where()) == {"poem": 1}

    assert list(tmp_path.iterdir()) == []


def test_the_folder_is_free_again_after_an_error(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, qdrant_url=None)

    refused = pytest.raises(Unreachable, match="open already, by one")
    with refused, closing(open_store(settings, LAYOUT, "one")), closing(open_store(settings, LAYOUT, "two")):
        pytest.fail("two have it open")

    with closing(open_store(settings, LAYOUT, "three")) as store:
        assert store.count(Where()) == {}


OTHER = Layout("tests/sundial", LAYOUT.dimension)


@pytest.fixture(params=["folder", "server"])
def settings_of_a_place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Settings]:
    if request.param == "folder":
        yield Settings(data=tmp_path, qdrant_url=None)
        return
    with emptied() as url:
        yield Settings(data=tmp_path, qdrant_url=url)


def test_a_store_of_another_encoder_can_be_filled_beside_the_one_in_use_and_then_take_its_place(
    settings_of_a_place: Settings,
) -> None:
    settings = settings_of_a_place
    assert layout_in_use(settings) is None
    with closing(open_store(settings, LAYOUT, "old")) as old:
        old.put([remembered("moon")])
        with closing(open_store(settings, OTHER, "new", beside=True)) as new:
            assert new.count(Where()) == {}
            new.put([remembered("sun"), remembered("star")])
        assert layout_in_use(settings) == LAYOUT

        put_in_use(settings, OTHER)
        assert layout_in_use(settings) == OTHER
        assert old.count(Where()) == {"poem": 1}  # who has the old one open goes on

    with closing(open_store(settings, OTHER, "later")) as later:
        assert later.count(Where()) == {"poem": 2}
    with pytest.raises(BadInput, match="memshare retriever consolidate"):
        open_store(settings, LAYOUT, "too late")

    put_in_use(settings, LAYOUT)
    with closing(open_store(settings, LAYOUT, "back again")) as back:
        assert back.count(Where()) == {"poem": 1}


def test_a_pool_that_is_not_where_it_is_said_to_be_is_not_begun_anew(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, qdrant_url=None)
    open_store(settings, LAYOUT, "a test").close()
    put_in_use(settings, LAYOUT)
    (tmp_path / "pool").rename(tmp_path / "elsewhere")

    with pytest.raises(BadInput, match=r"pool\.json' says that the pool is in 'pool', and there is none"):
        layout_in_use(settings)
