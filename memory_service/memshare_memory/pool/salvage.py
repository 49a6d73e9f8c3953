"""Looks at a pool that no process has open and, if wanted, saves what can be read of a damaged one to a new one.

`python -m memshare_memory.pool.salvage [repair]` prints a `Salvaged`. It is a process of its own, for a damaged
file may end who reads it.
"""

from __future__ import annotations

import logging
import sys
import time
from contextlib import closing
from pathlib import Path

from memshare_broker.settings import load_settings
from memshare_memory.pool.known_pools import Salvaged
from memshare_memory.pool.pool import Move, encoder_named
from memshare_memory.stores.data_folder import in_use
from memshare_memory.stores.open_store import damaged_pool, layout_in_use, open_folder
from memshare_memory.stores.store import Damaged, Layout, Where


def salvage(folder: Path, layout: Layout, *, repair: bool) -> Salvaged:
    """Open the pool; where that cannot be, and with `repair`, begin a new one with all that can be read of it."""
    try:
        with closing(open_folder(folder, layout, "memshare memories check")) as store:
            return Salvaged(memories=sum(store.count(Where()).values()))
    except Damaged as error:
        if not repair:
            return Salvaged(memories=0, damage=str(error))
        damage = str(error)
    stamp = time.strftime("%Y%m%d-%H%M%S")
    fresh, kept = folder.with_name(f"{folder.name}.new-{stamp}"), folder.with_name(f"{folder.name}.damaged-{stamp}")
    encoder = encoder_named(load_settings(), layout.encoder)  # the vectors are made anew: theirs may be damaged
    with (
        damaged_pool(folder, layout) as source,
        closing(open_folder(fresh, layout, "memshare memories check --repair")) as target,
    ):
        Move(source.page, target, encoder).catch_up(lambda _: None)
        saved = sum(target.count(Where()).values())
        left_out = len(source.unreadable)
    folder.rename(kept)
    fresh.rename(folder)
    return Salvaged(memories=saved, damage=damage, left_out=left_out, kept=str(kept))


def main() -> None:
    logging.disable(logging.ERROR)  # what cannot be read is counted
    settings = load_settings()
    layout = layout_in_use(settings)
    repair = "repair" in sys.argv
    found = salvage(in_use(settings.data), layout, repair=repair) if layout else Salvaged(memories=0)
    print(found.model_dump_json(ensure_ascii=True))


if __name__ == "__main__":
    main()
