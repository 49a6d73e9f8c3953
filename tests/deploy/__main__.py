"""The containers' run: `make deploy-test`, or `python -m tests.deploy` with options.

It starts a Docker engine of its own, in a network namespace of its own, builds the images from this tree and runs
`deploy/compose/compose.yaml` as it stands, with the pool embedded and then on Qdrant. Then it breaks things. Nothing is
pulled: base images are made from the machine's own packages. Root alone can do that; nothing of it stays.
Ends with status 1 when anything happened that must not.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from tests.deploy.engine import Engine, engine
from tests.deploy.images import make_images
from tests.deploy.steps import PROFILES

NEEDED = {
    "dockerd": "docker.io", "docker": "docker.io", "docker-compose": "docker-compose", "podman": "podman",
    "debootstrap": "debootstrap", "ip": "iproute2", "iptables": "iptables", "nsenter": "util-linux",
}  # fmt: skip
TASKS = 300
console = Console(stderr=True, soft_wrap=True)


def main() -> None:
    options = _options()
    missing = sorted({package for name, package in NEEDED.items() if not shutil.which(name)})
    if os.geteuid() != 0:
        sys.exit("This run starts a Docker engine of its own, so it has to be run by root.")
    if missing:
        sys.exit(f"This run needs more programs: apt-get install --no-install-recommends {' '.join(missing)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that the engine ends, too
    with tempfile.TemporaryDirectory(prefix="memshare-deploy-") as folder, engine(Path(folder)) as running:
        console.print("Images …")
        make_images(running)
        profiles = [one for one in options.profile if one != "qdrant" or shutil.which("qdrant")]
        failed = max([_run(running, profile, options) for profile in profiles], default=0)
    if left_out := set(options.profile) - set(profiles):
        console.print(
            f"[bold yellow]Half of it was left out: the profile {', '.join(left_out)} did not run[/], for there is no"
            " `qdrant` on the PATH. Nothing of this says that it works."
        )
    sys.exit(failed)


def _run(running: Engine, profile: str, options: argparse.Namespace) -> int:
    """One profile, from within the engine's network, where its published ports are."""
    words = ["--tasks", str(options.tasks), *(["--json"] if options.json else [])]
    inside = ["nsenter", f"--net={running.network}", sys.executable, "-m", "tests.deploy.inside"]
    return subprocess.run(
        [*inside, profile, str(running.folder), *words], env=running.environment, check=False
    ).returncode


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.deploy", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="a JSON document for each profile instead of a table")
    parser.add_argument("--tasks", type=int, default=TASKS, help="tasks of each step (default %(default)s)")
    parser.add_argument("--profile", nargs="+", choices=PROFILES, default=list(PROFILES), help="where the pool is")
    return parser.parse_args()


if __name__ == "__main__":
    main()
