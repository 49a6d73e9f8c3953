"""Who is proven: decided from what people said, and from nothing that an optimiser has made of it.

A good word about a submitter is an answer that followed a memory of theirs and was accepted, or feedback that found it
good; a bad one is what found it bad. Each person, with all of their group, has at most three good ones. Words get half
as heavy in 90 days. Nobody's words about their own group count. A submitter is proven who has more good words than one
person may say, and whose share of good ones is over .2 for sure: the lower bound of Wilson (1927), z = 1.

What a grade says of an answer of memshare's own agents counts whoever asked. What somebody claims from outside, in
feedback or with an answer of theirs, counts for a person from curators outwards, as in EigenTrust (Kamvar 2003): for
who brought in memories of the pool, is trusted, or is proven. All others together are one person, with half as much to
say. Against somebody everybody counts. Who brought in memories is proven by that: they may bring in any.

That stands beside what a learner has come to: its state, and what each submitter is worth. It is by numpy alone: a
return to an earlier version needs no torch.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from math import sqrt
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
import redis
from safetensors.numpy import load, save

from memshare_broker.wire.lessons import Evidence
from memshare_memory.belief.trust import GROUPS, Standing, Standings, trusted
from memshare_memory.recall.retriever import Adapter, PublishedAdapter
from memshare_trainer.lesson import Array, Example

PRIOR = 0.1  # standard deviation of what submitters are worth, in the unit of a cosine
START_BIAS = 0.6  # the cosine at which a memory is as likely to help as not, before anything was learnt


@dataclass(frozen=True)
class State:
    """The adapter's weights W, the bias b, what each submitter is worth, Adam's moments of all three, and its steps."""

    weights: Array  # (dimension, dimension)
    weights_mean: Array
    weights_square: Array
    bias: Array  # ()
    bias_mean: Array
    bias_square: Array
    worth: Array  # (submitters,)
    worth_mean: Array
    worth_square: Array
    steps: Array  # (), a whole number
    submitters: tuple[str, ...] = ()

    @classmethod
    def start(cls, dimension: int) -> State:
        """The untrained state: no vector is turned, and nobody is worth more than others."""
        square, number, none = (np.zeros(shape, np.float32) for shape in ((dimension, dimension), (), (0,)))
        bias = np.full((), START_BIAS, np.float32)
        return cls(square, square, square, bias, number, number, none, none, none, number)

    def knowing(self, submitters: Collection[str]) -> State:
        """The same with room for some submitters; a new one is worth what the pool's mean is, which is 0."""
        new = sorted(set(submitters) - set(self.submitters))
        if not new:
            return self
        more = np.zeros(len(new), np.float32)
        grown = {of: np.concatenate([getattr(self, of), more]) for of in ("worth", "worth_mean", "worth_square")}
        return replace(self, submitters=(*self.submitters, *new), **grown)

    def pack(self) -> str:
        """As text, exactly: safetensors in base 64."""
        tensors = asdict(self)
        names = json.dumps(tensors.pop("submitters")).encode()
        return b64encode(save(tensors | {"submitters": np.frombuffer(names, np.uint8)})).decode()

    @classmethod
    def unpack(cls, text: str) -> State:
        tensors = load(b64decode(text))
        names = json.loads(tensors.pop("submitters").tobytes())
        return cls(**tensors, submitters=tuple(names))


class Words:
    """How often each person spoke of each memory, in the examples that a learner keeps.

    Words about one's own memories, or those of one's group, count only where nobody else speaks in the pool: alone, one
    loses nothing by that. They prove nobody.
    """

    def __init__(self, people: People | None = None) -> None:
        self.people = people or People()
        self._said: Counter[tuple[str, UUID]] = Counter()
        self._people: Counter[str] = Counter()
        self._once: Counter[tuple[str, str]] = Counter()  # submitter, and who speaks of them

    def add(self, example: Example) -> None:
        """Count what an example says."""
        self._change(example, 1)

    def remove(self, example: Example) -> None:
        """Count it no more."""
        self._change(example, -1)

    def _change(self, example: Example, by: int) -> None:
        self._people[example.by] += by
        if not self._people[example.by]:
            del self._people[example.by]
        for memory, submitter in _said(example):
            word = (example.by, memory)
            before = self._said[word]
            self._said[word] += by
            if not self._said[word]:
                del self._said[word]
            if not before or word not in self._said:
                self._once[submitter, example.by] += by

    def share(self, by: str, memory: UUID, submitter: str) -> float:
        """How much one time of saying it counts for what the submitter is worth, 0 to 1."""
        if self._is_own(by, submitter) and len(self._people) > 1:
            return 0.0
        return 1 / max(self._said[by, memory], 1)

    def of_submitters(self) -> dict[str, int]:
        """How many words count for each submitter, each person's about a memory once."""
        alone = len(self._people) <= 1
        found: Counter[str] = Counter()
        for (submitter, by), count in self._once.items():
            found[submitter] += count if alone or not self._is_own(by, submitter) else 0
        return {name: count for name, count in found.items() if count}

    def _is_own(self, by: str, submitter: str) -> bool:
        return self.people.group(by) == self.people.group(submitter)

    @property
    def total(self) -> int:
        """How many there are in all, each time of saying them counted."""
        return self._said.total()


def _said(example: Example) -> list[tuple[UUID, str]]:
    known = ~np.isnan(example.gains)
    pairs = zip(example.ids, example.submitters, strict=True)
    return [pair for pair, is_known in zip(pairs, known, strict=True) if is_known]


WORDS = 4  # after which the error is PRIOR / √2


class LearntRetriever(NamedTuple):
    """Where learning goes on from, and what is known of submitters."""

    state: State
    standings: Standings

    @classmethod
    def of(cls, state: State, words: Words) -> LearntRetriever:
        """The worth of submitters of whom something was said is told beside their mean, each counted by the words."""
        said = words.of_submitters()
        worth = {name: float(of) for name, of in zip(state.submitters, state.worth, strict=True) if said.get(name)}
        mean = np.average(list(worth.values()), weights=[said[name] for name in worth]) if worth else 0
        found = {}
        for name in sorted(worth):
            beside, error = worth[name] - float(mean), PRIOR / (1 + said[name] / WORDS) ** 0.5
            found[name] = Standing(worth=beside, error=error, words=said[name])
        return cls(state, Standings(submitters=found))

    def adapter(self, version: int = 0) -> Adapter:
        return Adapter.of(version, self.state.weights, self.standings.worth)

    def published(self, version: int, encoder: str, **known: Any) -> PublishedAdapter:
        """The same as a version, with what is `known` of it beside."""
        return PublishedAdapter.pack(version, encoder, self.state.weights, self.standings.worth, **known)


OF_ONE = 3.0  # good words of a person about a submitter
OF_STRANGERS = 1.5  # the same of all together whom nobody knows
MOST_OF_ONE = 10.0  # words of a person, good and bad, in the share of good ones
LOWEST = 0.2  # of the share of good words, for sure
HALF_LIFE = 90 * 86_400  # seconds
EVEN = 0.5
NEAR_TO = 32  # memories that were found good, the last ones


class People(NamedTuple):
    """Who belongs to which group, and whom a person trusts in the pool."""

    groups: Mapping[str, str] = {}
    trusted: frozenset[str] = frozenset()

    def group(self, name: str) -> str:
        """The group of somebody, who may be one alone."""
        return f"group {self.groups[name]}" if name in self.groups else name


def people_of(client: redis.Redis, pool: str) -> People:
    """The groups of all people, and the people whom a person trusts in a pool."""
    groups = {str(name): str(group) for name, group in client.hgetall(GROUPS).items()}
    return People(groups, trusted(client).get(pool, frozenset()))


class Vouching(NamedTuple):
    """How good and how bad, each from 0 to 1, somebody found a memory of a submitter, and when.

    `is_claim` says that it is told from outside; `curators` brought in what was shown then.
    """

    by: str
    memory: UUID
    submitter: str
    good: float
    bad: float
    at: float
    is_claim: bool
    curators: tuple[str, ...] = ()

    @classmethod
    def of(cls, said: Evidence) -> Vouching:
        """The vouching in evidence. An accepted grade is good, and is bad by its distance from the usual grade."""
        is_claim = said.source != "outcome"
        above = said.weight * (said.helped - EVEN) / EVEN
        good = max(above, 0.0) if is_claim else float(said.accepted)
        bad = 0.0 if said.accepted and not is_claim else max(-above, 0.0)
        used = (said.memory, *said.beside)
        curators = tuple(voucher.submitter for voucher in used if voucher.curated)
        return cls(said.by, said.memory.id, said.memory.submitter, good, bad, said.at, is_claim, curators)


def judged(standings: Standings, said: Collection[Vouching], people: People) -> Standings:
    """The standings with who is proven, and near which memories."""
    about: defaultdict[str, list[Vouching]] = defaultdict(list)
    for word in said:
        if people.group(word.by) != people.group(word.submitter):
            about[word.submitter].append(word)
    now = max((word.at for word in said), default=0.0)
    curators = {name for word in said for name in word.curators}
    known = {people.group(name) for name in (*people.trusted, *curators)}
    proven: set[str] = set()
    while more := {name for name, words in about.items() if name not in proven and _proves(words, people, known, now)}:
        proven |= more
        known |= {people.group(name) for name in more}
    near = {name: _praised(about[name]) for name in proven} | dict.fromkeys(curators, ())
    unknown = {name: Standing(worth=0.0, error=PRIOR, words=0) for name in sorted(near.keys() - standings.submitters)}
    return Standings(
        submitters={
            name: standing.model_copy(update={"proven": name in near, "near": near.get(name, ())})
            for name, standing in (standings.submitters | unknown).items()
        }
    )


def _proves(words: Iterable[Vouching], people: People, known: Collection[str], now: float) -> bool:
    """True if words of others prove a submitter, where these groups are known."""
    good: defaultdict[str, float] = defaultdict(float)
    bad: defaultdict[str, float] = defaultdict(float)
    claims: defaultdict[str, float] = defaultdict(float)
    for word in words:
        by, weight = people.group(word.by), 0.5 ** ((now - word.at) / HALF_LIFE)
        (claims if word.is_claim and by not in known else good)[by] += weight * word.good
        bad[by] += weight * word.bad
    good[""] = sum(of for by, of in claims.items() if by not in good)  # tasks and claims of one are of one person
    praise = sum(min(of, OF_ONE if by else OF_STRANGERS) for by, of in good.items())
    weights = {by: min(1.0, MOST_OF_ONE / total) for by in {*good, *bad} if (total := good[by] + bad[by])}
    right, wrong = (sum(of[by] * weight for by, weight in weights.items()) for of in (good, bad))
    return praise > OF_ONE and lower_bound(right, right + wrong) > LOWEST


def lower_bound(good: float, of: float, z: float = 1.0) -> float:
    """The lowest that a share of good ones may be, by `z` standard errors (Wilson 1927); 0 of nothing."""
    if not of:
        return 0.0
    share = good / of
    wide = z**2 / of
    return (share + 0.5 * wide - sqrt(share * (1 - share) * wide + 0.25 * wide**2)) / (1 + wide)


def _praised(words: Iterable[Vouching]) -> tuple[UUID, ...]:
    good = sorted((word for word in words if word.good > word.bad), key=lambda word: -word.at)
    return tuple(dict.fromkeys(word.memory for word in good))[:NEAR_TO]
