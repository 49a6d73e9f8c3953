"""compose.yaml as a user runs it: a copy of the example's settings, filled in, and the commands of the guide."""

from __future__ import annotations

import json
import os
import re
import secrets
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.support.deployment import ROOT

FOLDER = ROOT / "deploy/compose"
LEFT_OUT = {"prometheus", "grafana"}
"""Their images are not made here."""
HEALTHY_WITHIN = 180  # seconds


class Compose:
    """One project. `folder` takes its files, `profile` says where the pool is, `model` is the URL of a chat model."""

    def __init__(self, folder: Path, profile: str, model: str) -> None:
        self.profile = profile
        self._file, self._settings = folder / "compose.yaml", folder / f"{profile}.env"
        # The older docker-compose knows no `name:`; `-p` says it to both.
        self._file.write_text(re.sub(r"^name:.*\n", "", (FOLDER / "compose.yaml").read_text(), flags=re.MULTILINE))
        example = (FOLDER / ".env.example").read_text()
        self.set(
            **dict.fromkeys(re.findall(r"^(\w+)=$", example, flags=re.MULTILINE), ""),
            COMPOSE_PROFILES=profile,
            OPENAI_API_KEY="none",
            OPENAI_BASE_URL=model,
            MEMSHARE_MODEL="openai:scripted",
        )
        self.set(**{name: secrets.token_hex(24) for name, value in self.settings.items() if not value})
        self.set(FLOWER_BASIC_AUTH=f"me:{secrets.token_hex(12)}")

    @property
    def settings(self) -> dict[str, str]:
        """What stands in `.env`."""
        lines = self._settings.read_text().splitlines() if self._settings.exists() else []
        return dict(line.split("=", 1) for line in lines)

    def set(self, **values: str) -> None:
        """Change `.env`; it holds from the next `up` on."""
        changed = self.settings | values
        self._settings.write_text("".join(f"{name}={value}\n" for name, value in changed.items()))

    def __call__(self, *words: str, stdin: bytes | None = None) -> bytes:
        """What a command of docker-compose prints; raises with what it says where it fails."""
        command = ["docker-compose", "-p", "memshare", "--project-directory", str(FOLDER), "-f", str(self._file)]
        command += ["--env-file", str(self._settings), "--profile", self.profile, *words]
        done = subprocess.run(command, input=stdin, capture_output=True, check=False)
        if done.returncode:
            said = "\n".join((done.stdout + done.stderr).decode(errors="replace").splitlines()[-20:])
            raise RuntimeError(f"docker-compose {' '.join(words)} ended with {done.returncode}:\n{said}")
        return done.stdout

    @property
    def services(self) -> list[str]:
        """Those of the profile."""
        known = yaml.safe_load(self._file.read_text())["services"]  # docker-compose's own list has every profile
        return sorted(
            {name for name, one in known.items() if self.profile in one.get("profiles", [self.profile])} - LEFT_OUT
        )

    @property
    def memory(self) -> str:
        """The service that has the pool."""
        return "memory-qdrant" if self.profile == "qdrant" else "memory"

    def up(self, *options: str) -> float:
        """Start everything; returns the seconds until all containers are healthy."""
        started = time.monotonic()
        self("up", "--detach", "--no-build", *options, *self.services)
        self.wait()
        return time.monotonic() - started

    def wait(self) -> None:
        """Wait until every container is healthy."""
        deadline = time.monotonic() + HEALTHY_WITHIN
        while time.monotonic() < deadline:
            states = {one["Name"]: one["State"].get("Health", {}).get("Status", "?") for one in self.containers()}
            if set(states.values()) == {"healthy"}:
                return
            time.sleep(0.5)
        raise RuntimeError(f"Not healthy after {HEALTHY_WITHIN} s: {states}.")

    def containers(self, *services: str) -> list[dict[str, Any]]:
        """What Docker knows of the containers of services, of all without any."""
        ids = self("ps", "--quiet", *services).decode().split()
        found = subprocess.run(["docker", "inspect", *ids], capture_output=True, check=True).stdout if ids else b"[]"
        return list(json.loads(found))

    def kill(self, *services: str) -> None:
        """`kill -9` of all processes of their containers, as a machine does that runs out of memory.

        Not by `docker kill`: what somebody kills by that is not started again.
        """
        for one in self.containers(*services):
            os.kill(one["State"]["Pid"], signal.SIGKILL)

    @contextmanager
    def cut_off(self, service: str) -> Iterator[None]:
        """Its containers are without a network."""
        cut = self.containers(service)
        aliases = {one["Id"]: one["NetworkSettings"]["Networks"]["memshare_default"]["Aliases"] for one in cut}
        for name in aliases:
            subprocess.run(["docker", "network", "disconnect", "memshare_default", name], check=True)
        try:
            yield
        finally:
            for name, known in aliases.items():
                words = [word for alias in known for word in ("--alias", alias)]
                subprocess.run(["docker", "network", "connect", *words, "memshare_default", name], check=True)
