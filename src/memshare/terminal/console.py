"""How the command line speaks: tables and colour for people, JSON for machines.

Text is text: whatever stands in a prompt, an answer or a name is shown as it is, and never read as markup by rich or
as a command by the terminal. Style is given apart from the text, by `styled` or as `style=`.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import typer
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.panel import Panel
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.segment import Segment
from rich.status import Status
from rich.table import Table
from rich.text import Text

from memshare_broker.errors import BadInput, stops_of
from memshare_broker.observe.safe_text import plain, plain_json
from memshare_broker.steady_thread import steady_thread


@contextmanager
def progress_bar(what: str, total: int | None = None, *, shown: bool = True) -> Iterator[Callable[..., None]]:
    """Show a bar while the block runs; what it yields takes `advance`, `completed`, `total` and `description`."""
    with bars(shown=shown) as progress:
        yield partial(progress.update, progress.add_task(what, total=total))


def bars(count: ProgressColumn | None = None, *, shown: bool = True) -> Progress:
    """Bars that a command adds by itself, each with a count of how much is done."""
    done = count or MofNCompleteColumn()
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), done, TimeElapsedColumn())
    return ToldProgress(*columns, console=errors, transient=True, disable=not shown)


SAY_EVERY, TELL_EVERY = 5.0, 60.0  # seconds on a terminal; and at most in a log, where the distances grow


def next_line(at: float) -> float:
    """The seconds after which the line after that of `at` seconds is due in a log: 5, 10, 20, 40, 80, 140, …"""
    return max(SAY_EVERY, min(2 * at, at + TELL_EVERY))


class ToldProgress(Progress):
    """Bars that are told in a line now and then where no terminal can draw them, as in a log."""

    _due = 0.0

    def update(self, task_id: TaskID, **changes: Any) -> None:
        super().update(task_id, **changes)
        lasts = self.tasks[0].elapsed or 0.0
        if not self.disable and not self.console.is_terminal and lasts >= (self._due or SAY_EVERY):
            self._due = next_line(lasts)
            done = (
                f"{one.description} {one.completed:,.0f}{f' of {one.total:,.0f}' if one.total else ''}"
                for one in self.tasks
            )
            self.console.print(f"{'; '.join(done)} … {lasts:.0f} s")

    def advance(self, task_id: TaskID, advance: float = 1) -> None:
        self.update(task_id, advance=advance)

    def stop(self) -> None:
        """End it, without the empty line that Rich leaves in a log."""
        self.live.stop()


def require_consent(question: str, *, yes: bool) -> None:
    """Return where the person agrees, by --yes or by an answer; end the command where not."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise BadInput(f"Nobody is there to be asked {question!r}, so nothing was done. Give --yes to have it done.")
    if not typer.confirm(plain(question), err=True):
        errors.print("Nothing was done.")
        raise typer.Exit(1)


@contextmanager
def stopping(said: str | Callable[[], str]) -> Iterator[None]:
    """Have the command say how to go on where the person stops the block with Ctrl-C or at the end of the input."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, typer.Abort) or stops_of(error):
            raise KeyboardInterrupt(f"Stopped. {said() if callable(said) else said}") from error
        raise


@contextmanager
def waiting(what: str | Callable[[], str]) -> Iterator[None]:
    """Say at once on standard error what the block waits for, and every five seconds for how long it has.

    A function is asked each time.

    On a terminal that is one line, which goes when the block ends; in a log there are ever fewer.
    """
    began, due, ended = time.monotonic(), 0.0, threading.Event()
    asked = what if callable(what) else lambda: what
    with errors.status(f"{asked()} …") as status:

        def tell() -> None:
            nonlocal due
            lasts = time.monotonic() - began
            said, seconds = f"{asked()} …", f" {lasts:.0f} s"
            if errors.is_terminal:
                status.update(styled(short(said, errors.width - 2 - len(seconds)), seconds))
            elif lasts >= due:
                due = next_line(due)
                errors.print(f"{said}{seconds}")

        telling = steady_thread("memshare-waiting", tell, ended, every=SAY_EVERY)
        try:
            yield
        finally:
            ended.set()
            telling.join()


_WORD = re.compile(r"(?:`[^`\n]*`|\S)+")


def wrapped(text: Text, width: int) -> Text:
    """A text in lines of so many columns, broken between words; a command in backticks stays whole, to be copied.

    Lines after the first of a paragraph begin below its first word.
    """
    lines = []
    for paragraph in text.split("\n", allow_blank=True):
        words = list(_WORD.finditer(paragraph.plain))
        first = words[1 if len(words) > 1 and words[0][0] == "-" else 0].start() if words else 0
        cuts = [0]
        for one in words:
            used = first * (len(cuts) > 1) + cell_len(paragraph.plain[cuts[-1] : one.end()])
            if used > width and one.start() > max(cuts[-1], first):
                cuts += [one.start()]
        for at, line in enumerate(paragraph.divide(cuts[1:])):
            if cuts[1:]:
                line.rstrip()
            lines.append(Text(" " * first).append_text(line) if at else line)
    return Text("\n").join(lines)


class TextConsole(Console):
    """A console that shows every text as it is, wherever it stands in what is printed."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, highlight=False, emoji=False)

    def print(self, *objects: Any, **options: Any) -> None:
        """Print; on a terminal a text breaks between words, and with `soft_wrap` where the terminal breaks it."""
        if all(isinstance(one, str | Text) for one in objects):
            if self.is_terminal and not options.get("soft_wrap"):
                objects = tuple(wrapped(styled(one), self.width) for one in objects)
            options["soft_wrap"] = True
        super().print(*objects, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """A string as rich takes it; what is written out counts for the width of a column."""
        return super().render_str(plain(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The pieces of what is printed; the moves of a progress bar stay as they are."""
        for piece in super().render(renderable, options):
            yield piece if piece.control else piece._replace(text=plain(piece.text))

    def status(self, status: RenderableType, **options: Any) -> Status:
        """A line with a spinner for as long as something takes; a text is cut to the width that is left."""
        if self.options.ascii_only:
            options.setdefault("spinner", "line")
        return super().status(styled(short(status, self.width - 2)) if isinstance(status, str) else status, **options)


console = TextConsole()
errors = TextConsole(stderr=True)


def styled(*parts: str | tuple[str, str] | Text) -> Text:
    """Some text and its style: each part is a text, or a text and a style such as "bold red"."""
    cleaned = [(plain(part[0]), part[1]) if isinstance(part, tuple) else part for part in parts]
    return Text.assemble(*(plain(part) if isinstance(part, str) else part for part in cleaned))


def print_text(text: str) -> None:
    """A text alone, such as an answer or an id."""
    print(plain(text))


def print_json(value: object) -> None:
    """Print JSON on one line, and nothing else. It is exact: characters that a terminal may not be sent are escaped."""
    print(shown_json(value))


def shown_json(value: object, indent: int | None = None) -> str:
    """A value as JSON for standard output: in ASCII where that lacks a character."""
    return in_json(value, indent, ascii_only=console.options.ascii_only)


def in_json(value: object, indent: int | None = None, *, ascii_only: bool = False) -> str:
    """A value as JSON, with people's letters, and with an escape for each character that a terminal may not be sent."""
    return plain_json(json.dumps(value, ensure_ascii=ascii_only, default=str, indent=indent))


def panel(text: str | Text, title: str | Text, style: str = "none") -> Panel:
    """A text in a frame with a title; `style` is that of the frame."""
    named = styled(title) if isinstance(title, str) else title
    return Panel(styled(text), title=named, title_align="left", border_style=style)


NARROWEST = 12  # characters of a column with sentences


def table(
    *columns: str, rows: Iterable[Iterable[object]], title: str | None = None, whole: str | None = None
) -> RenderableType:
    """A table of short values, each of them a text or a `Text` with its style.

    Single words stay whole, and what is in the column `whole`; where not even they have room beside each other, each
    row is a list of its values.
    """
    cells = [[value if isinstance(value, Text) else Text(plain(str(value))) for value in row] for row in rows]
    texts = [[str(name), *(str(row[at]) for row in cells)] for at, name in enumerate(columns)]
    widest = [max(cell_len(line) for one in of for line in one.split("\n")) for of in texts]
    words = [[one for text in of for one in ([text] if of[0] == whole else text.split())] for of in texts]
    longest = [max(map(cell_len, of), default=0) for of in words]
    room = console.width - 2 * (len(columns) - 1)
    least = longest
    if sum(longest) > room:  # then words of sentences may break
        single = [of[0] == whole or all(" " not in one.strip() for one in of) for of in texts]
        least = [width if alone else min(NARROWEST, width) for width, alone in zip(longest, single, strict=True)]
    made = Table(*columns, header_style="bold", box=None, pad_edge=False)
    if sum(least) > room:
        made = Table.grid(padding=(0, 2, 0, 0))
        cells = [[Text(name, "bold"), value] for row in cells for name, value in zip(columns, row, strict=True)]
    for column, width in zip(made.columns, _shares(least, widest, room), strict=False):
        column.width = width
    for row in cells:
        made.add_row(*row)
    for column in made.columns:
        column.overflow = "fold"  # people copy from it
    return Group(styled((title, "bold")), made) if title else made


def _shares(least: Sequence[int], widest: Sequence[int], room: int) -> list[int]:
    """The widths of columns: what is left over the least goes to those first that want the least more."""
    widths = list(least)
    for done, at in enumerate(sorted(range(len(widths)), key=lambda at: widest[at] - least[at])):
        widths[at] += max(min(widest[at] - least[at], (room - sum(widths)) // (len(widths) - done)), 0)
    return widths


def turned_table(*columns: str, rows: Sequence[Sequence[str]], title: str | None = None) -> RenderableType:
    """A table as it is where all its words fit; else its rows stand side by side as columns, as many as fit."""
    widths = [
        max(cell_len(word) for cell in of for word in cell.split() or [""]) for of in zip(columns, *rows, strict=True)
    ]
    if sum(widths) + 2 * len(columns) <= console.width:
        return table(*columns, rows=rows, title=title)
    room = console.width - max(map(cell_len, columns)) - 2
    many = max(room // (max(widths) + 2), 1)
    parts: list[RenderableType] = []
    for start in range(0, len(rows), many):
        some = rows[start : start + many]
        turned = list(zip(columns, *some, strict=True))
        parts.append(table(*turned[0], rows=turned[1:], whole=columns[0]))
    return Group(*([styled((title, "bold"))] if title else []), *parts)


def short(text: str, width: int = 60) -> str:
    """A text on one line, cut to a width, and never within a command in backticks: half of one cannot be run."""
    line = " ".join(plain(text).split())
    if len(line) <= width:
        return line
    cut = line[: width - 1]
    command = cut.rfind("`memshare ")
    return (cut[:command] if command >= 0 and "`" not in cut[command + 1 :] else cut) + "…"


def one_line(text: str) -> Text:
    """A text as a cell of a table: it takes the width that the other columns leave, on one line, cut at its end."""
    return Text(short(text, console.width), no_wrap=True, overflow="ellipsis")


def moment(seconds: float) -> str:
    """A Unix time in seconds as people read it, in UTC: so are the days that `--since` and `--until` name."""
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))


def until(seconds: float) -> str:
    """Until when a message waits, by the Unix time in seconds at which it goes on; one whose time has come is next."""
    return f"until {moment(seconds)}" if seconds > time.time() else "until a worker takes it up"
