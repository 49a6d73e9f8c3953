"""Without a token only a program of this machine is served: by a real server, with requests byte for byte."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from memshare.operations.backend import Backend
from tests.support.raw_http import Address, Answer, address_of, answer_of, asking
from tests.support.served import served


@pytest.fixture
def server(backend: Backend, shelf: dict[str, str]) -> Iterator[Address]:
    assert shelf
    with served(backend) as url:
        yield address_of(url)


def ask(server: Address, *headers: str, path: str = "/v1/stats") -> Answer:
    """GET with these headers, and as its Host the server's own unless one of them is another."""
    own = [] if any(one.lower().startswith("host:") for one in headers) else [f"Host: 127.0.0.1:{server[1]}"]
    lines = [f"GET {path} HTTP/1.1", *own, *headers, "", ""]
    with asking(server, "\r\n".join(lines).encode()) as connection:
        return answer_of(connection)


OF_A_PROXY = (
    "Forwarded: for=192.0.2.7", "Via: 1.1 proxy", "X-Forwarded-For: 192.0.2.7", "X-Forwarded-Host: memory.example",
    "X-Forwarded-Proto: https", "X-Forwarded-Port: 443", "X-Forwarded-Server: proxy", "X-Forwarded-Prefix: /a",
    "X-Original-Forwarded-For: 192.0.2.7", "X-Original-URL: /a", "X-Original-Host: memory.example",
    "X-Rewrite-URL: /a", "X-Real-IP: 192.0.2.7", "X-Client-IP: 192.0.2.7", "X-Cluster-Client-IP: 192.0.2.7",
    "True-Client-IP: 192.0.2.7", "CF-Connecting-IP: 192.0.2.7", "CF-Connecting-IPv6: 2001:db8::7", "CF-Ray: 1",
    "CDN-Loop: cdn", "Fastly-Client-IP: 192.0.2.7", "Fly-Client-IP: 192.0.2.7", "Proxy-Client-IP: 192.0.2.7",
    "WL-Proxy-Client-IP: 192.0.2.7", "Proxy-Connection: keep-alive", "X-ProxyUser-IP: 192.0.2.7",
    "X-Envoy-External-Address: 192.0.2.7", "X-Azure-ClientIP: 192.0.2.7", "X-Azure-SocketIP: 192.0.2.7",
    "X-Amzn-Trace-Id: Root=1", "X-Amz-Cf-Id: a", "X-Appengine-User-IP: 192.0.2.7", "X-Cloud-Trace-Context: 1/2",
    "X-Remote-IP: 192.0.2.7", "X-Remote-Addr: 192.0.2.7", "X-Originating-IP: 192.0.2.7", "X-Scheme: https",
    "X_Forwarded_For: 192.0.2.7", "X-Nginx-Proxy: true", "X-Request-Id: 1", "X-B3-TraceId: 1", "Ngrok-Trace-Id: 1",
    "X-Tailscale-User: ada", "Tailscale-User-Login: ada", "Remote-User: ada", "X-Goog-Iap-Jwt-Assertion: a",
)  # fmt: skip


def test_a_request_through_a_proxy_is_refused_by_its_header(server: Address) -> None:
    for header in OF_A_PROXY:
        answer = ask(server, header)

        assert answer.status == 403, header
        assert "memshare token create" in (detail := json.loads(answer.body)["detail"])
        assert repr(header.partition(":")[0].lower()) in detail


ELSEWHERE = (
    "evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "[::1].evil.example", "[::1]evil.example",
    "[::1", "::1", "127.0.0.1:80:80", "127.0.0.1:x", "evil@127.0.0.1", "127.0.0.1,evil.example", "192.0.2.7", "",
)  # fmt: skip


def test_a_name_of_elsewhere_is_refused(server: Address) -> None:
    for host in ELSEWHERE:
        answer = ask(server, f"Host: {host}")

        assert answer.status == 403, host
        assert repr(host) in json.loads(answer.body)["detail"]


def test_two_names_are_refused(server: Address) -> None:
    assert ask(server, "Host: 127.0.0.1", "Host: evil.example").status == 403
    assert ask(server, "Host: 127.0.0.1", "Host: 127.0.0.1").status == 403


OF_ANOTHER_PAGE = (
    "Origin: http://localhost:3000", "Origin: http://127.0.0.1:3000", "Origin: https://evil.example",
    "Origin: http://localhost:1.evil.example", "Origin: null", "Origin:", "Sec-Fetch-Site: cross-site",
    "Sec-Fetch-Site: same-site",
)  # fmt: skip


def test_a_page_of_another_server_is_refused(server: Address) -> None:
    for header in OF_ANOTHER_PAGE:
        answer = ask(server, header)

        assert answer.status == 403, header
        assert "memshare token create" in json.loads(answer.body)["detail"]


def test_a_second_origin_is_refused(server: Address) -> None:
    own = f"Origin: http://127.0.0.1:{server[1]}"
    assert ask(server, own).status == 200

    assert ask(server, own, "Origin: http://evil.example").status == 403


def test_this_machine_and_its_own_page_are_served(server: Address) -> None:
    for host in ("127.0.0.1", "localhost", "LOCALHOST", "[::1]", "127.8.8.8"):
        name = f"{host}:{server[1]}"
        page = (f"Origin: http://{name.lower()}", "Sec-Fetch-Site: same-origin")

        assert ask(server, f"Host: {host}").status == 200  # as by a port that leads here
        assert ask(server, f"Host: {name}", *page).status == 200


def test_with_a_token_a_proxy_may_pass_requests_on(server: Address, backend: Backend) -> None:
    text = backend.tokens.create("ada", ("recall",), ("logic",))

    answer = ask(
        server, f"Authorization: Bearer {text}", "Via: 1.1 proxy", "Host: memory.example", "X-Real-IP: 1.2.3.4"
    )

    assert answer.status == 200


def test_mcp_is_for_this_machine_in_the_same_way(server: Address) -> None:
    answer = ask(server, "Via: 1.1 proxy", path="/mcp")

    assert answer.status == 403
    assert "memshare token create" in json.loads(answer.body)["error"]["message"]
