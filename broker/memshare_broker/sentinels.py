"""A Redis whose master sentinels name: sentinel://[USER]:PASSWORD@HOST:PORT,HOST:PORT/DB?master=NAME.

The password is Redis's own; sentinels are asked without one.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import parse_qs, quote, unquote, urlsplit

SCHEME = "sentinel://"


class Sentinels(NamedTuple):
    """The parts of a sentinel URL."""

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
