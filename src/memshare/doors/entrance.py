"""First checks of a request: who asks, how often, and a readable body, or the fields of a form."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, unquote

from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memshare.client.errors import TooLarge, TooManyRequests
from memshare.doors.authentication import authenticate
from memshare.doors.rest import headers_of, problem_of, status_of
from memshare.files.pairs import text_of
from memshare.operations.apart import ASKING, at_the_entrance
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller
from memshare_broker.connection import DOWN
from memshare_broker.errors import BadInput, MemshareError
from memshare_broker.observe import tracing
from memshare_broker.wire.forms import loads
from memshare_broker.wire.same_text import decode

LARGEST_BODY = 2**20  # bytes
LARGEST_FILE = 16 * 2**20  # bytes of a form with a file, of who may bring one in
MOST_UNFINISHED = 32 * 2**20  # bytes of one caller
MOST_FIELDS = 2_000  # of a form

_MAY_BE_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
_HALF = re.compile("[\ud800-\udfff]")


class Gone(Exception):
    """Who asked has gone before all was sent."""


class Bodies:
    """Reads bodies, and bounds what it holds of those of one caller that have not come to their end."""

    def __init__(self) -> None:
        self._unfinished: Counter[str] = Counter()
        """Bytes by the name of the caller."""

    async def fields(self, request: Request, name: str, *, may_all: bool = False) -> list[tuple[str, str]]:
        """The fields of a form, with line ends as texts have everywhere else; raises what `read` raises.

        Of a file `FIELD` is the text, `FIELD name` its name, and `FIELD fault` says why it has no text, if so. Of a
        document the text are lines of JSON, a statement each, where the caller `may_all` and says no other source.
        """
        has_files = request.headers.get("content-type", "").startswith("multipart/")
        largest = LARGEST_FILE if has_files and may_all else LARGEST_BODY
        body = await self.read(request, request.receive, name, is_text=not has_files, most=largest)
        if has_files:
            whole = Request(request.scope, with_body(body, request.receive))
            async with whole.form(max_part_size=2 * largest) as form:
                pairs = [(field, one) for field, one in form.multi_items() if isinstance(one, str)]
                read = text_of if may_all and not form.get("source") else decode
                for field, one in form.multi_items():
                    if not isinstance(one, str):
                        text = fault = ""
                        try:
                            raw = await one.read()
                            text = await run_in_threadpool(read, raw, one.filename or "The file")
                            if (size := len(text.encode())) > max(len(raw), largest):  # a document's
                                text = ""
                                raise BadInput(
                                    f"{one.filename} has {size:,} bytes as statements, and at most {largest:,} are "
                                    "taken: split it in two."
                                )
                        except BadInput as error:
                            fault = str(error)
                        pairs += [(field, text), (f"{field} name", one.filename or ""), (f"{field} fault", fault)]
        else:
            try:
                pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS)
            except ValueError as error:
                raise BadInput(f"A form has at most {MOST_FIELDS:,} fields: send fewer at once.") from error
        pairs = [(field, text.replace("\r\n", "\n")) for field, text in pairs]
        _refuse_too_large(sum(len(text.encode()) for _, text in pairs), largest)
        return pairs

    async def read(
        self, request: Request, receive: Receive, name: str, *, is_text: bool = True, most: int = LARGEST_BODY
    ) -> bytes:
        """The body; raises `TooLarge` or `TooManyRequests` as soon as it is, `BadInput` for no text, or `Gone`.

        One with files may be twice as long: what ends lines may be two characters on its way.
        """
        body = bytearray()
        counted = 0
        try:
            while await _read_part(receive, body, request.headers.get("content-length", ""), most, is_text):
                self._unfinished[name] += len(body) - counted
                counted = len(body)
                if self._unfinished[name] > MOST_UNFINISHED:
                    raise TooManyRequests(
                        f"More than {MOST_UNFINISHED:,} bytes of requests of {name!r} have not come to their end: send "
                        "fewer large ones at once.",
                        wait=1,
                    )
        finally:
            self._unfinished[name] -= counted
        if is_text:
            _require_text(bytes(body))
        return bytes(body)


async def _read_part(receive: Receive, body: bytearray, told: str, most: int, is_text: bool) -> bool:
    """Add what has come to a body, of which the length is told; true if there is more to come."""
    message = await receive()
    if message["type"] != "http.request":
        raise Gone
    body += message.get("body", b"")
    if len(body) > (most if is_text else 2 * most):
        _refuse_too_large(int(told) if told.isdecimal() and len(told) < 16 else 0, most, sure=True)
    return bool(message.get("more_body", False))


def _refuse_too_large(size: int, most: int, *, sure: bool = False) -> None:
    """Raise `TooLarge` for more bytes than are taken; 0 are some that nobody told, where it is `sure`."""
    if sure or size > most:
        raise TooLarge(
            f"The request has {f'{size:,}' if size else 'more'} bytes, and at most {most:,} ({most >> 20} MiB) are "
            "taken: split it into several. A file of memories of any size is taken by `memshare memories import FILE` "
            "where memshare runs."
        )


def with_body(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives an app the body that was read before."""
    is_read = False

    async def whole() -> Message:
        nonlocal is_read
        if is_read:
            return await receive()
        is_read = True
        return {"type": "http.request", "body": body, "more_body": False}

    return whole


def _require_text(body: bytes) -> None:
    """Raise `BadInput` that names the byte, or the field, that is no text, or the key that an object has twice.

    What is no JSON is left to who reads it.
    """
    try:
        body.decode()
    except UnicodeDecodeError as error:
        raise BadInput(f"The request cannot be read: byte {error.start} of its body is not UTF-8.") from error
    try:
        value = loads(body)
        wrong = next(_half_characters(value, "body"), None) if _MAY_BE_HALF.search(body) else None
    except BadInput as error:
        raise BadInput(f"The request cannot be read: {error}.") from error
    except (ValueError, RecursionError):
        return
    if wrong is not None:
        raise BadInput(f"The request cannot be read: {wrong} (a surrogate alone), which is no text.")


def _half_characters(value: Any, place: str) -> Iterator[str]:
    """Where half characters are in a JSON value."""
    if isinstance(value, str):
        if half := _HALF.search(value):
            yield f"{ascii(place)[1:-1]} holds half a character, {half[0]!a}"
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _half_characters(name, f"a name in {place}")
            yield from _half_characters(inner, f"{place}.{name}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _half_characters(inner, f"{place}.{number}")


REST, MCP = "/v1/", "/mcp"
KNOWN = "callers"
"""Key in a request's state for its caller, by the deployment that has identified them already."""
REFUSED = -32000  # the first code of JSON-RPC that is a server's own


class Entrance:
    """Lets requests in one after the other; nothing of a body is read before it is known who asks.

    What is open to all passes by, and reads no body.
    """

    def __init__(self, app: ASGIApp, backend: Backend) -> None:
        self._app = app
        self._backend = backend
        self._bodies = Bodies()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope = without_slash(scope)
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        send = with_headers(request, send)
        if not (scope["path"].startswith(REST) or scope["path"] == MCP):
            await self._app(scope, receive, send)
            return
        with tracing.request(request.headers, {"http.request.method": request.method}) as answered:

            async def send_noted(message: Message) -> None:
                if message["type"] == "http.response.start":
                    route = getattr(scope.get("route"), "path", MCP)  # without the ids of the path
                    answered(f"{request.method} {route}", message["status"])
                await send(message)

            await self._let_in(request, receive, send_noted)

    async def _let_in(self, request: Request, receive: Receive, send: Send) -> None:
        scope = request.scope
        try:
            known: dict[Backend, Caller] = scope.setdefault("state", {}).get(KNOWN, {})
            caller = known.get(self._backend)
            if caller is None:
                caller = await at_the_entrance(authenticate, self._backend, request)
            body = await self._bodies.read(request, receive, caller.name)
        except (MemshareError, *DOWN) as error:
            await refusal(scope["path"], error)(scope, receive, send)
        except Gone:
            return
        else:
            request.state.caller = caller
            ASKING.set((caller.name, Request(scope, with_body(body, receive)).is_disconnected))
            tracing.note({"memshare.submitter": caller.name})
            await self._app(scope, with_body(body, receive), send)


def with_headers(request: Request, send: Send) -> Send:
    """Sends the same, and that nobody keeps a reply of REST or MCP; behind https, that it is https from now on."""
    is_data = request.url.path.startswith(REST) or request.url.path == MCP
    is_https = request.headers.get("x-forwarded-proto") == "https"

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            if is_data:
                headers.setdefault("Cache-Control", "no-store")
            if is_https:
                headers.setdefault("Strict-Transport-Security", "max-age=31536000")
        await send(message)

    return sent


def without_slash(scope: Scope) -> Scope:
    """The scope of a request for the same path without a slash at its end, so that no redirect has to say so.

    A redirect would name the scheme of this server, where a proxy may speak another one. For REST a slash that is
    written %2F is part of a name, and stays so written.
    """
    raw: bytes = scope.get("raw_path") or b""
    without = raw.rstrip(b"/") or b"/"
    path = without.decode("ascii", "replace")
    if path.startswith(REST):
        path = re.sub("%2f", "%252F", path, flags=re.IGNORECASE)
    return {**scope, "path": unquote(path), "raw_path": without} if raw else scope


def refusal(path: str, error: Exception) -> Response:
    """The answer to who is not let in: for MCP one of JSON-RPC, of which its clients tell what it says."""
    if path != MCP:
        return problem_of(error)
    body = {"jsonrpc": "2.0", "id": None, "error": {"code": REFUSED, "message": str(error)}}
    return JSONResponse(body, status_of(error), headers_of(error))
