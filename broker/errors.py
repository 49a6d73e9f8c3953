"""What can go wrong, sorted by what to do about it."""


class MemshareError(Exception):
    """Something a person can mend: the message says what was wrong, what was expected, what to do next."""


class BadInput(MemshareError):
    """A value that a caller gave cannot be used."""


class Unreachable(MemshareError):
    """A service that is needed does not answer: Redis, Qdrant or a worker."""


class TryAgain(MemshareError):
    """It may work later; `wait` is the number of seconds the other side asked for, if it did."""

    def __init__(self, message: str, wait: float | None = None) -> None:
        super().__init__(message)
        self.wait = wait


class GiveUp(MemshareError):
    """It will never work as it stands: the message becomes a dead letter."""
