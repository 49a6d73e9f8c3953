"""`memshare demo` without options: what a shared pool gives, on questions whose answers a program checks."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from shlex import quote
from types import TracebackType

from rich.console import Group
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from memshare.client.client import Client
from memshare.demo.gain import AGENT, EXAMS, POOL, DemoStage, Exam, Gain, Helped, divide, most_helpful, play
from memshare.demo.student_server import MODEL, student_answers
from memshare.demo.text_to_sql import LIBRARY, Questions, read_questions, with_schema
from memshare.operate.data_folder import hold_folder
from memshare.operate.supervisor import supervised
from memshare.terminal.console import TextConsole, console, errors, next_line, panel, print_json, short, styled, table
from memshare.terminal.ids import counted
from memshare_broker.errors import BadInput, stops_of
from memshare_broker.settings import OFFLINE, OwnSettings, Settings, load_settings
from memshare_broker.settings_file import RUNNING
from memshare_llm.models import HOW_TO_SET

WIDTH = 36  # characters of a bar that means all


class DemoView:
    """Shows what is being done, and the share of right answers of each stage. Use it as a context."""

    def __init__(self, console: TextConsole, *, plain: bool) -> None:
        self._console = console
        self._stages: list[DemoStage] = []
        self._what, self._began = "", time.monotonic()
        self._live = None if plain else Live(console=console, get_renderable=self._drawn, refresh_per_second=8)
        self._over = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True)
        self._due = next_line(0)

    def __enter__(self) -> DemoView:
        if self._live is not None:
            self._live.start()
        else:
            self._ticker.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._what = ""
        self._over.set()
        if self._live is not None:
            self._live.stop()
        else:
            self._ticker.join()

    def say(self, what: str) -> None:
        """Show the current activity."""
        self._what, self._began = what, time.monotonic()
        self._print(f"{what} …")

    def see(self, stage: DemoStage) -> None:
        """A stage has begun, more of it is known, or it has ended."""
        if stage not in self._stages:
            self._stages.append(stage)
            self._what, self._began = f"{stage.title}: {stage.size} questions", time.monotonic()
            self._print(f"{self._what} …")
        elif len(stage.asked) == stage.size:
            self._print(_in_line(stage))

    @property
    def ended(self) -> list[DemoStage]:
        """The stages of which every question has ended."""
        return [one for one in self._stages if len(one.asked) == one.size]

    def _print(self, line: str) -> None:
        if self._live is None:
            self._console.print(line)

    def _tick(self) -> None:
        began = time.monotonic()
        while not self._over.wait(0.5):
            self._tell(time.monotonic() - began)

    def _tell(self, lasts: float) -> None:
        """Say in a log how far it is after so many seconds, if that is due by now."""
        if lasts >= self._due:
            self._due = next_line(lasts)
            last = self._stages[-1] if self._stages else None
            done = f", {len(last.asked)} of {last.size}" if last and len(last.asked) < last.size else ""
            self._print(f"  … {self._what}{done}, {time.monotonic() - self._began:.0f} s")

    def _drawn(self) -> Group:
        now = (
            Spinner("dots", styled(f"{short(self._what, 68)}, {time.monotonic() - self._began:.0f} s"))
            if self._what
            else ""
        )
        return Group(chart(self._stages), now)


def _in_line(stage: DemoStage) -> str:
    return f"{stage.title}: {stage.share:.0%} right ({stage.right} of {stage.graded})"


def chart(stages: list[DemoStage]) -> Table:
    """A bar for each stage."""
    drawn = Table(box=None, pad_edge=False, show_header=False)
    for stage in stages:
        style = "dim" if stage.kind == "task" else "bold green"
        bar = "█" * round(WIDTH * stage.share)
        share = f"{stage.share:>4.0%}  {stage.right} of {stage.graded}" if stage.graded else "   …"
        drawn.add_row(Text(stage.title), styled((f"{bar:<{WIDTH}}", style)), Text(share))
    return drawn


@contextlib.contextmanager
def running(folder: Path, agents_dir: Path | None = None, exports: Path | None = None) -> Iterator[Settings]:
    """A deployment for as long as the block runs; without `exports` the encoder is where other commands have it."""
    known = load_settings(kind=OwnSettings)
    places = {"redis_url": None, "qdrant_url": None, "memory_url": None, "agents_dir": agents_dir}
    exported = known.exports or exports or known.exports_dir
    settings = known.model_copy(update=places | {"data": folder, "exports": exported})
    with supervised(settings):
        yield settings


@contextlib.contextmanager
def folder_for(data: Path | None) -> Iterator[Path]:
    """A new folder that is kept, or a temporary one."""
    if data is not None:
        yield new_folder(data)
        return
    with tempfile.TemporaryDirectory(prefix="memshare-demo-", ignore_cleanup_errors=True) as name:
        yield Path(name)


def new_folder(data: Path) -> Path:
    """The folder as it is written out; raises `BadInput` where anything is in it, or it cannot be written."""
    folder = data.expanduser().absolute()
    if folder.is_dir() and any(folder.iterdir()):
        raise BadInput(f"{str(folder)!r} is not empty, and the demo begins with an empty folder: name a new folder.")
    with hold_folder(folder):
        return folder


MADE = "made-by-the-demo"  # a file in a folder that the next demo may empty
SEARCH = f'memshare memories search "books by authors from Norway" --pool {POOL}'
STUDENT = "a student that knows no SQL and copies the nearest memory"


def demo_gain(data: Path | None, tasks: int, seed: int, *, as_json: bool) -> None:
    """Play it in `data`, or in a folder of the demo's own, which stays."""
    folder = new_folder(data) if data is not None else own_folder()
    questions = read_questions()
    parts = divide(questions, tasks, seed)
    agents = folder / "agents"
    known = load_settings(kind=OwnSettings).model_for("agents")
    has_model = known != OFFLINE
    write_agent(questions, agents, schema=has_model)
    out = errors if as_json else console
    who = (
        f"{known}, up to {parts.asked} calls and one for each new memory"
        if has_model
        else f"no model is set, so {STUDENT}"
    )
    out.print(f"Questions to the database of a library. Who answers: {who}.")
    out.print(
        f"A program runs each query and says right or wrong. The same unseen questions are asked {EXAMS - 1} times, and"
        " once more if there are lessons enough to train the encoder."
    )
    # The workers read their settings from the environment. What is not shown here is left out to save time.
    os.environ |= {"MEMSHARE_AGENTS_DIR": str(agents), "MEMSHARE_CONCEPTS": "false", "MEMSHARE_CONSOLIDATE": "false"}
    plain = as_json or not console.is_terminal
    view = DemoView(out, plain=plain)

    def say_what_stays(_: object, stop: BaseException | None, *__: object) -> None:
        if stop and (stops := stops_of(stop)):
            stops[-1].args = ("",)  # all is said here
            stays = "the next demo begins anew" if data is None else "the next demo needs another folder"
            measured = "; ".join(map(_in_line, view.ended)) or "nothing yet"
            if len(exams_of(view.ended)) > 1 and not as_json:
                print_paired(exams_of(view.ended), seed)
            out.print(f"Ended early. Measured: {measured}. {str(folder)!r} stays; {stays}.")
            out.print("Go on with what it has. Every other terminal takes the lines above `memshare up`, too:")
            for line in commands_to_go_on(folder, agents):
                out.print(line, soft_wrap=True)

    with contextlib.ExitStack() as open_until_done:
        open_until_done.push(say_what_stays)
        open_until_done.enter_context(view)
        view.say("starting Redis and workers; the first time it exports the encoder")
        if not has_model:
            open_until_done.enter_context(student_answers())
        settings = open_until_done.enter_context(running(folder, agents, folder / "exports"))
        client = open_until_done.enter_context(contextlib.closing(Client(settings)))
        stages, refused = play(client, parts, view)
        helped = most_helpful(client, stages, questions)
        memories = client.memories.stats().by_pool[POOL]
        view.say("ending")
    exams = exams_of(stages)
    if as_json:
        print_json(
            {
                "model": known if has_model else MODEL,
                "seed": seed,
                "right": {kind: round(stage.share, 4) for kind, stage in exams.items()},
                "gains": {
                    kind: {name: one.as_json() for name, one in of.items()} for kind, of in gains_of(exams).items()
                },
                "not_consolidated": refused,
                "stages": [stage.as_json() for stage in stages],
                "helped": helped and helped.as_json(),
                "memories": memories,
                "data": str(folder),
                "agents": str(agents),
            }
        )
        return
    _print_helped(helped)
    _print_faults(stages)
    model = known if has_model else STUDENT
    console.print(f"\nThe same {len(parts.exam)} questions, paired one by one, answered by {model}:")
    print_paired(exams, seed)
    if refused:
        console.print(refused, style="dim")
    print_next(folder, agents, memories, has_model=has_model, stays=data is not None)


def exams_of(stages: Iterable[DemoStage]) -> dict[Exam, DemoStage]:
    """The stages in which the same questions were asked, by kind."""
    return {stage.kind: stage for stage in stages if stage.kind != "task"}


def gains_of(exams: Mapping[Exam, DemoStage]) -> dict[Exam, dict[Exam, Gain]]:
    """The gain of each exam over each that was before."""
    return {
        kind: {before: Gain.between(exams[before], stage) for before in [*exams][:at]}
        for at, (kind, stage) in enumerate(exams.items())
    }


def print_paired(exams: Mapping[Exam, DemoStage], seed: int) -> None:
    """Print the shares of right answers, with the gains over two earlier stages, and how these are read."""
    gains = gains_of(exams)
    rows = [
        (stage.title, f"{stage.share:.0%}", *(_in_words(gains[kind].get(name)) for name in ("alone", "off")))
        for kind, stage in exams.items()
    ]
    console.print(table("", "right", "over alone", "over the retriever off", rows=rows))
    console.print(_told_of(exams.values(), seed), style="dim")


def _in_words(gain: Gain | None) -> str:
    if gain is None:
        return ""
    ends = [] if gain.low is None else [100 * gain.low, 100 * (gain.high or 0)]
    places = 1 if any(abs(end) <= 0.5 for end in ends) else 0  # else it could not be told on which side of 0 it lies
    between = ends and f" ({' to '.join(f'{end:.{places}f}' for end in ends)})"
    return f"{100 * gain.share:+.0f}{between or ''} {gain.won}:{gain.lost}"


def _told_of(exams: Iterable[DemoStage], seed: int) -> str:
    """Sentences on how to read the differences."""
    numbers = ", ".join(f"{stage.shown:.3g}" for stage in exams)
    return (
        "Percentage points (95 % interval by forms of questions: for the chance of which are asked), and how many"
        f" became right:wrong. Memories shown to each: {numbers}. This is one division of the questions;"
        f" --seed {seed + 1} makes another."
    )


def own_folder() -> Path:
    """The demo's folder, that of the settings or beside it, emptied but for the exported encoder."""
    known = load_settings(kind=OwnSettings).data
    # As after the `export` that the demo prints, also where it has not run yet.
    is_its = (known / MADE).exists() or known.name.endswith("-demo")
    folder = known if is_its else known.with_name(f"{known.name}-demo")
    has_other = folder.exists() and not {one.name for one in folder.iterdir()} <= {"up.lock", RUNNING}
    if has_other and not (folder / MADE).exists():
        raise BadInput(f"{str(folder)!r} is not of the demo: move it away, or name a new folder with --data.")
    with hold_folder(folder):  # nobody goes on with it just now
        for one in folder.iterdir():
            if one.is_dir() and one.name != "exports":
                shutil.rmtree(one)
            elif one.is_file() and one.name not in (MADE, "up.lock"):
                one.unlink()
        (folder / MADE).touch(mode=0o600)
    return folder


def _print_helped(helped: Helped | None) -> None:
    if helped is None:
        return
    memory, count = helped.memory, len(helped.questions)
    examples = "\n".join(f"  {short(text, 90)}" for text in helped.questions[:3])
    title = (
        f"One memory of {memory.submitter}'s was shown for {counted(count, 'question')} answered right with its query"
    )
    console.print(
        panel(styled((memory.prompt or "", "dim"), f"\n{memory.answer}\n\n", f"such as to\n{examples}"), title)
    )


def _print_faults(stages: Sequence[DemoStage]) -> None:
    if faults := [fault for stage in stages for fault in stage.faults]:
        console.print(f"Not graded, and not counted: {counted(len(faults), 'answer')}. {faults[0]}", style="yellow")


def commands_to_go_on(folder: Path, agents: Path) -> list[str]:
    """Lines for any terminal, which finds `memshare` then, also if that is in a virtual environment alone."""
    activate, found = Path(sys.prefix, "bin", "activate"), shutil.which("memshare")
    is_elsewhere = found is not None and Path(found).parent != activate.parent
    return [
        *([] if is_elsewhere or not activate.exists() else [f"  . {quote(str(activate))}"]),
        f"  export MEMSHARE_DATA={quote(str(folder))}",
        f"  export MEMSHARE_AGENTS_DIR={quote(str(agents))}",
        "  memshare up",
    ]


def print_next(folder: Path, agents: Path, memories: int, *, has_model: bool, stays: bool) -> None:
    """Print how to go on with the pool that the demo leaves."""
    kept = counted(memories) if stays else f"{counted(memories)}, until the next demo"
    lines = [
        f"\nThe agent and the pool {AGENT} stay, with {kept}. Go on:",
        *commands_to_go_on(folder, agents),
        "In a second terminal, after the lines that stand above `memshare up`:",
        f"  {SEARCH}",
        "  memshare retriever status",
        "Other demos, with a model: memshare demo --agents, --agent reasoning, --concepts.",
    ]
    if not has_model:
        lines.append(f"A real model can answer the same questions. {HOW_TO_SET}.")
    for line in lines:
        console.print(line, soft_wrap=line.startswith("  "))


def write_agent(questions: Questions, folder: Path, *, schema: bool = False) -> None:
    """Make the folder; `answers.jsonl` has the right query of every question.

    With the `schema` of the database the agent's instructions say what a model has to know to answer alone.
    """
    if questions.database is None:
        raise ValueError(f"the questions of {questions.name} have no database")
    folder.mkdir(parents=True, mode=0o700)
    agent = (LIBRARY / "sql.toml").read_text("utf-8")
    (folder / "sql.toml").write_text(with_schema(agent, questions.database) if schema else agent, "utf-8")
    shutil.copyfile(LIBRARY / "sql.rubric.toml", folder / "sql.rubric.toml")
    (folder / "library.sql").write_text(questions.database, "utf-8")
    every = [one for split in ("train", "dev", "test") for one in questions.of(split)]
    lines = (json.dumps({"prompt": one.text, "answer": one.sql}) for one in every)
    (folder / "answers.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    for file in folder.iterdir():
        file.chmod(0o600)  # as all in a data folder
