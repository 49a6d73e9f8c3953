"""A folder of agents whose reasoning agent hands on its sub-questions, to become memories."""

from __future__ import annotations

from pathlib import Path

from memshare_broker.presence import agent_files


def agents_with_sub_questions(folder: Path, most: int) -> Path:
    """The folder, with the bundled agent but for that limit."""
    text = agent_files(None)["reasoning"].read_text(encoding="utf-8")
    folder.mkdir(exist_ok=True)
    (folder / "reasoning.toml").write_text(text.replace("[limits]\n", f"[limits]\nsub_questions = {most}\n"))
    return folder
