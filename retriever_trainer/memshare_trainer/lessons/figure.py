"""A figure that is measured twice: before a change and after it."""

from __future__ import annotations

from memshare_broker.wire.messages import Message


class Figure(Message):
    """The means before and after, and the standard error of the difference where there is one."""

    before: float
    after: float
    error: float = 0.0

    @property
    def worse(self) -> bool:
        """It fell by more than its error."""
        return self.fell(1)

    def fell(self, errors: float) -> bool:
        """It fell by more than so many of its errors."""
        return self.after - self.before < -errors * self.error
