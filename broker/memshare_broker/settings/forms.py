"""The forms of settings: what a value must look like, and what was expected where it does not."""

from __future__ import annotations

import re
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, SecretStr, ValidationError
from redis.connection import parse_url

from memshare_broker.errors import BadInput
from memshare_broker.names import NAME
from memshare_broker.rate_limits import parse_rate_limits
from memshare_broker.sentinels import SCHEME, parse_sentinels

Network = IPv4Network | IPv6Network


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


def _redis_url(url: str) -> str:
    try:
        if url.startswith(SCHEME):
            parse_sentinels(url)
        else:
            parse_url(url)  # type: ignore[no-untyped-call]
        return url
    except ValueError as error:
        raise ValueError(
            "expected redis://HOST:PORT/DB, rediss://…, unix://PATH?db=N or sentinel://HOST:PORT,HOST:PORT/DB?master=NAME"
        ) from error


def _matching(pattern: str, expected: str) -> AfterValidator:
    """The check of a text that has to match a pattern as a whole; `expected` is what is said where it does not."""

    def check(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise ValueError(f"expected {expected}")
        return text

    return AfterValidator(check)


def _networks(text: str) -> str:
    parse_networks(text)
    return text


def _login(login: SecretStr) -> SecretStr:
    if not re.fullmatch(r"[^:,]+:[^,]+", login.get_secret_value()):
        raise ValueError("expected USER:PASSWORD without commas")
    return login


def _secret(secret: SecretStr) -> SecretStr:
    if not re.fullmatch(r"[!-+\--~]{32,}( *, *[!-+\--~]{32,})?", secret.get_secret_value()):
        raise ValueError("expected 32 characters or more, or two such secrets with a comma between them")
    return secret


def _rate_limits(text: str) -> str:
    parse_rate_limits(text)
    return text


Place = Annotated[Path, AfterValidator(lambda path: path.expanduser().absolute())]
RedisUrl = Annotated[str, AfterValidator(_redis_url)]
ListenAddress = Annotated[str, _matching(r"(\[[0-9a-fA-F:]+\]|[^:/\s]+):[0-9]{1,5}", "HOST:PORT, such as 0.0.0.0:8077")]
WebAddress = Annotated[str, _matching(r"https?://[^/?#\s]+(/[^?#\s]*)?", "http://HOST:PORT or https://HOST")]
Networks = Annotated[str, AfterValidator(_networks)]
Pools = Annotated[str, _matching(f"{NAME}( *, *{NAME})*", "names of pools with commas between them")]
Login = Annotated[SecretStr, AfterValidator(_login)]
Secret = Annotated[SecretStr, AfterValidator(_secret)]
RateLimits = Annotated[str, AfterValidator(_rate_limits)]
TorchDevice = Annotated[str, _matching(r"cpu|mps|cuda(:[0-9]{1,3})?", "cpu, cuda, cuda:N or mps")]
