"""All that a model is used for, with a real one: `python -m benchmarks.real --url http://HOST:PORT/v1 --model NAME`.

`memshare up` with default settings has questions to the bundled library answered from an empty pool, which a program
grades. Some are asked while calls in the background wait, and alone. Then come poem, logic and plan, `learn`, `seed`,
`rubric draft`, `answer`, `concepts ask`, and the reasoning agent on twenty questions. Grades, labels, comparisons and
concepts come by themselves. It says by kind of call how many there were, what they took, and how many were of no use.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Annotated, Any, NamedTuple

import typer

from benchmarks.report import print_figures
from benchmarks.stream.tasks import database_agent
from benchmarks.support.deployment import MEMSHARE
from benchmarks.support.up import running_up
from memshare.client.client import Client
from memshare.client.journey import Journey
from memshare.demo.play import read
from memshare.demo.text_to_sql import SqlQuestion, read_questions
from memshare.terminal.console import errors
from memshare_broker.errors import MemshareError
from memshare_broker.observe.metrics import METRICS, read_field
from memshare_memory.curate.requests import NewMemory

TOWN = Path(__file__).parents[2] / "src" / "memshare" / "evaluation" / "town"
EACH = 3  # tasks of each of the agents that a model grades
STALLED_AFTER = 1_800.0  # seconds in which nothing ends
LOOK_EVERY = 2.0  # seconds
OTHER = "other"  # pool
WAITING = 12  # memories of a new pool, which are to be named and compared
BESIDE = 8  # questions that are asked while calls in the background wait, and again when none does


class Deployed(NamedTuple):
    """A deployment that runs, and what its commands need."""

    client: Client
    environment: dict[str, str]
    folder: Path

    def command(self, *words: str, within: float = STALLED_AFTER) -> tuple[int, str]:
        """Run a command of memshare; its exit status, and what it said."""
        done = subprocess.run(
            [MEMSHARE, *words], env=self.environment, capture_output=True, text=True, timeout=within, check=False
        )
        return done.returncode, (done.stdout + done.stderr).strip()


def main(
    url: Annotated[str, typer.Option(help="Address of an OpenAI-compatible server, which ends with /v1.")],
    model: Annotated[str, typer.Option(help="The model's name there.")],
    tasks: Annotated[int, typer.Option(min=1, max=800, help="Questions to the library.")] = 150,
    part: Annotated[list[str] | None, typer.Option(help=f"Of {', '.join(PARTS)}. [default: all]")] = None,
    out: Annotated[Path | None, typer.Option(help="File to which each answer is added as it comes.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document in place of tables.")] = False,
) -> None:
    """Run the parts one after the other, and print what the calls of each kind took. Ctrl-C ends it early."""
    parts = part or list(PARTS)
    figures: dict[str, Any] = {"model": model}
    with _deployed(url, model) as deployed, _saving(out) as save:
        try:
            for name in parts:
                began = time.monotonic()
                errors.print(f"{name} …")
                found = PARTS[name](deployed, tasks, save) | {"seconds": round(time.monotonic() - began)}
                errors.print(", ".join(f"{key} {value}" for key, value in found.items()), style="dim")
                figures |= {f"{name}: {key}": value for key, value in found.items()}
            errors.print("what nobody waits for …")
            figures["idle after, s"] = _until_idle(deployed.client)
        except KeyboardInterrupt:
            errors.print("Broken off: what there is so far.")
        letters = Counter(letter.reason for letter in deployed.client.dead_letters.all())
        figures["dead letters"] = sum(letters.values())
        figures |= {f"dead letters, {reason}": number for reason, number in letters.items()}
        figures |= by_lane(_metrics(deployed.client))
        figures |= {"ended without their purpose": _left_out(_metrics(deployed.client))}
    print_figures(f"All that a model is used for: {model}", figures, as_json=as_json)


def _library(deployed: Deployed, tasks: int, save: Callable[[Mapping[str, Any]], None]) -> dict[str, Any]:
    """Questions to the library from an empty pool, one after the other as they come from a queue."""
    asked = library_questions(tasks)
    submitted = {deployed.client.submit("sql", one.text, submitter="ada").id: one for one in asked}
    ended = _ended(deployed.client, list(submitted), save)
    right = [one.score is not None and one.score.accepted for one in ended]
    half = len(right) // 2
    return {
        "asked": len(ended),
        "graded": sum(one.score is not None for one in ended),
        "right, first half": sum(right[:half]) / max(half, 1),
        "right, second half": sum(right[half:]) / max(len(right) - half, 1),
        "seconds an answer, median": median([one.seconds or 0.0 for one in ended] or [0.0]),
    }


def _beside(deployed: Deployed, _tasks: int, _save: Callable[[Mapping[str, Any]], None]) -> dict[str, Any]:
    """The same questions alone, and while calls of a new pool wait: the seconds until each is answered."""
    asked = library_questions(800)[-BESIDE:]
    given = [
        NewMemory(pool=OTHER, prompt=one.text, answer=one.sql, new_pool=True)
        for one in read_questions().of("dev")[:WAITING]
    ]

    def answered() -> float:
        seconds = []
        for one in asked:
            began = time.monotonic()
            deployed.client.submit("sql", one.text, submitter="grace", remember=False).get(timeout=STALLED_AFTER)
            seconds.append(time.monotonic() - began)
        return median(seconds)

    _until_idle(deployed.client)
    alone = answered()
    deployed.client.memories.add(given)
    time.sleep(STALLED_AFTER / 60)  # until their calls have begun
    waiting = answered()
    return {
        "messages that still wait at the end": sum(deployed.client.ledger.open_messages().values()),
        "seconds until an answer alone, median": alone,
        "seconds until an answer while they wait, median": waiting,
        "ratio": waiting / alone,
    }


def _agents(deployed: Deployed, _tasks: int, save: Callable[[Mapping[str, Any]], None]) -> dict[str, Any]:
    """Bundled tasks of three agents, which the model grades itself."""
    tasks = [one for one in read("tasks.jsonl") if one["agent"] in ("poem", "logic", "plan")]
    chosen = [one for name in ("poem", "logic", "plan") for one in [t for t in tasks if t["agent"] == name][:EACH]]
    ids = [deployed.client.submit(one["agent"], one["prompt"], kind=one["kind"]).id for one in chosen]
    ended = _ended(deployed.client, ids, save)
    return {
        "asked": len(ended),
        "graded": sum(one.score is not None for one in ended),
        "accepted": sum(one.score is not None and one.score.accepted for one in ended),
        "not graded": sum(one.outcome == "not graded" for one in ended),
    }


def _learn(deployed: Deployed, _tasks: int, _save: Callable[[Mapping[str, Any]], None]) -> dict[str, Any]:
    return _bring_in(deployed, "learn", lambda one: {"answer": one["answer"]})


def _seed(deployed: Deployed, _tasks: int, _save: Callable[[Mapping[str, Any]], None]) -> dict[str, Any]:
    return _bring_in(deployed, "seed", lambda one: {"prompt": one["prompt"], "answer": one["answer"]})


def _bring_in(deployed: Deployed, how: str, line: Callable[[Mapping[str, Any]], object]) -> dict[str, Any]:
    seeds = [one for one in read("seeds.jsonl") if one["agent"] == "logic"][:1]
    file = deployed.folder / f"{how}.jsonl"
    file.write_text("".join(json.dumps(line(one)) + "\n" for one in seeds), "utf-8")
    code, said = deployed.command(how, str(file), "--agent", "logic", "--kind", "riddle")
    return {"exit status": code} | ({"said": said[-300:]} if code else {})


def _rubric(deployed: Deployed, _tasks: int, _save: Callable[[Mapping[str, Any]], None]) -> dict[str, Any]:
    file = deployed.folder / "agents" / "recipe.rubric.toml"
    code, said = deployed.command("rubric", "draft", "Short recipes for two", "--sets", "1", "--out", str(file))
    return {"exit status": code} | ({"said": said[-300:]} if code else {})


def _questions(deployed: Deployed, _tasks: int, _save: Callable[[Mapping[str, Any]], None]) -> dict[str, Any]:
    """New questions of what the memories of `beside` are about, once their concepts were named."""
    _until_idle(deployed.client)
    code, said = deployed.command("concepts", "ask", "--pool", OTHER, "--topic", "books", "--count", "3")
    return {"exit status": code} | ({"said": said[-300:]} if code else {})


def _answer(deployed: Deployed, _tasks: int, _save: Callable[[Mapping[str, Any]], None]) -> dict[str, Any]:
    code, said = deployed.command("answer", "Which table has the books' titles?", "--pool", "sql")
    return {"exit status": code} | ({"said": said[-300:]} if code else {})


def _reasoning(deployed: Deployed, _tasks: int, save: Callable[[Mapping[str, Any]], None]) -> dict[str, Any]:
    """Twenty questions on the documents of a fictional town, in steps."""
    lines = [json.loads(line) for line in (TOWN / "questions.jsonl").read_text("utf-8").splitlines()]
    wanted = {deployed.client.submit("reasoning", one["prompt"]).id: one["answer"] for one in lines}
    ended = _ended(deployed.client, list(wanted), save)
    return {
        "asked": len(ended),
        "right": sum(wanted[one.task_id].casefold() in (one.answer or "").casefold() for one in ended),
        "verified": sum(one.verified is True for one in ended),
        "steps, mean": sum(len(one.steps) for one in ended) / max(len(ended), 1),
    }


PARTS: Mapping[str, Callable[[Deployed, int, Callable[[Mapping[str, Any]], None]], dict[str, Any]]] = {
    "library": _library,
    "beside": _beside,
    "agents": _agents,
    "learn": _learn,
    "seed": _seed,
    "rubric": _rubric,
    "answer": _answer,
    "reasoning": _reasoning,
    "questions": _questions,
}


def library_questions(count: int) -> list[SqlQuestion]:
    """Questions of the library, in an order that is always the same and mixes them."""
    import random

    every = read_questions().of("train")
    random.Random(1).shuffle(every)
    return every[:count]


@contextmanager
def _deployed(url: str, model: str) -> Iterator[Deployed]:
    with tempfile.TemporaryDirectory(prefix="memshare-real-") as temporary:
        folder = Path(temporary)
        database_agent(read_questions(), folder / "agents")
        documents = str(TOWN / "documents")
        up = running_up(folder, folder / "agents", f"openai:{model}", url, MEMSHARE_DOCUMENTS=documents)
        with up as (client, environment):
            yield Deployed(client, environment, folder)


@contextmanager
def _saving(out: Path | None) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    if out is None:
        yield lambda _: None
        return
    with out.open("a", encoding="utf-8") as file:

        def save(line: Mapping[str, Any]) -> None:
            file.write(json.dumps(line, default=str) + "\n")
            file.flush()

        yield save


def _ended(client: Client, ids: Sequence[str], save: Callable[[Mapping[str, Any]], None]) -> list[Journey]:
    """The journeys in their order, each once it was settled, given up or could not be graded."""
    found: dict[str, Journey] = {}
    last = time.monotonic()
    while len(found) < len(ids):
        for one in ids:
            if one not in found and _is_over(journey := client.journey(one)):
                found[one], last = journey, time.monotonic()
                save(journey.model_dump(mode="json", exclude={"prompt"}))
        if time.monotonic() - last > STALLED_AFTER:
            raise MemshareError(f"Nothing has ended for {STALLED_AFTER:.0f} s: {client.ledger.open_messages()}")
        time.sleep(LOOK_EVERY)
    return [found[one] for one in ids]


def _is_over(journey: Journey) -> bool:
    return journey.ended or journey.outcome is not None


def _until_idle(client: Client) -> int | str:
    """Seconds until no message is open any more."""
    began = time.monotonic()
    while opened := {queue: number for queue, number in client.ledger.open_messages().items() if number}:
        if time.monotonic() - began > STALLED_AFTER:
            return f"not within {STALLED_AFTER:.0f} s: {opened}"
        time.sleep(LOOK_EVERY)
    return round(time.monotonic() - began)


def _metrics(client: Client) -> dict[tuple[str, ...], float]:
    """All metrics by name and labels."""
    from memshare_broker.connection import connect

    with connect(client.settings.redis) as redis:
        fields = redis.hgetall(METRICS)
    found = {}
    for field, value in fields.items():
        name, labels = read_field(str(field))
        found[(name, *(str(label) for pair in sorted(labels.items()) for label in pair))] = float(value)
    return found


def by_lane(metrics: Mapping[tuple[str, ...], float]) -> dict[str, dict[str, float]]:
    """For each kind of call how many there were, their tokens and seconds, and how many were of no use or too slow.

    Those without a reply, since they gave way or the server was away or refused them, are counted apart.
    """
    rows: dict[str, dict[str, float]] = {}
    counted = {"fit": "calls", "misfit": "misfits", "slow": "timed out"}
    for (name, *labels), value in metrics.items():
        of = dict(zip(labels[::2], labels[1::2], strict=True))
        if "lane" not in of:
            continue
        row = rows.setdefault(
            of["lane"], {"calls": 0, "tokens": 0, "seconds each": 0.0, "misfits": 0, "timed out": 0, "no reply": 0}
        )
        outcome = of.get("outcome", "fit")
        if name == "memshare_call_tokens_total":
            row["tokens"] += round(value)
        elif name == "memshare_call_seconds_total" and outcome in counted:
            row["seconds each"] += value
        elif name == "memshare_calls_total":
            for column in {counted[outcome], "calls"} if outcome in counted else {"no reply"}:
                row[column] += round(value)
    for row in rows.values():
        row["seconds each"] /= max(row["calls"], 1)
    return rows


def _left_out(metrics: Mapping[tuple[str, ...], float]) -> int:
    """How many messages ended without what they were for: not named, not compared, without labels."""
    ended = ("not named", "not compared")
    return round(sum(value for key, value in metrics.items() if key[0] == "memshare_tasks_total" and key[2] in ended))


if __name__ == "__main__":
    typer.run(main)
