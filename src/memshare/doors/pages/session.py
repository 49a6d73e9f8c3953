"""Signing in: a token is exchanged for a cookie that scripts cannot read and other sites cannot send."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Sequence
from urllib.parse import urlsplit

from redis import ResponseError
from starlette.requests import Request
from starlette.responses import Response

from memshare.client.errors import Forbidden, NoToken
from memshare.doors.authentication import authenticate, token_of
from memshare.operations.backend import Backend
from memshare.operations.caller import LOCAL_NAME, Caller
from memshare_broker.connection import DOWN

COOKIE = "memshare_session"
SECURE = "__Host-"
"""Before the name of a cookie that came by https: a browser takes it from this host alone, and from nothing by http."""
SESSION = "memshare:session:"
"""Key of a session, by the SHA-256 of its cookie: the name and the digest of the token that it stands for."""
SESSIONS = "memshare:sessions:"
"""Set: keys of the sessions of a token, by its name; some of them have ended."""
NOTE = "memshare_note"
"""Cookie with the number of what the last form did."""
NOTES = "memshare:note:"
"""Key of that, by the number, for a minute."""
LASTS = 12 * 3_600  # seconds


def who_asks(backend: Backend, request: Request) -> Caller:
    """Whoever signed in, and one request of theirs; without a cookie as in REST.

    Raises `NoToken`, `Forbidden` or `TooManyRequests`.
    """
    cookie = cookie_of(request, COOKIE)
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


def sign_in(backend: Backend, request: Request, text: str, response: Response) -> None:
    """Begin a session of whoever has the token with this text; raises `NoToken` or `TooManyRequests`."""
    secure = came_by_https(request)
    with backend.reaching():
        token = token_of(backend, request, text.strip())
        name, value = _named(COOKIE, secure=secure), secrets.token_urlsafe(32)
        key = _key((name, value))
        backend.redis.set(key, f"{token.name} {token.digest}", ex=LASTS)
        backend.redis.sadd(f"{SESSIONS}{token.name}", key)
        backend.redis.expire(f"{SESSIONS}{token.name}", LASTS)
    response.set_cookie(name, value, max_age=LASTS, httponly=True, samesite="strict", secure=secure)


def sign_out(backend: Backend, request: Request, response: Response) -> None:
    """End the session of a request."""
    if cookie := cookie_of(request, COOKIE):
        with backend.reaching():
            backend.redis.delete(_key(cookie))
        response.delete_cookie(cookie[0], secure=cookie[0].startswith(SECURE), httponly=True, samesite="strict")


def sessions(backend: Backend, names: Sequence[str]) -> dict[str, int]:
    """How many sessions each of some tokens has now."""
    with backend.reaching():
        keys = {name: [str(one) for one in backend.redis.smembers(f"{SESSIONS}{name}")] for name in names}
        return {name: backend.redis.exists(*some) if some else 0 for name, some in keys.items()}


def end_sessions(backend: Backend, name: str) -> None:
    """End all sessions of a token, which stays good."""
    with backend.reaching():
        keys = [str(one) for one in backend.redis.smembers(f"{SESSIONS}{name}")]
        backend.redis.delete(*keys, f"{SESSIONS}{name}")


def leave_note(backend: Backend, caller: Caller, response: Response, note: dict[str, str], *, secure: bool) -> None:
    """Keep what a form of a caller did, for the next page."""
    name, number = _named(NOTE, secure=secure), secrets.token_urlsafe(16)
    backend.redis.set(f"{NOTES}{number}", json.dumps(note | {"by": caller.name}), ex=60)
    response.set_cookie(name, number, max_age=60, httponly=True, samesite="strict", secure=secure)


def take_note(backend: Backend, caller: Caller, request: Request) -> dict[str, str] | None:
    """The note on the caller's last form, once; None where there is none, or Redis does not give it."""
    cookie = cookie_of(request, NOTE)
    if cookie is None:
        return None
    try:
        kept = backend.redis.getdel(f"{NOTES}{cookie[1]}")
    except (ResponseError, *DOWN):
        return None
    note: dict[str, str] | None = json.loads(kept) if kept else None
    # Who revokes the last token has no name any more.
    return note if note and caller.name in (note["by"], LOCAL_NAME) else None


def cookie_of(request: Request, name: str) -> tuple[str, str] | None:
    """The name and the value of a cookie: the one that came by https, if there is one; by https no other counts."""
    names = (_named(name, secure=True), *(() if came_by_https(request) else (name,)))
    there = ((one, request.cookies.get(one)) for one in names)
    return next(((one, value) for one, value in there if value is not None), None)


def came_by_https(request: Request) -> bool:
    """True if a page was reached by https, as its form says, or a proxy."""
    return "https" in (urlsplit(request.headers.get("origin", "")).scheme, request.headers.get("x-forwarded-proto"))


def require_same_origin(request: Request) -> None:
    """Raise `Forbidden` for a form that a page of another site has sent; a browser always says whose page it is."""
    host, origin = request.headers.get("host"), request.headers.get("origin")
    if origin not in (f"https://{host}", "" if came_by_https(request) else f"http://{host}"):
        raise Forbidden(f"This form was sent by a page of {origin!r}, not of {host!r}. Open this page, and try again.")


def _named(name: str, *, secure: bool) -> str:
    return f"{SECURE}{name}" if secure else name


def _key(cookie: tuple[str, str]) -> str:
    return SESSION + hashlib.sha256("=".join(cookie).encode()).hexdigest()
