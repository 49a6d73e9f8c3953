"""Who asks over HTTP: the token of a request, or this machine while there is no token at all."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPBearer
from fastapi.security.utils import get_authorization_scheme_param

from memshare.client.errors import NoToken
from memshare.doors.this_machine import require_this_machine
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller, local_caller
from memshare.operations.tokens import Token

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
    """What this process works with."""
    backend: Backend = request.app.state.backend
    return backend


async def caller_of(request: Request, _: Annotated[object, Depends(_bearer)]) -> Caller:
    """Whoever asks, whom `Entrance` has found."""
    caller: Caller = request.state.caller
    return caller


CallerNow = Annotated[Caller, Depends(caller_of)]
BackendNow = Annotated[Backend, Depends(backend_of)]
