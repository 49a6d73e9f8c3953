"""What the pools know, who may ask for what, and what is asked; all of it made up, and the same in every run."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

POOLS = ("harbour", "clinic", "archive")
NAMES = (
    "Abel", "Bruna", "Cyril", "Dora", "Emil", "Frida", "Gustav", "Hanna", "Igor", "Judit", "Kaspar", "Lena", "Milos",
    "Nora", "Oskar", "Petra", "Quirin", "Rosa", "Simon", "Tilda",
)  # fmt: skip
THINGS = ("logbook", "spare key", "seal", "ledger")
GONE = 100  # memories that are forgotten or purged
REQUESTS = 600
OUTSIDE = 0.4  # of the requests ask for a pool at random, whoever asks

Way = Literal["recall", "search", "list", "task", "journey", "needs"]
WAYS: tuple[Way, ...] = ("recall", "search", "list", "task", "journey")
RIGHT_FOR: dict[Way, str] = {
    "recall": "recall", "search": "recall", "list": "recall", "task": "submit", "journey": "admin", "needs": "recall",
}  # fmt: skip
"""The right that each way takes; a journey is one that somebody else began."""


@dataclass(frozen=True)
class Fact:
    """Something that one pool knows. Its secret stands in no other text."""

    pool: str
    name: str
    thing: str
    secret: str

    @property
    def question(self) -> str:
        return f"Where does {self.name} of the {self.pool} keep the {self.thing}?"

    @property
    def in_other_words(self) -> str:
        return (
            f"I am looking for the {self.thing} that belongs to {self.name} at the {self.pool}. Which place is it in?"
        )

    @property
    def answer(self) -> str:
        return f"{self.name} keeps the {self.thing} in {self.secret}."


@dataclass(frozen=True)
class Person:
    """Who has a token: its rights, and the pools that it sees."""

    name: str
    may: tuple[str, ...]
    pools: tuple[str, ...]

    def sees(self, pool: str, way: Way) -> bool:
        """Whether it may be told what a pool knows in this way."""
        if pool == f"mine/{self.name}":  # also a journey, which is their own
            return True
        return pool in self.pools and bool({RIGHT_FOR[way], "admin"} & set(self.may))


@dataclass(frozen=True)
class Request:
    """A person asks for a fact in some way, allowed or not."""

    person: Person
    fact: Fact
    way: Way

    @property
    def entitled(self) -> bool:
        return self.person.sees(self.fact.pool, self.way)


def facts() -> list[Fact]:
    """Eighty facts of each pool."""
    chance = random.Random(1)
    numbers = iter(chance.sample(range(10_000, 99_999), len(POOLS) * len(NAMES) * len(THINGS)))
    return [Fact(pool, name, thing, f"box{next(numbers)}") for pool in POOLS for name in NAMES for thing in THINGS]


def own_facts(owners: Sequence[str] = ("olga", "otto", "ona")) -> list[Fact]:
    """Twenty facts of each owner, in a pool of their own."""
    numbers = iter(random.Random(5).sample(range(10_000, 99_999), len(owners) * len(NAMES)))
    return [Fact(f"mine/{one}", name, THINGS[0], f"bin{next(numbers)}") for one in owners for name in NAMES]


def people() -> list[Person]:
    """Twelve: four sets of rights, each with one pool, with two, and with all."""
    rights = (("recall",), ("recall", "submit"), ("offer", "submit"), ("admin",))
    return [
        Person(f"{may[0]}{len(may)}-{count}", may, tuple(POOLS[(place + at) % len(POOLS)] for at in range(count)))
        for place, may in enumerate(rights)
        for count in (1, 2, 3)
    ]


def requests(known: Sequence[Fact], count: int = REQUESTS) -> list[Request]:
    """What is asked, the same number by each person."""
    chance, askers = random.Random(2), people()
    made = []
    for number in range(count):
        person = askers[number % len(askers)]
        pools = POOLS if chance.random() < OUTSIDE else person.pools
        pool = chance.choice(pools)
        way = chance.choice(WAYS)
        of_pool = [one for one in known if one.pool == pool]
        made.append(Request(person, of_pool[0] if way == "journey" else chance.choice(of_pool), way))
    return made


def gone(known: Sequence[Fact]) -> list[Fact]:
    """Those that are forgotten or purged, of all pools alike."""
    return random.Random(3).sample(list(known), GONE)


def told(reply: str, known: Iterable[Fact]) -> list[Fact]:
    """The facts whose secret a reply gives away."""
    return [one for one in known if one.secret in reply]
