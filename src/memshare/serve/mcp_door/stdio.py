"""MCP over standard input and output, for a program that starts its servers itself."""

from __future__ import annotations

from memshare.serve.backend import Backend
from memshare.serve.caller import Caller, local_caller
from memshare.serve.errors import NoToken
from memshare.serve.mcp_door.server import mcp_server


def run_stdio(backend: Backend, token: str | None) -> None:
    """Serve until the input ends. The token is looked up at each call, for it may be revoked meanwhile."""
    mcp_server(backend, lambda: find_caller(backend, token)).run("stdio")


def find_caller(backend: Backend, text: str | None) -> Caller:
    """The caller with a token; without one this machine's, as long as there is no token."""
    with backend.reaching():
        if text is None:
            if backend.tokens.any():
                raise NoToken(
                    "Set MEMSHARE_TOKEN to a token; `memshare token create NAME --may RIGHTS --pools POOLS` makes one."
                )
            return local_caller()
        token = backend.tokens.find(text)
    if token is None:
        raise NoToken("The token in MEMSHARE_TOKEN is not known: it is misspelt, or was revoked.")
    return token.caller
