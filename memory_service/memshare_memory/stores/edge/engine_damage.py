"""Damage to the files of an embedded pool, as an error that says what was found and how to go on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memshare_broker.errors import TryAgain
from memshare_memory.stores.store import Damaged

_WAYS_BACK = (
    "`memshare restore FILE --replace` goes back to a backup; `memshare memories check --repair` saves what can still"
    " be read, and keeps the damaged files. Nothing has been changed."
)


def damaged(folder: Path, found: str) -> Damaged:
    """The error for a pool that must not be opened."""
    return Damaged(f"The pool in {str(folder)!r} is damaged: {found}. {_WAYS_BACK}")


def is_panic(error: BaseException) -> bool:
    """Whether the engine has panicked, which reaches Python as an error that is no `Exception`."""
    return type(error).__name__ == "PanicException"


@contextmanager
def no_panic(folder: Path) -> Iterator[None]:
    """Turn a panic of the open engine into `TryAgain`: what was to be done is kept until the pool is mended."""
    try:
        yield
    except BaseException as error:
        if not is_panic(error):
            raise
        raise TryAgain(
            f"The engine of the pool in {str(folder)!r} failed: {error}. Its files may be damaged. {_WAYS_BACK}",
            reason="store",
        ) from None
