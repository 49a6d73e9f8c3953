"""How far `memshare demo` is: a chart that grows in a terminal, and plain lines anywhere else."""

from __future__ import annotations

import threading
import time
from types import TracebackType

from rich.console import Group
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from memshare.demo.gain import DemoStage
from memshare.terminal.console import TextConsole, styled

WIDTH = 40  # characters of a bar that means all
SILENT_AT_MOST = 4.0  # seconds


class DemoView:
    """Shows what is being done, and the share of right answers of each stage. Use it as a context."""

    def __init__(self, console: TextConsole, *, plain: bool) -> None:
        self._console = console
        self._stages: list[DemoStage] = []
        self._what, self._began = "", time.monotonic()
        self._live = None if plain else Live(console=console, get_renderable=self._drawn, refresh_per_second=8)
        self._over = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True)
        self._printed = 0.0
        self._lock = threading.Lock()

    def __enter__(self) -> DemoView:
        if self._live is not None:
            self._live.start()
        else:
            self._ticker.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._what = ""
        self._over.set()
        if self._live is not None:
            self._live.stop()
        else:
            self._ticker.join()

    def say(self, what: str) -> None:
        """What is being done now."""
        self._what = what
        self._print(f"{what} …")

    def see(self, stage: DemoStage) -> None:
        """A stage has begun, more of it is known, or it has ended."""
        if stage not in self._stages:
            self._stages.append(stage)
            self._what = f"{stage.title}: {stage.size} questions"
            self._print(f"{self._what} …")
        elif len(stage.asked) == stage.size:
            self._print(f"{stage.title}: {stage.share:.0%} right ({stage.right} of {stage.graded})")

    def _print(self, line: str) -> None:
        if self._live is None:
            with self._lock:
                self._console.print(line)
                self._printed = time.monotonic()

    def _tick(self) -> None:
        while not self._over.wait(0.5):
            if time.monotonic() - self._printed >= SILENT_AT_MOST:
                done = f", {len(self._stages[-1].asked)} of {self._stages[-1].size}" if self._asking() else ""
                self._print(f"  … {self._what}{done}, {time.monotonic() - self._began:.0f} s")

    def _asking(self) -> bool:
        return bool(self._stages) and len(self._stages[-1].asked) < self._stages[-1].size

    def _drawn(self) -> Group:
        now = Spinner("dots", styled(f"{self._what}, {time.monotonic() - self._began:.0f} s")) if self._what else ""
        return Group(chart(self._stages), now)


def chart(stages: list[DemoStage]) -> Table:
    """A bar for each stage."""
    drawn = Table(box=None, pad_edge=False, show_header=False)
    for stage in stages:
        style = "dim" if stage.kind == "task" else "bold green"
        bar = "█" * round(WIDTH * stage.share)
        counted = f"{stage.share:>4.0%}  {stage.right} of {stage.graded}" if stage.graded else "   …"
        drawn.add_row(Text(stage.title), styled((f"{bar:<{WIDTH}}", style)), Text(counted))
    return drawn
