"""A stand-in for a Qdrant server, for tests alone: the in-memory client behind the REST calls we make.

`python -m tests.support.qdrant_stand_in --port 0` prints its URL and serves until it is stopped. It keeps
nothing on disk, holds one lock for everything and is slow; a pool belongs into a real Qdrant.
"""

from __future__ import annotations

import argparse
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from pydantic import TypeAdapter, ValidationError
from qdrant_client import QdrantClient, models
from qdrant_client.http.models import CreateFieldIndex, PointsList

from tests.support.locked_qdrant import locked_qdrant

Body = dict[str, Any]
Call = Callable[[QdrantClient, str, Body], object]
VERSION = "1.18.3"


def _create(client: QdrantClient, name: str, body: Body) -> bool:
    asked = models.CreateCollection.model_validate(body)
    return client.create_collection(
        name,
        vectors_config=asked.vectors,
        sparse_vectors_config=asked.sparse_vectors,
        metadata=asked.metadata,
    )


def _aliases(client: QdrantClient, _: str, body: Body) -> bool:
    return client.update_collection_aliases(models.ChangeAliasesOperation.model_validate(body).actions)


def _index(client: QdrantClient, name: str, body: Body) -> object:
    asked = CreateFieldIndex.model_validate(body)
    return client.create_payload_index(name, asked.field_name, asked.field_schema)


def _upsert(client: QdrantClient, name: str, body: Body) -> object:
    asked = PointsList.model_validate(body)
    return client.upsert(name, asked.points, update_mode=asked.update_mode)


def _query(client: QdrantClient, name: str, body: Body) -> object:
    asked = models.QueryRequestBatch.model_validate(body).searches
    return client.query_batch_points(name, asked)


def _scroll(client: QdrantClient, name: str, body: Body) -> object:
    asked = models.ScrollRequest.model_validate(body)
    found, following = client.scroll(
        name,
        scroll_filter=asked.filter,
        limit=asked.limit or 10,
        offset=asked.offset,
        with_payload=asked.with_payload or False,
        with_vectors=asked.with_vector or False,
        order_by=asked.order_by,
    )
    return models.ScrollResult(points=found, next_page_offset=following)


def _retrieve(client: QdrantClient, name: str, body: Body) -> object:
    asked = models.PointRequest.model_validate(body)
    return client.retrieve(
        name, asked.ids, with_payload=bool(asked.with_payload), with_vectors=asked.with_vector or False
    )


def _facet(client: QdrantClient, name: str, body: Body) -> object:
    asked = models.FacetRequest.model_validate(body)
    return client.facet(name, asked.key, facet_filter=asked.filter, limit=asked.limit or 10)


def _batch(client: QdrantClient, name: str, body: Body) -> object:
    return client.batch_update_points(name, models.UpdateOperations.model_validate(body).operations)


def _delete(client: QdrantClient, name: str, body: Body) -> object:
    selector: models.PointsSelector = TypeAdapter(models.PointsSelector).validate_python(body)
    return client.delete(name, selector)


_COLLECTION = r"/collections/(?P<name>[^/]+)"
ROUTES: list[tuple[str, str, Call]] = [
    ("GET", r"/aliases", lambda client, _, __: client.get_aliases()),
    ("POST", r"/collections/aliases", _aliases),
    ("GET", _COLLECTION, lambda client, name, _: client.get_collection(name)),
    ("PUT", _COLLECTION, _create),
    ("DELETE", _COLLECTION, lambda client, name, _: client.delete_collection(name)),
    ("PUT", _COLLECTION + "/index", _index),
    ("PUT", _COLLECTION + "/points", _upsert),
    ("POST", _COLLECTION + "/points/query/batch", _query),
    ("POST", _COLLECTION + "/points/scroll", _scroll),
    ("POST", _COLLECTION + "/points/delete", _delete),
    ("POST", _COLLECTION + "/points/batch", _batch),
    ("POST", _COLLECTION + "/points", _retrieve),
    ("POST", _COLLECTION + "/facet", _facet),
]


class _Handler(BaseHTTPRequestHandler):
    """Answers in Qdrant's envelope: `result` or `status.error`."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # headers and body leave together: sent one by one, the second waits 40 ms
    client: QdrantClient
    version: str

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing: a test's output is its own."""

    def _answer(self) -> None:
        text = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = urlsplit(self.path).path
        if path == "/":
            return self._send(200, {"title": "a stand-in for qdrant", "version": self.version})
        for method, pattern, call in ROUTES:
            match = re.fullmatch(pattern, path)
            if match and method == self.command:
                name = match.groupdict().get("name", "")
                try:
                    result = call(self.client, name, json.loads(text or b"{}"))
                except ValidationError as error:
                    return self._send(400, {"status": {"error": f"Format error in JSON body: {error}"}})
                except ValueError as error:
                    return self._send(_status(str(error)), {"status": {"error": str(error)}})
                plain = TypeAdapter(Any).dump_python(result, mode="json")
                return self._send(200, {"result": plain, "status": "ok", "time": 0.0})
        return self._send(404, {"status": {"error": f"The stand-in has no {self.command} {path}"}})

    do_GET = do_POST = do_PUT = do_DELETE = _answer  # noqa: N815

    def _send(self, status: int, content: Body) -> None:
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _status(error: str) -> int:
    if "already exists" in error:
        return 409
    return 404 if "not found" in error else 400


@contextmanager
def serving(port: int = 0, version: str = VERSION) -> Iterator[str]:
    """A stand-in with nothing in it, at the URL that is yielded."""
    handler = type("Handler", (_Handler,), {"client": locked_qdrant(), "version": version})
    with ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A stand-in for a Qdrant server, for tests alone.")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    with serving(parser.parse_args().port) as url:
        print(url, flush=True)
        threading.Event().wait()
