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


def _listen_address(address: str) -> str:
    if not re.fullmatch(r"(\[[0-9a-fA-F:]+\]|[^:/\s]+):[0-9]{1,5}", address):
        raise ValueError("expected HOST:PORT, such as 0.0.0.0:8077")
    return address


def _web_address(url: str) -> str:
    if not re.fullmatch(r"https?://[^/?#\s]+(/[^?#\s]*)?", url):
        raise ValueError("expected http://HOST:PORT or https://HOST")
    return url


def _networks(text: str) -> str:
    parse_networks(text)
    return text


def _pools(text: str) -> str:
    if not re.fullmatch(f"{NAME}( *, *{NAME})*", text):
        raise ValueError("expected names of pools with commas between them")
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


def _torch_device(device: str) -> str:
    if not re.fullmatch(r"cpu|mps|cuda(:[0-9]{1,3})?", device):
        raise ValueError("expected cpu, cuda, cuda:N or mps")
    return device


Place = Annotated[Path, AfterValidator(lambda path: path.expanduser().absolute())]
RedisUrl = Annotated[str, AfterValidator(_redis_url)]
ListenAddress = Annotated[str, AfterValidator(_listen_address)]
WebAddress = Annotated[str, AfterValidator(_web_address)]
Networks = Annotated[str, AfterValidator(_networks)]
Pools = Annotated[str, AfterValidator(_pools)]
Login = Annotated[SecretStr, AfterValidator(_login)]
Secret = Annotated[SecretStr, AfterValidator(_secret)]
RateLimits = Annotated[str, AfterValidator(_rate_limits)]
TorchDevice = Annotated[str, AfterValidator(_torch_device)]
