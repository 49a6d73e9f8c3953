"""What can be known at the start is said at the start, and to nobody whom it does not concern."""

from __future__ import annotations

import socket
from contextlib import closing
from pathlib import Path

import pytest

from memshare.operate.preflight import check
from memshare_broker.errors import BadInput
from memshare_broker.settings import Settings

AGENT = 'description = "x"\ninstructions = "x"\npool = "p"\nrubric = "nowhere"\n'


@pytest.fixture
def agents(tmp_path: Path) -> Path:
    (tmp_path / "stray.toml").write_text(AGENT)
    return tmp_path


def test_an_agent_without_its_rubric_is_refused_where_it_would_be_served(agents: Path) -> None:
    settings = Settings(model="offline", agents_dir=agents)

    for queues in (None, ["stray"]):
        with pytest.raises(BadInput, match=r"'stray'.*'nowhere'"):
            check(settings, queues)

    check(settings, ["poem", "scorer"])
    (agents / "nowhere.rubric.toml").write_text(
        'domain = "x"\n[[criteria]]\nname = "a"\npoints = 100\ndescription = "x"\n'
        '[criteria.bands]\nfull = "x"\nmost = "x"\npart = "x"\nnone = "x"\n'
    )
    check(settings)


def test_a_door_that_is_open_to_the_network_without_a_token_is_refused_before_the_encoder_is_exported() -> None:
    settings = Settings(model="offline", memory_listen="127.0.0.1:0")

    for queues in (None, ["memory"]):
        with pytest.raises(BadInput, match="MEMSHARE_MEMORY_TOKEN"):
            check(settings, queues)

    check(settings, ["poem"])
    check(Settings(model="offline", memory_listen="127.0.0.1:0", memory_token="secret"))


def test_an_address_that_is_taken_is_refused() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"

        with pytest.raises(BadInput, match=address):
            check(Settings(model="offline", memory_listen=address, memory_token="secret"), ["memory"])


def test_models_are_checked_of_the_queues_that_are_served(agents: Path) -> None:
    (agents / "stray.toml").write_text(
        AGENT.replace("nowhere", "integrated") + 'engine = "reasoning"\n[models]\nresponder = "mistral:x"\n'
    )
    settings = Settings(model="offline", agents_dir=agents, model_scorer="openai:x")

    with pytest.raises(BadInput, match="MISTRAL_API_KEY"):
        check(settings, ["stray"])
    for queue in ("scorer", "concepts"):
        with pytest.raises(BadInput, match="OPENAI_API_KEY"):
            check(settings, [queue])
    check(settings, ["poem", "memory", "trainer"])


def test_documents_that_are_not_there_are_refused_where_an_agent_reads_them(tmp_path: Path) -> None:
    settings = Settings(model="offline", documents=str(tmp_path / "gone.md"))

    with pytest.raises(BadInput, match=r"gone\.md"):
        check(settings, ["reasoning"])
    check(settings, ["poem"])


def test_an_encoder_of_a_server_without_a_key_is_refused() -> None:
    with pytest.raises(BadInput, match="OPENAI_API_KEY"):
        check(Settings(model="offline", encoder="openai:small"), ["memory"])


SUMS = """
domain = "Sums"
[[criteria]]
name = "right"
points = 100
description = "It is right."
check = "memshare_scorer.checks.texts:no_such_check"
options = {texts = ["42"]}
"""


def test_a_check_that_there_is_not_is_told_to_the_scorer_alone(tmp_path: Path) -> None:
    rubric = tmp_path / "sums.rubric.toml"
    rubric.write_text(SUMS)
    settings = Settings(data=tmp_path / "data", agents_dir=tmp_path, model="offline")

    with pytest.raises(BadInput, match="no_such_check"):
        check(settings, ["scorer"])

    check(settings, ["poem"])
    rubric.write_text(SUMS.replace("no_such_check", "contains"))
    check(settings, ["scorer"])
