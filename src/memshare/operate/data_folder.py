"""The data folder of one machine, which one `memshare up` or command holds at a time."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import tomlkit
from filelock import lock_descriptor

from memshare_broker import leases
from memshare_broker.private_files import keep_private
from memshare_broker.settings import MODELS_OF_ROLES, OFFLINE, Settings
from memshare_broker.settings_file import ADDRESSES, RUNNING


@contextlib.contextmanager
def tell_models(settings: Settings) -> Iterator[None]:
    """Tell commands on this data folder which models run here, and where its agents are, while the block does.

    Keys are not told: they stay in the environment, or in a file of settings.
    """
    common = settings.model_copy(update={"model_agents": None}).model_for("agents")
    told = {name: value for name in MODELS_OF_ROLES if (value := getattr(settings, name))}
    told |= {"model": common} if common != OFFLINE else {}
    told |= {"agents_dir": str(settings.agents_dir.absolute())} if settings.agents_dir else {}
    told |= {name: address for name in ADDRESSES if (address := os.environ.get(name.upper()))}
    with (settings.data / RUNNING).open("a+") as file:
        lock_descriptor(file.fileno())
        file.truncate(0)
        file.write(tomlkit.dumps(told))
        file.flush()
        yield


def hold_folder(data: Path) -> contextlib.AbstractContextManager[None]:
    """Hold a data folder for this process; raises when it cannot be written, or another holds it."""
    keep_private(data)
    words = "Use it as it is, end it with Ctrl-C, or give another folder with --data."
    return leases.folder_lease(data, "up.lock", f"memshare runs already on {{folder}} (process {{process}}). {words}")
