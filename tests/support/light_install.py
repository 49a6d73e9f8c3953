"""The command line as after `pip install memshare`, without extras: `python -m tests.support.light_install …`."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import Distribution
from types import ModuleType
from typing import Any

from memshare.extras import MODULES


class _Without(MetaPathFinder):
    """Finds what Python finds, but for some modules."""

    def __init__(self, hidden: Collection[str]) -> None:
        self._hidden = hidden

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return None if fullname.partition(".")[0] in self._hidden else PathFinder.find_spec(fullname, path, target)

    def find_distributions(self, *context: Any) -> Iterable[Distribution]:
        """What `importlib.metadata` asks for versions; packages look up their own when they are imported."""
        return PathFinder.find_distributions(*context)


def hide(modules: Collection[str]) -> None:
    """From now on, modules that are not imported yet are not found."""
    sys.meta_path[:] = [_Without(modules) if finder is PathFinder else finder for finder in sys.meta_path]


def hide_extras() -> None:
    hide({module for modules in MODULES.values() for module in modules})


if __name__ == "__main__":
    hide_extras()
    from memshare.cli.main import main

    main()
