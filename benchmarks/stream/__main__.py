"""Is memshare worth anything to a language model? `python -m benchmarks.stream --model NAME=http://HOST:PORT/v1`.

The protocol of StreamBench (arXiv 2406.08747): a stream of tasks from an empty pool, each right or wrong by a program,
and then unseen ones. The rivals answer the same tasks in the same order: `alone`; `fixed`, the same three examples of
people; `own`, its three nearest right answers by the encoder; `masked`, the same without names and numbers; `shared`,
those of all models. `possible` asks what is unseen once more, with those answers of `own` first that are made as the
right one is: no retriever can know more. `memshare` is `memshare up` with default settings; `poisoned` the same from a
pool that begins with people's answers to examples, a quarter of them wrong. What was answered is saved, and not asked
again.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.report import print_figures
from benchmarks.stream import figures as measured
from benchmarks.stream.arms import Answered, Bare
from benchmarks.stream.relay import Relay, relaying
from benchmarks.stream.shared_pool import SharedPool
from benchmarks.stream.tasks import FAMILIES, PEOPLE, TaskSet, database_tasks, gym_tasks, questions_of
from memshare.terminal.console import errors
from memshare_broker.errors import MemshareError
from memshare_llm.models import open_chat
from memshare_memory.encoders.open_encoder import open_encoder

ARMS = ("alone", "fixed", "own", "possible", "masked", "shared", "memshare", "poisoned")
TIMEOUT = 120.0  # seconds of one call, as by default
TOKENS = 400  # of a prompt with three examples, some


def main(
    model: Annotated[list[str], typer.Option(help="NAME=http://HOST:PORT/v1; several share the stream and the pool.")],
    set_: Annotated[str, typer.Option("--set", help="library, or gym: families of reasoning-gym.")] = "library",
    data: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="Questions in the format of text2sql-data.")
    ] = None,
    database: Annotated[Path | None, typer.Option(exists=True, dir_okay=False, help="Their database, as SQL.")] = None,
    family: Annotated[list[str] | None, typer.Option(help="Of reasoning-gym.", show_default="twelve")] = None,
    arm: Annotated[
        list[str] | None, typer.Option(help=f"Of {', '.join(ARMS)}.", show_default="all but poisoned")
    ] = None,
    tasks: Annotated[int, typer.Option(min=1, help="Tasks of the stream.")] = 300,
    unseen: Annotated[int, typer.Option(min=0, help="Tasks after it, of which nothing is learnt.")] = 60,
    order: Annotated[list[int] | None, typer.Option(help="Numbers of orders.", show_default="1 2 3")] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Of the library, no question by which defaults were settled.")
    ] = False,
    brought: Annotated[
        int,
        typer.Option(min=0, help="Right answers of people to other questions of the database, in each pool at first."),
    ] = 0,
    at_once: Annotated[int, typer.Option(min=1, help="Tasks that are answered at once.")] = 4,
    folder: Annotated[Path | None, typer.Option(help="Where answers and pools are kept, to go on with them.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document in place of tables.")] = False,
) -> None:
    """Run the arms one after the other in each order, and print what was right. Ctrl-C ends it early."""
    if (data is None) != (database is None):
        raise typer.BadParameter("--data and --database go together.")
    servers = dict(_named(one) for one in model)
    arms = [one for one in (arm or ARMS) if arm or (one != "poisoned" and (one != "shared" or len(servers) > 1))]
    if unknown := sorted(set(arms) - set(ARMS)):
        raise typer.BadParameter(f"No arm is called {unknown[0]!r}. There are: {', '.join(ARMS)}.")
    if set_ not in ("library", "gym"):
        raise typer.BadParameter(f"No set is called {set_!r}. There are: library, gym.")
    if brought and set_ != "library":
        raise typer.BadParameter("--brought is for questions to a database.")
    if fresh and (data or set_ != "library"):
        raise typer.BadParameter("--fresh is for the library: no default was settled by other sets.")
    orders = order or [1, 2, 3]
    questions, out = questions_of(data, database) if data and database else (None, 0)
    if out:
        errors.print(f"{out:,} questions are left out: SQLite does not take their right query, or it gives no rows.")
    if questions and not (questions.of("train") and questions.of("test")):
        raise typer.BadParameter(f"No questions are left of {data}: is {database} its database, and for SQLite?")
    make: Callable[[Path, int], TaskSet] = (
        (lambda at, number: gym_tasks(at, tasks, unseen, number, family or FAMILIES))
        if set_ == "gym"
        else (lambda at, number: database_tasks(at, tasks, unseen, number, questions, fresh=fresh, brought=brought))
    )
    answers = len(orders) * sum(unseen if one == "possible" else tasks + unseen for one in arms)
    errors.print(
        f"{answers:,} answers, some {answers * TOKENS:,} tokens; memshare asks for labels and concepts, too. "
        f"At three seconds each {answers * 3 / 3600:.1f} hours."
    )
    os.environ["OPENAI_API_KEY"] = os.environ.get("OPENAI_API_KEY", "none")
    with tempfile.TemporaryDirectory(prefix="memshare-stream-") as temporary, relaying(servers) as relay:
        os.environ["OPENAI_BASE_URL"] = relay.url
        kept = (folder or Path(temporary)).absolute()
        found: dict[str, dict[int, list[Answered]]] = {}
        spent: dict[str, dict[str, int]] = {}
        sets: dict[int, TaskSet] = {}
        broken = False
        try:
            for number in orders:
                for name in arms:
                    at = kept / f"{name}-{number}"
                    sets[number] = make(at / "agents", number)
                    if name == "possible":
                        _begin_as(kept / f"own-{number}", at)
                    found.setdefault(name, {})[number] = answered = _read(at / "answers.jsonl")
                    _run(name, at, sets[number], list(servers), relay, answered, at_once)
                    _count(spent.setdefault(name, {}), at / "answers.jsonl")
        except (KeyboardInterrupt, MemshareError) as error:
            broken = True
            errors.print(f"Broken off: {error}" if str(error) else "Broken off.")
            errors.print(
                f"What was answered so far: the same command goes on from {folder}."
                if folder
                else "What was answered so far; with --folder the same command would go on from there."
            )
        figures = {
            "set": data.stem if data else f"{set_}, fresh" if fresh else set_,
            "models": ", ".join(servers),
            "orders": ", ".join(map(str, orders)),
            **({"brought": brought} if brought else {}),
        }
        print_figures("StreamBench's protocol", figures | _figures(found, spent, sets), as_json=as_json)
    if broken:
        raise typer.Exit(1)


def _run(
    name: str, at: Path, tasks: TaskSet, models: Sequence[str], relay: Relay, answered: list[Answered], at_once: int
) -> None:
    """Answer what is left of an arm in one order; each answer is saved with what the arm has taken since the last."""
    total, began = len(tasks.stream) + len(tasks.unseen), time.monotonic()
    relay.spent.clear()

    def save(one: Answered) -> None:
        answered.append(one)
        with (at / "answers.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(one._asdict() | {"spent": dict(relay.spent)}) + "\n")
        relay.spent.clear()
        if len(answered) % 20 == 0:
            right, taken = sum(each.right for each in answered), time.monotonic() - began
            errors.print(f"{at.name}: {len(answered)} of {total}, {right} right, {taken:.0f} s", style="dim")

    if len(answered) == total:
        return
    arm: Bare | SharedPool
    if name in ("memshare", "poisoned"):
        arm = SharedPool(models, relay, tasks, at, poisoned=name == "poisoned")
    else:
        chats = [open_chat(f"openai:{one}", timeout=TIMEOUT, connections=at_once) for one in models]
        encoder = open_encoder(None, timeout=TIMEOUT, exports=Path(tempfile.gettempdir()) / "memshare-exports")
        arm = Bare(name, chats, encoder, tasks, at / "agents")
    arm.run(list(answered), at_once, save)


def _figures(
    found: dict[str, dict[int, list[Answered]]], spent: dict[str, dict[str, int]], sets: dict[int, TaskSet]
) -> dict[str, Any]:
    rows: dict[str, Any] = {}
    for name, orders in found.items():
        took = spent.get(name, {})
        share = took.get("cached", 0) / max(took.get("prompt tokens", 0), 1)
        calls = {"calls": took.get("calls", 0) + took.get("other calls", 0), "tokens": took.get("tokens", 0)}
        rows[name] = measured.of_arm(orders) | calls | {"cached": round(share, 3)}
    for other, one in combinations(sorted(found, key=ARMS.index), 2):
        for phase in ("unseen", "stream"):
            if phase == "unseen" or "possible" not in (one, other):  # the stream of that is the one of own
                rows[f"{one} − {other}, {phase}"] = measured.difference(found[one], found[other], phase, sets)
    kinds = {name: measured.by_kind(orders, sets) for name, orders in found.items()}
    rows |= {f"{name}, by kind": of_kind for name, of_kind in kinds.items() if of_kind}
    if "poisoned" in found:
        rows["poisoned: places of wrong answers"] = measured.places_of(PEOPLE[-1], found["poisoned"])
    for name in ("shared", "memshare"):
        if name in found and len({one.model for some in found[name].values() for one in some}) > 1:
            rows |= {f"{name}: {pair}": row for pair, row in measured.by_author(found[name]).items()}
    return rows


def _named(text: str) -> tuple[str, str]:
    name, found, url = text.partition("=")
    if not (name and found and url.startswith(("http://", "https://"))):
        raise typer.BadParameter(f"Write --model NAME=http://HOST:PORT/v1, not {text!r}.")
    return name, url


def _begin_as(other: Path, at: Path) -> None:
    """Begin an arm with the stream of another one; raises `BadParameter` where that has not run."""
    whole, begun = other / "answers.jsonl", at / "answers.jsonl"
    if not whole.exists():
        raise typer.BadParameter(f"The arm possible goes on from {other.name}, which has not run: --arm own, too.")
    if not begun.exists():
        stream = [one | {"spent": {}} for one in map(json.loads, whole.read_text("utf-8").splitlines())]
        begun.write_text("".join(f"{json.dumps(one)}\n" for one in stream if one["phase"] == "stream"), "utf-8")


def _read(file: Path) -> list[Answered]:
    """What an arm answered before, in an earlier run."""
    if not file.exists():
        return []
    found = []
    for text in file.read_text("utf-8").splitlines():
        line = json.loads(text)
        del line["spent"]
        found.append(Answered(**line | {"shown": tuple(line["shown"]), "by": tuple(line["by"])}))
    return found


def _count(spent: dict[str, int], file: Path) -> None:
    for line in file.read_text("utf-8").splitlines():
        for name, count in json.loads(line)["spent"].items():
            spent[name] = spent.get(name, 0) + count


if __name__ == "__main__":
    typer.run(main)
