"""`memshare demo` without options: what a shared pool gives, on questions whose answers a program checks."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from memshare.cli.begin.demo_deployment import new_folder, running
from memshare.cli.begin.demo_view import DemoView
from memshare.client.client import Client
from memshare.demo.gain import POOL, DemoStage, Gain, Helped, divide, most_helpful, play
from memshare.demo.student_server import MODEL, student_answers
from memshare.demo.text_to_sql import LIBRARY, Questions, read_questions, with_schema
from memshare.operate.data_folder import hold_folder
from memshare.terminal.console import console, errors, panel, print_json, short, styled
from memshare_broker.errors import BadInput
from memshare_broker.settings import OFFLINE, load_settings

MADE = "made-by-the-demo"  # a file in a folder that the next demo may empty
STUDENT = "a student that knows no SQL and copies the nearest memory"


def demo_gain(data: Path | None, tasks: int, *, as_json: bool) -> None:
    """Play it in `data`, or in a folder of the demo's own, which stays."""
    folder = new_folder(data) if data is not None else _own_folder()
    questions = read_questions()
    parts = divide(questions, tasks)
    agents = folder / "agents"
    if agents.exists():
        raise BadInput(f"There is {str(agents)!r} already, and the demo writes it: name a new folder.")
    known = load_settings().model_for("agents")
    has_model = known != OFFLINE
    write_agent(questions, agents, schema=has_model)
    out = errors if as_json else console
    who = f"{known}, some {parts.asked} calls and one for each new memory" if has_model else f"no key, so {STUDENT}"
    out.print(f"Questions to the database of a library. Who answers: {who}.")
    out.print("A program runs each query and says right or wrong. The same unseen questions are asked three times.")
    # The workers read their settings from the environment. What is not shown here is left out to save time.
    os.environ |= {"MEMSHARE_AGENTS_DIR": str(agents), "MEMSHARE_CONCEPTS": "false", "MEMSHARE_CONSOLIDATE": "false"}
    plain = as_json or not console.is_terminal
    with contextlib.ExitStack() as open_until_done:
        view = open_until_done.enter_context(DemoView(out, plain=plain))
        view.say("starting Redis and the workers; the first time it exports the encoder, too")
        if not has_model:
            open_until_done.enter_context(student_answers())
        settings = open_until_done.enter_context(running(folder, agents, folder / "exports"))
        client = open_until_done.enter_context(contextlib.closing(Client(settings)))
        stages = play(client, parts, view)
        helped = most_helpful(client, stages, questions)
        memories = client.memories.stats().by_pool[POOL]
        view.say("ending")
    exams = {stage.kind: stage for stage in stages if stage.kind != "task"}
    gains = {name: Gain.between(exams[name], exams["learnt"]) for name in ("alone", "shared")}
    if as_json:
        print_json(
            {
                "model": known if has_model else MODEL,
                "right": {kind: round(stage.share, 4) for kind, stage in exams.items()},
                "gain_over": {name: gain.as_json() for name, gain in gains.items()},
                "stages": [stage.as_json() for stage in stages],
                "helped": helped and helped.as_json(),
                "memories": memories,
                "data": str(folder),
            }
        )
        return
    _print_helped(helped)
    _print_faults(stages)
    shares = [f"{stage.share:.0%} right {stage.title}" for stage in exams.values()]
    console.print(styled(("\n" + " · ".join(shares), "bold")))
    gain = gains["alone"]
    console.print(
        f"Paired, question by question, that is {gain.share:+.0%} ± {gain.error:.0%} over alone: {gain.won} were won,"
        f" {gain.lost} lost."
    )
    _print_next(folder, agents, memories, has_model=has_model)


def _own_folder() -> Path:
    """The demo's folder beside that of the settings, emptied but for the exported encoder."""
    known = load_settings().data
    folder = known.with_name(f"{known.name}-demo")
    if folder.exists():
        if any(folder.iterdir()) and not (folder / MADE).exists():
            raise BadInput(f"{str(folder)!r} is not of the demo: move it away, or name a new folder with --data.")
        with hold_folder(folder):  # nobody goes on with it just now
            for one in folder.iterdir():
                if one.is_dir() and one.name != "exports":
                    shutil.rmtree(one)
                elif one.is_file() and one.name not in (MADE, "up.lock"):
                    one.unlink()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / MADE).touch(mode=0o600)
    return folder


def _print_helped(helped: Helped | None) -> None:
    if helped is None:
        return
    memory, count = helped.memory, len(helped.questions)
    examples = "\n".join(f"  {short(text, 90)}" for text in dict.fromkeys(helped.questions[:3]))
    title = f"One memory of {memory.submitter}'s was shown for {count} right answers with its query"
    console.print(
        panel(styled((memory.prompt or "", "dim"), f"\n{memory.answer}\n\n", f"such as to\n{examples}"), title)
    )


def _print_faults(stages: Sequence[DemoStage]) -> None:
    if faults := [fault for stage in stages for fault in stage.faults]:
        console.print(f"{len(faults)} answers were not graded, and are not counted: {faults[0]}", style="yellow")


def _print_next(folder: Path, agents: Path, memories: int, *, has_model: bool) -> None:
    lines = [
        f"\nThe pool stays, with {memories} memories, until the next demo. Go on with it:",
        f"  export MEMSHARE_DATA={folder} MEMSHARE_AGENTS_DIR={agents}",
        "  memshare up",
        "In a second terminal, with the same two variables:",
        f'  memshare memories search "books by authors from Norway" --pool {POOL}',
        "  memshare retriever status",
        "Other demos, with a model: memshare demo --agents, --agent reasoning, --concepts.",
    ]
    if not has_model:
        lines.append("With OPENAI_API_KEY or MISTRAL_API_KEY a real model answers the same questions.")
    for line in lines:
        console.print(line)


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
