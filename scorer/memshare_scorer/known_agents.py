"""Which agents there are: a pair from outside is graded as one of them, by its rubric and for its pool."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from memshare_broker.agent_files import read_card
from memshare_broker.errors import BadInput
from memshare_broker.presence import AgentCard
from memshare_broker.wire.grades import OfferedPair


class KnownAgents:
    """The agents whose files this machine has, and those that workers announce.

    Of the same agent they may say different things for a while, as when workers get new files one after the other.
    """

    def __init__(
        self, agents_dir: Path | None = None, announced: Callable[[], Iterable[AgentCard]] = lambda: ()
    ) -> None:
        self._agents_dir = agents_dir
        self._announced = announced

    def require(self, pair: OfferedPair) -> None:
        """Raises `BadInput` where no agent of that name has the pair's pool and rubric, or it has no such kind."""
        own = read_card(pair.agent, self._agents_dir)
        if own is not None and _fits(own, pair):
            return
        cards = [*([own] if own else []), *(card for card in self._announced() if card.name == pair.agent)]
        if not any(_fits(card, pair) for card in cards):
            raise BadInput(_refusal(pair, cards))


def _fits(card: AgentCard, pair: OfferedPair) -> bool:
    return _grades(card, pair) and (pair.kind is None or pair.kind in card.kinds)


def _grades(card: AgentCard, pair: OfferedPair) -> bool:
    return (card.pool, card.rubric) == (pair.pool, pair.rubric)


def _refusal(pair: OfferedPair, cards: Sequence[AgentCard]) -> str:
    if not cards:
        return (
            f"No agent is called {pair.agent!r}, here or at any worker, so nothing is graded for it. `memshare agents` "
            "lists the agents; `memshare dead retry --all` sends it again once there is one."
        )
    for card in cards:
        if _grades(card, pair):
            card.require_kind(pair.kind)
    card = cards[0]
    return (
        f"The agent {pair.agent!r} has the pool {card.pool!r} and the rubric {card.rubric!r}, not {pair.pool!r} and "
        f"{pair.rubric!r}: offer the pair with these, or as the answer of another agent."
    )
