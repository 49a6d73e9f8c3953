"""The agent of the library, its rubric, and what its check needs, in a folder of agents."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from memshare.demo.text_to_sql import LIBRARY, Questions

FILES = ("sql.toml", "sql.rubric.toml", "library.sql")


def write_agent(questions: Questions, folder: Path) -> None:
    """Make the folder; `answers.jsonl` has the right query of every question."""
    folder.mkdir(parents=True, mode=0o700)
    for name in FILES:
        shutil.copyfile(LIBRARY / name, folder / name)
    every = [one for split in ("train", "dev", "test") for one in questions.of(split)]
    lines = (json.dumps({"prompt": one.text, "answer": one.sql}) for one in every)
    (folder / "answers.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    for file in folder.iterdir():
        file.chmod(0o600)  # as all in a data folder
