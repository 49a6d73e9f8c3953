"""How records lie in a journey."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from memshare_broker.delivery.journey_records import PACKED, pack, unpack

SCORE = {
    "total": 91.81,
    "threshold": 81.0,
    "accepted": True,
    "criteria": {name: {"low": 5.5, "high": 6.25, "points": 11.1} for name in ("wit", "rhyme", "form", "depth")},
    "rubric": "poem",
    "usage": {"prompt_tokens": 675, "completion_tokens": 82},
}


FIRST_RELEASE = "0YhX2OG7;iL-dSbNK8g3&n!X83#NLeh`eB?XJm?;7Yq&c48eIJqcS&@R8495MY*KvffZ52Yr>vYafiK`xham&w=k-$1po"


@pytest.mark.parametrize(
    "value",
    [None, 1795332268.547025, "", "以秋夜江边为题 🌕" * 200, "\x00\x01\x7f" * 100, "\ud800" * 60, [],
     {"a": [1, {"b": None}]}, SCORE, {"text": "There was " * 20_000}],
)  # fmt: skip
@pytest.mark.parametrize("escaped", [True, False])
def test_what_is_packed_comes_back(value: Any, escaped: bool) -> None:
    assert unpack(pack(json.dumps(value, ensure_ascii=escaped))) == value


def test_a_record_takes_a_fraction_of_its_json() -> None:
    packed = pack(json.dumps(SCORE))

    assert packed.startswith(PACKED)
    assert len(packed) < len(json.dumps(SCORE)) / 3


def test_what_gains_nothing_stays_readable() -> None:
    assert pack('{"outcome": "stored"}') == b'{"outcome": "stored"}'
    random = json.dumps(base64.b85encode(bytes(range(256)) * 1).decode())
    assert len(pack(random)) <= len(random.encode())


def test_what_was_written_plain_is_read() -> None:
    assert unpack(json.dumps(SCORE, indent=1).encode()) == SCORE


def test_what_was_packed_by_the_first_release_is_read_for_ever() -> None:
    assert unpack(base64.b85decode(FIRST_RELEASE)) == SCORE
