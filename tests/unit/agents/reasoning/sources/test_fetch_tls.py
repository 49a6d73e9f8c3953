from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
from ipaddress import ip_network
from pathlib import Path

import pytest

from memshare_agents.reasoning.sources.fetch import Fetcher
from memshare_broker.errors import GiveUp, TryAgain
from tests.support.page_server import PageServer

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")


@pytest.fixture
def secure(web: PageServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PageServer:
    """The server by https as harbour.test, with a certificate that is trusted."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=harbour.test"
    named = ["-addext", "subjectAltName=DNS:harbour.test", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*made.split(), *named], check=True, capture_output=True, timeout=30)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    web.socket = context.wrap_socket(web.socket, server_side=True, do_handshake_on_connect=False)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    look_up = socket.getaddrinfo

    def at_home(host: object, *args: object, **options: object) -> object:
        return look_up("127.0.0.1" if str(host).endswith(".test") else host, *args, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(socket, "getaddrinfo", at_home)
    return web


def test_the_certificate_is_checked_for_the_name_and_not_for_the_address(secure: PageServer) -> None:
    secure.page("/", b"<p>x</p>")
    fetcher = Fetcher([ip_network("127.0.0.1/32")], seconds=5, most=100_000)

    assert fetcher.fetch(f"https://harbour.test:{secure.server_port}/").data == b"<p>x</p>"
    for other in ("other.test", "127.0.0.1"):
        with pytest.raises(GiveUp, match="no certificate that can be trusted"):
            fetcher.fetch(f"https://{other}:{secure.server_port}/")


def test_a_certificate_that_nobody_vouches_for_is_refused(secure: PageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")

    with pytest.raises(GiveUp, match="no certificate that can be trusted"):
        Fetcher([ip_network("127.0.0.1/32")], seconds=5, most=100_000).fetch(
            f"https://harbour.test:{secure.server_port}/"
        )
    assert secure.asked == []


def test_a_server_that_speaks_no_tls_cannot_be_reached_by_https(web: PageServer) -> None:
    with pytest.raises(TryAgain, match="cannot be reached"):
        Fetcher([ip_network("127.0.0.1/32")], seconds=5, most=100_000).fetch(web.url.replace("http:", "https:"))
    assert web.asked == []
