"""Starts trainers quickly, one after the other: the heavy libraries are imported once, and each trainer is a fork.

`python -m tests.support.forkserver` starts one for each line that it reads, and prints its process id. Only libraries
are imported beforehand, which start no thread; what is ours is imported, and named, by each process for itself.
"""

from __future__ import annotations

import os
import sys

HEAVY = (
    "torch",
    "safetensors.torch",
    "celery.bin.celery",
    "kombu.transport.redis",
    "openai",
    "numpy",
    "pydantic_settings",
)


def main() -> None:
    for name in HEAVY:
        __import__(name)
    print("ready", flush=True)
    for _ in sys.stdin:
        pid = os.fork()
        if pid == 0:
            os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
            from retriever_trainer.worker import app

            app.worker_main(["worker", "-Q", "trainer", "-n", f"trainer-{os.getpid()}@test", "-l", "INFO"])
            return
        print(pid, flush=True)


if __name__ == "__main__":
    main()
