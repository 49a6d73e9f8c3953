from __future__ import annotations

import pytest

from memshare_broker.errors import BadInput
from memshare_broker.wire.spaces import RESERVED, AgentPools, Spaces, fits, owner_of

POOLS = AgentPools.model_validate({"pools": ["mine/{submitter}", "team", "shared"]})


def test_each_submitter_has_a_pool_of_their_own_and_the_same_others() -> None:
    assert POOLS.spaces("ada").pools == ("mine/ada", "team", "shared")
    assert POOLS.spaces("bo@example.org").pools[0] == "mine/bo@example.org"
    assert [owner_of(one) for one in POOLS.spaces("ada").pools] == ["ada", None, None]


@pytest.mark.parametrize(
    "name",
    ["../team", "ada/team", "{submitter}", "", " ada", "ada\n", "a" * 62, "ädä", "..", *sorted(RESERVED), "Anonymous"],
)
def test_a_name_that_could_lead_elsewhere_or_is_nobodys_has_no_pool(name: str) -> None:
    with pytest.raises(BadInput) as caught:
        POOLS.spaces(name)

    assert "\n" not in str(caught.value)


def test_who_has_no_pool_of_their_own_may_have_any_name() -> None:
    assert AgentPools(pool="team").spaces("anonymous/ädä").pools == ("team",)


def test_a_memory_goes_to_the_next_pool_and_from_the_last_to_none() -> None:
    spaces = Spaces(pools=("mine/ada", "team", "shared"))

    assert [spaces.after(one) for one in ("mine/ada", "team", "shared", "mine/bo")] == ["team", "shared", None, None]


@pytest.mark.parametrize(
    ("space", "pool", "is_so"),
    [
        ("mine/{submitter}", "mine/ada", True),
        ("mine/{submitter}", "mine", False),
        ("mine/{submitter}", "yours/ada", False),
        ("mine", "mine/ada", False),
        ("team", "team", True),
    ],
)
def test_a_pool_is_a_space_for_its_owner(space: str, pool: str, is_so: bool) -> None:
    assert fits(space, pool) is is_so
