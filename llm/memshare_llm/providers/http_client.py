"""HTTP to a chat model's server: one time limit for a call, a bounded reply, a shared pool.

And how many tokens it takes at once: vLLM, llama.cpp, Ollama, and who lists it with its models, are asked for that.
"""

from __future__ import annotations

import functools
import json
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote

import httpx2

from memshare_broker.errors import GiveUp, Reason, TryAgain
from memshare_broker.observe.safe_text import masked
from memshare_broker.time_limit import CallsInTime
from memshare_llm.chat import LLAMA_CPP, OLLAMA, VLLM, Window
from memshare_llm.providers.endpoint import OWN, find_endpoint

MAX_WORDS = 500
LONGEST_ERROR = 100_000  # characters of an error that are looked through

# Besides everything from 500: request timeout, conflict, too early, too many requests; and a server that is not there
# yet or no more, or has no room for anybody: it is away for every task alike.
_PASSING: dict[int, Reason] = {
    408: "time-out",
    409: "busy",
    425: "busy",
    429: "rate limit",
    504: "time-out",
    **dict.fromkeys((502, 503, 521, 522, 523, 529), "model away"),
}
_LASTING: dict[int, Reason] = {401: "credentials", 403: "credentials", 404: "unknown model", 413: "too long"}
# The codes say more than the status where both are given.
_CODES: dict[str, Reason] = {
    "model_not_found": "unknown model",
    "context_length_exceeded": "too long",
    "exceed_context_size_error": "too long",
}
_TOO_LONG = re.compile(r"context (length|size|window)|prompt is too long", re.IGNORECASE)
_FILTERED = re.compile(
    r"content[ _-]?(filter|policy|management|moderation)|safety system|usage policy|flagged", re.IGNORECASE
)
# Sent with the status of a rate limit, but only a person can lift them; a prompt above it never fits.
_SPENT = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}
_TOO_LARGE = re.compile(r"request too large", re.IGNORECASE)


def translate(model: str, error: Exception, response: httpx2.Response | None = None) -> TryAgain | GiveUp:
    """Error to raise instead of an SDK's `error`: by the provider's `response` or, without that, by `error`."""
    if response is None:
        cause = error if isinstance(error, httpx2.RequestError) else error.__cause__
        if isinstance(cause, ReplyTooLong):
            return GiveUp(f"{model}: {cause}; ask for a shorter answer.", "too long")
        if isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout):
            url = cause._request and cause._request.url
            at = f" at {url.scheme}://{url.netloc.decode()}" if url else ""  # without a login or the path
            return TryAgain(f"{model} could not be reached{at}: {str(cause)[:MAX_WORDS]}", reason="model away")
        if isinstance(cause, httpx2.TimeoutException):
            return TryAgain(f"{model} did not reply in time; MEMSHARE_MODEL_TIMEOUT gives it more.", reason="time-out")
        if isinstance(cause, httpx2.DecodingError):
            return TryAgain(f"{model} sent a reply that is not packed as it says: {cause}", reason="invalid reply")
        words = f"{model} hung up: {str(cause or error)[:MAX_WORDS]}"
        return TryAgain(words, reason="connection")
    status = response.status_code
    words, codes = _words(response.content.decode("utf-8", "replace"))
    message = f"{model} answered {status}: {words}{_of_path(model, words, error, response)}"
    if codes & _SPENT:
        return GiveUp(f"{message} (mend the account's billing, then retry the dead letter)", "quota")
    if status == 429 and _TOO_LARGE.search(words):
        return GiveUp(message, "too long")
    if status >= 500 or status < 300 or status in _PASSING:
        return TryAgain(message, retry_after(response.headers), _PASSING.get(status, "server error"))
    by_code = next((_CODES[code] for code in codes & _CODES.keys()), None)
    by_words: Reason | None = "too long" if status == 400 and _TOO_LONG.search(words) else None
    if _FILTERED.search(" ".join((words, *codes))):
        by_words = by_words or "content filter"
    return GiveUp(message, by_code or by_words or _LASTING.get(status, "refused"))


CALLS = "/chat/completions"  # the path of calls, below the address


def _of_path(model: str, words: str, error: Exception, response: httpx2.Response) -> str:
    """A hint where a server says that it has no such path, and not that it has no such model."""
    request = getattr(error, "request", None)
    path = request.url.path if isinstance(request, httpx2.Request) else ""
    is_odd = path.endswith(CALLS) and not path.removesuffix(CALLS).endswith("/v1")
    if response.status_code != 404 or not is_odd or model.partition(":")[2] in words:
        return ""
    return f" (there is no {path}: OPENAI_BASE_URL should end in /v1)"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that a response asks to wait: `retry-after-ms`, or `Retry-After` (a number or a date)."""
    for name, per_second in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            wait = float(headers.get(name, "")) / per_second
        except ValueError:
            continue
        if math.isfinite(wait):
            return max(wait, 0.0)
    try:
        return max(parsedate_to_datetime(headers.get("retry-after", "")).timestamp() - time.time(), 0.0)
    except (ValueError, OverflowError):
        return None


def _words(body: str) -> tuple[str, set[str]]:
    """The provider's own words without the keys that it echoes, and the codes that it gave with them."""
    try:
        payload: Any = json.loads(body) if len(body) <= LONGEST_ERROR else body
    except (ValueError, RecursionError):
        payload = body
    if isinstance(payload, dict):
        payload = payload.get("error", payload)
    if not isinstance(payload, dict):
        return _cut(str(payload)) or "(no words)", set()
    words = payload.get("message") or payload.get("detail") or payload
    codes = {str(payload.get("code")), str(payload.get("type"))}
    return _cut(words if isinstance(words, str) else json.dumps(words)), codes


def _cut(words: str) -> str:
    return masked(words[:LONGEST_ERROR].strip())[:MAX_WORDS]


# Room for the longest text that is taken, every character escaped, and for the model's reasoning beside it.
MAX_REPLY_BYTES = 8_000_000


class ReplyTooLong(httpx2.TransportError):
    """The server sends more than any reply can hold."""


def open_client(*, timeout: float, connections: int, longest: int = MAX_REPLY_BYTES) -> httpx2.Client:
    """A client that several threads share; it connects when it is first used, and again when it must.

    `timeout` is for the whole call in seconds, where httpx2's own starts again at every read; `longest` is the most
    bytes of a reply.
    """
    network = CallsInTime()

    def begin(request: httpx2.Request) -> None:
        network.start(timeout)
        request.extensions["timeout"] = {"connect": timeout, "pool": timeout}

    client = httpx2.Client(
        limits=httpx2.Limits(max_connections=connections, max_keepalive_connections=connections),
        event_hooks={"request": [begin], "response": [functools.partial(_bound_body, longest)]},
    )
    # httpx2 has no parameter for it. With a transport of ours it would use no proxy that the environment names.
    for transport in (client._transport, *client._mounts.values()):
        if isinstance(transport, httpx2.HTTPTransport):
            transport._pool._network_backend = network
    return client


def _bound_body(longest: int, response: httpx2.Response) -> None:
    """Let the body be unpacked here, where what comes out of it is counted: a few packed bytes can be gigabytes.

    It is handed on as bytes of no kind. A provider's SDK would spend a minute and gigabytes on taking JSON apart that
    was made for that, and the name of a character encoding can be one of Python's that decodes to no text.
    """
    if isinstance(response.stream, httpx2.SyncByteStream):
        response.stream = _BoundedBody(response.stream, response, longest)
        response.headers.pop("content-encoding", None)
        response.headers["content-type"] = "application/octet-stream"


class _BoundedBody(httpx2.SyncByteStream):
    def __init__(self, body: httpx2.SyncByteStream, response: httpx2.Response, longest: int) -> None:
        self._body = body
        self._longest = longest
        headers = {"content-encoding": response.headers.get("content-encoding", "")}
        self._packed = httpx2.Response(response.status_code, headers=headers, stream=body, request=response.request)

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for part in self._packed.iter_bytes():
            size += len(part)
            if size > self._longest:
                raise ReplyTooLong(f"the reply is longer than {self._longest:,} bytes")
            yield part

    def close(self) -> None:
        self._body.close()


ASK_WITHIN = 5.0  # seconds for each question
LARGEST = 100_000_000  # tokens
UNSAID = 4_096  # tokens: what Ollama gives a model on a machine without a large GPU, unless it is told otherwise
_LISTED = {"max_model_len": VLLM, "context_length": "", "context_window": "", "max_context_length": ""}
"""The names that it has in lists of models, and the setting of the server that lists it so."""

Ask = Callable[..., dict[str, Any]]


def find_window(provider: str, model: str) -> Window | None:
    """The window of a provider's model; None where its server tells nothing, or is away."""
    key, address = find_endpoint(provider)
    root, headers = address.rstrip("/").removesuffix("/v1"), {"Authorization": f"Bearer {key}"}
    with open_client(timeout=ASK_WITHIN, connections=1) as http:

        def ask(path: str, body: Mapping[str, str] | None = None) -> dict[str, Any]:
            method = "POST" if body else "GET"
            try:
                reply = http.request(method, f"{root}{path}", json=body, headers=headers)
                return _dict(json.loads(reply.content)) if reply.status_code == 200 else {}
            except (httpx2.RequestError, ValueError, RecursionError):
                return {}

        listed = _list(ask("/v1/models").get("data"))
        named = [one for one in listed if one.get("id") == model] or (listed if len(listed) == 1 else [{}])
        for entry in (named[0], ask(f"/v1/models/{quote(model)}") if provider == "mistral" else {}):
            for name, setting in _LISTED.items():
                if size := _size(entry.get(name)):
                    return Window(size, setting)
        if address == OWN[provider]:
            return None
        size = _size(_dict(ask("/props").get("default_generation_settings")).get("n_ctx"))
        return Window(size, LLAMA_CPP) if size else _of_ollama(ask, model)


def _of_ollama(ask: Ask, model: str) -> Window | None:
    """Of the model as it is loaded, else as its file has it run, else as Ollama loads those that say nothing."""
    loaded = [
        _size(one.get("context_length"))
        for one in _list(ask("/api/ps").get("models"))
        if model in (one.get("name"), str(one.get("name")).removesuffix(":latest"))
    ]
    shown = ask("/api/show", {"model": model})
    told = re.search(r"^num_ctx\s+(\d{1,9})\s*$", str(shown.get("parameters") or ""), re.MULTILINE)
    made_for = [_size(one) for name, one in _dict(shown.get("model_info")).items() if name.endswith(".context_length")]
    unsaid = [min(size, UNSAID) for size in made_for if size]
    size = next(filter(None, [*loaded, int(told[1]) if told else None, *unsaid]), None)
    return Window(size, OLLAMA) if size else None


def _size(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= LARGEST else None


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
