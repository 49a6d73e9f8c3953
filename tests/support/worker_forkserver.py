"""Starts workers quickly: the heavy libraries are imported once, and each worker is a fork.

`python -m tests.support.worker_forkserver` starts a worker for each line that it reads, a JSON object with `queues`,
`node`, `log`, `environment` and `namespace`, the network namespace to be in or null. It prints `started PID`, and
`ended PID STATUS` when one ends. Its workers end with it.
Only libraries are imported beforehand; what is ours is imported, and named, by each process for itself.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from tests.faults.hosts import enter

HEAVY = (
    "torch",
    "safetensors.torch",
    "sentence_transformers",
    "celery.bin.celery",
    "kombu.transport.redis",
    "openai",
    "numpy",
    "pydantic_settings",
    "qdrant_client",
)
OWN = {
    "scorer": "memshare.scorer.worker",
    "memory": "memshare.memory_service.worker",
    "trainer": "memshare.retriever_trainer.worker",
}


def main() -> None:
    for name in HEAVY:
        importlib.import_module(name)
    signal.signal(signal.SIGCHLD, _report)
    _say("ready")
    for line in sys.stdin:
        # A worker that ends at once must not be reported before it has started.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
            _work(**json.loads(line))
            return
        _say(f"started {pid}")
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})


def _work(queues: list[str], node: str, log: str, environment: dict[str, str], namespace: str | None) -> None:
    if namespace:
        enter(Path(namespace))  # before there are threads, which would stay behind
    with Path(log).open("ab") as file:
        os.dup2(file.fileno(), sys.stdout.fileno())
        os.dup2(file.fileno(), sys.stderr.fileno())
    os.environ.update(environment)
    from memshare.local.supervisor import ends_with_parent

    ending = ends_with_parent(signal.SIGKILL)
    if ending:
        ending()
    name = "memshare.worker" if len(queues) > 1 else OWN.get(queues[0], "memshare.agents.worker")
    app = importlib.import_module(name).app
    quiet = ["--without-gossip", "--without-mingle"]  # as `memshare worker` has them
    app.worker_main(["worker", "-Q", ",".join(queues), "-n", node, "-l", "INFO", *quiet])


def _report(*_: Any) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        _say(f"ended {pid} {os.waitstatus_to_exitcode(status)}")


def _say(line: str) -> None:
    # Written at once: a signal may come in the middle of a buffered print.
    os.write(1, f"{line}\n".encode())


if __name__ == "__main__":
    main()
