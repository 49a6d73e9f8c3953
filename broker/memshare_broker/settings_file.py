"""The values of settings, such as addresses and rate limits, and the file in which they can stand.

With a file every terminal of a deployment has the same.
"""

from __future__ import annotations

import fcntl
import logging
import os
import re
from collections.abc import Callable, Iterable
from functools import cache
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar
from urllib.parse import parse_qs, quote, unquote, urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, SecretStr, ValidationError, create_model
from pydantic_settings import BaseSettings, InitSettingsSource
from pydantic_settings import PydanticBaseSettingsSource as Source
from redis.connection import parse_url

from memshare_broker.errors import BadInput
from memshare_broker.toml_files import load, nearest_name

log = logging.getLogger(__name__)

SCHEME = "sentinel://"


class Sentinels(NamedTuple):
    """A Redis whose master sentinels name: sentinel://[USER]:PASSWORD@HOST:PORT,HOST:PORT/DB?master=NAME.

    The password is Redis's own; sentinels are asked without one.
    """

    nodes: tuple[tuple[str, int], ...]
    master: str
    database: int
    username: str | None
    password: str | None

    @property
    def kombu_url(self) -> str:
        """As Celery writes it: a whole URL for each sentinel, and the master's name among the transport's options."""
        login = f"{quote(self.username or '', safe='')}:{quote(self.password or '', safe='')}@"
        return ";".join(f"{SCHEME}{login}{host}:{port}/{self.database}" for host, port in self.nodes)


def parse_sentinels(url: str) -> Sentinels:
    """Raises `ValueError` for a URL without sentinels, a port, a database's number or the master's name."""
    parts = urlsplit(url)
    login, _, places = parts.netloc.rpartition("@")
    username, _, password = login.partition(":")
    nodes = [re.fullmatch(r"([^:,]+):([0-9]{1,5})", place) for place in places.split(",")]
    masters = parse_qs(parts.query).get("master", [])
    if not all(nodes) or len(masters) != 1:
        raise ValueError("expected sentinel://:PASSWORD@HOST:PORT,HOST:PORT/DB?master=NAME")
    return Sentinels(
        nodes=tuple((node[1], int(node[2])) for node in nodes if node),
        master=masters[0],
        database=int(parts.path.strip("/") or 0),
        username=unquote(username) or None,
        password=unquote(password) or None,
    )


EXPECTED = (
    "expected MODEL=N requests, N tokens; … (a minute; * in MODEL matches anything), "
    "such as openai:gpt-5.6-luna=500 requests, 200000 tokens; mistral:*=60 requests"
)

_AMOUNT = re.compile(r"([0-9][0-9_]*)\s*(requests|tokens)")


class RateLimit(NamedTuple):
    """The most requests and tokens of a model in a minute; None is no limit."""

    requests: int | None = None
    tokens: int | None = None


def parse_rate_limits(text: str) -> dict[str, RateLimit]:
    """The limits by model or pattern, in their order; raises `ValueError` that says what was expected."""
    limits: dict[str, RateLimit] = {}
    for part in filter(None, map(str.strip, text.split(";"))):
        name, _, amounts = map(str.strip, part.rpartition("="))
        if not name or name in limits:
            raise ValueError(f"{part!r} names {'a model a second time' if name else 'no model'}: {EXPECTED}")
        limits[name] = _rate_limit(part, amounts)
    return limits


def rate_limit_for(model: str, limits: dict[str, RateLimit]) -> RateLimit | None:
    """The limit of a model: the one under its own name, else of the first pattern that matches."""
    if model in limits:
        return limits[model]
    for pattern, limit in limits.items():
        if re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), model):
            return limit
    return None


def _rate_limit(part: str, amounts: str) -> RateLimit:
    found: dict[str, int] = {}
    for amount in amounts.split(","):
        read = _AMOUNT.fullmatch(amount.strip())
        if read is None or int(read[1]) < 1 or read[2] in found:
            raise ValueError(f"{part!r} gives no number of requests or tokens: {EXPECTED}")
        found[read[2]] = int(read[1])
    return RateLimit(**found)


Network = IPv4Network | IPv6Network
OF_OTHERS = re.compile(r"(.+_)?(SERVICE_HOST|SERVICE_PORT(_.+)?|PORT_[0-9]+_(TCP|UDP|SCTP).*|IMAGE)|TEST_.+")
"""Names after the prefix that Kubernetes has for a service memshare-…, or compose, or tests."""
T = TypeVar("T", str, SecretStr)


def unusable(error: ValidationError) -> BadInput:
    """The error for the first setting that cannot be used; passwords stay out of it."""
    first = error.errors()[0]
    name = str(first["loc"][0])
    value = "…" if name in ("flower_auth", "secret") else re.sub(r"//.*@", "//…@", str(first["input"]))
    reason = first["msg"].removeprefix("Value error, ")
    return BadInput(f"MEMSHARE_{name.upper()}={value!r} cannot be used: {reason}.")


def parse_networks(text: str) -> tuple[Network, ...]:
    """Networks such as 10.0.0.0/8 with commas between them; raises `ValueError` for anything else."""
    return tuple(ip_network(network.strip()) for network in text.split(",") if network.strip())


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
        r"[!-+\--~]{32,}( *, *[!-+\--~]{32,})?", "32 characters or more, or two such secrets with a comma between them"
    ),
]
RateLimits = Annotated[str, _readable_by(parse_rate_limits)]
TorchDevice = Annotated[str, _matching(r"cpu|mps|cuda(:[0-9]{1,3})?", "cpu, cuda, cuda:N or mps")]

NAME = "memshare.toml"
RUNNING = "running.toml"
"""In a data folder: the model of the `memshare up` that runs there, which holds a lock on the file."""
PROVIDERS = ("openai", "mistral")
"""The providers of chat models, as the name of a model begins: PROVIDER:NAME."""
OFFLINE = "offline"  # in place of a model's name, where there is none
_MODELS = ", ".join(f"{provider}:NAME" for provider in PROVIDERS)
ChatModel = Annotated[str, _matching(rf"({'|'.join(PROVIDERS)}):.+|{OFFLINE}", f"{_MODELS}, or {OFFLINE} for none")]
ADDRESSES = tuple(f"{provider}_base_url" for provider in PROVIDERS)
VARIABLES = (*(f"{provider}_api_key" for provider in PROVIDERS), *ADDRESSES)
"""Variables of the environment, in capitals, that their clients read; a file may have these beside the settings."""


def environment_before_file(
    settings_cls: type[BaseSettings], init_settings: Source, env_settings: Source, *, beside: bool = True
) -> tuple[Source, ...]:
    """Where settings come from, as pydantic-settings asks for it: what comes first counts more."""
    told = env_settings() | init_settings()
    data = Path(told.get("data", settings_cls.model_fields["data"].default)).expanduser()
    named = told.get("config")
    file = Path(named or data / NAME).expanduser()
    found = _read(settings_cls, file) if named or file.exists() else {}
    running = _read(settings_cls, data / RUNNING) if beside and is_held(data / RUNNING) else {}
    return init_settings, env_settings, InitSettingsSource(settings_cls, running | found)


def is_held(file: Path) -> bool:
    """True if the process that wrote a file is there."""
    try:
        with file.open() as opened:
            fcntl.flock(opened, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # there is none
        return False
    return False


def _read(settings: type[BaseSettings], file: Path) -> dict[str, Any]:
    """The settings in a file; what it says of providers goes into the environment, where nothing else says it.

    Raises `BadInput` with the line of what cannot be used.
    """
    given = load(file, _form(settings)).model_dump(exclude_unset=True)
    for name in VARIABLES:
        if name in given:
            os.environ.setdefault(name.upper(), given.pop(name))
    return given


@cache
def _form(settings: type[BaseSettings]) -> type[BaseModel]:
    fields: dict[str, Any] = {name: (field.annotation, field) for name, field in settings.model_fields.items()}
    providers: dict[str, Any] = dict.fromkeys(VARIABLES, (str, ""))
    return create_model("SettingsFile", __config__=ConfigDict(extra="forbid"), **fields, **providers)


def warn_of_unknown(prefix: str, known: Iterable[str]) -> None:
    """Log a warning of each variable that looks like a setting and is none of those that are known."""
    names = tuple(map(str.upper, known))
    _warn_of(tuple(sorted(name for name in os.environ if _is_unknown(name, prefix, names))), prefix, names)


def _is_unknown(variable: str, prefix: str, known: tuple[str, ...]) -> bool:
    """True if a variable looks like a setting, but no such setting exists; an empty variable sets nothing."""
    name = variable.upper().removeprefix(prefix)
    value = os.environ[variable]
    if name == variable.upper() or name in known or not value or OF_OTHERS.fullmatch(name):
        return False
    is_of_service = name.split("_")[-1] == "PORT" and ("://" in value or nearest_name(name, known) is None)
    return not is_of_service


@cache  # so that a process says it once
def _warn_of(variables: tuple[str, ...], prefix: str, known: tuple[str, ...]) -> None:
    for variable in variables:
        near = nearest_name(variable.upper().removeprefix(prefix), known)
        advice = f"Did you mean {prefix}{near}?" if near else "docs/settings.md lists those that there are."
        log.warning("%s is no setting of memshare, and does nothing. %s", variable, advice)
