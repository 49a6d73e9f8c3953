"""The images of a run: memshare's from its own Dockerfile, unmodified; the bases from packages of this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from memshare_broker.redis_server import server_binary
from tests.deploy.engine import Engine, run
from tests.support.deployment import ROOT

PYTHON = "docker.io/library/python:3.11-slim"
"""The Dockerfile's first line names it."""
LIGHT, MEMORY, FULL = "memshare:0.1.0", "memshare:0.1.0-memory", "memshare:0.1.0-full"
VALKEY, QDRANT = "valkey/valkey:9.1.2", "qdrant/qdrant:v1.19.0"
"""As compose.yaml names them. What is in them here is the server that the tests run, and `qdrant` of the PATH."""
PACKAGES = "ca-certificates,netbase,tzdata,python3.11,python3.11-venv"
# As in the public image: else an `apt-get update` of a layer leaves 28 MB there, and one of the base as much.
NO_CACHE = 'Dir::Cache::pkgcache ""; Dir::Cache::srcpkgcache "";\n'
FINISH = (
    "export DEBIAN_FRONTEND=noninteractive; apt-get update -qq && apt-get install -qq -y --fix-broken && apt-get clean"
    " && cd /usr/share && rm -r doc info locale man /var/lib/apt/lists/*"  # which the public image has not, either
)
# What a build needs to get packages as this machine does: none of it stays in the image.
MACHINE = ("/etc/ssl/certs", "/etc/resolv.conf")
PIP = Path("/etc/pip.conf")
VALKEY_FILE = f"""
FROM {PYTHON}
RUN apt-get update && apt-get install --yes --no-install-recommends redis-tools
COPY valkey-server /usr/local/bin/
RUN ln -s /usr/bin/redis-cli /usr/local/bin/valkey-cli && install -d -o 999 -g 999 /data
WORKDIR /data
"""
QDRANT_FILE = f"""
FROM {PYTHON}
COPY qdrant /qdrant/qdrant
WORKDIR /qdrant
CMD ["./qdrant"]
"""


def make_images(engine: Engine) -> None:
    """Build every image that compose.yaml names but Prometheus' and Grafana's, and hand them to the engine.

    TORCH and TORCH_INDEX of the environment say which torch, as in `.env`.
    """
    asked = [(name, os.environ[name]) for name in ("TORCH", "TORCH_INDEX") if os.environ.get(name)]
    torch = [word for name, value in asked for word in ("--build-arg", f"{name}={value}")]
    if not _is_built(PYTHON):
        _make_python()
    for tag, target in ((LIGHT, "light"), (FULL, "full"), (MEMORY, "memory")):
        _build(tag, ROOT, ROOT / "deploy/image/Dockerfile", "--target", target, *torch)
    _wrap(VALKEY, VALKEY_FILE, Path(server_binary()))
    made = [LIGHT, MEMORY, FULL, VALKEY]
    if found := shutil.which("qdrant"):
        _wrap(QDRANT, QDRANT_FILE, Path(found), name="qdrant")
        made.append(QDRANT)
    for tag in made:
        archive = engine.folder / "image.tar"
        run("podman", "save", "--output", archive, f"localhost/{tag}")
        engine.docker("load", "--input", str(archive))
        engine.docker("tag", f"localhost/{tag}", tag)
        archive.unlink()


def _is_built(tag: str) -> bool:
    return subprocess.run(["podman", "image", "exists", tag], check=False).returncode == 0


def _make_python() -> None:
    """A Debian with Python where the public image has it."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        # A package whose order of installing debootstrap gets wrong is finished within.
        command = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm", str(root)]
        subprocess.run(command, capture_output=True, check=False)
        shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
        (root / "etc/apt/apt.conf.d/docker-clean").write_text(NO_CACHE)
        run("chroot", root, "sh", "-c", FINISH)
        for name in ("python", "python3"):
            (root / "usr/local/bin" / name).symlink_to("/usr/bin/python3.11")
        archive = Path(folder) / "root.tar"
        run("tar", "-C", root, "-cf", archive, ".")
        run("podman", "import", archive, PYTHON)


def _build(tag: str, context: Path, file: Path, *options: str) -> None:
    wheels = [folder for folder in os.environ.get("PIP_FIND_LINKS", "").split() if Path(folder).is_dir()]
    mounted = [word for path in (*MACHINE, *wheels) if Path(path).exists() for word in ("-v", f"{path}:{path}:ro")]
    command = ["podman", "build", "--pull=never", "--isolation", "chroot", "--layers", "--network", "host"]
    secret = ["--secret", f"id=pip,src={PIP}"] if PIP.exists() else []
    command += [
        "--format",
        "docker",
        *mounted,
        *secret,
        *options,
        "-f",
        str(file),
        "-t",
        f"localhost/{tag}",
        str(context),
    ]
    run(*command)


def _wrap(tag: str, text: str, program: Path, name: str | None = None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(program, Path(folder) / (name or "valkey-server"))
        (Path(folder) / "Dockerfile").write_text(text)
        _build(tag, Path(folder), Path(folder) / "Dockerfile")
