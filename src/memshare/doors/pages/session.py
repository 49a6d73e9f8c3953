"""Signing in: a token is exchanged for a cookie that scripts cannot read and other sites cannot send."""

from __future__ import annotations

import hashlib
import secrets
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from memshare.client.errors import Forbidden, NoToken
from memshare.doors.authentication import authenticate
from memshare.doors.backend import Backend
from memshare.doors.caller import Caller

COOKIE = "memshare_session"
SESSION = "memshare:session:"
"""Key of a session, by the SHA-256 of its cookie: the name and the digest of the token that it stands for."""
LASTS = 12 * 3_600  # seconds


def who_asks(backend: Backend, request: Request) -> Caller:
    """Whoever signed in, and one request of theirs; without a cookie as in REST.

    Raises `NoToken`, `Forbidden` or `TooManyRequests`.
    """
    cookie = request.cookies.get(COOKIE)
    if cookie is None:
        return authenticate(backend, request)
    with backend.reaching():
        kept = backend.redis.get(_key(cookie))
        name, _, digest = str(kept or "").partition(" ")
        token = next((one for one in backend.tokens.all() if one.name == name and one.digest == digest), None)
        if token is None:
            if backend.tokens.any():
                raise NoToken("Your session has ended. Sign in again.")
            return authenticate(backend, request)
        backend.requests.take(f"the token {token.name!r}")
    return token.caller


def sign_in(backend: Backend, text: str, response: Response, *, secure: bool) -> None:
    """Begin a session of whoever has the token with this text; raises `NoToken`."""
    with backend.reaching():
        token = backend.tokens.find(text.strip())
        if token is None:
            raise NoToken("This token is not known: it is misspelt, or was revoked.")
        cookie = secrets.token_urlsafe(32)
        backend.redis.set(_key(cookie), f"{token.name} {token.digest}", ex=LASTS)
    response.set_cookie(COOKIE, cookie, max_age=LASTS, httponly=True, samesite="strict", secure=secure)


def sign_out(backend: Backend, request: Request, response: Response) -> None:
    """End the session of a request."""
    if cookie := request.cookies.get(COOKIE):
        with backend.reaching():
            backend.redis.delete(_key(cookie))
    response.delete_cookie(COOKIE)


def require_same_origin(request: Request) -> None:
    """Raise `Forbidden` for a form that a page of another site has sent; a browser always says whose page it is."""
    host, origin = request.headers.get("host"), request.headers.get("origin")
    if origin is None or urlsplit(origin).netloc != host:
        raise Forbidden(f"This form was sent by a page of {origin!r}, not of {host!r}. Open this page, and try again.")


def _key(cookie: str) -> str:
    return SESSION + hashlib.sha256(cookie.encode()).hexdigest()
