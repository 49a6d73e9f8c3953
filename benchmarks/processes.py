"""What processes use, with all that they started: processor time and memory."""

from __future__ import annotations

import os
from collections.abc import Iterable

import psutil


def stay_on(processors: int) -> list[int]:
    """Keep this process, and what it will start, on the first processors that it may use; returns their numbers."""
    chosen = sorted(os.sched_getaffinity(0))[:processors]
    if len(chosen) < processors:
        raise SystemExit(f"--processors {processors}: this machine lets us use {len(chosen)}.")
    os.sched_setaffinity(0, chosen)
    return chosen


def family(pids: Iterable[int]) -> list[psutil.Process]:
    """These processes and all that they started, and that still run."""
    parents = [psutil.Process(pid) for pid in pids]
    return [one for parent in parents for one in (parent, *parent.children(recursive=True))]


def cpu_seconds(pids: Iterable[int]) -> float:
    """Processor time so far, in user and system mode, of these processes and all that they started."""
    times = [one.cpu_times() for one in family(pids)]
    return sum(one.user + one.system for one in times) + sum(one.children_user + one.children_system for one in times)


def resident_mb(pids: Iterable[int]) -> float:
    """Resident memory (RSS) of these processes and all that they started; what they share counts for each."""
    return sum(one.memory_info().rss for one in family(pids)) / 2**20
