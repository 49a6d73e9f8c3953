"""What the credibility benchmark measures follows from what its discriminator says."""

from __future__ import annotations

import pytest

from benchmarks.claims import Answerer, ClaimPair, KnowsThePairs
from benchmarks.credibility import brought_in, learnt
from benchmarks.own_pool import own_pool

PAIRS = [
    ClaimPair("Iron sinks in water.", "Iron floats in water.", "Iron in water."),
    ClaimPair("Bees see ultraviolet light.", "Bees see infrared light.", "Bees see light."),
]


@pytest.mark.slow
@pytest.mark.parametrize("right", [True, False])
def test_the_claim_that_the_engine_verifies_ranks_above_the_other(right: bool) -> None:
    with own_pool() as pool:
        ids = brought_in(pool, "claims", PAIRS, KnowsThePairs(PAIRS))
        chats = [Answerer(pair, lambda _, supported: supported == right) for pair in PAIRS]

        share = learnt(pool, "claims", PAIRS, ids, chats)

    assert share["5"] == float(right)
