"""Looks at files as another user of the machine."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

NOBODY = 65534
LOOK = """
import os, sys
os.setgroups([])
os.setgid({nobody})
os.setuid({nobody})
folder, wanted = sys.argv[1:]
for place, _, files in os.walk(folder):
    for name in files:
        try:
            with open(os.path.join(place, name), "rb") as file:
                found = wanted.encode() in file.read()
        except OSError:
            continue
        if found:
            print(os.path.join(place, name))
"""


def seen_by_nobody(folder: Path, text: str) -> list[str]:
    """The files of a folder, and of those in it, in which another user reads a text."""
    if os.getuid() != 0:
        pytest.skip("only root can look as somebody else")
    # By the interpreter of the machine: another user cannot get to that of a home folder.
    command = [
        "/usr/bin/env",
        "-i",
        "PATH=/usr/bin:/bin",
        "python3",
        "-c",
        LOOK.format(nobody=NOBODY),
        str(folder),
        text,
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.split()
