"""The fixtures of the client: integrations stand on it."""

from tests.unit.memshare.client.conftest import backend, client, shelf, url

__all__ = ["backend", "client", "shelf", "url"]
