"""A client of two deployments: two databases of a real Redis."""

from collections.abc import Iterator

import pytest
import redis

from memshare.client.client import Client
from memshare.client.routed_client import RoutedClient
from memshare.terminal.ids import find_home
from memshare_broker.connection import connect
from memshare_broker.errors import BadInput
from memshare_broker.settings import Settings


@pytest.fixture
def clients(settings: Settings, redis_client: redis.Redis) -> Iterator[tuple[Client, Client]]:
    assert redis_client.ping()
    other = Settings(data=settings.data, model="offline", redis_url=settings.redis.replace("db=0", "db=1"))
    with Client(settings) as one, Client(other) as two:
        yield one, two
        with connect(other.redis) as second:
            second.flushdb()


def test_a_task_goes_to_its_agents_deployment_and_is_found_there_by_its_id(clients: tuple[Client, Client]) -> None:
    one, two = clients
    routed = RoutedClient({"poem": one, "logic": two})

    poem, puzzle = routed.submit("poem", "A limerick"), routed.submit("logic", "Who owns the fish?")

    assert one.ledger.open_messages() == {"poem": 1}
    assert two.ledger.open_messages() == {"logic": 1}
    assert [routed.home(task.id) for task in (poem, puzzle)] == [one, two]
    assert routed.journey(puzzle.id).prompt == "Who owns the fish?"
    assert routed.result(poem.id).state == "PENDING"
    assert routed.cancel(puzzle.id) == "cancelled"
    assert two.ledger.open_messages() == {"logic": 0}


def test_the_beginning_of_an_id_is_looked_for_once_in_each_deployment(
    clients: tuple[Client, Client], redis_client: redis.Redis
) -> None:
    one, two = clients
    routed = RoutedClient({"poem": one, "logic": two})
    puzzle = routed.submit("logic", "Who owns the fish?")
    redis_client.config_resetstat()

    found = find_home(routed, puzzle.id[:8])

    assert found == (two, puzzle.id)
    assert redis_client.info("commandstats")["cmdstat_hget"]["calls"] == len(clients)


def test_an_agent_or_an_id_of_no_deployment_is_bad_input(clients: tuple[Client, Client]) -> None:
    routed = RoutedClient(dict(zip(("poem", "logic"), clients, strict=True)))

    with pytest.raises(BadInput, match=r"No deployment has the agent 'plan'\. There are: logic, poem\."):
        routed.submit("plan", "A party")
    with pytest.raises(BadInput, match="in any of 2 deployments"):
        routed.journey("nobody's")
