"""The forms of settings: what a value must look like, and what was expected where it does not."""

from __future__ import annotations

import re
from collections.abc import Callable
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import AfterValidator, SecretStr, ValidationError
from redis.connection import parse_url

from memshare_broker.errors import BadInput
from memshare_broker.rate_limits import parse_rate_limits
from memshare_broker.sentinels import SCHEME, parse_sentinels

Network = IPv4Network | IPv6Network
T = TypeVar("T", str, SecretStr)


def unusable(error: ValidationError) -> BadInput:
    """What is said of the first setting that cannot be used; passwords stay out of it."""
    first = error.errors()[0]
    name = str(first["loc"][0])
    value = "…" if name in ("flower_auth", "secret") else re.sub(r"//.*@", "//…@", str(first["input"]))
    reason = first["msg"].removeprefix("Value error, ")
    return BadInput(f"MEMSHARE_{name.upper()}={value!r} cannot be used: {reason}.")


def parse_networks(text: str) -> tuple[Network, ...]:
    """Networks such as 10.0.0.0/8 with commas between them; raises `ValueError` for anything else."""
    return tuple(ip_network(one.strip()) for one in text.split(",") if one.strip())


def _read_redis_url(url: str) -> None:
    try:
        if url.startswith(SCHEME):
            parse_sentinels(url)
        else:
            parse_url(url)  # type: ignore[no-untyped-call]
    except ValueError as error:
        raise ValueError(
            "expected redis://HOST:PORT/DB, rediss://…, unix://PATH?db=N or sentinel://HOST:PORT,HOST:PORT/DB?master=NAME"
        ) from error


def _matching(pattern: str, expected: str) -> AfterValidator:
    """The check of a text that has to match a pattern as a whole; `expected` is what is said where it does not."""

    def check(given: T) -> T:
        if not re.fullmatch(pattern, given.get_secret_value() if isinstance(given, SecretStr) else given):
            raise ValueError(f"expected {expected}")
        return given

    return AfterValidator(check)


def _readable_by(read: Callable[[str], object]) -> AfterValidator:
    """The check of a text that is read later: by then it can be."""

    def check(text: str) -> str:
        read(text)
        return text

    return AfterValidator(check)


Place = Annotated[Path, AfterValidator(lambda path: path.expanduser().absolute())]
RedisUrl = Annotated[str, _readable_by(_read_redis_url)]
ListenAddress = Annotated[str, _matching(r"(\[[0-9a-fA-F:]+\]|[^:/\s]+):[0-9]{1,5}", "HOST:PORT, such as 0.0.0.0:8077")]
WebAddress = Annotated[str, _matching(r"https?://[^/?#\s]+(/[^?#\s]*)?", "http://HOST:PORT or https://HOST")]
Networks = Annotated[str, _readable_by(parse_networks)]
Login = Annotated[SecretStr, _matching(r"[^:,]+:[^,]+", "USER:PASSWORD without commas")]
Secret = Annotated[
    SecretStr,
    _matching(
        r"[!-+\--~]{32,}( *, *[!-+\--~]{32,})?",
        "32 characters or more, or two such secrets with a comma between them",
    ),
]
RateLimits = Annotated[str, _readable_by(parse_rate_limits)]
TorchDevice = Annotated[str, _matching(r"cpu|mps|cuda(:[0-9]{1,3})?", "cpu, cuda, cuda:N or mps")]
