"""Who asks over HTTP: the token of a request, or this machine while there is no token at all."""

from __future__ import annotations

import os
import re
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPBearer
from fastapi.security.utils import get_authorization_scheme_param

from memshare.client.errors import Forbidden, NoToken
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller, Token, local_caller

# Of the kernel: who has which connection.
TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
ESTABLISHED = "01"  # in any other state the connection may have no owner any more
LOCAL, REMOTE, STATE, USER = 1, 2, 3, 7  # columns


OF_CONNECTION = "of_connection"
"""Key in a request's state for the values of its connection."""

OF_A_CLIENT = re.compile(
    r"host|connection|keep-alive|te|upgrade-insecure-requests|user-agent|accept(-.*)?|content-(type|length|encoding)"
    r"|transfer-encoding|expect|origin|referer|sec-.*|cookie|authorization|cache-control|pragma|priority|dnt|purpose"
    r"|if-(match|none-match|modified-since|unmodified-since)|range|idempotency-key|last-event-id|mcp-.*|hx-.*"
    r"|traceparent|tracestate|baggage|x-requested-with"
)
"""Names of headers that browsers, our pages and clients send; any other may be one that a proxy adds, and then who asks
is not who is connected."""

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[0-9a-z.-]+)(:[0-9]{1,5})?", re.IGNORECASE)
_CREATE = (
    "There is no token yet, so only its user on this machine is served. Run `memshare token create NAME"
    " --may admin --pools '*'` there, and send what it prints as the header 'Authorization: Bearer TOKEN'"
)


def require_this_machine(request: Request) -> None:
    """Raise `NoToken` for who is connected from elsewhere, `Forbidden` for who may only pass something on.

    That is a proxy, or a page of the web that a browser shows here: its name is the request's Host or Origin.
    """
    client = request.client
    if client is None or not _is_loopback(client.host) or not _is_same_user(request, client.port):
        raise NoToken(f"{_CREATE}.")
    if strange := _passed_on(request):
        raise Forbidden(f"{_CREATE}; this request {strange}.")


def _passed_on(request: Request) -> str | None:
    """The sign that a request began elsewhere, or that its page is another program's."""
    headers = request.headers
    if strange := next((name for name in headers if not OF_A_CLIENT.fullmatch(name)), None):
        return f"may have come through a proxy, by its header {strange!r}"
    hosts = headers.getlist("host")
    named = _HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
    if named is None or not _is_loopback(named[1].strip("[]")):
        return f"names as its Host {' and '.join(map(repr, hosts)) or 'nothing'}, not 127.0.0.1 or localhost"
    if others := [origin for origin in headers.getlist("origin") if origin.lower() != f"http://{hosts[0]}".lower()]:
        return f"is of a web page of {others[0]!r}, not of http://{hosts[0]}"
    if (site := headers.get("sec-fetch-site", "none")) not in ("same-origin", "none"):
        return f"is of a web page of another site, by its header 'sec-fetch-site: {site}'"
    return None


def _is_same_user(request: Request, port: int) -> bool:
    """True if a connection is this user's: asked once for a connection, as the kernel's answer may take 10 ms."""
    known: dict[str, bool] = request.scope.get("state", {}).get(OF_CONNECTION, {})
    if "is_same_user" not in known:
        known["is_same_user"] = request.app.state.is_same_user(port, request.scope["server"][1])
    return known["is_same_user"]


def _is_loopback(host: str) -> bool:
    try:
        return host.lower() == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def is_same_user(peer_port: int, own_port: int) -> bool:
    """True if this user, or root, is connected from a port to a port of ours, or if no kernel can say.

    Every connection with these ports counts, whatever its addresses: one of another user is enough to say no.
    """
    there = [table for table in TABLES if table.exists()]
    users = [user for table in there for user in _users(table, peer_port, own_port)]
    return not there or (bool(users) and set(users) <= {os.getuid(), 0})


def _users(table: Path, peer_port: int, own_port: int) -> list[int]:
    rows = (line.split() for line in table.read_text().splitlines()[1:])
    return [
        int(row[USER])
        for row in rows
        if row[STATE] == ESTABLISHED and (_port(row[LOCAL]), _port(row[REMOTE])) == (peer_port, own_port)
    ]


def _port(address: str) -> int:
    return int(address.rpartition(":")[2], 16)


_bearer = HTTPBearer(auto_error=False, description="A token that `memshare token create NAME …` printed.")


def authenticate(backend: Backend, request: Request) -> Caller:
    """Whoever asks, and one request of theirs; raises `NoToken`, `Forbidden` or `TooManyRequests`."""
    scheme, text = get_authorization_scheme_param(request.headers.get("authorization"))
    with backend.reaching():
        if scheme.lower() == "bearer":
            token = token_of(backend, request, text)
            backend.requests.take(f"the token {token.name!r}")
            return token.caller
        if backend.tokens.any():
            raise NoToken(
                "Send a token as the header 'Authorization: Bearer TOKEN';"
                " `memshare token create NAME --may RIGHTS --pools POOLS` makes one."
            )
        require_this_machine(request)
        assert request.client is not None
        backend.requests.take(f"the address {request.client.host!r}")
    return local_caller()


def token_of(backend: Backend, request: Request, text: str) -> Token:
    """The token with this text; raises `NoToken`, or `TooManyRequests` for who has tried too many that are none."""
    token = backend.tokens.find(text)
    if token is None:
        backend.failures.take(f"wrong tokens from the address {request.client.host if request.client else ''!r}")
        raise NoToken("This token is not known: it is misspelt, or was revoked.")
    return token


async def backend_of(request: Request) -> Backend:
    """The backend of this process."""
    backend: Backend = request.app.state.backend
    return backend


async def caller_of(request: Request, _: Annotated[object, Depends(_bearer)]) -> Caller:
    """Whoever asks, whom `Entrance` has found."""
    caller: Caller = request.state.caller
    return caller


CallerNow = Annotated[Caller, Depends(caller_of)]
BackendNow = Annotated[Backend, Depends(backend_of)]
