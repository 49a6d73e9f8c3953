"""`memshare up`: everything on one machine."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Annotated

import redis
import typer
from rich.live import Live
from rich.text import Text

from memshare.cli.begin.demo_gain import MADE, SEARCH
from memshare.cli.options import Json
from memshare.client.client import Client
from memshare.client.pools import failing_models, graded_ever, model_doubts, no_room, same_names
from memshare.client.rest.task import PORT
from memshare.operate.data_folder import hold_folder, tell_models
from memshare.operate.preflight import LIST_WITHIN, check, try_models, unapproved
from memshare.operate.supervisor import Supervisor
from memshare.terminal.console import console, errors, print_json, styled, waiting
from memshare.terminal.ids import counted
from memshare_agents.roster import load_roster
from memshare_broker.app import CONCEPTS_QUEUE, TRAINER_QUEUE
from memshare_broker.connection import PATIENCE, connect, reaching
from memshare_broker.errors import BadInput, MemshareError, Unreachable
from memshare_broker.observe.metrics import DEAD_REASONS
from memshare_broker.settings import OFFLINE, load_settings
from memshare_broker.steady_thread import repeat, steady_thread
from memshare_llm.limits.concurrency import last_calls
from memshare_llm.models import HOW_TO_SET

REFRESH = 1.0  # seconds
LASTS = 20.0  # seconds that a trouble may be out of sight, as when what waits is tried again, until it is over
COUNT_MEMORIES_EVERY = READ_FILES_EVERY = 5.0  # seconds
SILENT = 10.0  # seconds without a word of Redis, until that is told: one that ended is started again sooner
AGAIN = 10  # times as large, and a trouble is told again
MAY_BE_OFF = {CONCEPTS_QUEUE: "concepts", TRAINER_QUEUE: "learn"}  # and the setting that leaves it without a worker

WITHOUT_MODEL = f"""\
none (offline). Nothing is made up in its place:
        - Agents give the answer of the memory nearest to a task, word for word, and say whose it is. \
Where there is no memory, the task is given up.
        - Only programs grade (rubrics whose every criterion has a check). Nothing else gets a score or is remembered.
        - Importing, searching and recalling memories work as ever.
        {HOW_TO_SET}."""


def up(
    agents: Annotated[
        int | None, typer.Option(min=1, max=64, help="Processes that answer. [default: one for each processor]")
    ] = None,
    data: Annotated[Path | None, typer.Option(help="Data folder. [default: MEMSHARE_DATA or ~/.memshare]")] = None,
    flower_port: Annotated[int, typer.Option(min=0, max=65_535, help="Port of Flower; 0 leaves it out.")] = 5555,
    flower_host: Annotated[
        str, typer.Option(help="Address of Flower; one that others reach takes MEMSHARE_FLOWER_AUTH.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port of REST on this machine; 0 leaves it out.")] = PORT,
    as_json: Json = False,
) -> None:
    """Run Redis, the memory service, all workers, REST and Flower until Ctrl-C. The data stays in its folder.

    Example: memshare up --data ./data
    """
    settings = load_settings(data)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    load_roster(settings.agents_dir)
    with hold_folder(settings.data), tell_models(settings):
        models = check(settings)
        asked = ", ".join(sorted(one for one in models if one.startswith("openai:")))
        most = f"up to {LIST_WITHIN + settings.model_timeout:g} s for each model"
        with waiting(f"Asking {asked}, {most}") if asked else contextlib.nullcontext():
            warnings = try_models(settings, models)
        for warning in warnings:
            errors.print(warning, style="yellow")
        supervisor = Supervisor(
            settings,
            agents=agents,
            flower_port=flower_port or None,
            flower_host=flower_host,
            serve_port=port or None,
        )
        ready = False
        notify("STATUS=Starting")
        try:
            with waiting(lambda: supervisor.doing):
                supervisor.start()
            ready = True
            with (
                _told_to_end() as told_to_end,
                contextlib.closing(Client(settings)) as client,
            ):
                _say_ready(supervisor, as_json=as_json)
                notify("READY=1", "STATUS=Up")
                _watch(supervisor, client, told_to_end, as_json=as_json)
        except KeyboardInterrupt:
            if not ready:
                raise
            return  # Ctrl-C is how it ends
        finally:
            ending = f"Ending; running tasks may finish, for up to {settings.grace + 10:g} s"
            # The memory service is told to end after the other workers, and may take as long; others have 10 s each.
            notify("STOPPING=1", f"STATUS={ending}", f"EXTEND_TIMEOUT_USEC={2 * settings.grace + 50:.0f}000000")
            with waiting(ending) if supervisor.children else contextlib.nullcontext():
                supervisor.stop()
            if ready:
                errors.print("Ended. What was not finished goes on when `memshare up` runs again.")


def notify(*assignments: str) -> None:
    """Tell systemd how it is, as sd_notify(3) has it: a datagram to NOTIFY_SOCKET, where there is one.

    A service manager that does not read it within 5 seconds goes without.
    """
    if address := os.environ.get("NOTIFY_SOCKET"):
        message = "\n".join(" ".join(one.split()) for one in assignments)  # a line more would be an assignment more
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sending:
            sending.settimeout(5)
            sending.sendto(message.encode(), f"\0{address[1:]}" if address.startswith("@") else address)


@contextlib.contextmanager
def _told_to_end() -> Iterator[threading.Event]:
    """Is set by Ctrl-C and SIGTERM within the block; as an exception, a callback of some library could swallow them."""
    told = threading.Event()
    before = {sign: signal.signal(sign, lambda *_: told.set()) for sign in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield told
    finally:
        for sign, handler in before.items():
            signal.signal(sign, handler)


def _say_ready(supervisor: Supervisor, *, as_json: bool) -> None:
    settings = supervisor.settings
    model = settings.model_for("agents")
    if as_json:
        print_json(
            {
                "ready": True,
                "data": settings.data,
                "redis": settings.redis,
                "flower": supervisor.flower_url,
                "flower_auth": supervisor.flower_auth if supervisor.flower_url else None,
                "page": supervisor.serve_url,
                "rest": supervisor.serve_url,
                "model": model,
            }
        )
        return
    console.print(styled(("memshare is up.", "bold green"), f" Ctrl-C ends it. Data in {settings.data}"))
    if supervisor.serve_url:
        console.print(styled("Page    ", (supervisor.serve_url, "bold"), "  in a browser: ask, look, decide"))
    console.print(f"Model   {WITHOUT_MODEL if model == OFFLINE else model}")
    if supervisor.flower_url:
        user, _, password = supervisor.flower_auth.partition(":")
        console.print(f"Flower  {supervisor.flower_url}  as {user}, with the password {password}")
    if supervisor.serve_url:
        console.print(f"REST    {supervisor.serve_url}/docs")
    tries = ['memshare submit poem "A limerick about a lighthouse" --wait']
    if (settings.data / MADE).exists():
        tries = [SEARCH]
    elif model == OFFLINE:
        tries = ["memshare memories list", "memshare demo, which has a pool of its own"]
    if settings.data != load_settings().data:
        tries.insert(0, f"export MEMSHARE_DATA={quote(str(settings.data))}")
    for at, line in enumerate(tries):
        console.print(f"{'' if at else 'Try':8}{line}", soft_wrap=True)


def _watch(supervisor: Supervisor, client: Client, told_to_end: threading.Event, *, as_json: bool) -> None:
    def revive() -> None:
        notify("WATCHDOG=1")
        for child in supervisor.revive():
            if as_json:
                print_json({"restarted": child.name, "restarts": child.restarts})
            else:
                console.print(styled((f"{child.name} had ended and was started again.", "yellow"), f" See {child.log}"))

    with Live(console=console, refresh_per_second=4, transient=True) as live:
        # By a thread of its own: what revives Redis must not wait for Redis.
        show = _Troubles(client, as_json=as_json).tell if as_json else _Status(client, live).show
        steady_thread("memshare-status", show, told_to_end, every=REFRESH)
        repeat("memshare-up", revive, told_to_end, every=REFRESH, delay=REFRESH)


@dataclass
class _Trouble:
    """A trouble as it was told last: its words, its size (what waits for it, or its count), and when it was seen.

    `models` are those of which it says that they fail. `now` is its size by now, which it has had since `since`.
    """

    why: str
    size: int
    seen: float
    models: frozenset[str]
    now: int
    since: float


class _Troubles:
    """Says what is wrong, again when that is ten times as much, and that it is over: a model is away, its calls
    fail, or what it says is of no use; a rubric is not approved; tasks were given up; Redis has no room, or is silent.
    """

    def __init__(self, client: Client, *, as_json: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self._client, self._as_json, self._clock = client, as_json, clock
        self.redis = connect(client.settings.redis, tries=1, timeout=PATIENCE)
        self._answered = clock()
        self._files_read, self._unapproved = -READ_FILES_EVERY, list[str]()
        self._letters, self._dead = 0, dict[str, str]()
        self._away: set[str] = set()  # what is known of messages that waited for a model that was away
        self._told: dict[str, _Trouble] = {}  # by their words without numbers

    def tell(self) -> Counter[str]:
        """Say what is new; returns how many messages of each queue wait beside it.

        Raises `Unreachable`, and says so once Redis has been silent for `SILENT` seconds.
        """
        url = self._client.settings.redis
        try:
            with reaching(url):
                parked = self._tell()
        except Unreachable as error:
            if self._clock() - self._answered >= SILENT:
                self._say(f"Redis {url}", str(error), 0, self._clock())
            raise
        self._answered = self._clock()
        return parked

    def _tell(self) -> Counter[str]:
        parked = self._client.ledger.parked.all()
        workers = self._client.workers()
        off = MAY_BE_OFF.keys() - {queue for worker in workers for queue in worker.queues}
        off -= {queue for queue, name in MAY_BE_OFF.items() if getattr(self._client.settings, name)}
        holds = ("model away", "misfits ")
        held = Counter(one.why for one in parked if one.queue not in off and one.hold.startswith(holds))
        for queue in sorted(off):
            why = f"No worker serves the queue {queue!r}: MEMSHARE_{MAY_BE_OFF[queue].upper()} is false."
            held += Counter({why: self._client.ledger.open_in(queue)})
        calls = last_calls(self.redis)
        away = set(map(_without_numbers, {one.why for one in parked if one.hold == "model away"}))
        self._away = away | (self._away & self._told.keys())
        fails = {
            model: said
            for model, said in failing_models(calls, workers).items()
            if not any(f"{model} " in why for why in self._away)  # of a model that is away that is said
        }
        doubts = (*model_doubts(self.redis, workers), *self._not_approved(), *same_names(workers))
        every = (*held, *doubts, *no_room(self.redis), *fails.values())
        found = {_without_numbers(why): why for why in every} | self._given_up()
        waiting, now = Counter[str](), self._clock()
        for why, number in held.items():
            waiting[_without_numbers(why)] += number
        for key, why in found.items():
            failing = (*held, *fails.values())
            models = frozenset(model for model in calls if why in failing and f"{model} " in why)
            self._say(key, why, waiting[key], now, models)
        # What its last call did not disprove may go on. One that fails otherwise by now is told so, and is not over.
        open_ = {model for model, ended in calls.items() if ended[0] != "fit" and model not in fails}
        fail_now = {model for key in found for model in self._told[key].models}
        for key, one in [*self._told.items()]:
            if now - one.seen >= LASTS and not any(f"{model} " in key for model in open_):
                del self._told[key]
                if one.models & fail_now:
                    continue
                self._print(styled(("No longer so: ", "green"), one.why), {"over": one.why})
        return Counter(one.queue for one in parked)

    def _not_approved(self) -> list[str]:
        """The result of `unapproved` by now; where a file cannot be read, the one before."""
        if self._clock() - self._files_read >= READ_FILES_EVERY:
            self._files_read = self._clock()
            with contextlib.suppress(MemshareError):
                self._unapproved = unapproved(self._client.settings)
        return self._unapproved

    def _given_up(self) -> dict[str, str]:
        """A sentence for each reason of dead letters, with the words of one of them, by its key; read anew only when
        their number has changed."""
        if (number := self.redis.hlen(DEAD_REASONS)) == self._letters:
            return self._dead
        ids, said = defaultdict[str, list[str]](list), dict[str, str]()
        for letter, reason in self.redis.hgetall(DEAD_REASONS).items():
            ids[str(reason)].append(str(letter))
        for reason, letters in sorted(ids.items()):
            with contextlib.suppress(BadInput):  # somebody has just decided that one
                why = self._client.dead_letters.get(letters[0]).error.rstrip(".")
                of = counted(len(letters), "task was given up", "tasks were given up")
                said[f"given up {reason}"] = f"{of} ({reason}): {why}. See `memshare dead list`."
        self._letters, self._dead = number, said
        return said

    def _say(self, key: str, why: str, waiting: int, now: float, models: frozenset[str] = frozenset()) -> None:
        size = waiting or int((re.match(r"\d+", why) or "0")[0])
        known = self._told.get(key)
        if known and size != known.now:
            known.now, known.since = size, now
        settled = known and key in self._dead and size != known.size and now - known.since >= LASTS
        if known is None or settled or size >= AGAIN * max(known.size, 1):
            before = {"instead_of": known.why} if known else {}
            waits = (f"{waiting} wait: ", "yellow") if waiting else ""
            self._print(styled(waits, why), {"waiting": waiting, "why": why, **before})
            known = self._told[key] = _Trouble(why, size, now, models, size, now)
        known.seen, known.models = now, models

    def _print(self, said: Text, for_machines: dict[str, object]) -> None:
        print_json(for_machines) if self._as_json else console.print(said)


def _without_numbers(why: str) -> str:
    """Key of a trouble, the same however its numbers and the latest failure change; those in models' names stay."""
    return re.sub(r"(?<!\S)\d+(?!\S)|; the latest .*", "", why)


class _Status:
    """The line that says how far everything is."""

    def __init__(self, client: Client, live: Live) -> None:
        self._client, self._live = client, live
        self._troubles = _Troubles(client)
        self._memories: int | None = None
        self._counted = 0.0
        self._done_then: dict[str, int] | None = None

    def show(self) -> None:
        ledger = self._client.ledger
        try:
            parked = self._troubles.tell()  # first, as it says where Redis is silent
            done = ledger.done()
            if time.monotonic() - self._counted > COUNT_MEMORIES_EVERY and done != self._done_then:
                self._memories = self._client.memories.stats(timeout=5).total
                self._counted, self._done_then = time.monotonic(), done
            told = done | {"score": graded_ever(self._troubles.redis)[0]}  # a message of that stage may end ungraded
            line = _line(ledger.open_messages(), parked, told, self._memories)
        except (MemshareError, redis.RedisError, OSError) as error:
            line = styled((str(error), "yellow"))
        self._live.update(line)
        notify(f"STATUS={line.plain}")


def _line(waiting: dict[str, int], parked: Counter[str], done: dict[str, int], memories: int | None) -> Text:
    queues = "  ".join(
        f"{queue} {length}" + (f" ({parked[queue]} held back)" if parked[queue] else "")
        for queue, length in waiting.items()
    )
    return styled(
        ("open ", "dim"),
        queues or "none yet",
        ("   answers ", "dim"),
        str(done.get("answer", 0)),
        ("   graded ", "dim"),
        str(done.get("score", 0)),
        ("   memories ", "dim"),
        "…" if memories is None else str(memories),
    )
