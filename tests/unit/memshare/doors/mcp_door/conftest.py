"""The MCP door, asked by the SDK's own client over both transports and in both of its protocols."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from memshare.operations.backend import Backend
from tests.support.served import served

Connect = Callable[[str | None], AbstractAsyncContextManager[Client]]


@pytest.fixture(params=["http", "http of 2025", "stdio"])
def connect(request: pytest.FixtureRequest, backend: Backend) -> Connect:
    """Connects a client that has a token, or none."""
    mode = "legacy" if request.param == "http of 2025" else "auto"

    @asynccontextmanager
    async def by_http(token: str | None) -> AsyncIterator[Client]:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        with served(backend) as url:
            async with (
                httpx2.AsyncClient(headers=headers, timeout=30) as http,
                Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as client,
            ):
                yield client

    @asynccontextmanager
    async def by_stdio(token: str | None) -> AsyncIterator[Client]:
        environment = {
            "PATH": os.environ["PATH"],
            "MEMSHARE_DATA": str(backend.settings.data),
            "MEMSHARE_REDIS_URL": backend.settings.redis,
            **({"MEMSHARE_TOKEN": token} if token else {}),
        }
        program = StdioServerParameters(command=sys.executable, args=["-m", "memshare", "mcp"], env=environment)
        async with Client(program) as client:
            yield client

    return by_stdio if request.param == "stdio" else by_http
