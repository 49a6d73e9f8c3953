"""Which workers Flower asks again."""

from collections import defaultdict
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tornado.options import options

from memshare.operate.flower import ASKED, ask_new


@pytest.mark.parametrize(
    ("answered", "alive", "asked"),
    [(set(), True, True), ({"conf"}, True, True), (ASKED, True, False), (set(), False, False)],
    ids=["nothing", "one question", "all", "gone"],
)
def test_a_worker_is_asked_until_it_has_answered_all(answered: set[str], alive: bool, asked: bool) -> None:
    names: list[str] = []
    flower = SimpleNamespace(
        events=SimpleNamespace(state=SimpleNamespace(workers={"poem@host": SimpleNamespace(alive=alive)})),
        workers=defaultdict(dict, {"poem@host": dict.fromkeys(answered)}),
        update_workers=names.append,
    )

    ask_new(cast("Any", flower))

    assert names == (["poem@host"] if asked else [])


def test_flower_listens_on_loopback_and_only_shows_unless_an_option_says_otherwise() -> None:
    assert (options.address, options.read_only) == ("127.0.0.1", True)
