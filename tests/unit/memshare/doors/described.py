"""The OpenAPI description of the REST door, made once: it takes a quarter of a second."""

from __future__ import annotations

from memshare.doors.server import rest_app
from memshare.operations.backend import Backend
from memshare_broker.settings import Settings

DESCRIPTION = rest_app(Backend(Settings())).openapi()
OPERATIONS = [(method.upper(), path) for path, operations in DESCRIPTION["paths"].items() for method in operations]
