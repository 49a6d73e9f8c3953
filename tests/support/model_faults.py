"""What a broken or hostile model server may answer, and how a call to it is to end."""

from __future__ import annotations

import gzip
import json
import socket
import struct
import threading
import zlib
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal, NamedTuple

from tests.support.raw_server import Answering, trickling

End = Literal["reply", "again", "never"]

_CHOICE = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Blue."}}
_GOOD: dict[str, Any] = {"id": "1", "object": "chat.completion", "created": 1, "model": "small", "choices": [_CHOICE]}


class Made(NamedTuple):
    """An answer that takes seconds to make: once, when it is wanted."""

    make: Callable[[], bytes]


class Fault(NamedTuple):
    """An answer, and how a call that gets it is to end; `slow` where only the time limit ends it."""

    answer: bytes | Made | Answering
    end: End
    slow: bool = False

    def given(self) -> Answering:
        answer = self.answer.make() if isinstance(self.answer, Made) else self.answer
        return (lambda connection, _: connection.sendall(answer)) if isinstance(answer, bytes) else answer


def http(body: bytes | str | object, status: str = "200 OK", length: object = None, **headers: str) -> bytes:
    """A response; a body that is neither bytes nor text is written as JSON. Headers are written as `content_type`."""
    data = body if isinstance(body, bytes) else (body if isinstance(body, str) else json.dumps(body)).encode()
    lines = {"content_type": "application/json", "content_length": len(data) if length is None else length, **headers}
    head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in lines.items() if value != "")
    return f"HTTP/1.1 {status}\r\n{head}Connection: close\r\n\r\n".encode() + data


def _well(**changes: object) -> bytes:
    return http(_GOOD | changes)


def _choice(**changes: object) -> bytes:
    return _well(choices=[_CHOICE | changes])


def _content(content: object) -> bytes:
    return _choice(message={"role": "assistant", "content": content})


def _error(status: int, end: End) -> Fault:
    return Fault(http({"error": {"message": "no"}}, f"{status} Oh"), end)


@cache
def packed(encoding: str, megabytes: int) -> bytes:
    """So many megabytes of spaces, packed."""
    packer = zlib.compressobj(1, wbits=31 if encoding == "gzip" else 15)
    parts = [packer.compress(b" " * 2**20) for _ in range(megabytes)]
    return b"".join(parts) + packer.flush()


def _endless(head: bytes, part: bytes) -> Answering:
    def answer(connection: socket.socket, ending: threading.Event) -> None:
        connection.sendall(head)
        while not ending.is_set():
            connection.sendall(part)

    return answer


def _silence(_connection: socket.socket, ending: threading.Event) -> None:
    ending.wait(20)


def _reset(connection: socket.socket, _ending: threading.Event) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
_CHUNKED = _HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
_LONG = 7_000_000

FAULTS: Mapping[str, Fault] = {
    **{f"status {status}": _error(status, "again") for status in (408, 409, 425, 429, 500, 502, 503, 504, 529, 599)},
    **{f"status {status}": _error(status, "never") for status in (400, 401, 402, 403, 404, 413, 418, 422, 451)},
    "a redirect": Fault(http(b"", "302 Found", location="http://169.254.169.254/"), "never"),
    "not modified": Fault(http(b"", "304 Not Modified"), "never"),
    "no content": Fault(http(b"", "204 No Content", length=""), "again"),
    "a status that is none": Fault(http(b"", "999 What"), "again"),
    "nothing": Fault(b"", "again"),
    "a reset": Fault(_reset, "again"),
    "silence": Fault(_silence, "again", slow=True),
    "another protocol": Fault(b"SSH-2.0-OpenSSH_9.2\r\n", "again"),
    "noise": Fault(bytes(range(256)) * 40, "again"),
    "a page": Fault(http("<html>Welcome</html>", content_type="text/html"), "again"),
    "an empty body": Fault(http(b""), "again"),
    "half a body": Fault(http(b'{"choices":', length=1_000), "again"),
    "half of the JSON": Fault(http(json.dumps(_GOOD)[:-9]), "again"),
    "a length that is too short": Fault(http(json.dumps(_GOOD), length=20), "again"),
    "a length below nothing": Fault(http(_GOOD, length=-1), "again"),
    "a length in words": Fault(http(_GOOD, length="long"), "again"),
    "two lengths": Fault(http(_GOOD, content_Length="3"), "again"),
    "a chunk of no size": Fault(_CHUNKED + b"zz\r\n{}\r\n", "again"),
    "a chunk of a huge size": Fault(_CHUNKED + b"ffffffffffff\r\n{}", "again"),
    "chunks without an end": Fault(_CHUNKED + b"2\r\n{}\r\n", "again"),
    "headers for ever": Fault(_endless(_HEAD, b"X-More: " + b"x" * 1_000 + b"\r\n"), "again"),
    "a body for ever": Fault(_endless(_HEAD + b"\r\n", b" " * 65_536), "never"),
    "continue for ever": Fault(trickling(b"HTTP/1.1 100 Continue\r\n\r\n" * 1_000, 0.01), "again", slow=True),
    "headers, a byte now and then": Fault(trickling(_HEAD + b"X: " + b"x" * 1_000, 0.1), "again", slow=True),
    "a body, a byte now and then": Fault(trickling(_HEAD + b"\r\n" + b" " * 1_000, 0.02), "again", slow=True),
    "JSON of another kind: null": Fault(http(b"null"), "again"),
    "JSON of another kind: a list": Fault(http(b"[]"), "again"),
    "JSON of another kind: a number": Fault(http(b"NaN"), "again"),
    "no choices": Fault(_well(choices=[]), "again"),
    "choices that are null": Fault(_well(choices=None), "again"),
    "a choice that is a text": Fault(_well(choices=["Blue."]), "again"),
    "a choice without a message": Fault(_well(choices=[{"index": 0}]), "again"),
    "a content that is a number": Fault(_content(42), "again"),
    "a content that is null": Fault(_content(None), "again"),
    "a content of wrong parts": Fault(_content([{"text": 1}]), "again"),
    "a reason that is a list": Fault(_choice(finish_reason=["stop"]), "again"),
    "usage below nothing": Fault(_well(usage={"prompt_tokens": -(10**9), "completion_tokens": -1}), "reply"),
    "usage beyond all bounds": Fault(_well(usage={"prompt_tokens": 10**300, "completion_tokens": 10**18}), "reply"),
    "usage that is no number": Fault(http(json.dumps(_GOOD)[:-1] + ', "usage": {"prompt_tokens": NaN}}'), "again"),
    "usage in words": Fault(_well(usage={"prompt_tokens": "many"}), "again"),
    "half a character": Fault(http(json.dumps(_GOOD).replace("Blue.", "\\ud83d")), "reply"),
    "bytes that are no UTF-8": Fault(http(json.dumps(_GOOD).encode().replace(b"Blue.", b"caf\xe9")), "reply"),
    "UTF-16": Fault(http(json.dumps(_GOOD).encode("utf-16")), "again"),
    "a text that is too long": Fault(_content("x" * 300_000), "never"),
    "a reply that is too long": Fault(Made(lambda: http(b" " * 9_000_000)), "never"),
    "lists in lists": Fault(Made(lambda: http(b"[" * _LONG)), "again"),
    "a million choices": Fault(Made(lambda: http(b'{"choices":[' + b"{}," * (_LONG // 3) + b"{}]}")), "again"),
    "a million parts": Fault(Made(lambda: _content([1] * (_LONG // 3))), "again"),
    "a million wrong calls": Fault(
        Made(lambda: _choice(message={"role": "assistant", "content": "Blue.", "tool_calls": [{}] * 1_000_000})),
        "reply",
    ),
    "a million details": Fault(Made(lambda: http({"detail": [{}] * 1_000_000}, "422 No")), "never"),
    "an error of lists in lists": Fault(http(b"[" * 90_000, "500 Oh"), "again"),
    "packed": Fault(http(gzip.compress(json.dumps(_GOOD).encode()), content_encoding="gzip"), "reply"),
    "a gzip bomb": Fault(Made(lambda: http(packed("gzip", 600), content_encoding="gzip")), "never"),
    "a deflate bomb": Fault(Made(lambda: http(packed("deflate", 600), content_encoding="deflate")), "never"),
    "a bomb in a bomb": Fault(
        Made(lambda: http(gzip.compress(packed("gzip", 600)), content_encoding="gzip, gzip")), "never"
    ),
    "a bomb as an error": Fault(Made(lambda: http(packed("gzip", 600), "500 Oh", content_encoding="gzip")), "never"),
    "packed six times": Fault(http(b"x", content_encoding=", ".join(["gzip"] * 6)), "again"),
    "not packed as it says": Fault(http(_GOOD, content_encoding="gzip"), "again"),
    "packed and cut": Fault(http(gzip.compress(b"{" * 10_000)[:-20], content_encoding="gzip"), "again"),
    "packed in an unknown way": Fault(http(b"\x0b\x02\x80", content_encoding="br"), "again"),
    "a character encoding that is none": Fault(
        http({"error": {}}, "400 No", content_type="text/html; charset=hex"), "never"
    ),
}
