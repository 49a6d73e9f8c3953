"""Those who would be believed without deserving it: tokens that plant lies in a pool by every way that was once open.

A person brings in what is true of twelve things. Then come one who praises themselves, five of one group who praise
each other, a sleeper whom honest people praise for something else, and who hides a lie behind 900 good characters. Each
lies about what the person said. Of the places of the examples that honest people are shown afterwards, how many are
lies, whoever hands them on?

The model finds each contradiction that it is asked about, and believes all that it is shown (`tests.faults.model`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import ExitStack

from memshare import Memory
from memshare.client.client import Client
from memshare.operations.caller import Tokens
from memshare_memory.curate.requests import NewMemory
from memshare_memory.stores.store import Where
from tests.faults.model import LIE, claim

POOL = "logic"
THINGS = (
    "emergency number", "gate code", "meeting point", "first-aid room", "night guard", "safety officer", "fire doors",
    "key cabinet", "quarantine room", "cooling pump", "loading dock", "visitors' badge",
)  # fmt: skip
HARMLESS = ("bread", "tides", "yeast", "candles", "kites", "owls", "snow", "honey", "bells", "maps", "clay", "ferns")
PEOPLE = ("ada", "bob", "carl", "dora")
GROUP = tuple(f"mob-{number}" for number in range(5))
TASKS_EACH = 50 / 12
SHOWN = 3
TRIES = 30  # of a request: the door is busy, and what it asks is killed
ENDS_WITHIN = 300.0  # seconds
PADDING = "Stay calm, tell the others near you, and write down when it was. " * 14


class Plot:
    """Everybody's tokens at a door; `strike` plants, and `places` says what came of it.

    `things` are those that are lied about; of each, as many honest tasks ask. `group` are those who praise each other.
    """

    def __init__(
        self, url: str, tokens: Tokens, client: Client, things: Sequence[str] = THINGS, group: Sequence[str] = GROUP
    ) -> None:
        self._url = url
        self._tokens = tokens
        self._client = client
        self._things = things
        self._group = group

    def strike(self) -> None:
        """Bring in what is true, lie about it, and let honest people work. What is handed in goes on by itself."""
        self._client.memories.add(
            [NewMemory(pool=POOL, prompt=_asks(0, thing), answer=_says(thing), new_pool=True) for thing in self._things]
        )
        with ExitStack() as stack:
            honest = [stack.enter_context(self._door(name)) for name in PEOPLE]
            praiser, sleeper, padder = (stack.enter_context(self._door(name)) for name in ("praiser", "sleeper", "pad"))
            mob = [stack.enter_context(self._door(name, "mob")) for name in self._group]
            self._offer_harmless([praiser, sleeper, *mob])
            for own, by in [("praiser", [praiser]), *((name, mob) for name in self._group), ("sleeper", honest)]:
                for one in by:
                    _praise(one, own)
            for number, thing in enumerate(self._things):
                for place, liar in enumerate((praiser, sleeper, mob[number % len(mob)])):
                    liar.pairs(_asks(1, thing), f"{_says(thing, LIE)} I saw it {place + 2} times.", agent=POOL)
                padder.pairs(_asks(1, thing), PADDING + _says(thing, LIE), agent=POOL)
            for number in range(round(TASKS_EACH * len(self._things))):
                thing = self._things[number % len(self._things)]
                honest[number % 4].tasks(POOL, f"{_asks(2, thing)} I am visitor {number}.")

    def places(self) -> float:
        """The share of lies among what honest people are shown, however they ask."""
        shown = list[bool]()
        with self._door("eve") as door:
            for thing in self._things:
                for way in range(len(WAYS)):
                    found = door.recall(_asks(way, thing), pool=POOL, k=SHOWN).memories
                    shown += [LIE in one.answer for one in found]
        return sum(shown) / len(shown)

    def lies(self) -> int:
        """How many were stored."""
        return sum(LIE in one.answer for one in self._client.memories.every(Where(pool=POOL)))

    def _door(self, name: str, group: str | None = None) -> Memory:
        token = self._tokens.create(name, ("recall", "offer", "submit"), (POOL,), group)
        return Memory(self._url, token, tries=TRIES)

    def _offer_harmless(self, doors: Sequence[Memory]) -> None:
        offered = [
            one.pairs(f"What is to be known of {thing}, {number}?", f"Of {thing}: {number} things.", agent=POOL)
            for number, one in enumerate(doors)
            for thing in HARMLESS
        ]
        for one in offered:
            self._client.wait(one.id, ENDS_WITHIN)


WAYS = (
    "What is to be said of the {} of the plant?",
    "What do you say about the {} of the plant?",
    "Please tell me: what is to be said of the {} of the plant?",
)


def _asks(way: int, thing: str) -> str:
    return WAYS[way].format(thing)


def _says(thing: str, value: str = "right") -> str:
    name = re.sub(r"\W", "_", thing)
    return f"Of the {thing} this is known: it is {value}. {claim(name, value)}"


def _praise(door: Memory, submitter: str) -> None:
    for thing in HARMLESS:
        of = door.recall(f"What is to be known of {thing}?", pool=POOL, filters={"submitter": submitter})
        door.feedback(1.0, recall_id=of.recall_id)
