"""A cluster that has Secrets and nothing else, for charts that look them up."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import helm_python
import pytest
import yaml

from tests.unit.deploy.chart import Object

RESOURCES = [{"name": "secrets", "kind": "Secret", "namespaced": True, "verbs": ["get"]}]


@pytest.fixture
def there() -> dict[str, Object]:
    """The data of the Secrets in the cluster, by their names."""
    return {}


@pytest.fixture
def cluster(there: dict[str, Object]) -> Iterator[helm_python.Config]:
    """A cluster that has Secrets and nothing else."""

    class Api(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            folder, _, name = path.rpartition("/")
            if path == "/api":
                self._send(200, {"kind": "APIVersions", "versions": ["v1"]})
            elif path == "/apis":
                self._send(200, {"kind": "APIGroupList", "apiVersion": "v1", "groups": []})
            elif path == "/api/v1":
                self._send(200, {"kind": "APIResourceList", "groupVersion": "v1", "resources": RESOURCES})
            elif path == "/version":
                self._send(200, {"major": "1", "minor": "33", "gitVersion": "v1.33.0"})
            elif folder == "/api/v1/namespaces/agents/secrets" and name in there:
                metadata = {"name": name, "namespace": "agents"}
                self._send(200, {"kind": "Secret", "apiVersion": "v1", "metadata": metadata, "data": there[name]})
            else:
                status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}
                self._send(404, status)

        def _send(self, code: int, body: Object) -> None:
            content = json.dumps(body).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Api)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    kubeconfig = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    try:
        with helm_python.Config(kubeconfig_content=yaml.safe_dump(kubeconfig), namespace="agents") as config:
            yield config
    finally:
        server.shutdown()
        server.server_close()
