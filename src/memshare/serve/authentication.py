"""Who asks over HTTP: the token of a request, or this machine while there is no token at all."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from memshare.serve.backend import Backend
from memshare.serve.caller import Caller, local_caller
from memshare.serve.errors import NoToken

FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip")
"""Headers that a proxy adds: then who asks is not who is connected."""

OF_CONNECTION = "of_connection"
"""What requests have in their state that is their connection's."""

_bearer = HTTPBearer(auto_error=False, description="A token that `memshare token create` printed.")


def backend_of(request: Request) -> Backend:
    """What this process works with."""
    backend: Backend = request.app.state.backend
    return backend


def caller_of(request: Request, given: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]) -> Caller:
    """Whoever asks; raises `NoToken`."""
    return find_caller(backend_of(request), request, given.credentials if given else None)


def find_caller(backend: Backend, request: Request, text: str | None) -> Caller:
    """The caller with a token; without one this machine's, as long as there is no token."""
    with backend.reaching():
        if text is not None:
            token = backend.tokens.find(text)
            if token is None:
                raise NoToken("This token is not known: it is misspelt, or was revoked.")
            return token.caller
        if backend.tokens.any():
            raise NoToken(
                "Send a token as the header 'Authorization: Bearer TOKEN'; `memshare token create` makes one."
            )
    if not is_local(request):
        raise NoToken(
            "There is no token yet, so only its user on this machine is served. Run `memshare token create NAME --may …"
            " --pools …` there, and send what it prints as the header 'Authorization: Bearer TOKEN'."
        )
    return local_caller()


def is_local(request: Request) -> bool:
    """Whether a request comes from a program of this user on this machine.

    Not one through a proxy, nor one of a page of the web that a browser shows here, whose name is its Host or Origin.
    """
    headers = request.headers
    names = [headers.get("host", ""), *(headers[name].partition("//")[2] for name in ("origin",) if name in headers)]
    return (
        request.client is not None
        and _is_loopback(request.client.host)
        and not any(name in headers for name in FORWARDED)
        and all(_is_loopback(_host(name)) for name in names)
        and _is_same_user(request, request.client.port)
    )


def _is_same_user(request: Request, port: int) -> bool:
    """Whether a connection is this user's: asked once for a connection, for the kernel's answer may take 10 ms."""
    known: dict[str, bool] = request.scope.get("state", {}).get(OF_CONNECTION, {})
    if "is_same_user" not in known:
        known["is_same_user"] = request.app.state.is_same_user(port, request.scope["server"][1])
    return known["is_same_user"]


def _host(place: str) -> str:
    """The host of HOST:PORT or [HOST]:PORT."""
    return place.partition("]")[0].strip("[") if place.startswith("[") else place.partition(":")[0]


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


CallerNow = Annotated[Caller, Depends(caller_of)]
BackendNow = Annotated[Backend, Depends(backend_of)]
