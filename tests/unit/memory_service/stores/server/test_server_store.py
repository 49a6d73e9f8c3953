"""What only the store on a server has: an address, a key, and other processes."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer

import pytest
from qdrant_client import QdrantClient, models

from memshare_broker.errors import BadInput, GiveUp, TryAgain, Unreachable
from memshare_memory.stores.points import KEYWORDS, NUMBERS, WORDS
from memshare_memory.stores.server_collection import connected
from memshare_memory.stores.server_store import ServerStore
from memshare_memory.stores.store import Where
from tests.support import qdrant_stand_in
from tests.support.memories import LAYOUT, remembered
from tests.support.qdrant_server import emptied


@contextmanager
def replying(status: int, text: str, **headers: str) -> Iterator[str]:
    """A server that says the same to every request, at the URL that is yielded."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(text.encode())

        do_POST = do_PUT = do_GET  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing: a test's output is its own."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def nobody() -> str:
    """An address at which nothing listens."""
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        return f"http://127.0.0.1:{free.getsockname()[1]}"


def test_a_connection_is_kept_and_no_reply_is_compressed() -> None:
    asked: list[tuple[object, str | None]] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked.append((self.client_address, self.headers["Accept-Encoding"]))
            body = b'{"title": "qdrant", "version": "1.18.3"}'
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing: a test's output is its own."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        with connected(f"http://127.0.0.1:{server.server_port}", None) as client:
            client.info()
            client.info()
        client.close()
        server.shutdown()
        thread.join()

    assert len(asked) == 3  # the first is of `connected`
    assert len(set(asked)) == 1
    assert asked[0][1] == "identity"


@contextmanager
def store_at(url: str) -> Iterator[ServerStore]:
    """A store that was opened elsewhere and now finds this address."""
    with closing(QdrantClient(url=url, timeout=5, check_compatibility=False)) as client:
        yield ServerStore(client, "memshare-x-16", url)


def test_an_address_without_a_server_is_named_with_what_to_start(nobody: str) -> None:
    with pytest.raises(Unreachable) as error:
        ServerStore.open(nobody, None, LAYOUT)

    assert f"Qdrant does not answer at {nobody}" in str(error.value)
    assert "docker run -p 6333:6333 qdrant/qdrant" in str(error.value)


@pytest.mark.parametrize("url", ["ftp://example.org", "http://[broken"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(BadInput, match="MEMSHARE_QDRANT_URL="):
        ServerStore.open(url, None, LAYOUT)


@pytest.mark.parametrize("reply", ["<html>It works!</html>", '{"hello": "world"}'])
def test_a_server_that_is_not_qdrant_is_told_apart(reply: str) -> None:
    with replying(200, reply) as url, pytest.raises((Unreachable, BadInput)) as error:
        ServerStore.open(url, None, LAYOUT)

    assert url in str(error.value)
    assert "MEMSHARE_QDRANT_URL" in str(error.value)


def test_a_key_that_is_refused_is_named_with_the_words_of_the_server() -> None:
    with replying(401, "Must provide an API key") as url, pytest.raises(BadInput) as error:
        ServerStore.open(url, None, LAYOUT)

    assert "Must provide an API key" in str(error.value)
    assert "MEMSHARE_QDRANT_API_KEY" in str(error.value)


def test_a_server_that_went_away_may_come_back(nobody: str) -> None:
    with store_at(nobody) as store, pytest.raises(TryAgain, match=f"does not answer at {nobody}"):
        store.put([remembered("moon")])


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_server_in_trouble_is_tried_again(status: int) -> None:
    trouble = pytest.raises(TryAgain, match="no space left")
    with replying(status, "no space left") as url, store_at(url) as store, trouble as error:
        store.count(Where())

    assert error.value.wait is None


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize(
    "call",
    [
        lambda store: store.put([remembered("moon")]),
        lambda store: store.page(Where(), 10),
        lambda store: store.delete([remembered("moon")[0].id]),
    ],
)
def test_a_key_that_is_refused_in_the_middle_is_named_and_tried_again(
    status: int, call: Callable[[ServerStore], object]
) -> None:
    with replying(status, "Forbidden") as url, store_at(url) as store, pytest.raises(TryAgain) as error:
        call(store)

    assert error.value.reason == "store"  # which is tried again for as long as it lasts
    for word in (url, str(status), "Forbidden", "MEMSHARE_QDRANT_API_KEY"):
        assert word in str(error.value)


def test_a_busy_server_says_how_long_to_wait() -> None:
    busy = replying(429, "{}", Retry_After="7")
    with busy as url, store_at(url) as store, pytest.raises(TryAgain) as error:
        store.count(Where())

    assert error.value.wait == 7


def test_what_the_server_refuses_is_given_up_with_its_words() -> None:
    with emptied() as url, store_at(url) as store, pytest.raises(GiveUp, match="memshare-x-16"):
        store.put([remembered("moon")])


def test_a_new_store_can_be_opened_by_many_at_the_same_moment() -> None:
    with emptied() as url, ThreadPoolExecutor(8) as threads:
        stores = list(threads.map(lambda _: ServerStore.open(url, None, LAYOUT), range(8)))
        for i, store in enumerate(stores):
            store.put([remembered(f"memory {i}")])

        assert [store.count(Where()) for store in stores] == [{"poem": 8}] * 8
        for store in stores:
            store.close()


def test_a_store_whose_making_was_cut_short_is_made_whole() -> None:
    with emptied() as url, closing(QdrantClient(url=url, check_compatibility=False)) as client:
        with closing(ServerStore.open(url, None, LAYOUT)) as store:
            store.put([remembered("moon")])
        forget = models.DeleteAlias(alias_name="memshare")
        client.update_collection_aliases([models.DeleteAliasOperation(delete_alias=forget)])

        with closing(ServerStore.open(url, None, LAYOUT)) as store:
            assert store.count(Where()) == {"poem": 1}


def test_every_field_of_a_condition_has_an_index_and_the_pool_is_the_tenant() -> None:
    with emptied() as url, closing(QdrantClient(url=url, check_compatibility=False)) as client:
        ServerStore.open(url, None, LAYOUT).close()
        schema = client.get_collection("memshare").payload_schema

    assert set(schema) == {*KEYWORDS, *NUMBERS, WORDS}
    kinds = {key: index.params for key, index in schema.items()}
    assert [key for key, kind in kinds.items() if getattr(kind, "is_tenant", None)] == ["pool"]


def test_a_foreign_collection_behind_the_alias_is_not_touched() -> None:
    with emptied() as url, closing(QdrantClient(url=url, check_compatibility=False)) as client:
        client.create_collection("memshare_theirs", models.VectorParams(size=4, distance=models.Distance.DOT))
        pointing = models.CreateAlias(collection_name="memshare_theirs", alias_name="memshare")
        client.update_collection_aliases([models.CreateAliasOperation(create_alias=pointing)])

        with pytest.raises(BadInput, match=r"'memshare_theirs' at http.* does not say what it was made for"):
            ServerStore.open(url, None, LAYOUT)

        assert client.get_collection("memshare_theirs").payload_schema == {}


@pytest.mark.parametrize("version", ["1.16.3", "1.9.0", "0.11.1"])
def test_a_server_that_is_too_old_is_refused_with_what_it_lacks_and_the_version_that_is_needed(version: str) -> None:
    with qdrant_stand_in.serving(version=version) as url, pytest.raises(BadInput) as error:
        ServerStore.open(url, None, LAYOUT)

    for word in (url, version, "update_mode", "since 1.17", "1.17 or newer"):
        assert word in str(error.value)


@pytest.mark.parametrize("version", ["1.17.0", "1.18.3-dev", "2.0.0", "of our own"])
def test_a_server_that_is_new_enough_is_taken(version: str) -> None:
    with qdrant_stand_in.serving(version=version) as url:
        ServerStore.open(url, None, LAYOUT).close()
