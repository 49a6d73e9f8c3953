"""Private text is private: what a deployment writes, what its commands take out, and how its processes are listed."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from tests.support.nobody import seen_by_nobody
from tests.support.terminal import Terminal, end

PROMPT = "a limerick that is nobody's business"
PASSWORD = "only-for-this-test"


def test_nobody_else_reads_a_prompt_of_a_deployment_nor_an_export_of_it_nor_the_password_of_flower() -> None:
    before = os.umask(0o022)
    try:
        with tempfile.TemporaryDirectory(prefix="open-") as name:
            folder = Path(name)
            folder.chmod(0o755)
            (folder / "data").mkdir()
            (folder / "beside").write_text(PROMPT)
            terminal = Terminal(folder / "data")
            terminal.environment["MEMSHARE_FLOWER_AUTH"] = f"me:{PASSWORD}"
            running = terminal.up()
            try:
                listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
                assert "memshare worker" in listed
                assert PASSWORD not in listed
                submitted = terminal.json("submit", "poem", PROMPT, "--kind", "limerick", "--wait")
                terminal.settled(submitted["task_id"])
                terminal.run("memories", "add", "--pool", "poem", "--prompt", PROMPT, "An answer")
                terminal.run("memories", "export", str(folder / "pool.jsonl"))

                assert PROMPT in (folder / "pool.jsonl").read_text()
                assert seen_by_nobody(folder, PROMPT) == [str(folder / "beside")]
            finally:
                end(running)
            assert seen_by_nobody(folder, PROMPT) == [str(folder / "beside")]
            open_to_others = [one for one in (folder / "data").rglob("*") if one.lstat().st_mode & 0o077]
            assert [one for one in open_to_others if not one.is_symlink()] == []
    finally:
        os.umask(before)
