"""A journey that is followed: each state once, over connections that break off too."""

from __future__ import annotations

import asyncio
import socket
import threading

import pytest

from memshare import AsyncMemory, Memory, NotFound, NoToken, Unreachable
from memshare.client.rest.methods import EventStream
from memshare.operations.backend import Backend
from tests.support.raw_server import raw_server


def test_a_journey_is_followed_to_its_end(client: Memory) -> None:
    journey = client.tasks("poem", "A lamp", kind="limerick").id
    seen = []

    for now in client.journeys.events(journey):
        seen.append((now.id, now.state, now.ended))
        if not now.ended:
            client.journeys.cancel(journey)

    assert seen == [(journey, "queued", False), (journey, "cancelled", True)]
    assert [one.state for one in client.journeys.events(journey)] == ["cancelled"]


def test_the_asynchronous_twin_follows_many_at_once(url: str) -> None:
    async def states(memory: AsyncMemory, journey: str) -> list[str]:
        return [one.state async for one in memory.journeys.events(journey)]

    async def work() -> list[list[str]]:
        async with AsyncMemory(url) as memory:
            journeys = [(await memory.tasks("poem", f"Lamp {n}", kind="limerick")).id for n in range(3)]
            following = [asyncio.create_task(states(memory, one)) for one in journeys]
            await asyncio.sleep(0)
            for one in journeys:
                await memory.journeys.cancel(one)
            with pytest.raises(NotFound):
                await states(memory, "nobody's")
            return await asyncio.gather(*following)

    assert all(one[-1] == "cancelled" and len(one) == len(set(one)) for one in asyncio.run(work()))


def test_a_stream_that_breaks_off_goes_on_and_no_state_comes_twice(url: str) -> None:
    host, _, port = url.removeprefix("http://").partition(":")
    with Memory(url) as direct:
        journey = direct.tasks("poem", "A lamp", kind="limerick").id

        def cut(connection: socket.socket, _: threading.Event) -> None:
            """Pass the stream on; the first two break off after their first event."""
            cuts = len(server.asked) <= 2
            if len(server.asked) == 3:
                direct.journeys.cancel(journey)
            with socket.create_connection((host, int(port)), timeout=10) as onward:
                onward.sendall(server.asked[-1].replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1))
                passed = b""
                while not (cuts and b"\n\n" in passed.partition(b"data:")[2]) and (part := onward.recv(65_536)):
                    passed += part
                    connection.sendall(part)

        with raw_server(cut) as server, Memory(f"http://127.0.0.1:{server.port}", tries=2) as client:
            states = [one.state for one in client.journeys.events(journey)]

        assert states == ["queued", "cancelled"]
        assert len(server.asked) == 3


def test_a_server_that_stays_away_is_given_up_after_so_many_tries_in_a_row() -> None:
    def nothing(connection: socket.socket, _: threading.Event) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n: ping\n\n")

    with raw_server(nothing) as server, Memory(f"http://127.0.0.1:{server.port}", tries=2) as client:
        with pytest.raises(Unreachable, match="ended before the journey"):
            list(client.journeys.events("j"))
        assert len(server.asked) == 2


def test_a_stream_is_refused_as_every_other_request(client: Memory, backend: Backend) -> None:
    with pytest.raises(NotFound, match="nobody"):
        next(iter(client.journeys.events("nobody's")))

    journey = client.tasks("poem", "A lamp").id
    backend.tokens.create("ada", ("admin",), None)

    with pytest.raises(NoToken):
        next(iter(client.journeys.events(journey)))


def test_events_are_read_whatever_the_pieces_they_arrive_in() -> None:
    text = (
        ': ping\r\n\r\nevent: asked\ndata: {"a":\ndata:  "é"}\nid: 1\n\ndata\n\n: ping\n\ndata:{}\n\ndata: cut'.encode()
    )
    whole = [b'{"a":\n "\xc3\xa9"}', b"", b"{}"]

    for size in (1, 2, 7, len(text)):
        stream = EventStream()
        pieces = [text[start : start + size] for start in range(0, len(text), size)]
        assert [data for piece in pieces for data in stream.feed(piece)] == whole
