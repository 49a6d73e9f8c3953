"""What is read of an item of a queue, whatever it is."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from memshare_broker.wire.envelope import UNREADABLE, UnreadableMessage, check_payload, read_envelope, read_headers
from tests.support.message_shapes import encoded, good, shapes

GOOD = good("t1", "poem", "agents.poem")
NOTHING = {"callbacks": None, "errbacks": None, "chain": None, "chord": None}


def changed(part: str, **fields: Any) -> bytes:
    return encoded(GOOD | {part: GOOD[part] | fields})


def test_a_message_that_celery_wrote_passes_as_it_is() -> None:
    raw = encoded(GOOD)

    read = read_envelope(raw, "poem")

    written = json.loads(raw)
    del written["shape"]
    assert read == written
    assert read_headers(read["headers"]) == GOOD["headers"] | {"timelimit": (None, None)}


def test_a_message_belongs_to_the_queue_that_it_was_found_in() -> None:
    raw = changed("properties", delivery_info={"exchange": "elsewhere", "routing_key": "scorer"})

    assert read_envelope(raw, "poem")["properties"]["delivery_info"] == {"exchange": "", "routing_key": "poem"}


def test_what_workers_note_in_a_message_is_not_taken_from_outside() -> None:
    read = read_envelope(changed("properties", memshare_acknowledged=True), "poem")

    assert "memshare_acknowledged" not in read["properties"]


def test_an_id_that_is_a_number_becomes_a_text() -> None:
    assert read_envelope(changed("headers", id=7), "poem")["headers"]["id"] == "7"


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"caf\xe9", "UnicodeDecodeError"),
        (b"{", "JSONDecodeError"),
        (b"null", "valid dictionary"),
        (b"[" * 100_000, "RecursionError"),
        (b'{"a": ' + b"9" * 5_000 + b"}", "ValueError"),
        (encoded({key: value for key, value in GOOD.items() if key != "properties"}), "'properties' is missing"),
        (changed("properties", delivery_tag=["t1"]), "properties.delivery_tag"),
        (changed("properties", priority="1e999"), "properties.priority"),
        (changed("headers", id=["t1"]), "no printable text"),
        (changed("headers", id="a\nb"), "no printable text"),
        (changed("headers", compression="gzip"), "compressed"),
        (encoded(GOOD | {"body": "===="[:3] + "x"}), "Error"),
        (encoded(GOOD | {"content-encoding": "zlib_codec"}), "content-encoding"),
    ],
)
def test_what_is_no_message_comes_in_an_envelope_that_says_why_with_all_that_it_was(raw: bytes, why: str) -> None:
    read = read_envelope(raw, "poem")

    assert why in read["headers"][UNREADABLE]
    assert base64.b64decode(read["body"]) == raw
    assert read_envelope(json.dumps(read).encode(), "poem") == read, "also when it was given back and is taken again"
    with pytest.raises(UnreadableMessage, match=r"\w"):
        read_headers(read["headers"])


@pytest.mark.parametrize("name", ["get", "delivery_info", "called_directly", "callbacks", "args"])
def test_a_header_does_not_stand_in_place_of_what_a_task_knows_of_itself(name: str) -> None:
    assert name not in read_headers(GOOD["headers"] | {name: "x"})


def test_headers_that_celery_does_not_know_pass() -> None:
    assert read_headers(GOOD["headers"] | {"traceparent": "00-1"})["traceparent"] == "00-1"


@pytest.mark.parametrize(
    ("name", "value"),
    [("task", []), ("timelimit", "x"), ("retries", -1), ("stamped_headers", [[]]), ("shadow", 1), ("origin", "\ud83d")],
)
def test_headers_of_another_form_are_refused(name: str, value: Any) -> None:
    with pytest.raises(UnreadableMessage, match="Its headers"):
        read_headers(GOOD["headers"] | {name: value})


@pytest.mark.parametrize(
    "payload",
    [
        None,
        {},
        [],
        [[], {}, None, None],
        [{}, {}, None],
        [[], [], None],
        [[], {}, []],
        [[], {}, NOTHING | {"id": "t2"}],
    ],
)
def test_a_body_of_another_form_is_refused(payload: Any) -> None:
    with pytest.raises(UnreadableMessage, match="Its body"):
        check_payload(payload, json.dumps(payload).encode())


@pytest.mark.parametrize("text", ["\ud83d", {"\ud83d": 1}])
def test_half_a_character_is_refused_and_a_whole_one_is_not(text: Any) -> None:
    for value, is_refused in ((text, True), ("\U0001f4a5", False)):
        payload = [[{"prompt": value}], {}, NOTHING]
        body = json.dumps(payload).encode()
        if is_refused:
            with pytest.raises(UnreadableMessage, match="half a character"):
                check_payload(json.loads(body), body)
        else:
            check_payload(json.loads(body), body)


def test_the_shapes_are_the_same_every_time_and_each_is_another() -> None:
    first, second = (shapes(500, "poem", "agents.poem") for _ in range(2))

    assert first == second
    assert len({shape.mark for shape in first}) == 500
