"""A Docker engine of the run's own: its folder, its socket, its network namespace."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

STARTS_WITHIN = 60  # seconds


@dataclass(frozen=True)
class Engine:
    """A running engine. `network` is the file of its namespace, `environment` what its clients need."""

    folder: Path
    network: Path
    environment: dict[str, str]

    def docker(self, *words: str, stdin: bytes | None = None) -> str:
        """What a command of Docker prints; raises with what it says where it fails."""
        return run("docker", *words, stdin=stdin, environment=self.environment)


def run(*command: str | Path, stdin: bytes | None = None, environment: dict[str, str] | None = None) -> str:
    """What a command prints; raises `RuntimeError` with its last lines where it fails."""
    done = subprocess.run(command, input=stdin, env=environment, capture_output=True, check=False)
    if done.returncode:
        said = (done.stdout + done.stderr).decode(errors="replace").strip().splitlines()[-30:]
        raise RuntimeError(f"{' '.join(map(str, command))} ended with {done.returncode}:\n" + "\n".join(said))
    return done.stdout.decode(errors="replace")


@contextmanager
def engine(folder: Path) -> Iterator[Engine]:
    """Start an engine with nothing in it; end it and remove all that it has made at the end of the block."""
    name = f"memshare-{os.getpid()}"
    socket = f"unix://{folder}/docker.sock"
    made = Engine(folder, Path("/run/netns") / name, {**os.environ, "DOCKER_HOST": socket})
    run("ip", "netns", "add", name)
    try:
        run("ip", "-n", name, "link", "set", "lo", "up")
        # Not `ip netns exec`: it mounts /sys anew, which a machine that is a container itself may refuse.
        command = ["nsenter", f"--net={made.network}", "dockerd", "--data-root", folder / "data"]
        command += ["--exec-root", folder / "exec", "--pidfile", folder / "pid", "-H", socket]
        command += ["--exec-opt", "native.cgroupdriver=cgroupfs", "--oom-score-adjust=0"]
        with (folder / "dockerd.log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
            try:
                _wait(made, process)
                yield made
            finally:
                if left := made.docker("ps", "--all", "--quiet").split():
                    made.docker("rm", "--force", *left)
                process.terminate()
    finally:
        run("ip", "netns", "delete", name)
        shutil.rmtree(folder / "data")


def _wait(made: Engine, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + STARTS_WITHIN
    while process.poll() is None and time.monotonic() < deadline:
        if subprocess.run(["docker", "info"], env=made.environment, capture_output=True, check=False).returncode == 0:
            return
        time.sleep(0.2)
    last = (made.folder / "dockerd.log").read_text().splitlines()[-5:]
    raise RuntimeError("The Docker engine did not start:\n" + "\n".join(last))
